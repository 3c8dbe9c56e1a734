/*
 * What a framework needs: one const struct per framework, one line in the table of framework.c.
 */
#ifndef TONY_FRAMEWORK_FRAMEWORK_H
#define TONY_FRAMEWORK_FRAMEWORK_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "job/job.h"

/* The cluster spec of one epoch: addresses by type, in the order of the tasks' numbers. A type that
 * is not part of the formation has no addresses, of an elastic one there are those of the members
 * only; with JOB_MODE_FCFS the host of a task that is not registered yet is NULL (null in JSON).
 * `rendezvous` is the AM's store for this epoch where the framework asks for one
 * (framework_ops.rendezvous); else its host is NULL. */
struct cluster_type {
	const char *name;
	struct cluster_address {
		char *host;
		int port;
	} * addresses;
	int *slots; /* the task's number for each address, ascending; NULL: these are 0, 1, 2, ...
		     */
	size_t count;
};
struct cluster {
	int epoch;
	struct cluster_type *types; /* in the order of job->types */
	size_t type_count;
	struct cluster_address rendezvous;
	char *tracking_run; /* the job's, at job->tracking_uri; NULL: it has none (yet) */
};

/* Of all types of the job, without any address. The caller destroys it. */
struct cluster *cluster_create(const struct job *job, int epoch);
/* Where the task of this number stands among the addresses of its type; -1: nowhere. */
int cluster_find(const struct cluster *cluster, size_t type, int slot);
/* How many tasks of the type take part; as many as are asked for where it is not part of the
 * formation. */
int cluster_count(const struct cluster *cluster, const struct job *job, size_t type);
/* {"epoch": 1, "types": {"worker": ["127.0.0.1:4001", ...], ...}}; see docs/rest.md */
json_t *cluster_to_json(const struct cluster *cluster);
struct cluster *cluster_from_json(const struct job *job, const json_t *json, struct err *err);
void cluster_destroy(struct cluster *cluster);

/* One process of one task, at the moment it is started. */
struct framework_task {
	const struct job *job;
	const struct cluster *cluster;
	size_t type;
	int slot;    /* its own number, as in its name */
	int index;   /* among those of its type that take part in this epoch */
	int process; /* 0 .. processes-1 */
	int attempt, restart, am_attempt;
	int ui_port;		    /* 0: this task owns none */
	const char *am_url;	    /* "http://127.0.0.1:4000" */
	const char *cluster_file;   /* path of the cluster spec as JSON */
	const char *preempted_file; /* there once the container is taken back */
	const char *progress_file;  /* where this process may tell how far it is */
	const char *metrics_file;   /* where the program may tell numbers; NULL: nowhere */
	const char *files_socket;   /* where the job's HDFS is served; NULL: nowhere */
	const char *token_file;	    /* path of the job's token */
	const char *secret_file;    /* of framework_ops.secret */
	const char *agent;	    /* path of the tony-agent that runs the executor */
	const char *work_dir;	    /* where the program runs; tasks may share it */
	const char *scratch_dir;    /* of this task alone */
	int guardian; /* pid of the executor's guardian, whose current directory is scratch_dir; 0:
			 none that the task sees */
};

struct environment; /* environment.h: ordered KEY=VALUE set */

/* What a job's configuration says before the framework has its say. */
struct framework_shape {
	const struct str_list *types; /* those with instances, in order */
	bool is_chosen;		      /* the user has named the framework */
	const char *python;	      /* the interpreter, as a word for the shell */
	const char *worker_command;   /* NULL: none, or there is one for all types */
	enum job_mode mode;
	const struct str_list *timed; /* types that may outlive others for so long only: the user
					 wants the job to wait for them */
};
bool framework_shape_has(const struct framework_shape *shape, const char *type);

struct policy_row; /* job/policy.h */

