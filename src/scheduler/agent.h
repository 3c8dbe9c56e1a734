/* Where the client finds tony-agent, to start or to send it. */
#ifndef TONY_SCHEDULER_AGENT_H
#define TONY_SCHEDULER_AGENT_H

#include "base/err.h"

#define AGENT_PROGRAM "tony-agent"

/* Beside this program, in ../libexec/tony, or in PATH. The caller frees. */
char *agent_find(struct err *err);

#endif
