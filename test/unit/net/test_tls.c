/* What is promised by tls.h: only whom one meant to ask is asked, and what is wrong is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "peer.h"
#include "server.h"
#include "tls_door.h"

#define REMEDY "say whom to trust"

struct outcome {
	bool is_done;
	int status; /* -1: no answer */
	struct err err;
	struct str text;
};

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct outcome *outcome = data;

	outcome->is_done = true;
	outcome->status = response ? response->status : -1;
	if (!response)
		err_set(&outcome->err, err->kind, "%s", err_message(err));
}

static struct tls_context *trust(const char *authorities)
{
	struct err err cleanup_err = {0};
	struct tls_context *tls = tls_context_create_client(authorities, REMEDY, &err);

	assert_string_equal(err_message(&err), "no error");
	return tls;
}

static void ask(const char *address, struct tls_context *tls, int64_t timeout_ms,
		struct outcome *outcome)
{
	struct event_base *base = event_base_new();
	struct http_client *client = http_client_create(base, address, NULL, NULL);

	*outcome = (struct outcome){0};
	http_client_use_tls(client, tls);
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/",
							  .timeout_ms = timeout_ms,
							  .done = on_done,
							  .data = outcome});
	run_until(base, &outcome->is_done);
	http_client_destroy(client);
	event_base_free(base);
}

/* "127.0.0.1:4711" by its name. */
static char *by_name(const char *address)
{
	return mem_printf("localhost%s", strchr(address, ':'));
}

/* ---- who is refused ----------------------------------------------------------------------- */

static void test_who_is_refused(void **state)
{
	static const struct {
		struct tls_door_options options;
		enum err_kind kind;
		const char *text;
		bool by_name;
	} rows[] = {
		{{.names = "DNS:dn1.example, DNS:dn2.example"},
		 ERR_DENIED,
		 "its certificate is for another host: dn1.example, dn2.example"},
		{{.names = "DNS:dn1.example"}, ERR_DENIED, "for another host: dn1.example", true},
		{{.names = "DNS:127.0.0.1"}, ERR_DENIED, "for another host"},
		{{.names = "IP:127.0.0.1"}, ERR_DENIED, "for another host", true},
		{{.is_expired = true}, ERR_DENIED, "its certificate: certificate has expired"},
		{{.newest = TLS1_1_VERSION}, ERR_INPUT, "TLS: "},
		{{.wants_certificates = true}, ERR_INPUT, "TLS: "},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct outcome outcome;
		char *address cleanup_free = NULL;
		int listener = peer_listen(&address);
		struct tls_door *door = tls_door_open(address, &rows[i].options);
		struct tls_context *tls = trust(tls_door_authority(door));
		char *name cleanup_free = by_name(tls_door_address(door));
		ask(rows[i].by_name ? name : tls_door_address(door), tls, 0, &outcome);
		if (outcome.err.kind != rows[i].kind ||
		    !strstr(err_message(&outcome.err), rows[i].text))
			fail_msg("row %zu: %d %s", i, outcome.err.kind, err_message(&outcome.err));
		assert_null(strstr(err_message(&outcome.err), REMEDY));
		tls_context_destroy(tls);
		tls_door_close(door);
		close(listener);
		err_finish(&outcome.err);
	}
}

/* Neither another authority, nor those of this machine: then it is said what to do. */
static void test_who_is_not_trusted(void **state)
{
	struct fixture fixture;
	struct outcome outcome;

	fixture_open(&fixture, NULL);
	struct tls_door *door = tls_door_open(http_server_address(fixture.server), NULL);
	struct tls_door *other = tls_door_open(http_server_address(fixture.server), NULL);
	struct tls_context *contexts[] = {trust(tls_door_authority(other)), trust(NULL)};
	for (size_t i = 0; i < array_length(contexts); i++) {
		ask(tls_door_address(door), contexts[i], 0, &outcome);
		assert_int_equal(outcome.err.kind, ERR_DENIED);
		if (!strstr(err_message(&outcome.err), "is not trusted: self-signed"))
			fail_msg("%s", err_message(&outcome.err));
		assert_non_null(strstr(err_message(&outcome.err), "; " REMEDY));
		assert_non_null(strstr(err_message(&outcome.err), tls_door_address(door)));
		err_finish(&outcome.err);
		tls_context_destroy(contexts[i]);
	}
	tls_door_close(other);
	tls_door_close(door);
	fixture_close(&fixture);
}

