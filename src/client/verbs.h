/*
 * The verbs of `tony`: each is one function in verb_<name>.c with its option table. argv[0] is the
 * verb itself; the result is the exit code (exit_code.h).
 */
#ifndef TONY_CLIENT_VERBS_H
#define TONY_CLIENT_VERBS_H

#include "base/opt.h"

#define VERBS(row)                                                                                 \
	row(init) row(submit) row(rerun) row(list) row(status) row(wait) row(attach) row(logs)     \
		row(open) row(events) row(kill) row(restart) row(results) row(scale) row(config)   \
			row(check) row(render) row(history) row(rm) row(clean) row(advise)         \
				row(bundle) row(portal) row(version) row(completion)

#define VERB_DECLARE(name)                                                                         \
	int verb_##name(int argc, char **argv);                                                    \
	extern const struct opt_table verb_##name##_options;
VERBS(VERB_DECLARE)
#undef VERB_DECLARE

#endif
