/* Promises of elastic.h, over the wire: the elastic rendezvous as Horovod's processes use
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../net/peer.h"
#include "../api_bed.h"
#include "am/horovod/worker_service.h"
#include "base/base64.h"
#include "base/log.h"
#include "base/mem.h"
#include "framework/horovod_place.h"

static void make_live(struct bed *bed)
{
	struct job_type *worker = bed_type(bed, "worker");

	mem_replace(&bed->job->framework, mem_strdup("horovod"));
	bed->job->live_elastic = true;
	worker->min_instances = 1;
	worker->max_instances = worker->instances + 1;
}

/* `front`, the name of the task's process, and `rear`; valid until the next call. */
static const char *path(struct api_bed *bed, const char *front, const char *task, const char *rear)
{
	static char text[256];
	const struct task *of = bed_look(bed->bed, task);
	char *name cleanup_free = horovod_process_name(&(struct horovod_process){
		.host = of->host,
		.type = "worker",
		.slot = of->index,
		.attempt = of->attempt,
		.epoch = of->epoch,
		.restart = of->restart,
	});

	snprintf(text, sizeof(text), "%s%s%s", front, name, rear);
	return text;
}

static void come(struct api_bed *bed, const char *task)
{
	api_bed_allocate(bed, task);
	bed_register(bed->bed, task);
	api_bed_apply(bed);
}

static void lose(struct api_bed *bed, const char *task)
{
	bed_lose(bed->bed, task, CAUSE_NODE_LOST);
	api_bed_apply(bed);
}

static void scale(struct api_bed *bed, int count)
{
	const struct machine_event event = {.kind = EVENT_SCALE, .type = 0, .count = count};

	assert_true(machine_handle(bed->bed->machine, &event, bed->bed->now, &bed->bed->actions));
	api_bed_apply(bed);
}

static void pass(struct api_bed *bed)
{
	bed_pass(bed->bed, 1);
	api_bed_apply(bed);
}

/* With the local rank that it had when it began, whatever its place is by now. */
static void ask_place(struct api_bed *bed, const char *task, struct reply *reply)
{
	ask_stream(bed, reply, path(bed, "/rank_and_size/", task, ":0"), NULL);
	api_bed_run_idle(bed);
	assert_false(reply->done);
}

static void expect_place(struct reply *reply, const char *place)
{
	reply_wait(reply);
	assert_int_equal(reply->status, 200);
	assert_string_equal(str_text(&reply->text), place);
	reply_finish(reply);
}

static void form_first_ring(struct api_bed *bed)
{
	struct reply first, second;

	come(bed, "worker:0");
	come(bed, "worker:1");
	ask_place(bed, "worker:0", &first);
	ask_stream(bed, &second, path(bed, "/rank_and_size/", "worker:1", ":0"), NULL);
	expect_place(&first, "0,2,0,2,0,1");
	expect_place(&second, "1,2,1,2,0,1");
}

static void expect_status(struct api_bed *bed, const char *method, const char *what,
			  const char *body, int status)
{
	struct reply reply;

	ask(bed, &reply, method, what, body);
	assert_int_equal(reply.status, status);
	reply_finish(&reply);
}

/* ------------------------------------------------------------------------------------------- */

static void survivors_get_new_places(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", make_live);
	struct reply survivor;

	form_first_ring(bed);
	ask_place(bed, "worker:1", &survivor);
	lose(bed, "worker:0");
	expect_place(&survivor, "0,1,0,1,0,1");
	api_bed_destroy(bed);
}

static void who_has_gone_does_not_ask_any_more(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", make_live);
	struct reply first, second;

	form_first_ring(bed);
	ask_place(bed, "worker:0", &first);
	reply_finish(&first);
	api_bed_run_idle(bed);
	ask_place(bed, "worker:1", &second);
	ask_stream(bed, &first, path(bed, "/rank_and_size/", "worker:0", ":0"), NULL);
	expect_place(&first, "0,2,0,2,0,1");
	expect_place(&second, "1,2,1,2,0,1");
	api_bed_destroy(bed);
}

/* Its own name is no host that its neighbours know. */
static void processes_of_a_host_meet_there(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", make_live);

	form_first_ring(bed);
	expect_status(bed, "PUT", path(bed, "/local_", "worker:0", "/0"), "x", 200);
	expect_status(bed, "GET", path(bed, "/local_", "worker:1", "/0"), NULL, 200);
	expect_status(bed, "GET", path(bed, "/local_", "worker:1", "/1"), NULL, 404);
	expect_status(bed, "PUT", path(bed, "/local_", "worker:0", "_process_set_hash_1f/0"), "x",
		      200);
	expect_status(bed, "GET", path(bed, "/local_", "worker:1", "_process_set_hash_1f/0"), NULL,
		      200);
	expect_status(bed, "DELETE", path(bed, "/local_", "worker:0", "/0"), NULL, 200);
	expect_status(bed, "GET", path(bed, "/local_", "worker:1", "/0"), NULL, 200);
	expect_status(bed, "DELETE", path(bed, "/local_", "worker:1", "/1"), NULL, 200);
	expect_status(bed, "GET", path(bed, "/local_", "worker:1", "/0"), NULL, 404);
	api_bed_destroy(bed);
}

