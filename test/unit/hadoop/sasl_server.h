/*
 * The server's side of DIGEST-MD5, for tests: made of libcrypto and RFC 2831 alone, so that a
 * mistake of src/hadoop is not made here as well. It asserts that the client does what it must.
 */
#ifndef TONY_TEST_HADOOP_SASL_SERVER_H
#define TONY_TEST_HADOOP_SASL_SERVER_H

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/des.h>
#include <openssl/rc4.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct sasl_stream {
	unsigned char signing[16];
	uint32_t sequence;
	RC4_KEY rc4;
	DES_key_schedule des[2];
	DES_cblock chain;
};

struct sasl_server {
	const char *user, *password; /* as they are on the wire: base64 for a token */
	const char *realm, *nonce, *uri;
	const char *qop, *cipher; /* what the client must choose; cipher NULL: none */
	unsigned char secret[16];
	struct sasl_stream in, out;
};

/* The user that the client says it is; the caller frees. */
char *sasl_server_user(const char *response);
/* Checks the client's answer to a challenge with this realm and nonce; appends "rspauth=...". */
void sasl_server_accept(struct sasl_server *server, const char *response, struct str *proof);
/* One token; appends what was in it. */
void sasl_server_read(struct sasl_server *server, const void *token, size_t length,
		      struct str *out);
/* Appends one token. */
void sasl_server_write(struct sasl_server *server, const void *bytes, size_t length,
		       struct str *out);

#endif
