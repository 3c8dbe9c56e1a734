/* A job with TLS (tony.application.tls): executors and clients speak it, by the token, at the AM's
 * port, and nobody else; browsers look at another one, at which no token is good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../net/peer.h"
#include "api_bed.h"
#include "base/mem.h"

#define CLOSE "Host: localhost:4000\r\nConnection: close\r\n"
#define TOKEN "Authorization: Bearer " BED_TOKEN "\r\n"

static void seal(struct bed *bed)
{
	bed->job->tls = true;
}

static int set_up(void **state)
{
	*state = api_bed_create("worker=2", seal);
	return 0;
}

static int tear_down(void **state)
{
	api_bed_destroy(*state);
	return 0;
}

/* Asks without TLS; "": no byte came. The caller frees. */
static char *answer_at(struct api_bed *bed, const char *address, const char *request,
		       const char *headers)
{
	char *text cleanup_free = mem_printf("%s HTTP/1.1\r\n" CLOSE "%s\r\n", request, headers);
	struct peer peer;

	peer_open(&peer, bed->base, address);
	peer_send(&peer, text);
	peer_expect_end(&peer, bed->base);
	char *answer = mem_strdup(str_text(&peer.received));
	peer_close(&peer);
	return answer;
}

static void expect_page(struct api_bed *bed, const char *request, const char *headers,
			const char *text)
{
	char *answer cleanup_free = answer_at(bed, api_pages_address(bed->api), request, headers);

	if (!strstr(answer, text))
		fail_msg("%s %s: no \"%s\" in: %s", request, headers, text, answer);
}

static void test_executors_and_clients(void **state)
{
	struct api_bed *bed = *state;
	struct reply first, reply;

	bring_in(bed, "worker:0", 4000);
	bring_in(bed, "worker:1", 4001);
	ask(bed, &first, "POST", "/v1/tasks/worker:0/beat", beat_text(1, 0, 0, "waiting"));
	assert_string_equal(reply_member(&first, "order"), "run");
	ask(bed, &reply, "GET", "/v1/job", NULL);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply_member(&reply, "id"), "tony-test");
	reply_finish(&reply);
	reply_finish(&first);
}

/* promise: S91 */
static void test_the_am_answers_nothing_without_tls(void **state)
{
	static const char *const requests[] = {"GET /", "GET /v1/server", "GET /v1/job",
					       "POST /v1/job/kill"};
	struct api_bed *bed = *state;

	for (size_t i = 0; i < array_length(requests); i++) {
		char *answer cleanup_free =
			answer_at(bed, api_address(bed->api), requests[i], TOKEN);
		assert_string_equal(answer, "");
	}
}

/* promise: S93 */
static void test_no_token_is_good_where_browsers_look(void **state)
{
	struct api_bed *bed = *state;

	assert_string_not_equal(api_pages_address(bed->api), api_address(bed->api));
	expect_page(bed, "GET /", "", "200 OK");
	expect_page(bed, "GET /v1/server", "", "{\"kind\":\"am\"}");
	expect_page(bed, "GET /v1/job", "", "401 ");
	expect_page(bed, "GET /v1/job", TOKEN, "401 ");
	expect_page(bed, "POST /v1/job/kill", TOKEN, "401 ");
	expect_page(bed, "POST /v1/links", TOKEN, "401 ");
	expect_page(bed, "POST /v1/tasks/worker:0/beat", TOKEN, "401 ");
}

/* promise: S93 */
static void test_links_lead_browsers_there(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	ask(bed, &reply, "POST", "/v1/links", "{}");
	assert_string_equal(reply_member(&reply, "pages"), api_pages_address(bed->api));
	char *way cleanup_free = mem_printf("GET /%s", reply_member(&reply, "path"));
	reply_finish(&reply);
	char *answer cleanup_free = answer_at(bed, api_pages_address(bed->api), way, "");
	const char *cookie = strstr(answer, "Set-Cookie: ");
	assert_non_null(cookie);
	cookie += strlen("Set-Cookie: ");
	char *header cleanup_free =
		mem_printf("Cookie: %.*s\r\n", (int)strcspn(cookie, ";"), cookie);
	expect_page(bed, "GET /v1/job", header, "200 OK");
	expect_page(bed, "POST /v1/job/kill", header, "401 ");
}

