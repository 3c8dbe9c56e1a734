#include "tls_door.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "certificate.h"
#include "net/address.h"

enum { HELD = 256 * 1024 }; /* no more is read for a side that does not take it */

/* A connection and what it leads to. */
struct passage {
	LIST_ENTRY(passage) link;
	struct tls_door *door;
	struct bufferevent *outside, *inside;
	bool has_ended; /* the server's side */
};

struct tls_door {
	LIST_HEAD(, passage) passages;
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *end;
	int end_fd;
	SSL_CTX *ssl;
	struct net_address target;
	char *address, *authority;
	bool is_cut_off;
	pthread_t thread;
};

/* ---- certificates ------------------------------------------------------------------------- */

static char *to_pem(X509 *certificate)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;

	PEM_write_bio_X509(bio, certificate);
	long length = BIO_get_mem_data(bio, &text);
	char *pem = mem_strndup(text, (size_t)length);
	BIO_free(bio);
	return pem;
}

static void prove(struct tls_door *door, const struct tls_door_options *options)
{
	const char *names = options->names ? options->names : "IP:127.0.0.1,DNS:localhost";
	EVP_PKEY *authority_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	char *common cleanup_free = mem_printf("authority of %s", door->address);
	X509 *authority = certificate_create(common, authority_key, 1);
	X509 *certificate = certificate_create("server", key, options->is_expired ? -1 : 1);

	certificate_extend(authority, NID_basic_constraints, "critical,CA:TRUE");
	certificate_sign(authority, authority, authority_key);
	certificate_extend(certificate, NID_subject_alt_name, names);
	certificate_sign(certificate, authority, authority_key);
	assert_int_equal(SSL_CTX_use_certificate(door->ssl, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(door->ssl, key), 1);
	SSL_CTX_add_extra_chain_cert(door->ssl, authority); /* which takes it */
	door->authority = to_pem(authority);
	X509_free(certificate);
	EVP_PKEY_free(key);
	EVP_PKEY_free(authority_key);
}

/* ---- passing on --------------------------------------------------------------------------- */

static void passage_free(struct passage *passage)
{
	LIST_REMOVE(passage, link);
	bufferevent_free(passage->outside);
	bufferevent_free(passage->inside);
	free(passage);
}

static struct bufferevent *other(const struct passage *passage, const struct bufferevent *side)
{
	return side == passage->outside ? passage->inside : passage->outside;
}

static void on_read(struct bufferevent *from, void *data)
{
	struct bufferevent *to = other(data, from);

	bufferevent_write_buffer(to, bufferevent_get_input(from));
	if (!((struct passage *)data)->has_ended &&
	    evbuffer_get_length(bufferevent_get_output(to)) > HELD)
		bufferevent_disable(from, EV_READ);
}

static void on_discard(struct bufferevent *from, void *data)
{
	evbuffer_drain(bufferevent_get_input(from), SIZE_MAX);
}

static void on_left(struct bufferevent *from, short what, void *data)
{
	passage_free(data);
}

/* The server has ended: so does this side, when all is said. What the client still says is read:
 * unread, it would make the kernel forget what was sent. */
static void end_outside(struct passage *passage)
{
	struct bufferevent *outside = passage->outside;
	SSL *ssl = bufferevent_openssl_get_ssl(outside);

	if (!SSL_is_init_finished(ssl) || evbuffer_get_length(bufferevent_get_output(outside)) > 0)
		return;
	if (!passage->door->is_cut_off)
		SSL_shutdown(ssl);
	shutdown(bufferevent_getfd(outside), SHUT_WR);
	bufferevent_setcb(outside, on_discard, NULL, on_left, passage);
	bufferevent_enable(outside, EV_READ);
}

static void on_written(struct bufferevent *to, void *data)
{
	struct passage *passage = data;

	if (passage->has_ended && to == passage->outside)
		end_outside(passage);
	else
		bufferevent_enable(other(passage, to), EV_READ);
}

static void on_event(struct bufferevent *from, short what, void *data)
{
	struct passage *passage = data;

	if (what & BEV_EVENT_CONNECTED) {
		on_written(from, data);
		return;
	}
	on_read(from, data);
	if (from == passage->outside) {
		passage_free(passage);
		return;
	}
	passage->has_ended = true;
	bufferevent_disable(from, EV_READ | EV_WRITE);
	end_outside(passage);
}

static void on_accepted(struct evconnlistener *listener, evutil_socket_t fd,
			struct sockaddr *address, int length, void *data)
{
	struct tls_door *door = data;
	struct passage *passage = mem_alloc(sizeof(*passage));

	passage->door = door;
	passage->outside =
		bufferevent_openssl_socket_new(door->base, fd, SSL_new(door->ssl),
					       BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	passage->inside = bufferevent_socket_new(door->base, -1, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(passage->outside, on_read, on_written, on_event, passage);
	bufferevent_setcb(passage->inside, on_read, on_written, on_event, passage);
	bufferevent_enable(passage->outside, EV_READ | EV_WRITE);
	bufferevent_enable(passage->inside, EV_READ | EV_WRITE);
	LIST_INSERT_HEAD(&door->passages, passage, link);
	assert_int_equal(bufferevent_socket_connect(passage->inside,
						    (struct sockaddr *)&door->target.storage,
						    (int)door->target.length),
			 0);
}

/* ---- the door ----------------------------------------------------------------------------- */

static void on_close(evutil_socket_t fd, short what, void *data)
{
	event_base_loopbreak(data);
}

static void *run(void *data)
{
	struct tls_door *door = data;
	sigset_t broken;

	/* OpenSSL's own sockets raise it, in the thread that writes. */
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, NULL);
	event_base_dispatch(door->base);
	return NULL;
}

static void listen_anywhere(struct tls_door *door)
{
	struct net_address any;

	assert_int_equal(net_address_parse("127.0.0.1:0", &any, NULL), 0);
	door->listener = evconnlistener_new_bind(
		door->base, on_accepted, door,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 16,
		(struct sockaddr *)&any.storage, (int)any.length);
	assert_non_null(door->listener);
	assert_int_equal(getsockname(evconnlistener_get_fd(door->listener),
				     (struct sockaddr *)&any.storage, &any.length),
			 0);
	door->address = net_address_text(&any);
}

struct tls_door *tls_door_open(const char *target, const struct tls_door_options *options)
{
	static const struct tls_door_options usual;
	struct tls_door *door = mem_alloc(sizeof(*door));

	options = options ? options : &usual;
	assert_int_equal(net_address_parse(target, &door->target, NULL), 0);
	door->is_cut_off = options->is_cut_off;
	door->ssl = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_session_id_context(door->ssl, (const unsigned char *)"door", 4);
	SSL_CTX_set_max_proto_version(door->ssl, options->newest);
	SSL_CTX_set_security_level(door->ssl, 0); /* as far as it goes, old versions too */
	if (options->wants_certificates)
		SSL_CTX_set_verify(door->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
				   NULL);
	door->base = event_base_new();
	listen_anywhere(door);
	prove(door, options);
	door->end_fd = eventfd(0, EFD_CLOEXEC);
	door->end = event_new(door->base, door->end_fd, EV_READ, on_close, door->base);
	event_add(door->end, NULL);
	assert_int_equal(pthread_create(&door->thread, NULL, run, door), 0);
	return door;
}

void tls_door_close(struct tls_door *door)
{
	if (!door)
		return;
	assert_int_equal(eventfd_write(door->end_fd, 1), 0);
	assert_int_equal(pthread_join(door->thread, NULL), 0);
	while (!LIST_EMPTY(&door->passages))
		passage_free(LIST_FIRST(&door->passages));
	evconnlistener_free(door->listener);
	event_free(door->end);
	event_base_free(door->base);
	close(door->end_fd);
	SSL_CTX_free(door->ssl);
	free(door->address);
	free(door->authority);
	free(door);
}

const char *tls_door_address(const struct tls_door *door)
{
	return door->address;
}

const char *tls_door_authority(const struct tls_door *door)
{
	return door->authority;
}
