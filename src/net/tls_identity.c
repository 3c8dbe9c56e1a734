#include "net/tls_identity.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/pkcs12.h"

#define JKS_MAGIC    0xfeedfeedu
#define JCEKS_MAGIC  0xcecececeu
#define PEM_KEY_MARK "PRIVATE KEY-----"

static bool is_java_store(const char *bytes, size_t length)
{
	uint32_t magic;

	if (length < sizeof(magic))
		return false;
	memcpy(&magic, bytes, sizeof(magic));
	magic = ntohl(magic);
	return magic == JKS_MAGIC || magic == JCEKS_MAGIC;
}

/* ---- PEM ---------------------------------------------------------------------------------- */

/* Without it OpenSSL would ask on the terminal. */
static int give_password(char *buffer, int size, int is_written, void *data)
{
	const char *password = data;
	size_t length = password ? strlen(password) : 0;

	if (!password || length >= (size_t)size)
		return -1;
	memcpy(buffer, password, length + 1);
	return (int)length;
}

static int take_pem_certificates(const char *bytes, size_t length, struct tls_identity *identity,
				 struct err *err)
{
	BIO *bio = BIO_new_mem_buf(bytes, (int)length);
	X509 *certificate;

	if (!bio)
		BUG("OpenSSL cannot read from memory");
	identity->certificate = PEM_read_bio_X509_AUX(bio, NULL, give_password, NULL);
	identity->chain = sk_X509_new_null();
	while (identity->certificate &&
	       (certificate = PEM_read_bio_X509(bio, NULL, give_password, NULL)) != NULL)
		sk_X509_push(identity->chain, certificate);
	bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	BIO_free(bio);
	if (identity->certificate && is_end)
		return 0;
	return err_set(err, ERR_CONFIG,
		       identity->certificate ? "one of its certificates is no PEM"
					     : "it holds no certificate");
}

static int take_pem_key(const char *bytes, size_t length, const char *password,
			struct tls_identity *identity, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(bytes, (int)length);

	if (!bio)
		BUG("OpenSSL cannot read from memory");
	identity->key = PEM_read_bio_PrivateKey(bio, NULL, give_password, (void *)password);
	BIO_free(bio);
	if (identity->key)
		return 0;
	return !memmem(bytes, length, PEM_KEY_MARK, strlen(PEM_KEY_MARK))
		       ? err_set(err, ERR_CONFIG, "it holds no key in PEM")
		       : err_set(err, ERR_CONFIG, "its key cannot be read %s password",
				 password ? "with the" : "without a");
}

/* ---- files -------------------------------------------------------------------------------- */

/* The caller frees, with mem_free_secret(). */
static char *read_file(const char *path, bool has_key, size_t *length, struct err *err)
{
	if (has_key && fs_check_secret(path, "a key", err) < 0)
		return NULL;
	return fs_read_file(path, TLS_IDENTITY_CAP, length, err);
}

static int take_key_file(const struct tls_identity_files *files, struct tls_identity *identity,
			 struct err *err)
{
	size_t length;
	char *bytes cleanup_secret = read_file(files->key, true, &length, err);

	if (!bytes)
		return -1;
	return take_pem_key(bytes, length, files->password, identity, err) == 0
		       ? 0
		       : err_wrap(err, "%s", files->key);
}

static int take_pem(const struct tls_identity_files *files, const char *bytes, size_t length,
		    struct tls_identity *identity, struct err *err)
{
	if (take_pem_certificates(bytes, length, identity, err) < 0 ||
	    (!files->key && take_pem_key(bytes, length, files->password, identity, err) < 0))
		return -1;
	return 0;
}

static int take_pkcs12(const struct tls_identity_files *files, const char *bytes, size_t length,
		       struct tls_identity *identity, struct err *err)
{
	struct pkcs12_content content;

	if (files->key)
		return err_set(err, ERR_CONFIG, "it is no PEM, so its key is not in another file");
	if (pkcs12_read(bytes, length, files->password, &content, err) < 0)
		return -1;
	*identity = (struct tls_identity){
		.key = content.key, .certificate = content.own, .chain = content.others};
	return identity->key && identity->certificate
		       ? 0
		       : err_set(err, ERR_CONFIG, "this PKCS #12 store holds no key of a server");
}

static int take_bytes(const struct tls_identity_files *files, const char *bytes, size_t length,
		      struct tls_identity *identity, struct err *err)
{
	if (is_java_store(bytes, length))
		return err_set(err, ERR_CONFIG,
			       "it is a key store that Java alone can open; keytool "
			       "-importkeystore -srckeystore %s -destkeystore %s.p12 "
			       "-deststoretype PKCS12 makes one that is read here",
			       files->certificate, files->certificate);
	return memmem(bytes, length, "-----BEGIN", strlen("-----BEGIN"))
		       ? take_pem(files, bytes, length, identity, err)
		       : take_pkcs12(files, bytes, length, identity, err);
}

static int take_files(const struct tls_identity_files *files, struct tls_identity *identity,
		      struct err *err)
{
	size_t length;
	char *bytes cleanup_secret = read_file(files->certificate, !files->key, &length, err);

	if (!bytes)
		return -1;
	if (take_bytes(files, bytes, length, identity, err) < 0)
		return err_wrap(err, "%s", files->certificate);
	return files->key ? take_key_file(files, identity, err) : 0;
}

static void warn_of_time(const struct tls_identity_files *files, const X509 *certificate)
{
	if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
		log_warning("%s: the certificate's time is over: browsers refuse it",
			    files->certificate);
	else if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
		log_warning("%s: the certificate's time has not come: browsers refuse it",
			    files->certificate);
}

int tls_identity_read(const struct tls_identity_files *files, struct tls_identity *identity,
		      struct err *err)
{
	*identity = (struct tls_identity){0};
	int result = take_files(files, identity, err);
	if (result == 0 && X509_check_private_key(identity->certificate, identity->key) != 1)
		result =
			err_set(err, ERR_CONFIG, "%s: its key is not that of the certificate in %s",
				files->key ? files->key : files->certificate, files->certificate);
	ERR_clear_error();
	if (result == 0)
		warn_of_time(files, identity->certificate);
	else
		tls_identity_finish(identity);
	return result;
}

void tls_identity_finish(struct tls_identity *identity)
{
	EVP_PKEY_free(identity->key);
	X509_free(identity->certificate);
	sk_X509_pop_free(identity->chain, X509_free);
	*identity = (struct tls_identity){0};
}
