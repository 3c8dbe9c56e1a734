/* Before the barrier: can the task's Python program import its framework? */
#ifndef TONY_EXECUTOR_IMPORTS_H
#define TONY_EXECUTOR_IMPORTS_H

#include "executor/settings.h"

/* -1 and `err` (ERR_CONFIG) when it is known that it cannot; for the script and the interpreter of
 * the type's command, where the client could not look (framework/module.h). */
int imports_check(const struct settings *settings, struct err *err);

#endif
