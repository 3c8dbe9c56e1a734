/*
 * RC4, one of the two ciphers of DIGEST-MD5 that everybody has. In libcrypto it is in the legacy
 * provider: a file of its own, which a static program cannot load and hosts may lack.
 */
#ifndef TONY_HADOOP_RC4_H
#define TONY_HADOOP_RC4_H

#include <stddef.h>

struct rc4 {
	unsigned char box[256];
	unsigned char i, j;
};

/* key_length: 1 to 256 */
void rc4_start(struct rc4 *rc4, const void *key, size_t key_length);
/* Encrypts or decrypts in place, going on in the stream where the last call ended. */
void rc4_apply(struct rc4 *rc4, unsigned char *bytes, size_t length);

#endif
