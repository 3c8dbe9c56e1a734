/*
 * An HTTP/1.1 client: asynchronous on an event loop for the executor, and synchronous calls for the
 * client's verbs. Neither raises SIGPIPE nor needs the C library's resolver.
 */
#ifndef TONY_NET_HTTP_CLIENT_H
#define TONY_NET_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct http_client;
struct http_call;
struct http_head;
struct http_negotiator;
struct tls_context;

#define HTTP_RESPONSE_CAP (64u << 20) /* bytes of a gathered body */

struct http_response {
	int status;
	const char *body; /* NUL-terminated; valid within `done` */
	size_t length;
	const char *location;	      /* where a redirect leads, as it was sent; NULL: nowhere */
	const struct http_head *head; /* its headers (http_message.h) */
};

/* What to ask, and whom to tell. Texts and body are copied. */
struct http_question {
	const char *method;
	const char *path;	  /* with the query; the caller percent-encodes */
	const char *accept;	  /* NULL: anything */
	const char *content_type; /* of the body; NULL: not told */
	/* "Basic ..."; NULL: none but the client's token. A secret: copied, and told to nobody
	 * else. */
	const char *authorization;
	const char *headers; /* more of them, each with its CR LF; NULL: none. Copied as a secret */
	const char *body;
	size_t body_length;
	/* With `body` NULL and a length: so many bytes of this file, from where it stands, read as
	 * they are sent. Borrowed until the end of the call. */
	int body_fd;
	int64_t timeout_ms; /* from the call to the whole answer; 0: no limit */
	int64_t silence_ms; /* without a byte to or from the server; 0: no limit but timeout_ms */
	int64_t connect_ms; /* to be connected; 0: 20 s */
	size_t cap; /* a gathered body that is larger fails the call; 0: HTTP_RESPONSE_CAP */
	/* The answer may come compressed; who asked is not told. `cap` counts what it holds. */
	bool takes_gzip;
	bool is_status_enough; /* the answer's body is not waited for, and empty */
	bool is_last;	       /* the connection is closed after the answer */
	/* NULL: the body is gathered. Else it gets the bytes of a 2xx body as they come; false
	 * ends the call (`done` is told so: ERR_NONE, status of the answer, empty body). */
	bool (*on_bytes)(void *data, const char *bytes, size_t length);
	/* May be NULL. Told how much of the body has left, also between the reading of a file's
	 * last bytes and their leaving; false ends the call (ERR_FAILED). */
	bool (*on_sent)(void *data, int64_t bytes);
	/* Called exactly once, from the loop, unless the call was cancelled. `response` is NULL
	 * when there was no (whole) answer: `err` says why (ERR_UNREACHABLE: refused, dropped,
	 * timed out; ERR_DENIED: another user listens there; ERR_INPUT: not HTTP). It may make new
	 * calls, and destroy the client. */
	void (*done)(void *data, const struct http_response *response, const struct err *err);
	void *data;
};

/* The Host header of a question to `address`: without a port that the scheme has anyway. The caller
 * frees. */
char *http_client_host(const char *address, bool is_tls);

/* One connection to HOST:PORT, made when it is needed and kept alive. Calls are sent one after the
 * other, each when the one before is answered: who holds a beat and must report at the same time
 * uses two clients. A dropped connection fails the call in progress at once; calls that wait their
 * turn are tried on a new one. The host may be a name (net/resolve.h). Fails when `address` is not
 * HOST:PORT.
 *
 * On this machine, a `token` is sent only to servers of the caller's user or root. */
struct http_client *http_client_create(struct event_base *base, const char *address,
				       const char *token, struct err *err);

/* A server of tony's, and the user to whom alone its token is shown (http_client_demand_owner()).
 */
struct http_target {
	const char *address; /* HOST:PORT */
	const char *token;   /* NULL: none */
	uid_t owner;	     /* counts with a token only */
	/* It is one with is_sealed (http_server.h), and the token is what both know. */
	bool is_sealed;
	/* By which a sealed server finds that token (tls_context_create_named()), which then
	 * proves its user in the handshake alone, and is not shown. NULL: it is the server's own.
	 */
	const char *identity;
};

