/*
 * A Hadoop cluster as one job sees it. The client resolves it once from the site files
 * (cluster_site.h); it travels in job.json as job->engine, and how its file system is reached as a
 * part of job->stores, so that nothing in a container reads site files or guesses.
 */
#ifndef TONY_HADOOP_CLUSTER_H
#define TONY_HADOOP_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "hadoop/hdfs_access.h"

#define HADOOP_FILE_FS	 "file://"
#define HADOOP_MAX_FILES 100000 /* of one job */

/* A file of a file system that NodeManagers localise. YARN compares `timestamp` with
 * the file's, and refuses the container when they differ. */
struct hadoop_file {
	char *url;	   /* "hdfs://nameservice/user/alice/.tony/cache/ab12...tar.gz" */
	int64_t length;	   /* bytes */
	int64_t timestamp; /* modification time, ms */
	bool archive;	   /* ARCHIVE: the NodeManager unpacks it; else FILE */
	bool shared;	   /* PUBLIC; else PRIVATE: cached for this user on each node */
};

/* Under which name a task finds a file in its container's working directory. */
struct hadoop_link {
	char *name;  /* relative, without ".."; may have "/" */
	size_t file; /* of `files` */
};

/* Of a resource beyond memory and cores: "yarn.io/gpu" (as job_type.gpus says), "yarn.io/fpga". */
struct hadoop_amount {
	char *name;
	int64_t value;
};

/* What the containers of job->types[i] are made with. */
struct hadoop_cluster_type {
	struct hadoop_link *links;
	size_t link_count;
	struct hadoop_amount *amounts;
	size_t amount_count;
	/* KEY=VALUE for the container's launch context: the Docker runtime's variables. Safe within
	 * double quotes of a shell: no `"`, `$`, `\`, backquote or newline. */
	struct str_list environment;
	char *placement; /* placement constraint, as the user wrote it; NULL: none */
	struct str_list allocation_tags;
	struct str_list
		node_attributes; /* as placement_check_attribute() has them; all must hold */
	/* Nodes that are asked for first, and their racks; both empty, or both not. */
	struct str_list near_nodes, near_racks;
	/* Those of its containers that the job can do without are opportunistic. */
	bool is_opportunistic;
};

struct hadoop_cluster {
	char *user; /* who the job runs as */
	/* By which the client proves that, where it has no token: as gssapi_credential_find() takes
	 * them; may be NULL. */
	char *principal, *keytab;

	/* The cluster's administrators, as Hadoop writes an ACL: yarn.admin.acl. NULL: not named,
	 * or everybody, which is its default. */
	char *admin_acl;

	/* YARN. Addresses are "host:port"; more than one: a pair of which one is active. */
	struct str_list rm;	      /* ApplicationClientProtocol */
	struct str_list rm_scheduler; /* ApplicationMasterProtocol, in the same order */
	struct str_list rm_web;	      /* "http://host:port", or https */
	struct str_list web_proxies;  /* hosts through which people look at jobs */
	/* The web servers of YARN want to know who asks, and take no name for it:
	 * hadoop.http.authentication.type. */
	bool web_asks_proof;
	bool web_proxy_is_apart; /* it is no part of a ResourceManager */
	/* The timeline server of version 1, where it gives delegation tokens: "https://host:8190";
	 * NULL: there is none. It does not travel with the job. */
	char *timeline;
	bool needs_timeline; /* a job without its token is refused */
	/* Hosts of its NodeManagers and their racks; empty: they are many, or not known. */
	struct str_list nodes, racks;
	char *queue;
	/* All that the job needs at the same time is no more than what is guaranteed to the queue.
	 */
	bool is_within_guarantee;
	char *node_label; /* the application's node label expression; NULL: the queue's own */
	char *placement;  /* the application's placement constraint; NULL: none */

	/* RPC: see struct rpc_options. */
	unsigned protections; /* of SASL_* (sasl.h), from hadoop.rpc.protection */
	bool require_sasl;    /* the cluster uses Kerberos */
	/* Then: what its users are called there, as auth_to_local() takes it. NULL: by the default
	 * rule; not known, so that no name with a realm is anybody's. */
	char *user_rules, *realm;
	char *rm_principal, *rm_principal_pattern; /* NULL: not set */
	int64_t connect_timeout_ms, call_timeout_ms;
	int64_t retry_interval_ms, max_wait_ms; /* yarn.resourcemanager.connect.*; -1: for ever */
	int64_t client_wait_ms; /* the same for the client, which a person waits for */
	/* Those of a ResourceManager's delegation tokens, see struct hdfs_access. */
	struct str_list token_services;

	/* The file system that jobs' files are in, and what of it is this user's. */
	char *fs;		 /* "file://": directories that all nodes see; NULL: `hdfs` */
	struct hdfs_access hdfs; /* of job->stores; without `fs` of its own there is none */
	char *home;		 /* "/user/alice" */

	/* Where aggregated logs go; NULL: the cluster keeps none. */
	char *log_dir;	  /* "/app-logs" */
	char *log_suffix; /* "logs" */

	/* This job's: paths within the file system. */
	char *job_dir; /* "/user/alice/.tony/application_1_0001": removed by the AM at its end */
	char *history_dir; /* "/user/alice/.tony/history": the store of ended jobs */

	struct hadoop_file *files;
	size_t file_count;
	size_t agent; /* of `files`: tony-agent, for the link of that name in every container */
	struct hadoop_cluster_type *types; /* as job->types; NULL when not staged yet */
	size_t type_count;
};

void hadoop_cluster_destroy(struct hadoop_cluster *cluster); /* NULL is fine */

bool hadoop_cluster_has_hdfs(const struct hadoop_cluster *cluster);
/* "file://", or "hdfs://nameservice": a path behind it is a URL. */
const char *hadoop_cluster_fs(const struct hadoop_cluster *cluster);
/* Its name for users: that, or "viewfs://cluster". */
const char *hadoop_cluster_fs_name(const struct hadoop_cluster *cluster);

/* The part that is job->engine. */
json_t *hadoop_cluster_to_json(const struct hadoop_cluster *cluster);

/* Of job->engine and job->stores: reads and checks, as if written by an enemy. NULL and `err`
 * (ERR_INPUT) on any flaw, and when there is none. */
struct hadoop_cluster *hadoop_cluster_from_json(const json_t *engine, const json_t *stores,
						struct err *err);

#endif
