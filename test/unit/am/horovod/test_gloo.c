/* What is promised by gloo.h, over the wire: Horovod's paths, bodies and codes (its
 * runner/http/http_server.py and common/gloo/http_store.cc), and that a ring meets in a store of
 * its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../net/peer.h"
#include "../api_bed.h"
#include "am/horovod/gloo.h"
#include "am/horovod/gloo_store.h"
#include "am/kv.h"
#include "base/mem.h"

/* Two processes on host a, one on host b. */
static struct slot members[] = {
	{.host = "a",
	 .rank = 0,
	 .local_rank = 0,
	 .local_size = 2,
	 .cross_rank = 0,
	 .cross_size = 2},
	{.host = "a",
	 .rank = 1,
	 .local_rank = 1,
	 .local_size = 2,
	 .cross_rank = 0,
	 .cross_size = 1},
	{.host = "b",
	 .rank = 2,
	 .local_rank = 0,
	 .local_size = 1,
	 .cross_rank = 1,
	 .cross_size = 2},
};
static const struct slots ring = {.items = members, .count = array_length(members)};

enum { VALUE_MAX = 64 << 10 }; /* of a small ring */

static struct event_base *base;
static struct gloo *gloo;

static int open_store(void **state)
{
	base = event_base_new();
	gloo = gloo_create(base, "127.0.0.1:0", "node-7.example", &ring, "1 0", NULL, NULL);
	return gloo ? 0 : -1;
}

static int close_store(void **state)
{
	gloo_destroy(gloo);
	event_base_free(base);
	return 0;
}

/* ---- asking ------------------------------------------------------------------------------- */

struct call {
	struct http_client *client;
	bool done;
	int status;
	struct str body;
};

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct call *call = data;

	if (!response)
		fail_msg("%s", err_message(err));
	call->done = true;
	call->status = response->status;
	str_append_bytes(&call->body, response->body, response->length);
}

/* Without a token, on a connection of its own, as Horovod's client does. */
static void begin(struct call *call, const char *method, const char *path, const void *body,
		  size_t length)
{
	const struct http_question question = {.method = method,
					       .path = path,
					       .body = body,
					       .body_length = length,
					       .done = on_done,
					       .data = call};

	*call = (struct call){0};
	call->client = http_client_create(base, gloo_address(gloo), NULL, NULL);
	http_client_start(call->client, &question);
}

static void await(struct call *call)
{
	while (!call->done)
		event_base_loop(base, EVLOOP_ONCE);
}

static void finish(struct call *call)
{
	http_client_destroy(call->client);
	str_finish(&call->body);
}

static int status_of(const char *method, const char *path, const void *body, size_t length)
{
	struct call call;

	begin(&call, method, path, body, length);
	await(&call);
	finish(&call);
	return call.status;
}

static void put(const char *path)
{
	assert_int_equal(status_of("PUT", path, "x", 1), 200);
}

static void delete (const char *path)
{
	assert_int_equal(status_of("DELETE", path, NULL, 0), 200);
}

static void expect_there(const char *path, bool there)
{
	int status = status_of("GET", path, NULL, 0);

	if (status != (there ? 200 : 404))
		fail_msg("%s: %d", path, status);
}

static void expect_bytes(const char *path, const void *bytes, size_t length)
{
	struct call call;

	begin(&call, "GET", path, NULL, 0);
	await(&call);
	assert_int_equal(call.status, 200);
	assert_int_equal(call.body.length, length);
	assert_memory_equal(str_text(&call.body), bytes, length);
	finish(&call);
}

/* ---- the store ---------------------------------------------------------------------------- */

static void values_are_opaque_and_there_at_once(void **state)
{
	char address[136] = "\0\r\n\xff";

	expect_there("/global/0", false);
	assert_int_equal(status_of("PUT", "/global/0", address, sizeof(address)), 200);
	expect_bytes("/global/0", address, sizeof(address));
	/* Of a ring, or a host, of one process nothing is said but that it is there. */
	assert_int_equal(status_of("PUT", "/local_b/0", NULL, 0), 200);
	expect_bytes("/local_b/0", "", 0);
	assert_int_equal(status_of("PUT", "/global/0", "new", 3), 200);
	expect_bytes("/global/0", "new", 3);
	expect_there("/local_a/0", false);
}

static void requests_overlap(void **state)
{
	struct call calls[40];
	char path[32];

	for (size_t i = 0; i < array_length(calls); i++) {
		snprintf(path, sizeof(path), "/global/%zu", i / 2);
		begin(&calls[i], i % 2 ? "GET" : "PUT", path, path, i % 2 ? 0 : strlen(path));
	}
	for (size_t i = 0; i < array_length(calls); i++) {
		await(&calls[i]);
		assert_true(calls[i].status == 200 || calls[i].status == 404);
		finish(&calls[i]);
	}
	expect_bytes("/global/19", "/global/19", 10);
}

