/* The promises of spnego.h and http_negotiate.h, against servers that answer as Hadoop 3.4.2 does,
 * and as it does not. */
#include "../base/patience.h"
#include "../base/test.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fake_gssapi.h"
#include "hadoop/gateway_token.h"
#include "hadoop/spnego.h"
#include "hadoop/token.h"
#include "net/http_client.h"
#include "web_server.h"

/* "hello HTTP/127.0.0.1@TONY.TEST", "welcome", and two other answers */
#define HELLO	"Authorization: Negotiate aGVsbG8gSFRUUC8xMjcuMC4wLjFAVE9OWS5URVNU\r\n"
#define WELCOME "WWW-Authenticate: Negotiate d2VsY29tZQ==\r\n"
#define WRONG	"WWW-Authenticate: Negotiate d2VsY2FtZQ==\r\n"
#define MORE	"WWW-Authenticate: Negotiate bW9yZQ==\r\n"

#define CLOSE	  "Connection: close\r\n"
#define ASKS	  "401 Authentication required\r\n" CLOSE "WWW-Authenticate: Negotiate\r\n"
#define UNKNOWN	  ASKS "Set-Cookie: hadoop.auth=; Path=/; HttpOnly\r\n\r\n<html>no</html>"
#define COOKIE	  "hadoop.auth=\"u=alice&p=alice&t=kerberos&e=9&s=abc=\""
#define SETS	  "Set-Cookie: " COOKIE "; Path=/; Secure; HttpOnly\r\n"
#define GOOD	  "200 OK\r\n" CLOSE WELCOME SETS "\r\ngood"
#define PLAIN	  "200 OK\r\n" CLOSE "\r\ngood"
#define FIRST	  "GET /a HTTP/1.1\r\n"
#define PRINCIPAL "HTTP/127.0.0.1@TONY.TEST"

struct bed {
	struct web_server server;
	struct http_negotiator *negotiator;
	struct str body;
	struct err err;
};

static bool gather(void *data, const char *bytes, size_t length)
{
	str_append_bytes(data, bytes, length);
	return true;
}

static int ask(struct bed *bed)
{
	const struct http_site site = {bed->server.address, NULL, bed->negotiator};

	str_truncate(&bed->body, 0);
	err_finish(&bed->err);
	return http_stream(&site, "/a", PATIENCE_MS, gather, &bed->body, &bed->err);
}

static void open_bed(struct bed *bed, const struct web_step *steps, size_t count)
{
	memset(bed, 0, sizeof(*bed));
	web_server_start(&bed->server, steps, count);
	bed->negotiator = spnego_create(&fake_gssapi_library, NULL, NULL, "do this");
}

#define OPEN(bed, ...)                                                                             \
	static const struct web_step steps_[] = {__VA_ARGS__};                                     \
	open_bed(bed, steps_, array_length(steps_))

static size_t count_of(const struct str *heads, const char *part)
{
	size_t count = 0;

	for (const char *at = str_text(heads); (at = strstr(at, part)); at++)
		count++;
	return count;
}

/* `tickets`, `cookies`: that were sent. */
static void close_bed(struct bed *bed, size_t tickets, size_t cookies)
{
	web_server_stop(&bed->server);
	assert_int_equal(count_of(&bed->server.heads, "\r\nAuthorization: "), tickets);
	assert_int_equal(count_of(&bed->server.heads, "\r\nCookie: "), cookies);
	web_server_finish(&bed->server);
	http_negotiator_destroy(bed->negotiator);
	str_finish(&bed->body);
	err_finish(&bed->err);
}

static int forget_library(void **state)
{
	fake_gssapi = (struct fake_gssapi){.user = "alice@TONY.TEST", .other = "bob@TONY.TEST"};
	return 0;
}

static int check_library(void **state)
{
	assert_int_equal(fake_gssapi.names, 0);
	assert_int_equal(fake_gssapi.contexts, 0);
	assert_int_equal(fake_gssapi.credentials, 0);
	assert_int_equal(fake_gssapi.buffers, 0);
	return 0;
}

