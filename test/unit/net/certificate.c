#include "certificate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/x509v3.h>

static void name(X509 *certificate, const char *common)
{
	X509_NAME *subject = X509_get_subject_name(certificate);

	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)common, -1,
				   -1, 0);
}

void certificate_extend(X509 *certificate, int kind, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

	assert_non_null(extension);
	X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
}

X509 *certificate_create(const char *common, EVP_PKEY *key, int hours)
{
	static long serial;
	X509 *certificate = X509_new();

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -2 * 3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), hours * 3600);
	X509_set_pubkey(certificate, key);
	name(certificate, common);
	return certificate;
}

void certificate_sign(X509 *certificate, X509 *authority, EVP_PKEY *key)
{
	X509_set_issuer_name(certificate, X509_get_subject_name(authority));
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
}
