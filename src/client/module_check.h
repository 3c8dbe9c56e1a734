/* Whether the interpreters of a job's commands have the module of its framework. */
#ifndef TONY_CLIENT_MODULE_CHECK_H
#define TONY_CLIENT_MODULE_CHECK_H

#include "client/stage.h"

/* For a script that imports the module (framework/module.h). `path` is a PATH. False: *text is the
 * problem, with an interpreter of this machine that has the module, if there is one. True: *text
 * is where it was found, or NULL: nothing can be said. The caller frees. */
bool module_check(const struct job *job, size_t type, const struct stage_files *files,
		  const char *path, int64_t patience_ms, char **text);

#endif
