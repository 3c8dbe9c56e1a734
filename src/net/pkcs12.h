/*
 * PKCS #12 (RFC 7292): a file with a key, its certificate, and others. Java calls it a key store,
 * or a trust store.
 */
#ifndef TONY_NET_PKCS12_H
#define TONY_NET_PKCS12_H

#include <stddef.h>

#include "base/err.h"
#include "net/store_format.h"

/* `password` NULL: the file was made without one. ERR_CONFIG: it is no PKCS #12, does not open with
 * the password, or has it hashed more than 1,000,000 times. */
int pkcs12_read(const void *bytes, size_t length, const char *password,
		struct store_content *content, struct err *err);

#endif
