/*
 * The certificates of trusted authorities, out of the files in which administrators keep
 * them: PEM; PKCS #12; Java's own JKS and JCEKS.
 */
#ifndef TONY_NET_TRUST_STORE_H
#define TONY_NET_TRUST_STORE_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define TRUST_STORE_CAP (8u << 20) /* bytes of a file */

/* Appends them to `pem`, and nothing else that is in the file. `password`: of PKCS #12; NULL: none.
 * ERR_CONFIG: the file is none of these, or holds no certificate, or more than TLS_AUTHORITIES_CAP
 * bytes of them. */
int trust_store_read(const char *path, const char *password, struct str *pem, struct err *err);
int trust_store_parse(const void *bytes, size_t length, const char *password, struct str *pem,
		      struct err *err);

#endif
