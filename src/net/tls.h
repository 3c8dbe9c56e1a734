/*
 * TLS 1.2 and 1.3 for connections (wire.h), by OpenSSL: turns what comes from a socket into the
 * peer's bytes, and bytes for the peer into what its socket is to send. Neither reads nor writes
 * sockets itself.
 */
#ifndef TONY_NET_TLS_H
#define TONY_NET_TLS_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TLS_AUTHORITIES_CAP (1u << 20) /* bytes of PEM */
#define TLS_IDENTITY_BYTES  1024

struct evbuffer;
struct str;
struct tls_identity; /* tls_identity.h */
struct tls_context;  /* what connections of one kind have in common */
struct tls;	     /* one end of one connection */

/* The client's end: whom it asks must prove with a certificate of one of the authorities that it is
 * the host that was to be asked. `authorities`: PEM; NULL: those that this machine trusts. `remedy`
 * is what to do about a certificate of others. ERR_CONFIG: there are no authorities. */
struct tls_context *tls_context_create_client(const char *authorities, const char *remedy,
					      struct err *err);
/* For both ends, TLS 1.3 alone: each proves that it knows `secret` (RFC 8446, 2.2: an external key,
 * HKDF-SHA256 of the secret, with X25519), and neither has a certificate. `secret` has to be as
 * good as 128 random bits: a server hears enough to try guesses. */
struct tls_context *tls_context_create_shared(const char *secret);
/* The client's end of one, for a user who does not know the server's own secret: `identity`, a text
 * of at most TLS_IDENTITY_BYTES, tells the server which secret proves who that is. NULL: it is the
 * server's own. */
struct tls_context *tls_context_create_named(const char *identity, const char *secret);

/* Users who prove themselves to a server with a shared secret by secrets of their own. */
struct tls_people {
	/* The secret that proves `identity`, which a stranger may have made up, and the name of its
	 * user; the caller frees both. NULL: there is none. */
	char *(*find_secret)(void *data, const char *identity, char **user);
	void *data;
};
/* Copied. */
void tls_context_admit(struct tls_context *context, const struct tls_people *people);
/* The server's end, for clients that trust the authority of its certificate: TLS 1.2 and 1.3. */
struct tls_context *tls_context_create_server(const struct tls_identity *identity, struct err *err);
/* Of a server: hears only clients that prove to be the one with this very certificate, at whatever
 * time. */
void tls_context_demand(struct tls_context *context, X509 *client);
/* Takes another certificate for connections to come. */
int tls_context_renew(struct tls_context *context, const struct tls_identity *identity,
		      struct err *err);
/* One more that holds it. */
struct tls_context *tls_context_share(struct tls_context *context);
/* Connections that were made with it go on. NULL is fine. */
void tls_context_destroy(struct tls_context *context);

/* `host`: a name or a numeric address, without brackets. A secret that is shared asks for none. */
struct tls *tls_create(struct tls_context *context, const char *host);
/* The server's end. The context is one of a secret that is shared, or of a server. */
struct tls *tls_accept(struct tls_context *context);
void tls_destroy(struct tls *tls); /* NULL is fine */

/* At the server's end: what tells this connection's certificate from those of all other servers
 * (RFC 5929, "tls-server-end-point"), appended. Nothing where there is none, or the way in which it
 * was signed names no digest. */
void tls_end_point(const struct tls *tls, struct str *bytes);

/* Takes bytes that came from the socket; the peer's are appended to `input`. -1: the connection is
 * of no use any more: ERR_DENIED: about the certificate, or the secret; ERR_INPUT: it is no TLS, or
 * the two ends have no way in common. */
int tls_take(struct tls *tls, const void *bytes, size_t length, struct evbuffer *input,
	     struct err *err);
/* At the server's end: the peer has begun as one does that knows the secret. */
bool tls_is_answered(const struct tls *tls);
/* The handshake is done. */
bool tls_is_open(const struct tls *tls);
/* At the server's end: the user whom the handshake has proven the peer to be (tls_people). NULL: it
 * has proven that of none. */
const char *tls_user(const struct tls *tls);
/* The peer said that nothing more will come. What ends without that may have been cut off. */
bool tls_has_ended(const struct tls *tls);

/* What the socket is to send: of `output` as much as is good to have ready, none of it before the
 * handshake is done. */
struct evbuffer *tls_seal(struct tls *tls, struct evbuffer *output);
/* Not all of what was sealed has been taken by the socket. */
bool tls_is_sending(const struct tls *tls);
/* As tls_seal(), with the word that nothing more will come. */
struct evbuffer *tls_close(struct tls *tls);

#endif
