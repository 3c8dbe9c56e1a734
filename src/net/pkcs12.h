/*
 * PKCS #12 (RFC 7292): a file with a key, its certificate, and others. Java calls it a key store,
 * or a trust store.
 */
#ifndef TONY_NET_PKCS12_H
#define TONY_NET_PKCS12_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stddef.h>

#include "base/err.h"

struct pkcs12_content {
	EVP_PKEY *key;		 /* NULL: there is none */
	X509 *own;		 /* the key's; likewise */
	STACK_OF(X509) * others; /* never NULL */
};

/* `password` NULL: the file was made without one. ERR_CONFIG: it is no PKCS #12, does not open with
 * the password, or has it hashed more than 1,000,000 times. */
int pkcs12_read(const void *bytes, size_t length, const char *password,
		struct pkcs12_content *content, struct err *err);
void pkcs12_content_finish(struct pkcs12_content *content);

#endif