/* promise: S101 */
static void test_a_link_changes_nothing_where_there_is_no_tls(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	ask(bed, &reply, "POST", "/v1/links?control=1", NULL);
	char *way cleanup_free = mem_printf("GET /%s", reply_member(&reply, "path"));
	reply_finish(&reply);
	char *answer cleanup_free = answer_at(bed, api_pages_address(bed->api), way, "");
	const char *cookie = strstr(answer, "Set-Cookie: ") + strlen("Set-Cookie: ");
	const char *secret = strstr(answer, "control=") + strlen("control=");
	char *headers cleanup_free = mem_printf(
		"Cookie: %.*s\r\nX-Tony-Control: %.*s\r\nOrigin: http://localhost:4000\r\n",
		(int)strcspn(cookie, ";"), cookie, (int)strcspn(secret, "\r"), secret);
	expect_page(bed, "GET /v1/job", headers, "200 OK");
	expect_page(bed, "POST /v1/job/kill", headers, "401 ");
}

static void on_drained(void *data)
{
	*(bool *)data = true;
}

static void test_both_ports_are_drained(void **state)
{
	struct api_bed *bed = *state;
	struct peer looker;
	bool is_drained = false;

	peer_open(&looker, bed->base, api_pages_address(bed->api));
	peer_send(&looker, "GET /v1/server HTTP/1.1\r\nHost: localhost:4000\r\n\r\n");
	peer_expect(&looker, bed->base, "200 OK");
	api_drain(bed->api, 1000 * 1000, on_drained, &is_drained);
	run_until(bed->base, &is_drained);
	peer_expect_end(&looker, bed->base);
	peer_close(&looker);
}

#define NEW_TOKENS "{\"bytes\":\"bmV3\"}"

/* The next beat says that it has them. */
static void test_new_tokens_come_with_the_answer_to_a_beat(void **state)
{
	struct api_bed *bed = *state;
	struct reply held, reply;

	bring_in(bed, "worker:0", 4000);
	bring_in(bed, "worker:1", 4001);
	ask_later(bed, &held, "POST", "/v1/tasks/worker:0/beat", beat_text(1, 1, 0, "running"));
	assert_false(held.done);
	ask(bed, &reply, "PUT", "/v1/job/tokens", NEW_TOKENS);
	assert_int_equal(reply.status, 200);
	assert_string_equal(bed->tokens, "new");
	reply_finish(&reply);
	reply_wait(&held);
	const json_t *tokens = json_object_get(held.json, "tokens");
	assert_string_equal(json_string_value(json_object_get(tokens, "bytes")), "bmV3");
	int64_t number = json_integer_value(json_object_get(tokens, "number"));
	reply_finish(&held);
	char *beat cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,\"state\":"
					     "\"running\",\"pids\":[],\"tokens\":%lld}",
					     (long long)number);
	ask_later(bed, &held, "POST", "/v1/tasks/worker:0/beat", beat);
	assert_false(held.done);
	reply_finish(&held);
}

static void expect_end(struct api_bed *bed, const char *renewed_by, int64_t good_until_ms)
{
	struct reply reply;

	ask(bed, &reply, "GET", "/v1/job/tokens", NULL);
	assert_string_equal(reply_member(&reply, "renewed_by"), renewed_by);
	assert_int_equal(reply_number(&reply, "good_until_ms"), good_until_ms);
	reply_finish(&reply);
}

