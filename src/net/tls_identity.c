#include "net/tls_identity.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/pem.h"
#include "net/pkcs12.h"
#include "net/store_format.h"

#define PASSWORD_CAP 4096 /* bytes of a file */
#define PEM_KEY_MARK "PRIVATE KEY-----"

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
	identity->chain = pem_read_certificates(bytes, length, err);
	if (!identity->chain)
		return -1;
	identity->certificate = sk_X509_shift(identity->chain);
	return 0;
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
		       ? err_set(err, ERR_CONFIG,
				 "it holds no key in PEM, and no other file was named (--key)")
		       : err_set(err, ERR_CONFIG, "its key cannot be read %s password",
				 password ? "with the" : "without a");
}

/* ---- files -------------------------------------------------------------------------------- */

/* A store may have one. */
static bool may_hold_key(const char *bytes, size_t length)
{
	return store_is_pem(bytes, length)
		       ? memmem(bytes, length, PEM_KEY_MARK, strlen(PEM_KEY_MARK)) != NULL
		       : !store_is_java(bytes, length);
}

/* The caller frees, with mem_free_secret(). */
static char *read_file(const char *path, size_t *length, struct err *err)
{
	char *bytes cleanup_secret = fs_read_file(path, TLS_IDENTITY_CAP, length, err);

	if (!bytes || !may_hold_key(bytes, *length))
		return mem_steal(&bytes);
	return fs_read_secret(path, "a key", TLS_IDENTITY_CAP, length, err);
}

/* The first line of a file, for mem_free_secret(). */
static char *read_password(const char *path, struct err *err)
{
	size_t length;
	char *text = fs_read_secret(path, "a password", PASSWORD_CAP, &length, err);

	if (text) {
		size_t line = strcspn(text, "\r\n");
		explicit_bzero(text + line, length - line);
	}
	return text;
}

static int take_key_file(const struct tls_identity_files *files, struct tls_identity *identity,
			 struct err *err)
{
	size_t length;
	char *bytes cleanup_secret = read_file(files->key, &length, err);

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
	struct store_content content;

	if (pkcs12_read(bytes, length, files->password, &content, err) < 0)
		return -1;
	*identity = (struct tls_identity){
		.key = content.key, .certificate = content.own, .chain = content.others};
	if (!identity->key || !identity->certificate)
		return err_set(err, ERR_CONFIG, "this PKCS #12 store holds no key of a server");
	return files->key ? err_set(err, ERR_CONFIG,
				    "this PKCS #12 store has the key in it: name no other file of "
				    "a key")
			  : 0;
}

static int take_bytes(const struct tls_identity_files *files, const char *bytes, size_t length,
		      struct tls_identity *identity, struct err *err)
{
	if (store_is_java(bytes, length))
		return err_set(err, ERR_CONFIG,
			       "it is a key store that Java alone can open; keytool "
			       "-importkeystore -srckeystore %s -destkeystore %s.p12 "
			       "-deststoretype PKCS12 makes one that is read here",
			       files->certificate, files->certificate);
	return store_is_pem(bytes, length) ? take_pem(files, bytes, length, identity, err)
					   : take_pkcs12(files, bytes, length, identity, err);
}

static int take_files(const struct tls_identity_files *files, struct tls_identity *identity,
		      struct err *err)
{
	struct tls_identity_files all = *files;
	size_t length;
	char *password cleanup_secret =
		files->password_file ? read_password(files->password_file, err) : NULL;

	if (files->password_file && !password)
		return -1;
	if (password)
		all.password = password;
	char *bytes cleanup_secret = read_file(files->certificate, &length, err);
	if (!bytes)
		return -1;
	if (take_bytes(&all, bytes, length, identity, err) < 0)
		return err_wrap(err, "%s", files->certificate);
	return files->key ? take_key_file(&all, identity, err) : 0;
}

static int64_t time_of(const ASN1_TIME *time)
{
	struct tm parts;

	return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) * 1000 : 0;
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
	if (result < 0) {
		tls_identity_finish(identity);
		return -1;
	}
	identity->begins_ms = time_of(X509_get0_notBefore(identity->certificate));
	identity->ends_ms = time_of(X509_get0_notAfter(identity->certificate));
	return 0;
}

bool tls_identity_is_for(const struct tls_identity *identity, const char *host)
{
	return X509_check_ip_asc(identity->certificate, host, 0) == 1 ||
	       X509_check_host(identity->certificate, host, 0, 0, NULL) == 1;
}

void tls_identity_finish(struct tls_identity *identity)
{
	EVP_PKEY_free(identity->key);
	X509_free(identity->certificate);
	sk_X509_pop_free(identity->chain, X509_free);
	*identity = (struct tls_identity){0};
}
