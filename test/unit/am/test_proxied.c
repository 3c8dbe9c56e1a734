/* A scheduler's web proxy that proves itself by a certificate, as YARN's does: it alone comes to
 * its port, and its address is nothing any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "../net/certificate.h"
#include "../net/peer.h"
#include "api_bed.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/tls.h"
#include "net/tls_identity.h"

#define CLOSE "Host: node-7:4000\r\nConnection: close\r\n"

/* The proxy's authority is its own certificate. It has signed those of two AMs. */
struct stage {
	EVP_PKEY *proxy_key, *am_key;
	X509 *proxy, *am, *other;
	struct tls_context *tls;
	struct api_bed *bed;
};

static X509 *make(const char *name, EVP_PKEY *key, X509 *authority, EVP_PKEY *authority_key)
{
	X509 *certificate = certificate_create(name, key, -1); /* over, as YARN makes them */

	certificate_sign(certificate, authority ? authority : certificate, authority_key);
	return certificate;
}

static int set_up(void **state)
{
	struct stage *stage = mem_alloc(sizeof(*stage));
	struct str_list hosts cleanup_str_list = {0};

	stage->proxy_key = EVP_EC_gen("P-256");
	stage->am_key = EVP_EC_gen("P-256");
	stage->proxy = make("YARN", stage->proxy_key, NULL, stage->proxy_key);
	stage->am = make("application_1_1", stage->am_key, stage->proxy, stage->proxy_key);
	stage->other = make("application_1_2", stage->am_key, stage->proxy, stage->proxy_key);
	const struct tls_identity identity = {.key = stage->am_key, .certificate = stage->am};
	stage->tls = tls_context_create_server(&identity, NULL);
	assert_non_null(stage->tls);
	tls_context_demand(stage->tls, stage->proxy);
	stage->bed = api_bed_create_proxied("worker=1", NULL, stage->tls);
	str_list_add(&hosts, "127.0.0.1");
	api_trust_proxies(stage->bed->api, &hosts, true);
	api_bed_run_idle(stage->bed);
	*state = stage;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	api_bed_destroy(stage->bed);
	tls_context_destroy(stage->tls);
	X509_free(stage->proxy);
	X509_free(stage->am);
	X509_free(stage->other);
	EVP_PKEY_free(stage->proxy_key);
	EVP_PKEY_free(stage->am_key);
	free(stage);
	return 0;
}

static void on_event(struct bufferevent *connection, short what, void *data)
{
	bool *has_ended = data;

	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		*has_ended = true;
}

/* The answer to the client with this certificate (NULL: none); "": it was not heard. The caller
 * frees. */
static char *answer_to(const struct stage *stage, X509 *certificate, EVP_PKEY *key,
		       const char *request)
{
	struct event_base *base = stage->bed->base;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct net_address address;
	bool has_ended = false;

	if (certificate)
		assert_int_equal(SSL_CTX_use_cert_and_key(context, certificate, key, NULL, 1), 1);
	assert_int_equal(net_address_parse(api_proxy_address(stage->bed->api), &address, NULL), 0);
	struct bufferevent *connection = bufferevent_openssl_socket_new(
		base, -1, SSL_new(context), BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_openssl_set_allow_dirty_shutdown(connection, true);
	bufferevent_setcb(connection, NULL, NULL, on_event, &has_ended);
	bufferevent_enable(connection, EV_READ | EV_WRITE);
	evbuffer_add_printf(bufferevent_get_output(connection), "%s", request);
	bufferevent_socket_connect(connection, (const struct sockaddr *)&address.storage,
				   (int)address.length);
	run_until(base, &has_ended);
	struct evbuffer *input = bufferevent_get_input(connection);
	size_t length = evbuffer_get_length(input);
	char *answer =
		mem_strndup(length > 0 ? (const char *)evbuffer_pullup(input, -1) : "", length);
	bufferevent_free(connection);
	SSL_CTX_free(context);
	return answer;
}

static void expect(const struct stage *stage, const char *request, const char *user,
		   const char *text)
{
	char *whole cleanup_free =
		mem_printf("%s HTTP/1.1\r\n" CLOSE "Cookie: proxy-user=%s\r\n\r\n", request, user);
	char *answer cleanup_free = answer_to(stage, stage->proxy, stage->proxy_key, whole);

	if (!strstr(answer, text))
		fail_msg("%s of %s: no \"%s\" in: %s", request, user, text, answer);
}

/* promise: S97 */
static void test_the_proxy_says_who_looks(void **state)
{
	expect(*state, "GET /v1/job", "alice", "200 OK");
	expect(*state, "GET /v1/server", "alice", "\"viewer\":\"alice\"");
	expect(*state, "GET /v1/job", "bob", "401 ");
	expect(*state, "POST /v1/job/kill", "alice", "401 ");
}

/* promise: S97 */
static void test_nobody_else_is_heard(void **state)
{
	const struct stage *stage = *state;
	static const char request[] = "GET / HTTP/1.1\r\n" CLOSE "Cookie: proxy-user=alice\r\n\r\n";
	EVP_PKEY *forged_key = EVP_EC_gen("P-256");
	X509 *forged = make("YARN", forged_key, NULL, forged_key);
	char *nobodys cleanup_free = answer_to(stage, NULL, NULL, request);
	char *others cleanup_free = answer_to(stage, stage->other, stage->am_key, request);
	char *forgers cleanup_free = answer_to(stage, forged, forged_key, request);

	assert_string_equal(nobodys, "");
	assert_string_equal(others, "");
	assert_string_equal(forgers, "");
	X509_free(forged);
	EVP_PKEY_free(forged_key);
}

/* promise: S97 */
static void test_its_address_is_not_enough(void **state)
{
	const struct stage *stage = *state;
	struct peer peer;

	peer_open(&peer, stage->bed->base, api_pages_address(stage->bed->api));
	peer_send(&peer, "GET /v1/job HTTP/1.1\r\nHost: localhost:4000\r\nConnection: close\r\n"
			 "Cookie: proxy-user=alice\r\n\r\n");
	peer_expect(&peer, stage->bed->base, "401 ");
	peer_close(&peer);
}

#define on_stage(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_stage(test_the_proxy_says_who_looks),
		on_stage(test_nobody_else_is_heard),
		on_stage(test_its_address_is_not_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
