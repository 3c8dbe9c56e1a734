#include "client/sweep_run.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/sweep_config.h"
#include "client/sweep_control.h"
#include "client/sweep_program.h"
#include "client/sweep_trial.h"
#include "history/layout.h"
#include "net/interrupt.h"
#include "scheduler/am_calls.h"

#define LACKS "it reported no " /* begins the text of a trial without the metric */

enum {
	TABLE_RATE = 1000,    /* bytes of the table that are written in 1 ms, on average */
	STEP_MS = 250,	      /* between two looks at the trials */
	PAUSE_MS = 10000,     /* before an engine that did not answer is asked again */
	KILL_AGAIN_MS = 5000, /* a job that was told to end, and goes on */
	END_LIMIT_MS =
		100000, /* for the trials of a sweep that is killed; less than STOP_GRACE_MS */
};

/* A trial's job. */
struct watched {
	bool is_open;
	struct opened opened;
	struct sweep_question question;
	struct am_call *kill; /* NULL: its AM is not asked to end it */
	int64_t killed_ms;    /* monotonic; 0: it was not */
};

struct run {
	struct opened own; /* the sweep's job */
	struct sweep_config config;
	struct sweep sweep;
	struct watched *watched; /* as sweep.trials */
	size_t watched_count;
	struct am_calls *calls; /* to the AMs of trials: one that does not answer holds up none */
	struct sweep_program *program; /* NULL: the plan alone chooses */
	int journal;
	char *directory;
	bool has_changed;      /* since the table was written */
	int64_t publish_ms;    /* monotonic: the table is not written again before */
	int64_t not_before_ms; /* monotonic: no submission */
	double told_best;
	char *reported; /* without a metric: what a trial has reported; NULL: nothing */
	bool is_killed;
};

/* ---- the journal -------------------------------------------------------------------------- */

static int write_line(struct run *run, json_t *line, struct err *err)
{
	json_t *owned cleanup_json = line;
	struct str text cleanup_str = {0};

	json_set_int(owned, "t", clock_wall_ms());
	char *bytes cleanup_free = json_text(owned);
	str_append_format(&text, "%s\n", bytes);
	if (fs_write_all(run->journal, text.text, text.length, err) < 0)
		return err_wrap(err, "%s/" SWEEP_JOURNAL, run->directory);
	if (fdatasync(run->journal) < 0)
		return err_set_errno(err, "%s/" SWEEP_JOURNAL, run->directory);
	run->has_changed = true;
	return sweep_add(&run->sweep, owned, err);
}

static json_t *make_line(const char *event, const struct trial *trial)
{
	json_t *line = json_object();

	json_set_text(line, "event", event);
	if (trial)
		json_set_int(line, "trial", trial->number);
	return line;
}

static int write_text(struct run *run, const char *event, const struct trial *trial,
		      const char *text, struct err *err)
{
	json_t *line = make_line(event, trial);

	json_set_text(line, "text", text);
	return write_line(run, line, err);
}

static int take_line(struct run *run, const json_t *line, struct err *err)
{
	return sweep_add(&run->sweep, line, err) < 0
		       ? err_wrap(err, "%s/" SWEEP_JOURNAL, run->directory)
		       : 0;
}

static int repeat_line(struct run *run, const json_t *line, struct err *err)
{
	return sweep_program_repeat(run->program, &run->sweep, line, err);
}

/* A journal may be of any length. *end: of the last whole line. */
static int each_line(struct run *run, off_t *end,
		     int (*take)(struct run *run, const json_t *line, struct err *err),
		     struct err *err)
{
	FILE *file cleanup_file = fdopen(fcntl(run->journal, F_DUPFD_CLOEXEC, 0), "r");
	char *text cleanup_free = NULL;
	size_t capacity = 0;
	ssize_t length;

	if (!file)
		return err_set_errno(err, "%s/" SWEEP_JOURNAL, run->directory);
	rewind(file);
	for (*end = 0; (length = getline(&text, &capacity, file)) > 0 && text[length - 1] == '\n';
	     *end += length) {
		json_t *line cleanup_json = json_parse(text, (size_t)length, err);
		if (!line)
			return err_wrap(err, "%s/" SWEEP_JOURNAL, run->directory);
		if (take(run, line, err) < 0)
			return -1;
	}
	return ferror(file) ? err_set_errno(err, "%s/" SWEEP_JOURNAL, run->directory) : 0;
}

