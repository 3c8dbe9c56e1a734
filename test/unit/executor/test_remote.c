/* A command in another task's container: run as ssh would, and never outliving whoever asked, nor
 * its host. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "bed.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "executor/port.h"
#include "executor/remote.h"
#include "net/address.h"
#include "net/http_client.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NAME  "tony-worker-0"

struct bed {
	void **state;
	struct port port;
	pid_t host; /* 0: not started */
};

static void init(struct bed *bed, void **state)
{
	struct err err = {0};

	*bed = (struct bed){.state = state};
	/* What escapes is seen here, and reaped. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_success(port_hold("127.0.0.1", &bed->port, &err), &err);
	char *cluster cleanup_free = mem_printf(
		"{\"epoch\": 3, \"types\": {\"worker\": [\"127.0.0.1:%d\"]}}", bed->port.number);
	char *port cleanup_free = mem_printf("%d", bed->port.number);
	scratch_write(state, "token", TOKEN "\n", 0600);
	scratch_write(state, "wrong-token", "feed\n", 0600);
	scratch_write(state, "cluster.json", cluster, 0600);
	setenv("TONY_TOKEN_FILE", scratch_path(state, "token"), 1);
	setenv("TONY_CLUSTER_FILE", scratch_path(state, "cluster.json"), 1);
	setenv("TONY_HOST", "127.0.0.1", 1);
	setenv("TONY_PORT", port, 1);
	setenv("TONY_EPOCH", "3", 1);
	assert_int_equal(chdir(scratch_path(state, ".")), 0);
}

static void write_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
}

/* As main() does, of a host that was started with another one. */
static void lower_core_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = 8192;
	setrlimit(RLIMIT_CORE, &limit);
	limits_take();
}

static void start_host(struct bed *bed)
{
	bed->host = fork();
	if (bed->host > 0)
		return;
	write_to("host.log");
	lower_core_limit();
	_exit(remote_host_main(1, (char *[]){"host", NULL}));
}

/* Words, the last one NULL. */
static pid_t start_rsh(char **words)
{
	int count = 0;
	pid_t pid = fork();

	if (pid > 0)
		return pid;
	write_to("rsh.log");
	while (words[count])
		count++;
	_exit(remote_rsh_main(count, words));
}
#define rsh(...) start_rsh((char *[]){"rsh", __VA_ARGS__, NULL})

