/* What http_client.h promises of compressed answers and of the last call of a connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/str.h"
#include "net/http_client.h"
#include "peer.h"
#include "server.h"

struct outcome {
	bool is_done;
	int status; /* -1: no answer */
	enum err_kind kind;
	struct str text; /* the body, or the error */
};

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct outcome *outcome = data;

	outcome->is_done = true;
	outcome->status = response ? response->status : -1;
	outcome->kind = err->kind;
	if (response)
		str_append_bytes(&outcome->text, response->body, response->length);
	else
		str_append(&outcome->text, err_message(err));
}

static void ask(struct http_client *client, struct event_base *base, struct http_question question,
		struct outcome *outcome)
{
	str_finish(&outcome->text);
	*outcome = (struct outcome){0};
	question.method = "GET";
	question.done = on_done;
	question.data = outcome;
	http_client_start(client, &question);
	run_until(base, &outcome->is_done);
}

static void ask_compressed(struct http_client *client, struct event_base *base, const char *path,
			   struct outcome *outcome)
{
	ask(client, base, (struct http_question){.path = path, .takes_gzip = true}, outcome);
}

static void test_compressed_answers(void **state)
{
	struct fixture fixture;
	struct outcome outcome = {0};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	ask_compressed(client, fixture.base, "/gzip?bytes=1000000", &outcome);
	assert_int_equal(outcome.status, 200);
	assert_int_equal(outcome.text.length, 1000000);
	assert_int_equal(strspn(outcome.text.text, "x"), 1000000);
	/* It may be asked again on the same connection, also for what is not compressed. */
	ask_compressed(client, fixture.base, "/gzip?bytes=0", &outcome);
	assert_int_equal(outcome.status, 200);
	assert_int_equal(outcome.text.length, 0);
	ask_compressed(client, fixture.base, "/echo?text=plain", &outcome);
	assert_string_equal(outcome.text.text, "plain");
	assert_int_equal(http_server_connection_count(fixture.server), 1);
	/* Who does not take it is not sent it. */
	ask(client, fixture.base, (struct http_question){.path = "/gzip?bytes=3"}, &outcome);
	assert_string_equal(outcome.text.text, "xxx");

	ask_compressed(client, fixture.base, "/gzip?bytes=1000&cut=1", &outcome);
	assert_int_equal(outcome.status, -1);
	assert_int_equal(outcome.kind, ERR_INPUT);
	assert_non_null(strstr(outcome.text.text, "cut off"));
	/* 100 KiB on the wire, more than the cap unpacked. */
	ask_compressed(client, fixture.base, "/gzip?bytes=100000000", &outcome);
	assert_int_equal(outcome.kind, ERR_INPUT);
	assert_non_null(strstr(outcome.text.text, "too large"));
	ask_compressed(client, fixture.base, "/gzip?bytes=10", &outcome);
	assert_string_equal(outcome.text.text, "xxxxxxxxxx");
	str_finish(&outcome.text);
	http_client_destroy(client);
	fixture_close(&fixture);
}

static void test_last_call_of_a_connection(void **state)
{
	struct fixture fixture;
	struct outcome outcome = {0};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	ask(client, fixture.base, (struct http_question){.path = "/echo?text=bye", .is_last = true},
	    &outcome);
	assert_string_equal(outcome.text.text, "bye");
	while (http_server_connection_count(fixture.server) > 0)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	ask(client, fixture.base, (struct http_question){.path = "/echo?text=again"}, &outcome);
	assert_string_equal(outcome.text.text, "again");
	str_finish(&outcome.text);
	http_client_destroy(client);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compressed_answers),
		cmocka_unit_test(test_last_call_of_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