static int start_program(struct run *run, struct err *err)
{
	off_t end;

	if (!run->config.program)
		return 0;
	run->program = sweep_program_start(&run->config, run->sweep.first, run->directory, err);
	return run->program ? each_line(run, &end, repeat_line, err) : -1;
}

static int open_journal(struct run *run, const char *path, struct err *err)
{
	run->journal = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	if (run->journal < 0)
		return err_set_errno(err, "%s", path);
	return flock(run->journal, LOCK_EX | LOCK_NB) == 0
		       ? 0
		       : err_set(err, ERR_USAGE, "%s: another sweep goes on with it", path);
}

/* A line that its writer did not finish never counted. */
static int read_journal(struct run *run, struct err *err)
{
	char *path cleanup_free = fs_join(run->directory, SWEEP_JOURNAL);
	off_t end = 0;

	if (open_journal(run, path, err) < 0 || each_line(run, &end, take_line, err) < 0)
		return -1;
	if (ftruncate(run->journal, end) < 0)
		return err_set_errno(err, "%s", path);
	if (!str_equal(run->sweep.id, run->own.id)) {
		json_t *line = make_line("begin", NULL);
		json_set_text(line, "sweep", run->own.id);
		if (write_line(run, line, err) < 0)
			return -1;
	}
	return start_program(run, err);
}

/* ---- what others see ---------------------------------------------------------------------- */

static size_t count_ended(const struct sweep *sweep)
{
	return sweep->count - sweep_count(sweep, TRIAL_PLANNED) - sweep_count(sweep, TRIAL_RUNNING);
}

static void tell_progress(const struct run *run)
{
	const char *path = getenv("TONY_PROGRESS_FILE");
	char *text cleanup_free = mem_printf("%zu %lld\n", count_ended(&run->sweep),
					     (long long)run->config.plan.trials);

	if (path)
		fs_write_volatile(path, text, strlen(text), 0600, NULL);
}

/* A curve of the sweep's own: how good the best trial was after so many. */
static void tell_best(struct run *run)
{
	const struct trial *best = sweep_best(&run->sweep);
	double worth = best ? sweep_worth(&run->sweep, best) : NAN;
	const char *path = getenv("TONY_METRICS_FILE");

	if (!path || isnan(worth) || worth == run->told_best)
		return;
	run->told_best = worth;
	char *text cleanup_free =
		mem_printf("{\"step\": %zu, \"best\": %.17g}\n", count_ended(&run->sweep), worth);
	int file cleanup_close = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (file >= 0)
		fs_write_all(file, text, strlen(text), NULL);
}

static void publish(struct run *run)
{
	json_t *object cleanup_json = sweep_to_json(&run->sweep);
	char *text cleanup_free = json_text(object);
	char *path cleanup_free = fs_join(run->directory, HISTORY_SWEEP);
	size_t length = strlen(text);

	fs_write_volatile(path, text, length, 0600, NULL);
	tell_progress(run);
	tell_best(run);
	run->has_changed = false;
	run->publish_ms = clock_monotonic_ms() + (int64_t)(length / TABLE_RATE);
}

/* A long table is written less often. */
static void publish_some(struct run *run)
{
	if (run->has_changed && clock_monotonic_ms() >= run->publish_ms)
		publish(run);
}

static void say(const struct trial *trial, const char *what, const char *text)
{
	printf("trial %lld %s%s%s\n", (long long)trial->number, what, text ? ": " : "",
	       text ? text : "");
	fflush(stdout);
}

/* ---- submissions -------------------------------------------------------------------------- */

static char *describe_values(const struct run *run, const struct trial *trial)
{
	struct str text = {0};

	for (size_t i = 0; i < trial->values.count; i++)
		str_append_format(&text, "%s%s=%s", i > 0 ? " " : "",
				  run->config.plan.space.items[i].name, trial->values.items[i]);
	return str_steal(&text);
}

static void say_end(const struct run *run, const struct trial *trial, const char *text)
{
	const char *metric = run->config.plan.metric;
	double worth = sweep_worth(&run->sweep, trial);
	char *reached cleanup_free = isnan(worth) ? NULL : mem_printf("%s %.6g", metric, worth);

	say(trial, trial_state_name(trial->state), text ? text : reached);
	if (trial != sweep_best(&run->sweep))
		return;
	char *values cleanup_free = describe_values(run, trial);
	printf("best so far: trial %lld with %s: %s\n", (long long)trial->number, values, reached);
	fflush(stdout);
}

