/* A GSSAPI library of plain texts, and the server's side of it: what a Kerberos would protect is
 * only marked here, with a number that counts and a sum. */
#ifndef TONY_TEST_HADOOP_FAKE_GSSAPI_H
#define TONY_TEST_HADOOP_FAKE_GSSAPI_H

#include "base/str.h"
#include "hadoop/gssapi.h"

/* How it behaves, and what is open of it; set to {0} before a test. */
struct fake_gssapi {
	const char
		*failure;  /* what init_sec_context() says in place of a token; NULL: it succeeds */
	bool lacks_http;   /* no keytab has a key of HTTP/HOST */
	const char *user;  /* of the default ticket */
	const char *other; /* of another one; NULL: there is none */
	const char *proof; /* of which one a context was begun */
	const char *realm; /* of hosts; NULL: FAKE_REALM */
	const char *bound; /* to what the client has bound its token; NULL: to nothing */
	uint32_t withheld; /* flags that are not granted */
	bool cannot_wrap;
	int rounds;				   /* more that the exchange takes */
	int names, contexts, credentials, buffers; /* not released */
};
extern struct fake_gssapi fake_gssapi;
extern const struct gssapi fake_gssapi_library;

#define FAKE_REALM "TONY.TEST" /* of names without one */

/* The server's side. */
struct fake_acceptor {
	uint32_t out, in; /* numbers of the next messages */
};
/* The first token of a client that wants this principal, and the server's answer. */
#define FAKE_HELLO    "hello "
#define FAKE_WELCOME  "welcome"
#define FAKE_MORE     "more"
#define FAKE_OVERHEAD 9 /* bytes of a token beside the message */

/* Appends a token. */
void fake_acceptor_wrap(struct fake_acceptor *acceptor, bool is_private, const void *bytes,
			size_t length, struct str *out);
/* Asserts that it is the client's next one; appends the message. */
void fake_acceptor_unwrap(struct fake_acceptor *acceptor, bool is_private, const void *token,
			  size_t length, struct str *out);

#endif
