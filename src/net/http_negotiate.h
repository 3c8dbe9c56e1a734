/*
 * Proof in HTTP's own headers, "Negotiate" (RFC 4559), for an HTTP client: the server answers 401,
 * the request is repeated with a token of the client's, and the answer to that has the server's
 * token. Where tokens come from is the holder's affair.
 *
 * A server is believed once it has proved who it is: an answer that comes unasked, or without a
 * good token of the server's, fails the call, unless it is a failure itself. So a server that asks
 * for less than this proof, a password perhaps or a name in the URL, is refused. A cookie that such
 * a server gives stands for the next proof.
 */
#ifndef TONY_NET_HTTP_NEGOTIATE_H
#define TONY_NET_HTTP_NEGOTIATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct http_head;
struct http_negotiator;

/* How tokens are made. Calls may wait, for servers of their own. */
struct http_mechanism {
	/* With the server at `host`, as the client was told it: a name, or a numeric address
	 * without brackets. NULL: `err`. */
	void *(*begin)(void *data, const char *host, struct err *err);
	/* Takes the server's token, none at the beginning, and appends what it is to be sent, which
	 * may be nothing. *complete: both have proved who they are. */
	int (*step)(void *exchange, const void *token, size_t length, struct str *out,
		    bool *complete, struct err *err);
	void (*end)(void *exchange);
	void (*forget)(void *data); /* at the negotiator's end; NULL: nothing */
	const char *cookie;	    /* its name */
	const char *name;	    /* of the proof, for messages: "Kerberos" */
};

/* Keeps the cookies, each for one server and in memory alone. Outlives the clients that use it, and
 * may be used by many. `data`: for begin(). `remedy`: what to do about a server that does not ask
 * for the proof; borrowed. */
struct http_negotiator *http_negotiator_create(const struct http_mechanism *mechanism, void *data,
					       const char *remedy);
void http_negotiator_destroy(struct http_negotiator *negotiator); /* NULL is fine */

/* ---- one call: of http_client.c ------------------------------------------------------------ */

enum { HTTP_NEGOTIATE_TOKENS = 2 }; /* that a call sends, at most */

struct http_negotiation;

/* `address`: HOST:PORT. */
struct http_negotiation *http_negotiation_create(struct http_negotiator *negotiator,
						 const char *address, const char *host,
						 bool is_tls);
void http_negotiation_destroy(struct http_negotiation *negotiation); /* NULL is fine */

/* Lines for the request, each with its CR LF; "": none. A secret. */
const char *http_negotiation_headers(const struct http_negotiation *negotiation);
/* Takes the answer's head. *again: the request is to be repeated, and this answer forgotten. -1:
 * `err`, and the answer is not to be believed (ERR_DENIED, or what begin() and step() say). */
int http_negotiation_take(struct http_negotiation *negotiation, const struct http_head *head,
			  bool *again, struct err *err);

/* ---- parsing, apart from the network ------------------------------------------------------ */

/* The demands of a head. Initialise with {0}. */
struct http_challenge {
	bool is_negotiate;
	void *token; /* the server's, owned; NULL: none */
	size_t length;
	struct str_list others; /* the other schemes, each once */
};
/* -1: ERR_INPUT, the token is none. */
int http_challenge_read(struct http_challenge *challenge, const struct http_head *head,
			struct err *err);
void http_challenge_finish(struct http_challenge *challenge);

/* Whether the head sets the cookie: *value is as it is sent back, or NULL where it is emptied. The
 * caller frees it; a secret. */
bool http_cookie_read(const struct http_head *head, const char *name, char **value);

#endif
