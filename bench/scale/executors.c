/*
 * The executors of a job of many tasks, simulated by one process: each speaks docs/rest.md to a
 * real application master over a connection of its own. What they were told is discarded; when,
 * and how many bytes it took, is what this prints, one JSON object a line for each phase. A phase
 * begins when its name comes on standard input:
 *
 *   form          all connect at once and register; ends when all were told to run
 *   beat SECONDS  all beat
 *   fail          the process of the first task fails; ends when all were told to stop
 *   form          ... and again, as the job re-forms
 *   adopt         the application master is about to be killed; ends when all are registered with
 *                 the next one
 *
 * Between phases the beats go on. The end of the input is the end.
 *
 *   scale-executors ADDRESS TOKEN-FILE TASKS INTERVAL-MS
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/address.h"
#include "net/http_message.h"
#include "net/wire.h"
#include "protocol/registration.h"
#include "protocol/report.h"

enum {
	RETRY_MS = 200,
	ORDER_BYTES = 256, /* of an answer's body: the order is near its front, compressed or not */
	INPUT_CAP = 1 << 20,
};

enum step { REGISTERING, BEATING, REPORTING };

struct executor {
	struct fleet *fleet;
	int index;
	bool is_connected;
	struct wire wire;
	struct event retry;
	enum step step;
	int am_attempt;	   /* of the last order */
	int epoch;	   /* of the last stop order obeyed */
	int running_epoch; /* 0: no process */
	bool exited;
	int64_t sent_us;
	/* The answer in progress. */
	bool has_head;
	int status;
	uint64_t left;
	char front[ORDER_BYTES + 1];
	size_t front_length;
};

enum phase { IDLE, FORMING, BEATS, FAILING, ADOPTING };

struct fleet {
	struct event_base *base;
	struct net_address address;
	char *host, *token;
	struct executor *executors;
	int count;
	enum phase phase;
	int64_t phase_began_us;
	struct event over; /* of the beats */
	int waited_for;	   /* executors that have not been told yet */
	int registered;
	int64_t registered_us; /* the last one was, since the phase began */
	uint64_t spec_bytes;   /* of all answers with a spec */
	int retries;	       /* of connections that broke, and answers other than 200 */
	int interval_us;
	int32_t *late_us; /* of each answered beat, beyond the time for which it is held */
	size_t late_count, late_capacity;
};

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

/* ---- phases ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static double late_ms(const struct fleet *fleet, double share)
{
	if (fleet->late_count == 0)
		return 0;
	return fleet->late_us[(size_t)(share * (double)(fleet->late_count - 1))] / 1000.0;
}

static void end_phase(struct fleet *fleet)
{
	double seconds = (double)(now_us() - fleet->phase_began_us) / 1e6;

	if (fleet->late_count > 0)
		qsort(fleet->late_us, fleet->late_count, sizeof(*fleet->late_us), compare);
	printf("{\"seconds\":%.3f,\"registered_seconds\":%.3f,\"spec_bytes\":%" PRIu64
	       ",\"retries\":%d,\"beats\":%zu,\"late_ms\":{\"p50\":%.2f,\"p99\":%.2f,"
	       "\"max\":%.2f}}\n",
	       seconds, (double)fleet->registered_us / 1e6, fleet->spec_bytes, fleet->retries,
	       fleet->late_count, late_ms(fleet, 0.5), late_ms(fleet, 0.99), late_ms(fleet, 1));
	fflush(stdout);
	fleet->phase = IDLE;
}

static void told(struct fleet *fleet)
{
	if (--fleet->waited_for == 0)
		end_phase(fleet);
}

static void note_beat(struct fleet *fleet, int64_t late)
{
	if (fleet->phase != BEATS)
		return;
	if (fleet->late_count == fleet->late_capacity) {
		fleet->late_capacity = fleet->late_capacity ? 2 * fleet->late_capacity : 65536;
		fleet->late_us = mem_realloc_array(fleet->late_us, fleet->late_capacity,
						   sizeof(*fleet->late_us));
	}
	fleet->late_us[fleet->late_count++] = (int32_t)late;
}

/* ---- what an executor says ---------------------------------------------------------------- */

/* Takes `body`. */
static void post(struct executor *executor, const char *verb, char *body)
{
	struct evbuffer *output = executor->wire.output;
	size_t length = strlen(body);

	evbuffer_add_printf(output,
			    "POST /v1/tasks/worker:%d/%s HTTP/1.1\r\nHost: %s\r\n"
			    "Authorization: Bearer %s\r\nAccept-Encoding: gzip\r\n%s"
			    "Content-Length: %zu\r\n\r\n",
			    executor->index, verb, executor->fleet->host, executor->fleet->token,
			    executor->step == BEATING ? "" : "Connection: close\r\n", length);
	evbuffer_add(output, body, length);
	free(body);
	executor->has_head = false;
	executor->front_length = 0;
	executor->sent_us = now_us();
	wire_flush(&executor->wire);
}