/* Likewise: a token is shown in the clear only where the target is not sealed. */
struct http_client *http_client_create_for(struct event_base *base,
					   const struct http_target *target, struct err *err);

/* Before the first call: it is this user's server, or root's (net/dial.h), or SOCKET_OWNER_ANY. */
void http_client_demand_owner(struct http_client *client, uid_t owner);
/* Before the first call: it is https that is spoken. `tls` is borrowed. What tls_take() says of a
 * connection is the error of the call. */
void http_client_use_tls(struct http_client *client, struct tls_context *tls);
/* Before the first call, and without a token: its user and the server prove who they are by
 * http_negotiate.h, borrowed, in every call that sends no file. Its error is that of the call. */
void http_client_use_negotiator(struct http_client *client, struct http_negotiator *negotiator);
/* Calls in progress are cancelled. NULL is fine. */
void http_client_destroy(struct http_client *client);

/* The call lives until `done` returns, or it is cancelled. */
struct http_call *http_client_start(struct http_client *client,
				    const struct http_question *question);
/* `done` will not be called. Closes the connection when the call was on the wire. */
void http_client_cancel(struct http_call *call);

/* It has a connection, as far as it knows. */
bool http_client_is_connected(const struct http_client *client);

/* Within the `done` of a call that got no answer: how far it came. */
enum http_reach {
	HTTP_REACH_NAME,   /* the host's name has no address */
	HTTP_REACH_SERVER, /* no connection: nothing was asked */
	HTTP_REACH_SENT,   /* what the server did is not known */
};
enum http_reach http_client_reach(const struct http_client *client);

/* For the on_bytes() of the call in progress: takes no more of its answer for now. Of what comes
 * meanwhile no more than 256 KiB is kept; then the peer has to wait. Fine at any time. */
void http_client_pause(struct http_client *client);
void http_client_resume(struct http_client *client);

/* 0 for a 2xx; else sets `err` to the message of the body's "error" object (or the status) with a
 * kind by status: 400 ERR_INPUT, 401 and 403 ERR_DENIED, 404 and 410 ERR_NOT_FOUND, 409 ERR_STALE
 * when its code is "stale" (ERR_NOT_FOUND: "no-program"), 503 ERR_UNREACHABLE, else ERR_FAILED. */
int http_response_check(int status, const char *body, size_t length, struct err *err);

/* ---- synchronous: a signal may cut them (interrupt.h) -------------------------------------- */

/* 0 when an answer came, whatever its status (see http_response_check()). `body` is text or NULL.
 * `response` may be NULL; else the body is appended to it. */
int http_call(const struct http_target *target, const char *method, const char *path,
	      const char *body, int64_t timeout_ms, int *status, struct str *response,
	      struct err *err);

/* One question to a server that is none of tony's, over TLS unless `tls` is NULL. `question`: its
 * `done` and `data` are not used, and the answer's body is not waited for. 0 when an answer came,
 * whatever its status; a redirect is one. */
int http_ask(const char *address, struct tls_context *tls, const struct http_question *question,
	     int *status, struct err *err);

/* A server that is none of tony's. */
struct http_site {
	const char *address;		    /* HOST:PORT */
	struct tls_context *tls;	    /* NULL: without TLS */
	struct http_negotiator *negotiator; /* NULL: it asks nobody who they are */
	const char *headers;		    /* as those of a question; NULL: none */
};

/* GETs what comes as an answer piece by piece, until it ends or on_bytes() returns false: 0 either
 * way. A status other than 2xx, that of a redirect too, is an error as http_response_check() words
 * it. timeout_ms: of all of it; 0: no limit. */
int http_stream(const struct http_site *site, const char *path, int64_t timeout_ms,
		bool (*on_bytes)(void *data, const char *bytes, size_t length), void *data,
		struct err *err);

/* GETs a whole answer, which is appended to `body`. One of more than `cap` bytes is an error; so
 * is, with `status` NULL, one that http_response_check() refuses. */
int http_get(const struct http_site *site, const char *path, int64_t timeout_ms, size_t cap,
	     int *status, struct str *body, struct err *err);

#endif
