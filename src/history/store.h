/*
 * The history store, for those who read it: a directory, or a path in HDFS or a bucket, with three
 * trees:
 *
 *   yyyy/MM/dd/<job id>/                     tony's own (layout.h)
 *   finished/yyyy/MM/dd/<application id>/    TonY's finished jobs (jhist.h)
 *   intermediate/<application id>/           TonY's that run, or were not moved yet
 *
 * A job of TonY's reads like one of tony's: the files of layout.h are made out of its own.
 *
 * Whoever may write to the store is a stranger: nothing but regular files of bounded size is
 * opened, symbolic links below the location are not followed, and one bad entry hides no other.
 *
 * Synchronous; a store over HDFS waits for the network. One thread.
 */
#ifndef TONY_HISTORY_STORE_H
#define TONY_HISTORY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "history/layout.h"
#include "history/summary.h"

#define HISTORY_FILE_CAP ((int64_t)1 << 30) /* bytes of a file that is opened */

struct history_store;
struct store_access;

/* `location`: as store_open() takes it. A directory need not be there yet: it is empty then. */
struct history_store *history_store_open(const char *location, const struct store_access *access,
					 struct err *err);
void history_store_close(struct history_store *store); /* NULL is fine */

const char *history_store_location(const struct history_store *store);
/* The name by which its file system knows this process's user. */
const char *history_store_me(const struct history_store *store);

/* ERR_UNREACHABLE: its server does not answer; a bucket's within 3 s. */
int history_store_ask(struct history_store *store, struct err *err);

/* Where TonY's jobs are, below the location. */
enum history_tree {
	HISTORY_FINISHED,     /* NAME/yyyy/MM/dd/<application id>/ */
	HISTORY_INTERMEDIATE, /* NAME/<application id>/ */
};
/* One more tree, beside those that every store has. `name`: of a directory of the location. */
void history_store_add_tree(struct history_store *store, enum history_tree tree, const char *name);
/* None but those that are added from here on. */
void history_store_clear_trees(struct history_store *store);

/* Users who are believed when they say whose a job is, as the location's owner is: services that
 * publish for others. */
void history_store_trust(struct history_store *store, const struct str_list *publishers);

/* ---- what is there ------------------------------------------------------------------------ */

/* A directory of jobs: "2026/11/21", "finished/2026/11/21", "intermediate". */
struct history_folder {
	char *path;
	/* Changes when a job comes or goes, so that a folder need not be listed again as long as
	 * it stays the same and is older than HISTORY_SETTLED_MS. */
	int64_t modified_ms;
	/* The day's first ms, UTC, and the first one after it; 0: it is of no day. TonY's days are
	 * of any time zone: theirs begin earlier and end later. */
	int64_t day_ms, end_ms;
};
#define HISTORY_SETTLED_MS 3000

struct history_folders {
	struct history_folder *items;
	size_t count;
};
void history_folders_finish(struct history_folders *folders);

struct history_job {
	char *id;
	char *path;	     /* within the store: "2026/11/21/tony-20261121-061400-1f3a09c4" */
	int64_t modified_ms; /* of its directory */
};
struct history_jobs {
	struct history_job *items;
	size_t count;
	struct str_list strays; /* what has a job's name, and is a file or a symbolic link */
	bool is_closed;		/* the folder cannot be read; a warning has told it */
};
void history_jobs_finish(struct history_jobs *jobs);
#define cleanup_history_folders __attribute__((cleanup(history_folders_finish)))
#define cleanup_history_jobs	__attribute__((cleanup(history_jobs_finish)))

/* All folders, the newest day first; a store that is not there has none. ERR_DENIED,
 * ERR_UNREACHABLE ... when it cannot be looked at. Where directories have owners one below the
 * location that this process may not read is passed over: one warning names the first. */
int history_store_folders(struct history_store *store, struct history_folders *folders,
			  struct err *err);

/* What may be its jobs, the newest first: the directories that have a job's name. Whether one is a
 * job shows when its summary is read. A folder that is gone has none. */
int history_store_jobs(struct history_store *store, const char *folder, struct history_jobs *jobs,
		       struct err *err);

/* ---- one job ------------------------------------------------------------------------------ */

/* A job's entry: where it is, and whose. Its files are read by this alone, and only as long as the
 * owner's entry is in its place. */
struct history_record {
	char *path; /* within the store */
	/* Of its directory, by the word of the file system; NULL: an object of a bucket has none.
	 */
	char *owner;
	/* Whose the job is: the owner's, whatever its files say. The owner of the location and
	 * other publishers are believed when their entry's summary names another user, and so is
	 * everybody who may write to a bucket. */
	char *user;
	/* Each reading is of a directory of the owner's that is open. Else another user's entry may
	 * take its place for a moment. */
	bool is_pinned;
};
void history_record_finish(struct history_record *record);
void history_record_copy(const struct history_record *from, struct history_record *to);
#define cleanup_history_record __attribute__((cleanup(history_record_finish)))

