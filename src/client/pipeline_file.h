/*
 * A file of several jobs of which some wait for others:
 *
 *   <pipeline name="digits">
 *     <configuration>keys of all jobs</configuration>
 *     <job name="train" after="prepare" cache="true" file="train.xml">
 *       <input>data</input>
 *       <configuration>keys of this one</configuration>
 *     </job>
 *   </pipeline>
 *
 * A job with its edges is a node.
 */
#ifndef TONY_CLIENT_PIPELINE_FILE_H
#define TONY_CLIENT_PIPELINE_FILE_H

#include "base/xml.h"
#include "conf/conf.h"

#define PIPELINE_FILE "pipeline.xml" /* unless another one is named */
#define PIPELINE_MAX  1000	     /* jobs */

struct pipeline_edge {
	size_t node;
	bool any_end; /* false: only its success will do */
};

struct pipeline_input {
	char *path; /* of this machine, with wildcards, or a URL */
	bool by_content;
	int line;
};

struct pipeline_node {
	char *name; /* [a-z0-9][a-z0-9_-]* */
	int line;
	struct pipeline_edge *after;
	size_t after_count;
	bool *before; /* by node: it ends before this one begins */
	bool is_cached;
	struct pipeline_input *inputs;
	size_t input_count;
	char *file;			/* its job file; NULL: none */
	const struct xml_node *element; /* <job> */
};

struct pipeline {
	char *path, *name;
	struct pipeline_node *nodes; /* each behind those that it waits for */
	size_t count;
	struct xml_node *root;
};
void pipeline_finish(struct pipeline *pipeline);
#define cleanup_pipeline __attribute__((cleanup(pipeline_finish)))

/* Fills a zeroed `pipeline` from the file that is `named`; NULL: from PIPELINE_FILE, unless another
 * user could have written it (fs_read_own()). The error (ERR_CONFIG) names file and line. */
int pipeline_read(const char *named, struct pipeline *pipeline, struct err *err);

/* The node of this name; pipeline->count: there is none. */
size_t pipeline_find(const struct pipeline *pipeline, const char *name);

/* Loads its job file, the keys of all jobs, and its own. */
int pipeline_load(const struct pipeline *pipeline, const struct pipeline_node *node,
		  struct conf *conf, struct err *err);

/* "digits.train": the name of a node's job. The caller frees. */
char *pipeline_job_name(const struct pipeline *pipeline, const struct pipeline_node *node);

#endif
