/*
 * `tony-agent session ID PROGRAM`: one command of somebody's in a task (tony exec), or connections
 * to a port there (tony port-forward). A command has the environment and the directory of the
 * task's program. The process speaks to whoever asked over a channel that the AM passes on. All
 * that the command starts is below this process, and ends with it.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "executor/sessions.h"
#include "executor/stacks.h"
#include "job/job.h"
#include "net/carrier.h"
#include "net/channel.h"
#include "protocol/session.h"

enum {
	GRACE_MS = 2000, /* of what the command leaves behind: SIGHUP, then SIGKILL */
	PIECE = 32 * 1024,
};

struct stream {
	struct session *session;
	int fd; /* -1: closed */
	unsigned char kind;
	struct event event;
};

struct session {
	struct event_base *base;
	struct channel *channel;
	struct carrier *carrier; /* NULL: of a command */
	struct session_command command;
	const char *id;
	pid_t executor, program;
	pid_t pid; /* 0: it does not run */
	int input; /* of the command; -1: closed */
	struct evbuffer *pending;
	bool no_more, is_told;
	struct stream streams[2]; /* output and errors, or the terminal */
	struct event writable, child;
};

static void leave(struct session *session)
{
	event_base_loopbreak(session->base);
}

/* The last frame. The client closes the channel once it has read all that came before: until then
 * bytes may be on the way. */
static void tell_last(struct session *session, unsigned char kind, const char *text)
{
	session->is_told = true;
	channel_say(session->channel, kind, text, strlen(text));
}

/* ---- what the command says ---------------------------------------------------------------- */

static void close_stream(struct stream *stream)
{
	if (stream->fd < 0)
		return;
	event_del(&stream->event);
	close(stream->fd);
	stream->fd = -1;
}

/* How many bytes; 0: nothing is there now, or will be. */
static size_t pass_on(struct stream *stream)
{
	struct session *session = stream->session;
	char piece[PIECE];
	ssize_t got = read(stream->fd, piece, sizeof(piece));

	if (got > 0)
		channel_say(session->channel, stream->kind, piece, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		close_stream(stream); /* a terminal without its command says EIO */
	return got > 0 ? (size_t)got : 0;
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	struct stream *stream = data;

	pass_on(stream);
	if (stream->fd >= 0 && !channel_has_room(stream->session->channel))
		event_del(&stream->event);
}

static void on_drained(void *data)
{
	struct session *session = data;

	if (session->carrier)
		carrier_drain(session->carrier);
	for (size_t i = 0; i < array_length(session->streams); i++)
		if (session->streams[i].fd >= 0)
			event_add(&session->streams[i].event, NULL);
}

static void watch_stream(struct session *session, size_t which, int fd, unsigned char kind)
{
	struct stream *stream = &session->streams[which];

	*stream = (struct stream){.session = session, .fd = fd, .kind = kind};
	fcntl(fd, F_SETFL, O_NONBLOCK);
	event_assign(&stream->event, session->base, fd, EV_READ | EV_PERSIST, on_readable, stream);
	event_add(&stream->event, NULL);
}

/* The command's last words are there when it ends. Others whom it has started may write on for
 * ever. */
static void pass_on_rest(struct stream *stream)
{
	int left = 0;

	if (stream->fd < 0 || ioctl(stream->fd, FIONREAD, &left) < 0)
		return;
	while (left > 0 && stream->fd >= 0) {
		size_t passed = pass_on(stream);
		if (passed == 0)
			return;
		left -= passed < (size_t)left ? (int)passed : left;
	}
}

static void close_input(struct session *session)
{
	event_del(&session->writable);
	if (session->input >= 0)
		close(session->input);
	session->input = -1;
}

static void tell_end(struct session *session, int status)
{
	char *code cleanup_free = mem_printf("%d", proc_shell_code(status));

	for (size_t i = 0; i < array_length(session->streams); i++) {
		pass_on_rest(&session->streams[i]);
		close_stream(&session->streams[i]);
	}
	close_input(session);
	tell_last(session, SESSION_END, code);
}

static void on_child(evutil_socket_t fd, short what, void *data)
{
	struct session *session = data;
	int status;

	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid != session->pid)
			continue;
		session->pid = 0;
		tell_end(session, status);
	}
}

/* ---- what is said to it ------------------------------------------------------------------- */

static void on_writable(evutil_socket_t fd, short what, void *data)
{
	struct session *session = data;
	size_t had = evbuffer_get_length(session->pending);
	int put = evbuffer_write(session->pending, session->input);
	bool is_broken = put < 0 && errno != EAGAIN && errno != EINTR;

	if (is_broken) /* the command reads no more: the rest is as good as taken */
		evbuffer_drain(session->pending, had);
	size_t taken = had - evbuffer_get_length(session->pending);
	if (taken > 0 && !session->is_told) {
		char *text cleanup_free = mem_printf("%zu", taken);
		channel_say(session->channel, SESSION_TAKEN, text, strlen(text));
	}
	if (evbuffer_get_length(session->pending) > 0)
		return;
	event_del(&session->writable);
	if (is_broken || (session->no_more && !session->command.has_terminal))
		close_input(session);
}

