#include "client/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/follow.h"
#include "client/live.h"
#include "client/remedy.h"
#include "net/http_client.h"

enum {
	SILENCE_MS = 3000, /* of the journal, after which the AM is looked for */
	KILL_TIMEOUT_MS = 3000,
};

struct watch {
	struct opened *opened;
	struct live *live;
	struct follow *follow;
	struct journal_reader *reader; /* NULL until the journal is there */
	int signals;
	int interrupts;	  /* SIGINT and SIGTERM so far */
	bool left;	  /* by the terminal */
	int64_t heard_ms; /* monotonic: the journal's last line, or the last look at the AM */
	struct err *err;
};

void watch_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGWINCH);
}

/* ---- the journal -------------------------------------------------------------------------- */

static int open_reader(struct watch *watch)
{
	struct opened *opened = watch->opened;

	if (watch->reader || !fs_exists(opened->journal_path))
		return 0;
	follow_add(watch->follow, opened->journal_path);
	watch->reader = journal_reader_open(opened->journal_path, 1, watch->err);
	return watch->reader ? 0 : -1;
}

static int read_journal(struct watch *watch)
{
	struct journal_line line;
	int more = 0;

	follow_drain(watch->follow);
	if (open_reader(watch) < 0)
		return -1;
	while (watch->reader &&
	       (more = journal_reader_next(watch->reader, &line, watch->err)) > 0) {
		if (job_view_add(watch->opened->view, &line, watch->err) < 0)
			return -1;
		live_add(watch->live, &line);
		watch->heard_ms = clock_monotonic_ms();
	}
	return more;
}

/* Finds a restarted AM, and ends the record of a job whose AM is gone for good. */
static int find_am(struct opened *opened, struct err *err)
{
	struct job_door door = {0};
	char *id cleanup_free = NULL;

	if (opened->ops->find(opened->id, &door, &id, err) < 0)
		return -1;
	job_door_finish(&opened->door);
	opened->door = door;
	return 0;
}

static int look_for_am(struct watch *watch)
{
	if (clock_monotonic_ms() - watch->heard_ms < SILENCE_MS)
		return 0;
	watch->heard_ms = clock_monotonic_ms();
	return find_am(watch->opened, watch->err);
}

/* ---- signals ------------------------------------------------------------------------------ */

static int post_kill(const struct opened *opened, struct err *err)
{
	struct str answer cleanup_str = {0};
	int status;

	if (!opened->door.address)
		return err_set(err, ERR_UNREACHABLE, "it has no application master");
	if (http_call(opened->door.address, opened->door.token, "POST", "/v1/job/kill",
		      "{\"reason\": \"Ctrl-C\"}", KILL_TIMEOUT_MS, &status, &answer, err) < 0)
		return -1;
	return http_response_check(status, str_text(&answer), answer.length, err);
}

static void ask_to_stop(struct watch *watch)
{
	struct err err cleanup_err = {0};

	/* The address may be that of an AM before this one. */
	if (find_am(watch->opened, &err) == 0 && post_kill(watch->opened, &err) == 0)
		live_say(watch->live, "asked the job to stop; Ctrl-C again ends it at once");
	else
		live_say(watch->live,
			 "the job cannot be asked to stop: %s; Ctrl-C again ends it at once",
			 err_message(&err));
}

static void end_at_once(struct watch *watch)
{
	struct err err cleanup_err = {0};

	live_say(watch->live, "ending the job at once");
	if (watch->opened->ops->kill(&watch->opened->door, &err) < 0)
		live_say(watch->live, "%s", err_message(&err));
}

