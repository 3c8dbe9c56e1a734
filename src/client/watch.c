#include "client/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc_scan.h"
#include "client/advice.h"
#include "client/exit_code.h"
#include "client/follow.h"
#include "client/live.h"
#include "client/place.h"
#include "client/remedy.h"
#include "client/report.h"
#include "client/watch_output.h"
#include "client/work.h"
#include "net/http_client.h"
#include "scheduler/agent.h"

enum {
	KILL_TIMEOUT_MS = 3000,
	WORK_EVERY_MS = 5000,	       /* the AM is asked how far the programs are */
	WORK_AFTER_SILENCE_MS = 30000, /* ... when it did not answer */
	ASK_EVERY_MS = 1000,	       /* who can be asked to stop */
	COMMAND_CAP = 64 << 10,	       /* of the words of a signal's sender */
};

struct watch {
	struct opened *opened;
	const struct watch_options *options;
	struct live *live;
	struct follow *follow;
	struct watch_output *output; /* NULL: not shown */
	int signals;
	int interrupts;	  /* SIGINT and SIGTERM so far */
	int first;	  /* the first of them */
	bool has_asked;	  /* an AM has taken the wish to stop, or the end was asked for */
	bool stop_is_due; /* asked for while nobody could be asked */
	int64_t ask_due;  /* monotonic, ms: the next time for that */
	char *unheard;	  /* a wait that a signal cut, or a ticket that is missing, in words; NULL:
			     none since the last signal */
	int left_by;	  /* the signal that ends the watch, not the job; 0: none */
	int64_t ends_ms;  /* monotonic; INT64_MAX: it does not */
	int64_t work_due; /* monotonic, ms */
	struct err *err;
};

void watch_signals(sigset_t *set)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
	struct sigaction action;

	sigemptyset(set);
	for (size_t i = 0; i < array_length(numbers); i++)
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(set, numbers[i]);
}

static int on_line(void *data, const struct journal_line *line, struct err *err)
{
	struct watch *watch = data;

	live_add(watch->live, line);
	return 0;
}

/* ---- signals ------------------------------------------------------------------------------ */

static int post_kill(const struct opened *opened, const char *reason, struct err *err)
{
	json_t *body cleanup_json = json_pack("{ss}", "reason", reason);
	char *text cleanup_free = json_text(body);
	struct str answer cleanup_str = {0};
	int status;

	if (!opened->door.address)
		return err_set(err, ERR_UNREACHABLE, "it has no application master");
	if (job_door_call(&opened->door, "POST", "/v1/job/kill", text, KILL_TIMEOUT_MS, &status,
			  &answer, err) < 0)
		return -1;
	return http_response_check(status, str_text(&answer), answer.length, err);
}

static const char *stop_reason(const struct watch *watch)
{
	return watch->first == SIGINT ? "Ctrl-C" : "SIGTERM to the client";
}

/* True: another signal waits. */
static bool note_cut(struct watch *watch, const struct err *err)
{
	if (err->kind != ERR_INTERRUPTED)
		return false;
	mem_replace(&watch->unheard, mem_strdup(err_message(err)));
	return true;
}

/* An AM answers once its engine lets it keep what it has begun, and a second one who asks at once.
 */
static bool has_taken_kill(const struct watch *watch)
{
	struct err conflict cleanup_err = {0};

	return post_kill(watch->opened, stop_reason(watch), &conflict) == 0 ||
	       conflict.kind == ERR_FAILED;
}

static int ask_am(struct watch *watch, struct err *err)
{
	char *stopping cleanup_free = live_stopping(watch->opened->view);

	if (post_kill(watch->opened, stop_reason(watch), err) < 0 &&
	    !(err->kind == ERR_UNREACHABLE && has_taken_kill(watch))) {
		/* Its engine may answer. */
		err->kind = err->kind == ERR_INTERRUPTED ? ERR_UNREACHABLE : err->kind;
		return -1;
	}
	live_say(watch->live, "%s; Ctrl-C again ends the job at once", stopping);
	watch->has_asked = true;
	return 0;
}

/* False, and why: there is nobody to ask at the moment. */
static bool ask_to_stop(struct watch *watch, struct err *err)
{
	int killed = opened_kill_waiting(watch->opened, NULL, stop_reason(watch), err);

	if (killed == 0)
		live_say(watch->live, "the job is ended: nothing of it runs yet");
	else if (killed > 0 && ask_am(watch, err) == 0)
		return true;
	else if (err_is_silence(err))
		return false;
	else
		live_say(watch->live,
			 "the job cannot be asked to stop: %s; Ctrl-C again ends it at once",
			 err_message(err));
	return true;
}

