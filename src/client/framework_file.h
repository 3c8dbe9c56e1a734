/* tony.framework.file: a framework of the user's own (framework/definition.h). */
#ifndef TONY_CLIENT_FRAMEWORK_FILE_H
#define TONY_CLIENT_FRAMEWORK_FILE_H

#include "client/describe_internal.h"
#include "framework/definition.h"

/* Its text, checked, for the caller to free, and *definition, which the caller frees, too. NULL:
 * the job has none, or, with `err`, it cannot be read or is wrong. A job that is repeated has the
 * text that it had. */
char *framework_file_read(const struct conf *conf, const struct job_options *options,
			  struct definition **definition, struct err *err);

/* Makes the described job one of this framework, if it has one; a flaw is told as the key's. */
void framework_file_describe(struct describer *describer);

#endif
