/* The jobs that the words of a command line mean: whole ids, beginnings of one, names, --tag. */
#ifndef TONY_CLIENT_JOB_CHOICE_H
#define TONY_CLIENT_JOB_CHOICE_H

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "scheduler/job_stores.h"

/* The words that were typed behind a verb. Its opt_table says which jobs that may be: of a verb for
 * all, a name is that of the newest live job, else of the newest that has ended. A verb for live
 * jobs or for ended ones changes something, so it refuses a name or tag that several of them have,
 * unless `all` is set. Of an ended job nothing but its history need be left. */
struct job_choice {
	const struct opt_table *verb;
	const struct str_list *operands;
	const struct str_list *tags; /* a job has all of these */
	bool all;
	const struct job_stores *stores; /* opened for all jobs; NULL: opened where needed */
};

/* True if the words may mean several jobs, even if it is one this time: then --json is a list. */
bool job_choice_is_list(const struct job_choice *choice);

/* Fills `jobs` with the words for opened_find(), each once; it stays empty without operand and tag.
 * A word is a whole id where a job was found here. Any other operand stays as it was typed, and
 * opened_find() finds it or says why not.
 *
 * ERR_USAGE: several jobs fit. They are listed on standard error, and the verb does nothing.
 * ERR_NOT_FOUND: no such job has the tags. */
int job_choice_find(const struct job_choice *choice, struct str_list *jobs, struct err *err);

/* Calls `act` with each word, or once with NULL if there is none. A failure is reported, and the
 * next word follows; EXIT_CODE_INTERRUPTED (Ctrl-C) ends the loop. Returns the highest exit code.
 */
typedef int job_choice_act(void *data, const char *job, struct err *err);
int job_choice_each(const struct str_list *jobs, job_choice_act *act, void *data);

/* The rows of a verb's options; `type` has `struct str_list tags` and `bool all`. */
#define JOB_CHOICE_TAG(type)                                                                       \
	OPT_ROW("tag", type, tags,                                                                 \
		"the jobs that have this tag (tony.application.tags); repeated: all of them",      \
		.argument = "TAG", .completion = OPT_COMPLETE_TAG)
#define JOB_CHOICE_ALL(type) OPT_ROW("all", type, all, "every job that has the name or tag")

#endif
