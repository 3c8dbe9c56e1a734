/*
 * The secrets of a job: values that the user has in files. job.json holds them, and so does the
 * environment of the job's programs; a history, the pages and the answers of REST have their names.
 */
#ifndef TONY_JOB_JOB_SECRET_H
#define TONY_JOB_JOB_SECRET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define JOB_SECRET_CAP	  65536 /* bytes of a value; with its name it fits into one variable */
#define JOB_SECRET_NAME	  256
#define JOB_MAX_SECRETS	  100
#define JOB_SECRET_HIDDEN "***"

struct job_secret {
	char *name;    /* of a variable: [A-Za-z_][A-Za-z0-9_]* */
	bool is_file;  /* a file of each container holds the value, and the variable its path */
	char *value;   /* `length` bytes and a NUL; NULL: not kept, as in a history */
	size_t length; /* of a variable: the text's */
};

struct job_secrets {
	struct job_secret *items;
	size_t count;
};

bool job_secret_is_name(const char *text);
const struct job_secret *job_secrets_find(const struct job_secrets *secrets, const char *name);
/* Takes over what `secret` owns. */
void job_secrets_add(struct job_secrets *secrets, struct job_secret secret);
void job_secret_copy(const struct job_secret *from, struct job_secret *to);
void job_secret_finish(struct job_secret *secret); /* the value is overwritten */
/* The name is left; the value is overwritten. */
void job_secret_forget(struct job_secret *secret);
void job_secrets_forget(struct job_secrets *secrets);
void job_secrets_finish(struct job_secrets *secrets);

/* The member "secrets" of job.json; none without any. */
void job_secrets_write(const struct job_secrets *secrets, json_t *job);
/* Takes the values out of what job_secrets_write() wrote. */
void job_secrets_hide(json_t *job);
int job_secrets_read(const json_t *job, struct job_secrets *secrets, struct err *err);

#endif
