/* Files of keys and certificates: in which format they are, and what is in them. */
#ifndef TONY_NET_STORE_FORMAT_H
#define TONY_NET_STORE_FORMAT_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>

/* By its first bytes; others are PKCS #12. */
bool store_is_java(const void *bytes, size_t length); /* JKS or JCEKS, of Java alone */
bool store_is_pem(const void *bytes, size_t length);

struct store_content {
	EVP_PKEY *key;		 /* NULL: there is none */
	X509 *own;		 /* the key's; likewise */
	STACK_OF(X509) * others; /* never NULL */
};
void store_content_finish(struct store_content *content);

#endif