/* Takes the line. The program that chooses hears of each end. */
static int end_trial(struct run *run, const struct trial *trial, json_t *line, struct err *err)
{
	json_t *owned cleanup_json = line;
	const char *text = json_string_value(json_object_get(owned, "text"));

	if (write_line(run, json_incref(owned), err) < 0)
		return -1;
	say_end(run, trial, text);
	return run->program ? sweep_program_tell(run->program, &run->sweep, trial, err) : 0;
}

static json_t *make_end(const struct trial *trial, enum trial_state state, const char *text)
{
	json_t *line = make_line("end", trial);

	json_set_text(line, "state", trial_state_name(state));
	json_set_text(line, "text", text);
	return line;
}

static int note_job(struct run *run, const struct trial *trial, const char *id, struct err *err)
{
	json_t *line = make_line("job", trial);
	char *values cleanup_free = describe_values(run, trial);
	char *text cleanup_free = mem_printf("%s (%s)", values, id);

	json_set_text(line, "job", id);
	say(trial, "begins", text);
	return write_line(run, line, err);
}

struct submission {
	struct run *run;
	const struct trial *trial;
};

static int note_submission(void *data, const char *id, struct err *err)
{
	const struct submission *submission = data;
	json_t *line = make_line("submit", submission->trial);

	json_set_text(line, "job", id);
	return write_line(submission->run, line, err);
}

static int submit(struct run *run, const struct trial *trial, struct err *err)
{
	const struct sweep_trial of = {&run->own, &run->config.plan, trial};
	struct submission submission = {run, trial};
	struct err failure cleanup_err = {0};
	char *id cleanup_free = NULL;

	if (sweep_trial_submit(&of, note_submission, &submission, &id, &failure) == 0)
		return note_job(run, trial, id, err);
	if (interrupt_is_pending()) /* which its submission has heard, too */
		return interrupt_set(err, run->own.id);
	if (failure.kind == ERR_UNREACHABLE || failure.kind == ERR_EXPIRED) {
		say(trial, "waits", err_message(&failure));
		run->not_before_ms = clock_monotonic_ms() + PAUSE_MS;
		return 0;
	}
	return end_trial(run, trial, make_end(trial, TRIAL_FAILED, err_message(&failure)), err);
}

static int ask(struct run *run, struct err *err)
{
	struct str_list values cleanup_str_list = {0};
	char *end cleanup_free = NULL;
	json_t *line = json_object();

	if (!run->program)
		sweep_plan_values(&run->config.plan, (int64_t)run->sweep.count, &values);
	else if (sweep_program_ask(run->program, (int64_t)run->sweep.count, &values, &end, err) < 0)
		return json_decref(line), -1;
	json_set_text(line, "event", end ? "enough" : "ask");
	json_set_text(line, "text", end);
	if (!end) {
		json_set_int(line, "trial", (int64_t)run->sweep.count);
		json_set_list(line, "values", &values);
	}
	return write_line(run, line, err);
}

/* The number of one that waits for a job; -1: there is none. */
static int64_t find_planned(const struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->count; i++)
		if (sweep->trials[i].state == TRIAL_PLANNED)
			return (int64_t)i;
	return -1;
}

static bool may_ask(const struct run *run)
{
	return !run->sweep.enough && (int64_t)run->sweep.count < run->config.plan.trials;
}

static bool has_too_many_failures(const struct run *run)
{
	return run->config.max_failures > 0 &&
	       (int64_t)sweep_count(&run->sweep, TRIAL_FAILED) >= run->config.max_failures;
}

static int begin_trials(struct run *run, struct err *err)
{
	while ((int64_t)sweep_count(&run->sweep, TRIAL_RUNNING) < run->config.parallel &&
	       clock_monotonic_ms() >= run->not_before_ms && !has_too_many_failures(run)) {
		int64_t planned = find_planned(&run->sweep);
		if (planned < 0 && !may_ask(run))
			return 0;
		if ((planned < 0 ? ask(run, err) : submit(run, &run->sweep.trials[planned], err)) <
		    0)
			return -1;
		publish_some(run);
	}
	return 0;
}

/* ---- a trial's numbers -------------------------------------------------------------------- */

static int stop(struct run *run, const struct trial *trial, const char *text, struct err *err)
{
	say(trial, "is stopped", text);
	return write_text(run, "stop", trial, text, err);
}

