/* What is promised by summon.h. All doors are one server's, which holds what it is told until a
 * test answers it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "../job/machine_bed.h"
#include "am/summon.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/http_server.h"

enum { AN_HOUR_MS = 3600 * 1000, LOOPS_MAX = 100000 };

struct scene {
	struct bed *bed;
	struct event_base *base;
	struct http_server *server;
	struct summons *summons;
	struct http_request *held[1024]; /* NULL: answered */
	size_t told;
	struct str_list texts; /* what each task is to be told */
	int *times;	       /* that it was */
};

static void on_gone(void *data)
{
	*(struct http_request **)data = NULL;
}

static void on_told(void *data, struct http_request *request)
{
	struct scene *scene = data;
	size_t length;
	const char *body = http_request_body(request, &length);

	/* An executor believes the proof, and another one who listens there learns nothing by it.
	 */
	assert_null(http_request_header(request, "Authorization"));
	assert_null(strstr(body, "secret"));
	for (size_t i = 0; i < scene->texts.count; i++)
		scene->times[i] += str_equal(scene->texts.items[i], body);
	http_request_hold(request, on_gone, &scene->held[scene->told]);
	scene->held[scene->told++] = request;
}

static void open_door(struct scene *scene)
{
	static const struct http_route routes[] = {
		{.method = "POST",
		 .pattern = AM_CALL_PATH,
		 .handle = on_told,
		 .needs = HTTP_ACCESS_NONE},
	};
	const struct http_server_config config = {.address = "127.0.0.1:0",
						  .routes = routes,
						  .route_count = 1,
						  .data = scene,
						  .limits = {.idle_ms = AN_HOUR_MS}};

	scene->server = http_server_create(scene->base, &config, NULL);
	assert_non_null(scene->server);
}

/* So many workers, of which each has a door but the last. */
static struct scene *begin(size_t workers)
{
	static const struct am_call call = {.am_attempt = 2, .address = (char *)"h0:4000"};
	struct scene *scene = mem_alloc(sizeof(*scene));
	char *types cleanup_free = mem_printf("worker=%zu", workers);

	log_open("test", LOG_LEVEL_ERROR);
	scene->base = event_base_new();
	scene->bed = bed_create(types);
	scene->bed->job->id = mem_strdup("j");
	scene->bed->job->executor_give_up_ms = AN_HOUR_MS;
	scene->times = mem_alloc_array(workers, sizeof(*scene->times));
	open_door(scene);
	bed_submit(scene->bed);
	int port = atoi(strchr(http_server_address(scene->server), ':') + 1);
	for (size_t i = 0; i < workers; i++) {
		char *name cleanup_free = mem_printf("worker:%zu", i);
		const struct am_call_to to = {
			.token = "secret", .job = "j", .task = name, .attempt = 1};
		str_list_take(&scene->texts, am_call_text(&to, &call));
		assert_true(bed_allocate(scene->bed, name));
		const struct machine_event event = {.kind = EVENT_REGISTERED,
						    .task = i,
						    .attempt = 1,
						    .host = "127.0.0.1",
						    .port = 4000,
						    .door = i + 1 < workers ? port : 0};
		assert_true(machine_handle(scene->bed->machine, &event, scene->bed->now,
					   &scene->bed->actions));
	}
	scene->summons = summons_create(&(struct summons_options){
		.base = scene->base,
		.job = scene->bed->job,
		.machine = scene->bed->machine,
		.token = "secret",
		.call = call,
		.answer_ms = AN_HOUR_MS,
	});
	return scene;
}

static void answer(struct scene *scene, size_t number, int status)
{
	struct http_request *request = mem_steal(&scene->held[number]);

	if (status == 200)
		http_answer_json(request, 200, json_object());
	else
		http_answer_error(request, status, "no", "no");
}

