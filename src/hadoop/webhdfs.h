/*
 * WebHDFS, the REST interface of HDFS (Hadoop 2.10 to 3.5), as far as it does not depend on how
 * bytes travel: what is asked, and what the answers mean. webhdfs_async.h does the asking, on an
 * event loop; webhdfs_client.h waits for what comes of it.
 *
 * Metadata is the NameNode's answer, in JSON. Content goes to or comes from a DataNode: the
 * NameNode names it, either as {"Location": URL} (noredirect=true) or, where it does not know that
 * parameter, by a redirect. An HttpFS gateway has the same interface without that second step.
 */
#ifndef TONY_HADOOP_WEBHDFS_H
#define TONY_HADOOP_WEBHDFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/url.h"

struct hadoop_token;
struct hdfs_token;
struct tls_context;

#define WEBHDFS_PATH   "/webhdfs/v1"
#define WEBHDFS_INODES "/.reserved/.inodes/"
/* What to do about a certificate of somebody else. */
#define WEBHDFS_TRUST_REMEDY                                                                       \
	"set tony.hdfs.ca-file to a PEM file with the authority that signs the cluster's "         \
	"certificates"

enum {
	WEBHDFS_ANSWER_CAP = 64 << 20, /* bytes of JSON: some 200,000 files of a directory */
	WEBHDFS_PATH_CAP = 8000,       /* bytes; HDFS's own limit */
	WEBHDFS_CONNECT_TIMEOUT_MS = 20000,
	WEBHDFS_SILENCE_TIMEOUT_MS = 60000,
	WEBHDFS_MAX_WAIT_MS = 20000,
	WEBHDFS_TOLD_MS = 1500,
};

/* Where the file system is, and who asks. Initialise with {0}; texts are copied by who is given
 * options. */
struct webhdfs_options {
	/* "http://host:port", or https; a gateway's may have a path behind it. More than one: of a
	 * pair of NameNodes one is active, the others answer StandbyException. Not empty. */
	struct str_list addresses;
	bool http_fs;		    /* the addresses are of HttpFS gateways */
	char *authorities;	    /* PEM, for https; NULL: those that the machine trusts */
	char *user;		    /* user.name=: believed where the cluster is without security */
	struct hdfs_token *token;   /* in place of the user; NULL: none */
	int64_t connect_timeout_ms; /* 0: WEBHDFS_CONNECT_TIMEOUT_MS */
	int64_t silence_timeout_ms; /* without any progress; 0: WEBHDFS_SILENCE_TIMEOUT_MS */
	/* For how long a call that could not be served is repeated, with growing pauses; 0:
	 * WEBHDFS_MAX_WAIT_MS; -1: each address is tried once. */
	int64_t max_wait_ms;
	/* Somebody waits for the calls: after WEBHDFS_TOLD_MS a warning says for what
	 * (log_trouble()), and one that it is over. */
	bool tells_waits;
};
/* ERR_CONFIG names what is wrong with them. Fills in the times that are 0. */
int webhdfs_options_check(struct webhdfs_options *options, struct err *err);
void webhdfs_options_copy(struct webhdfs_options *to, const struct webhdfs_options *from);
void webhdfs_options_finish(struct webhdfs_options *options);

/* What the NameNode tells of a file or directory. */
struct webhdfs_file {
	char *name; /* within its directory; "" when it was asked for by its path */
	bool is_directory;
	int64_t length;	     /* bytes */
	int64_t modified_ms; /* what YARN compares with a LocalResource's timestamp */
	int64_t accessed_ms; /* as far as HDFS notes it, to the hour unless it is set; 0: never */
	unsigned permission; /* 0755, sticky bit included */
	char *owner, *group;
	/* "fileId": WEBHDFS_INODES "ID" leads to it, whatever it is renamed to; 0: a gateway, which
	 * does not tell. */
	int64_t inode;
};
void webhdfs_file_finish(struct webhdfs_file *file);
#define cleanup_webhdfs_file __attribute__((cleanup(webhdfs_file_finish)))

