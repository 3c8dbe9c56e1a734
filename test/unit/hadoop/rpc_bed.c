#include "rpc_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "proto/yarn.pb-c.h"

enum { AN_HOUR_MS = 3600 * 1000 };

static const struct rpc_method once = {
	"getNewApplication",
	&hadoop__get_new_application_request_proto__descriptor,
	&hadoop__get_new_application_response_proto__descriptor,
	false,
};

int bed_open(void **state)
{
	struct bed *bed = mem_alloc(sizeof(*bed));

	log_open("test", LOG_LEVEL_ERROR);
	bed->base = event_base_new();
	fake_server_open(&bed->first, bed->base);
	fake_server_open(&bed->second, bed->base);
	bed->options = (struct rpc_options){
		.service = &RM_CLIENT,
		.user = "alice",
		.connect_timeout_ms = AN_HOUR_MS,
		.call_timeout_ms = AN_HOUR_MS,
		.retry_interval_ms = 1,
		.max_wait_ms = -1,
	};
	str_list_add(&bed->options.addresses, bed->first.address);
	str_list_add(&bed->options.addresses, bed->second.address);
	bed->first.on_call = answer_seven;
	bed->second.on_call = answer_seven;
	for (size_t i = 0; i < array_length(bed->outcomes); i++)
		bed->outcomes[i].bed = bed;
	*state = bed;
	return 0;
}

int bed_close(void **state)
{
	struct bed *bed = *state;

	rpc_client_destroy(bed->client);
	fake_server_close(&bed->first);
	fake_server_close(&bed->second);
	str_list_finish(&bed->options.addresses);
	event_base_free(bed->base);
	free(bed);
	return 0;
}

void bed_use_one(struct bed *bed)
{
	str_list_finish(&bed->options.addresses);
	str_list_add(&bed->options.addresses, bed->first.address);
}

struct rpc_client *bed_client(struct bed *bed)
{
	if (!bed->client)
		bed->client = rpc_client_create(bed->base, &bed->options, NULL);
	assert_non_null(bed->client);
	return bed->client;
}

static void on_done(void *data, const ProtobufCMessage *response, const struct rpc_error *error)
{
	struct outcome *outcome = data;

	assert_false(outcome->is_done);
	outcome->is_done = true;
	outcome->order = ++outcome->bed->told;
	outcome->has_response = response != NULL;
	if (response) {
		assert_null(error);
		outcome->application = ((const Hadoop__GetNewApplicationResponseProto *)response)
					       ->application_id->id;
		return;
	}
	outcome->kind = error->kind;
	snprintf(outcome->class, sizeof(outcome->class), "%s", error->class ? error->class : "");
	snprintf(outcome->text, sizeof(outcome->text), "%s", error->text);
}

static void start(struct bed *bed, const struct rpc_method *method, int number)
{
	const Hadoop__GetNewApplicationRequestProto request =
		HADOOP__GET_NEW_APPLICATION_REQUEST_PROTO__INIT;

	bed->outcomes[number].is_done = false;
	bed->calls[number] = rpc_call_start(bed_client(bed), method, &request.base, on_done,
					    &bed->outcomes[number]);
	assert_false(bed->outcomes[number].is_done);
}

void bed_call(struct bed *bed, int number)
{
	start(bed, &RM_GET_NEW_APPLICATION, number);
}

void bed_call_once(struct bed *bed, int number)
{
	start(bed, &once, number);
}

void bed_wait(struct bed *bed, int number)
{
	while (!bed->outcomes[number].is_done)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

void bed_run(struct bed *bed, int number)
{
	bed_call(bed, number);
	bed_wait(bed, number);
}

void assert_application(const struct outcome *outcome, int application)
{
	assert_true(outcome->is_done);
	if (!outcome->has_response)
		fail_msg("%s", outcome->text);
	assert_int_equal(outcome->application, application);
}

void assert_error(const struct outcome *outcome, enum rpc_error_kind kind, const char *class,
		  const char *part)
{
	assert_true(outcome->is_done);
	assert_false(outcome->has_response);
	if (outcome->kind != kind || !strstr(outcome->text, part))
		fail_msg("kind %d instead of %d, or \"%s\" does not say \"%s\"", outcome->kind,
			 kind, outcome->text, part);
	assert_string_equal(outcome->class, class ? class : "");
	/* One line that names server and method. */
	assert_non_null(strstr(outcome->text, "ResourceManager at 127.0.0.1:"));
	assert_non_null(strstr(outcome->text, ": getNewApplication: "));
	assert_null(strchr(outcome->text, '\n'));
}

void answer_seven(struct fake_connection *connection, const struct fake_call *call)
{
	fake_answer(connection, call->id, 7);
}
