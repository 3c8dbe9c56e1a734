/* The kinds of stores behind store.h: directory.c, hdfs.c and s3.c. */
#ifndef TONY_STORE_STORE_INTERNAL_H
#define TONY_STORE_STORE_INTERNAL_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "hadoop/webhdfs.h"
#include "store/store.h"

struct s3_call;
struct s3_client;
struct webhdfs_async;
struct webhdfs_call;

/* A kind has run() and open_file() if it is at once, start() and cancel() if it is not. */
struct store_ops {
	struct store_traits traits;
	/* `bytes` holds what is read. */
	int (*run)(struct store *store, const struct store_request *request,
		   struct store_item *item, struct str *bytes, struct err *err);
	int (*open_file)(struct store *store, const char *path, int64_t cap, char **keeper,
			 struct err *err);
	void (*start)(struct store_call *call);
	void (*cancel)(struct store_call *call);
};

struct store_call {
	LIST_ENTRY(store_call) link;
	struct store *store;
	struct store_request request; /* with texts and bytes of its own, if the store is at once */
	char *path, *to;
	struct str bytes;
	struct event timer; /* of a store that is at once */
	struct webhdfs_call *hdfs;
	struct webhdfs_progress progress; /* of `hdfs` */
	struct s3_call *s3;
	store_done *done;
	void *data;
};

/* Do paths of inodes lead to what is in the store? */
enum store_inodes { STORE_INODES_UNKNOWN, STORE_INODES_LEAD, STORE_INODES_NONE };

struct store {
	const struct store_ops *ops;
	char *location, *root, *user;
	struct event_base *base; /* NULL: none was needed so far */
	bool has_own_base;
	LIST_HEAD(, store_call) calls;
	struct webhdfs_async *hdfs; /* of a store in HDFS */
	enum store_inodes inodes;   /* likewise */
	struct s3_client *s3;	    /* of one in a bucket */
};

extern const struct store_ops store_directory_ops, store_hdfs_ops, store_s3_ops;

void store_call_free(struct store_call *call);
/* The last thing of every event: the call is gone, and the store may be. */
void store_tell(struct store_call *call, const struct store_answer *answer, const struct err *err);

#endif
