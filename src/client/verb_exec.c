/* tony exec, tony shell: a command in a task's container. */
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/exit_code.h"
#include "client/task_channel.h"
#include "client/verbs.h"
#include "net/channel.h"
#include "protocol/session.h"

enum { PIECE = 16 * 1024 };

struct exec_options {
	bool input, terminal;
};

static const struct opt exec_options[] = {
	OPT_ROW("stdin", struct exec_options, input, "pass standard input on to the command",
		.letter = 'i'),
	OPT_ROW("tty", struct exec_options, terminal, "give the command a terminal", .letter = 't'),
};

struct talk {
	struct event_base *base;
	struct channel *channel;
	bool has_terminal, takes_input, has_begun;
	char *start; /* the first frame */
	bool is_interrupted;
	size_t on_the_way; /* bytes of input */
	struct event input, resized, signals[2];
	int code; /* -1: `problem` */
	struct err problem;
};

static void leave(struct talk *talk, int code)
{
	talk->code = code;
	event_base_loopbreak(talk->base);
}

/* ---- the terminal here -------------------------------------------------------------------- */

static bool find_size(struct session_size *size)
{
	struct winsize window;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &window) < 0 &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0)
		return false;
	*size = (struct session_size){window.ws_row, window.ws_col};
	return true;
}

static void on_resized(evutil_socket_t signal, short what, void *data)
{
	struct talk *talk = data;
	struct session_size size;

	if (!talk->has_begun || !find_size(&size))
		return;
	char *text cleanup_free = session_size_encode(&size);
	channel_say(talk->channel, SESSION_SIZE, text, strlen(text));
}

/* Each key goes to the command as it is. */
static bool make_raw(struct termios *before)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, before) < 0)
		return false;
	raw = *before;
	cfmakeraw(&raw);
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

/* ---- what is said ------------------------------------------------------------------------- */

static void read_on(struct talk *talk)
{
	if (talk->takes_input && talk->on_the_way < SESSION_INPUT_MAX &&
	    channel_has_room(talk->channel))
		event_add(&talk->input, NULL);
	else
		event_del(&talk->input);
}

static void on_input(evutil_socket_t fd, short what, void *data)
{
	struct talk *talk = data;
	char piece[PIECE];
	ssize_t got = read(STDIN_FILENO, piece, sizeof(piece));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0) {
		talk->on_the_way += (size_t)got;
		channel_say(talk->channel, SESSION_INPUT, piece, (size_t)got);
	} else {
		talk->takes_input = false;
		channel_say(talk->channel, SESSION_NO_MORE, "", 0);
	}
	read_on(talk);
}

static void on_drained(void *data)
{
	read_on(data);
}

static void on_opened(void *data)
{
	struct talk *talk = data;

	channel_say(talk->channel, SESSION_START, talk->start, strlen(talk->start));
	talk->has_begun = true;
	if (!talk->takes_input)
		channel_say(talk->channel, SESSION_NO_MORE, "", 0);
	read_on(talk);
}

static void pass_on(struct talk *talk, int fd, const char *bytes, size_t length)
{
	if (fs_write_all(fd, bytes, length, &talk->problem) < 0)
		leave(talk, errno == EPIPE ? PROC_SHELL_SIGNAL + SIGPIPE : -1);
}

static void on_heard(void *data, unsigned char kind, const char *content, size_t length)
{
	struct talk *talk = data;
	int64_t number;

	if (kind == SESSION_OUTPUT) {
		pass_on(talk, STDOUT_FILENO, content, length);
	} else if (kind == SESSION_ERRORS) {
		pass_on(talk, STDERR_FILENO, content, length);
	} else if (kind == SESSION_TAKEN && str_parse_int(content, 0, INT32_MAX, &number) == 0) {
		talk->on_the_way -=
			(size_t)number < talk->on_the_way ? (size_t)number : talk->on_the_way;
		read_on(talk);
	} else if (kind == SESSION_END && str_parse_int(content, 0, 255, &number) == 0) {
		leave(talk, (int)number);
	} else if (kind == SESSION_FAILED) {
		char *text cleanup_free = str_printable(content, length);
		err_set(&talk->problem, ERR_FAILED, "%s", text);
		leave(talk, -1);
	}
}

static void on_ended(void *data, const struct err *err)
{
	struct talk *talk = data;

	err_copy(&talk->problem, err);
	leave(talk, -1);
}

/* Ctrl-C of a terminal that is not the command's. A second one does not wait for the command, nor
 * does SIGTERM: it ends with the channel. */
