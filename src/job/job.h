/*
 * The immutable description of a job: what `tony submit` writes as job.json and everything else
 * reads. Built once from the configuration (client/describe.h), validated there, never changed.
 * Memory is in MiB, time in ms; 0 means "no limit" for every timeout.
 */
#ifndef TONY_JOB_JOB_H
#define TONY_JOB_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "job/job_secret.h"

#define JOB_JSON_CAP	  (16u << 20) /* a job.json larger than this is refused */
#define JOB_FORMAT	  2	      /* of job.json: its member "format" */
#define JOB_FORMAT_OLDEST 1	      /* that is read */
#define JOB_TEXT_CAP	  4096	      /* bytes of a name or a path in it */
#define JOB_MAX_TASKS	  100000      /* over all types */
#define JOB_MAX_TYPES	  1000
#define JOB_MAX_PROCESSES 1024 /* of one task */

enum job_mode {
	JOB_MODE_GANG, /* no process starts before every task of the formation is registered */
	JOB_MODE_FCFS, /* each starts as soon as it is registered */
};

enum job_role {
	JOB_ROLE_TRACKED,   /* the job waits for it, and its failure fails the job */
	JOB_ROLE_UNTRACKED, /* ended when the tracked ones have; its failure fails the job */
	JOB_ROLE_SIDECAR,   /* ended when the tracked ones have; its failure is only noted */
};

enum job_isolation { JOB_ISOLATION_NONE, JOB_ISOLATION_PID_NAMESPACE };

enum job_file_kind {
	JOB_FILE_LINK,	  /* `name` becomes a symbolic link to `source` (a file or directory) */
	JOB_FILE_CONTENT, /* the content of directory `source` is cloned into directory `name` */
	JOB_FILE_ARCHIVE, /* the scheduler unpacks archive `source` into directory `name` */
};

/* Something that is there in a task's working directory before its program starts. */
struct job_file {
	enum job_file_kind kind;
	char *source; /* absolute path; "container:PATH": in the directory that the scheduler
			 started the executor in; or another URI that the scheduler understands */
	char *name;   /* relative, without "..", or "." */
};
struct job_files {
	struct job_file *items;
	size_t count;
};

/* This type is asked for only after every task of `type` has started, or has succeeded. */
struct job_dependency {
	size_t type;
	bool on_start; /* false: on successful end */
};

struct job_type {
	char *name;    /* [a-z][a-z0-9_-]* */
	int instances; /* >= 0: how many are wanted at the start */
	/* An elastic type may run with any number between these, with instances among them; it is
	 * of a GANG job and no sidecar. Both 0: it is none. */
	int min_instances, max_instances;
	int processes;	/* per task, >= 1: ranks that share a container */
	int64_t memory; /* MiB, of the whole task; 0: as much as it takes (a sweep's own) */
	int vcores;
	int gpus;
	char *command; /* for `bash -c` */
	/* KEY=VALUE for the user's process; may hold {{templates}}. KEY alone takes a variable out.
	 */
	struct str_list environment;
	struct job_files files; /* of this type and of all containers, in that order */
	/* Each process reads this file from its start as standard input: a path or
	 * "container:PATH", as in struct job_file. NULL: nothing. */
	char *stdin_file;
	enum job_role role;
	bool stop_on_failure; /* one failure fails the job at once */
	int max_restarts;     /* in-place restarts of each task's process */
	bool hold_port;	      /* keep the port bound while the process lives */
	bool strict_port;     /* held, and so that no other user can bind it: executor/port.h */
	struct str_list listener_uids; /* other users whose programs may listen at the task's ports:
					  numbers, or "any" */
	enum job_isolation isolation;
	int64_t stop_grace_ms;	   /* SIGTERM to SIGKILL */
	int64_t frozen_timeout_ms; /* a process stopped by SIGSTOP for so long is a failure */
	int64_t hang_timeout_ms;   /* no sign of life for so long is one */
	struct str_list on_exit;   /* exit_rules.h */
	struct job_dependency *dependencies;
	size_t dependency_count;
	char *node_label;   /* NULL: none */
	char *docker_image; /* NULL: none */
};

/* tony.application.dependency.<type>.timeout.after.<group> */
struct job_group_timeout {
	size_t type;
	char *group;	 /* its name, for messages */
	size_t *members; /* types */
	size_t member_count;
	int64_t timeout_ms;
	bool ignored; /* at the timeout the type becomes untracked instead of failing the job */
};

