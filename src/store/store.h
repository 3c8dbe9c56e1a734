/*
 * Files in a place that outlives a process: a directory, of this machine or of a disk that machines
 * share, HDFS, or a bucket of S3.
 *
 * A request says what is to be done, of paths below the store's location ("": that itself). An
 * event loop starts it, and is told the end; a process that may wait runs it. The traits of a kind
 * of store say what it cannot do; all else holds for every kind.
 *
 * Strangers may write to a store. In a directory nothing but regular files is read, and no symbolic
 * link below the location is followed; HDFS has none.
 */
#ifndef TONY_STORE_STORE_H
#define TONY_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct store;
struct store_access;
struct store_call;

#define STORE_READ_CAP ((int64_t)64 << 20) /* bytes of a STORE_READ */

struct store_traits {
	bool is_at_once; /* nothing has to be waited for */
	bool has_notes;	 /* STORE_SET_NOTE and STORE_NOTES */
	/* Objects, no files: each appears at once, and whole. There is no STORE_APPEND,
	 * STORE_RENAME and STORE_SET_TIME. A directory is there as long as something is in it.
	 * Nothing has an owner (NULL), and a directory has no time (0). */
	bool holds_objects;
};

/* `location`: "/path", "file:///path", "hdfs://authority/path" (or "viewfs://"), or
 * "s3://bucket/path", which
 * `access` says how to reach (NULL: ERR_CONFIG). A location need not be there yet, and may be a
 * file to read, but for a bucket's, whose path is always a directory. `wait_ms`: for how long a
 * call that could not be served is repeated, and a bucket's server may take for an answer that is
 * no file (three times that for a whole list); 0: a while; -1: not at all. `base`: for
 * store_start(); NULL: the store is for store_run() alone. NULL: `err`. */
struct store *store_open(const char *location, const struct store_access *access, int64_t wait_ms,
			 struct event_base *base, struct err *err);
/* Cancels all calls. NULL is fine. */
void store_close(struct store *store);

const struct store_traits *store_traits(const struct store *store);
const char *store_location(const struct store *store);
/* The location's path, without scheme and authority. */
const char *store_root(const struct store *store);
/* The name that this process's user has in HDFS; NULL: it is not known, or the store is of another
 * kind. Borrowed. */
const char *store_user(const struct store *store);
/* The server that answered last; NULL: there are none. Borrowed. */
const char *store_server(const struct store *store);

/* The loop that it is for; its own if it was opened without one. */
struct event_base *store_loop(struct store *store);

/* ---- requests ----------------------------------------------------------------------------- */

/* In a user namespace all who have no uid there seem to be one owner. He is equal to no user, nor
 * to another such owner. */
#define STORE_NOBODY "(nobody)"

struct store_item {
	char *name; /* within its directory; "" when it was asked for by its path */
	bool is_directory;
	bool is_file; /* neither: a symbolic link, a FIFO ... */
	int64_t length;
	int64_t modified_ms, accessed_ms; /* the latter as far as the store notes it; 0: never */
	unsigned permission;		  /* 0755; the sticky bit included */
	bool others_may_write;		  /* than the owner and his private group (user.h) */
	bool others_may_replace;	  /* likewise, what is in the directory */
	char *owner;
	int64_t inode; /* store_hold() has it; 0: none */
};
void store_item_finish(struct store_item *item);
#define cleanup_store_item __attribute__((cleanup(store_item_finish)))

enum store_verb {
	STORE_STAT,
	STORE_LIST,
	STORE_READ,
	STORE_DOWNLOAD,
	STORE_UPLOAD,
	STORE_APPEND,
	STORE_RENAME,
	STORE_REMOVE,
	STORE_MAKE_DIRECTORIES,
	STORE_SET_TIME,
	STORE_NOTES,
	STORE_SET_NOTE,
};

typedef void store_visit(void *data, const struct store_item *item);
/* Told how many bytes of a file have moved (fewer than before when a try is repeated), and by a
 * store that has to be waited for once a second while nothing moves. False ends the call:
 * ERR_FAILED, "interrupted". */
struct store_progress {
	bool (*tell)(void *data, int64_t bytes);
	void *data;
};

typedef void store_visit_note(void *data, const char *name, const char *bytes, size_t length);

/* Made by the functions below. Texts, bytes and descriptors are borrowed: texts and bytes until the
 * call returns, a descriptor until its end. */
struct store_request {
	enum store_verb verb;
	const char *path, *to;
	const char *owner;
	bool keeps;
	int fd;
	int64_t offset, length;
	const void *bytes;
	unsigned permission;
	int64_t modified_ms, accessed_ms; /* -1: it stays */
	/* Of an upload or download, until its end; the caller may set it. NULL: nobody is told. */
	const struct store_progress *progress;
	store_visit *visit;
	store_visit_note *visit_note;
	void *data; /* of both */
};

/* ERR_NOT_FOUND: nothing is there; also of all that follow. */
struct store_request store_stat(const char *path);
/* Each entry of a directory, in any order. `owner`: ERR_DENIED if another user's directory stands
 * there, as far as the store can tell when it opens it; NULL: it may be anybody's. */
struct store_request store_list(const char *path, const char *owner, store_visit *visit,
				void *data);
/* A whole file, into memory. ERR_INPUT: it has more than `cap` bytes (<= STORE_READ_CAP). */
struct store_request store_read(const char *path, int64_t cap);
/* The bytes that a file has from `offset` on, at most `length` (> 0), which become all that `fd`
 * has from there on. `owner` as for store_list(). */
