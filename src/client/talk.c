#include "client/talk.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/task_channel.h"

enum { PIECE = 16 * 1024, OUTPUT_CAP = 1 << 20, NEWS_MS = 2000, LOOK_MS = 100 };

struct talk {
	const struct talk_options *options;
	struct event_base *base;
	struct channel *channel;
	bool takes_input, has_begun;
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

bool talk_find_size(struct session_size *size)
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

	if (!talk->has_begun || !talk_find_size(&size))
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

static void count(const struct talk *talk, size_t bytes)
{
	if (talk->options->passed)
		talk->options->passed(talk->options->data, bytes);
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
		count(talk, (size_t)got);
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
	count(talk, length);
	if (fs_write_all(fd, bytes, length, &talk->problem) < 0)
		leave(talk, errno == EPIPE ? PROC_SHELL_SIGNAL + SIGPIPE : -1);
}

static void on_heard(void *data, unsigned char kind, const char *content, size_t length)
{
	struct talk *talk = data;
	int64_t number;

	struct str *output = talk->options->output;
	if (kind == SESSION_OUTPUT && output) {
		if (output->length + length <= OUTPUT_CAP)
			str_append_bytes(output, content, length);
	} else if (kind == SESSION_OUTPUT) {
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
 * does SIGTERM, nor the first one where tony asks and no user's command runs: it ends with the
 * channel. */
static void on_signal(evutil_socket_t signal, short what, void *data)
{
	struct talk *talk = data;
	char *text cleanup_free = mem_printf("%d", (int)signal);

	bool is_users = !talk->options->output;
	if (talk->has_begun && is_users && !talk->is_interrupted && signal == SIGINT)
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

/* Its method takes a regular file for standard input, too. */
static struct event_base *create_base(void)
{
	struct event_config *config = event_config_new();

	event_config_avoid_method(config, "epoll");
	struct event_base *base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static int converse(struct talk *talk, struct err *err)
{
	const struct talk_options *about = talk->options;
	struct termios before;
	const struct channel_options options = {
		.base = talk->base,
		.opened = on_opened,
		.heard = on_heard,
		.drained = on_drained,
		.ended = on_ended,
		.data = talk,
	};

	talk->channel = task_channel_open(about->opened, about->task, "exec", options, err);
	if (!talk->channel)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	watch(talk);
	bool is_raw = about->command->has_terminal && talk->takes_input && isatty(STDIN_FILENO) &&
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

/* ---- why it was cut off ------------------------------------------------------------------- */

static const struct task_view *find_task(const struct talk_options *options)
{
	const struct opened *opened = options->opened;

	return &opened->view->tasks[job_find_task(opened->job, options->task)];
}

static bool runs_on(const struct task_view *before, const struct task_view *now)
{
	return now->state == TASK_RUNNING && now->attempt == before->attempt &&
	       now->epoch == before->epoch && now->restart == before->restart;
}

/* A command is killed with the task's program, and the journal tells of that end a moment later. */
static int explain(const struct talk_options *options, const struct task_view *before, int code,
		   struct err *err)
{
	const char *what = options->what ? options->what : "command";
	struct opened *opened = options->opened;
	bool runs = true;

	if (code != PROC_SHELL_SIGNAL + SIGKILL && (code >= 0 || err->kind != ERR_UNREACHABLE))
		return code;
	for (int waited = 0; waited < NEWS_MS && (runs || opened->view->state == JOB_FINISHING);
	     waited += LOOK_MS) {
		opened_follow(opened, LOOK_MS, NULL, NULL, NULL);
		runs = !opened->view->is_final && runs_on(before, find_task(options));
	}
	if (opened->view->is_final)
		return err_set(err, ERR_NOT_FOUND, "%s has ended: %s, and the %s with it",
			       opened->id, job_state_name(opened->view->state), what);
	if (!runs)
		return err_set(err, ERR_NOT_FOUND,
			       "%s: its program has ended or is restarted, and the %s has ended "
			       "with it",
			       options->task, what);
	if (code < 0)
		err_wrap(err, "the application master of %s", opened->id);
	return code;
}

/* ------------------------------------------------------------------------------------------- */

int talk_run(const struct talk_options *options, struct err *err)
{
	const struct task_view before = *find_task(options);
	char *start cleanup_free = session_command_encode(options->command);
	struct talk talk = {
		.options = options, .takes_input = options->takes_input, .start = start};

	if (strlen(start) > CHANNEL_FRAME_MAX)
		return err_set(err, ERR_USAGE,
			       "the command has more than %d bytes; pass it on with --stdin",
			       CHANNEL_FRAME_MAX);
	if (options->command->words.count > SESSION_WORDS_MAX)
		return err_set(
			err, ERR_USAGE,
			"the command has more than %d words; put them into a script, or pass "
			"them on with --stdin",
			SESSION_WORDS_MAX);
	talk.base = create_base();
	int code = converse(&talk, err);
	event_base_free(talk.base);
	return explain(options, &before, code, err);
}
