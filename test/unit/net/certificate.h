/* Certificates, made for a test. */
#ifndef TONY_TEST_NET_CERTIFICATE_H
#define TONY_TEST_NET_CERTIFICATE_H

#include <openssl/evp.h>
#include <openssl/x509.h>

/* Of this name, not signed, valid from two hours ago to `hours` from now. */
X509 *certificate_create(const char *common, EVP_PKEY *key, int hours);
/* `kind`: NID_subject_alt_name and their like. */
void certificate_extend(X509 *certificate, int kind, const char *value);
void certificate_sign(X509 *certificate, X509 *authority, EVP_PKEY *key);

#endif
