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
 *   scale-executors ADDRESS TOKEN-FILE TASKS [tls]
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "fake_executor.h"
#include "lateness.h"
#include "net/tls.h"

enum phase { IDLE, FORMING, BEATS, FAILING, ADOPTING };

struct fleet {
	struct event_base *base;
	struct fake_am am;
	struct fake_executor *executors;
	int count;
	enum phase phase;
	int64_t phase_began_us;
	struct event over; /* of the beats */
	int waited_for;	   /* executors that have not been told yet */
	int registered;
	int64_t registered_us; /* the last one was, since the phase began */
	uint64_t spec_bytes;   /* of all answers with a spec */
	int retries;	       /* of connections that broke, and answers other than 200 */
	struct lateness lateness;
};

/* ---- phases ------------------------------------------------------------------------------- */

static void end_phase(struct fleet *fleet)
{
	double seconds = (double)(fake_executor_now_us() - fleet->phase_began_us) / 1e6;

	printf("{\"seconds\":%.3f,\"registered_seconds\":%.3f,\"spec_bytes\":%" PRIu64
	       ",\"retries\":%d,",
	       seconds, (double)fleet->registered_us / 1e6, fleet->spec_bytes, fleet->retries);
	lateness_print(&fleet->lateness);
	puts("}");
	fflush(stdout);
	fleet->phase = IDLE;
}

static void told(struct fleet *fleet)
{
	if (--fleet->waited_for == 0)
		end_phase(fleet);
}

/* ---- what executors are told -------------------------------------------------------------- */

static void on_registered(struct fake_executor *executor)
{
	struct fleet *fleet = executor->data;

	fleet->registered_us = fake_executor_now_us() - fleet->phase_began_us;
	if (fleet->phase == ADOPTING)
		told(fleet);
}

/* An executor that stopped registers when all are to. */
static void on_told(struct fake_executor *executor)
{
	told(executor->data);
}

static void on_quit(struct fake_executor *executor)
{
}

static void on_beaten(struct fake_executor *executor, int64_t late_us)
{
	struct fleet *fleet = executor->data;

	if (fleet->phase == BEATS)
		lateness_add(&fleet->lateness, late_us);
}

static void on_spec(struct fake_executor *executor, uint64_t bytes)
{
	struct fleet *fleet = executor->data;

	fleet->spec_bytes += bytes;
}

static void on_retry(struct fake_executor *executor, int status, const char *answer)
{
	struct fleet *fleet = executor->data;

	if (status && fleet->retries == 0)
		fprintf(stderr, "scale-executors: %d %s\n", status, answer);
	fleet->retries++;
}

static const struct fake_executor_events events = {
	.registered = on_registered,
	.run = on_told,
	.stopped = on_told,
	.quit = on_quit,
	.beaten = on_beaten,
	.spec = on_spec,
	.retries = on_retry,
};

/* ---- commands ----------------------------------------------------------------------------- */

static void on_over(evutil_socket_t fd, short what, void *data)
{
	end_phase(data);
}

static void begin_phase(struct fleet *fleet, enum phase phase)
{
	fleet->phase = phase;
	fleet->phase_began_us = fake_executor_now_us();
	fleet->waited_for = fleet->count;
	fleet->spec_bytes = 0;
	fleet->retries = 0;
	fleet->registered_us = 0;
}

static void obey(struct fleet *fleet, const char *command)
{
	int seconds;

	if (strcmp(command, "form\n") == 0) {
		begin_phase(fleet, FORMING);
		for (int i = 0; i < fleet->count; i++)
			fake_executor_register(&fleet->executors[i]);
	} else if (sscanf(command, "beat %d", &seconds) == 1) {
		const struct timeval time = {.tv_sec = seconds};
		begin_phase(fleet, BEATS);
		event_add(&fleet->over, &time);
	} else if (strcmp(command, "fail\n") == 0) {
		begin_phase(fleet, FAILING);
		fake_executor_exit(&fleet->executors[0], 1);
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

static void prepare_executor(struct fleet *fleet, int index)
{
	struct fake_executor *executor = &fleet->executors[index];

	*executor = (struct fake_executor){
		.base = fleet->base,
		.events = &events,
		.data = fleet,
		.am = &fleet->am,
		.task = mem_printf("worker:%d", index),
		.attempt = 1,
		.host = mem_printf("node-%04d.cluster.example.com", index / 8),
		.log_dir =
			mem_printf("/data/%d/logs/application_1/container_%06d", index % 8, index),
		.port = 32768 + (int)((unsigned)index * 2654435761u % 28000),
	};
	fake_executor_init(executor);
}

static void prepare(struct fleet *fleet, char **argv)
{
	struct err err cleanup_err = {0};
	char *token = fs_read_file(argv[2], 4096, NULL, &err);

	if (!token || net_address_parse(argv[1], &fleet->am.address, &err) < 0) {
		fprintf(stderr, "scale-executors: %s\n", err_message(&err));
		exit(2);
	}
	token[strcspn(token, "\n")] = '\0';
	fleet->am.host = argv[1];
	fleet->am.token = token;
	fleet->am.tls = argv[4] ? tls_context_create_shared(token) : NULL;
	fleet->count = atoi(argv[3]);
	fleet->base = event_base_new();
	event_assign(&fleet->over, fleet->base, -1, 0, on_over, fleet);
	fleet->executors = mem_alloc_array((size_t)fleet->count, sizeof(*fleet->executors));
	for (int i = 0; i < fleet->count; i++)
		prepare_executor(fleet, i);
}

int main(int argc, char **argv)
{
	static struct fleet fleet;
	struct event command;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: scale-executors ADDRESS TOKEN-FILE TASKS [tls]\n");
		return 2;
	}
	fake_executor_allow_files();
	prepare(&fleet, argv);
	setvbuf(stdin, NULL, _IONBF, 0);
	event_assign(&command, fleet.base, STDIN_FILENO, EV_READ | EV_PERSIST, on_command, &fleet);
	event_add(&command, NULL);
	event_base_dispatch(fleet.base);
	return 0;
}
