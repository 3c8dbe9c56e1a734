#include "client/sweep_trial.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/advice.h"
#include "client/repeat.h"
#include "client/report.h"
#include "client/submission.h"
#include "client/sweep_control.h"
#include "job/series_text.h"
#include "job/task_variables.h"
#include "scheduler/am_calls.h"

#define ANSWER_CAP  (64 << 10)
#define COMMAND_KEY ".command"

enum { POINTS = 2000 /* more than a series has */ };

/* ---- its description ---------------------------------------------------------------------- */

/* "train.py --lr {lr}" -> "train.py --lr 0.1" */
static char *fill_in(const struct sweep_trial *trial, const char *command)
{
	const struct sweep_space *space = &trial->plan->space;
	struct str text cleanup_str = {0};

	while (*command) {
		const char *rest = NULL;
		for (size_t i = 0; i < space->count && *command == '{' && !rest; i++) {
			size_t length = strlen(space->items[i].name);
			if (strncmp(command + 1, space->items[i].name, length) != 0 ||
			    command[length + 1] != '}')
				continue;
			str_append(&text, trial->trial->values.items[i]);
			rest = command + length + 2;
		}
		if (!rest)
			str_append_char(&text, *command);
		command = rest ? rest : command + 1;
	}
	return str_steal(&text);
}

/* The sweep's own keys are none of its trials', and its end alone is to be told of. */
static bool is_of_sweep(const char *key)
{
	return str_starts_with(key, "tony.sweep.") ||
	       str_starts_with(key, "tony.application.on-end");
}

static void configure(const struct sweep_trial *trial, struct repeat *repeat)
{
	struct str_list keys cleanup_str_list = {0};
	const char *key;
	json_t *row;

	json_object_foreach(repeat->config, key, row)
	{
		str_list_add(&keys, key);
	}
	for (size_t i = 0; i < keys.count; i++) {
		const char *value = job_config_value(repeat->config, keys.items[i]);
		if (is_of_sweep(keys.items[i])) {
			repeat_set_value(repeat, keys.items[i], NULL);
		} else if (value && str_ends_with(keys.items[i], COMMAND_KEY)) {
			char *filled cleanup_free = fill_in(trial, value);
			repeat_set_value(repeat, keys.items[i], filled);
		}
	}
}

static void choose_values(const struct sweep_trial *trial, struct job_options *options)
{
	const struct sweep_space *space = &trial->plan->space;

	for (size_t i = 0; i < space->count; i++) {
		const char *name = space->items[i].name, *value = trial->trial->values.items[i];
		if (sweep_parameter_is_key(&space->items[i]))
			str_list_add_format(&options->conf, "%s=%s", name, value);
		else
			str_list_add_format(&options->env, "TONY_SWEEP_%s=%s", name, value);
	}
}

/* ---- its submission ----------------------------------------------------------------------- */

/* Of the process that submits. */
struct submitter {
	int channel; /* messages of JSON to the sweep's process, and an empty one back */
	char *id;
};

static void say(int channel, const char *what, const char *id)
{
	json_t *message cleanup_json = json_object();

	json_set_text(message, what, id);
	char *text cleanup_free = json_text(message);
	send(channel, text, strlen(text), MSG_NOSIGNAL);
}

/* The sweep's process has written the id down when it answers, unless it was killed. */
static int announce(void *data, const struct job *job, struct err *err)
{
	struct submitter *submitter = data;
	char answer;

	submitter->id = mem_strdup(job->id);
	say(submitter->channel, "submitting", job->id);
	return recv(submitter->channel, &answer, 1, 0) == 1
		       ? 0
		       : err_set(err, ERR_FAILED, "the sweep's process has ended");
}

static int submit(const struct sweep_trial *trial, struct submitter *submitter, struct err *err)
{
	struct submission_options how = {
		.trial = trial, .announce = announce, .announce_data = submitter};
	struct repeat repeat cleanup_repeat = {0};
	struct str_list none = {0};
	char *id cleanup_free = NULL;

	if (repeat_plan(&repeat, trial->sweep, &(struct repeat_choice){0}, &how.job, err) < 0)
		return -1;
	configure(trial, &repeat);
	choose_values(trial, &how.job);
	how.repeat = &repeat;
	return submission_start(&how, &none, 0, &id, err);
}