static void send_registration(struct executor *executor)
{
	char *host cleanup_free = mem_printf("node-%04d.cluster.example.com", executor->index / 8);
	char *log_dir cleanup_free = mem_printf("/data/%d/logs/application_1/container_%06d",
						executor->index % 8, executor->index);
	const struct registration registration = {
		.of = {.attempt = 1, .epoch = executor->epoch},
		.host = host,
		.port = 32768 + (int)((unsigned)executor->index * 2654435761u % 28000),
		.pid = 1000 + executor->index,
		.log_dir = log_dir,
	};

	post(executor, "register", registration_encode(&registration));
}

static void send_exit(struct executor *executor)
{
	const struct exit_report report = {
		.of = {.attempt = 1, .epoch = executor->running_epoch},
		.cause = {.kind = CAUSE_EXIT, .exit_code = 1, .text = "exited with code 1"},
	};

	post(executor, "exit", exit_report_encode(&report));
}

static void send_beat(struct executor *executor)
{
	int64_t now_ms = now_us() / 1000;
	int pid = 2000 + executor->index;
	bool runs = executor->running_epoch > 0;
	struct heartbeat heartbeat = {
		.of = {.attempt = 1, .epoch = runs ? executor->running_epoch : executor->epoch},
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
					.threads = 20 + executor->index % 10,
					.net_receive_bytes = now_ms * 100,
					.net_send_bytes = now_ms * 90,
					.step = -1,
					.steps = -1}},
	};

	post(executor, "beat", heartbeat_encode(&heartbeat));
}

static void say(struct executor *executor)
{
	switch (executor->step) {
	case REGISTERING:
		send_registration(executor);
		break;
	case BEATING:
		send_beat(executor);
		break;
	case REPORTING:
		send_exit(executor);
		break;
	}
}

/* ---- connections -------------------------------------------------------------------------- */

static void disconnect(struct executor *executor)
{
	if (executor->is_connected)
		wire_finish(&executor->wire);
	executor->is_connected = false;
}

static void begin(struct executor *executor, enum step step);
static void on_input(void *data);

static void retry(struct executor *executor)
{
	const struct timeval soon = clock_timeval(RETRY_MS);

	executor->fleet->retries++;
	disconnect(executor);
	event_add(&executor->retry, &soon);
}

static void on_end(void *data, int error)
{
	retry(data);
}

static void on_output(void *data)
{
}

static void connect_to_am(struct executor *executor)
{
	struct fleet *fleet = executor->fleet;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    (connect(fd, (struct sockaddr *)&fleet->address.storage, fleet->address.length) < 0 &&
	     errno != EINPROGRESS)) {
		perror("scale-executors: connect");
		exit(1);
	}
	executor->wire = (struct wire){.input_cap = INPUT_CAP,
				       .on_input = on_input,
				       .on_output = on_output,
				       .on_end = on_end,
				       .data = executor};
	wire_init(&executor->wire, fleet->base, fd);
	executor->is_connected = true;
}

/* Registration and report have a connection of their own, as those of the real ones have. */
static void begin(struct executor *executor, enum step step)
{
	if (!executor->is_connected || executor->step != step) {
		disconnect(executor);
		connect_to_am(executor);
	}
	executor->step = step;
	say(executor);
}

static void on_retry(evutil_socket_t fd, short what, void *data)
{
	struct executor *executor = data;

	begin(executor, executor->step);
}

/* ---- what an executor is told ------------------------------------------------------------- */

static bool is_told(const struct executor *executor, const char *order)
{
	return memmem(executor->front, executor->front_length, order, strlen(order));
}

static int told_number(const struct executor *executor, const char *member)
{
	const char *found = memmem(executor->front, executor->front_length, member, strlen(member));

	return found ? atoi(found + strlen(member)) : 0;
}

static int told_epoch(const struct executor *executor)
{
	return told_number(executor, "\"epoch\":");
}

/* An application master that did not know this executor before. */
static bool is_told_by_another(struct executor *executor)
{
	int before = executor->am_attempt;

	executor->am_attempt = told_number(executor, "\"am_attempt\":");
	return before > 0 && executor->am_attempt > before;
}

static void take_order(struct executor *executor)
{
	struct fleet *fleet = executor->fleet;

	if (is_told_by_another(executor)) {
		begin(executor, REGISTERING);
		return;
	}
	if (is_told(executor, "\"order\":\"run\"") && !executor->running_epoch) {
		executor->running_epoch = told_epoch(executor);
		executor->exited = false;
		told(fleet);
	} else if (is_told(executor, "\"order\":\"stop\"")) {
		executor->epoch = told_epoch(executor);
		executor->running_epoch = 0;
		told(fleet);
		return; /* registers when all are to */
	} else if (is_told(executor, "\"order\":\"quit\"")) {
		disconnect(executor);
		return;
	}
	begin(executor, BEATING);
}

