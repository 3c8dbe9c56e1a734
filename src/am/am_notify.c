/* When the job has ended, its notices are told by a process of their own: servers and commands may
 * take long, and the AM answers meanwhile. Their outcome is a member of the final record, which
 * is repeated with it: so that stays a journal's last line. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "am/am_internal.h"
#include "am/notice.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/record.h"
#include "scheduler/child.h"

enum { NOTICES_CAP = 1 << 16 };

/* NULL: nothing is to be told (any more). The caller frees. */
static json_t *tell(const struct am *am)
{
	struct job_view *view = job_view_create(am->job);
	struct err err cleanup_err = {0};
	json_t *notices = NULL;

	bool is_read = job_view_read(view, am->place.journal, &err) == 0;
	if (!is_read)
		log_error("the notices of the job's end are not sent: %s", err_message(&err));
	else if (am->tracking && !view->tracking_run) /* it came too late to be written down */
		view->tracking_run = mem_strdup(tracking_run(am->tracking));
	if (is_read && view->is_final && view->notices_due)
		notices = notice_tell_all(view, am->place.is_brought ? NULL : am->job_dir);
	job_view_destroy(view);
	return notices;
}

/* The final record with `notices`, which are taken; NULL: the journal does not end with one. */
static json_t *make_record(const char *journal, json_t *notices)
{
	char *text cleanup_free = NULL;
	struct journal_line line;
	json_t *last cleanup_json = NULL;

	if (journal_read_last(journal, &text, &line) && record_is_final(&line))
		last = journal_line_record(&line, NULL);
	if (last)
		return record_notices(last, notices);
	log_error("the journal does not tell what became of the notices: it has no last line");
	json_decref(notices);
	return NULL;
}

/* ---- in the AM ---------------------------------------------------------------------------- */

/* A signal that ends the AM is for the AM alone, which takes this process with it. Its
 * handlers would tell the AM of a signal to this process. */
static void be_left_alone(void)
{
	static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};

	setpgid(0, 0);
	proc_reset_signals();
	for (size_t i = 0; i < array_length(ignored); i++)
		signal(ignored[i], SIG_IGN);
}

static _Noreturn void tell_and_report(const struct am *am, int output)
{
	/* It has the AM's locks open. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_left_alone();
	json_t *notices = tell(am);
	char *text = notices ? json_text(notices) : NULL;
	bool failed = !text || fs_write_all(output, text, strlen(text), NULL) < 0;

	_exit(failed);
}

static void on_told(void *data, int status)
{
	*(bool *)data = true;
}

/* The child has ended: all that it wrote is there. */
static json_t *read_report(int input)
{
	char *text cleanup_free = mem_alloc(NOTICES_CAP);
	ssize_t length = read(input, text, NOTICES_CAP);

	return length > 0 ? json_parse(text, (size_t)length, NULL) : NULL;
}

static json_t *tell_in_child(struct am *am, struct err *err)
{
	struct child child = {0};
	bool is_told = false;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_set_errno(err, "cannot make a pipe");
		return NULL;
	}
	pid_t pid = fork();
	if (pid == 0)
		tell_and_report(am, ends[1]);
	close(ends[1]);
	json_t *notices = NULL;
	if (pid < 0)
		err_set_fork(err, "fork");
	else if (child_watch(&child, am->base, pid, on_told, &is_told, err) == 0) {
		am_run_until(am, &is_told);
		notices = read_report(ends[0]);
	}
	close(ends[0]);
	return notices;
}

void am_notify(struct am *am)
{
	struct err err cleanup_err = {0};

	if (!job_has_notices(am->job) || am->has_notified)
		return;
	json_t *notices = tell_in_child(am, &err);
	json_t *record = notices ? make_record(am->place.journal, notices) : NULL;
	if (err.kind != ERR_NONE)
		log_error("the notices of the job's end are not sent: %s", err_message(&err));
	if (record)
		am_record(am, record, true);
}

/* ---- in the guardian ---------------------------------------------------------------------- */

void am_notify_alone(const struct am *am)
{
	struct err err cleanup_err = {0};
	json_t *notices = job_has_notices(am->job) ? tell(am) : NULL;
	json_t *record = notices ? make_record(am->place.journal, notices) : NULL;

	if (!record)
		return;
	guard_end_tree(&am->guard); /* what the command has left */
	struct journal *journal = journal_open(am->place.journal, &err);
	if (!journal)
		json_decref(record);
	else
		journal_append(journal, record, clock_wall_ms(), true, &err);
	if (err.kind != ERR_NONE)
		log_error("the journal does not tell what became of the notices: %s",
			  err_message(&err));
	journal_close(journal);
}