/* The caller frees. */
static char *describe_loser(const struct run *run, const struct trial *trial,
			    const struct sweep_rank *rank, int64_t step, double value)
{
	const struct sweep_plan *plan = &run->config.plan;

	if (isnan(value))
		return mem_printf("rung %d: its %s is NaN at step %lld", trial->rung_count,
				  plan->metric, (long long)step);
	return mem_printf("rung %d, rank %zu of %zu: its %s of %.6g at step %lld is not among the "
			  "best 1/%lld",
			  trial->rung_count, rank->own, rank->of, plan->metric, value,
			  (long long)step, (long long)plan->reduction);
}

static int climb(struct run *run, struct trial *trial, int64_t step, double value, struct err *err)
{
	const struct sweep_plan *plan = &run->config.plan;

	while (plan->reduction > 0 && trial->rung_count < SWEEP_RUNGS_MAX && !trial->stopping &&
	       step >= sweep_plan_rung(plan, trial->rung_count)) {
		struct sweep_rank rank;
		bool goes_on = sweep_goes_on(&run->sweep, trial, value, &rank);
		json_t *line = make_line("rung", trial);
		json_set_int(line, "rung", trial->rung_count);
		json_set_int(line, "step", step);
		json_object_set_new(line, "value", isnan(value) ? json_null() : json_real(value));
		char *text cleanup_free = describe_loser(run, trial, &rank, step, value);
		json_set_text(line, "stop", goes_on ? NULL : text);
		if (!goes_on)
			say(trial, "is stopped", text);
		if (write_line(run, line, err) < 0)
			return -1;
	}
	return 0;
}

static int tell_program(struct run *run, struct trial *trial, int64_t step, double value,
			struct err *err)
{
	char *why cleanup_free = NULL;
	json_t *line = make_line("report", trial);

	json_set_int(line, "step", step);
	json_object_set_new(line, "value", json_real(value));
	if (write_line(run, line, err) < 0 ||
	    sweep_program_report(run->program, trial->number, step, value, &why, err) < 0)
		return -1;
	return why && !trial->stopping ? stop(run, trial, why, err) : 0;
}

/* The points may be means. */
static void note_facts(struct run *run, struct trial *trial, const struct series_facts *facts)
{
	const bool maximize = run->config.plan.maximize;
	const double best = maximize ? facts->most.value : facts->least.value;
	const int64_t step = facts->last.step >= 0 ? facts->last.step : trial->step;

	if (sweep_plan_is_better(&run->config.plan, best, trial->best))
		trial->best = best;
	sweep_note_value(&run->sweep, trial, step, facts->last.value);
}

static int take_numbers(struct run *run, size_t number, const struct sweep_numbers *numbers,
			struct err *err)
{
	struct trial *trial = &run->sweep.trials[number];
	const double value = trial->value;
	const int64_t step = trial->step;

	for (size_t i = 0; i < numbers->count; i++) {
		sweep_note_value(&run->sweep, trial, numbers->steps[i], numbers->values[i]);
		if (climb(run, trial, numbers->steps[i], numbers->values[i], err) < 0)
			return -1;
		/* NaN is no number that a program could compare. */
		if (run->program && numbers->steps[i] > trial->told_step &&
		    !isnan(numbers->values[i]) &&
		    tell_program(run, trial, numbers->steps[i], numbers->values[i], err) < 0)
			return -1;
	}
	if (numbers->count > 0)
		note_facts(run, trial, &numbers->facts);
	run->has_changed = run->has_changed || trial->step != step ||
			   (trial->value != value && !(isnan(trial->value) && isnan(value)));
	return 0;
}

/* Takes what its AM has answered meanwhile, and asks it again. */
static int ask_numbers(struct run *run, size_t number, struct err *err)
{
	struct sweep_numbers numbers cleanup_sweep_numbers = {0};
	struct watched *watched = &run->watched[number];

	sweep_trial_ask(&watched->opened, run->config.plan.metric, run->calls, &watched->question,
			&numbers);
	return take_numbers(run, number, &numbers, err);
}

/* ---- a trial's end ------------------------------------------------------------------------ */

static int64_t count_cores(const struct job *job)
{
	int64_t cores = 0;

	for (size_t i = 0; i < job->type_count; i++)
		cores += (int64_t)job->types[i].instances * job->types[i].vcores;
	return cores;
}

static int64_t cores_ms_of(const struct opened *opened)
{
	const struct job_view *view = opened->view;
	int64_t end_ms = view->ended_ms > 0 ? view->ended_ms : clock_wall_ms();

	return view->running_ms > 0 ? (end_ms - view->running_ms) * count_cores(view->job) : 0;
}