/* The scheduler renews the first ones, and knows no others. */
static void test_end_of_tokens_is_told(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	expect_end(bed, "", -1);
	bed->has_tokens = true;
	expect_end(bed, "scheduler", 100000);
	ask(bed, &reply, "PUT", "/v1/job/tokens", NEW_TOKENS);
	reply_finish(&reply);
	expect_end(bed, "nobody", 51000);
}

static void expect_refused(struct api_bed *bed, const char *body)
{
	struct reply reply;

	ask(bed, &reply, "PUT", "/v1/job/tokens", body);
	assert_int_equal(reply.status, 400);
	assert_null(bed->tokens);
	reply_finish(&reply);
}

static void test_what_are_no_tokens_is_refused(void **state)
{
	expect_refused(*state, "{\"bytes\":\"YmFk\"}");
	expect_refused(*state, "{\"bytes\":\"=\"}");
	expect_refused(*state, "{\"bytes\":7}");
	expect_refused(*state, "{}");
	expect_refused(*state, "new");
}

/* Of its executors one has them of the AM before. */
static void test_an_am_that_follows_takes_newer_tokens_over(void **state)
{
	struct api_bed *bed = *state;
	struct reply held, reply;

	bring_in(bed, "worker:0", 4000);
	ask_later(bed, &held, "POST", "/v1/tasks/worker:0/beat", beat_text(1, 0, 0, "waiting"));
	api_bed_allocate(bed, "worker:1");
	ask(bed, &reply, "POST", "/v1/tasks/worker:1/register",
	    "{\"attempt\":1,\"epoch\":0,\"host\":\"127.0.0.1\",\"port\":4001,"
	    "\"tokens\":{\"number\":7,\"bytes\":\"bmV3\"}}");
	assert_int_equal(reply.status, 200);
	assert_string_equal(bed->tokens, "new");
	reply_finish(&reply);
	reply_wait(&held);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(held.json, "tokens"), "number")),
		7);
	reply_finish(&held);
}

/* promise: S94 */
static void test_without_tls_no_tokens_are_taken(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", NULL);
	struct reply reply;

	ask(bed, &reply, "PUT", "/v1/job/tokens", NEW_TOKENS);
	assert_int_equal(reply.status, 409);
	assert_null(bed->tokens);
	reply_finish(&reply);
	api_bed_destroy(bed);
}

/* ---- users whom the scheduler names ------------------------------------------------------- */

static void let_in(struct bed *bed)
{
	seal(bed);
	mem_replace(&bed->job->user, mem_strdup("alice"));
	json_decref(bed->job->config);
	bed->job->config =
		json_pack("{s:{s:s},s:{s:s}}", "tony.application.acl.view", "value", "bob,carol",
			  "tony.application.acl.modify", "value", "carol,dave");
}

/* -1: nothing was answered. */
static void expect_status(struct api_bed *bed, const char *user, const char *question, int status)
{
	const char *path = strchr(question, ' ') + 1;
	char *method cleanup_free = mem_strndup(question, (size_t)(path - question) - 1);
	char *secret cleanup_free = user ? mem_printf("secret of %s", user) : NULL;
	struct reply reply;

	bed->user = user;
	bed->secret = secret;
	ask(bed, &reply, method, path, str_equal(method, "POST") ? "{}" : NULL);
	if (reply.status != status)
		fail_msg("%s: %s: %d in place of %d: %s", user, question, reply.status, status,
			 str_text(&reply.text));
	reply_finish(&reply);
	bed->user = bed->secret = NULL;
}

#define LOOK	"GET /v1/job"
#define RESTART "POST /v1/tasks/worker:0/restart"

