#include "net/trust_store.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/pem.h"
#include "net/pkcs12.h"
#include "net/store_format.h"
#include "net/tls.h"

static int add(struct str *pem, X509 *certificate)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;

	if (!bio || PEM_write_bio_X509(bio, certificate) != 1)
		BUG("OpenSSL cannot write a certificate");
	long length = BIO_get_mem_data(bio, &text);
	str_append_bytes(pem, text, (size_t)length);
	BIO_free(bio);
	return pem->length <= TLS_AUTHORITIES_CAP ? 0 : -1;
}

static void add_all(struct str *pem, STACK_OF(X509) * certificates)
{
	for (int i = 0; i < sk_X509_num(certificates); i++)
		if (add(pem, sk_X509_value(certificates, i)) < 0)
			return;
}

/* ---- PEM ---------------------------------------------------------------------------------- */

static int parse_pem(const void *bytes, size_t length, struct str *pem, struct err *err)
{
	STACK_OF(X509) *certificates = pem_read_certificates(bytes, length, err);

	if (!certificates)
		return -1;
	add_all(pem, certificates);
	sk_X509_pop_free(certificates, X509_free);
	return 0;
}

/* ---- JKS ---------------------------------------------------------------------------------- */

enum { JKS_KEY = 1, JKS_CERTIFICATE = 2 };

struct reader {
	const unsigned char *at;
	size_t left;
	bool is_short; /* more was wanted than there is */
};

static const unsigned char *take(struct reader *reader, size_t length)
{
	const unsigned char *bytes = reader->at;

	if (length > reader->left) {
		reader->is_short = true;
		return NULL;
	}
	reader->at += length;
	reader->left -= length;
	return bytes;
}

static uint32_t take_number(struct reader *reader, size_t bytes)
{
	const unsigned char *at = take(reader, bytes);
	uint32_t number = 0;

	for (size_t i = 0; at && i < bytes; i++)
		number = number << 8 | at[i];
	return number;
}

static void skip_text(struct reader *reader)
{
	take(reader, take_number(reader, 2));
}

/* A certificate with its type; NULL: none that OpenSSL can read. */
static X509 *take_certificate(struct reader *reader, uint32_t version)
{
	if (version == 2)
		skip_text(reader);
	uint32_t length = take_number(reader, 4);
	const unsigned char *der = take(reader, length);

	return der ? d2i_X509(NULL, &der, (long)length) : NULL;
}

/* A key of one's own, and the certificates that lead to it: nobody to be trusted. */
static void skip_key(struct reader *reader, uint32_t version)
{
	take(reader, take_number(reader, 4));
	uint32_t count = take_number(reader, 4);
	for (uint32_t i = 0; i < count && !reader->is_short; i++)
		X509_free(take_certificate(reader, version));
}

/* The digest at the end, for which a password is needed, is no matter: whoever can write the file
 * can choose another. */
static int parse_jks(const void *bytes, size_t length, struct str *pem, struct err *err)
{
	struct reader reader = {bytes, length, false};

	take_number(&reader, 4);
	uint32_t version = take_number(&reader, 4), count = take_number(&reader, 4);
	for (uint32_t i = 0; i < count && !reader.is_short; i++) {
		uint32_t kind = take_number(&reader, 4);
		skip_text(&reader); /* its name */
		take(&reader, 8);   /* its time */
		if (kind == JKS_KEY) {
			skip_key(&reader, version);
			continue;
		}
		X509 *certificate =
			kind == JKS_CERTIFICATE ? take_certificate(&reader, version) : NULL;
		int result = certificate ? add(pem, certificate) : 0;
		X509_free(certificate);
		if (!certificate)
			return err_set(err, ERR_CONFIG,
				       "entry %u of this Java key store is no certificate", i + 1);
		if (result < 0)
			return 0;
	}
	return reader.is_short ? err_set(err, ERR_CONFIG, "this Java key store is cut off") : 0;
}

/* ---- PKCS #12 ----------------------------------------------------------------------------- */

static int parse_pkcs12(const void *bytes, size_t length, const char *password, struct str *pem,
			struct err *err)
{
	struct pkcs12_content content;

	if (pkcs12_read(bytes, length, password, &content, err) < 0)
		return -1;
	add_all(pem, content.others);
	pkcs12_content_finish(&content);
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int parse(const void *bytes, size_t length, const char *password, struct str *pem,
		 struct err *err)
{
	if (store_is_java(bytes, length))
		return parse_jks(bytes, length, pem, err);
	if (store_is_pem(bytes, length))
		return parse_pem(bytes, length, pem, err);
	return parse_pkcs12(bytes, length, password, pem, err);
}

int trust_store_parse(const void *bytes, size_t length, const char *password, struct str *pem,
		      struct err *err)
{
	struct str found cleanup_str = {0};
	int result = parse(bytes, length, password, &found, err);

	ERR_clear_error();
	if (result < 0)
		return -1;
	if (found.length == 0)
		return err_set(err, ERR_CONFIG, "it holds no certificate of an authority");
	if (found.length > TLS_AUTHORITIES_CAP)
		return err_set(err, ERR_CONFIG,
			       "it holds more than %u bytes of certificates; only those that sign "
			       "the cluster's are needed",
			       TLS_AUTHORITIES_CAP);
	str_append_bytes(pem, found.text, found.length);
	return 0;
}

int trust_store_read(const char *path, const char *password, struct str *pem, struct err *err)
{
	size_t length;
	char *bytes cleanup_free = fs_read_file(path, TRUST_STORE_CAP, &length, err);

	if (!bytes)
		return -1;
	return trust_store_parse(bytes, length, password, pem, err) == 0
		       ? 0
		       : err_wrap(err, "%s", path);
}
