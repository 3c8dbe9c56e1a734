/* What one run of the program needs before its start: the cluster spec in a file, and the
 * environment of each process. */
#ifndef TONY_EXECUTOR_RUN_H
#define TONY_EXECUTOR_RUN_H

#include <jansson.h>

#include "executor/settings.h"

struct run {
	const struct settings *settings;
	const json_t *cluster; /* as ordered; docs/rest.md */
	int restart, am_attempt;
	const char *am_address;
	const char *files_socket; /* NULL: none */
	int ui_port;
	int guardian; /* pid of the executor's; 0: none */
};

/* One environment per process of the type, and to `commands` its command with templates expanded;
 * NULL on failure. */
struct environment *run_prepare(const struct run *run, struct str_list *commands, struct err *err);
void run_finish(const struct run *run, struct environment *environments); /* NULL is fine */

#endif
