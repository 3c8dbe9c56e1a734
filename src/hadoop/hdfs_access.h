/* How one HDFS is reached, through WebHDFS or an HttpFS gateway. The client resolves it from the
 * site files (cluster_site.h); it travels in job.json as job->stores' member "hdfs". */
#ifndef TONY_HADOOP_HDFS_ACCESS_H
#define TONY_HADOOP_HDFS_ACCESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "hadoop/webhdfs.h"

#define HDFS_SCHEME "hdfs://"

/* Another HDFS that the site files name. */
struct hdfs_other {
	char *fs;		    /* "hdfs://nameservice" */
	struct str_list webhdfs;    /* not empty */
	struct str_list name_nodes; /* these as those of struct hdfs_access */
	struct str_list token_services;
};

#define HDFS_LINKS_MAX 4096

/* Of a mount table of ViewFS. */
struct hdfs_link {
	char *path; /* "/data", or "/" */
	char *to;   /* "hdfs://nameservice/projects", or in another file system */
};

struct hdfs_access {
	char *user;		    /* for whom it is asked */
	char *fs;		    /* "hdfs://nameservice" or "hdfs://host:port" */
	struct str_list name_nodes; /* "host:port", of RPC */
	struct str_list webhdfs;    /* "http://host:port", or https; never empty once read */
	bool http_fs;		    /* `webhdfs` are HttpFS gateways: no redirects */
	bool needs_token;	    /* the cluster uses Kerberos: see hdfs_token.h */
	bool tokens_in_clear;	    /* as in struct hdfs_token_server */
	/* Values of Token.service by which its delegation tokens are found. */
	struct str_list token_services;
	/* The NameNodes behind gateways and the services of their tokens; neither travels with the
	 * job. */
	struct str_list behind, behind_services;
	char *authorities; /* PEM, for https; NULL: those that a machine trusts */
	int64_t connect_timeout_ms;
	int64_t token_renew_ms; /* its tokens end so long after each renewal; 0: not known */
	/* No server is waited for any longer than this, connecting, silent or refusing. It does not
	 * travel with the job. 0: as webhdfs.h has it. */
	int64_t patience_ms;
	struct hdfs_other *others; /* reached by the same user, in the same way */
	size_t other_count;
	/* "viewfs://cluster": the default file system, whose paths are in `fs` and `others` as its
	 * links say. NULL: `fs` is the default, and there are no links. */
	char *view;
	struct hdfs_link *links;
	size_t link_count;
};

void hdfs_access_finish(struct hdfs_access *access);
#define cleanup_hdfs_access __attribute__((cleanup(hdfs_access_finish)))

/* Take their texts; the lists are empty afterwards. */
void hdfs_access_add_other(struct hdfs_access *access, char *fs, struct str_list *webhdfs,
			   struct str_list *name_nodes);
void hdfs_access_add_link(struct hdfs_access *access, char *path, char *to);

/* Borrows from `access`. */
struct webhdfs_options hdfs_access_webhdfs(const struct hdfs_access *access);
/* The same for a URL that hdfs_access_resolve() has made. */
struct webhdfs_options hdfs_access_webhdfs_of(const struct hdfs_access *access, const char *url);

/* With gateways on a cluster with Kerberos: gets a token of the NameNodes behind them
 * (hdfs_token.h), for the job's containers. A few seconds at most, as NameNodes may be out of
 * reach. */
int hdfs_access_open_behind(const struct hdfs_access *access, struct err *err);

/* "nameservice" or "host:port" of such an `fs`. */
const char *hdfs_access_authority(const char *fs);

/* The default file system, for messages: "viewfs://cluster" or `fs`. */
const char *hdfs_access_name(const struct hdfs_access *access);

/* "hdfs://nameservice/data/x" of itself, of "hdfs:///data/x" and "hdfs:/data/x", which name the
 * default file system, and of "viewfs://cluster/x" and "viewfs:///x". NULL: it is in none of the
 * file systems. The caller frees. */
char *hdfs_access_resolve(const struct hdfs_access *access, const char *url);

/* Where a path of the default file system is, by the links; NULL: none leads there. It may be in
 * another kind of file system. The caller frees. */
char *hdfs_access_follow(const struct hdfs_access *access, const char *path);

/* The URL by which NodeManagers read the file at `url`, mostly that. With a token of a gateway,
 * which no NameNode takes, they go through the first gateway, too:
 * "swebhdfs://gateway:14000/data/x". The caller frees. */
char *hdfs_access_localized(const struct hdfs_access *access, const char *url);

/* "/data/x" of what resolves to "<fs>/data/x"; NULL: it is in another file system. The caller
 * frees. */
char *hdfs_access_path(const struct hdfs_access *access, const char *url);

/* Reads and checks the member "hdfs" of `stores`, as if written by an enemy. -1: `err` (ERR_INPUT),
 * also when there is none; then `access` is empty. */
int hdfs_access_read(struct hdfs_access *access, const json_t *stores, struct err *err);
/* Sets that member. */
void hdfs_access_write(const struct hdfs_access *access, json_t *stores);

#endif