static void take_input(struct session *session, const char *bytes, size_t length)
{
	if (evbuffer_get_length(session->pending) + length > 2 * SESSION_INPUT_MAX) {
		leave(session); /* it does not keep to what is said in session.h */
		return;
	}
	evbuffer_add(session->pending, bytes, length);
	if (session->input >= 0)
		event_add(&session->writable, NULL);
	else
		evbuffer_drain(session->pending, length);
}

static void end_input(struct session *session)
{
	static const char end_of_file[] = {4}; /* Ctrl-D */

	session->no_more = true;
	if (session->command.has_terminal)
		take_input(session, end_of_file, sizeof(end_of_file));
	else if (session->input >= 0)
		event_add(&session->writable, NULL);
}

static struct winsize window_of(const struct session_size *size)
{
	return (struct winsize){.ws_row = (unsigned short)size->rows,
				.ws_col = (unsigned short)size->columns};
}

static void take_size(struct session *session, const char *bytes, size_t length)
{
	struct session_size size;

	if (session->streams[0].fd < 0 || session_size_decode(&size, bytes, length, NULL) < 0)
		return;
	const struct winsize window = window_of(&size);
	ioctl(session->streams[0].fd, TIOCSWINSZ, &window);
}

/* ---- the command -------------------------------------------------------------------------- */