static void expect_good(struct bed *bed)
{
	if (ask(bed) < 0)
		fail_msg("%s", err_message(&bed->err));
	assert_string_equal(str_text(&bed->body), "good");
}

static void expect_refusal(struct bed *bed, const char *part)
{
	assert_int_equal(ask(bed), -1);
	assert_string_equal(str_text(&bed->body), "");
	assert_int_equal(bed->err.kind, ERR_DENIED);
	if (!strstr(err_message(&bed->err), part))
		fail_msg("%s", err_message(&bed->err));
}

/* ---- */

static void test_a_ticket_once_then_the_cookie(void **state)
{
	struct bed bed;

	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, GOOD}, {"Cookie: " COOKIE "\r\n", PLAIN},
	     {"Cookie: " COOKIE "\r\n", PLAIN});
	expect_good(&bed);
	expect_good(&bed);
	expect_good(&bed);
	close_bed(&bed, 1, 2);
}

static void test_the_same_connection_serves(void **state)
{
	struct bed bed;

	OPEN(&bed,
	     {.expect = FIRST,
	      .answer = "401 X\r\nContent-Length: 2\r\nWWW-Authenticate: Negotiate\r\n\r\nno",
	      .keeps = true},
	     {.expect = HELLO, .answer = GOOD});
	expect_good(&bed);
	close_bed(&bed, 1, 0);
}

static void test_a_cookie_that_has_expired(void **state)
{
	struct bed bed;

	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, GOOD}, {"Cookie: " COOKIE, UNKNOWN}, {HELLO, GOOD});
	expect_good(&bed);
	expect_good(&bed);
	close_bed(&bed, 2, 1);
}

static void test_a_cookie_is_of_one_server(void **state)
{
	static const struct web_step others[] = {{FIRST, UNKNOWN}, {HELLO, GOOD}};
	struct web_server other;
	struct bed bed;

	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, GOOD});
	expect_good(&bed);
	web_server_start(&other, others, array_length(others));
	const struct http_site site = {other.address, NULL, bed.negotiator};
	assert_int_equal(http_stream(&site, "/a", PATIENCE_MS, gather, &bed.body, NULL), 0);
	web_server_stop(&other);
	assert_int_equal(count_of(&other.heads, "Cookie"), 0);
	web_server_finish(&other);
	close_bed(&bed, 1, 0);
}

/* A server with the answer of another exchange, with none, or with half of it. */
/* promise: S66 */
static void test_a_server_that_proves_nothing(void **state)
{
	struct bed bed;

	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, "200 OK\r\n" CLOSE WRONG SETS "\r\nbad"},
	     {FIRST, UNKNOWN}, {HELLO, "200 OK\r\n" CLOSE SETS "\r\nbad"}, {FIRST, UNKNOWN},
	     {HELLO, "404 Not Found\r\n" CLOSE "\r\nbad"}, {FIRST, UNKNOWN},
	     {HELLO, "200 OK\r\n" CLOSE "WWW-Authenticate: Negotiate ?\r\n\r\nbad"});
	expect_refusal(&bed, "the server does not prove who it is: Kerberos: A token was invalid");
	expect_refusal(&bed, "the server does not prove who it is (Kerberos)");
	expect_refusal(&bed, "the server does not prove who it is (Kerberos)");
	assert_int_equal(ask(&bed), -1);
	assert_string_equal(str_text(&bed.body), "");
	assert_int_equal(bed.err.kind, ERR_INPUT);
	close_bed(&bed, 4, 0);
}

static void test_a_server_that_is_another_one(void **state)
{
	struct bed bed;

	fake_gssapi.withheld = GSS_MUTUAL;
	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, GOOD});
	expect_refusal(&bed, PRINCIPAL " does not prove who it is");
	close_bed(&bed, 1, 0);
}