/* The AM that is known may answer while its engine does not; or another one has its address. */
static void on_interrupt(struct watch *watch)
{
	struct err gone cleanup_err = {0}, err cleanup_err = {0};

	if (watch->opened->door.address && ask_am(watch, &gone) == 0)
		return;
	watch->stop_is_due = opened_find_am(watch->opened, &err) < 0 || !ask_to_stop(watch, &err);
	if (!watch->stop_is_due || note_cut(watch, &err))
		return;
	live_say(watch->live,
		 "the job is asked to stop as soon as it can be (%s); Ctrl-C again ends it at "
		 "once, or leaves it where nobody answers",
		 err_message(&err));
}

static void ask_again(struct watch *watch)
{
	struct err err cleanup_err = {0};

	if (!watch->stop_is_due || clock_monotonic_ms() < watch->ask_due)
		return;
	watch->stop_is_due = !ask_to_stop(watch, &err);
	note_cut(watch, &err);
	watch->ask_due = clock_monotonic_ms() + ASK_EVERY_MS;
}

static void end_at_once(struct watch *watch)
{
	struct err err cleanup_err = {0};

	live_say(watch->live, "ending the job at once");
	watch->has_asked = true;
	if (watch->opened->ops->kill(&watch->opened->door, NULL, &err) == 0 ||
	    note_cut(watch, &err))
		return;
	bool lacks_ticket = err.kind == ERR_EXPIRED;
	live_say(watch->live, "%s%s", err_message(&err),
		 lacks_ticket ? "; Ctrl-C again leaves the job as it is" : "");
	if (lacks_ticket)
		mem_replace(&watch->unheard, mem_strdup(err_message(&err)));
}

static int look_for_am(struct watch *watch)
{
	struct err err cleanup_err = {0};

	if (opened_look_for_am(watch->opened, &err) == 0 || note_cut(watch, &err))
		return 0;
	return err_copy(watch->err, &err);
}

/* A first one asks, the second ends the job, and one that cuts the wait for either leaves. */
static void take_stop(struct watch *watch, int number)
{
	if (++watch->interrupts == 1) {
		watch->first = number;
		if (watch->unheard)
			live_say(watch->live,
				 "the job is asked to stop as soon as it can be (%s); Ctrl-C again "
				 "leaves it as it is",
				 watch->unheard);
		mem_replace(&watch->unheard, NULL);
		on_interrupt(watch);
	} else if (watch->unheard) {
		watch->left_by = number;
	} else {
		end_at_once(watch);
	}
}

/* The executor ends the task that submitted the job: the job ends with its parent's, not with that
 * task. */
static bool is_end_of_task(const struct watch *watch, const struct signalfd_siginfo *info)
{
	struct str sender cleanup_str = {0};

	return watch->opened->view->job->parent && info->ssi_signo == SIGTERM &&
	       proc_read_file((pid_t)info->ssi_pid, "cmdline", COMMAND_CAP, &sender) == 0 &&
	       str_equal(fs_basename(str_text(&sender)), AGENT_PROGRAM);
}

static void take_signals(struct watch *watch)
{
	struct signalfd_siginfo info;

	while (read(watch->signals, &info, sizeof(info)) == sizeof(info)) {
		int number = (int)info.ssi_signo;
		if (number == SIGWINCH)
			continue;
		if (number == SIGHUP || !watch->options->owns_job || is_end_of_task(watch, &info))
			watch->left_by = number;
		else
			take_stop(watch, number);
	}
}

static void look_at_work(struct watch *watch)
{
	if (!live_is_table(watch->live) || watch->opened->view->state != JOB_RUNNING ||
	    clock_monotonic_ms() < watch->work_due)
		return;
	json_t *work = work_ask(watch->opened);
	if (live_has_rows(watch->live))
		work_add_use(work, watch->opened);
	watch->work_due = clock_monotonic_ms() + (work ? WORK_EVERY_MS : WORK_AFTER_SILENCE_MS);
	live_set_work(watch->live, work);
}

/* ---- the loop ----------------------------------------------------------------------------- */