struct store_request store_download(const char *path, const char *owner, int fd, int64_t offset,
				    int64_t length);
/* Makes or replaces a file by the first `length` bytes of `fd`. Readers may see a part, unless it
 * is renamed when it is whole. */
struct store_request store_upload(const char *path, unsigned permission, int fd, int64_t length);
/* To the end of a file that is there. After a failure none, some or all bytes are in it. */
struct store_request store_append(const char *path, const void *bytes, size_t length);
/* `to` is the new path itself. A file or empty directory there is replaced, in one step but for
 * HDFS's gateways; the second one refuses then (ERR_FAILED). */
struct store_request store_rename(const char *from, const char *to);
struct store_request store_rename_keeping(const char *from, const char *to);
/* With everything in it. Nothing there is fine. */
struct store_request store_remove(const char *path);
/* `owner` as for store_list(). Also ERR_DENIED, in a directory of this machine: in the place of the
 * one that is meant stands another, whose file `name` has other bytes than these (NULL: the one
 * that is meant has no such file of at most `length` bytes); or a directory in it is not the
 * owner's, and stays. */
struct store_request store_remove_owned(const char *path, const char *owner, const char *name,
					const char *bytes, size_t length);
/* An empty directory; in a directory of this machine also of what this user, or root, had begun to
 * remove there. A bucket has none. */
struct store_request store_remove_empty(const char *path);
/* Those that are there keep their permission. */
struct store_request store_make_directories(const char *path, unsigned permission);
struct store_request store_set_time(const char *path, int64_t modified_ms);
/* The same of the time of the last access. ERR_FAILED or ERR_DENIED: the store keeps none. */
struct store_request store_set_accessed(const char *path, int64_t accessed_ms);
/* Notes are small and quick, and belong to a file or directory. A note of the same name is
 * replaced. */
struct store_request store_notes(const char *path, store_visit_note *visit, void *data);
struct store_request store_set_note(const char *path, const char *name, const void *bytes,
				    size_t length);

/* ---- asynchronous ------------------------------------------------------------------------- */

struct store_answer {
	const struct store_item *item; /* of store_stat() */
	const char *bytes;	       /* of store_read(); NUL-terminated */
	size_t length;
};

/* Called exactly once, from the loop and never from within store_start(), unless the call is
 * cancelled. `err` is NULL after success, `answer` after a failure. It may start and cancel calls,
 * and close the store. */
typedef void store_done(void *data, const struct store_answer *answer, const struct err *err);

/* Each call runs by itself; an order needs the next one to be started in `done`. */
struct store_call *store_start(struct store *store, struct store_request request, store_done *done,
			       void *data);
/* `done` will not be called; whether it was done is not known. Not after `done`. */
void store_cancel(struct store_call *call);

/* ---- waiting ------------------------------------------------------------------------------ */

/* Of a store without a loop. */
int store_run(struct store *store, struct store_request request, struct err *err);

/* The caller finishes `item` after success. */
int store_look(struct store *store, const char *path, struct store_item *item, struct err *err);

/* *held: a path at which the directory that stands at `path` is found, with all that is in it,
 * whatever is renamed meanwhile; *owner: its owner. The caller frees both. Of HDFS it is the path
 * of the inode, which a gateway and a router do not have: then, and of a store of another kind,
 * *held is `path` itself and *owner is NULL. */
int store_hold(struct store *store, const char *path, char **held, char **owner, struct err *err);

/* ERR_INPUT: a directory, named below the place that is looked through, is deeper in it than any
 * that somebody made: a bucket can name another one for ever. */
int store_check_depth(const char *path, struct err *err);

struct store_measure {
	int64_t bytes, newest_ms; /* of all that is in it; 0: nothing is */
};
int store_measure(struct store *store, const char *path, struct store_measure *measure,
		  struct err *err);

/* *name: a directory below `path`, and named from there, that is not this owner's; NULL: all are.
 * *whose: its owner. The caller frees both. Not for a bucket. */
int store_find_foreign(struct store *store, const char *path, const char *owner, char **name,
		       char **whose, struct err *err);

/* As store_read(), appended to `bytes`. */
int store_read_bytes(struct store *store, const char *path, int64_t cap, struct str *bytes,
		     struct err *err);

/* A regular file of at most `cap` bytes (more: ERR_INPUT), to read from and seek in: the caller
 * closes the descriptor. A file that is not of this machine is fetched into one that has no name.
 * *keeper, unless `keeper` is NULL: the owner of the directory which the file was opened in, or
 * NULL where a store cannot tell both at once (store_hold()); the caller frees. */
int store_open_file(struct store *store, const char *path, int64_t cap, char **keeper,
		    struct err *err);

/* The parts of a tree that a fetch brings. */
struct store_choice {
	/* Asked of everything before the first byte comes; `name` is below what is fetched. Nothing
	 * comes of a directory that is not wanted. */
	bool (*is_wanted)(void *data, const char *name, const struct store_item *item);
	void *data;
};

/* Brings a file or a tree to this machine, as `target`, which must not be there: content, times of
 * files, and permissions as far as they leave everything to its owner. `choice` and `progress` may
 * be NULL; the latter is told the bytes of all files so far. A failed fetch leaves what has come.
 */
int store_fetch(struct store *store, const char *path, const char *target,
		const struct store_choice *choice, const struct store_progress *progress,
		struct err *err);

/* A file of this process's alone, without a name. -1: `err`. */
int store_make_file(struct err *err);

#endif