static enum trial_state state_of(const struct run *run, const struct trial *trial,
				 const struct job_view *view)
{
	bool lacks = run->config.plan.metric && isnan(trial->value) && !trial->is_nan;

	if (trial->stopping)
		return TRIAL_STOPPED;
	if (view->state == JOB_SUCCEEDED)
		return lacks ? TRIAL_FAILED : TRIAL_COMPLETED;
	return view->state == JOB_KILLED ? TRIAL_KILLED : TRIAL_FAILED;
}

/* A job ends without a cause where all of its AM was killed, or never began. */
static bool has_lost_am(const struct job_view *view)
{
	if (view->cause.kind != CAUSE_NONE)
		return view->cause.kind == CAUSE_AM_FAILED;
	return view->state == JOB_FAILED || (view->state == JOB_KILLED && view->am_pid == 0);
}

static bool is_lost(const struct run *run, const struct trial *trial, const struct job_view *view)
{
	return !trial->stopping && !run->is_killed && has_lost_am(view) &&
	       trial->submissions <= run->config.retries;
}

/* The caller frees. */
static char *describe_lack(const struct run *run, const struct opened *opened)
{
	const char *metric = run->config.plan.metric;
	char *reported cleanup_free = sweep_trial_reported(opened);

	return reported ? mem_printf(LACKS "%s, but %s: set tony.sweep.metric to what it "
					   "reports",
				     metric, reported)
			: mem_printf(LACKS "%s (docs/metrics.md)", metric);
}

/* Names the numbers by which trials could be compared, for a user who has named none. */
static void note_reported(struct run *run, const struct opened *opened)
{
	if (!run->config.plan.metric && !run->reported)
		run->reported = sweep_trial_reported(opened);
}

static void set_result(json_t *line, const struct trial *trial)
{
	if (isfinite(trial->value))
		json_object_set_new(line, "value", json_real(trial->value));
	if (trial->is_nan)
		json_object_set_new(line, "nan", json_true());
	if (isfinite(trial->best))
		json_object_set_new(line, "best", json_real(trial->best));
	if (isfinite(trial->value) || trial->is_nan)
		json_set_int(line, "step", trial->step);
}

static int write_end(struct run *run, const struct trial *trial, const struct opened *opened,
		     struct err *err)
{
	enum trial_state state = state_of(run, trial, opened->view);
	json_t *line = make_end(trial, state, NULL);

	json_set_int(line, "cores_ms", cores_ms_of(opened));
	set_result(line, trial);
	if (state == TRIAL_FAILED && opened->view->state == JOB_SUCCEEDED) {
		char *text cleanup_free = describe_lack(run, opened);
		json_set_text(line, "text", text);
	} else if (state == TRIAL_FAILED || state == TRIAL_KILLED) {
		json_set_text(line, "text", opened->view->message);
	} else if (state == TRIAL_COMPLETED && trial->is_nan) {
		char *text cleanup_free =
			mem_printf("its %s is NaN at its last step, %lld", run->config.plan.metric,
				   (long long)trial->step);
		json_set_text(line, "text", text);
	}
	if (state == TRIAL_FAILED && opened->view->cause.kind == CAUSE_EXIT)
		json_set_int(line, "exit_code", opened->view->cause.exit_code);
	note_reported(run, opened);
	return end_trial(run, trial, line, err);
}

static void forget(struct watched *watched)
{
	am_call_drop(watched->question.call);
	am_call_drop(watched->kill);
	opened_finish(&watched->opened);
	*watched = (struct watched){0};
}

static int conclude(struct run *run, size_t number, struct err *err)
{
	struct sweep_numbers numbers cleanup_sweep_numbers = {0};
	struct trial *trial = &run->sweep.trials[number];
	struct watched *watched = &run->watched[number];
	int result;

	sweep_trial_kept(&watched->opened, run->config.plan.metric, &numbers);
	if (take_numbers(run, number, &numbers, err) < 0)
		return -1;
	if (is_lost(run, trial, watched->opened.view)) {
		json_t *line = make_line("again", trial);
		json_set_text(line, "text", watched->opened.view->message);
		json_set_int(line, "cores_ms", cores_ms_of(&watched->opened));
		say(trial, "begins again", watched->opened.view->message);
		result = write_line(run, line, err);
	} else {
		result = write_end(run, trial, &watched->opened, err);
	}
	forget(watched);
	return result;
}