static void take_signals(struct watch *watch)
{
	struct signalfd_siginfo info;

	while (read(watch->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			watch->left = true;
		if (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM)
			continue;
		if (++watch->interrupts == 1)
			ask_to_stop(watch);
		else
			end_at_once(watch);
	}
}

/* ---- the loop ----------------------------------------------------------------------------- */

static int run(struct watch *watch)
{
	struct pollfd fds[] = {
		{.fd = follow_fd(watch->follow), .events = POLLIN},
		{.fd = watch->signals, .events = POLLIN},
	};

	for (;;) {
		if (read_journal(watch) < 0)
			return -1;
		int again_ms = live_show(watch->live, clock_wall_ms());
		if (watch->opened->view->is_final || watch->left)
			return 0;
		poll(fds, array_length(fds), again_ms);
		take_signals(watch);
		if (look_for_am(watch) < 0)
			return -1;
	}
}

static int open_watch(struct watch *watch, FILE *stream)
{
	sigset_t set;

	watch_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	watch->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (watch->signals < 0)
		return err_set_errno(watch->err, "cannot wait for signals");
	watch->follow = follow_create(watch->err);
	if (!watch->follow)
		return -1;
	follow_add(watch->follow, watch->opened->door.job_dir);
	watch->live = live_open(stream, watch->opened->view);
	watch->heard_ms = clock_monotonic_ms();
	if (!live_is_table(watch->live))
		live_say(watch->live, "%s submitted", watch->opened->id);
	return 0;
}

int watch_job(struct opened *opened, FILE *stream, struct err *err)
{
	struct watch watch = {.opened = opened, .signals = -1, .err = err};
	int result = open_watch(&watch, stream);

	if (result == 0)
		result = run(&watch);
	journal_reader_close(watch.reader);
	follow_destroy(watch.follow);
	live_close(watch.live);
	if (watch.signals >= 0)
		close(watch.signals);
	if (result < 0)
		return err_wrap(err, "%s goes on, but cannot be followed", opened->id);
	if (!opened->view->is_final)
		return EXIT_CODE_INTERRUPTED;
	watch_conclude(opened, stream);
	return (int)exit_code_of_job(opened->view->state);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void append_tail(const struct cause *cause, const char *message, struct str *out)
{
	for (size_t i = 0; i < cause->tail.count; i++)
		if (!message || !strstr(message, cause->tail.items[i]))
			str_append_format(out, "    %s\n", cause->tail.items[i]);
}

/* What to change, where one key decides; `type` is NULL when the job as a whole failed. */
static void append_remedy(const struct job_type *type, enum cause_kind kind, struct str *out)
{
	char *memory cleanup_free = type ? str_format_mib((double)type->memory) : NULL;

	if (kind == CAUSE_OUT_OF_MEMORY && type)
		str_append_format(out, "try: more than %s for tony.%s.memory\n", memory,
				  type->name);
	else if (kind == CAUSE_PORT_TAKEN && type)
		str_append_format(out, "try: tony.%s.hold-port=false\n", type->name);
	else if (kind == CAUSE_EXECUTION_TIMEOUT)
		str_append_format(out, "try: a longer tony.task.executor.execution-timeout-ms\n");
	else if (kind == CAUSE_APPLICATION_TIMEOUT)
		str_append_format(out, "try: a longer tony.application.timeout\n");
	else if (kind == CAUSE_ALLOCATION_TIMEOUT)
		str_append_format(out, "try: fewer or smaller tasks, or a longer "
				       "tony.container.allocation.timeout\n");
}

static void append_failure(const struct opened *opened, struct str *out)
{
	const struct job_view *view = opened->view;
	const struct task_view *task =
		view->cause_task >= 0 ? &view->tasks[view->cause_task] : NULL;
	const struct job_type *type = task ? &view->job->types[task->type] : NULL;

	if (view->message)
		str_append_format(out, ": %s", view->message);
	str_append_char(out, '\n');
	append_tail(&view->cause, view->message, out);
	append_remedy(type, view->cause.kind, out);
	if (task)
		str_append_format(out, "see: tony logs %s --task %s:%d\n", opened->id, type->name,
				  task->index);
}

void watch_conclude(const struct opened *opened, FILE *stream)
{
	const struct job_view *view = opened->view;
	int64_t lasted = view->ended_ms - view->job->submitted_ms;
	char *duration cleanup_free = str_format_duration(lasted > 0 ? lasted : 0);
	struct str text cleanup_str = {0};

	str_append_format(&text, "%s %s after %s", opened->id, job_state_name(view->state),
			  duration);
	if (view->state != JOB_SUCCEEDED)
		append_failure(opened, &text);
	else
		str_append_char(&text, '\n');
	/* What a program wrote must not reach the terminal as commands. */
	char *clean cleanup_free = str_printable(text.text, text.length);
	fputs(clean, stream);
	fflush(stream);
}