static void a_scope_is_emptied_when_all_have_left_it(void **state)
{
	put("/global/0");
	put("/global/rank_0");
	put("/local_a/0");
	put("/globals/0");
	delete ("/global/0");
	delete ("/global/2");
	delete ("/global/2"); /* its answer got lost */
	delete ("/global/3"); /* no member */
	delete ("/global/x");
	expect_there("/global/0", true);
	delete ("/global/1");
	expect_there("/global/0", false);
	expect_there("/global/rank_0", false);
	expect_there("/local_a/0", true);
	expect_there("/globals/0", true);
	/* From then on it is as new. */
	put("/global/0");
	delete ("/global/1");
	expect_there("/global/0", true);
}

static void hosts_and_local_ranks_have_scopes_of_their_size(void **state)
{
	put("/local_a/0");
	put("/local_b/0");
	put("/cross_0/1");
	put("/cross_1/0");
	delete ("/local_b/0");
	delete ("/cross_1/0");
	expect_there("/local_b/0", false);
	expect_there("/cross_1/0", false);
	delete ("/local_a/0");
	delete ("/cross_0/0");
	expect_there("/local_a/0", true);
	expect_there("/cross_0/1", true);
	delete ("/local_a/1");
	delete ("/cross_0/1");
	expect_there("/local_a/0", false);
	expect_there("/cross_0/1", false);
}

/* Of process sets, whose size nobody tells. */
static void of_another_scope_the_key_is_removed(void **state)
{
	put("/global_process_set_hash_1f/0");
	put("/global_process_set_hash_1f/1");
	delete ("/global_process_set_hash_1f/0");
	delete ("/global_process_set_hash_1f/0");
	expect_there("/global_process_set_hash_1f/0", false);
	expect_there("/global_process_set_hash_1f/1", true);
}

static void the_rest_is_refused(void **state)
{
	char long_key[KV_KEY_MAX + 16], *large cleanup_free = mem_alloc(KV_VALUE_MAX + 1);

	memset(long_key, 'k', sizeof(long_key));
	memcpy(long_key, "/global/", 8);
	long_key[sizeof(long_key) - 1] = '\0';
	assert_int_equal(status_of("PUT", long_key, "x", 1), 400);
	assert_int_equal(status_of("PUT", "/global/0", large, KV_VALUE_MAX + 1), 413);
	assert_int_equal(status_of("GET", "/global", NULL, 0), 404);
	assert_int_equal(status_of("GET", "/v1/kv/a", NULL, 0), 404);
	assert_int_equal(status_of("POST", "/global/0", "x", 1), 405);
}

/* promise: S48 */
static void a_large_ring_needs_more(void **state)
{
	assert_int_equal(gloo_store_value_max(3), 64 << 10);
	assert_int_equal(gloo_store_total_max(3), 16 << 20);
	/* The address of each of the others is 136 bytes, and twice the ring is on its way. */
	assert_true(gloo_store_value_max(1000) >= 1000 * 136);
	assert_true(gloo_store_total_max(1000) >= (size_t)2 * 1000 * 1000 * 136);
}

/* ---- the AM that follows ------------------------------------------------------------------ */

/* Its AM is gone, and another one comes. */
static void follow(const char *name, const char *file)
{
	gloo_destroy(gloo);
	gloo = gloo_create(base, "127.0.0.1:0", "node-7.example", &ring, name, file, NULL);
	assert_non_null(gloo);
}

static void expect_at_host(const char *host, const char *status)
{
	char *request cleanup_free = mem_printf("GET /global/0 HTTP/1.1\r\nHost: %s\r\n\r\n", host);
	struct peer peer;

	peer_open(&peer, base, gloo_address(gloo));
	peer_send(&peer, request);
	peer_expect(&peer, base, status);
	peer_close(&peer);
}

/* Horovod's client asks the host that HOROVOD_GLOO_RENDEZVOUS_ADDR names, and says so. */
/* promise: S50 */
static void a_ring_asks_its_rendezvous_by_name(void **state)
{
	put("/global/0");
	expect_at_host("node-7.example", "200 OK");
	expect_at_host("127.0.0.1", "200 OK");
	expect_at_host("evil.example", "400 Bad Request");
}

