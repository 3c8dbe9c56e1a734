/*
 * MD5 (RFC 1321) and HMAC-MD5 (RFC 2104), for DIGEST-MD5 alone. libcrypto's refuses to work on
 * hosts in FIPS mode, where Hadoop's tokens are still proved with it.
 */
#ifndef TONY_HADOOP_MD5_H
#define TONY_HADOOP_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { MD5_LENGTH = 16, MD5_HEX_SIZE = 2 * MD5_LENGTH + 1 };

struct md5 {
	uint32_t state[4];
	uint64_t length; /* bytes so far */
	unsigned char block[64];
};

void md5_start(struct md5 *md5);
void md5_update(struct md5 *md5, const void *bytes, size_t length);
/* Wipes `md5`. */
void md5_finish(struct md5 *md5, unsigned char digest[MD5_LENGTH]);

/* Lower case. */
void md5_hex(const unsigned char digest[MD5_LENGTH], char hex[MD5_HEX_SIZE]);

struct md5_hmac {
	struct md5 inner, outer;
};

void md5_hmac_start(struct md5_hmac *hmac, const void *key, size_t key_length);
void md5_hmac_update(struct md5_hmac *hmac, const void *bytes, size_t length);
/* Wipes `hmac`. */
void md5_hmac_finish(struct md5_hmac *hmac, unsigned char digest[MD5_LENGTH]);

#endif
