/* tony submit and tony rerun share this way: from options to a job that was watched to its
 * end.
 */
#ifndef TONY_CLIENT_SUBMISSION_H
#define TONY_CLIENT_SUBMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "client/describe.h"
#include "client/job_options.h"
#include "client/repeat.h"
#include "client/stage.h"
#include "client/watch.h"

struct submission_options {
	struct job_options job;
	struct watch_choice watch;
	bool detach, json;
	bool with_stdin;
	const struct repeat *repeat;	 /* NULL: it is no other job's repetition */
	const struct sweep_trial *trial; /* with a repeat: of this sweep; NULL: it is no trial */
	/* The verb's own checks of the job, and what it notes in it, before it is started; NULL:
	 * none. */
	int (*check)(void *data, const struct description *description, const struct stage *stage,
		     struct err *err);
	void *check_data;
	/* Is told the job, with the id that it will have, right before its engine hears of it. -1:
	 * it is not started. NULL: nobody is told. */
	int (*announce)(void *data, const struct job *job, struct err *err);
	void *announce_data;
};

/* The rows of a verb's options; `owner` has a struct submission_options `member`. */
#define SUBMISSION_OPTIONS(owner, member)                                                          \
	OPT_ROW("detach", owner, member.detach,                                                    \
		"print the job's id and return; see tony wait, status, logs", .letter = 'd'),      \
		WATCH_OPTIONS(owner, member.watch),                                                \
		OPT_ROW("json", owner, member.json,                                                \
			"print the ended job as JSON (docs/json.md), and what goes on before to "  \
			"standard error"),                                                         \
		OPT_ROW("stdin", owner, member.with_stdin,                                         \
			"read standard input to its end (1 GiB at most), and give it to each run " \
			"of a job of one task"),                                                   \
		JOB_OPTIONS(owner, member.job)

/* `operands` (those that say what to run) and `dashdash` as opt_parse() gives them. Returns an exit
 * code, or -1 and `err`. */
int submission_run(const struct submission_options *chosen, const struct str_list *operands,
		   size_t dashdash, struct err *err);

/* Whether a described job could start. A job that asks for a sweep becomes that, once its trials
 * were checked. */
int submission_check(const struct submission_options *chosen, struct description *description,
		     struct stage *stage, struct err *err);

/* The same as far as the job's start. *id: the job's, the caller's to free; NULL: it has failed to
 * start, and that is told. The signals of watch_signals() are blocked. */
int submission_start(const struct submission_options *chosen, const struct str_list *operands,
		     size_t dashdash, char **id, struct err *err);

#endif
