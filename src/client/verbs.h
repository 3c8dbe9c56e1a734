/*
 * The verbs of `tony`: each is a row in verb_<name>.c, which verbs_run() runs.
 */
#ifndef TONY_CLIENT_VERBS_H
#define TONY_CLIENT_VERBS_H

#include "base/opt.h"

struct opened;

/* A command line, parsed. */
struct verb_call {
	const struct str_list *operands;
	size_t dashdash;       /* of the operands stand before "--", or all */
	struct opened *opened; /* of VERB_JOB */
};

struct verb {
	struct opt_table options;
	size_t size;	      /* of the struct that the options fill; 0: there are none */
	const void *defaults; /* such a struct; NULL: zeroes */
	enum {
		VERB_OPERANDS, /* the verb looks at them itself */
		VERB_NONE,
		VERB_JOB,     /* one job, or none for the newest: it is opened */
		VERB_JOB_OF,  /* the same; its options have --of USER (OPENED_OF), at `of` */
		VERB_JOB_ANY, /* the same, whoever's the job is: for what only shows it */
	} operands;
	size_t of;
	/* Of the options, before run(), and before a job is opened; NULL: none. */
	int (*check)(const void *chosen, struct err *err);
	/* The exit code (exit_code.h), or -1: `err` is reported, and tells it. `chosen`: the struct
	 * of the options. */
	int (*run)(void *chosen, const struct verb_call *call, struct err *err);
};

/* argv[0] is the verb itself. Prints help where it is asked for. Returns the exit code. */
int verbs_run(const struct verb *verb, int argc, char **argv);

#define VERBS(row)                                                                                 \
	row(init) row(submit) row(run) row(sweep) row(rerun) row(notebook) row(list) row(status)   \
		row(top) row(wait) row(attach) row(logs) row(open) row(events) row(kill)           \
			row(restart) row(exec) row(shell) row(stacks) row(port_forward) row(cp)    \
				row(ssh_config) row(results) row(scale) row(release) row(renew)    \
					row(config) row(check) row(render) row(history) row(rm)    \
						row(clean) row(advise) row(metrics) row(compare)   \
							row(queues) row(nodes) row(bundle)         \
								row(portal) row(version)           \
									row(completion)

#define VERB_DECLARE(name) extern const struct verb verb_##name;
VERBS(VERB_DECLARE)
#undef VERB_DECLARE

#endif