/* ---- watching ----------------------------------------------------------------------------- */

/* The job that is not there was about to be submitted when the process before this one was killed,
 * or its engine went away. */
static int look_for_missing(struct run *run, const struct trial *trial, struct err *err)
{
	if (!trial->submitting || run->sweep.enough || run->is_killed)
		return end_trial(run, trial,
				 make_end(trial, TRIAL_KILLED,
					  trial->submitting ? "it was not submitted"
							    : "its job was removed"),
				 err);
	return clock_monotonic_ms() >= run->not_before_ms ? submit(run, trial, err) : 0;
}

/* By its AM, or by the engine where that does not answer. */
static void kill_job(const struct run *run, struct watched *watched, const char *why)
{
	struct err err cleanup_err = {0};
	int64_t now_ms = clock_monotonic_ms();

	if (watched->kill) {
		if (sweep_trial_killed(&watched->opened, &watched->kill, why, &err) < 0)
			report_error(&err);
		return;
	}
	if (watched->killed_ms > 0 && now_ms - watched->killed_ms < KILL_AGAIN_MS)
		return;
	watched->killed_ms = now_ms;
	if (sweep_trial_kill(&watched->opened, run->calls, run->own.id, why, &watched->kill, &err) <
	    0)
		report_error(&err);
}

static int look_at(struct run *run, size_t number, struct err *err)
{
	struct watched *watched = &run->watched[number];
	struct trial *trial = &run->sweep.trials[number];
	struct err unread cleanup_err = {0};

	if (!watched->is_open) {
		watched->opened.aside.calls = run->calls;
		watched->is_open = opened_find(&watched->opened, trial->job, &unread) == 0;
	} else if (opened_look_for_am(&watched->opened, &unread) == 0) {
		opened_read(&watched->opened, NULL, NULL, &unread);
	}
	if (unread.kind != ERR_NONE) {
		forget(watched);
		return unread.kind == ERR_NOT_FOUND ? look_for_missing(run, trial, err) : 0;
	}
	if (trial->submitting && note_job(run, trial, trial->job, err) < 0)
		return -1;
	if (watched->opened.view->is_final)
		return conclude(run, number, err);
	if (watched->opened.view->state == JOB_RUNNING && !trial->stopping &&
	    ask_numbers(run, number, err) < 0)
		return -1;
	if (trial->stopping)
		kill_job(run, watched, trial->text);
	return 0;
}

/* One for each trial. */
static void grow_watched(struct run *run)
{
	if (run->watched_count == run->sweep.count)
		return;
	run->watched = mem_realloc_array(run->watched, run->sweep.count, sizeof(*run->watched));
	memset(run->watched + run->watched_count, 0,
	       (run->sweep.count - run->watched_count) * sizeof(*run->watched));
	run->watched_count = run->sweep.count;
}

static int look_at_all(struct run *run, struct err *err)
{
	grow_watched(run);
	for (size_t i = 0; i < run->sweep.count; i++)
		if (run->sweep.trials[i].state == TRIAL_RUNNING && look_at(run, i, err) < 0)
			return -1;
	return 0;
}

/* ---- the sweep's own end ------------------------------------------------------------------ */

static int64_t sum_cores_ms(const struct run *run)
{
	int64_t sum = -run->sweep.cores_ms_before;

	for (size_t i = 0; i < run->sweep.count; i++) {
		sum += run->sweep.trials[i].cores_ms;
		if (i < run->watched_count && run->watched[i].is_open)
			sum += cores_ms_of(&run->watched[i].opened);
	}
	return sum;
}

/* Those that run are stopped, too. */
static int end_early(struct run *run, const char *text, struct err *err)
{
	if (write_text(run, "enough", NULL, text, err) < 0)
		return -1;
	for (size_t i = 0; i < run->sweep.count; i++)
		if (run->sweep.trials[i].state == TRIAL_RUNNING && !run->sweep.trials[i].stopping &&
		    stop(run, &run->sweep.trials[i], text, err) < 0)
			return -1;
	return 0;
}

static int check_limits(struct run *run, struct err *err)
{
	const struct sweep_config *config = &run->config;

	if (run->sweep.enough)
		return 0;
	if (has_too_many_failures(run))
		return end_early(run, "as many trials as tony.sweep.max-failures have failed", err);
	if (config->time_ms > 0 && clock_wall_ms() - run->sweep.begun_ms >= config->time_ms)
		return end_early(run, "tony.sweep.time is over", err);
	if (config->core_time_ms > 0 && sum_cores_ms(run) >= config->core_time_ms)
		return end_early(run, "tony.sweep.core-time is used up", err);
	return 0;
}

