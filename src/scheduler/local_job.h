/* A job's directory as clients see it: who made it, whether its AM lives, what its journal says. */
#ifndef TONY_SCHEDULER_LOCAL_JOB_H
#define TONY_SCHEDULER_LOCAL_JOB_H

#include "job/view.h"
#include "scheduler/scheduler.h"

/* An engine whose jobs are directories of this machine. */
struct local_engine {
	const struct scheduler_traits *traits;
	/* False: none of the job's AMs runs, and none will follow. */
	bool (*is_held)(const char *job_dir);
};
extern const struct local_engine local_engine;

enum local_life {
	LOCAL_LIVE,	 /* an AM of it runs, or is killed and another one will follow */
	LOCAL_STARTING,	 /* it is being submitted, or its AM comes up */
	LOCAL_GONE,	 /* its AM is dead, or never was */
	LOCAL_ELSEWHERE, /* it is another machine's, which shares the file system: not known here */
};

/* Writes who submits the job, and holds that claim as long as the returned descriptor is open: a
 * job without an AM whose claim nobody holds was given up. -1: `err`. */
int local_job_claim(const char *job_dir, struct err *err);

/* See scheduler_client_ops: the job's directory, claimed (door->claim). In local_prepare.c. */
int local_job_prepare(const struct job *job, struct job_door *door, struct err *err);

/* `address` (NULL: not wanted) gets that of a live AM, which the caller frees. */
enum local_life local_job_life(const struct local_engine *engine, const char *job_dir,
			       char **address);

/* "TONY_JOB_ID=...", in the environment of all its processes. The caller frees. */
char *local_job_mark(const char *job_dir);

/* The host on which the job runs. The caller frees. */
char *local_job_host(const char *job_dir);

/* Writes the job's name where it is found without reading job.json, be it one of thousands: the
 * target of a link. A name that cannot be one is left out. */
void local_job_write_name(const char *job_dir, const char *name);
/* The caller frees; NULL: there is no such job. */
char *local_job_name(const char *job_dir);

/* An AM's: it and its guardian remove that when nothing is left to do. */
bool local_job_has_door(const char *job_dir);

/* Neither an AM nor a submission says that it has the job: seen without a look at processes, so a
 * job whose first AM is just coming up may be taken for idle. */
bool local_job_is_idle(const char *job_dir);

/* False: it was removed, as when its submission was broken off (state_dir_remove_job()). */
bool local_job_is_there(const char *job_dir);

/* The job's description and what its journal tells; the caller destroys both, view first. */
int local_job_read(const char *job_dir, struct job **job, struct job_view **view, struct err *err);

/* The same for a job whose journal has its final record, from that alone: the view knows no more
 * than how and when the job ended. -1: it is none, read it in full. */
int local_job_read_end(const char *job_dir, struct job **job, struct job_view **view);
/* By that record alone, without the description. */
bool local_job_ended_before(const char *job_dir, int64_t time_ms);

/* Ends all processes of a job with SIGKILL, without asking its AM, and, when its journal has no
 * last record by then, writes `message` as that. Its history is published. */
int local_job_kill(const char *job_dir, const char *message, struct err *err);

/* The same of a job whose AM did not start: it failed, and why. */
int local_job_fail(const char *job_dir, const struct cause *cause, struct err *err);

/* The same for a job that is LOCAL_GONE and not final: it failed, if it ever had an AM. A final one
 * whose AM and guardian were killed before all was done is published. True when its journal may
 * have grown. A job that was removed meanwhile is nobody's trouble. */
bool local_job_settle(const struct local_engine *engine, const char *job_dir,
		      const struct job_view *view);

#endif
