/* Tickets that are shown to a server (hadoop/gssapi_acceptor.h), with a library of plain texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "fake_gssapi.h"
#include "hadoop/gssapi_acceptor.h"

#define KEYTAB "/etc/http.keytab"

static struct gssapi_acceptor *make(void)
{
	struct err err cleanup_err = {0};
	struct gssapi_acceptor *acceptor;

	fake_gssapi = (struct fake_gssapi){0};
	acceptor = gssapi_acceptor_create(&fake_gssapi_library, KEYTAB, &err);
	assert_string_equal(err_message(&err), "no error");
	return acceptor;
}

static void end(struct gssapi_acceptor *acceptor)
{
	gssapi_acceptor_destroy(acceptor);
	assert_int_equal(fake_gssapi.names, 0);
	assert_int_equal(fake_gssapi.contexts, 0);
	assert_int_equal(fake_gssapi.credentials, 0);
	assert_int_equal(fake_gssapi.buffers, 0);
}

static char *take(struct gssapi_acceptor *acceptor, const char *token, const char *channel,
		  struct str *answer, struct err *err)
{
	const struct str shown = {.text = (char *)token, .length = strlen(token)};
	const struct str known = {.text = (char *)channel, .length = strlen(channel)};

	return gssapi_acceptor_take(acceptor, &shown, &known, answer, err);
}

static void expect_refused(struct gssapi_acceptor *acceptor, const char *token, const char *why)
{
	struct str answer cleanup_str = {0};
	struct err err cleanup_err = {0};

	assert_null(take(acceptor, token, "here", &answer, &err));
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err_message(&err), why));
	assert_int_equal(answer.length, 0);
}

static void who_shows_a_ticket_is_known_and_answered(void **state)
{
	static const char token[] = FAKE_HELLO "alice@TONY.TEST HTTP/portal@TONY.TEST";
	struct gssapi_acceptor *acceptor = make();
	struct str answer cleanup_str = {0};
	struct err err cleanup_err = {0};
	char *client cleanup_free = take(acceptor, token, "here", &answer, &err);

	assert_string_equal(client, "alice@TONY.TEST");
	assert_string_equal(str_text(&answer), FAKE_WELCOME);
	end(acceptor);
}

/* promise: S96 */
static void a_ticket_for_another_service_or_none_is_refused(void **state)
{
	struct gssapi_acceptor *acceptor = make();

	expect_refused(acceptor, FAKE_HELLO "alice@TONY.TEST nn/portal@TONY.TEST",
		       "the ticket is for nn/portal@TONY.TEST, and not for a web server");
	expect_refused(acceptor, FAKE_HELLO "alice@TONY.TEST", "nobody");
	expect_refused(acceptor, FAKE_HELLO " HTTP/portal@TONY.TEST", "HTTP/portal");
	expect_refused(acceptor, "nonsense", "A token was invalid");
	expect_refused(acceptor, FAKE_MORE, "no ticket of Kerberos");
	fake_gssapi.failure = "Request is a replay";
	expect_refused(acceptor, FAKE_HELLO "alice@TONY.TEST HTTP/portal@TONY.TEST",
		       "Request is a replay");
	end(acceptor);
}

/* promise: S96 */
static void a_ticket_that_was_bound_to_another_connection_is_refused(void **state)
{
	static const char token[] = FAKE_HELLO "alice@TONY.TEST HTTP/portal@TONY.TEST";
	struct gssapi_acceptor *acceptor = make();
	struct str answer cleanup_str = {0};

	fake_gssapi.bound = "elsewhere";
	expect_refused(acceptor, token, "bound to another server's certificate");
	fake_gssapi.bound = "here";
	char *bound cleanup_free = take(acceptor, token, "here", &answer, NULL);
	assert_string_equal(bound, "alice@TONY.TEST");
	/* Without TLS there is nothing to compare. */
	char *plain cleanup_free = take(acceptor, token, "", &answer, NULL);
	assert_string_equal(plain, "alice@TONY.TEST");
	end(acceptor);
}

static void a_keytab_that_is_none_is_told(void **state)
{
	struct err err cleanup_err = {0};

	fake_gssapi = (struct fake_gssapi){.failure = "No key table entry found"};
	assert_null(gssapi_acceptor_create(&fake_gssapi_library, KEYTAB, &err));
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_string_equal(err_message(&err), KEYTAB ": No key table entry found");
	assert_int_equal(fake_gssapi.credentials, 0);
}

/* Nobody could ever get in. */
static void a_keytab_without_a_web_servers_key_is_told(void **state)
{
	struct err err cleanup_err = {0};

	fake_gssapi = (struct fake_gssapi){.lacks_http = true};
	assert_null(gssapi_acceptor_create(&fake_gssapi_library, KEYTAB, &err));
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_non_null(strstr(err_message(&err), KEYTAB " has no key of HTTP/HOST"));
	assert_int_equal(fake_gssapi.credentials, 0);
	assert_int_equal(fake_gssapi.names, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_shows_a_ticket_is_known_and_answered),
		cmocka_unit_test(a_ticket_for_another_service_or_none_is_refused),
		cmocka_unit_test(a_ticket_that_was_bound_to_another_connection_is_refused),
		cmocka_unit_test(a_keytab_that_is_none_is_told),
		cmocka_unit_test(a_keytab_without_a_web_servers_key_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