static void wait_for_news(struct watch *watch, int64_t timeout_ms)
{
	struct pollfd fds[] = {
		{.fd = follow_fd(watch->follow), .events = POLLIN},
		{.fd = watch->signals, .events = POLLIN},
	};
	int64_t left_ms = watch->ends_ms - clock_monotonic_ms();

	timeout_ms = timeout_ms < left_ms ? timeout_ms : left_ms;
	timeout_ms = timeout_ms > 0 ? timeout_ms : 0;
	if (!watch_output_wait(watch->output, opened_wait_ms(watch->opened, timeout_ms)))
		poll(fds, array_length(fds),
		     follow_limit_ms(watch->follow, opened_let_hold(watch->opened, timeout_ms)));
}

static bool is_over(const struct watch *watch)
{
	const struct watch_options *options = watch->options;

	return watch->opened->view->is_final || watch->left_by ||
	       clock_monotonic_ms() >= watch->ends_ms ||
	       (options->is_enough && options->is_enough(options->data, watch->opened->view));
}

static int run(struct watch *watch)
{
	if (look_for_am(watch) < 0)
		return -1;
	for (;;) {
		follow_drain(watch->follow);
		watch_output_hide(watch->output);
		if (opened_read(watch->opened, on_line, watch, watch->err) < 0)
			return -1;
		look_at_work(watch);
		int again_ms = live_show(watch->live, clock_wall_ms());
		char *idle cleanup_free = live_idle(watch->opened->view, clock_wall_ms());
		watch_output_show(watch->output, idle);
		if (is_over(watch))
			return 0;
		wait_for_news(watch, again_ms);
		watch_output_hide(watch->output);
		take_signals(watch);
		char *given_up cleanup_free = opened_check_start(watch->opened);
		if (given_up)
			live_say(watch->live, "%s", given_up);
		if (watch->left_by)
			return 0;
		if (look_for_am(watch) < 0)
			return -1;
		ask_again(watch);
	}
}

static int open_watch(struct watch *watch)
{
	const struct watch_options *options = watch->options;
	sigset_t set;

	watch_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	watch->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (watch->signals < 0)
		return err_set_errno(watch->err, "cannot wait for signals");
	watch->follow = follow_create();
	follow_add(watch->follow, watch->opened->door.job_dir);
	if (options->shows_output) {
		watch->output =
			watch_output_open(watch->opened, watch->follow, options->tail, watch->err);
		if (!watch->output)
			return -1;
	}
	watch->live = live_open(options->stream, watch->opened->view,
				options->shows_output ? LIVE_TROUBLE : LIVE_TABLE);
	if (options->owns_job && !options->goes_on && !live_is_table(watch->live))
		live_say(watch->live, "%s submitted", watch->opened->id);
	return 0;
}

static void say_unheard(const struct watch *watch)
{
	const char *id = watch->opened->id;

	live_say(watch->live, "%s %s (%s); tony status %s tells more, tony kill %s%s ends it", id,
		 watch->has_asked ? "was asked to stop, and is not known to have ended"
				  : "could not be asked to stop, and goes on",
		 watch->unheard, id, watch->has_asked ? "--force " : "", id);
}

/* The job goes on, as far as is known. */
static int leave(const struct watch *watch)
{
	const char *id = watch->opened->id;

	if (!watch->left_by)
		return EXIT_CODE_TIMEOUT;
	if (watch->unheard && watch->options->owns_job && watch->left_by != SIGHUP)
		say_unheard(watch);
	else
		live_say(watch->live,
			 "%s goes on; tony attach %s shows it again, tony kill %s ends it", id, id,
			 id);
	return watch->left_by == SIGHUP ? EXIT_CODE_HANGUP : EXIT_CODE_INTERRUPTED;
}

int watch_job(struct opened *opened, const struct watch_options *options, struct err *err)
{
	struct watch watch = {.opened = opened, .options = options, .signals = -1, .err = err};
	int code;

	if (opened_check_record(opened, err) < 0)
		return -1;
	watch.ends_ms =
		options->timeout_ms < 0 ? INT64_MAX : clock_monotonic_ms() + options->timeout_ms;
	if (open_watch(&watch) < 0 || run(&watch) < 0) {
		code = err_wrap(err, "%s goes on, but cannot be followed", opened->id);
	} else {
		opened_look_at_history(opened);
		code = opened->view->is_final ? (int)exit_code_of_job(opened->view->state)
					      : leave(&watch);
	}
	if (!watch_output_close(watch.output) && code == EXIT_CODE_OK)
		code = EXIT_CODE_INTERNAL;
	follow_destroy(watch.follow);
	live_close(watch.live);
	free(watch.unheard);
	if (watch.signals >= 0)
		close(watch.signals);
	return code;
}

