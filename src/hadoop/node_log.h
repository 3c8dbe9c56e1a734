/*
 * A container's logs as its NodeManager's web service shows them (Hadoop 2.10 to 3.5), for as long
 * as they are not aggregated:
 *
 *   GET /ws/v1/node/containers/ID/logs       JSON: the files' names
 *   GET /ws/v1/node/containerlogs/ID/NAME    a head of lines, among them "LogLength:N", up to
 *                                            "LogContents:"; N bytes of the file; a foot
 */
#ifndef TONY_HADOOP_NODE_LOG_H
#define TONY_HADOOP_NODE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/http_client.h"

#define NODE_LOG_HEAD_CAP 8192	     /* bytes in front of the file's own */
#define NODE_LOG_LIST_CAP (4u << 20) /* bytes of the list */

/* Who is asked about what. */
struct node_log_question {
	struct http_site site; /* of the NodeManager's web service */
	const char *container; /* its id */
	const char *user;      /* believed where the cluster is without security; NULL: nobody */
};

/* Adds the names of the container's files. ERR_NOT_FOUND: they are not there any more;
 * ERR_UNREACHABLE: neither is the NodeManager. */
int node_log_list(const struct node_log_question *question, struct str_list *names,
		  struct err *err);

/* Writes the bytes of one file to `fd`. Kinds of errors as above. */
int node_log_fetch(const struct node_log_question *question, const char *name, int fd,
		   struct err *err);

/* ---- parsing, apart from the network ------------------------------------------------------ */

/* The body of the list. */
int node_log_parse_list(const char *body, size_t length, struct str_list *names, struct err *err);

/* A file's answer that comes piece by piece. Initialise with {0}. */
struct node_log_frame {
	struct str head;
	bool is_content; /* the head is complete */
	int64_t left;	 /* of the file's bytes */
};
/* Takes the next piece; *content and *content_length are those bytes of it that are the file's.
 * -1: ERR_INPUT, this is not such an answer. */
int node_log_frame_take(struct node_log_frame *frame, const char *bytes, size_t length,
			const char **content, size_t *content_length, struct err *err);
void node_log_frame_finish(struct node_log_frame *frame);

#endif
