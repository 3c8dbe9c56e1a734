/* Starting, stopping and watching containers on NodeManagers that answer, refuse, vanish or keep
 * quiet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fake_rm.h"
#include "hadoop/message.h"
#include "hadoop/node_manager.h"

enum { GIVE_UP_MS = 1500, SILENCE_MS = 500, AN_HOUR_MS = 3600 * 1000 };
enum { LONG_GIVE_UP_MS = 5000 }; /* time to see that others do not wait for it, on a busy machine */

struct bed {
	struct event_base *base;
	struct fake_rm first, second; /* as NodeManagers */
	struct node_managers *managers;
	struct str told;
	int refusals; /* so many times, nothing is to be done now */
};

#define TELL(...) str_append_format(&((struct bed *)data)->told, __VA_ARGS__)

static void on_started(void *data, const char *container)
{
	TELL("started %s\n", container + strlen(container) - 1);
}

static void on_failed(void *data, const char *container, const char *text)
{
	TELL("failed %s: %s\n", container + strlen(container) - 1, text);
}

static void on_stopped(void *data, const char *container, const char *failure)
{
	TELL("stopped %s: %s\n", container + strlen(container) - 1, failure ? failure : "well");
}

static void on_completed(void *data, const Hadoop__ContainerStatusProto *status)
{
	TELL("completed %d\n", (int)status->container_id->id);
}

