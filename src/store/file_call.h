/* One question to the file server, from its request to the end of its answer. */
#ifndef TONY_STORE_FILE_CALL_H
#define TONY_STORE_FILE_CALL_H

#include <event2/buffer.h>
#include <sys/queue.h>

#include "base/str.h"
#include "hadoop/webhdfs_async.h"
#include "net/http_server.h"

struct file_call {
	struct webhdfs_async *hdfs;   /* the file system, borrowed */
	char *path;		      /* there, without a "/" at the end but for the root's */
	char *name;		      /* as the program has named it, likewise without any */
	struct http_request *request; /* held; NULL: the answer has begun */
	struct http_stream *stream;   /* NULL: it has not */
	const char *content_type;     /* of the stream */
	struct evbuffer *ready;	      /* of the answer, not taken yet */
	struct webhdfs_call *call;    /* NULL: none is in progress */
	/* There is room for more, where no call is in progress; NULL: the answer has then ended. */
	void (*go_on)(struct file_call *call);

	/* Of a list. Names wait only of directories beside those on the way to the one that is
	 * being listed: 100,000 in one directory take 6 MiB. */
	bool is_recursive;
	struct str_list waiting; /* below `path`, the last one is next */
	char *below;		 /* the one that is being listed, likewise; "" is `path` itself */
};

/* Holds the request until the answer begins. */
struct file_call *file_call_create(struct http_request *request, struct webhdfs_async *hdfs,
				   const char *path, const char *name);

/* Sends what was added to `ready`, and pauses the call when that is much. */
void file_call_send(struct file_call *call);
/* Nothing more comes: the rest is sent, and the call is gone then. */
void file_call_end(struct file_call *call);
/* The answer is an error; or it breaks off, if it has begun. The call is gone. */
void file_call_fail(struct file_call *call, const struct err *err);
void file_call_answer_json(struct file_call *call, json_t *body); /* likewise; takes `body` */

/* The questions of the same names. `offset` and `length`: of the file, or what it has of it. */
void file_call_stat(struct file_call *call);
void file_call_blocks(struct file_call *call);
void file_call_read(struct file_call *call, int64_t offset, int64_t length);
void file_call_list(struct file_call *call, bool is_recursive);

#endif
