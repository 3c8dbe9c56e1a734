/* The guardian of an AM, which is there before it and after it: of one that was killed it starts
 * another, and of the last it does what is left to do. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "am/am_internal.h"
#include "am/listen.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/record.h"
#include "job/view.h"
#include "net/listen.h"
#include "scheduler/launch.h"
#include "scheduler/state_dir.h"

#define SHORT_LIFE_MS 10000
#define SHORT_LIVES   5

/* ---- the last duty ------------------------------------------------------------------------ */

/* Whether any AM of the job came so far that it wrote the journal's first line. */
static bool has_begun(const struct am *am)
{
	struct job_view *view = job_view_create(am->job);
	bool result = job_view_read(view, am->place.journal, NULL) == 0 && view->am_pid != 0;
	job_view_destroy(view);
	return result;
}

/* The caller frees. */
static char *describe_end(const struct am *am)
{
	const struct guard *guard = &am->guard;
	const char *start = has_begun(am) ? "" : "failed to start: ";
	struct err end cleanup_err = {0};
	launch_set_am_end(guard->exit_code, guard->signal, am->job_dir, &end);
	fs_explain_room(am->job_dir, &end);
	if (!guard->signal || am->short_lives < SHORT_LIVES)
		return mem_printf("%s%s", start, err_message(&end));
	return mem_printf("%sthe application master was killed %d times in a row soon after its "
			  "start, the last time by %s",
			  start, am->short_lives, proc_signal_name(guard->signal));
}

/* A job whose AM was killed for good still gets its last line. */
static void write_last_line(const struct am *am)
{
	struct err err cleanup_err = {0};
	struct cause cause = {.kind = CAUSE_AM_FAILED};
	if (record_ends_journal(am->place.journal))
		return;
	cause.text = describe_end(am);
	state_dir_read_log("/proc/self/fd/2", &cause); /* its own log, if that is a file */
	if (am->guard.signal)			       /* no line of it says why */
		mem_replace(&cause.headline, NULL);
	char *message cleanup_free = cause_sentence(&cause);
	log_error("%s", cause.text);
	struct journal *journal = journal_open(am->place.journal, &err);
	if (journal)
		am_record_end(journal, record_final(JOB_FAILED, message, &cause),
			      job_has_notices(am->job));
	else
		log_error("%s", err_message(&err));
	journal_close(journal);
	cause_finish(&cause);
}

/* Whether the job's history is this guardian's to bring away: with remote_am the AM does that, or
 * the next one. */
static bool has_last_duty(const struct am *am)
{
	return !am->place.may_return ||
	       (!am->scheduler_ops->traits->remote_am && record_ends_journal(am->place.journal));
}

/* Until the door is taken away, a job whose guardian is killed, too, is known to be unpublished. */
static void conclude(struct am *am)
{
	bool is_last = has_last_duty(am);
	am_give_up_reserve(am->job_dir);
	if (is_last) {
		write_last_line(am);
		am_notify_alone(am);
		am->scheduler_ops->guardian.publish(am->job, am->job_dir);
	}
	am_withdraw(am->job_dir, is_last);
	if (!am->scheduler_ops->traits->restarts_am)
		am->scheduler_ops->guardian.clean(am->job, am->job_dir, &am->hold);
}

/* ---- while there is an AM ----------------------------------------------------------------- */

/* Whether another AM is to follow the one that has just ended. */
static bool is_to_return(struct am *am, int64_t lived_ms)
{
	const struct guard *guard = &am->guard;
	/* One that was told to end, and was then killed, was killed for that. */
	if (am->listener == 0 || guard->signal == 0 || guard->passed != 0 ||
	    record_ends_journal(am->place.journal))
		return false;
	am->short_lives = lived_ms < SHORT_LIFE_MS ? am->short_lives + 1 : 0;
	return am->short_lives < SHORT_LIVES;
}

/* 1: in the worker; 0: there is none any more; -1: the first could not be started. */
static int keep_running(struct am *am, struct err *err)
{
	for (bool again = false;; again = true) {
		int64_t begun = clock_monotonic_ms();
		if (guard_fork(&am->guard, err) < 0)
			return again ? 0 : -1;
		if (am->guard.is_worker)
			return 1;
		if (!is_to_return(am, clock_monotonic_ms() - begun))
			return 0;
		log_warning("the application master was killed by %s: another one goes on",
			    proc_signal_name(am->guard.signal));
	}
}

static int guard(struct am *am, const char *job_dir)
{
	struct err err cleanup_err = {0};
	int result = am_find_all(am, job_dir, &err);
	char *children cleanup_free = result == 0 ? job_child_mark(am->job) : NULL;
	if (result == 0)
		result = am_open_hold(am, &err);
	if (result == 0)
		result = guard_open(am->place.mark, &am->guard, &err);
	am->guard.spared = children;
	/* The process that takes its guardian's place may have been at the end already. */
	if (result == 0 && !record_ends_journal(am->place.journal))
		result = keep_running(am, &err);
	if (err.kind != ERR_NONE)
		log_error("%s", err_message(&err));
	if (result < 0)
		return 1;
	if (am->guard.is_worker)
		return am_run(am);
	guard_finish(&am->guard);
	conclude(am);
	return am->guard.exit_code;
}

int am_run_guarded(struct am *am, const char *job_dir)
{
	int code = guard(am, job_dir);
	scheduler_place_finish(&am->place);
	return code;
}
