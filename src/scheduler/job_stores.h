/*
 * The stores in which this user's ended jobs are (history/store.h): those of local jobs and those
 * of the cluster's, where there is one.
 */
#ifndef TONY_SCHEDULER_JOB_STORES_H
#define TONY_SCHEDULER_JOB_STORES_H

#include "history/store.h"
#include "scheduler/removal.h"
#include "scheduler/scheduler.h"

struct job_stores {
	struct history_store **items;
	size_t count;
	struct str_list away; /* locations whose servers did not answer */
};
void job_stores_close(struct job_stores *stores);
#define cleanup_job_stores __attribute__((cleanup(job_stores_close)))

/* `location`: that store alone; NULL: where tony.history.location of tony-site.xml says, and the
 * places that hold without it. A cluster's that cannot be reached is warned of and left out. */
int job_stores_open(const char *location, struct job_stores *stores, struct err *err);
/* The same. An HDFS that does not answer within this time is warned of, and a bucket that does not
 * answer (history_store_ask()); their stores are left out, and noted in `away`. */
int job_stores_open_within(const char *location, int64_t within_ms, struct job_stores *stores,
			   struct err *err);
/* ERR_UNREACHABLE: this job's history goes to a server that is away. */
int job_stores_check_reached(const struct job_stores *stores, const struct job *job,
			     struct err *err);

/* history_store_trust() with tony.history.publishers of tony-site.xml. */
int job_stores_trust(struct history_store *store, struct err *err);

/* history_store_find(), with what the id tells of the day. */
int stored_job_find(struct history_store *store, const char *id, const char *user,
		    struct history_record *record, struct err *err);
/* A file of that user's record, or of this user's own (NULL); ERR_NOT_FOUND: there is none. The
 * caller frees. */
char *job_stores_read(const char *id, const char *user, const char *name, size_t cap,
		      size_t *length, struct err *err);

/* Is it that user's, or, with NULL, this user's own? In a bucket everybody is believed. */
bool job_stores_is_of(const struct history_store *store, const struct history_record *record,
		      const char *user);
/* The latter; `own`: job_stores_own_names(). */
bool job_stores_is_among(const struct history_store *store, const struct history_record *record,
			 const struct str_list *own);
/* Why this user is not to act on what the record says, "belongs to bob": another user, or anybody,
 * may have written it. NULL: it is this user's own, or one that the owner of the location or
 * another publisher has made for this user. The caller frees. */
char *job_stores_doubt(struct history_store *store, const struct history_record *record);

/* Which jobs are looked for. */
struct stored_filter {
	/* Of their ids; NULL: any. It finds an entry whose summary cannot be read, too, with
	 * nothing but its id. */
	const char *beginning;
	const char *name; /* of those that have ended; NULL: any */
	const char *user; /* NULL: any */
	bool own_only;	  /* of this user (job_stores_is_of()) */
};
/* The jobs in them that fit (NULL: all), each of a user's once, the newest first. From the second
 * time on only what has come since is read (job_index.h). A store that cannot be looked at is
 * warned of and left out. The caller frees with job_summaries_free(). Implemented in stored_list.c,
 * like the next. */
void job_stores_list(const struct job_stores *stores, const struct stored_filter *filter,
		     struct job_summary **jobs, size_t *count);
/* Their ids, each once. */
void job_stores_ids(const struct job_stores *stores, const struct stored_filter *filter,
		    struct str_list *ids);
/* The names that this user has here and on a cluster. */
void job_stores_own_names(struct str_list *names);
bool job_stores_is_own(const char *user);

/* Of another user's job: how its stores are reached is not for its description to say to whoever
 * has tickets and keys: this machine's configuration counts. */
void job_stores_forget(struct job *job);

/* A file or directory: "file://" and a path of this machine, or another URI or a path of the
 * cluster that this machine's site files and the keys of `job` tell of (NULL: those of
 * tony-site.xml). The caller closes; NULL: `err`. */
struct store *job_stores_open_place(const struct job *job, const char *place, struct err *err);

/* For a local job that is to be submitted: checks where its history, checkpoints and results are to
 * go and, when that is remote, notes in job->stores how it is reached. */
int job_stores_prepare(struct job *job, struct err *err);

/* Notes in job->stores how the HDFS is reached, if any, that this machine's site files describe, or
 * the job's keys: programs may read files of it. Whatever is wrong with it a program is told that
 * does. */
void job_stores_offer_hdfs(struct job *job);

/* Removes this user's entry of an ended job from these stores, and the copy in <state>/kept that
 * was made of it. Another user's entry stays, and what is away: both are noted. Nothing there is
 * fine. */
int job_stores_remove(const struct job_stores *stores, const char *id, struct removal *removal,
		      struct err *err);

/* Where the copy of a job is made that was found in a store alone: <state>/kept/ID. The caller
 * frees; NULL: `err`. */
char *stored_jobs_copy(const char *id, struct err *err);
/* Removes the copies that were made until then. */
void stored_jobs_age(int64_t until_ms, struct removal *removal);

/* An engine for jobs that only a store still knows. It has name, find() and logs() alone: find()
 * takes an id, the beginning of one or a name, and logs() has what the store kept. The door leads
 * to stored_jobs_copy(). */
extern const struct scheduler_client_ops stored_jobs_client;
/* Its find(), of the jobs of that user. */
int stored_jobs_find(const char *id, const char *user, struct job_door *door, char **full_id,
		     struct err *err);

#endif