struct framework_ops {
	const char *name;
	/* The framework is written as a file (definition.h): its text, and no other member is set.
	 * NULL: it is not. */
	const char *definition;
	const char *module; /* by which Python programs import it; NULL: none */
	/* The program that forms the cluster, as a task's command begins with it: a Python program
	 * that is started without it runs alone. NULL: tony forms it. */
	const char *launcher;
	/* Adds "KEY=VALUE" pairs: what the framework wants unless the user says otherwise. They are
	 * a layer of the configuration, right above tony's own defaults: which types are tracked,
	 * what is restarted in place, types that tony adds and what those run. */
	void (*defaults)(const struct framework_shape *shape, struct str_list *pairs);
	/* The client's check: shapes that cannot work are refused with the remedy. May be NULL. */
	int (*check)(const struct job *job, struct err *err);
	/* The framework's own launcher starts tony.<type>.processes in each task: tony starts one
	 * process, which is told that number. */
	bool starts_processes;
	/* True: the AM serves a rendezvous store of each epoch's own (cluster->rendezvous). NULL:
	 * never. */
	bool (*rendezvous)(const struct job *job);
	/* Why a job cannot have fewer or more tasks of this type, as a clause; NULL: it can. NULL:
	 * always. */
	const char *(*fixed)(const struct job_type *type);
	/* True: its processes live through changes of an elastic type: they take in who comes, and
	 * do without who is lost. NULL: never. */
	bool (*lives_through_changes)(const struct job *job);
	/* Its processes know each other by a secret, the job's own and the same in every task. */
	bool secret;
	/* Task types that the framework's users know by these names; a job may have others.
	 * NULL-terminated; NULL: any name is as good. */
	const char *const *roles;
	/* Variables by which its processes know which they are, and where the others are: a user's
	 * value would break the cluster. NULL-terminated. */
	const char *const *identity;
	/* Adds the framework's variables. */
	int (*environment)(const struct framework_task *task, struct environment *environment,
			   struct err *err);
	/* A line of output that has one of these texts is left out of logs: the framework prints it
	 * whatever happens, and nothing follows from it. NULL-terminated; NULL: none. */
	const char *const *noise;
	/* Last words of its programs: each row says what to do about such an end, and why. Ends
	 * with an empty row; NULL: nothing. */
	const struct policy_row *failures;
	/* What is run in place of the task's command; the caller frees. NULL: the command. */
	char *(*command)(const struct framework_task *task, const char *command);
};

const struct framework_ops *framework_find(const char *name); /* any case; NULL: none */
/* That of a file, job->framework_file, which knows its own name. */
const struct framework_ops *framework_of(const struct job *job);

/* The functions of framework_ops by these names, also of a framework that is written as a file.
 * `file`: its text; NULL: `ops` is one of the table. */
void framework_defaults(const struct framework_ops *ops, const char *file,
			const struct framework_shape *shape, struct str_list *pairs);
int framework_check(const struct job *job, struct err *err);
/* The members by these names, likewise; the caller finishes `names` and frees. */
void framework_roles(const struct job *job, struct str_list *names);
char *framework_module(const struct job *job);
void framework_names(struct str_list *names);

/* The framework's secret (framework_ops.secret) in the job of this token; NULL: it wants none. The
 * caller frees. */
char *framework_secret(const struct job *job, const char *token);

/* How many processes tony starts in a task of this type. */
int framework_process_count(const struct job *job, const struct job_type *type);

/* Whether this task's first process gets TB_PORT: with a log directory for TensorBoard the tasks of
 * the type "tensorboard" do, without one the chief, and nobody in a standalone job. */
bool framework_owns_tensorboard(const struct job *job, size_t type, int slot);
/* What the web interface on that port is called: "tensorboard", or "notebook". */
const char *framework_ui_name(const struct job *job);

const char *const *framework_noise(const struct job *job); /* framework_ops.noise */
/* A copy of framework_ops.failures; NULL also of a framework that this tony does not know. The
 * caller frees with policy_rows_free(). */
struct policy_row *framework_failures(const struct job *job);

/* True when the configuration names no task type at all: the command runs as the only task. */
bool framework_is_single_node(const struct job *job);

/* Everything the user's process gets beyond the container's own environment: TONY_*, TonY's
 * variables, the framework's, then the type's `environment` with templates expanded. A name without
 * "=" there takes the variable out. */
int framework_environment(const struct framework_task *task, struct environment *environment,
			  struct err *err);

/* Is it one of the framework's identity variables in a task of this type? A sidecar is not part of
 * the cluster, and with FCFS there is none. */
bool framework_sets_identity(const struct job *job, const struct job_type *type, const char *name);

/* What is run: the type's command with templates expanded, or what the framework puts in its place.
 * The caller frees. */
char *framework_command(const struct framework_task *task, struct err *err);

bool framework_has_rendezvous(const struct job *job);

/* Why the type cannot be elastic, as a clause; NULL: it can. */
const char *framework_fixed(const struct job *job, const struct job_type *type);

/* What becomes job->live_elastic: a type is elastic, and the framework's processes live through
 * that. */
bool framework_lives_through_changes(const struct job *job);

/* "{{task.index}}" and its siblings (docs: tony-env(7)); an unknown template is an error. The
 * caller frees. */
char *framework_expand(const struct framework_task *task, const char *text, struct err *err);

/* Whether there are such templates, for any job; ERR_CONFIG names one that is not. */
int framework_check_templates(const char *text, struct err *err);

#endif