static int await_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int await_code(pid_t pid)
{
	int status = await_status(pid);

	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect_log(struct bed *bed, const char *name, const char *part)
{
	char *text cleanup_free = scratch_read(bed->state, name);

	assert_text_has(text, part);
}

static bool has_text(struct bed *bed, const char *name, const char *part)
{
	char *text cleanup_free = access(name, F_OK) == 0 ? scratch_read(bed->state, name) : NULL;

	return text && strstr(text, part);
}

/* Ends the host; nothing is left of anything. */
static void finish(struct bed *bed)
{
	if (bed->host > 0) {
		kill(bed->host, SIGTERM);
		await_status(bed->host);
	}
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	port_release(&bed->port);
	assert_int_equal(chdir("/"), 0);
}

/* ---- it is as ssh ------------------------------------------------------------------------- */

static void the_exit_code_comes_back(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	assert_int_equal(await_code(rsh(NAME, "exit", "7")), 7);
	assert_int_equal(await_code(rsh(NAME, "true")), 0);
	assert_int_equal(await_code(rsh(NAME, "no-such-program")), 127);
	expect_log(&bed, "rsh.log", NAME ": the command exited with code 7; its output is in");
	finish(&bed);
}

static void a_shell_reads_the_words(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	char *words[] = {"rsh",
			 NAME,
			 "A=\"two words\";",
			 "export A;",
			 "sh",
			 "-c",
			 "'echo $A; read B || echo end'",
			 NULL};
	assert_int_equal(await_code(start_rsh(words)), 0);
	expect_log(&bed, "host.log", "two words\nend\n");
	finish(&bed);
}

/* promise: S28 S29 */
static void a_command_has_the_core_limit_that_its_host_gave_up(void **state)
{
	struct rlimit limit;
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	assert_int_equal(
		await_code(rsh(NAME, "grep -q 'core file size  *8192 ' /proc/self/limits")), 0);
	assert_int_equal(prlimit(bed.host, RLIMIT_CORE, NULL, &limit), 0);
	assert_int_equal(limit.rlim_cur, 0);
	finish(&bed);
}

static void many_run_side_by_side(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	/* Each waits for the other. */
	pid_t one = rsh(NAME, "mkfifo fifo; echo there >fifo; exit 1");
	pid_t other = rsh(NAME, "until test -p fifo; do sleep 0.01; done; read A <fifo; exit 2");
	assert_int_equal(await_code(other), 2);
	assert_int_equal(await_code(one), 1);
	finish(&bed);
}

static void the_host_may_come_later(void **state)
{
	struct bed bed;

	init(&bed, state);
	pid_t early = rsh(NAME, "exit 3");
	let_pass(100);
	start_host(&bed);
	assert_int_equal(await_code(early), 3);
	finish(&bed);
}

/* ---- what is refused ---------------------------------------------------------------------- */

/* promise: S16 */
static void nothing_of_another_epoch_is_run(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	setenv("TONY_EPOCH", "2", 1);
	assert_int_equal(await_code(rsh(NAME, "touch was-run")), 1);
	expect_log(&bed, "rsh.log", "formed anew: this is epoch 3, not 2");
	assert_int_equal(access("was-run", F_OK), -1);
	finish(&bed);
}

/* The host may still come: rsh says what it has found, and goes on looking. */
static void expect_waiting(struct bed *bed, pid_t asking, const char *part)
{
	int status;

	wait_until(has_text(bed, "rsh.log", part));
	assert_int_equal(waitpid(asking, &status, WNOHANG), 0);
	kill(asking, SIGKILL);
	await_status(asking);
	assert_int_equal(access("was-run", F_OK), -1);
}

/* promise: S15 S32 */
static void nothing_is_run_without_the_token(void **state)
{
	struct bed bed;
	int status;
	struct err err cleanup_err = {0};

	init(&bed, state);
	start_host(&bed);
	setenv("TONY_TOKEN_FILE", scratch_path(state, "wrong-token"), 1);
	expect_waiting(&bed, rsh(NAME, "touch was-run"),
		       "is not the host, or not yet: it does not prove that it knows");
	char *address cleanup_free = mem_printf("127.0.0.1:%d", bed.port.number);
	assert_success(http_call(&(struct http_target){address, NULL, geteuid()}, "POST", "/v1/run",
				 "{\"text\": \"{\\\"epoch\\\": 3, \\\"command\\\": "
				 "\\\"touch was-run\\\"}\", \"proof\": \"feed\"}",
				 0, &status, NULL, &err),
		       &err);
	assert_int_equal(status, 401);
	assert_int_equal(access("was-run", F_OK), -1);
	finish(&bed);
}

static void bad_hellos_are_told(void **state)
{
	static const char *const bodies[] = {"", "[]", "{\"address\": \"127.0.0.1:1\"}",
					     "{\"address\": \"127.0.0.1:1\", \"nonce\": \"0123\"}",
					     "{\"address\": \"127.0.0.1:1\", \"nonce\": \"" TOKEN
					     "\"}"};
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	assert_int_equal(await_code(rsh(NAME, "true")), 0);
	char *address cleanup_free = mem_printf("127.0.0.1:%d", bed.port.number);
	for (size_t i = 0; i < array_length(bodies); i++) {
		struct err err cleanup_err = {0};
		int status;
		assert_success(http_call(&(struct http_target){address, NULL, geteuid()}, "POST",
					 "/v1/host", bodies[i], 0, &status, NULL, &err),
			       &err);
		assert_int_equal(status, 400);
	}
	finish(&bed);
}

/* A cluster may call the host by a name that its machine does not know. */
static void a_host_may_have_any_name(void **state)
{
	struct sockaddr_in host = {.sin_family = AF_INET};
	char answer[4096] = "";
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	assert_int_equal(await_code(rsh(NAME, "true")), 0);
	host.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	host.sin_port = htons((uint16_t)bed.port.number);
	int fd cleanup_close = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&host, sizeof(host)), 0);
	dprintf(fd, "POST /v1/host HTTP/1.1\r\nHost: node7.example.com:1\r\nContent-Length: 2\r\n"
		    "Connection: close\r\n\r\n[]");
	for (size_t have = 0; have < sizeof(answer) - 1;) {
		ssize_t got = read(fd, answer + have, sizeof(answer) - 1 - have);
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	assert_non_null(strstr(answer, "400 Bad Request"));
	assert_null(strstr(answer, "bad-host"));
	finish(&bed);
}