/* Several authorities, with words between them, as bundles have them. */
static void test_one_authority_of_several(void **state)
{
	char *address cleanup_free = NULL;
	int listener = peer_listen(&address);
	struct tls_door *door = tls_door_open(address, NULL);
	struct tls_door *other = tls_door_open(address, NULL);
	char *both cleanup_free = mem_printf("# one\n%s\n# two\n%s\n", tls_door_authority(other),
					     tls_door_authority(door));
	char *name cleanup_free = by_name(tls_door_address(door));
	struct tls_context *tls = trust(both);
	struct outcome outcome;

	/* Agreed on, by address and by name; but nobody answers. */
	ask(tls_door_address(door), tls, 100, &outcome);
	assert_non_null(strstr(err_message(&outcome.err), "no answer within"));
	err_finish(&outcome.err);
	ask(name, tls, 100, &outcome);
	assert_non_null(strstr(err_message(&outcome.err), "no answer within"));
	err_finish(&outcome.err);
	tls_context_destroy(tls);
	tls_door_close(other);
	tls_door_close(door);
	close(listener);
}

static void test_what_is_no_authority(void **state)
{
	char *address cleanup_free = NULL;
	int listener = peer_listen(&address);
	struct tls_door *door = tls_door_open(address, NULL);
	char *broken cleanup_free = mem_printf("%s-----BEGIN CERTIFICATE-----\nMIIB\n"
					       "-----END CERTIFICATE-----\n",
					       tls_door_authority(door));
	const char *const texts[] = {"", "no certificate", broken};

	for (size_t i = 0; i < array_length(texts); i++) {
		struct err err cleanup_err = {0};
		assert_null(tls_context_create_client(texts[i], REMEDY, &err));
		assert_int_equal(err.kind, ERR_CONFIG);
	}
	tls_door_close(door);
	close(listener);
}

/* ---- what ends ---------------------------------------------------------------------------- */

/* One answer to one request, of a server without TLS; then the end. */
static void answer_once(int listener, const char *answer)
{
	int fd = accept(listener, NULL, NULL);

	send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	close(fd);
}

static void test_no_tls_at_all(void **state)
{
	struct event_base *base = event_base_new();
	char *address cleanup_free = NULL;
	int listener cleanup_close = peer_listen(&address);
	struct tls_context *tls = trust(NULL);
	struct http_client *client = http_client_create(base, address, NULL, NULL);
	struct outcome outcome = {0};

	http_client_use_tls(client, tls);
	http_client_start(client,
			  &(struct http_question){
				  .method = "GET", .path = "/", .done = on_done, .data = &outcome});
	event_base_loop(base, EVLOOP_NONBLOCK);
	answer_once(listener, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.err.kind, ERR_INPUT);
	assert_non_null(strstr(err_message(&outcome.err), "it does not speak TLS"));
	err_finish(&outcome.err);
	http_client_destroy(client);
	event_base_free(base);
	tls_context_destroy(tls);
}

/* An answer that lasts until the end is whole only if the peer said so: anybody on the way can
 * close a connection. */
static void test_cut_off(void **state)
{
	for (int is_cut_off = 0; is_cut_off < 2; is_cut_off++) {
		const struct tls_door_options options = {.is_cut_off = is_cut_off};
		struct event_base *base = event_base_new();
		char *address cleanup_free = NULL;
		int listener cleanup_close = peer_listen(&address);
		struct tls_door *door = tls_door_open(address, &options);
		struct tls_context *tls = trust(tls_door_authority(door));
		struct http_client *client =
			http_client_create(base, tls_door_address(door), NULL, NULL);
		struct outcome outcome = {0};

		http_client_use_tls(client, tls);
		http_client_start(client, &(struct http_question){.method = "GET",
								  .path = "/",
								  .done = on_done,
								  .data = &outcome});
		event_base_loop(base, EVLOOP_NONBLOCK);
		answer_once(listener, "HTTP/1.1 200 OK\r\n\r\nhalf of it");
		run_until(base, &outcome.is_done);
		assert_int_equal(outcome.status, is_cut_off ? -1 : 200);
		assert_int_equal(outcome.err.kind, is_cut_off ? ERR_UNREACHABLE : ERR_NONE);
		err_finish(&outcome.err);
		http_client_destroy(client);
		event_base_free(base);
		tls_context_destroy(tls);
		tls_door_close(door);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_refused),
		cmocka_unit_test(test_who_is_not_trusted),
		cmocka_unit_test(test_one_authority_of_several),
		cmocka_unit_test(test_what_is_no_authority),
		cmocka_unit_test(test_no_tls_at_all),
		cmocka_unit_test(test_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
