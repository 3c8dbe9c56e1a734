/* The removal of ended jobs: a verb begins it, and the schedulers tell in it what they removed. */
#ifndef TONY_SCHEDULER_REMOVAL_H
#define TONY_SCHEDULER_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "job/job.h"

/* Directories that jobs use, each with the id of its job. */
struct removal_use {
	struct str_list paths, jobs;
	struct map *seen;  /* the ids of jobs that were looked at */
	int64_t looked_ms; /* when for them, monotonic; 0: never */
	bool of_ended; /* of jobs that have ended, and keep something there; else of live ones */
};

struct removal {
	bool is_dry;	 /* nothing is removed, and all is told as if it were */
	bool is_whole;	 /* the history goes, too: nobody is to find the job again */
	int64_t wait_ms; /* for processes of an ended job that still bring its history away */

	/* Of the present job. */
	int64_t bytes;		 /* of regular files */
	struct str_list removed; /* paths and URLs */
	struct str_list stays;	 /* "PATH: why it is not removed" */
	bool is_last_word;	 /* it is refused, since nothing but its folder tells of it */

	/* Of all of them. */
	struct str_list sources; /* contents of the cache that the jobs had */
	struct str_list chosen;	 /* the ids of those that are to be removed */
	struct removal_use here, kept_here, kept_in_hdfs;
};
void removal_finish(struct removal *removal);
#define cleanup_removal __attribute__((cleanup(removal_finish)))

/* The next job. */
void removal_begin(struct removal *removal);

/* scheduler_client_ops.remove() refuses a job that has not ended, and one whose AM still has to do
 * after its end. Both set ERR_USAGE and return -1: `tony clean` passes such jobs over. */
int removal_refuse_live(const char *id, struct err *err);
int removal_refuse_leaving(const char *id, struct err *err);
/* Another process removed it in the meantime; sets ERR_NOT_FOUND and returns -1. */
int removal_tell_gone(const char *id, struct err *err);

#define REMOVAL_CHECKPOINTS "tony.application.checkpoint-dir named it"
#define REMOVAL_RESULTS	    "tony.application.output-dir named it"

/* Tells once that a place outside of the job's folder stays. */
void removal_spare(struct removal *removal, const char *place, const char *why);
/* A bucket or directory of HDFS that a key of the job names stays. */
void removal_spare_remote(struct removal *removal, const struct job *job);

/* True if the caller is to look for live jobs (again). Then it forgets all that was noted. */
bool removal_use_begin(struct removal_use *use);
void removal_use_forget(struct removal_use *use);
/* Whether the job was looked at since. */
bool removal_use_has_seen(const struct removal_use *use, const char *job);
void removal_use_see(struct removal_use *use, const char *job);
void removal_note_use(struct removal_use *use, const char *job, const char *path);
/* ERR_USAGE: another job uses something in this directory, and lives or is not chosen. */
int removal_check_unused(const struct removal *removal, const struct removal_use *use,
			 const char *job, const char *directory, struct err *err);

/* Removes the folder of a job of this machine, once it is measured. It is renamed first: nobody
 * takes a part of it for a job, and what another process brings in its place stays. Symbolic links
 * are not followed, nothing there is fine, and a folder in which a file system is mounted stays
 * whole. `name`: what the user is told; NULL: nothing. */
int removal_remove_folder(struct removal *removal, const char *path, const char *name,
			  struct err *err);
/* Removes such folders that a process left there when it was killed, or could not remove. How many
 * are left; `err`, which is not NULL, then names them with their size, the reason and the remedy,
 * in lines below those that it has.
 * `is_dry`: they are named alone. */
size_t removal_sweep(const char *parent, bool is_dry, struct err *err);

#endif
