/* Configuration in, job description out, with every check that concerns more than one key. */
#ifndef TONY_CLIENT_DESCRIBE_H
#define TONY_CLIENT_DESCRIBE_H

#include "client/job_options.h"
#include "conf/conf.h"
#include "conf/resource.h"
#include "job/job.h"

/* A job whose files are not staged yet: client/stage.h turns `resources`, `src_dir` and
 * `python_venv` into job->types[].files. */
struct description {
	struct job *job;		 /* `checkpoint_dir` is NULL unless the user chose one */
	struct resource_list *resources; /* one per type: the type's own, then all containers' */
	char *src_dir;	       /* absolute, or a URI; a directory or an archive; NULL: none */
	char *work_dir;	       /* absolute: where it runs if it names no files; NULL: here */
	char *python_venv;     /* absolute; an archive or a directory; NULL: none */
	char *interpreter;     /* --python_binary_path as a task sees it; NULL: none */
	char *scheduler;       /* "local" */
	struct str_list after; /* JOB:success and JOB:any, as the user names jobs */
	int64_t *array;	       /* the numbers of an array, without those that are twice */
	size_t array_count;    /* 0: the job is none */
	struct str_list secret_files; /* absolute: of --secret; no copy of the sources has them */
	const char *found_file;	      /* the job file that was not named: "tony.xml"; or NULL */
	bool framework_is_default;    /* of a job with task types: the user has named none */
};
void description_finish(struct description *description);
#define cleanup_description __attribute__((cleanup(description_finish)))

/* Adds the framework's own defaults to a resolved configuration; job_options_load() does. */
void describe_defaults(struct conf *conf, const struct job_options *options);

/* Fills a zeroed `description` from a resolved configuration. On failure `err` (ERR_CONFIG) has a
 * line for every error, also for those that conf_problems() had before. Warnings are left in
 * conf_problems(). */
int describe_job(struct conf *conf, const struct job_options *options,
		 struct description *description, struct err *err);

/* job_options_load() and describe_job(), with the warnings printed to standard error. */
int describe_from_options(const struct job_options *options, const struct str_list *command,
			  struct description *description, struct err *err);

/* The effective configuration, sorted by key: {"key": {"value": "...", "origin": "..."}}. Secrets
 * are "***"; with `for_others` so are the values of environment variables. */
json_t *describe_config(const struct conf *conf, bool for_others);

/* Notes in job->config the directory in which the tasks run, which is known by now. */
void describe_record_place(struct job *job);

void describe_print_warnings(struct conf *conf);

#endif
