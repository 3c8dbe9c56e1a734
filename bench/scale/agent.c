/*
 * The application master as it is, with one scheduler more: "bench" gives every container at once
 * and starts nothing in it, so that simulated executors (executors.c) can come instead.
 */
#include <event2/event.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "am/am_main.h"
#include "base/mem.h"
#include "base/str.h"
#include "scheduler/local.h"

enum { NEWS_AT_ONCE = 64 }; /* then the AM's other events have their turn */

struct news {
	size_t task;
	int attempt;
	bool ended;
};

struct bench {
	struct scheduler scheduler;
	struct scheduler_listener listener;
	struct event_base *base;
	struct event *tell;
	struct news *news;
	size_t first, count, capacity;
};

static struct bench *bench_of(struct scheduler *scheduler)
{
	return (struct bench *)scheduler;
}

static void tell_soon(struct bench *bench)
{
	const struct timeval now = {0};

	event_add(bench->tell, &now);
}

static void add(struct bench *bench, struct news news)
{
	if (bench->count == bench->capacity) {
		bench->capacity = bench->capacity ? 2 * bench->capacity : 64;
		bench->news = mem_realloc_array(bench->news, bench->capacity, sizeof(*bench->news));
	}
	bench->news[bench->count++] = news;
	tell_soon(bench);
}

static void on_tell(evutil_socket_t fd, short what, void *data)
{
	struct bench *bench = data;
	const struct scheduler_listener *listener = &bench->listener;
	const struct cause none = {0};

	for (int turn = 0; turn < NEWS_AT_ONCE && bench->first < bench->count; turn++) {
		struct news news = bench->news[bench->first++];
		char *name cleanup_free = mem_printf("container-%zu-%d", news.task, news.attempt);
		if (news.ended)
			listener->ended(listener->data, news.task, news.attempt, &none);
		else
			listener->allocated(listener->data, news.task, news.attempt, name,
					    "127.0.0.1");
	}
	if (bench->first < bench->count)
		tell_soon(bench);
	else
		bench->first = bench->count = 0;
}

static struct scheduler *open_bench(const struct scheduler_setup *setup, struct err *err)
{
	struct bench *bench = mem_alloc(sizeof(*bench));

	bench->listener = setup->listener;
	bench->base = setup->base;
	bench->tell = event_new(setup->base, -1, 0, on_tell, bench);
	return &bench->scheduler;
}

static int find_place(const char *job_dir, struct scheduler_place *place, struct err *err)
{
	return local_scheduler.find_place(job_dir, place, err);
}

static int hold(const struct job *job, const char *job_dir, struct scheduler_hold *hold,
		struct err *err)
{
	return 0;
}

static void clean(const struct job *job, const char *job_dir, struct scheduler_hold *hold)
{
}

static void publish(const struct job *job, const char *job_dir)
{
}

static bool is_here(void)
{
	return false;
}

static void request(struct scheduler *scheduler, const struct scheduler_request *requests,
		    size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(bench_of(scheduler),
		    (struct news){.task = requests[i].task, .attempt = requests[i].attempt});
}

/* It is given already. */
static void cancel(struct scheduler *scheduler, size_t task, int attempt)
{
}

static void launch(struct scheduler *scheduler, const struct scheduler_launch *launch)
{
}

static void release(struct scheduler *scheduler, size_t task, int attempt, int64_t grace_ms)
{
	add(bench_of(scheduler), (struct news){.task = task, .attempt = attempt, .ended = true});
}

static char *log_path(struct scheduler *scheduler, size_t task, const char *name)
{
	return NULL;
}

static bool finish(struct scheduler *scheduler, const struct scheduler_end *how,
		   void (*done)(void *data), void *data)
{
	return true;
}

/* There is nothing in containers, and none ends by itself. */
static void adopt(struct scheduler *scheduler, const struct scheduler_adoption *items, size_t count)
{
}

static void close_bench(struct scheduler *scheduler)
{
	struct bench *bench = bench_of(scheduler);

	event_free(bench->tell);
	free(bench->news);
	free(bench);
}

static const struct scheduler_traits bench_traits = {.name = "bench", .one_host = true};

static const struct scheduler_ops bench_scheduler = {
	.traits = &bench_traits,
	.guardian = {.hold = hold, .clean = clean, .publish = publish},
	.container = {.is_here = is_here},
	.find_place = find_place,
	.open = open_bench,
	.request = request,
	.cancel = cancel,
	.launch = launch,
	.release = release,
	.log_path = log_path,
	.adopt = adopt,
	.finish = finish,
	.close = close_bench,
};

/* The linker puts the one in place of the other (--wrap). */
const struct scheduler_ops *__real_scheduler_find(const char *name);
const struct scheduler_ops *__wrap_scheduler_find(const char *name);

const struct scheduler_ops *__wrap_scheduler_find(const char *name)
{
	return str_equal(name, bench_traits.name) ? &bench_scheduler : __real_scheduler_find(name);
}

int main(int argc, char **argv)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	if (argc > 1 && strcmp(argv[1], "am") == 0)
		return am_main(argc - 1, argv + 1);
	fprintf(stderr, "usage: scale-agent am --job-dir DIR\n");
	return 2;
}