static _Noreturn void run_submission(const struct sweep_trial *trial, int channel)
{
	struct submitter submitter = {.channel = channel};
	struct err err cleanup_err = {0};

	proc_reset_signals();
	task_variables_unset(); /* it inherits what the sweep's user gave, and nothing of the task
				 */
	int code = submit(trial, &submitter, &err);
	if (code < 0) {
		json_t *answer cleanup_json = json_object();
		json_set_text(answer, "error", err_message(&err));
		json_set_int(answer, "kind", err.kind);
		char *text cleanup_free = json_text(answer);
		send(channel, text, strlen(text), MSG_NOSIGNAL);
		code = report_error(&err);
	} else {
		say(channel, "submitted", submitter.id);
	}
	fflush(stdout);
	_exit(code);
}

static json_t *hear(int channel)
{
	char *text cleanup_free = mem_alloc(ANSWER_CAP);
	ssize_t length = recv(channel, text, ANSWER_CAP, 0);

	return length > 0 ? json_parse(text, (size_t)length, NULL) : NULL;
}

/* *id: once the job is submitted. */
static int converse(int channel, int (*note)(void *data, const char *id, struct err *err),
		    void *data, char **id, struct err *err)
{
	bool is_noted = false;

	while (!*id) {
		json_t *said cleanup_json = hear(channel);
		const char *error = json_string_value(json_object_get(said, "error"));
		const char *submitting = json_string_value(json_object_get(said, "submitting"));
		enum err_kind kind =
			(enum err_kind)json_integer_value(json_object_get(said, "kind"));
		if (!said)
			return err_set(err, is_noted ? ERR_UNREACHABLE : ERR_FAILED,
				       "its submission was killed; see tony logs");
		if (error)
			return err_set(err, kind, "%s", error);
		if (!submitting)
			return json_need_text(said, "submitted", id, err);
		if (note(data, submitting, err) < 0)
			return -1;
		is_noted = true;
		send(channel, "", 1, MSG_NOSIGNAL);
	}
	return 0;
}

int sweep_trial_submit(const struct sweep_trial *trial,
		       int (*note)(void *data, const char *id, struct err *err), void *data,
		       char **id, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set_errno(err, "a pair of sockets");
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		run_submission(trial, ends[1]);
	}
	close(ends[1]);
	int result = pid < 0 ? err_set_fork(err, "fork") : converse(ends[0], note, data, id, err);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0)
		;
	return result;
}

/* ---- its job ------------------------------------------------------------------------------ */

int sweep_trial_kill(struct opened *opened, struct am_calls *calls, const char *sweep,
		     const char *reason, struct am_call **call, struct err *err)
{
	char *by cleanup_free = mem_printf("sweep %s", sweep);
	json_t *body cleanup_json = json_object();

	int killed = opened_kill_waiting(opened, by, reason, err);
	if (killed <= 0)
		return killed;
	if (!opened_can_ask(opened, NULL))
		return opened->ops->kill(&opened->door, reason, err);
	json_set_text(body, "by", by);
	json_set_text(body, "reason", reason);
	char *text cleanup_free = json_text(body);
	*call = opened_ask_aside(opened, calls, "POST", "/v1/job/kill", text);
	return 0;
}

int sweep_trial_killed(struct opened *opened, struct am_call **call, const char *reason,
		       struct err *err)
{
	if (!am_call_has_ended(*call))
		return 0;
	json_t *answer cleanup_json = opened_take_answer(mem_steal(call), NULL);
	return answer ? 0 : opened->ops->kill(&opened->door, reason, err);
}

/* ---- what it reports ---------------------------------------------------------------------- */

void sweep_numbers_finish(struct sweep_numbers *numbers)
{
	free(numbers->steps);
	free(numbers->values);
	*numbers = (struct sweep_numbers){0};
}