/* promise: S66 */
static void test_a_server_that_asks_for_less(void **state)
{
	struct bed bed;

	OPEN(&bed,
	     {FIRST, "401 X\r\n" CLOSE "WWW-Authenticate: Basic realm=\"a, Negotiate\"\r\n\r\n"},
	     {FIRST, "401 X\r\n" CLOSE "WWW-Authenticate: PseudoAuth\r\n\r\n"},
	     {FIRST, "401 X\r\n" CLOSE "\r\n"}, {FIRST, "200 OK\r\n" CLOSE SETS "\r\nbad"},
	     {FIRST, "302 X\r\n" CLOSE "Location: /login\r\n\r\n"},
	     {FIRST, "404 X\r\n" CLOSE "\r\n"});
	expect_refusal(&bed, "the server offers Basic, and not Negotiate (Kerberos); do this");
	expect_refusal(&bed, "the server offers PseudoAuth, and not Negotiate (Kerberos)");
	expect_refusal(&bed, "the server offers no way to log in, and not Negotiate (Kerberos)");
	for (int i = 0; i < 3; i++)
		expect_refusal(&bed, "the server does not ask for a proof (Kerberos); do this");
	close_bed(&bed, 0, 0);
}

static void test_negotiate_beside_others(void **state)
{
	struct bed bed;

	OPEN(&bed,
	     {FIRST, "401 X\r\n" CLOSE "WWW-Authenticate: Basic realm=\"a\", negotiate\r\n\r\n"},
	     {HELLO, GOOD});
	expect_good(&bed);
	close_bed(&bed, 1, 0);
}

static void test_two_rounds_at_most(void **state)
{
	static const char again[] = "Authorization: Negotiate bW9yZQ==\r\n";
	struct bed bed;

	fake_gssapi.rounds = 1;
	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, "401 X\r\n" CLOSE MORE "\r\n"}, {again, GOOD},
	     {FIRST, "500 X\r\n" CLOSE "\r\n"});
	expect_good(&bed);
	http_negotiator_destroy(bed.negotiator);
	bed.negotiator = spnego_create(&fake_gssapi_library, NULL, NULL, "");
	assert_int_equal(ask(&bed), -1); /* a failure needs no proof */
	assert_string_equal(err_message(&bed.err), "the answer is HTTP status 500");
	close_bed(&bed, 2, 0);
}

static void test_a_third_round_is_refused(void **state)
{
	struct bed bed;

	fake_gssapi.rounds = 5;
	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, "401 X\r\n" CLOSE MORE "\r\n"},
	     {"Authorization", "401 X\r\n" CLOSE MORE "\r\n"});
	expect_refusal(&bed, "the server does not take the proof (Kerberos)");
	close_bed(&bed, 2, 0);
}

static void test_a_ticket_that_is_not_taken(void **state)
{
	struct bed bed;

	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, UNKNOWN}, {FIRST, UNKNOWN},
	     {HELLO, "403 Forbidden\r\n" CLOSE "\r\n"});
	expect_refusal(&bed, "the server does not take the proof (Kerberos)");
	assert_int_equal(ask(&bed), -1);
	assert_string_equal(err_message(&bed.err), "the answer is HTTP status 403");
	close_bed(&bed, 2, 0);
}

static void test_no_ticket(void **state)
{
	struct bed bed;

	fake_gssapi.failure = "No Kerberos credentials available";
	OPEN(&bed, {FIRST, UNKNOWN});
	assert_int_equal(ask(&bed), -1);
	assert_int_equal(bed.err.kind, ERR_EXPIRED);
	assert_non_null(strstr(err_message(&bed.err), "Kerberos: No Kerberos credentials "
						      "available; get a ticket with kinit"));
	close_bed(&bed, 0, 0);
}

/* Neither token nor cookie goes anywhere else. */
/* promise: S66 */
static void test_a_redirect_is_not_followed(void **state)
{
	char *elsewhere cleanup_free = NULL;
	int listener = web_silent(&elsewhere);
	char *answer cleanup_free = mem_printf(
		"307 X\r\n" CLOSE WELCOME SETS "Location: http://%s/a\r\n\r\n", elsewhere);
	const struct web_step steps[] = {{FIRST, UNKNOWN}, {HELLO, answer}};
	struct pollfd connection = {.fd = listener, .events = POLLIN};
	struct bed bed;

	open_bed(&bed, steps, array_length(steps));
	assert_int_equal(ask(&bed), -1);
	assert_string_equal(err_message(&bed.err), "the answer is HTTP status 307");
	assert_int_equal(poll(&connection, 1, 0), 0);
	close(listener);
	close_bed(&bed, 1, 0);
}

