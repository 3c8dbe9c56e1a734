/* What stands behind a store: a directory (store_directory.c) or HDFS (store_hdfs.c). Paths are
 * relative to its location, and were checked: no part is empty, "." or "..". */
#ifndef TONY_HISTORY_STORE_INTERNAL_H
#define TONY_HISTORY_STORE_INTERNAL_H

#include "history/store.h"

struct store_item {
	const char *name;
	bool is_directory;
	int64_t length, modified_ms;
};
/* Who may write to a directory. */
struct store_access {
	char *owner;
	unsigned permission;
};
typedef void store_visit(void *data, const struct store_item *item);

struct store_ops {
	/* What is in a directory; "": in the location. ERR_NOT_FOUND: it is not there. */
	int (*list)(struct history_store *store, const char *path, store_visit *visit, void *data,
		    struct err *err);
	bool (*is_directory)(struct history_store *store, const char *path);
	/* "": of the location. The caller frees access->owner. */
	int (*look)(struct history_store *store, const char *path, struct store_access *access,
		    struct err *err);
	/* *owner, unless `owner` is NULL: that of the directory which the file was opened in. It
	 * stays NULL where a store cannot tell both at once. The caller frees. */
	int (*open_file)(struct history_store *store, const char *path, int64_t cap, char **owner,
			 struct err *err);
	int (*remove)(struct history_store *store, const char *path, struct err *err);
};

struct history_store {
	const struct store_ops *ops;
	char *location;		       /* as it was given */
	char *root;		       /* the path in it */
	char *keeper;		       /* the location's owner; NULL: nobody has asked */
	struct str_list publishers;    /* users who publish what is others' */
	bool has_days;		       /* tony's own */
	struct str_list finished;      /* names of TonY's trees */
	struct str_list intermediate;  /* likewise */
	struct store_foreign *foreign; /* the last one that was asked for; NULL: none */
	struct webhdfs_client *client; /* of a store in HDFS */
};

extern const struct store_ops store_directory;
extern const struct store_ops store_hdfs;

/* Every part is to be a name of layout.h's: nothing else was ever published. */
int store_check_path(const char *path, struct err *err);

/* Those of every store. */
void store_open_trees(struct history_store *store);

/* What is not there is empty. */
int store_list(struct history_store *store, const char *path, store_visit *visit, void *data,
	       struct err *err);

/* A file without a name, to write to and read from. -1: `err`. */
int store_make_file(struct err *err);
/* A file that is open here already, with a position of its own. */
int store_open_again(const char *path, struct err *err);

/* Of the file "path/name" of the store, which is closed; -1 is fine. The caller frees. */
char *store_read_opened(const struct history_store *store, int fd, const char *path,
			const char *name, size_t cap, size_t *length, struct err *err);
/* A file of a directory in the store, as it is. The caller frees. */
char *store_read_file(struct history_store *store, const char *path, const char *name, size_t cap,
		      size_t *length, struct err *err);

/* ---- store_foreign.c: of a job of TonY's at `path`; ERR_NOT_FOUND: it is none -------------- */

/* A file of layout.h. */
int store_foreign_open(struct history_store *store, const char *path, const char *name,
		       struct err *err);
int store_foreign_summary(struct history_store *store, const char *path,
			  struct history_summary *summary, struct err *err);
void store_foreign_destroy(struct store_foreign *foreign); /* NULL is fine */

#endif
