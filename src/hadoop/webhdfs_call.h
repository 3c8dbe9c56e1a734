/* A call of webhdfs_async.h: webhdfs_calls.c makes it, webhdfs_async.c brings it to its end. */
#ifndef TONY_HADOOP_WEBHDFS_CALL_H
#define TONY_HADOOP_WEBHDFS_CALL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "base/str.h"
#include "hadoop/webhdfs_async.h"
#include "hadoop/webhdfs_tries.h"

struct http_client;
struct tls_context;

/* What the exchange in progress is for. Every try starts with STAGE_SOURCE or STAGE_ASK. */
enum stage {
	/* HttpFS knows no options of renaming, and of its failures one word: the source is there,
	 * the target is not, or is removed before. */
	STAGE_SOURCE,
	STAGE_TARGET,
	STAGE_CLEAR,
	STAGE_ASK,
	STAGE_CONTENT,	/* with the DataNode */
	STAGE_LOOK,	/* whether a rename that broke off, and cannot be repeated, was done */
	STAGE_ROOM,	/* with the NameNode: what is free, for a failure that is told then */
	STAGE_REPLICAS, /* with the NameNode: who else has what a DataNode failed to send */
};

struct webhdfs_call {
	TAILQ_ENTRY(webhdfs_call) link;
	struct webhdfs_async *client;
	struct webhdfs_question question; /* `path` is owned, the server is of the options */
	char *path, *to;		  /* `to`: where a rename leads; else NULL */
	bool overwrite;
	struct str parameters, body;
	int fd;					 /* of an upload or download; else -1 */
	size_t length;				 /* of what is sent, or downloaded at most */
	const struct webhdfs_progress *progress; /* of a file; NULL: nobody wants to know */
	int64_t sent;				 /* of this try, or come */
	/* Of webhdfs_async_stream(); else NULL. */
	bool (*on_bytes)(void *data, const char *bytes, size_t length);
	/* Bytes still to come: of a stream, and of the present try of a download, whose `offset`
	 * stays. */
	int64_t offset, left;
	bool has_progressed; /* in this try */
	bool has_renewed;    /* the token; that of the last question was as old as: */
	unsigned token_generation;
	bool is_stopped; /* by `progress` */
	void (*visit)(void *data, const struct webhdfs_file *file);
	void (*visit_attribute)(void *data, const char *name, const char *value);
	void (*visit_block)(void *data, const struct webhdfs_block *block);
	char *last; /* of the entries of a long list so far; NULL: none has come */
	/* By webhdfs_call_pause(); and then it waits with its next question. */
	bool is_paused, is_waiting;
	/* DataNodes that failed to send content, as NameNodes take them, and the last failure while
	 * it is asked for others. */
	struct str_list excluded;
	struct err lost;
	struct err flaw; /* of the call itself: there is no other try */
	webhdfs_done *done;
	void *data;

	struct webhdfs_tries tries;
	int64_t told_ms; /* monotonic: a wait until then is told */
	bool has_told;
	struct event timer; /* the pause before the next try; during a file, asks `progress` */
	enum stage stage;
	struct net_url place;	  /* STAGE_CONTENT: where the content goes to or comes from */
	struct http_client *http; /* the exchange in progress; NULL: none */
	bool is_kept;		  /* `http` had been used before: it may be dead */
};
TAILQ_HEAD(call_list, webhdfs_call);

struct webhdfs_async {
	struct event_base *base;
	struct webhdfs_options options;
	struct tls_context *tls; /* NULL: not needed so far */
	size_t active;		 /* the address that answered last */
	/* Routers of a federation, of some versions, ask their NameNode with the parameters that
	 * they have got, and understand nothing but a redirect: with noredirect=true they answer
	 * {"Location": null}. */
	bool takes_redirects;
	bool lists_whole; /* routers know no LISTSTATUS_BATCH */
	/* The connection by which it did, for questions that may be repeated; NULL: none. */
	struct http_client *kept;
	const char *kept_server; /* of the options */
	struct call_list calls;
};

/* Its first try is made from the loop: until then its maker fills in the rest. */
struct webhdfs_call *webhdfs_call_start(struct webhdfs_async *client, enum webhdfs_op op,
					const char *path, webhdfs_done *done, void *data);

#endif