/* One principal's, though the cache has several. */
static void test_whose_ticket(void **state)
{
	struct bed bed;

	OPEN(&bed, {FIRST, UNKNOWN}, {HELLO, GOOD});
	http_negotiator_destroy(bed.negotiator);
	bed.negotiator = spnego_create(&fake_gssapi_library, "bob@TONY.TEST", NULL, "");
	expect_good(&bed);
	assert_string_equal(fake_gssapi.proof, "bob@TONY.TEST");
	close_bed(&bed, 1, 0);
}

static void test_the_realm_of_the_host(void **state)
{
	static const char hello[] =
		"Authorization: Negotiate aGVsbG8gSFRUUC8xMjcuMC4wLjFAT1RIRVI=\r\n";
	struct bed bed;

	OPEN(&bed, {FIRST, UNKNOWN}, {hello, GOOD}, {FIRST, UNKNOWN},
	     {"Authorization: Negotiate aGVsbG8gSFRUUC8xMjcuMC4wLjE=\r\n", GOOD});
	fake_gssapi.realm = "OTHER";
	expect_good(&bed);
	http_negotiator_destroy(bed.negotiator);
	bed.negotiator = spnego_create(&fake_gssapi_library, NULL, NULL, "");
	fake_gssapi.realm = ""; /* not known: the default one */
	expect_good(&bed);
	close_bed(&bed, 2, 0);
}

/* ---- the token of an HttpFS gateway, and of services like it ---- */

#define ASK	 "GET /webhdfs/v1/?op=GETDELEGATIONTOKEN&renewer=rm%2Fhost HTTP/1.1\r\n"
#define TOKEN	 "AmlkA_v__hVIREZTX0RFTEVHQVRJT05fVE9LRU4OMTI3LjAuMC4xOjgwMjA"
#define GIVES(t) "200 OK\r\n" CLOSE WELCOME "\r\n{\"Token\":{\"urlString\":\"" t "\"}}"

static int ask_gateway(struct bed *bed, const char *first, struct hadoop_token *token)
{
	struct str_list urls cleanup_str_list = {0};
	const struct gateway_question question = {
		.urls = &urls,
		.path = "/webhdfs/v1",
		.library = &fake_gssapi_library,
		.renewer = "rm/host",
	};

	if (first)
		str_list_add(&urls, first);
	str_list_add(&urls, bed->server.url);
	err_finish(&bed->err);
	return gateway_token_get(&question, token, &bed->err);
}

static void test_a_gateway_gives_a_token(void **state)
{
	char *nobody cleanup_free = web_nobody();
	char *first cleanup_free = mem_printf("http://%s", nobody);
	struct hadoop_token token cleanup_token = {0};
	struct bed bed;

	OPEN(&bed, {ASK, UNKNOWN}, {HELLO, GIVES(TOKEN)});
	if (ask_gateway(&bed, first, &token) < 0)
		fail_msg("%s", err_message(&bed.err));
	assert_string_equal(token.kind, TOKEN_KIND_HDFS);
	assert_int_equal(token.password_length, 3);
	close_bed(&bed, 1, 0);
}