/* promise: S48 */
static void a_store_that_is_full_takes_what_it_knows(void **state)
{
	char *value cleanup_free = mem_alloc(VALUE_MAX + 1), path[32];
	char file[] = "/tmp/tony-test-gloo-XXXXXX";
	struct stat kept;
	int taken = 0;

	close(mkstemp(file));
	follow("1 0", file);
	assert_int_equal(status_of("PUT", "/global/0", value, VALUE_MAX + 1), 413);
	assert_int_equal(status_of("PUT", "/global/0", value, VALUE_MAX), 200);
	while (snprintf(path, sizeof(path), "/evil/%d", taken),
	       status_of("PUT", path, value, VALUE_MAX) == 200)
		taken++;
	assert_in_range(taken, 250, 256);
	for (int i = 0; i < 600; i++)
		assert_int_equal(status_of("PUT", "/global/0", value, VALUE_MAX), 200);
	assert_int_equal(status_of("PUT", "/evil/0", "", 0), 200);
	put("/global/1");
	assert_int_equal(stat(file, &kept), 0);
	assert_in_range(kept.st_size, 16 << 20, 34 << 20);
	follow("1 0", file);
	expect_bytes("/global/0", value, VALUE_MAX);
	assert_int_equal(unlink(file), 0);
}

/* promise: R40 */
static void a_ring_that_forms_goes_on_with_the_next_am(void **state)
{
	char file[] = "/tmp/tony-test-gloo-XXXXXX";

	close(mkstemp(file));
	follow("1 0", file);
	char *before cleanup_free = mem_strdup(gloo_address(gloo));
	assert_int_equal(status_of("PUT", "/global/0", "first", 5), 200);
	put("/local_b/0");
	put("/cross_1/0");
	delete ("/cross_1/0"); /* its only member: the scope is as new */
	delete ("/global/1");
	delete ("/global/1");
	follow("1 0", file);
	assert_string_equal(gloo_address(gloo), before);
	expect_bytes("/global/0", "first", 5);
	expect_there("/local_b/0", true);
	expect_there("/cross_1/0", false);
	delete ("/global/1"); /* it has said so to the AM before */
	delete ("/global/2");
	expect_there("/global/0", true);
	follow("1 0", file);
	delete ("/global/0");
	expect_there("/global/0", false);
	put("/global/1");
	delete ("/global/0");
	expect_there("/global/1", true);
	/* Another ring begins with nothing. */
	follow("2 0", file);
	expect_there("/global/1", false);
	expect_there("/local_b/0", false);
	assert_int_equal(unlink(file), 0);
}

/* Who has the port now must not be taken for the ring's. */
/* promise: R40 */
static void a_port_that_somebody_else_got_is_left_to_them(void **state)
{
	char file[] = "/tmp/tony-test-gloo-XXXXXX";

	close(mkstemp(file));
	follow("1 0", file);
	put("/global/0");
	char *before cleanup_free = mem_strdup(gloo_address(gloo));
	gloo_destroy(gloo);
	struct gloo *other = gloo_create(base, before, NULL, &ring, "9 0", NULL, NULL);
	gloo = gloo_create(base, "127.0.0.1:0", "node-7.example", &ring, "1 0", file, NULL);
	assert_non_null(other);
	assert_non_null(gloo);
	assert_string_not_equal(gloo_address(gloo), before);
	expect_there("/global/0", true);
	gloo_destroy(other);
	assert_int_equal(unlink(file), 0);
}

/* ---- whose it is -------------------------------------------------------------------------- */

static void as_horovod(struct bed *bed)
{
	mem_replace(&bed->job->framework, mem_strdup("horovod"));
	bed->job->fail_fast = true;
	bed->job->retry_count = 1;
	bed->job->retry_delay_ms = 0;
}

static void register_at(struct api_bed *bed, const char *task, int epoch, int port)
{
	char *path cleanup_free = mem_printf("/v1/tasks/%s/register", task);
	struct reply reply;

	ask(bed, &reply, "POST", path, register_text(1, epoch, port));
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
}

/* What the task is told of the rendezvous when it is to start; "" when nothing. */
static char *rendezvous_of(struct api_bed *bed, const char *task, int epoch)
{
	char *path cleanup_free = mem_printf("/v1/tasks/%s/beat", task);
	struct reply reply;

	ask(bed, &reply, "POST", path, beat_text(1, epoch == 1 ? 0 : epoch, 0, "waiting"));
	assert_string_equal(reply_member(&reply, "order"), "run");
	assert_int_equal(reply_number(&reply, "epoch"), epoch);
	const json_t *cluster = json_object_get(reply.json, "cluster");
	const char *told = json_string_value(json_object_get(cluster, "rendezvous"));
	char *text = mem_strdup(told ? told : "");
	reply_finish(&reply);
	return text;
}

static void on_answer(void *data, const struct http_response *response, const struct err *err)
{
	*(int *)data = response ? response->status : -1;
}

/* -1: nobody listens there. */
static int ask_store(struct api_bed *bed, const char *address, const char *method)
{
	int status = 0;
	const struct http_question question = {
		.method = method, .path = "/global/0", .done = on_answer, .data = &status};
	struct http_client *client = http_client_create(bed->base, address, NULL, NULL);

	http_client_start(client, &question);
	while (status == 0)
		event_base_loop(bed->base, EVLOOP_ONCE);
	http_client_destroy(client);
	return status;
}