static void take_answer(struct executor *executor)
{
	struct fleet *fleet = executor->fleet;
	enum step step = executor->step;

	if (executor->status != 200) {
		executor->front[executor->front_length] = '\0';
		if (fleet->retries == 0)
			fprintf(stderr, "scale-executors: %d %s\n", executor->status,
				executor->front);
		retry(executor);
	} else if (step == REGISTERING) {
		fleet->registered_us = now_us() - fleet->phase_began_us;
		if (fleet->phase == ADOPTING)
			told(fleet);
		begin(executor, BEATING);
	} else if (step == REPORTING) {
		executor->exited = true;
		begin(executor, BEATING);
	} else {
		note_beat(fleet, now_us() - executor->sent_us - fleet->interval_us);
		take_order(executor);
	}
}

static bool take_head(struct executor *executor)
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
		fprintf(stderr, "scale-executors: an answer that is none\n");
		exit(1);
	}
	executor->status = head.status;
	executor->left = (uint64_t)head.content_length;
	if (head.content_length > ORDER_BYTES)
		executor->fleet->spec_bytes += length + (uint64_t)head.content_length;
	executor->has_head = true;
	http_head_finish(&head);
	evbuffer_drain(input, length);
	return true;
}

static void on_input(void *data)
{
	struct executor *executor = data;
	struct evbuffer *input = executor->wire.input;
	size_t room = ORDER_BYTES - executor->front_length;

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

/* ---- commands ----------------------------------------------------------------------------- */

static void on_over(evutil_socket_t fd, short what, void *data)
{
	end_phase(data);
}

static void begin_phase(struct fleet *fleet, enum phase phase)
{
	fleet->phase = phase;
	fleet->phase_began_us = now_us();
	fleet->waited_for = fleet->count;
	fleet->spec_bytes = 0;
	fleet->retries = 0;
	fleet->registered_us = 0;
	fleet->late_count = 0;
}

static void obey(struct fleet *fleet, const char *command)
{
	int seconds;

	if (strcmp(command, "form\n") == 0) {
		begin_phase(fleet, FORMING);
		for (int i = 0; i < fleet->count; i++)
			begin(&fleet->executors[i], REGISTERING);
	} else if (sscanf(command, "beat %d", &seconds) == 1) {
		const struct timeval time = {.tv_sec = seconds};
		begin_phase(fleet, BEATS);
		event_add(&fleet->over, &time);
	} else if (strcmp(command, "fail\n") == 0) {
		begin_phase(fleet, FAILING);
		begin(&fleet->executors[0], REPORTING);
	} else if (strcmp(command, "adopt\n") == 0) {
		begin_phase(fleet, ADOPTING);
	} else {
		fprintf(stderr, "scale-executors: what is \"%s\"?\n", command);
		exit(2);
	}
}

static void on_command(evutil_socket_t fd, short what, void *data)
{
	struct fleet *fleet = data;
	char command[64];

	if (fgets(command, sizeof(command), stdin))
		obey(fleet, command);
	else
		event_base_loopbreak(fleet->base);
}

static void allow_open_files(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void prepare(struct fleet *fleet, char **argv)
{
	struct err err cleanup_err = {0};

	fleet->host = argv[1];
	fleet->token = fs_read_file(argv[2], 4096, NULL, &err);
	fleet->count = atoi(argv[3]);
	fleet->interval_us = 1000 * atoi(argv[4]);
	if (!fleet->token || net_address_parse(argv[1], &fleet->address, &err) < 0) {
		fprintf(stderr, "scale-executors: %s\n", err_message(&err));
		exit(2);
	}
	fleet->token[strcspn(fleet->token, "\n")] = '\0';
	fleet->base = event_base_new();
	event_assign(&fleet->over, fleet->base, -1, 0, on_over, fleet);
	fleet->executors = mem_alloc_array((size_t)fleet->count, sizeof(*fleet->executors));
	for (int i = 0; i < fleet->count; i++) {
		struct executor *executor = &fleet->executors[i];
		executor->fleet = fleet;
		executor->index = i;
		event_assign(&executor->retry, fleet->base, -1, 0, on_retry, executor);
	}
}

int main(int argc, char **argv)
{
	static struct fleet fleet;
	struct event command;

	if (argc != 5) {
		fprintf(stderr, "usage: scale-executors ADDRESS TOKEN-FILE TASKS INTERVAL-MS\n");
		return 2;
	}
	allow_open_files();
	prepare(&fleet, argv);
	setvbuf(stdin, NULL, _IONBF, 0);
	event_assign(&command, fleet.base, STDIN_FILENO, EV_READ | EV_PERSIST, on_command, &fleet);
	event_add(&command, NULL);
	event_base_dispatch(fleet.base);
	return 0;
}
