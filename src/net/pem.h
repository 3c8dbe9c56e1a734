/* Certificates in PEM. */
#ifndef TONY_NET_PEM_H
#define TONY_NET_PEM_H

#include <openssl/x509.h>
#include <stddef.h>

#include "base/err.h"

/* All that are in a text, in their order; what else is there is passed over. The caller frees with
 * sk_X509_pop_free(). NULL: ERR_CONFIG, there is none, or one of them cannot be read. */
STACK_OF(X509) * pem_read_certificates(const void *bytes, size_t length, struct err *err);

#endif
