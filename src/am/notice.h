/*
 * Notices of a job's end, to those that its owner named: a webhook, a tracking server, and a
 * command. Each is told at least once: an AM that is killed before it wrote down what became of
 * them is followed by one that tells them again.
 */
#ifndef TONY_AM_NOTICE_H
#define TONY_AM_NOTICE_H

#include <jansson.h>

#include "job/view.h"

/* The body of the webhook (docs/notices.md). `view`: of an ended job. */
json_t *notice_facts(const struct job_view *view);

/* The same for a command, as NAME=VALUE. */
void notice_environment(const json_t *facts, struct str_list *environment);

/* Tells all of them, one after the other, and waits for it. The outcome of each, as
 * record_notices() takes it. The command runs in `directory`; NULL: it is not run here, which is a
 * failure. */
json_t *notice_tell_all(const struct job_view *view, const char *directory);

/* The command. The outcome is a phrase, which the caller frees. */
char *notice_run(const struct job *job, const json_t *facts, const char *directory, bool *failed);

#endif