static void take_series(const json_t *series, struct sweep_numbers *numbers)
{
	struct series_point *points cleanup_free = NULL;
	size_t count = series_parse(series, &points);
	double mean;

	numbers->steps = mem_alloc_array(count + 1, sizeof(*numbers->steps));
	numbers->values = mem_alloc_array(count + 1, sizeof(*numbers->values));
	for (size_t i = 0; i < count; i++) {
		if (isnan(points[i].value) && !points[i].has_nan)
			continue;
		numbers->steps[numbers->count] =
			points[i].step >= 0 ? points[i].step : (int64_t)i + 1;
		numbers->values[numbers->count++] = points[i].value;
	}
	series_parse_facts(series, &numbers->facts, &mean);
}

/* False: the task has not reported it. */
static bool take_task(const json_t *found, const char *metric, struct sweep_numbers *numbers)
{
	size_t i;
	json_t *series;

	json_array_foreach(json_object_get(found, "user"), i, series)
	{
		if (!str_equal(json_string_value(json_object_get(series, "name")), metric))
			continue;
		take_series(series, numbers);
		return numbers->count > 0;
	}
	return false;
}

/* The chief reports, else the first task of some type. */
static bool may_report(const struct job *job, const struct task_view *task)
{
	return task->index == 0 || job_is_chief(job, task->type, task->index);
}

/* The next task from `task` on that may report; task_count: there is none. */
static size_t find_reporter(const struct job_view *view, size_t task)
{
	while (task < view->task_count && !may_report(view->job, &view->tasks[task]))
		task++;
	return task;
}

static char *name_of(const struct job_view *view, size_t task)
{
	return job_task_name(view->job, view->tasks[task].type, view->tasks[task].index);
}

void sweep_trial_kept(const struct opened *opened, const char *metric,
		      struct sweep_numbers *numbers)
{
	const struct job_view *view = opened->view;
	json_t *kept cleanup_json = metric ? advice_series(opened) : NULL;
	bool has = false;

	for (size_t i = find_reporter(view, 0); kept && i < view->task_count && !has;
	     i = find_reporter(view, i + 1)) {
		char *task cleanup_free = name_of(view, i);
		sweep_numbers_finish(numbers);
		has = take_task(json_object_get(kept, task), metric, numbers);
	}
}

static void add_names(const json_t *user, struct str_list *names)
{
	json_t *series;
	size_t i;

	json_array_foreach(user, i, series)
	{
		const char *name = json_string_value(json_object_get(series, "name"));
		if (name && !str_list_has(names, name))
			str_list_add(names, name);
	}
}

char *sweep_trial_reported(const struct opened *opened)
{
	json_t *kept cleanup_json = advice_series(opened), *task;
	struct str_list names cleanup_str_list = {0};
	struct str text = {0};
	const char *name;

	json_object_foreach(kept, name, task)
	{
		add_names(json_object_get(task, "user"), &names);
	}
	for (size_t i = 0; i < names.count; i++)
		str_append_format(&text, "%s%s", i > 0 ? ", " : "", names.items[i]);
	return names.count > 0 ? str_steal(&text) : NULL;
}

static void ask_task(const struct opened *opened, struct am_calls *calls,
		     struct sweep_question *question)
{
	const struct job_view *view = opened->view;

	question->task = find_reporter(view, question->task);
	if (question->task == view->task_count)
		question->task = find_reporter(view, 0);
	if (question->task == view->task_count || !opened_can_ask(opened, NULL))
		return;
	char *task cleanup_free = name_of(view, question->task);
	char *path cleanup_free = mem_printf("/v1/series?task=%s&points=%d", task, POINTS);
	question->call = opened_ask_aside(opened, calls, "GET", path, NULL);
}

void sweep_trial_ask(const struct opened *opened, const char *metric, struct am_calls *calls,
		     struct sweep_question *question, struct sweep_numbers *numbers)
{
	if (!metric || (question->call && !am_call_has_ended(question->call)))
		return;
	if (question->call) {
		json_t *answer cleanup_json = opened_take_answer(mem_steal(&question->call), NULL);
		if (answer && !take_task(answer, metric, numbers)) {
			sweep_numbers_finish(numbers);
			question->task++;
		}
	}
	ask_task(opened, calls, question);
}