struct job {
	char *id;   /* "tony-20261121-061400-1f3a09c4"; unique, sorts by time, safe in a path */
	char *name; /* tony.application.name */
	char *user;
	char *framework;       /* lower case: a name that framework_find() knows */
	char *framework_file;  /* text of framework/definition.h: a framework of the user's own,
				  whose name `framework` is; NULL: it is one of tony's */
	char *framework_place; /* that file's path, for messages; NULL likewise */
	char *chief;	       /* likewise: the type of the chief; NULL: as job_is_chief() has it */
	char *scheduler;       /* a name that scheduler_find() knows; NULL: the local one */
	char *queue;
	char *rerun_of; /* the id of the job that this one repeats; NULL: none */
	struct str_list tags;
	struct str_list uses; /* of a pipeline's: "NODE=JOB", whose results stay while it lives */
	enum job_mode mode;
	int64_t submitted_ms; /* wall clock */

	/* It asks for no container before all of these are over. */
	struct str_list after; /* jobs of the same engine and user (job/awaited.h) */
	int64_t begin_ms;      /* wall clock; 0: at once. See job_waits_to_begin() */
	bool hold;	       /* until its user releases it */
	char *parent;	       /* the job of which a task submitted this one; NULL: none did */
	bool outlives_parent;
	int64_t priority; /* larger ones go first */
	/* An array is jobs that were submitted together. */
	char *array;		       /* its id; NULL: the job is of none */
	int64_t array_index;	       /* the job's number in it */
	int64_t array_limit;	       /* how many of it may run at a time; 0: all */
	struct str_list array_earlier; /* with a limit: those before it, as `after` has them */

	/* A sweep is a job whose only task submits others, its trials (client/sweep_run.h). Types
	 * of trials have no instances in the sweep itself. */
	char *sweep;   /* its id; of the sweep its own; NULL: the job has nothing to do with one */
	int64_t trial; /* the job's number in it */

	struct job_type *types;
	size_t type_count;
	struct job_group_timeout *group_timeouts;
	size_t group_timeout_count;

	bool fail_fast; /* a tracked task's final failure fails (or re-forms) the job at once */
	bool stop_after_chief;		/* the chief's success ends the job */
	int retry_count;		/* re-formations paid by the user's own failures */
	int infrastructure_retry_count; /* re-formations for lost nodes, failed launches */
	int64_t retry_delay_ms; /* first back-off; doubles up to 64 times that; with jitter */

	/* What elastic types lose and gain is no reason to stop a process: the program lives
	 * through it. */
	bool live_elastic;
	bool tls;		   /* between its client, AM and executors (net/tls.h) */
	int64_t elastic_settle_ms; /* how long others are waited for since the last came */

	int64_t application_timeout_ms;
	int64_t allocation_timeout_ms;	 /* request -> the whole gang registered */
	int64_t registration_timeout_ms; /* launch -> registration, of one task */
	int64_t execution_timeout_ms;	 /* start -> end, of one process */
	int64_t executor_give_up_ms;	 /* executor -> AM silence before it ends its task */

	int64_t heartbeat_interval_ms;
	int max_missed_heartbeats;
	int64_t metrics_interval_ms;
	bool gpu_metrics;
	char *gpu_command; /* nvidia-smi or what stands in for it */

	int error_lines;	  /* last lines of stderr kept in an exit report */
	int64_t log_rotate_bytes; /* of stdout and stderr each; 0: never */
	int log_keep;		  /* rotated files kept */

	char *work_dir; /* absolute: every task runs there; NULL: each has its own directory */
	char *checkpoint_dir; /* TONY_CHECKPOINT_DIR: the same for every task, epoch and retry */
	char *output_dir;     /* below it each task has its TONY_OUTPUT_DIR; NULL: none has */
	char *results_dir;    /* of the submitting machine, or a URL: the results are to come there;
				 NULL: they stay in output_dir */
	char *tensorboard_log_dir; /* NULL: none; else the type "tensorboard" is the TB owner */

	/* Notices of the job's end (am/notice.h). */
	char *on_end_webhook;	   /* a URL, which may hold secrets; NULL: none */
	char *on_end_authorities;  /* PEM: trusted for it beside the machine's own; NULL: no others
				    */
	char *on_end_command;	   /* for `bash -c`; NULL: none */
	int64_t on_end_timeout_ms; /* of the command; 0: no limit */

	/* Where its numbers go to, too (am/tracking.h). */
	char *tracking_uri;	    /* of an MLflow server; NULL: none */
	char *tracking_experiment;  /* NULL: the job's name */
	char *tracking_authorities; /* as on_end_authorities */
	bool tracking_nests;	    /* programs have runs of their own, below the job's */
	bool tracking_wandb;	    /* programs get what Weights & Biases goes by */

	struct job_secrets secrets; /* of all types' programs */