static void test_a_gateway_gives_none(void **state)
{
	struct hadoop_token token cleanup_token = {0};
	struct bed bed;

	OPEN(&bed, {ASK, UNKNOWN}, {HELLO, GIVES("AAAA")}, {ASK, UNKNOWN},
	     {HELLO, "403 X\r\n" CLOSE WELCOME
		     "\r\n{\"RemoteException\":{\"exception\":\"AccessControlException\","
		     "\"message\":\"not you\"}}"},
	     {ASK, UNKNOWN},
	     {HELLO, "200 OK\r\n" CLOSE "\r\n{\"Token\":{\"urlString\":\"" TOKEN "\"}}"},
	     {ASK, "200 OK\r\n" CLOSE "\r\n{\"Token\":{\"urlString\":\"" TOKEN "\"}}"});
	static const char *const causes[] = {"this is no delegation token", "not you",
					     "does not prove who it is",
					     "does not ask for a proof"};
	for (size_t i = 0; i < array_length(causes); i++) {
		assert_int_equal(ask_gateway(&bed, NULL, &token), -1);
		assert_null(token.kind);
		if (!strstr(err_message(&bed.err), causes[i]))
			fail_msg("%s", err_message(&bed.err));
	}
	close_bed(&bed, 3, 0);
}

/* Behind a path of the URL's own, and for whom the client acts. */
static void test_a_service_gives_a_token_at_its_path(void **state)
{
	struct str_list urls cleanup_str_list = {0};
	struct hadoop_token token cleanup_token = {0};
	struct gateway_question question = {
		.urls = &urls,
		.path = "/kms/v1",
		.library = &fake_gssapi_library,
		.renewer = "rm",
		.user = "al ice",
	};
	struct bed bed;

	OPEN(&bed,
	     {"GET /own/kms/v1/?op=GETDELEGATIONTOKEN&renewer=rm&doAs=al%20ice HTTP/1.1\r\n",
	      UNKNOWN},
	     {HELLO, GIVES(TOKEN)}, {"GET /own/kms/v1/", UNKNOWN},
	     {HELLO, "404 Not Found\r\n" CLOSE WELCOME "\r\n"});
	str_list_add_format(&urls, "%s/own/", bed.server.url);
	assert_success(gateway_token_get(&question, &token, &bed.err), &bed.err);
	assert_int_equal(gateway_token_get(&question, &token, &bed.err), -1);
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err_message(&bed.err), "gives no delegation tokens at /kms/v1"));
	close_bed(&bed, 2, 0);
}

/* The token proves enough, and the first server that forgets it is enough. */
static void test_a_token_is_cancelled_without_a_ticket(void **state)
{
	char *nobody cleanup_free = web_nobody();
	struct hadoop_token token cleanup_token = {0};
	struct str_list urls cleanup_str_list = {0};
	const struct gateway_question question = {.urls = &urls, .path = "/kms/v1"};
	struct bed bed;

	assert_int_equal(token_from_url_string(&token, TOKEN, NULL), 0);
	OPEN(&bed,
	     {"PUT /kms/v1/?op=CANCELDELEGATIONTOKEN&token=" TOKEN " HTTP/1.1\r\n",
	      "404 Not Found\r\n" CLOSE "\r\n"},
	     {"PUT /kms/v1/?op=CANCELDELEGATIONTOKEN&token=" TOKEN " HTTP/1.1\r\n",
	      "200 OK\r\n" CLOSE "\r\n"});
	str_list_add_format(&urls, "http://%s", nobody);
	for (int i = 0; i < 3; i++)
		str_list_add(&urls, bed.server.url);
	gateway_token_cancel(&question, &token);
	close_bed(&bed, 0, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, forget_library, check_library)
	const struct CMUnitTest tests[] = {
		TEST(a_ticket_once_then_the_cookie),
		TEST(the_same_connection_serves),
		TEST(a_cookie_that_has_expired),
		TEST(a_cookie_is_of_one_server),
		TEST(a_server_that_proves_nothing),
		TEST(a_server_that_is_another_one),
		TEST(a_server_that_asks_for_less),
		TEST(negotiate_beside_others),
		TEST(two_rounds_at_most),
		TEST(a_third_round_is_refused),
		TEST(a_ticket_that_is_not_taken),
		TEST(no_ticket),
		TEST(a_redirect_is_not_followed),
		TEST(the_realm_of_the_host),
		TEST(whose_ticket),
		TEST(a_gateway_gives_a_token),
		TEST(a_gateway_gives_none),
		TEST(a_service_gives_a_token_at_its_path),
		TEST(a_token_is_cancelled_without_a_ticket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
