/*
 * What the portal knows of all jobs without opening any: a SQLite file that one process writes
 * (indexer.h) and others read at the same time. It holds nothing that cannot be found out again: a
 * file that is flawed, or of another version, is made anew.
 */
#ifndef TONY_PORTAL_INDEX_H
#define TONY_PORTAL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/acl.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "history/summary.h"

struct portal_index;

/* Made, with its directory, when it is not there; nobody else may read it. */
struct portal_index *portal_index_open(const char *path, struct err *err);
/* One that is there: it is not checked, and not made anew. */
struct portal_index *portal_index_open_known(const char *path, struct err *err);
void portal_index_close(struct portal_index *index); /* NULL is fine */

/* ---- writing ------------------------------------------------------------------------------ */

/* What is between the two is there at once, or not at all. */
int portal_index_begin(struct portal_index *index, struct err *err);
int portal_index_commit(struct portal_index *index, struct err *err);

/* A folder of a store (history/store.h). */
struct portal_folder {
	int64_t number;	     /* > 0 */
	int64_t modified_ms; /* when its jobs were listed; 0: never */
};
/* Knows it from now on. */
int portal_index_folder(struct portal_index *index, const char *location, const char *path,
			struct portal_folder *folder, struct err *err);
int portal_index_set_folder(struct portal_index *index, const struct portal_folder *folder,
			    struct err *err);
/* Forgets all folders of the location that are none of `paths`, and their jobs. */
int portal_index_keep_folders(struct portal_index *index, const char *location,
			      const struct str_list *paths, struct err *err);
/* Forgets all locations but these. */
int portal_index_keep_locations(struct portal_index *index, const struct str_list *locations,
				struct err *err);

/* Calls `visit` for each job of the folder. `visit` writes nothing. */
int portal_index_visit(struct portal_index *index, int64_t folder,
		       void (*visit)(void *data, const char *id, int64_t modified_ms), void *data,
		       struct err *err);

/* Folder 0: of a job that only its scheduler knows. It replaces what is known of the same id and
 * user, but what a store has is left alone by what a scheduler knows. An id is no secret, and
 * anybody may give it to an entry of his: each user's stands beside the others'. */
int portal_index_put(struct portal_index *index, const struct history_summary *summary,
		     int64_t folder, int64_t modified_ms, struct err *err);
/* The ACLs of a job in folder 0 are told apart, once (NULL: it has none), and stay with it: until
 * then its user alone may see the job, and administrators. Adds the ids of those to `ids`. */
int portal_index_without_acls(struct portal_index *index, struct str_list *ids, struct err *err);
int portal_index_set_acls(struct portal_index *index, const char *id, const char *view_acl,
			  const char *modify_acl, struct err *err);

/* How far programs are is told apart, too, of those in folder 0 that run: adds their ids to `ids`.
 * `work` is JSON, which becomes the member "work" of the summary. */
int portal_index_running(struct portal_index *index, struct str_list *ids, struct err *err);
int portal_index_set_work(struct portal_index *index, const char *id, const char *work,
			  struct err *err);

/* An entry of the folder that is no job which can be shown, and why. It takes no other's place:
 * what another folder or a scheduler knows of the same id stays. Nobody is its user. */
#define PORTAL_DAMAGED	  "damaged" /* its state */
#define PORTAL_DAMAGED_MS -1	    /* its `modified_ms` */
int portal_index_put_damaged(struct portal_index *index, const char *id, const char *reason,
			     int64_t submitted_ms, int64_t folder, struct err *err);
int portal_index_remove(struct portal_index *index, const char *id, int64_t folder,
			struct err *err);

/* When all was looked at last, wall-clock ms. */
int portal_index_set_age(struct portal_index *index, int64_t now_ms, struct err *err);

/* ---- reading ------------------------------------------------------------------------------ */

/* A user who may see his own jobs, those whose ACL names him, and as an administrator all. */
struct portal_viewer {
	struct acl_user user;
	const char *administrators; /* an ACL; NULL: nobody */
};

/* NULL and 0: whatever it is. Texts are parts of what is looked for, in any case of letters; in
 * double quotes they are all of it. The state is always all of it. */
struct portal_query {
	const char *anything, *user, *name, *type, *state, *queue, *tag;
	int64_t from_ms, to_ms; /* submitted then */
	const char *sort;	/* of portal_sorts; NULL: submitted_ms */
	bool ascending;
	bool groups;	/* of the runs of one user that have one name only the newest */
	bool folds;	/* of a sweep with its trials, of a pipeline and of an array only one */
	bool counts;	/* how many jobs there are in each state, whatever `state` is */
	int64_t now_ms; /* wall clock: live jobs last until now */
	int64_t offset, limit;
	const struct portal_viewer *viewer; /* NULL: all is for the caller */
};
bool portal_is_sort(const char *name);

/* {"total": N, "jobs": [summary ...]}; with `groups` "runs": [{"count": N, "failed": N} ...], one
 * for each job; with `folds` "families": [{"id", "count", "states": {}, "submitted_ms", "ended_ms",
 * "foremost": summary} ...], null for a job that has none: a sweep stands for its trials, and the
 * newest job for the others of its pipeline or array, of which "foremost" is the newest in the
 * state that matters most; the times are those of the first and last. With `counts` "states":
 * {"running": N, ...}. */
int portal_index_list(struct portal_index *index, const struct portal_query *query,
		      struct str *answer, struct err *err);

/* Adds up to `most` values that jobs of the query have for `of` ("user", "name", "queue", "tag",
 * "type": portal_index_is_word()), in which `part` is. */
bool portal_index_is_word(const char *of);
int portal_index_words(struct portal_index *index, const struct portal_query *query, const char *of,
		       const char *part, size_t most, struct str_list *values, struct err *err);

struct portal_job {
	char *user, *view_acl;
	char *modify_acl;      /* of one that goes on */
	char *summary;	       /* JSON */
	char *location, *path; /* NULL: only its scheduler knows it */
};
void portal_job_finish(struct portal_job *job);
#define cleanup_portal_job __attribute__((cleanup(portal_job_finish)))
/* ERR_NOT_FOUND: nothing is known of it, or nothing that `viewer` (NULL: whoever) may know. */
int portal_index_find(struct portal_index *index, const char *id,
		      const struct portal_viewer *viewer, struct portal_job *job, struct err *err);

/* Runs of one job that have a history, and may be seen by the same people. */
struct portal_runs {
	const char *user, *name, *view_acl; /* view_acl NULL: none is said */
	int64_t since_ms;		    /* submitted then or later */
	int64_t most;			    /* the newest ones */
};
/* Calls `visit` with the summary of each, JSON. */
int portal_index_runs(struct portal_index *index, const struct portal_runs *runs,
		      void (*visit)(void *data, const char *summary, size_t length), void *data,
		      struct err *err);

/* Calls `visit` for each state that there are jobs in. */
int portal_index_count(struct portal_index *index,
		       void (*visit)(void *data, const char *state, int64_t jobs), void *data,
		       struct err *err);
/* Calls `visit` for each state, user and queue (NULL: none) of jobs that go on, those with most
 * jobs first, `most` times at most. */
int portal_index_live(struct portal_index *index, size_t most,
		      void (*visit)(void *data, const char *state, const char *user,
				    const char *queue, int64_t jobs),
		      void *data, struct err *err);
int64_t portal_index_age(struct portal_index *index); /* 0: never */

#endif