/* promise: S102 */
static void test_named_users_have_the_rights_that_the_job_gives(void **state)
{
	static const char *const owners[] = {
		"POST /v1/links",
		"POST /v1/tasks/worker:0/beat",
		"POST /v1/tasks/worker:0/exec",
		"POST /v1/tasks/worker:0/port-forward",
		"PUT /v1/job/tokens",
		"PUT /v1/kv/key",
		"GET /v1/kv/key",
		"POST /ui/notebook/",
	};
	struct api_bed *bed = api_bed_create("worker=2", let_in);

	expect_status(bed, "bob", LOOK, 200);
	expect_status(bed, "bob", "GET /v1/description", 200);
	expect_status(bed, "bob", RESTART, 403);
	expect_status(bed, "carol", LOOK, 200);
	expect_status(bed, "carol", RESTART, 409);
	expect_status(bed, "dave", LOOK, 403);
	expect_status(bed, "dave", RESTART, 409);
	expect_status(bed, "eve", LOOK, 403);
	expect_status(bed, "eve", RESTART, 403);
	for (size_t i = 0; i < array_length(owners); i++)
		expect_status(bed, "carol", owners[i], 403);
	expect_status(bed, "carol", "POST /v1/job/kill", 200);
	api_bed_destroy(bed);
}

/* promise: S102 */
static void test_administrators_of_the_scheduler_have_both_rights(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", let_in);

	expect_status(bed, "eve", LOOK, 403);
	api_name_administrators(bed->api, "eve,frank");
	expect_status(bed, "eve", LOOK, 200);
	expect_status(bed, "eve", RESTART, 409);
	expect_status(bed, "eve", "POST /v1/tasks/worker:0/exec", 403);
	expect_status(bed, "bob", RESTART, 403);
	expect_status(bed, "gina", LOOK, 403);
	expect_status(bed, "frank", "POST /v1/job/kill", 200);
	api_bed_destroy(bed);
}

static void expect_silence(struct api_bed *bed, const char *user, const char *secret)
{
	struct reply reply;

	bed->user = user;
	bed->secret = secret;
	ask(bed, &reply, "GET", "/v1/server", NULL);
	assert_int_equal(reply.status, -1);
	reply_finish(&reply);
	bed->user = bed->secret = NULL;
}

/* promise: S102 */
static void test_a_name_without_its_secret_is_nobody(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", let_in);

	expect_silence(bed, "bob", "secret of carol");
	expect_silence(bed, "bob", BED_TOKEN);
	expect_silence(bed, "nobody", "secret of nobody");
	expect_silence(bed, "tony", "secret of tony");
	expect_status(bed, NULL, LOOK, 200);
	api_bed_destroy(bed);
}

/* It has no value of an environment. */
static void test_description_for_named_users(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", let_in);
	struct reply reply;

	str_list_add(&bed->bed->job->types[0].environment, "WORD=of-alice");
	bed->user = "bob";
	bed->secret = "secret of bob";
	ask(bed, &reply, "GET", "/v1/description", NULL);
	assert_string_equal(reply_member(&reply, "id"), "tony-test");
	assert_string_equal(reply_member(&reply, "user"), "alice");
	if (!strstr(str_text(&reply.text), "\"WORD=***\"") ||
	    strstr(str_text(&reply.text), "of-alice"))
		fail_msg("%s", str_text(&reply.text));
	reply_finish(&reply);
	api_bed_destroy(bed);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_executors_and_clients),
		TEST(test_the_am_answers_nothing_without_tls),
		TEST(test_no_token_is_good_where_browsers_look),
		TEST(test_links_lead_browsers_there),
		TEST(test_a_link_changes_nothing_where_there_is_no_tls),
		TEST(test_both_ports_are_drained),
		TEST(test_new_tokens_come_with_the_answer_to_a_beat),
		TEST(test_end_of_tokens_is_told),
		TEST(test_what_are_no_tokens_is_refused),
		TEST(test_an_am_that_follows_takes_newer_tokens_over),
		cmocka_unit_test(test_without_tls_no_tokens_are_taken),
		cmocka_unit_test(test_named_users_have_the_rights_that_the_job_gives),
		cmocka_unit_test(test_administrators_of_the_scheduler_have_both_rights),
		cmocka_unit_test(test_a_name_without_its_secret_is_nobody),
		cmocka_unit_test(test_description_for_named_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
