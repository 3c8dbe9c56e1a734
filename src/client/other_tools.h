/* Words that users of srun, torchrun, Ray and kubectl type, and what is meant here. */
#ifndef TONY_CLIENT_OTHER_TOOLS_H
#define TONY_CLIENT_OTHER_TOOLS_H

#include "base/opt.h"

/* For opt_table.elsewhere. */
extern const struct opt_word other_tools_job_options[]; /* submit, check and render */
extern const struct opt_word other_tools_logs_options[];

/* "kill" for the verb "stop"; NULL: no other tool's either. */
const char *other_tools_verb(const char *name);

#endif
