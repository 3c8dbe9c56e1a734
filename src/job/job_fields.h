/*
 * The plain members of struct job and struct job_type in one table each: the client fills a job by
 * it (client/describe.h), job_write.c writes by it, job_read.c reads and checks by it,
 * job_destroy() frees by it. src/protocol has tables of the same kind for messages.
 */
#ifndef TONY_JOB_JOB_FIELDS_H
#define TONY_JOB_JOB_FIELDS_H

#include <jansson.h>

#include "job/job.h"

enum job_field_kind {
	FIELD_TEXT,	      /* char *; min and max are lengths in bytes */
	FIELD_OPTIONAL_TEXT,  /* char *, NULL when the member is absent */
	FIELD_INT,	      /* int */
	FIELD_OPTIONAL_INT,   /* int; 0 when the member is absent */
	FIELD_INT64,	      /* int64_t */
	FIELD_OPTIONAL_INT64, /* int64_t; 0 when the member is absent */
	FIELD_KNOWN_INT64,    /* int64_t; negative: not written; as it was when absent */
	FIELD_BOOL,	      /* bool */
	FIELD_OPTIONAL_BOOL,  /* bool; false when the member is absent */
	FIELD_CHOICE,	      /* an enum, written as one of `choices` (NULL-terminated) */
	FIELD_LIST,	      /* struct str_list; empty when the member is absent */
};

struct job_field {
	const char *name; /* of the JSON member */
	size_t offset;
	enum job_field_kind kind;
	int64_t max;
	/* The key of the configuration that says it, with <type> for the task type's name: a number
	 * in ms or MiB, a choice in any case. NULL: it follows from several, or from none. */
	const char *key;
	const char *common_key; /* of a text: where that key is unset; NULL: none */
	int64_t min;
	const char *const *choices;
};

extern const struct job_field job_fields[];
extern const size_t job_field_count;
extern const struct job_field job_type_fields[];
extern const size_t job_type_field_count;

extern const char *const job_roles[];	   /* by enum job_role; NULL-terminated */
extern const char *const job_file_kinds[]; /* by enum job_file_kind; NULL-terminated */

int job_fields_read(const struct job_field *fields, size_t count, const json_t *object,
		    void *target, struct err *err);
void job_fields_write(const struct job_field *fields, size_t count, const void *source,
		      json_t *object);
void job_fields_finish(const struct job_field *fields, size_t count, void *target);

/* The index of the member's text in `choices`, or -1 and `err`. */
int job_read_choice(const json_t *object, const char *name, const char *const *choices,
		    struct err *err);

#endif
