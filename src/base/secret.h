/* Secrets out of chance, and out of a secret. */
#ifndef TONY_BASE_SECRET_H
#define TONY_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* 256 random bits, in hex. The caller frees. */
char *secret_create(void);

enum { SECRET_HMAC_BYTES = 32 };
/* HMAC-SHA256 of `bytes` under `key`. */
void secret_hmac(const void *key, size_t key_length, const void *bytes, size_t length,
		 unsigned char hmac[SECRET_HMAC_BYTES]);

/* secret_hmac() of `purpose` under `key`, in hex: the same wherever both are known, and of no help
 * to who wants to know the key. The caller frees. */
char *secret_derive(const char *key, const char *purpose);

/* Proves that one knows `key`, to another one who does: secret_hmac() of the parts, each with its
 * length, in hex. So no other parts have the same proof. The caller frees. */
char *secret_prove(const char *key, const char *const *parts, size_t count);

/* SHA-256 of a text that is no secret, in hex: a name for it. The caller frees. */
char *secret_hash(const char *text);

/* Takes no longer the more of it is right. */
bool secret_equal(const char *given, const char *right);

#endif