/* What Horovod would put of a service at this address. */
static char *describe_service(const char *address)
{
	static const char front[] = "\x80\x05}\x8c\x02lo]\x8c\x09"
				    "127.0.0.1M";
	static const char rear[] = "\x86"
				   "asC 0123456789abcdef0123456789abcdef\x86.";
	struct str pickle cleanup_str = {0};
	int port = atoi(strrchr(address, ':') + 1);

	str_append_bytes(&pickle, front, sizeof(front) - 1);
	str_append_char(&pickle, (char)(port & 0xff));
	str_append_char(&pickle, (char)(port >> 8));
	str_append_bytes(&pickle, rear, sizeof(rear) - 1);
	return base64_encode(pickle.text, pickle.length);
}

static void rank_0_is_told_until_it_asks(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", make_live);
	char *address cleanup_free = NULL;
	int listener = peer_listen(&address);
	evutil_make_socket_nonblocking(listener);
	char *service cleanup_free = describe_service(address);
	struct peer call;
	struct reply first, second, newcomer;

	form_first_ring(bed);
	expect_status(bed, "PUT", path(bed, "/worker_addresses/", "worker:0", ":0"), service, 200);
	scale(bed, 3);
	come(bed, "worker:2");
	pass(bed);
	ask_place(bed, "worker:2", &newcomer);
	for (int times = 0; times < 2; times++) {
		int fd;
		while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0)
			event_base_loop(bed->base, EVLOOP_ONCE);
		peer_take(&call, bed->base, fd);
		while (call.received.length < 130)
			event_base_loop(bed->base, EVLOOP_ONCE);
		assert_non_null(memmem(call.received.text, call.received.length,
				       "HostsUpdatedRequest", strlen("HostsUpdatedRequest")));
		peer_close(&call);
		str_finish(&call.received);
	}
	ask_place(bed, "worker:0", &first);
	ask_stream(bed, &second, path(bed, "/rank_and_size/", "worker:1", ":1"), NULL);
	expect_place(&first, "0,3,0,3,0,1");
	expect_place(&second, "1,3,1,3,0,1");
	expect_place(&newcomer, "2,3,2,3,0,1");
	close(listener);
	api_bed_destroy(bed);
}

static void count_warning(void *data, const char *text)
{
	if (strstr(text, "cannot be told"))
		++*(int *)data;
}

/* Of all that strangers can put there one line is written, of a name that is in the ring. */
/* promise: S48 */
static void what_is_no_service_is_passed_over(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", make_live);
	int warnings = 0;

	form_first_ring(bed);
	log_divert(count_warning, &warnings);
	for (int i = 0; i < 3; i++) {
		expect_status(bed, "PUT", "/worker_addresses/stranger:0", "what", 200);
		assert_int_equal(warnings, i > 0);
		expect_status(bed, "PUT", path(bed, "/worker_addresses/", "worker:0", ":0"), "what",
			      200);
		assert_int_equal(warnings, 1);
	}
	log_divert(NULL, NULL);
	api_bed_destroy(bed);
}

/* Those of Dask live through changes, too, but meet elsewhere. */
static void make_live_dask(struct bed *bed)
{
	make_live(bed);
	mem_replace(&bed->job->framework, mem_strdup("dask"));
}

static void other_jobs_have_no_such_paths(void **state)
{
	void (*const tunes[])(struct bed * bed) = {NULL, make_live_dask};

	for (size_t i = 0; i < array_length(tunes); i++) {
		struct api_bed *bed = api_bed_create("worker=2", tunes[i]);
		expect_status(bed, "GET", "/rank_and_size/a:0", NULL, 404);
		expect_status(bed, "PUT", "/global/0", "x", 404);
		api_bed_destroy(bed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survivors_get_new_places),
		cmocka_unit_test(who_has_gone_does_not_ask_any_more),
		cmocka_unit_test(processes_of_a_host_meet_there),
		cmocka_unit_test(rank_0_is_told_until_it_asks),
		cmocka_unit_test(what_is_no_service_is_passed_over),
		cmocka_unit_test(other_jobs_have_no_such_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
