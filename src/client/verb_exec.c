/* tony exec, tony shell: a command in a task's container. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "client/input.h"
#include "client/report.h"
#include "client/talk.h"
#include "client/task_channel.h"
#include "client/verbs.h"

struct exec_options {
	bool input, terminal;
};

static const struct opt exec_options[] = {
	OPT_ROW("stdin", struct exec_options, input, "pass standard input on to the command",
		.letter = 'i'),
	OPT_ROW("tty", struct exec_options, terminal, "give the command a terminal", .letter = 't'),
};

/* The words behind `count` operands. */
static int read_command(const struct exec_options *chosen, const struct verb_call *call,
			size_t count, struct session_command *command, struct err *err)
{
	const char *terminal = chosen->terminal ? getenv("TERM") : NULL;

	command->has_terminal = chosen->terminal;
	for (size_t i = count; i < call->operands->count; i++) {
		const char *word = call->operands->items[i];
		if (!str_is_utf8(word, strlen(word)))
			return err_set(err, ERR_USAGE, "the command is not UTF-8");
		str_list_add(&command->words, word);
	}
	if (terminal && str_is_utf8(terminal, strlen(terminal)))
		command->terminal = mem_strdup(terminal);
	if (chosen->terminal)
		talk_find_size(&command->size);
	return 0;
}

static int run(const struct exec_options *chosen, const struct verb_call *call,
	       const struct verb *verb, struct err *err)
{
	struct opened opened cleanup_opened = {0};
	struct session_command command cleanup_command = {0};
	size_t count = call->dashdash;

	if (count > 2)
		return err_set(err, ERR_USAGE, "usage: %s", verb->options.usage);
	if (chosen->terminal && chosen->input && !isatty(STDIN_FILENO))
		return err_set(
			err, ERR_USAGE,
			verb == &verb_shell
				? "standard input is no terminal; tony exec --stdin JOB TASK "
				  "-- sh takes commands from it"
				: "standard input is no terminal; leave --tty out, or type it "
				  "in one");
	if (read_command(chosen, call, count, &command, err) < 0)
		return -1;
	if (!chosen->input && input_is_waiting(STDIN_FILENO))
		report_note("warning: standard input is not given to the command; see --stdin, or "
			    "write </dev/null");
	char *task cleanup_free = task_channel_find(&opened, call->operands, count, err);
	if (!task)
		return -1;
	return talk_run(&(struct talk_options){.opened = &opened,
					       .task = task,
					       .command = &command,
					       .takes_input = chosen->input},
			err);
}

static int run_command(void *data, const struct verb_call *call, struct err *err)
{
	if (call->dashdash == call->operands->count)
		return err_set(err, ERR_USAGE,
			       "no command stands behind --: tony exec JOB TASK -- COMMAND; tony "
			       "shell starts a shell");
	return run(data, call, &verb_exec, err);
}

static int run_shell(void *data, const struct verb_call *call, struct err *err)
{
	const struct exec_options chosen = {.input = true, .terminal = true};

	if (call->dashdash != call->operands->count)
		return err_set(err, ERR_USAGE,
			       "a command is for tony exec --stdin --tty JOB TASK -- COMMAND");
	return run(&chosen, call, &verb_shell, err);
}

const struct verb verb_exec = {
	.options =
		{
			.verb = "exec",
			.usage = "tony exec [OPTIONS] [JOB] [TASK] -- COMMAND [ARG...]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "run a command in the container of a task",
			.description =
				"It runs beside the task's program, in its environment and "
				"directory, and ends with it; nothing that it starts outlives it. "
				"tony exits with its exit code, 128 + N where signal N ended it. "
				"A TASK is needed where the job has several. Of a TASK alone the "
				"JOB is the newest.",
			.options = exec_options,
			.option_count = array_length(exec_options),
		},
	.size = sizeof(struct exec_options),
	.run = run_command,
};

const struct verb verb_shell = {
	.options =
		{
			.verb = "shell",
			.usage = "tony shell [JOB] [TASK]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "open a shell in the container of a task",
			.description = "bash, or sh where there is none, on a terminal of its own: "
				       "tony exec --stdin --tty, without a command.",
		},
	.run = run_shell,
};