static void a_ring_that_forms_anew_has_a_store_of_its_own(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2 board=1:sidecar", as_horovod);
	struct reply reply;

	bring_in(bed, "worker:0", 4001);
	bring_in(bed, "worker:1", 4002);
	bring_in(bed, "board:0", 4003);
	char *first cleanup_free = rendezvous_of(bed, "worker:0", 1);
	char *same cleanup_free = rendezvous_of(bed, "worker:1", 1);
	assert_true(str_starts_with(first, "127.0.0.1:"));
	assert_string_not_equal(first, api_address(bed->api));
	assert_string_equal(first, same);
	assert_int_equal(ask_store(bed, first, "PUT"), 200);

	ask(bed, &reply, "POST", "/v1/tasks/worker:0/exit", exit_text(1, 1, 0, 1));
	reply_finish(&reply);
	register_at(bed, "worker:0", 2, 4011);
	register_at(bed, "worker:1", 2, 4012);
	char *second cleanup_free = rendezvous_of(bed, "worker:1", 2);
	assert_string_not_equal(first, second);
	assert_int_equal(ask_store(bed, first, "GET"), -1);
	assert_int_equal(ask_store(bed, second, "GET"), 404);
	api_bed_destroy(bed);
}

/* A task outside of the ring that starts later changes nothing for those in it. */
static void a_ring_keeps_its_store(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1 board=1:sidecar", as_horovod);

	bring_in(bed, "worker:0", 4001);
	bring_in(bed, "board:0", 4002);
	char *first cleanup_free = rendezvous_of(bed, "worker:0", 1);
	assert_int_equal(ask_store(bed, first, "PUT"), 200);
	assert_int_equal(api_cluster_formed(bed->api, NULL), 0);
	char *again cleanup_free = rendezvous_of(bed, "board:0", 1);
	assert_string_equal(first, again);
	assert_int_equal(ask_store(bed, first, "GET"), 200);
	api_bed_destroy(bed);
}

static void depend(struct bed *bed)
{
	as_horovod(bed);
	bed_depend(bed, "worker", "data", false);
}

/* The ranks of both stages begin at 0. */
static void a_stage_that_follows_has_a_store_of_its_own(void **state)
{
	struct api_bed *bed = api_bed_create("data=1 worker=1", depend);
	struct reply reply;

	bring_in(bed, "data:0", 4001);
	char *first cleanup_free = rendezvous_of(bed, "data:0", 1);
	ask(bed, &reply, "POST", "/v1/tasks/data:0/exit", exit_text(1, 1, 0, 0));
	reply_finish(&reply);
	bring_in(bed, "worker:0", 4002);
	char *second cleanup_free = rendezvous_of(bed, "worker:0", 1);
	assert_string_not_equal(first, second);
	assert_int_equal(ask_store(bed, first, "GET"), -1);
	api_bed_destroy(bed);
}

static void other_frameworks_have_none(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", NULL);

	bring_in(bed, "worker:0", 4001);
	char *none cleanup_free = rendezvous_of(bed, "worker:0", 1);
	assert_string_equal(none, "");
	api_bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(values_are_opaque_and_there_at_once, open_store,
						close_store),
		cmocka_unit_test_setup_teardown(requests_overlap, open_store, close_store),
		cmocka_unit_test_setup_teardown(a_scope_is_emptied_when_all_have_left_it,
						open_store, close_store),
		cmocka_unit_test_setup_teardown(hosts_and_local_ranks_have_scopes_of_their_size,
						open_store, close_store),
		cmocka_unit_test_setup_teardown(of_another_scope_the_key_is_removed, open_store,
						close_store),
		cmocka_unit_test_setup_teardown(the_rest_is_refused, open_store, close_store),
		cmocka_unit_test_setup_teardown(a_store_that_is_full_takes_what_it_knows,
						open_store, close_store),
		cmocka_unit_test(a_large_ring_needs_more),
		cmocka_unit_test_setup_teardown(a_ring_asks_its_rendezvous_by_name, open_store,
						close_store),
		cmocka_unit_test_setup_teardown(a_ring_that_forms_goes_on_with_the_next_am,
						open_store, close_store),
		cmocka_unit_test_setup_teardown(a_port_that_somebody_else_got_is_left_to_them,
						open_store, close_store),
		cmocka_unit_test(a_ring_that_forms_anew_has_a_store_of_its_own),
		cmocka_unit_test(a_ring_keeps_its_store),
		cmocka_unit_test(a_stage_that_follows_has_a_store_of_its_own),
		cmocka_unit_test(other_frameworks_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
