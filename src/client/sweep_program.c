#include "client/sweep_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "net/interrupt.h"

enum { NO_EXEC = 127, END_MS = 5000, ANSWER_CAP = 1 << 20 };

struct sweep_program {
	const struct sweep_config *config;
	pid_t pid;
	int input, output; /* of the program */
	struct str answer; /* as far as it came */
};

/* ---- questions ---------------------------------------------------------------------------- */

static int set_silent(const struct sweep_program *program, struct err *err)
{
	return err_set(err, ERR_FAILED,
		       "tony.sweep.program: \"%s\" has ended without an answer; see what it wrote "
		       "above",
		       program->config->program);
}

/* A signal to the sweep ends the wait. */
static int wait_for_output(const struct sweep_program *program, int64_t until_ms, struct err *err)
{
	int signals cleanup_close = interrupt_open();
	struct pollfd fds[] = {{.fd = program->output, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};
	int64_t left_ms = until_ms - clock_monotonic_ms();

	poll(fds, array_length(fds),
	     (int)(left_ms < 0	       ? 0
		   : left_ms < INT_MAX ? left_ms
				       : INT_MAX));
	if (fds[1].revents)
		return interrupt_set(err, "tony.sweep.program");
	if (fds[0].revents || clock_monotonic_ms() < until_ms)
		return 0;
	char *limit cleanup_free = str_format_duration(program->config->program_timeout_ms);
	return err_set(err, ERR_FAILED,
		       "tony.sweep.program has not answered a question within %s "
		       "(tony.sweep.program-timeout): \"%s\"",
		       limit, program->config->program);
}

static int read_some(struct sweep_program *program, int64_t until_ms, struct err *err)
{
	char bytes[4096];

	if (wait_for_output(program, until_ms, err) < 0)
		return -1;
	ssize_t length = read(program->output, bytes, sizeof(bytes));
	if (length < 0 && errno == EAGAIN)
		return 0;
	if (length <= 0)
		return set_silent(program, err);
	str_append_bytes(&program->answer, bytes, (size_t)length);
	return program->answer.length <= ANSWER_CAP
		       ? 0
		       : err_set(err, ERR_FAILED,
				 "tony.sweep.program: its answer is longer than %d bytes",
				 ANSWER_CAP);
}

static json_t *read_answer(struct sweep_program *program, struct err *err)
{
	int64_t limit_ms = program->config->program_timeout_ms;
	int64_t until_ms = limit_ms > 0 ? clock_monotonic_ms() + limit_ms : INT64_MAX;

	str_truncate(&program->answer, 0);
	while (!memchr(str_text(&program->answer), '\n', program->answer.length))
		if (read_some(program, until_ms, err) < 0)
			return NULL;
	json_t *answer = json_parse(program->answer.text, program->answer.length, err);
	if (!answer) {
		err_wrap(err, "tony.sweep.program: its answer is no line of JSON");
		return NULL;
	}
	const char *error = json_string_value(json_object_get(answer, "error"));
	if (!error)
		return answer;
	err_set(err, ERR_FAILED, "tony.sweep.program: %s", error);
	json_decref(answer);
	return NULL;
}

/* Takes the question. */
static json_t *put(struct sweep_program *program, json_t *question, struct err *err)
{
	json_t *owned cleanup_json = question;
	struct str text cleanup_str = {0};
	char *bytes cleanup_free = json_text(owned);

	str_append_format(&text, "%s\n", bytes);
	if (fs_write_all(program->input, text.text, text.length, NULL) < 0)
		return set_silent(program, err), NULL;
	return read_answer(program, err);
}

static json_t *make_question(const char *name, int64_t trial)
{
	json_t *question = json_object();

	json_set_text(question, "question", name);
	json_set_int(question, "trial", trial);
	return question;
}

/* ---- what is to be chosen ----------------------------------------------------------------- */

static json_t *parameter_to_json(const struct sweep_parameter *parameter)
{
	static const char *const kinds[] = {"values", "uniform", "loguniform", "int"};
	json_t *object = json_object();

	json_set_text(object, "name", parameter->name);
	json_set_text(object, "kind", kinds[parameter->kind]);
	if (parameter->kind == SWEEP_VALUES) {
		json_set_list(object, "values", &parameter->values);
		json_set_bool(object, "numbers", parameter->are_numbers);
		return object;
	}
	json_object_set_new(object, "low", json_real(parameter->low));
	json_object_set_new(object, "high", json_real(parameter->high));
	return object;
}

static json_t *begin_question(const struct sweep_config *config, const char *sweep,
			      const char *directory)
{
	const struct sweep_plan *plan = &config->plan;
	json_t *question = json_object(), *parameters = json_array();

	json_set_text(question, "question", "begin");
	json_set_text(question, "sweep", sweep);
	json_set_text(question, "directory", directory);
	json_set_text(question, "metric", plan->metric);
	json_set_text(question, "goal", plan->maximize ? "maximize" : "minimize");
	json_set_int(question, "seed", plan->seed);
	json_set_int(question, "trials", plan->trials);
	for (size_t i = 0; i < plan->space.count; i++)
		json_array_append_new(parameters, parameter_to_json(&plan->space.items[i]));
	json_object_set_new(question, "parameters", parameters);
	return question;
}

static _Noreturn void become_program(const char *command, int input, int output)
{
	proc_reset_signals();
	signal(SIGTERM, SIG_IGN); /* which all processes of a task get: it ends with its input */
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	execl("/bin/bash", "bash", "-c", command, (char *)NULL);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(NO_EXEC);
}

struct sweep_program *sweep_program_start(const struct sweep_config *config, const char *sweep,
					  const char *directory, struct err *err)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return err_set_errno(err, "a pipe"), NULL;
	signal(SIGPIPE, SIG_IGN);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		become_program(config->program, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	if (pid < 0)
		return err_set_fork(err, "fork"), NULL;
	struct sweep_program *program = mem_alloc(sizeof(*program));
	*program = (struct sweep_program){
		.config = config, .pid = pid, .input = to[1], .output = from[0]};
	fcntl(program->output, F_SETFL, O_NONBLOCK);
	json_t *answer = put(program, begin_question(config, sweep, directory), err);
	if (answer) {
		json_decref(answer);
		return program;
	}
	sweep_program_end(program);
	return NULL;
}

void sweep_program_end(struct sweep_program *program)
{
	if (!program)
		return;
	close(program->input); /* which tells it to end */
	close(program->output);
	int process cleanup_close = pidfd_open(program->pid, 0);
	if (poll(&(struct pollfd){.fd = process, .events = POLLIN}, 1, END_MS) <= 0)
		kill(program->pid, SIGKILL);
	waitpid(program->pid, NULL, 0);
	str_finish(&program->answer);
	free(program);
}

/* ---- questions of a sweep ----------------------------------------------------------------- */

static int check_values(const struct sweep_program *program, const struct str_list *values,
			struct err *err)
{
	size_t count = program->config->plan.space.count;

	if (values->count != count)
		return err_set(err, ERR_FAILED,
			       "tony.sweep.program: it gave %zu values for %zu parameters",
			       values->count, count);
	for (size_t i = 0; i < count; i++)
		if (!sweep_space_is_plain(values->items[i]))
			return err_set(err, ERR_FAILED,
				       "tony.sweep.program: \"%s\" is no plain word; values have "
				       "letters, digits and ._+-/:=@%%",
				       values->items[i]);
	return 0;
}

int sweep_program_ask(struct sweep_program *program, int64_t trial, struct str_list *values,
		      char **end, struct err *err)
{
	json_t *answer cleanup_json = put(program, make_question("ask", trial), err);

	if (!answer || json_read_text(answer, "end", end, err) < 0 ||
	    (!*end && json_read_list(answer, "values", values, err) < 0))
		return -1;
	return *end ? 0 : check_values(program, values, err);
}

int sweep_program_report(struct sweep_program *program, int64_t trial, int64_t step, double value,
			 char **stop, struct err *err)
{
	json_t *question = make_question("report", trial);

	json_set_int(question, "step", step);
	json_object_set_new(question, "value", json_real(value));
	json_t *answer cleanup_json = put(program, question, err);
	return answer ? json_read_text(answer, "stop", stop, err) : -1;
}

static int tell(struct sweep_program *program, int64_t trial, const char *state, double value,
		struct err *err)
{
	json_t *question = make_question("tell", trial);

	json_set_text(question, "state", state);
	if (isfinite(value))
		json_object_set_new(question, "value", json_real(value));
	json_t *answer cleanup_json = put(program, question, err);
	return answer ? 0 : -1;
}

int sweep_program_tell(struct sweep_program *program, const struct sweep *sweep,
		       const struct trial *trial, struct err *err)
{
	return tell(program, trial->number, trial_state_name(trial->state),
		    sweep_worth(sweep, trial), err);
}

/* NULL: the line is of none. */
static const struct trial *trial_of(const struct sweep *sweep, const json_t *line)
{
	int64_t number = json_integer_value(json_object_get(line, "trial"));

	return number >= 0 && number < (int64_t)sweep->count ? &sweep->trials[number] : NULL;
}

int sweep_program_repeat(struct sweep_program *program, const struct sweep *sweep,
			 const json_t *line, struct err *err)
{
	const char *event = json_string_value(json_object_get(line, "event"));
	const struct trial *trial = trial_of(sweep, line);
	const int64_t t = json_integer_value(json_object_get(line, "t"));
	const json_t *number = json_object_get(line, "value");
	const bool takes_best = program->config->plan.takes_best;

	if (!trial)
		return 0;
	if (str_equal(event, "end")) {
		if (trial->ended_ms != t)
			return 0;
		const json_t *best = json_object_get(line, "best");
		number = takes_best && best ? best : number;
		return tell(program, trial->number,
			    json_string_value(json_object_get(line, "state")),
			    number ? json_number_value(number) : NAN, err);
	}
	if (str_equal(event, "report")) {
		if (trial->started_ms == 0 || t < trial->started_ms)
			return 0; /* it has begun anew since, and comes to this step again */
		char *stop cleanup_free = NULL;
		return sweep_program_report(program, trial->number,
					    json_integer_value(json_object_get(line, "step")),
					    json_number_value(number), &stop, err);
	}
	if (!str_equal(event, "ask"))
		return 0;
	json_t *question = make_question("ask", trial->number);
	json_object_set(question, "values", json_object_get(line, "values"));
	json_object_set_new(question, "ended", json_boolean(trial->state >= TRIAL_COMPLETED));
	json_t *answer cleanup_json = put(program, question, err);
	return answer ? 0 : -1;
}