static bool is_over(const struct run *run)
{
	const struct sweep *sweep = &run->sweep;

	return sweep_count(sweep, TRIAL_RUNNING) == 0 &&
	       (run->sweep.enough || (find_planned(sweep) < 0 && !may_ask(run)));
}

/* The first of those that failed as most of them did; NULL: none failed. */
static const struct trial *find_usual_failure(const struct sweep *sweep, size_t *count)
{
	const struct trial *usual = NULL;

	*count = 0;
	for (size_t i = 0; i < sweep->count; i++) {
		size_t alike = 0;
		if (sweep->trials[i].state != TRIAL_FAILED)
			continue;
		for (size_t k = 0; k < sweep->count; k++)
			alike += sweep->trials[k].state == TRIAL_FAILED &&
				 str_equal(sweep->trials[k].text, sweep->trials[i].text);
		if (alike <= *count)
			continue;
		*count = alike;
		usual = &sweep->trials[i];
	}
	return usual;
}

/* The last line, which is the sweep's cause. The caller frees. */
static char *describe_failure(const struct run *run, const struct trial *usual, size_t alike)
{
	const bool has_none = sweep_count(&run->sweep, TRIAL_COMPLETED) == 0;
	const char *what = run->sweep.enough ? run->sweep.enough : SWEEP_NONE_COMPLETED;

	if (!has_none && !has_too_many_failures(run))
		return mem_printf("no trial has a number for %s: NaN is none; see tony status %s",
				  run->config.plan.metric, run->own.id);
	if (!usual)
		return mem_printf("%s; see tony status %s", what, run->own.id);
	/* The job of a trial that lacks the metric has succeeded, and every list says so. */
	bool lacks = usual->text && str_starts_with(usual->text, LACKS);
	return mem_printf("%s: %zu of %zu trials %s, %zu%s so: %s; see tony logs %s", what,
			  sweep_count(&run->sweep, TRIAL_FAILED), run->sweep.count,
			  lacks ? "have no result" : "failed", alike, alike == 1 ? "" : " of them",
			  usual->text ? usual->text : "unknown",
			  usual->job ? usual->job : run->own.id);
}

/* With the exit code that most of them had. */
static int fail_sweep(const struct run *run)
{
	size_t alike;
	const struct trial *usual = find_usual_failure(&run->sweep, &alike);
	char *text cleanup_free = describe_failure(run, usual, alike);

	fflush(stdout);
	report_note("%s", text);
	return usual && usual->exit_code > 0 && usual->exit_code <= SWEEP_EXIT_LAST
		       ? usual->exit_code
		       : EXIT_CODE_JOB_FAILED;
}

static void tell_metric(const struct run *run)
{
	if (run->config.plan.metric)
		return;
	if (run->reported)
		printf("no best: give one of the numbers that the programs report (%s) with --conf "
		       "tony.sweep.metric=NAME\n",
		       run->reported);
	else
		printf("no best: the programs report no number (docs/metrics.md); give its name "
		       "with --conf tony.sweep.metric=NAME\n");
}

/* Returns the exit code. */
static int conclude_sweep(const struct run *run)
{
	const struct sweep *sweep = &run->sweep;
	const struct trial *best = sweep_best(sweep);

	if (sweep->enough)
		printf("no more trials: %s\n", sweep->enough);
	printf("%zu trials: %zu completed, %zu stopped early, %zu failed, %zu killed\n",
	       sweep->count, sweep_count(sweep, TRIAL_COMPLETED), sweep_count(sweep, TRIAL_STOPPED),
	       sweep_count(sweep, TRIAL_FAILED), sweep_count(sweep, TRIAL_KILLED));
	if (best)
		printf("best: trial %lld (%s), %s %.6g\n", (long long)best->number, best->job,
		       run->config.plan.metric, sweep_worth(sweep, best));
	if (has_too_many_failures(run) || sweep_count(sweep, TRIAL_COMPLETED) == 0 ||
	    (run->config.plan.metric && !best))
		return fail_sweep(run);
	tell_metric(run);
	return EXIT_CODE_OK;
}