static bool is_one_task(const struct job *job)
{
	int64_t slots = 0;

	for (size_t i = 0; i < job->type_count; i++)
		slots += job_type_slots(&job->types[i]);
	return slots == 1;
}

int watch_choice_check(const struct watch_choice *choice, struct err *err)
{
	if (choice->follow && choice->no_follow)
		return err_set(err, ERR_USAGE, "--follow and --no-follow contradict; give one");
	return 0;
}

void watch_choose(const struct watch_choice *choice, const struct job *job,
		  struct watch_options *options)
{
	options->shows_output =
		choice->follow ||
		(!choice->no_follow &&
		 (job_is_sweep(job) || (isatty(STDOUT_FILENO) && is_one_task(job))));
	options->stream = options->shows_output ? stderr : stdout;
}

const char *watch_hint(const struct watch_choice *choice, const struct job *job)
{
	if (choice->follow || choice->no_follow || isatty(STDOUT_FILENO) || !is_one_task(job) ||
	    job_is_sweep(job) || job->parent)
		return NULL;
	return "see --follow (-f) for the program's output";
}

/* ---- the end ------------------------------------------------------------------------------ */

/* The text of others moves no cursor, and none of its lines passes for one of tony's. */
static void __attribute__((format(printf, 2, 3)))
append_line(struct str *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *line cleanup_free = mem_vprintf(format, args);
	va_end(args);
	char *clean cleanup_free = report_clean(line);
	str_append_format(out, "%s\n", clean);
}

static void append_tail(const struct cause *cause, const char *message, struct str *out)
{
	for (size_t i = 0; i < cause->tail.count; i++)
		if (!message || !strstr(message, cause->tail.items[i]))
			append_line(out, "    %s", cause->tail.items[i]);
}

static void append_failure(const struct opened *opened, bool with_tail, struct str *out)
{
	const struct job_view *view = opened->view;
	char *remedy cleanup_free = remedy_of(view), *logs cleanup_free = remedy_logs(view);

	if (with_tail)
		append_tail(&view->cause, view->message, out);
	if (remedy)
		append_line(out, "try: %s", remedy);
	append_line(out, "see: tony logs %s%s%s", opened->id, logs ? " " : "", logs ? logs : "");
}

static void append_losses(const struct job_view *view, struct str *out)
{
	struct str_list lines cleanup_str_list = {0};

	live_add_losses(view, &lines);
	for (size_t i = 0; i < lines.count; i++)
		append_line(out, "%s", lines.items[i]);
}

static void append_advice(const struct opened *opened, struct str *out)
{
	char *advice cleanup_free = advice_headline(opened);

	if (advice)
		append_line(out, "advice: %s; see: tony advise %s", advice, opened->id);
}

static void append_page(const struct opened *opened, struct str *out)
{
	char *page cleanup_free = job_portal_page(opened->view->job);

	if (page)
		append_line(out, "portal: %s", page);
}

static void append_work(const struct opened *opened, struct str *out)
{
	char *work cleanup_free = place_work(opened);

	if (work)
		append_line(out, "ran in: %s", work);
}

void watch_conclude(const struct opened *opened, const struct watch_options *options)
{
	const struct job_view *view = opened->view;
	int64_t lasted = view->ended_ms - view->job->submitted_ms;
	char *duration cleanup_free = str_format_duration(lasted > 0 ? lasted : 0);
	struct str text cleanup_str = {0};

	bool failed = view->state != JOB_SUCCEEDED;
	append_line(&text, "%s %s after %s%s%s", opened->id, job_state_name(view->state), duration,
		    failed && view->message ? ": " : "",
		    failed && view->message ? view->message : "");
	if (failed)
		append_failure(opened, !options->shows_output, &text);
	else
		append_line(&text, "see: tony logs %s", opened->id);
	append_losses(view, &text);
	append_work(opened, &text);
	append_advice(opened, &text);
	append_page(opened, &text);
	fputs(text.text, options->stream);
	report_flush_end(options->stream, view);
	/* The last word of the parent's task on standard error is why it failed. */
	if (failed && view->job->parent)
		report_note("%s %s: %s", opened->id, job_state_name(view->state),
			    view->message ? view->message : "no reason is known");
}