	json_t *config; /* effective configuration: {"key": {"value": "...", "origin": "..."}} */
	/* Where its code comes from, for people: {"directory", "commit" ...} as client/provenance.c
	 * writes it; members that are not known are absent. NULL: nothing is known. */
	json_t *provenance;
	/* {TYPE: {NAME: mark}} of secrets and variables; NULL: none */
	json_t *marks;
	json_t *engine; /* what the scheduler's client side tells its other side, in a form of its
			   own (YARN's: hadoop/cluster.h); NULL: nothing */
	json_t *stores; /* how each remote store of the job is reached (store/access.h); NULL: it
			   has none */
};

void job_destroy(struct job *job); /* NULL is fine */

/* The job is a sweep, and no trial of one. */
bool job_is_sweep(const struct job *job);
/* "TONY_CHILD_OF_<id>=1": in the environment of all jobs that its tasks submit, which are not ended
 * as processes of this one are. The caller frees. */
char *job_child_mark(const struct job *job);

/* Somebody is to be told of its end. */
bool job_has_notices(const struct job *job);

/* How long the difference of its code from its commit is that was kept; 0: there is none. */
int64_t job_diff_bytes(const struct job *job);

/* Of all types: see job_type_slots(). */
size_t job_task_count(const struct job *job);

bool job_type_is_elastic(const struct job_type *type);
/* How many tasks of the type have a number, a row and a name: as many as there can ever be. */
int job_type_slots(const struct job_type *type);
/* Without so many of them nothing starts. */
int job_type_minimum(const struct job_type *type);

/* {"NAME": "value"} of a type, as the user gave it; secrets, and values of what may be one, are
 * "***", with their marks behind that where these are known and `is_marked`. */
json_t *job_environment_to_json(const struct job *job, size_t type, bool is_marked);

/* Marks what is hidden while its value is at hand: a part of its HMAC under `key`, which no record
 * has, behind the key's name, "1f0c9a3b:88d1...". So two jobs of a user tell whether a secret is
 * the same, and who reads their records cannot try values. */
void job_mark_secrets(struct job *job, const char *key);
bool job_has_secrets(const struct job *job); /* something to mark */
/* Whether a text hides a value, with or without a mark. */
bool job_is_hidden(const char *text);
/* Of two of them: 0: the same secret; 1: another one; -1: it cannot be told. */
int job_compare_hidden(const char *one, const char *other);

/* A task counts as lost after so many ms of silence: three missed heartbeats at least. */
int64_t job_heartbeat_timeout_ms(const struct job *job);

/* A key of the effective configuration; NULL: unset or empty. Valid as long as the job is. */
const char *job_config(const struct job *job, const char *key);
const char *job_config_format(const struct job *job, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool job_config_bool(const struct job *job, const char *key); /* unset: false */
/* A duration in which a bare number counts so many ms; unset: 0. */
int64_t job_config_ms(const struct job *job, const char *key, int64_t bare_ms);
/* As job_config(), of the object `config` alone. */
const char *job_config_value(const json_t *config, const char *key);

/* The chief: any task of type "chief"; where there is none, worker:0; where there is no worker
 * either, task 0 of a single-type job. */
bool job_is_chief(const struct job *job, size_t type, int index);

/* -1: no such type. */
int job_find_type(const struct job *job, const char *name);
/* By its user's will, for other jobs, a time or a word: its limits of time count from when it
 * begins. */
bool job_waits_to_begin(const struct job *job);

/* Users and groups that may look at the job, or end it, beside its owner (base/acl.h); NULL: none.
 * A description of an earlier version has the key's older name. Borrowed. */
const char *job_view_acl(const struct job *job);
const char *job_modify_acl(const struct job *job);
/* The job's page in the portal that tony.portal.url names; NULL: it names none. The caller frees.
 */
char *job_portal_page(const struct job *job);

/* The experiment of its run; NULL: no server tracks it. */
const char *job_experiment(const struct job *job);

/* The name of a task's directory below output_dir: "worker-0". The caller frees. */
char *job_output_name(const struct job *job, size_t type, int index);

bool job_is_type_name(const char *name);
/* "worker:0". The caller frees. */
char *job_task_name(const struct job *job, size_t type, int index);
/* "worker:0" -> its number, counting over all types in order, or -1. */
int64_t job_find_task(const struct job *job, const char *name);

json_t *job_to_json(const struct job *job);
char *job_to_text(const struct job *job);

/* Reads and checks a whole job.json, as if written by an enemy. NULL and `err` on any flaw. */
struct job *job_from_text(const char *bytes, size_t length, struct err *err);

/* The same from a file ("<job dir>/job.json"); errors name it. */
struct job *job_read_file(const char *path, struct err *err);
/* The bearer token out of its file ("<job dir>/token"). The caller frees. */
char *job_read_token(const char *path, struct err *err);

#endif
