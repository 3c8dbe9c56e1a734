/*
 * DIGEST-MD5 (RFC 2831), the client's side, in parts: the server's challenge, the proofs of both
 * sides, and the layer that protects what is said afterwards. Where the RFC leaves a choice, or
 * Java differs from it, the bytes are those of the JDK's own mechanism, which Hadoop's servers use.
 */
#ifndef TONY_HADOOP_SASL_DIGEST_H
#define TONY_HADOOP_SASL_DIGEST_H

#define OPENSSL_SUPPRESS_DEPRECATED /* see struct digest_direction */
#include <openssl/des.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "hadoop/md5.h"
#include "hadoop/rc4.h"
#include "hadoop/sasl.h"

extern const struct sasl_mechanism sasl_digest_token; /* the row: proves a Hadoop token */

/* The mechanism itself, of whatever user. All is copied. `cnonce`: random text that nobody can
 * foresee. */
struct sasl *sasl_digest_create(const char *user, const char *password, const char *uri,
				unsigned protections, const char *cnonce);

/* ---- challenges --------------------------------------------------------------------------- */

#define DIGEST_CHALLENGE_CAP 2048  /* bytes: RFC 2831, 2.1.1 */
#define DIGEST_BUFFER_CAP    65536 /* what a server can take that does not say */

enum digest_cipher { DIGEST_CIPHER_NONE = 0, DIGEST_RC4 = 1, DIGEST_3DES = 2 };

struct digest_challenge {
	char *nonce;
	char *realm;	      /* the first; NULL: none */
	unsigned protections; /* on offer: SASL_AUTH ... */
	unsigned ciphers;     /* on offer that we have: enum digest_cipher, or-ed */
	size_t buffer;	      /* bytes of the largest token that the server takes */
	bool utf8;
};

/* Fills what was {0}. */
int digest_challenge_parse(const void *bytes, size_t length, struct digest_challenge *challenge,
			   struct err *err);
/* The server's last word: its proof, which the caller frees. NULL: ERR_INPUT. */
char *digest_proof_parse(const void *bytes, size_t length, struct err *err);
void digest_challenge_finish(struct digest_challenge *challenge);
#define cleanup_digest_challenge __attribute__((cleanup(digest_challenge_finish)))

/* ---- protection --------------------------------------------------------------------------- */

enum { DIGEST_OVERHEAD = 26 }; /* what a token has more than the message, at most */

/* One of the two streams. DES is used directly: a cipher fetched from a provider would make
 * tony-agent twice as large, and is not there in FIPS mode. */
struct digest_direction {
	unsigned char integrity_key[MD5_LENGTH];
	uint32_t sequence;
	struct rc4 rc4;
	DES_key_schedule des1, des2;
	DES_cblock des_chain; /* goes on from token to token */
};

struct digest_layer {
	enum digest_cipher cipher; /* none: integrity only */
	struct digest_direction out, in;
};

/* `secret`: the H(A1) of both sides. */
void digest_layer_start(struct digest_layer *layer, const unsigned char secret[MD5_LENGTH],
			enum digest_cipher cipher);
void digest_layer_wrap(struct digest_layer *layer, const void *bytes, size_t length,
		       struct str *out);
/* ERR_DENIED: it is not what the server sent next; `out` is as it was. */
int digest_layer_unwrap(struct digest_layer *layer, const void *token, size_t length,
			struct str *out, struct err *err);

#endif