/* That of the entry at `path`, whose summary says that the job is the user's `told` (NULL: it is
 * read, where that counts). The caller finishes it after success. */
int history_store_record(struct history_store *store, const char *path, const char *told,
			 struct history_record *record, struct err *err);

/* The record of the job with this whole id; -1: `err` (ERR_NOT_FOUND). `days`: as far as its id
 * tells them, the only ones that are looked at; NULL: it tells nothing. Of several entries that
 * of `user` (NULL: this process's) goes first: another user's may be all there is. */
int history_store_find(struct history_store *store, const char *id, const struct history_days *days,
		       const char *user, struct history_record *record, struct err *err);

/* Its `user` and `owner` are those of its record. */
int history_store_summary(struct history_store *store, const char *path,
			  struct history_summary *summary, struct err *err);

/* `flaw` is why the entry at `path` cannot be read: it is another user's, and closed to this one or
 * damaged. Anybody could make thousands of these. */
bool history_store_is_others(struct history_store *store, const char *path, const struct err *flaw);

/* A file of the job's: "events.jsonl", "logs/worker-0/stdout". A descriptor to read from and seek
 * in, which the caller closes; what is not a file of this machine is fetched into one that has no
 * name. -1: `err`; ERR_NOT_FOUND: there is none; ERR_INPUT: larger than `cap`; ERR_DENIED: another
 * user's entry has taken the record's place. */
int history_store_open_file(struct history_store *store, const struct history_record *record,
			    const char *name, int64_t cap, struct err *err);
/* The whole of it (NUL-terminated for convenience). The caller frees. */
char *history_store_read_file(struct history_store *store, const struct history_record *record,
			      const char *name, size_t cap, size_t *length, struct err *err);

/* What is in a directory of the job's ("logs", "logs/worker-0"), by name; none when it is not
 * there. */
struct history_entry {
	char *name;
	bool is_directory;
	int64_t length; /* bytes */
};
struct history_entries {
	struct history_entry *items;
	size_t count;
};
void history_entries_finish(struct history_entries *entries);
#define cleanup_history_entries __attribute__((cleanup(history_entries_finish)))
int history_store_list(struct history_store *store, const struct history_record *record,
		       const char *name, struct history_entries *entries, struct err *err);

/* Not in a bucket. */
bool history_store_has_owners(const struct history_store *store);
/* ERR_DENIED: others than its owner, and than the owner of the location, may have written what is
 * read by this record; or it is of a bucket. */
int history_store_vouch(struct history_store *store, const struct history_record *record,
			struct err *err);
/* Whose the job's directory is, and everything that is in it: nobody else can have put it there, or
 * another one in its place. NULL: `err`; ERR_DENIED: others may write there, or it is a bucket. The
 * owner of the location is trusted. The caller frees. */
char *history_store_owner(struct history_store *store, const char *path, struct err *err);

/* Where others may write to a location, as store_open() takes it, on this machine: which year,
 * month or day of that time another user than its owner has made, who can rename what others put
 * there. NULL: none. The caller frees.
 */
char *history_find_foreign_day(const char *location, int64_t time_ms);

/* ---- half of one -------------------------------------------------------------------------- */

/* In a bucket, where nothing is renamed, a publication that is killed leaves what it had brought.
 * As what is left beside its place in another store, that is no job to all functions but these. */

/* Where this job's is. NULL: `err`, as history_store_find(). The caller frees. */
char *history_store_find_part(struct history_store *store, const char *id,
			      const struct history_days *days, struct err *err);
/* Whether nothing of it is younger than HISTORY_PART_MS: no publication takes so long. -1: `err`.
 */
int history_store_is_left(struct history_store *store, const char *path, int64_t now_ms,
			  struct err *err);
#define HISTORY_PART_MS ((int64_t)3600 * 1000)
/* Whose its job.json says that it is. NULL: `err`. The caller frees. */
char *history_store_part_user(struct history_store *store, const char *path, struct err *err);

/* Absent is fine. ERR_DENIED: in a directory of this machine another user's entry, or another
 * job's, stands there. `owner`: of the entry; NULL: it may be anybody's. 1: all of it stays, since
 * a directory in it is not the owner's; `err` says which, whose, and what to do. */
int history_store_remove(struct history_store *store, const char *path, const char *owner,
			 struct err *err);
/* The same without removing anything. */
int history_store_check_whole(struct history_store *store, const char *path, const char *owner,
			      struct err *err);

#endif
