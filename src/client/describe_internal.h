/* What the parts of describe share. */
#ifndef TONY_CLIENT_DESCRIBE_INTERNAL_H
#define TONY_CLIENT_DESCRIBE_INTERNAL_H

#include "client/describe.h"

/* The one task type of a job that configures none. */
#define SINGLE_NODE_TYPE "driver"
#define TENSORBOARD_TYPE "tensorboard"

#define TIMEOUT_KEY "tony.application.dependency.<type>.timeout.after.<group>"

struct describer {
	struct conf *conf;
	const struct job_options *options;
	struct description *out;
	struct job *job;
	struct problems *problems;
	bool single_node;
};

/* "PLACE: text" of the key's value: where it was written, which also decides what kind of error the
 * whole is (conf_source()). */
void describe_error(const struct describer *describer, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A value was set, is valid and not empty. */
bool describe_is_set(const struct conf *conf, const char *key);

/* The user has said it, be it in a file: it is no default. */
bool describe_is_users(const struct conf *conf, const char *key);

/* The task types that `conf` asks for, by .instances, in the order they are named. */
void describe_find_types(const struct conf *conf, struct str_list *types);

/* How many tasks `conf` asks for of this type. */
int describe_instances(const struct conf *conf, const char *type);

enum job_mode describe_mode(const struct conf *conf);

/* Python's path as a task has it: one that is not absolute is below the venv. The caller frees.
 * NULL: `python` is NULL. */
char *describe_interpreter(const char *venv, const char *python);

/* The tasks' Python, as a word for the shell. The caller frees. */
char *describe_python(const struct job_options *options);

/* The key of `what` for this type. The one task of a job without types has two, tony.driver.memory
 * and TonY's tony.am.memory: the later layer wins. The caller frees. */
char *describe_type_key(const struct describer *describer, const char *type, const char *what);

/* A number as it counts in a job: in ms, in MiB, or as it is. */
int64_t describe_number(const struct conf *conf, const char *key);

/* Fills the fields of struct job, or of the struct job_type called `type`, that have a key. */
struct job_field;
void describe_fields(const struct describer *describer, const struct job_field *fields,
		     size_t count, void *target, const char *type);

/* The type of that name, or -1 and, in *hint, "; did you mean worker?" or "". The caller frees. */
int describe_find_type(const struct describer *describer, const char *name, char **hint);

/* -1: there are too many, so nothing more can be said of the job (describe_types.c). */
int describe_types(struct describer *describer);
void describe_elastic(struct describer *describer); /* how far the types may shrink and grow */
void describe_limits(struct describer *describer);
void describe_start(struct describer *describer); /* describe_start.c: when it may begin */
/* describe_environment.c */
void describe_environment(const struct describer *describer, struct job_type *type);
void describe_check_variables(const struct describer *describer);
/* "NAME": why the user cannot set this variable of the type's programs, and what to do instead.
 * NULL: the user can. The caller frees. */
char *describe_name_flaw(const struct describer *describer, const struct job_type *type,
			 const char *name);
void describe_secrets(const struct describer *describer); /* describe_secrets.c */
void describe_resources(struct describer *describer);	  /* describe_files.c */
void describe_order(struct describer *describer);	  /* describe_order.c: stages, depends-on */
void describe_groups(struct describer *describer);	  /* describe_groups.c: group timeouts */
void describe_effects(struct describer *describer);	  /* describe_effects.c: keys without any */
/* describe_files.c: a resource of a recorded configuration whose place a new --python_venv takes.
 */
bool describe_is_replaced(const struct describer *describer, const char *key,
			  const struct resource_spec *spec);
void describe_record(struct describer *describer); /* describe_record.c: job->config */

#endif