/* A part of a file, and the DataNodes that have it. */
struct webhdfs_block {
	int64_t offset, length;
	struct webhdfs_place {
		const char *host;			  /* by its name */
		const char *ip;				  /* NULL: not told, as the ports */
		int64_t xfer_port, http_port, https_port; /* the first is HDFS's own */
	} * places;
	size_t place_count;
};

struct webhdfs_create {
	unsigned permission; /* of a new file: the DataNode's umask (022) is taken off; 0: 0644 */
	/* Replaces an existing file. Only then a try that failed half-way is repeated: without, it
	 * would find itself in the way. */
	bool overwrite;
};

/* Told how much of a file has been sent (less than before when a try is repeated) or received, and
 * once a second while nothing moves; false ends the call (ERR_FAILED "interrupted"). */
struct webhdfs_progress {
	bool (*tell)(void *data, int64_t bytes);
	void *data;
};

/* ---- what is asked ------------------------------------------------------------------------ */

enum webhdfs_op {
	WEBHDFS_GETFILESTATUS,
	WEBHDFS_LISTSTATUS,
	WEBHDFS_LISTSTATUS_BATCH,
	WEBHDFS_GET_BLOCK_LOCATIONS,   /* of NameNodes */
	WEBHDFS_GETFILEBLOCKLOCATIONS, /* the same of gateways */
	WEBHDFS_OPEN,
	WEBHDFS_MKDIRS,
	WEBHDFS_CREATE,
	WEBHDFS_APPEND,
	WEBHDFS_DELETE,
	WEBHDFS_RENAME,
	WEBHDFS_SETTIMES,
	WEBHDFS_SETXATTR,
	WEBHDFS_GETXATTRS,
	WEBHDFS_GETDELEGATIONTOKEN,
};

/* One question to one server. Borrows all of its texts. */
struct webhdfs_question {
	enum webhdfs_op op;
	const char *server; /* of the options' addresses */
	const char *path;   /* absolute */
};

const char *webhdfs_op_name(enum webhdfs_op op);   /* "MKDIRS" */
const char *webhdfs_op_method(enum webhdfs_op op); /* "PUT" */
bool webhdfs_op_sends(enum webhdfs_op op);	   /* content, to a DataNode */

#define WEBHDFS_IN_HEX "&encoding=hex" /* of GETXATTRS: what webhdfs_answer_attributes() reads */

/* ERR_INPUT: not absolute, too long, or with "." or ".." in it. */
int webhdfs_path_check(const char *path, struct err *err);

/* Appends "/webhdfs/v1/user/a%20b?op=MKDIRS&user.name=alice", preceded by the server's own path.
 * Options without token and user have nothing in place of the latter. */
void webhdfs_target(struct str *target, const struct webhdfs_options *options,
		    const struct webhdfs_question *question);
/* Appends "&name=value". */
void webhdfs_target_add(struct str *target, const char *name, const char *value);

/* ---- what is answered --------------------------------------------------------------------- */

enum webhdfs_verdict {
	WEBHDFS_DONE,
	WEBHDFS_NOT_HERE, /* nothing was done: the next address may be better (StandbyException) */
	WEBHDFS_NOT_NOW, /* nothing was done: again after a pause (RetriableException, safe mode) */
	WEBHDFS_BROKEN,	 /* a gateway's or server's own failure: what was done is not known */
	WEBHDFS_REFUSED, /* no use to try again */
};

/* Judges status and body of an answer. Anything but WEBHDFS_DONE sets `err` to one line: server,
 * operation, path, class of the exception, first line of its message; ERR_NOT_FOUND:
 * FileNotFoundException; ERR_DENIED: AccessControlException and other doubts about who asks;
 * ERR_STORE_FULL: a quota is used up, or no DataNode that runs has room. */
enum webhdfs_verdict webhdfs_judge(const struct webhdfs_question *question, int status,
				   const char *body, size_t length, struct err *err);