static bool is_own_namespace(const char *path, const char *name)
{
	char *mine cleanup_free = mem_printf("/proc/self/ns/%s", name);
	struct stat a, b;

	return stat(mine, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static int enter(pid_t program, const char *name)
{
	char *path cleanup_free = mem_printf("/proc/%d/ns/%s", (int)program, name);

	if (is_own_namespace(path, name))
		return 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = fd < 0 ? -1 : setns(fd, 0);
	mem_cleanup_close(&fd);
	return result;
}

/* Of the executor's, in its namespaces: these hold those of the program. */
_Noreturn static void tell_stacks(pid_t executor)
{
	json_t *processes cleanup_json = stacks_take(executor);

	_exit(json_dumpf(processes, stdout, JSON_COMPACT) == 0 && fflush(stdout) == 0 ? 0 : 1);
}

_Noreturn static void become(const struct session *session)
{
	const struct session_command *command = &session->command;
	char *const shell[] = {"bash", NULL};
	char *const *words = command->words.count > 0 ? command->words.items : shell;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (command->wants_stacks)
		tell_stacks(session->executor);
	/* That of processes is entered by the fork before this. */
	char *directory cleanup_free = getcwd(NULL, 0);
	if (enter(session->program, "mnt") < 0 || !directory || chdir(directory) < 0) {
		fprintf(stderr, "tony: cannot enter the directory of the task's program: %s\n",
			strerror(errno));
		_exit(126);
	}
	if (command->terminal)
		setenv("TERM", command->terminal, true);
	setenv(SESSION_VARIABLE, session->id, true);
	proc_reset_signals();
	limits_restore();
	proc_close_from(3, true);
	execvp(words[0], words);
	int error = errno;
	if (words == shell)
		execl("/bin/sh", "sh", (char *)NULL);
	fprintf(stderr, "tony: cannot start %s: %s\n", words[0], strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

static pid_t fork_on_terminal(struct session *session)
{
	const struct winsize window = window_of(&session->command.size);
	int terminal;
	pid_t pid = forkpty(&terminal, NULL, NULL, &window);

	if (pid == 0)
		become(session);
	if (pid < 0)
		return -1;
	fcntl(terminal, F_SETFD, FD_CLOEXEC);
	session->input = dup(terminal);
	watch_stream(session, 0, terminal, SESSION_OUTPUT);
	session->streams[1].fd = -1;
	return pid;
}

enum { READ_END, WRITE_END };

static pid_t fork_on_pipes(struct session *session)
{
	int input[2], output[2], errors[2];

	if (pipe2(input, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0 ||
	    pipe2(errors, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		dup2(input[READ_END], STDIN_FILENO);
		dup2(output[WRITE_END], STDOUT_FILENO);
		dup2(errors[WRITE_END], STDERR_FILENO);
		become(session);
	}
	close(input[READ_END]);
	close(output[WRITE_END]);
	close(errors[WRITE_END]);
	session->input = input[WRITE_END];
	watch_stream(session, 0, output[READ_END], SESSION_OUTPUT);
	watch_stream(session, 1, errors[READ_END], SESSION_ERRORS);
	return pid;
}

static int start(struct session *session, const char *bytes, size_t length, struct err *err)
{
	if (session_command_decode(&session->command, bytes, length, err) < 0)
		return -1;
	if (!session->command.wants_stacks &&
	    (enter(session->program, "user") < 0 || enter(session->program, "pid") < 0))
		return err_set_errno(err, "cannot enter the namespaces of the task's program");
	pid_t pid =
		session->command.has_terminal ? fork_on_terminal(session) : fork_on_pipes(session);
	if (pid < 0)
		return err_set_fork(err, "cannot start a process");
	session->pid = pid;
	fcntl(session->input, F_SETFL, O_NONBLOCK);
	event_assign(&session->writable, session->base, session->input, EV_WRITE | EV_PERSIST,
		     on_writable, session);
	return 0;
}

static int open_port(struct session *session, const char *text, struct err *err)
{
	int64_t port;

	if (str_parse_int(text, 1, UINT16_MAX, &port) < 0)
		return err_set(err, ERR_INPUT, "\"%s\" is no port", text);
	if (enter(session->program, "user") < 0 || enter(session->program, "net") < 0)
		return err_set_errno(err, "cannot enter the network of the task's program");
	session->carrier = carrier_create(&(struct carrier_options){
		.base = session->base, .channel = session->channel, .port = (int)port});
	return 0;
}

static void take_first(struct session *session, unsigned char kind, const char *content,
		       size_t length)
{
	struct err err cleanup_err = {0};

	if (kind == SESSION_PORT)
		open_port(session, content, &err);
	else if (kind == SESSION_START)
		start(session, content, length, &err);
	if (err.kind != ERR_NONE)
		tell_last(session, SESSION_FAILED, err_message(&err));
}

static void on_heard(void *data, unsigned char kind, const char *content, size_t length)
{
	struct session *session = data;
	int64_t signal;

	if (session->is_told)
		return;
	if (session->carrier)
		carrier_hear(session->carrier, kind, content, length);
	else if (session->pid == 0)
		take_first(session, kind, content, length);
	else if (kind == SESSION_INPUT)
		take_input(session, content, length);
	else if (kind == SESSION_NO_MORE)
		end_input(session);
	else if (kind == SESSION_SIZE)
		take_size(session, content, length);
	else if (kind == SESSION_SIGNAL && session->pid > 0 &&
		 str_parse_int(content, 1, 64, &signal) == 0)
		kill(-session->pid, (int)signal);
}

/* The client has what it asked for, or is gone. */
static void on_ended(void *data, const struct err *err)
{
	leave(data);
}

static void on_opened(void *data)
{
}

/* ------------------------------------------------------------------------------------------- */

/* "http://HOST:PORT": the AM, or for a job with TLS a port of the executor's that leads there. */
static struct channel *dial(struct session *session, const char *id, char **token, struct err *err)
{
	static const char scheme[] = "http://";
	const char *url = getenv("TONY_AM_URL"), *file = getenv("TONY_TOKEN_FILE"),
		   *task = getenv("TONY_TASK");

	if (!url || !file || !task || strncmp(url, scheme, strlen(scheme)) != 0) {
		err_set(err, ERR_USAGE, "TONY_AM_URL, TONY_TOKEN_FILE and TONY_TASK are not set");
		return NULL;
	}
	*token = job_read_token(file, err);
	if (!*token)
		return NULL;
	char *path cleanup_free = mem_printf("/v1/tasks/%s/exec/%s", task, id);
	const struct channel_options options = {
		.base = session->base,
		.target = {url + strlen(scheme), *token, geteuid(), false},
		.path = path,
		.opened = on_opened,
		.heard = on_heard,
		.drained = on_drained,
		.ended = on_ended,
		.data = session,
	};
	return channel_open(&options, err);
}

static void run(struct session *session)
{
	event_assign(&session->child, session->base, SIGCHLD, EV_SIGNAL | EV_PERSIST, on_child,
		     session);
	event_add(&session->child, NULL);
	event_base_dispatch(session->base);
	event_del(&session->child);
	if (session->input >= 0)
		close_input(session);
	for (size_t i = 0; i < array_length(session->streams); i++)
		close_stream(&session->streams[i]);
	/* In a namespace of processes an orphan is no descendant any more. */
	char *mark cleanup_free = mem_printf(SESSION_VARIABLE "=%s", session->id);
	proc_end_all(getpid(), mark, NULL, 0, SIGHUP, GRACE_MS);
}

int session_main(int argc, char **argv)
{
	struct session session = {.base = event_base_new(), .pending = evbuffer_new(), .input = -1};
	struct err err cleanup_err = {0};
	char *token = NULL;
	int64_t program;

	log_open("session", LOG_LEVEL_WARNING);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	session.streams[0].fd = session.streams[1].fd = -1;
	if (argc != 3 || str_parse_int(argv[2], 1, INT32_MAX, &program) < 0) {
		log_error("usage: tony-agent session ID PROGRAM");
		return 2;
	}
	session.executor = getppid();
	session.program = (pid_t)program;
	session.id = argv[1];
	session.channel = dial(&session, argv[1], &token, &err);
	if (session.channel)
		run(&session);
	else
		log_error("%s", err_message(&err));
	carrier_destroy(session.carrier);
	channel_close(session.channel);
	mem_free_secret(token);
	evbuffer_free(session.pending);
	session_command_finish(&session.command);
	event_base_free(session.base);
	return 0;
}
