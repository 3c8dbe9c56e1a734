#include "fake_executor.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "net/http_message.h"
#include "net/tls.h"
#include "protocol/registration.h"
#include "protocol/report.h"

enum {
	FIRST_RETRY_MS = 200,
	RETRY_CAP_MS = 5000,
	INPUT_CAP = 1 << 20,
	PID = 1000, /* of each, and then of its process */
};

int64_t fake_executor_now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

/* ---- what an executor says ---------------------------------------------------------------- */

/* Takes `body`. */
static void post(struct fake_executor *executor, const char *verb, char *body)
{
	struct evbuffer *output = executor->wire.output;
	size_t length = strlen(body);

	evbuffer_add_printf(output,
			    "POST /v1/tasks/%s/%s HTTP/1.1\r\nHost: %s\r\n"
			    "Authorization: Bearer %s\r\nAccept-Encoding: gzip\r\n%s"
			    "Content-Length: %zu\r\n\r\n",
			    executor->task, verb, executor->am->host, executor->am->token,
			    executor->step == FAKE_REPORTING ? "Connection: close\r\n" : "",
			    length);
	evbuffer_add(output, body, length);
	free(body);
	executor->has_head = false;
	executor->front_length = 0;
	executor->sent_us = fake_executor_now_us();
	wire_flush(&executor->wire);
}

static void send_registration(struct fake_executor *executor)
{
	const struct registration registration = {
		.of = {.attempt = executor->attempt, .epoch = executor->epoch},
		.host = (char *)executor->host,
		.port = executor->port,
		.door = executor->door,
		.pid = PID,
		.log_dir = (char *)executor->log_dir,
	};

	post(executor, "register", registration_encode(&registration));
}

static void send_exit(struct fake_executor *executor)
{
	char *text cleanup_free = mem_printf("exited with code %d", executor->exit_code);
	const struct exit_report report = {
		.of = {.attempt = executor->attempt, .epoch = executor->running_epoch},
		.cause = {.kind = executor->exit_code ? CAUSE_EXIT : CAUSE_NONE,
			  .exit_code = executor->exit_code,
			  .text = text},
	};

	post(executor, "exit", exit_report_encode(&report));
}

static void send_beat(struct fake_executor *executor)
{
	int64_t now_ms = fake_executor_now_us() / 1000;
	int pid = PID + 1;
	bool runs = executor->running_epoch > 0;
	struct heartbeat heartbeat = {
		.of = {.attempt = executor->attempt,
		       .epoch = runs ? executor->running_epoch : executor->epoch},
		.activity = executor->exited ? ACTIVITY_EXITED
			    : runs	     ? ACTIVITY_RUNNING
					     : ACTIVITY_WAITING,
		.seen = 17,
		.pids = &pid,
		.pid_count = runs,
		.account = {.has_metrics = runs,
			    .metrics = {.sampled_ms = now_ms,
					.rss_bytes = 1000000000 + now_ms % 4096 * 4096,
					.pss_bytes = 900000000 + now_ms % 4096 * 4096,
					.cpu_ms = now_ms / 2,
					.read_bytes = 1048576,
					.write_bytes = now_ms * 10,
					.processes = 3,
					.threads = 20 + executor->port % 10,
					.net_receive_bytes = now_ms * 100,
					.net_send_bytes = now_ms * 90,
					.step = -1,
					.steps = -1}},
	};

	post(executor, "beat", heartbeat_encode(&heartbeat));
}

static void say(struct fake_executor *executor)
{
	switch (executor->step) {
	case FAKE_REGISTERING:
		send_registration(executor);
		break;
	case FAKE_BEATING:
		send_beat(executor);
		break;
	case FAKE_REPORTING:
		send_exit(executor);
		break;
	}
}

/* ---- connections -------------------------------------------------------------------------- */

static void disconnect(struct fake_executor *executor)
{
	if (executor->is_connected)
		wire_finish(&executor->wire);
	executor->is_connected = false;
}

static void begin(struct fake_executor *executor, enum fake_executor_step step);
static void on_input(void *data);

static void retry(struct fake_executor *executor, int status)
{
	const struct timeval soon = clock_timeval(backoff_next(&executor->backoff, random_u64()));

	executor->front[executor->front_length] = '\0';
	executor->events->retries(executor, status, executor->front);
	disconnect(executor);
	event_add(&executor->retry, &soon);
}

static void on_end(void *data, int error)
{
	retry(data, 0);
}

static void on_output(void *data)
{
}

static void connect_to_am(struct fake_executor *executor)
{
	const struct net_address *address = &executor->am->address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0 &&
	     errno != EINPROGRESS)) {
		perror("a fake executor: connect");
		exit(1);
	}
	struct tls_context *tls = executor->am->tls;
	executor->wire = (struct wire){.tls = tls ? tls_create(tls, NULL) : NULL,
				       .input_cap = INPUT_CAP,
				       .on_input = on_input,
				       .on_output = on_output,
				       .on_end = on_end,
				       .data = executor};
	wire_init(&executor->wire, executor->base, fd);
	executor->is_connected = true;
}

/* A report has a connection of its own, as that of the real ones has. */
static void begin(struct fake_executor *executor, enum fake_executor_step step)
{
	bool goes_on = executor->step == step ||
		       (executor->step == FAKE_REGISTERING && step == FAKE_BEATING);

	if (!executor->is_connected || !goes_on) {
		disconnect(executor);
		connect_to_am(executor);
	}
	executor->step = step;
	say(executor);
}

