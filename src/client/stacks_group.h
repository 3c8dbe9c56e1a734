/* Equal stacks of many tasks, told once: a thousand workers that wait for one are two groups. */
#ifndef TONY_CLIENT_STACKS_GROUP_H
#define TONY_CLIENT_STACKS_GROUP_H

#include "client/stacks_ask.h"

/* [{"tasks": ["worker:0", ...], "processes": 2, "name": "python3", "command": "...", "lines":
 * [...]}], those of the most tasks first. Processes are equal which have the same name and the same
 * Python stacks or, where none are known, threads that stand at the same places in the kernel.
 * `lines` are those of the first. */
json_t *stacks_group(const struct stacks_answer *answers, size_t count);

/* Appends "worker:0-2, worker:5" of such tasks. */
void stacks_append_tasks(const json_t *tasks, struct str *out);

#endif
