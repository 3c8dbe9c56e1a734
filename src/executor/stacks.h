/*
 * Where the processes of a task stand: the stacks of Python programs, as py-spy tells them, and
 * what the kernel tells of each thread. Some of these files may block, and py-spy takes seconds: it
 * is for a process of its own.
 */
#ifndef TONY_EXECUTOR_STACKS_H
#define TONY_EXECUTOR_STACKS_H

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

/* Of all descendants of `executor`, the busiest first, but for tony's own processes, and for
 * commands of people (sessions.h) with all that is below these:
 *
 * [{"pid", "name", "command", "python": [lines of py-spy], "problem": why there are none,
 *   "threads": [{"id", "name", "state", "place", "call", "stack": [lines]}]}]
 *
 * A member that the kernel does not tell is absent. */
json_t *stacks_take(pid_t executor);

/* For people, as hang-stacks.txt has it. */
void stacks_write(const json_t *processes, FILE *out);

#endif
