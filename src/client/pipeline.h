/*
 * Jobs of a file, submitted together: pipeline_file.h has the nodes, pipeline_plan.c decides which
 * of them an earlier job stands for, pipeline.c submits and follows the others. A pipeline has an
 * id, as an array has, and each of its jobs that id and ID_NODE as tags.
 *
 * No process of the pipeline's is needed once its jobs are submitted: each waits for those before
 * it by --after. A node of which that is not enough is late: it is submitted once those before it
 * have ended.
 */
#ifndef TONY_CLIENT_PIPELINE_H
#define TONY_CLIENT_PIPELINE_H

#include "client/job_list.h"
#include "client/opened.h"
#include "client/pipeline_file.h"

enum node_state {
	NODE_WAITING, /* nothing of it was submitted */
	NODE_CACHED,  /* an earlier job's results stand for it */
	NODE_SUBMITTED,
	NODE_SKIPPED, /* nor will anything be */
};

struct node_run {
	enum node_state state;
	char *scheduler;
	bool is_late;
	bool lacks_files;  /* some that it names are made by nodes before it, which have not run */
	bool is_named;	   /* by a variable of a node that runs */
	char *hash;	   /* of a cached node: pipeline_inputs_hash(); NULL: not known yet */
	char *note;	   /* why it runs, or why it does not; NULL: nothing to say */
	struct opened job; /* of NODE_CACHED and NODE_SUBMITTED */
	bool is_sweep, has_metric; /* has_metric: a sweep that will know which trial is the best */
	struct opened best; /* of a sweep that has ended: its best trial, once that is known */
	char *told;	    /* what was said of it last */
	int code;	    /* the exit code, once the job has ended */
	bool has_ended;
};

struct pipeline_choice {
	struct str_list conf; /* --conf */
	char *from;
	bool dry_run, detach, json;
};

struct pipeline_run {
	const struct pipeline_choice *choice;
	struct pipeline pipeline;
	struct node_run *nodes; /* as pipeline.nodes */
	char *id; /* NULL: nothing runs, an earlier job's results stand for each node */
	int64_t begun_ms;
	struct am_calls *calls;	   /* to the AMs of nodes, once they are followed */
	struct job_list earlier;   /* this user's jobs, which may stand for a node's */
	struct str_list variables; /* whose names stand in the file */
};
void pipeline_run_finish(struct pipeline_run *run);

/* A node that is being described. */
struct node_call {
	struct pipeline_run *run;
	size_t node;
	bool is_plan; /* results of nodes before it that are not known yet have a name in their
			 place */
};

/* The options for describing the node of a call; borrowed but for `name`, which the caller frees.
 */
struct job_options;
void pipeline_options(struct node_call *call, struct job_options *options);

/* Describes and checks each node, so that a mistake in the last one is told before the first one
 * starts, and decides which are cached, and which late. */
int pipeline_plan(struct pipeline_run *run, struct err *err);

/* Where the node's results are: its job, or of a sweep the best trial; NULL: not known (yet). */
const struct job *pipeline_results(const struct node_run *node);
/* Finds the best trial of a sweep that has ended. False: there is none. */
bool pipeline_find_best(struct node_run *node);

/* "prepare=JOB" for each job before the node; false: one is not known yet. */
bool pipeline_jobs_before(const struct pipeline_run *run, size_t node, struct str_list *before);

/* Submits the nodes, and unless the choice says otherwise follows them. Returns the exit code; -1:
 * `err`. */
int pipeline_submit(struct pipeline_run *run, struct err *err);

bool pipeline_has_succeeded(const struct node_run *node);
bool pipeline_is_over(const struct node_run *node);

/* The pipeline as a table, and as docs/json/run.schema.json has it. */
void pipeline_table(const struct pipeline_run *run, size_t width, struct str *out);
json_t *pipeline_json(const struct pipeline_run *run);
/* "train skipped: prepare has not succeeded": how a node stands. The caller frees. */
char *pipeline_node_text(const struct pipeline_run *run, size_t node);
/* The command of this run with `option` for one more, as a shell takes it. The caller frees. */
char *pipeline_command(const struct pipeline_run *run, const char *option);
/* How all of it has ended, and what to type next: lines. */
void pipeline_summary(const struct pipeline_run *run, struct str *out);

#endif
