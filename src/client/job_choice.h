/* The jobs that the words of a command line mean: whole ids, beginnings of one, names, --tag. */
#ifndef TONY_CLIENT_JOB_CHOICE_H
#define TONY_CLIENT_JOB_CHOICE_H

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"

enum job_choice_kind {
	/* To look at: a name is that of the newest live job, else of the newest that has ended. */
	JOB_CHOICE_ANY,
	/* To end, or to remove: a name or tag that several such jobs have is refused, and they are
	 * listed on standard error, unless `all` is set. */
	JOB_CHOICE_LIVE,
	JOB_CHOICE_ENDED, /* also those of which nothing but the history is left */
};

struct job_choice {
	enum job_choice_kind kind;
	const struct str_list *operands;
	const struct str_list *tags; /* NULL: none; a job has all of these */
	bool all;
};

/* Has the user named more than one job, or may have? Then --json is a list. */
bool job_choice_is_list(const struct job_choice *choice);

/* Fills `jobs` with words for opened_find(), each once: whole ids, but for an operand that is left
 * as it is since it is to be found as ever, or fits no such job: opened_find() says why. Without
 * operand and tag `jobs` stays empty. ERR_USAGE: several fit; nothing is to be done. ERR_NOT_FOUND:
 * no such job has the tags. */
int job_choice_find(const struct opt_table *verb, const struct job_choice *choice,
		    struct str_list *jobs, struct err *err);

/* Calls `act` with each word, or with NULL when there is none. A failure is told and stops no
 * other. Returns the highest exit code; what Ctrl-C has ended (EXIT_CODE_INTERRUPTED) ends all. */
typedef int job_choice_act(void *data, const char *job, struct err *err);
int job_choice_each(const struct str_list *jobs, job_choice_act *act, void *data);

/* The rows of a verb's options; `type` has `struct str_list tags` and `bool all`. */
#define JOB_CHOICE_TAG(type)                                                                       \
	{                                                                                          \
		.name = "tag", .kind = OPT_LIST, .offset = offsetof(type, tags),                   \
		.argument = "TAG", .completion = OPT_COMPLETE_TAG,                                 \
		.help = "the jobs that have this tag (tony.application.tags); repeated: all of "   \
			"them"                                                                     \
	}
#define JOB_CHOICE_ALL(type)                                                                       \
	{                                                                                          \
		.name = "all", .kind = OPT_FLAG, .offset = offsetof(type, all),                    \
		.help = "all jobs that have the name or tag, be they several"                      \
	}

#endif