/* The answers' bodies. -1: `err` (ERR_INPUT) names server and path. */
int webhdfs_answer_file(const struct webhdfs_question *question, const char *body, size_t length,
			struct webhdfs_file *file, struct err *err);
int webhdfs_answer_list(const struct webhdfs_question *question, const char *body, size_t length,
			void (*visit)(void *data, const struct webhdfs_file *file), void *data,
			struct err *err);
/* Of LISTSTATUS_BATCH: the same, and *left: how many entries come behind these. */
int webhdfs_answer_batch(const struct webhdfs_question *question, const char *body, size_t length,
			 void (*visit)(void *data, const struct webhdfs_file *file), void *data,
			 int64_t *left, struct err *err);
/* Of GET_BLOCK_LOCATIONS; of GETFILEBLOCKLOCATIONS, which knows places by their hosts alone. Each
 * block has its places, in the order in which they are to be preferred. */
int webhdfs_answer_blocks(const struct webhdfs_question *question, const char *body, size_t length,
			  void (*visit)(void *data, const struct webhdfs_block *block), void *data,
			  struct err *err);
/* `value` in hex, as "0x6f6e65". */
int webhdfs_answer_attributes(const struct webhdfs_question *question, const char *body,
			      size_t length,
			      void (*visit)(void *data, const char *name, const char *value),
			      void *data, struct err *err);
/* Such a value as bytes (false: it is none), and bytes as such a value, which the caller frees. */
bool webhdfs_attribute_decode(const char *value, struct str *bytes);
char *webhdfs_attribute_encode(const void *bytes, size_t length);
/* Of the NameNode's metrics (/jmx), its FSNamesystemState. -1: it does not tell. */
struct webhdfs_room {
	int64_t left, total; /* bytes */
	int64_t data_nodes;  /* that are alive */
};
int webhdfs_answer_room(const char *body, size_t length, struct webhdfs_room *room);
#define WEBHDFS_ROOM_TARGET "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"

/* Whether `err` says that no DataNode takes a file, so that webhdfs_add_room() may tell why. A
 * quota's own words have its numbers. */
bool webhdfs_needs_room(const struct err *err);
/* With the answer to WEBHDFS_ROOM_TARGET: makes `err` ERR_STORE_FULL, and appends what is free; or
 * ERR_UNREACHABLE where no DataNode is alive. It stays as it is when the NameNode does not tell.
 * Returns -1. */
int webhdfs_add_room(const char *body, size_t length, struct err *err);
int webhdfs_answer_boolean(const struct webhdfs_question *question, const char *body, size_t length,
			   bool *value, struct err *err);
/* Of {"Token": {"urlString": TEXT}}. */
int webhdfs_answer_token(const struct webhdfs_question *question, const char *body, size_t length,
			 struct hadoop_token *token, struct err *err);
/* Of {"Location": URL}; the caller frees. */
char *webhdfs_answer_location(const struct webhdfs_question *question, const char *body,
			      size_t length, struct err *err);

/* ---- URLs --------------------------------------------------------------------------------- */

/* "https://dn1:9865/webhdfs/v1/...": net_url_parse() without a user, which is ERR_INPUT. */
int webhdfs_url_parse(const char *text, struct net_url *url, struct err *err);

/* For a server at `url`, of WebHDFS or YARN: *tls stays NULL where it is asked by plain http.
 * `authorities`: PEM; NULL: those that the machine trusts. */
int webhdfs_tls_create(const char *url, const char *authorities, struct tls_context **tls,
		       struct err *err);

bool webhdfs_are_https(const struct str_list *urls); /* all of them */

/* Where content goes to or comes from. A server that is asked over https may not send us to a place
 * without: ERR_INPUT. */
int webhdfs_location_parse(const struct webhdfs_question *question, const char *location,
			   struct net_url *url, struct err *err);

/* Sets `err` (ERR_UNREACHABLE): the DataNode that the NameNode named cannot be reached, because
 * `why`, and what to do about that. Returns -1. */
int webhdfs_err_data_node(const struct webhdfs_question *question, const struct net_url *url,
			  const char *why, struct err *err);

#endif