static void end(struct scene *scene)
{
	summons_destroy(scene->summons);
	for (size_t i = 0; i < scene->told; i++)
		if (scene->held[i])
			answer(scene, i, 200);
	http_server_destroy(scene->server);
	bed_destroy(scene->bed);
	event_base_free(scene->base);
	str_list_finish(&scene->texts);
	free(scene->times);
	free(scene);
}

static void wait_told(struct scene *scene, size_t count)
{
	for (int i = 0; scene->told < count && i < LOOPS_MAX; i++)
		event_base_loop(scene->base, EVLOOP_ONCE);
	assert_int_equal(scene->told, count);
}

/* All that happens without waiting. */
static void run_idle(struct scene *scene)
{
	for (int i = 0; i < 50; i++)
		event_base_loop(scene->base, EVLOOP_NONBLOCK);
}

/* promise: S55 */
static void each_with_a_door_is_told_once(void **state)
{
	struct scene *scene = begin(4);

	wait_told(scene, 3);
	for (size_t i = 0; i < 3; i++)
		answer(scene, i, 200);
	run_idle(scene);
	/* Neither is there anything left to wait for but who connects. */
	assert_int_equal(scene->told, 3);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(scene->times[i], i < 3);
	end(scene);
}

static void who_cannot_listen_is_told_again(void **state)
{
	struct scene *scene = begin(2);

	wait_told(scene, 1);
	answer(scene, 0, 503);
	wait_told(scene, 2);
	answer(scene, 1, 409);
	run_idle(scene);
	assert_int_equal(scene->times[0], 2);
	end(scene);
}

/* Its port is another's by now. */
static void a_stranger_is_not_told_again(void **state)
{
	struct scene *scene = begin(2);

	wait_told(scene, 1);
	answer(scene, 0, 401);
	/* Until nothing is left but the server, which listens. */
	for (int i = 0;
	     i < LOOPS_MAX && event_base_get_num_events(scene->base, EVENT_BASE_COUNT_ADDED) > 1;
	     i++)
		event_base_loop(scene->base, EVLOOP_ONCE);
	assert_int_equal(event_base_get_num_events(scene->base, EVENT_BASE_COUNT_ADDED), 1);
	assert_int_equal(scene->told, 1);
	end(scene);
}

static void whose_container_has_ended_is_not_told(void **state)
{
	struct scene *scene = begin(3);

	wait_told(scene, 2);
	assert_true(bed_lose(scene->bed, "worker:0", CAUSE_NODE_LOST));
	for (size_t i = 0; i < 2; i++)
		answer(scene, i, 503);
	wait_told(scene, 3);
	run_idle(scene);
	assert_int_equal(scene->times[0] + scene->times[1], 3);
	assert_int_equal(scene->times[0], 1);
	end(scene);
}

/* What is looked at by the event loop once as many are on the wire as may be. */
static int added(size_t workers)
{
	struct scene *scene = begin(workers + 1);

	wait_told(scene, SUMMONS_AT_ONCE);
	run_idle(scene);
	assert_int_equal(scene->told, SUMMONS_AT_ONCE);
	int count = event_base_get_num_events(scene->base, EVENT_BASE_COUNT_ADDED);
	/* Each that is done makes way for another one. */
	for (size_t i = 0; i < workers; i++) {
		wait_told(scene, workers < SUMMONS_AT_ONCE + i ? workers : SUMMONS_AT_ONCE + i);
		answer(scene, i, 200);
	}
	run_idle(scene);
	for (size_t i = 0; i < workers; i++)
		assert_int_equal(scene->times[i], 1);
	end(scene);
	return count;
}

static void who_waits_for_a_turn_costs_nothing(void **state)
{
	assert_int_equal(added(SUMMONS_AT_ONCE), added(2 * SUMMONS_AT_ONCE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_with_a_door_is_told_once),
		cmocka_unit_test(who_cannot_listen_is_told_again),
		cmocka_unit_test(a_stranger_is_not_told_again),
		cmocka_unit_test(whose_container_has_ended_is_not_told),
		cmocka_unit_test(who_waits_for_a_turn_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
