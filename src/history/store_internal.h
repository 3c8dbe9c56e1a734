/* Parts of the history store (store.h). Paths are relative to its location, and were checked: no
 * part is empty, "." or "..". */
#ifndef TONY_HISTORY_STORE_INTERNAL_H
#define TONY_HISTORY_STORE_INTERNAL_H

#include "history/store.h"
#include "store/store.h"

struct history_store {
	struct store *files;
	char *me;		       /* history_store_me() */
	char *keeper;		       /* store_keeper(); NULL: nobody has asked */
	struct str_list publishers;    /* users who publish what is others' */
	bool has_days;		       /* tony's own */
	struct str_list finished;      /* names of TonY's trees */
	struct str_list intermediate;  /* likewise */
	struct store_foreign *foreign; /* the last one that was asked for; NULL: none */
	bool has_told_closed;	       /* store_pass_over() */
};

/* Every part is to be a name of layout.h's: nothing else was ever published. */
int store_check_path(const char *path, struct err *err);

/* Those of every store. */
void store_open_trees(struct history_store *store);

/* What is not there is empty. */
int store_entries(struct history_store *store, const char *path, store_visit *visit, void *data,
		  struct err *err);

/* Whether a directory below the location that cannot be read, which is why, hides only itself: any
 * user may have made it. */
bool store_is_closed(const struct history_store *store, const struct err *why);
/* The same; the first one is told in a warning. */
bool store_pass_over(struct history_store *store, const struct err *why);

/* A file that is open here already, with a position of its own. */
int store_open_again(const char *path, struct err *err);

/* Of the file "path/name" of the store, which is closed; -1 is fine. The caller frees. */
char *store_read_opened(const struct history_store *store, int fd, const char *path,
			const char *name, size_t cap, size_t *length, struct err *err);
/* A file of a directory in the store, as it is, and the owner of the directory that it was read in
 * (NULL: the store cannot tell both at once). The caller frees both. */
char *store_read_file(struct history_store *store, const char *path, const char *name, size_t cap,
		      size_t *length, char **keeper, struct err *err);

/* history_store_record(). `owner`: of the directory, where the caller knows it; NULL: it is looked
 * up. (store_owner.c) */
int store_record(struct history_store *store, const char *path, const char *owner, const char *told,
		 struct history_record *record, struct err *err);

/* ERR_DENIED: what was read is not the owner's of the record. `keeper`: of the directory which it
 * was read in; NULL: the store cannot tell both at once. (store_owner.c) */
int store_check_owner(struct history_store *store, const struct history_record *record,
		      const char *keeper, struct err *err);

/* The location's owner. NULL: `err`, or it is a bucket. Borrowed. (store_owner.c) */
const char *store_keeper(struct history_store *store, struct err *err);

/* Is a directory's owner one who is believed about whose a job is? In a bucket, where it is NULL,
 * everybody is. -1: `err`. */
int store_is_believed(struct history_store *store, const char *owner, struct err *err);

/* ---- store_part.c ------------------------------------------------------------------------- */

enum store_entry {
	STORE_ENTRY_NONE, /* nothing, or what is no history of tony's */
	STORE_ENTRY_JOB,  /* it has a summary, be it one of TonY's */
	STORE_ENTRY_PART, /* a history of tony's without one */
};
int store_entry_look(struct history_store *store, const char *path, enum store_entry *entry,
		     struct err *err);
/* Its summary is a job's, be it another one's, or it has more of a history than a file of that
 * name.
 */
bool store_entry_is_proven(struct history_store *store, const char *path);

/* ---- store_foreign.c: of a job of TonY's at `path`; ERR_NOT_FOUND: it is none -------------- */

/* A file of layout.h. `keeper` as of store_read_file(); NULL: nobody asks. */
int store_foreign_open(struct history_store *store, const char *path, const char *name,
		       char **keeper, struct err *err);
/* The summary of an entry as it stands there, be it one of TonY's. *owner (`owner` may be NULL): of
 * the directory that it was read in; NULL: the store cannot tell both at once. */
int store_summary(struct history_store *store, const char *path, struct history_summary *summary,
		  char **owner, struct err *err);
void store_foreign_destroy(struct store_foreign *foreign); /* NULL is fine */

#endif
