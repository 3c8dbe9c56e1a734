/* An ordered set of KEY=VALUE; a later value replaces an earlier one. */
#ifndef TONY_FRAMEWORK_ENVIRONMENT_H
#define TONY_FRAMEWORK_ENVIRONMENT_H

#include "base/str.h"

struct environment {
	struct str_list entries; /* usable as envp once finished: NULL-terminated */
};

void environment_set(struct environment *environment, const char *key, const char *value);
void environment_set_format(struct environment *environment, const char *key, const char *format,
			    ...) __attribute__((format(printf, 3, 4)));
void environment_set_pair(struct environment *environment, const char *pair); /* "KEY=VALUE" */
void environment_inherit(struct environment *environment); /* all of this process's own */
void environment_remove(struct environment *environment, const char *key);
const char *environment_get(const struct environment *environment, const char *key); /* or NULL */
void environment_finish(struct environment *environment);

#define cleanup_environment __attribute__((cleanup(environment_finish)))

#endif
