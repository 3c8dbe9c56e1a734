/*
 * Java's own key stores: JKS, and the certificates of JCEKS. The format is that of OpenJDK's
 * sun.security.provider.JavaKeyStore; the digest at its end is not looked at, for whoever can write
 * such a file can choose another.
 */
#ifndef TONY_NET_JAVA_STORE_H
#define TONY_NET_JAVA_STORE_H

#include <stddef.h>

#include "base/err.h"
#include "net/store_format.h"

/* Those that it holds to be trusted, with no key. NULL: `err` (ERR_CONFIG). The caller frees. */
STACK_OF(X509) * java_store_read_trusted(const void *bytes, size_t length, struct err *err);

/* Its first key, that one's certificate, and as `others` those that lead to an authority.
 * `password`: the key's. -1: `err` (ERR_CONFIG), and nothing to finish. */
int java_store_read_key(const void *bytes, size_t length, const char *password,
			struct store_content *content, struct err *err);

#endif