static void wait_told(struct bed *bed, const char *part)
{
	while (!strstr(str_text(&bed->told), part))
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static bool may_act(void *data)
{
	struct bed *bed = data;

	return bed->refusals == 0 || --bed->refusals == 0;
}

static int port_of(const struct fake_rm *node)
{
	return atoi(strchr(node->server.address, ':') + 1);
}

static void give_token(struct bed *bed, struct fake_rm *node, const char *token)
{
	Hadoop__NMTokenProto proto = HADOOP__NMTOKEN_PROTO__INIT;
	Hadoop__NodeIdProto id = HADOOP__NODE_ID_PROTO__INIT;
	Hadoop__TokenProto inner = HADOOP__TOKEN_PROTO__INIT;

	id.host = "127.0.0.1";
	id.has_port = true;
	id.port = port_of(node);
	inner.identifier = inner.password = (ProtobufCBinaryData){strlen(token), (uint8_t *)token};
	inner.kind = "NMToken";
	inner.service = "";
	proto.nodeid = &id;
	proto.token = &inner;
	node_managers_set_token(bed->managers, &proto);
	node->token = token;
}

static int open_with(void **state, int64_t silence_ms, int64_t give_up_ms)
{
	struct bed *bed = mem_alloc(sizeof(*bed));

	log_open("test", LOG_LEVEL_ERROR);
	bed->base = event_base_new();
	rm_open(&bed->first, bed->base);
	rm_open(&bed->second, bed->base);
	const struct node_managers_options options = {
		.rpc = {.user = "alice",
			.require_sasl = true,
			.connect_timeout_ms = silence_ms,
			.call_timeout_ms = silence_ms,
			.retry_interval_ms = 1},
		.give_up_ms = give_up_ms,
		.events = {bed, on_started, on_failed, on_stopped, on_completed, may_act},
	};
	bed->managers = node_managers_create(bed->base, &options);
	give_token(bed, &bed->first, "one");
	give_token(bed, &bed->second, "two");
	*state = bed;
	return 0;
}

static int open_bed(void **state)
{
	return open_with(state, AN_HOUR_MS, GIVE_UP_MS);
}

/* Which does not wait for who keeps quiet. */
static int open_impatient(void **state)
{
	return open_with(state, SILENCE_MS, LONG_GIVE_UP_MS);
}

static int close_bed(void **state)
{
	struct bed *bed = *state;

	node_managers_destroy(bed->managers);
	rm_close(&bed->first);
	rm_close(&bed->second);
	str_finish(&bed->told);
	event_base_free(bed->base);
	free(bed);
	return 0;
}

static void start_at(struct bed *bed, int port, int number)
{
	Hadoop__ContainerLaunchContextProto context = HADOOP__CONTAINER_LAUNCH_CONTEXT_PROTO__INIT;
	struct fake_rm mouth = {0};
	Hadoop__ContainerProto *container = rm_give(&mouth, 1, 1, number, "127.0.0.1", port);

	node_managers_start(bed->managers, container, &context);
	message_free(mouth.next);
}

static void start(struct bed *bed, const struct fake_rm *node, int number)
{
	start_at(bed, port_of(node), number);
}

static void order(struct bed *bed, const struct fake_rm *node, int number,
		  void (*what)(struct node_managers *managers, const Hadoop__NodeIdProto *node,
			       const Hadoop__ContainerIdProto *container))
{
	Hadoop__NodeIdProto id = HADOOP__NODE_ID_PROTO__INIT;
	Hadoop__ContainerIdProto *container = rm_container_id(number);

	id.host = "127.0.0.1";
	id.has_port = true;
	id.port = port_of(node);
	what(bed->managers, &id, container);
	message_free(container);
}

static void stop(struct bed *bed, const struct fake_rm *node, int number)
{
	order(bed, node, number, node_managers_stop);
}

/* ------------------------------------------------------------------------------------------- */

static void those_of_one_turn_are_one_call(void **state)
{
	struct bed *bed = *state;

	start(bed, &bed->first, 2);
	start(bed, &bed->second, 3);
	start(bed, &bed->first, 4);
	wait_told(bed, "started 2\nstarted 4\n");
	wait_told(bed, "started 3\n");
	assert_string_equal(bed->first.log.text, "start 2 4\n");
	assert_string_equal(bed->second.log.text, "start 3\n");
}

static void without_a_token_nothing_is_tried(void **state)
{
	struct bed *bed = *state;

	start_at(bed, 1, 2);
	wait_told(bed, "failed 2: NodeManager 127.0.0.1:1: the ResourceManager sent no token");
}

static void a_refusal_is_final(void **state)
{
	struct bed *bed = *state;

	bed->first.refusal = "Unauthorized request to start container. \nThis token is expired.";
	bed->first.refusal_class = "org.apache.hadoop.yarn.exceptions.YarnException";
	start(bed, &bed->first, 2);
	wait_told(bed, "did not start it: Unauthorized request to start container. This token is "
		       "expired.");
	assert_string_equal(bed->first.log.text, "start 2\n");
}

static void what_runs_already_is_started(void **state)
{
	struct bed *bed = *state;

	bed->first.refusal = "Unauthorized request to start container. \nAttempt to relaunch the "
			     "same container with id container_1.";
	bed->first.refusal_class = "org.apache.hadoop.yarn.exceptions.YarnException";
	start(bed, &bed->first, 2);
	wait_told(bed, "started 2\n");
}

/* Nobody knows whether the call did what it should before the connection broke. */
static void a_start_of_unknown_fate_is_repeated(void **state)
{
	struct bed *bed = *state;

	bed->first.is_silent = true;
	start(bed, &bed->first, 2);
	rm_wait(&bed->first, "start 2\n");
	bed->first.is_silent = false;
	fake_hang_up(bed->first.server.connections);
	wait_told(bed, "started 2\n");
	rm_wait(&bed->first, "start 2\n");
}

static void one_that_comes_up_is_waited_for(void **state)
{
	struct bed *bed = *state;

	bed->first.error = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException";
	start(bed, &bed->first, 2);
	wait_told(bed, "started 2\n");
}

static void one_that_keeps_quiet_is_given_up(void **state)
{
	struct bed *bed = *state;

	bed->first.is_silent = true;
	start(bed, &bed->first, 2);
	start(bed, &bed->second, 3);
	wait_told(bed, "started 3\n");
	stop(bed, &bed->first, 5);
	wait_told(bed, "stopped 5: well\n");
	assert_null(strstr(bed->told.text, "failed"));
	wait_told(bed, "failed 2: ");
	assert_non_null(strstr(bed->told.text, bed->first.server.address));
}

static void one_that_is_not_there_is_given_up(void **state)
{
	struct bed *bed = *state;
	struct fake_rm nobody = {.server.address = fake_free_address()};

	give_token(bed, &nobody, "three");
	start(bed, &nobody, 2);
	wait_told(bed, "failed 2: ");
	assert_non_null(strstr(bed->told.text, "refused"));
	free(nobody.server.address);
}

static void the_newest_token_is_used(void **state)
{
	struct bed *bed = *state;

	start(bed, &bed->first, 2);
	wait_told(bed, "started 2\n");
	give_token(bed, &bed->first, "three");
	fake_hang_up(bed->first.server.connections);
	start(bed, &bed->first, 3);
	wait_told(bed, "started 3\n");
	assert_int_equal(bed->first.server.accepted, 2);
}

static void what_is_gone_is_stopped(void **state)
{
	struct bed *bed = *state;

	bed->first.refusal = "Container container_1 is not handled by this NodeManager";
	bed->first.refusal_class = "org.apache.hadoop.yarn.exceptions.YarnException";
	stop(bed, &bed->first, 2);
	wait_told(bed, "stopped 2: well\n");
	bed->first.refusal = "User is not allowed to stop it";
	stop(bed, &bed->first, 3);
	wait_told(bed, "did not stop it: User is not allowed");
}

static void what_is_watched_is_looked_at_until_it_has_ended(void **state)
{
	struct bed *bed = *state;

	order(bed, &bed->first, 2, node_managers_watch);
	order(bed, &bed->first, 3, node_managers_watch);
	rm_wait(&bed->first, "look 2 3\n");
	assert_null(strstr(str_text(&bed->told), "completed"));
	bed->first.ended = 3;
	wait_told(bed, "completed 3\n");
	rm_wait(&bed->first, "look 2\n");
	bed->first.ended = 2;
	wait_told(bed, "completed 2\n");
}

/* The ResourceManager will tell. */
static void what_the_node_manager_does_not_know_is_not_watched(void **state)
{
	struct bed *bed = *state;

	bed->first.refusal = "Container 2 was recently stopped on node manager.";
	bed->first.refusal_class = "org.apache.hadoop.yarn.exceptions.YarnException";
	order(bed, &bed->first, 2, node_managers_watch);
	rm_wait(&bed->first, "look 2\n");
	bed->first.refusal = NULL;
	order(bed, &bed->first, 3, node_managers_watch);
	rm_wait(&bed->first, "look 3\n");
	assert_false(rm_said(&bed->first, "look 2 3"));
}

static void nobody_is_told_anything_while_that_is_not_wanted(void **state)
{
	struct bed *bed = *state;

	bed->refusals = 3;
	start(bed, &bed->first, 2);
	while (bed->refusals > 1)
		event_base_loop(bed->base, EVLOOP_ONCE);
	assert_string_equal(str_text(&bed->first.log), "");
	wait_told(bed, "started 2\n");
	bed->refusals = 3;
	stop(bed, &bed->first, 2);
	while (bed->refusals > 1)
		event_base_loop(bed->base, EVLOOP_ONCE);
	assert_false(rm_said(&bed->first, "stop"));
	wait_told(bed, "stopped 2: well\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bed, close_bed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(those_of_one_turn_are_one_call),
		TEST(without_a_token_nothing_is_tried),
		TEST(a_refusal_is_final),
		TEST(what_runs_already_is_started),
		TEST(a_start_of_unknown_fate_is_repeated),
		TEST(one_that_comes_up_is_waited_for),
		cmocka_unit_test_setup_teardown(one_that_keeps_quiet_is_given_up, open_impatient,
						close_bed),
		TEST(one_that_is_not_there_is_given_up),
		TEST(the_newest_token_is_used),
		TEST(what_is_gone_is_stopped),
		TEST(what_is_watched_is_looked_at_until_it_has_ended),
		TEST(what_the_node_manager_does_not_know_is_not_watched),
		TEST(nobody_is_told_anything_while_that_is_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
