#include "am/summon.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "framework/address.h"
#include "net/backoff.h"
#include "net/http_client.h"

enum {
	ANSWER_MS = 5000, /* unless the options say otherwise */
	FIRST_RETRY_MS = 100,
	RETRY_CAP_MS = 2000,
};

/* It waits for its turn, is on the wire, waits for another try, or needs no more. */
struct summon {
	struct summons *summons;
	TAILQ_ENTRY(summon) link; /* while it waits for its turn */
	size_t task;
	int attempt;
	struct http_client *client; /* NULL: not on the wire */
	struct event *timer;	    /* of another try */
	struct backoff backoff;
};

struct summons {
	struct summons_options options;
	struct summon *items;
	size_t count, on_wire;
	TAILQ_HEAD(, summon) waiting;
	int64_t deadline;
};

static const struct task *task_of(const struct summon *summon)
{
	return machine_task(summon->summons->options.machine, summon->task);
}

static void leave_wire(struct summon *summon)
{
	if (summon->client)
		summon->summons->on_wire--;
	http_client_destroy(summon->client);
	summon->client = NULL;
}

static void try_again(struct summon *summon)
{
	timer_start(summon->timer, backoff_next(&summon->backoff, random_u64()));
}

static void ask_next(struct summons *summons);

static void on_answer(void *data, const struct http_response *response, const struct err *err)
{
	struct summon *summon = data;

	leave_wire(summon);
	/* 401: somebody else listens there by now. 409: it knows. */
	if (response && response->status == 401)
		log_info("task %zu: its executor is not there any more", summon->task);
	if (!response || response->status >= 500)
		try_again(summon);
	ask_next(summon->summons);
}

static void ask(struct summon *summon)
{
	const struct summons_options *options = &summon->summons->options;
	const struct task *task = task_of(summon);
	char *name cleanup_free = job_task_name(options->job, task->type, task->index);
	const struct am_call_to to = {.token = options->token,
				      .job = options->job->id,
				      .task = name,
				      .attempt = summon->attempt};
	char *text cleanup_free = am_call_text(&to, &options->call);
	const struct cluster_address door = {.host = task->host, .port = task->door};
	char *address cleanup_free = address_text(&door);

	summon->client = http_client_create(options->base, address, NULL, NULL);
	if (!summon->client)
		return;
	summon->summons->on_wire++;
	http_client_start(summon->client, &(struct http_question){.method = "POST",
								  .path = AM_CALL_PATH,
								  .body = text,
								  .body_length = strlen(text),
								  .timeout_ms = options->answer_ms,
								  .done = on_answer,
								  .data = summon});
}

static bool is_wanted(const struct summon *summon)
{
	const struct task *task = task_of(summon);

	return task->attempt == summon->attempt && task->has_container && task->host &&
	       clock_monotonic_ms() <= summon->summons->deadline;
}

/* As many as may be on the wire. */
static void ask_next(struct summons *summons)
{
	struct summon *summon;

	while (summons->on_wire < SUMMONS_AT_ONCE && (summon = TAILQ_FIRST(&summons->waiting))) {
		TAILQ_REMOVE(&summons->waiting, summon, link);
		if (is_wanted(summon))
			ask(summon);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct summon *summon = data;

	TAILQ_INSERT_TAIL(&summon->summons->waiting, summon, link);
	ask_next(summon->summons);
}

struct summons *summons_create(const struct summons_options *options)
{
	struct summons *summons = mem_alloc(sizeof(*summons));
	size_t task_count = machine_task_count(options->machine);

	summons->options = *options;
	if (summons->options.answer_ms == 0)
		summons->options.answer_ms = ANSWER_MS;
	summons->deadline = clock_monotonic_ms() + options->job->executor_give_up_ms;
	summons->items = mem_alloc_array(task_count, sizeof(*summons->items));
	TAILQ_INIT(&summons->waiting);
	for (size_t i = 0; i < task_count; i++) {
		const struct task *task = machine_task(options->machine, i);
		if (!task->has_container || task->door == 0)
			continue;
		struct summon *summon = &summons->items[summons->count++];
		*summon = (struct summon){
			.summons = summons,
			.task = i,
			.attempt = task->attempt,
			.timer = evtimer_new(options->base, on_timer, summon),
			.backoff = {.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS},
		};
		TAILQ_INSERT_TAIL(&summons->waiting, summon, link);
	}
	ask_next(summons);
	return summons;
}

void summons_destroy(struct summons *summons)
{
	if (!summons)
		return;
	for (size_t i = 0; i < summons->count; i++) {
		leave_wire(&summons->items[i]);
		event_free(summons->items[i].timer);
	}
	free(summons->items);
	free(summons);
}
