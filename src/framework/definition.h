/*
 * A framework that is written as a file: task types, chief, what follows a failure, and templates
 * of its variables. docs/frameworks.md ("A framework of your own") has all elements.
 */
#ifndef TONY_FRAMEWORK_DEFINITION_H
#define TONY_FRAMEWORK_DEFINITION_H

#include "framework/environment.h"
#include "framework/framework.h"
#include "job/policy.h"

#define DEFINITION_CAP	      (256 << 10) /* bytes of a file */
#define DEFINITION_PHRASE_CAP 200	  /* of a text of <failure>, and of its reason */

struct definition_variable {
	char *name;  /* NULL: the cluster spec */
	char *value; /* with templates */
	int line;
	struct str_list types; /* of these alone; empty: of all */
	bool of_ranks;	       /* of tasks that have a rank */
	bool of_several;       /* of tasks of several processes */
	bool unless_set;       /* by the container's environment, or before */
	bool is_identity;
};

struct definition {
	char *place; /* for messages: the file */
	char *name;
	char *module;	       /* NULL: none */
	struct str_list chief; /* the first of these types that a job has */
	struct str_list types;
	struct definition_setting {
		char *pair; /* "tony.TYPE.KEY=VALUE" */
		int line;
	} * settings;
	size_t setting_count;
	struct str_list untracked;
	char *ranks;	     /* who has ranks ("JAX's processes"); NULL: nobody needs them */
	int64_t exact_tasks; /* 0: any number */
	bool stops_others;   /* a failure ends the formation at once */
	struct policy_row *failures; /* framework_ops.failures; NULL: none */
	size_t failure_count;
	struct definition_variable *variables;
	size_t variable_count;
};

/* `place`: what messages call it. NULL: `err` has place and line. */
struct definition *definition_parse(const char *text, const char *place, struct err *err);
void definition_free(struct definition *definition); /* NULL is fine */
void definition_cleanup(struct definition **definition);
#define cleanup_definition __attribute__((cleanup(definition_cleanup)))

/* As the functions of struct framework_ops by these names. */
void definition_defaults(const struct definition *definition, const struct framework_shape *shape,
			 struct str_list *pairs);
int definition_check(const struct definition *definition, const struct job *job, struct err *err);
int definition_environment(const struct definition *definition, const struct framework_task *task,
			   struct environment *environment, struct err *err);

#endif