/* False: the task alone is told to end, and will begin again. */
static bool job_ends(struct run *run)
{
	return opened_read(&run->own, NULL, NULL, NULL) < 0 ||
	       run->own.view->state >= JOB_FINISHING;
}

/* A job that still runs is killed, also where nothing can be written down about it. */
static void bring_to_end(struct run *run, size_t number, const char *why)
{
	struct watched *watched = &run->watched[number];
	struct err untold cleanup_err = {0};
	int result = look_at(run, number, &untold);

	if (watched->is_open && !watched->opened.view->is_final)
		kill_job(run, watched, why);
	else if (result < 0)
		run->sweep.trials[number].state = TRIAL_KILLED;
}

/* All that run. The program that chooses, or the disk, may be the reason: they hold nothing up. */
static void end_trials(struct run *run, const char *why)
{
	int64_t until_ms = clock_monotonic_ms() + END_LIMIT_MS;

	run->is_killed = true;
	sweep_program_end(mem_steal(&run->program));
	while (sweep_count(&run->sweep, TRIAL_RUNNING) > 0 && clock_monotonic_ms() < until_ms) {
		grow_watched(run);
		for (size_t i = 0; i < run->sweep.count; i++) {
			if (run->sweep.trials[i].state == TRIAL_RUNNING)
				bring_to_end(run, i, why);
		}
		publish_some(run);
		am_calls_run(run->calls, STEP_MS);
	}
	publish(run);
}

static int end_killed(struct run *run)
{
	if (!run->sweep.enough)
		write_text(run, "enough", NULL, "the sweep was killed", NULL);
	end_trials(run, "its sweep was killed");
	return EXIT_CODE_OK;
}

/* ------------------------------------------------------------------------------------------- */

static bool is_told_to_end(void)
{
	const struct timespec limit = {0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return sigtimedwait(&set, NULL, &limit) > 0;
}

static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int step_on(struct run *run, struct err *err)
{
	if (look_at_all(run, err) < 0 || check_limits(run, err) < 0)
		return -1;
	publish_some(run);
	return run->sweep.enough ? 0 : begin_trials(run, err);
}

static int go_on(struct run *run, struct err *err)
{
	while (!is_over(run)) {
		if (step_on(run, err) < 0)
			return -1;
		am_calls_run(run->calls, STEP_MS);
		if (is_told_to_end())
			return interrupt_set(err, run->own.id);
	}
	publish(run);
	return conclude_sweep(run);
}

static int begin(struct run *run, struct err *err)
{
	const char *id = getenv("TONY_JOB_ID"), *key;

	if (!id)
		return err_set(err, ERR_USAGE, "only the job of a sweep runs this; see tony sweep");
	if (opened_find(&run->own, id, err) < 0)
		return -1;
	if (sweep_config_read(run->own.job->config, &run->config, &key, err) < 0)
		return err_wrap(err, "%s", key);
	run->sweep.plan = &run->config.plan;
	run->directory = mem_strdup(run->own.job->checkpoint_dir);
	return read_journal(run, err);
}

static void finish(struct run *run)
{
	for (size_t i = 0; i < run->watched_count; i++)
		forget(&run->watched[i]);
	free(run->watched);
	am_calls_destroy(run->calls);
	sweep_program_end(run->program);
	sweep_finish(&run->sweep);
	sweep_config_finish(&run->config);
	opened_finish(&run->own);
	mem_cleanup_close(&run->journal);
	free(run->directory);
	free(run->reported);
}

static int run_sweep(void *data, const struct verb_call *call, struct err *err)
{
	struct run run = {.journal = -1, .told_best = NAN, .calls = am_calls_create()};

	(void)data, (void)call;
	hold_signals();
	int result = begin(&run, err);
	if (result == 0)
		result = go_on(&run, err);
	if (result < 0 && err->kind == ERR_INTERRUPTED) {
		while (is_told_to_end())
			; /* a signal that pends would cut what is to be done now */
		err_finish(err);
		result = job_ends(&run) ? end_killed(&run) : PROC_SHELL_SIGNAL + SIGTERM;
	}
	if (result < 0)
		end_trials(&run, "its sweep has failed");
	finish(&run);
	return result;
}

const struct verb verb_run_sweep = {
	.options =
		{
			.verb = SWEEP_RUN_VERB,
			.usage = "tony " SWEEP_RUN_VERB,
			.summary = "the program of a sweep's task, which tony starts",
		},
	.operands = VERB_NONE,
	.run = run_sweep,
};
