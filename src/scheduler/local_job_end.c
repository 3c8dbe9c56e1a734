/* Ends a job in place of an AM and a guardian that could not. */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/record.h"
#include "scheduler/cgroup.h"
#include "scheduler/local_end.h"
#include "scheduler/local_history.h"
#include "scheduler/local_job.h"
#include "scheduler/local_spawn.h"
#include "scheduler/local_start.h"
#include "scheduler/state_dir.h"

enum { END_GRACE_MS = 3000 };

/* A job's last line, as far as no AM has written it. */
struct ending {
	enum job_state state;
	const char *message;
	const struct cause *cause; /* NULL: none but what the journal tells */
};

static json_t *describe_final(const struct job *job, const struct ending *ending)
{
	json_t *record = record_final(ending->state, ending->message, ending->cause);

	if (job_has_notices(job))
		record_set_notices_due(record);
	return record;
}

/* In place of an AM and a guardian that could not. Notices may take long, and so may a store in
 * which a publication was broken off: another guardian, which finds the job at its end, tells and
 * publishes. A portal may start none: it publishes, and leaves the notices to the next tony. */
static void conclude(const struct job *job, const char *job_dir, bool was_final)
{
	struct err err cleanup_err = {0};

	if (was_final || job_has_notices(job)) {
		if (local_start_last_duty(job->id, job_dir, &err) == 0)
			return;
		if (job_has_notices(job))
			log_warning("%s: the notices of its end wait for `tony status %s`: %s",
				    job->id, job->id, err_message(&err));
		else
			log_warning("%s", err_message(&err));
	}
	local_history_conclude(job, job_dir);
}

static int write_final(const char *job_dir, const struct ending *ending, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "journal.jsonl");
	/* The journal's own lock keeps two clients from both writing a last record. */
	struct journal *journal = journal_open(path, err);
	struct job_view *view;
	struct job *job;
	int result = 0;

	if (!journal || local_job_read(job_dir, &job, &view, err) < 0) {
		journal_close(journal);
		return -1;
	}
	/* An AM that was told to end the job said so, and was killed before it wrote the end. */
	char *killed cleanup_free =
		view->outcome == JOB_KILLED ? cause_sentence(&view->cause) : NULL;
	const struct ending told = {JOB_KILLED, killed, NULL};
	if (!view->is_final)
		result = journal_append(journal, describe_final(job, killed ? &told : ending),
					clock_wall_ms(), true, err);
	journal_close(journal);
	if (result == 0)
		conclude(job, job_dir, view->is_final);
	job_view_destroy(view);
	job_destroy(job);
	return result;
}

/* What an AM or its guardian removes at the end. That makes room for the journal's last line. */
static void clear(const char *job_dir)
{
	char *door cleanup_free = fs_join(job_dir, "am.json");
	char *reserve cleanup_free = fs_join(job_dir, "journal.reserve");
	char *description cleanup_free = fs_join(job_dir, "job.json");
	struct job *job = job_read_file(description, NULL);

	unlink(door);
	unlink(reserve);
	if (job)
		local_end_files(job, job_dir);
	else
		local_end_stdin(job_dir);
	job_destroy(job);
}

static int end(const char *job_dir, const struct ending *ending, int signal, struct err *err)
{
	char *mark cleanup_free = local_job_mark(job_dir);

	if (proc_end_all(0, mark, NULL, 0, signal, END_GRACE_MS) < 0)
		return err_set(err, ERR_FAILED, "%s: some of its processes cannot be killed",
			       fs_basename(job_dir));
	cgroup_clean("", fs_basename(job_dir));
	clear(job_dir);
	return write_final(job_dir, ending, err);
}

/* After SIGTERM the AM would write an end of its own, and this one's message would be lost. */
int local_job_kill(const char *job_dir, const char *message, struct err *err)
{
	return end(job_dir, &(struct ending){JOB_KILLED, message, NULL}, SIGKILL, err);
}

/* SIGTERM's grace lets the AM's guardian, which may be at it just now, finish by itself. */
int local_job_fail(const char *job_dir, const struct cause *cause, struct err *err)
{
	char *message cleanup_free = cause_sentence(cause);

	return end(job_dir, &(struct ending){JOB_FAILED, message, cause}, SIGTERM, err);
}

/* Its AM was started, and is gone before it wrote a line. */
static int fail_unbegun(const char *job_dir, const char *log, struct err *err)
{
	struct cause cause = {.kind = CAUSE_AM_FAILED,
			      .text = mem_strdup("failed to start: its application master ended")};

	state_dir_read_log(log, &cause);
	int result = local_job_fail(job_dir, &cause, err);
	cause_finish(&cause);
	return result;
}

bool local_job_settle(const struct local_engine *engine, const char *job_dir,
		      const struct job_view *view)
{
	struct err err cleanup_err = {0};

	if ((view->is_final && !view->notices_due && !local_job_has_door(job_dir)) ||
	    local_job_life(engine, job_dir, NULL) != LOCAL_GONE)
		return false;
	const struct ending ending = {
		.state = view->am_pid ? JOB_FAILED : JOB_KILLED,
		.message = view->am_pid ? "every process of its application master was killed"
					: "killed: its submission was given up",
	};
	char *log cleanup_free = fs_join(job_dir, LOCAL_AM_LOG);
	bool was_started = !view->am_pid && fs_exists(log);
	int result = was_started ? fail_unbegun(job_dir, log, &err)
				 : end(job_dir, &ending, SIGTERM, &err);
	if (result < 0 && local_job_is_there(job_dir))
		log_warning("%s: %s", fs_basename(job_dir), err_message(&err));
	return result == 0;
}