/* ---- somebody between the two -------------------------------------------------------------- */

/* Passes on what comes from one to the other, with these bytes changed. False: it has ended. */
static bool pass_on(int from, int to, const char *what, const char *into)
{
	char bytes[8192];
	ssize_t length = read(from, bytes, sizeof(bytes));

	if (length <= 0)
		return false;
	char *found = what ? memmem(bytes, (size_t)length, what, strlen(what)) : NULL;
	if (found)
		memcpy(found, into, strlen(into));
	return write(to, bytes, (size_t)length) == length;
}

static int socket_at(const char *host, int number, bool listens)
{
	const int on = 1;
	struct net_address address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(net_address_from_host(host, number, &address), 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (listens) {
		assert_int_equal(bind(fd, (struct sockaddr *)&address.storage, address.length), 0);
		assert_int_equal(listen(fd, 8), 0);
		return fd;
	}
	wait_until(connect(fd, (struct sockaddr *)&address.storage, address.length) == 0);
	return fd;
}

/* Takes the host's port before the host does, and, once it has rsh's connection, leaves the port to
 * it: rsh and host then both mean the same address. Ends with either of the two. */
static pid_t start_relay(struct bed *bed, const char *what, const char *into)
{
	int listener = socket_at("127.0.0.1", bed->port.number, true);
	pid_t pid = fork();

	if (pid > 0) {
		close(listener);
		return pid;
	}
	int rsh = accept(listener, NULL, NULL);
	close(listener);
	port_release(&bed->port);
	start_host(bed);
	int host = socket_at("127.0.0.1", bed->port.number, false);
	struct pollfd ends[] = {{.fd = rsh, .events = POLLIN}, {.fd = host, .events = POLLIN}};
	bool goes_on = true;
	while (goes_on && poll(ends, 2, -1) > 0) {
		if (ends[0].revents)
			goes_on = pass_on(rsh, host, what, into);
		else if (ends[1].revents)
			goes_on = pass_on(host, rsh, what, into);
	}
	kill(bed->host, SIGTERM);
	_exit(0);
}

/* promise: S33 */
static void a_relay_can_change_nothing(void **state)
{
	static const struct {
		const char *what, *into;
		int code;
		const char *told;
	} rows[] = {
		{NULL, NULL, 7, "exited with code 7"},
		{"touch x", "touch y", 1, "it does not prove that it knows the job's token"},
		{"exit_code\\\":7", "exit_code\\\":0", 1, "what came as the answer: it does not"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct bed bed;
		init(&bed, state);
		pid_t relay = start_relay(&bed, rows[i].what, rows[i].into);
		assert_int_equal(await_code(rsh(NAME, "touch x; exit 7")), rows[i].code);
		expect_log(&bed, "rsh.log", rows[i].told);
		await_status(relay);
		assert_int_equal(access("y", F_OK), -1);
		unlink("x");
		unlink("rsh.log");
		finish(&bed);
	}
}

/* promise: S33 */
static void a_relay_to_another_host_of_the_job_is_found(void **state)
{
	struct bed bed;

	init(&bed, state);
	char *cluster cleanup_free = mem_printf(
		"{\"epoch\": 3, \"types\": {\"worker\": [\"127.0.0.2:%d\"]}}", bed.port.number);
	scratch_write(state, "cluster.json", cluster, 0600);
	start_host(&bed);
	int listener = socket_at("127.0.0.2", bed.port.number, true);
	pid_t asking = rsh(NAME, "touch was-run");
	int rsh = accept(listener, NULL, NULL);
	int host = socket_at("127.0.0.1", bed.port.number, false);
	assert_true(pass_on(rsh, host, NULL, NULL));
	assert_true(pass_on(host, rsh, NULL, NULL));
	char *told cleanup_free = mem_printf(
		"127.0.0.2:%d: what listens there is not the host, or not yet: address: this is "
		"127.0.0.1:%d",
		bed.port.number, bed.port.number);
	expect_waiting(&bed, asking, told);
	close(listener);
	close(rsh);
	close(host);
	finish(&bed);
}

/* A host serves 64 connections: those of commands make way for none. */
static void strangers_end_no_command(void **state)
{
	enum { STRANGERS = 200 };
	int strangers[STRANGERS];
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	pid_t asking = rsh(NAME, "echo $$ >shell; until test -e go; do sleep 0.01; done; exit 4");
	bed_await_number(state, "shell");
	for (size_t i = 0; i < array_length(strangers); i++)
		strangers[i] = socket_at("127.0.0.1", bed.port.number, false);
	assert_int_equal(await_code(rsh(NAME, "touch go")), 0);
	assert_int_equal(await_code(asking), 4);
	for (size_t i = 0; i < array_length(strangers); i++)
		close(strangers[i]);
	finish(&bed);
}

static void wrong_uses_are_told(void **state)
{
	struct bed bed;

	init(&bed, state);
	assert_int_equal(await_code(rsh(NAME)), 1);
	expect_log(&bed, "rsh.log", "usage: tony-agent rsh HOST COMMAND...");
	assert_int_equal(await_code(rsh("node-a", "true")), 1);
	expect_log(&bed, "rsh.log", "\"node-a\" is no host of this job");
	assert_int_equal(await_code(rsh(NAME, "echo \xff")), 1);
	expect_log(&bed, "rsh.log", "not UTF-8");
	unsetenv("TONY_PORT");
	start_host(&bed);
	assert_int_equal(await_code(bed.host), 1);
	expect_log(&bed, "host.log", "it is a task's program");
	bed.host = 0;
	finish(&bed);
}

/* ---- the end ------------------------------------------------------------------------------ */

/* Starts what has a session of its own and does not hear SIGTERM. */
#define ESCAPE                                                                                     \
	"(trap '' TERM; setsid sh -c 'echo $$ >escaped; exec sleep 1000' >/dev/null 2>&1 &); "     \
	"until test -s escaped; do sleep 0.01; done; "

static void whoever_asked_takes_the_command_along(void **state)
{
	const int signals[] = {SIGTERM, SIGKILL};

	for (size_t i = 0; i < array_length(signals); i++) {
		struct bed bed;
		init(&bed, state);
		start_host(&bed);
		pid_t asking = rsh(NAME, "echo $$ >shell; exec sleep 1000");
		int shell = bed_await_number(state, "shell");
		kill(asking, signals[i]);
		assert_int_equal(WTERMSIG(await_status(asking)), signals[i]);
		bed_await_end(shell);
		/* That was nobody's failure. */
		assert_int_equal(await_code(rsh(NAME, "rm shell")), 0);
		finish(&bed);
	}
}

static void what_is_left_of_a_command_belongs_to_it(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	pid_t asking = rsh(NAME, ESCAPE "exit 5");
	int escaped = bed_await_number(state, "escaped");
	/* A daemon that detached itself is still the command. */
	assert_never(waitpid(asking, NULL, WNOHANG) != 0, 100);
	kill(escaped, SIGKILL);
	assert_int_equal(await_code(asking), 5);
	finish(&bed);
}

static void what_escaped_is_ended_with_whoever_asked(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	pid_t asking = rsh(NAME, ESCAPE "sleep 1000");
	int escaped = bed_await_number(state, "escaped");
	kill(asking, SIGKILL);
	await_status(asking);
	bed_await_end(escaped);
	finish(&bed);
}

/* As tony sees it, the task was killed: for memory, say. */
static void a_command_that_is_killed_is_the_hosts_end(void **state)
{
	static const char *const commands[] = {
		ESCAPE "kill -KILL $$",			 /* the shell */
		ESCAPE "sh -c 'kill -KILL $$'; exit $?", /* what it ran */
	};

	for (size_t i = 0; i < array_length(commands); i++) {
		struct bed bed;
		init(&bed, state);
		start_host(&bed);
		pid_t asking = rsh(NAME, (char *)commands[i]);
		int status = await_status(bed.host);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		bed.host = 0;
		bed_await_end(bed_await_number(state, "escaped"));
		assert_int_equal(await_code(asking), 1);
		expect_log(&bed, "host.log", "a command was killed by SIGKILL");
		assert_int_equal(unlink("escaped"), 0);
		finish(&bed);
	}
}

/* The state of a process, as proc(5) has it, and its parent. */
static char state_of(pid_t pid, pid_t *parent)
{
	char *path cleanup_free = mem_printf("/proc/%d/stat", (int)pid);
	char *text cleanup_free = fs_read_file(path, 4096, NULL, NULL);
	char state = 0;

	assert_non_null(text);
	assert_int_equal(sscanf(text, "%*d (%*[^)]) %c %d", &state, parent), 2);
	return state;
}

static bool is_pending(pid_t pid, int signal)
{
	char *path cleanup_free = mem_printf("/proc/%d/status", (int)pid);
	char *text cleanup_free = fs_read_file(path, 8192, NULL, NULL);
	const char *row = text ? strstr(text, "ShdPnd:") : NULL;

	assert_non_null(row);
	return strtoull(row + strlen("ShdPnd:"), NULL, 16) >> (signal - 1) & 1;
}

/* The host hears of its command's end after it has seen whoever asked go. */
static void a_command_that_is_killed_with_whoever_asked_is_the_hosts_end_too(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	pid_t asking = rsh(NAME, "echo $$ >shell; exec sleep 1000");
	pid_t shell = bed_await_number(state, "shell"), command, host;
	state_of(shell, &command);
	kill(command, SIGSTOP);
	wait_until(state_of(command, &host) == 'T');
	kill(shell, SIGKILL);
	kill(asking, SIGKILL);
	await_status(asking);
	wait_until(is_pending(command, SIGTERM) && is_pending(command, SIGCHLD));
	kill(command, SIGCONT);
	int status = await_status(bed.host);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	bed.host = 0;
	expect_log(&bed, "host.log", "a command was killed by SIGKILL");
	finish(&bed);
}

static void whoever_asked_fails_when_the_host_is_gone(void **state)
{
	struct bed bed;

	init(&bed, state);
	start_host(&bed);
	pid_t asking = rsh(NAME, "echo $$ >shell; exec sleep 1000");
	int shell = bed_await_number(state, "shell");
	kill(bed.host, SIGKILL);
	await_status(bed.host);
	bed.host = 0;
	assert_int_equal(await_code(asking), 1);
	expect_log(&bed, "rsh.log", "the host is gone, and the command with it");
	kill(shell, SIGKILL); /* the executor's part */
	finish(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(the_exit_code_comes_back),
		scratch_test(a_shell_reads_the_words),
		scratch_test(a_command_has_the_core_limit_that_its_host_gave_up),
		scratch_test(many_run_side_by_side),
		scratch_test(the_host_may_come_later),
		scratch_test(nothing_of_another_epoch_is_run),
		scratch_test(nothing_is_run_without_the_token),
		scratch_test(bad_hellos_are_told),
		scratch_test(a_host_may_have_any_name),
		scratch_test(strangers_end_no_command),
		scratch_test(a_relay_can_change_nothing),
		scratch_test(a_relay_to_another_host_of_the_job_is_found),
		scratch_test(wrong_uses_are_told),
		scratch_test(whoever_asked_takes_the_command_along),
		scratch_test(what_is_left_of_a_command_belongs_to_it),
		scratch_test(what_escaped_is_ended_with_whoever_asked),
		scratch_test(a_command_that_is_killed_is_the_hosts_end),
		scratch_test(a_command_that_is_killed_with_whoever_asked_is_the_hosts_end_too),
		scratch_test(whoever_asked_fails_when_the_host_is_gone),
	};

	return cmocka_run_group_tests_name("remote", tests, NULL, NULL);
}
