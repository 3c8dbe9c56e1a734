#include "net/trust_store.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/java_store.h"
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

/* Takes them. NULL: they could not be read. */
static int add_stack(struct str *pem, STACK_OF(X509) * certificates)
{
	if (!certificates)
		return -1;
	add_all(pem, certificates);
	sk_X509_pop_free(certificates, X509_free);
	return 0;
}

/* ---- PEM ---------------------------------------------------------------------------------- */

static int parse_pem(const void *bytes, size_t length, struct str *pem, struct err *err)
{
	return add_stack(pem, pem_read_certificates(bytes, length, err));
}

/* ---- stores ------------------------------------------------------------------------------- */

static int parse_java(const void *bytes, size_t length, struct str *pem, struct err *err)
{
	return add_stack(pem, java_store_read_trusted(bytes, length, err));
}

static int parse_pkcs12(const void *bytes, size_t length, const char *password, struct str *pem,
			struct err *err)
{
	struct store_content content;

	if (pkcs12_read(bytes, length, password, &content, err) < 0)
		return -1;
	add_all(pem, content.others);
	store_content_finish(&content);
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int parse(const void *bytes, size_t length, const char *password, struct str *pem,
		 struct err *err)
{
	if (store_is_java(bytes, length))
		return parse_java(bytes, length, pem, err);
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