static void on_signal(evutil_socket_t signal, short what, void *data)
{
	struct talk *talk = data;
	char *text cleanup_free = mem_printf("%d", (int)signal);

	if (talk->has_begun && !talk->is_interrupted && signal == SIGINT)
		channel_say(talk->channel, SESSION_SIGNAL, text, strlen(text));
	else
		leave(talk, PROC_SHELL_SIGNAL + (int)signal);
	talk->is_interrupted = true;
}

/* ------------------------------------------------------------------------------------------- */

static void watch(struct talk *talk)
{
	static const int signals[] = {SIGINT, SIGTERM};

	event_assign(&talk->input, talk->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, talk);
	event_assign(&talk->resized, talk->base, SIGWINCH, EV_SIGNAL | EV_PERSIST, on_resized,
		     talk);
	event_add(&talk->resized, NULL);
	for (size_t i = 0; i < array_length(signals); i++) {
		event_assign(&talk->signals[i], talk->base, signals[i], EV_SIGNAL | EV_PERSIST,
			     on_signal, talk);
		event_add(&talk->signals[i], NULL);
	}
}

static void unwatch(struct talk *talk)
{
	event_del(&talk->input);
	event_del(&talk->resized);
	for (size_t i = 0; i < array_length(talk->signals); i++)
		event_del(&talk->signals[i]);
}

static int converse(struct talk *talk, const struct opened *opened, const char *task,
		    struct err *err)
{
	struct termios before;
	const struct channel_options options = {
		.base = talk->base,
		.opened = on_opened,
		.heard = on_heard,
		.drained = on_drained,
		.ended = on_ended,
		.data = talk,
	};

	talk->channel = task_channel_open(opened, task, "exec", options, err);
	if (!talk->channel)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	watch(talk);
	bool is_raw = talk->has_terminal && talk->takes_input && isatty(STDIN_FILENO) &&
		      make_raw(&before);
	event_base_dispatch(talk->base);
	if (is_raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	unwatch(talk);
	channel_close(talk->channel);
	if (talk->code < 0)
		err_copy(err, &talk->problem);
	err_finish(&talk->problem);
	return talk->code;
}

/* Its method takes a regular file for standard input, too. */
static struct event_base *create_base(void)
{
	struct event_config *config = event_config_new();

	event_config_avoid_method(config, "epoll");
	struct event_base *base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

/* The first frame: the words behind `count` operands. NULL: `err`. The caller frees. */
static char *make_start(const struct exec_options *chosen, const struct verb_call *call,
			size_t count, struct err *err)
{
	struct session_command command = {.has_terminal = chosen->terminal};
	const char *terminal = chosen->terminal ? getenv("TERM") : NULL;

	for (size_t i = count; i < call->operands->count; i++) {
		const char *word = call->operands->items[i];
		if (!str_is_utf8(word, strlen(word))) {
			str_list_finish(&command.words);
			err_set(err, ERR_USAGE, "the command is not UTF-8");
			return NULL;
		}
		str_list_add(&command.words, word);
	}
	if (terminal && str_is_utf8(terminal, strlen(terminal)))
		command.terminal = mem_strdup(terminal);
	if (chosen->terminal)
		find_size(&command.size);
	char *text = session_command_encode(&command);
	session_command_finish(&command);
	if (strlen(text) <= CHANNEL_FRAME_MAX)
		return text;
	free(text);
	err_set(err, ERR_USAGE, "the command has more than %d bytes; pass it on with --stdin",
		CHANNEL_FRAME_MAX);
	return NULL;
}

static int run(const struct exec_options *chosen, const struct verb_call *call,
	       const struct verb *verb, struct err *err)
{
	struct opened opened cleanup_opened = {0};
	struct talk talk = {.has_terminal = chosen->terminal, .takes_input = chosen->input};
	size_t count = call->dashdash;

	if (count > 2)
		return err_set(err, ERR_USAGE, "usage: %s", verb->options.usage);
	if (talk.has_terminal && talk.takes_input && !isatty(STDIN_FILENO))
		return err_set(err, ERR_USAGE,
			       "standard input is no terminal; leave --tty out, or type it in one");
	char *start cleanup_free = make_start(chosen, call, count, err);
	char *task cleanup_free =
		start ? task_channel_find(&opened, call->operands, count, err) : NULL;
	if (!task)
		return -1;
	talk.start = start;
	talk.base = create_base();
	int code = converse(&talk, &opened, task, err);
	event_base_free(talk.base);
	return code;
}

static int run_command(void *data, const struct verb_call *call, struct err *err)
{
	if (call->dashdash == call->operands->count)
		return err_set(err, ERR_USAGE,
			       "no command stands behind --; tony shell starts a shell");
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
