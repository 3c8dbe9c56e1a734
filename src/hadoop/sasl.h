/*
 * SASL, the client's side, as Hadoop's RPC uses it: bytes in, bytes out. A mechanism is a row of
 * functions: DIGEST-MD5 (RFC 2831) proves that we hold a token's password, and that the server
 * knows it too. GSSAPI, which proves who we are by Kerberos, is the client's alone
 * (sasl_gssapi.h), since tony-agent has tokens only.
 *
 *	sasl = mechanism->create(&identity, protections, &err);
 *	sasl_step() for each challenge, until the server says SUCCESS
 *
 * A server's SUCCESS counts only when a step has said `complete`: before, it has proved nothing.
 * From then on everything goes through sasl_wrap() and sasl_unwrap() if sasl_protection() is not
 * SASL_AUTH.
 */
#ifndef TONY_HADOOP_SASL_H
#define TONY_HADOOP_SASL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct hadoop_token;

/* What a connection is protected by; sets of them are or-ed. */
enum {
	SASL_AUTH = 1,	    /* who speaks is known; what is said is in clear */
	SASL_INTEGRITY = 2, /* and cannot be altered */
	SASL_PRIVACY = 4,   /* and cannot be read */
};

/* A server that has a principal of Kerberos, by the configuration. */
struct sasl_peer {
	const char *key;     /* for messages: "yarn.resourcemanager.principal" */
	const char *name;    /* its value: "rm/_HOST@REALM"; NULL: not set */
	const char *pattern; /* that of KEY.pattern, which goes before: "rm/host*@REALM"; NULL: not
				set */
	const char *host;    /* of the address that the server is reached at: a name, or numeric */
};

/* Who we are, and whom we want to speak to. Borrowed for the time of create(). */
struct sasl_identity {
	const struct hadoop_token *token; /* NULL: none; then TOKEN cannot be taken */
	/* For Kerberos, as gssapi_credential_find() takes them; may be NULL. */
	const char *principal, *keytab;
	const char *protocol, *server_id; /* as the server offers them: SaslAuth; not NULL */
	const struct sasl_peer *peer;	  /* not NULL where the mechanism is sasl_kerberos */
};

struct sasl {
	const struct sasl_mechanism *mechanism;
};

struct sasl_mechanism {
	const char *method; /* Hadoop's word: SaslAuth.method */
	const char *name;   /* IANA's word: SaslAuth.mechanism */
	/* `protections`: those that will do. The strongest that the server offers as well is
	 * taken. NULL: it cannot work with this identity. */
	struct sasl *(*create)(const struct sasl_identity *identity, unsigned protections,
			       struct err *err);
	/* Those of the functions below, which call them. */
	int (*step)(struct sasl *sasl, const void *challenge, size_t length, struct str *response,
		    bool *complete, struct err *err);
	unsigned (*protection)(const struct sasl *sasl);
	size_t (*wrap_cap)(const struct sasl *sasl);
	int (*wrap)(struct sasl *sasl, const void *bytes, size_t length, struct str *out,
		    struct err *err);
	int (*unwrap)(struct sasl *sasl, const void *token, size_t length, struct str *out,
		      struct err *err);
	void (*destroy)(struct sasl *sasl);
};

/* Appends what is to be sent in answer to the challenge; nothing at all is an empty answer. With
 * *complete the server has proved itself too, and no step may follow. ERR_DENIED: the server has
 * proved to be somebody else, or offers no protection that will do; ERR_INPUT: it talks nonsense.
 */
int sasl_step(struct sasl *sasl, const void *challenge, size_t length, struct str *response,
	      bool *complete, struct err *err);

/* One of SASL_AUTH, SASL_INTEGRITY and SASL_PRIVACY. After `complete`. */
unsigned sasl_protection(const struct sasl *sasl);

/* How many bytes may go into one sasl_wrap(), > 0: the server said so. More are split; the server
 * takes what comes out as a stream. */
size_t sasl_wrap_cap(const struct sasl *sasl);

/* Append one token made of the bytes (not for SASL_AUTH), or the bytes of one token (ERR_DENIED: it
 * was altered, repeated or left out; the connection is of no use any more). Tokens are to be
 * wrapped in the order in which they are sent, and unwrapped as they come. */
int sasl_wrap(struct sasl *sasl, const void *bytes, size_t length, struct str *out,
	      struct err *err);
int sasl_unwrap(struct sasl *sasl, const void *token, size_t length, struct str *out,
		struct err *err);

/* NULL is fine. */
void sasl_destroy(struct sasl *sasl);

#endif