static void on_retry(evutil_socket_t fd, short what, void *data)
{
	struct fake_executor *executor = data;

	begin(executor, executor->step);
}

/* ---- what an executor is told ------------------------------------------------------------- */

static bool is_told(const struct fake_executor *executor, const char *order)
{
	return memmem(executor->front, executor->front_length, order, strlen(order));
}

static int told_number(const struct fake_executor *executor, const char *member)
{
	const char *found = memmem(executor->front, executor->front_length, member, strlen(member));

	return found ? atoi(found + strlen(member)) : 0;
}

static int told_epoch(const struct fake_executor *executor)
{
	return told_number(executor, "\"epoch\":");
}

/* An application master that did not know this executor before. */
static bool is_told_by_another(struct fake_executor *executor)
{
	int before = executor->am_attempt;

	executor->am_attempt = told_number(executor, "\"am_attempt\":");
	return before > 0 && executor->am_attempt > before;
}

static void stop(struct fake_executor *executor)
{
	executor->epoch = told_epoch(executor);
	executor->running_epoch = 0;
	executor->events->stopped(executor);
}

static void quit(struct fake_executor *executor)
{
	disconnect(executor);
	executor->events->quit(executor);
}

static void take_order(struct fake_executor *executor)
{
	if (is_told_by_another(executor)) {
		begin(executor, FAKE_REGISTERING);
		return;
	}
	if (is_told(executor, "\"order\":\"stop\"")) {
		stop(executor);
		return;
	}
	if (is_told(executor, "\"order\":\"quit\"")) {
		quit(executor);
		return;
	}
	if (is_told(executor, "\"order\":\"run\"") && !executor->running_epoch) {
		executor->running_epoch = told_epoch(executor);
		executor->exited = false;
		executor->events->run(executor);
	}
	begin(executor, FAKE_BEATING);
}

static void take_registered(struct fake_executor *executor)
{
	executor->interval_us = 1000 * (int64_t)told_number(executor, "\"beat_interval_ms\":");
	executor->am_attempt = told_number(executor, "\"am_attempt\":");
	executor->events->registered(executor);
	begin(executor, FAKE_BEATING);
}

static void take_beat(struct fake_executor *executor)
{
	executor->events->beaten(executor, fake_executor_now_us() - executor->sent_us -
						   executor->interval_us);
	take_order(executor);
}

static void take_answer(struct fake_executor *executor)
{
	if (executor->status != 200) {
		retry(executor, executor->status);
		return;
	}
	backoff_reset(&executor->backoff);
	if (executor->step == FAKE_REGISTERING) {
		take_registered(executor);
	} else if (executor->step == FAKE_REPORTING) {
		executor->exited = true;
		begin(executor, FAKE_BEATING);
	} else {
		take_beat(executor);
	}
}

static bool take_head(struct fake_executor *executor)
{
	struct evbuffer *input = executor->wire.input;
	struct http_head head;
	size_t have = evbuffer_get_length(input);
	const char *bytes =
		(const char *)evbuffer_pullup(input, (ssize_t)(have < 4096 ? have : 4096));
	size_t length = http_head_length(bytes, have < 4096 ? have : 4096, 0);

	if (length == 0)
		return false;
	if (http_head_parse_response(&head, bytes, length, NULL) < 0 || head.content_length < 0) {
		fprintf(stderr, "a fake executor: an answer that is none\n");
		exit(1);
	}
	executor->status = head.status;
	executor->left = (uint64_t)head.content_length;
	if (head.content_length > FAKE_EXECUTOR_FRONT)
		executor->events->spec(executor, length + (uint64_t)head.content_length);
	executor->has_head = true;
	http_head_finish(&head);
	evbuffer_drain(input, length);
	return true;
}

static void on_input(void *data)
{
	struct fake_executor *executor = data;
	struct evbuffer *input = executor->wire.input;
	size_t room = FAKE_EXECUTOR_FRONT - executor->front_length;

	if (!executor->has_head && !take_head(executor))
		return;
	size_t have = evbuffer_get_length(input);
	size_t some = have < executor->left ? have : (size_t)executor->left;
	room = room < some ? room : some;
	evbuffer_copyout(input, executor->front + executor->front_length, room);
	executor->front_length += room;
	evbuffer_drain(input, some);
	executor->left -= some;
	if (executor->left == 0)
		take_answer(executor);
	else
		wire_resume(&executor->wire);
}

/* ---- for its owner ------------------------------------------------------------------------ */

void fake_executor_allow_files(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void fake_executor_init(struct fake_executor *executor)
{
	executor->backoff = (struct backoff){.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS};
	event_assign(&executor->retry, executor->base, -1, 0, on_retry, executor);
}

void fake_executor_finish(struct fake_executor *executor)
{
	disconnect(executor);
	event_del(&executor->retry);
}

void fake_executor_register(struct fake_executor *executor)
{
	disconnect(executor);
	event_del(&executor->retry);
	begin(executor, FAKE_REGISTERING);
}

void fake_executor_exit(struct fake_executor *executor, int code)
{
	executor->exit_code = code;
	begin(executor, FAKE_REPORTING);
}
