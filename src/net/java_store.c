#include "net/java_store.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/secret.h"

enum { JKS_KEY = 1, JKS_CERTIFICATE = 2, SHA1_BYTES = 20 };

struct reader {
	const unsigned char *at;
	size_t left;
	uint32_t version;
	bool is_short; /* more was wanted than there is */
};

/* One of its keys or certificates. */
struct entry {
	uint32_t kind;
	const unsigned char *key; /* sealed */
	size_t key_length;
	STACK_OF(X509) * certificates; /* the key's own first; NULL: one of them is none */
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

static void take_certificates(struct reader *reader, uint32_t count, struct entry *entry)
{
	STACK_OF(X509) *certificates = sk_X509_new_null();
	bool is_good = true;

	for (uint32_t i = 0; i < count && is_good && !reader->is_short; i++) {
		if (reader->version == 2)
			skip_text(reader); /* its type */
		uint32_t length = take_number(reader, 4);
		const unsigned char *der = take(reader, length);
		X509 *certificate = der ? d2i_X509(NULL, &der, (long)length) : NULL;
		is_good = certificate && sk_X509_push(certificates, certificate) > 0;
	}
	if (is_good) {
		entry->certificates = certificates;
		return;
	}
	sk_X509_pop_free(certificates, X509_free);
}

static void entry_finish(struct entry *entry)
{
	sk_X509_pop_free(entry->certificates, X509_free);
}
#define cleanup_entry __attribute__((cleanup(entry_finish)))

static void take_entry(struct reader *reader, struct entry *entry)
{
	entry->kind = take_number(reader, 4);
	skip_text(reader); /* its name */
	take(reader, 8);   /* its time */
	if (entry->kind == JKS_KEY) {
		entry->key_length = take_number(reader, 4);
		entry->key = take(reader, entry->key_length);
		take_certificates(reader, take_number(reader, 4), entry);
	} else if (entry->kind == JKS_CERTIFICATE) {
		take_certificates(reader, 1, entry);
	}
}

static uint32_t begin(struct reader *reader, const void *bytes, size_t length)
{
	*reader = (struct reader){.at = bytes, .left = length};
	take(reader, 4); /* store_is_java() */
	reader->version = take_number(reader, 4);
	return take_number(reader, 4);
}

static int say_short(struct err *err)
{
	return err_set(err, ERR_CONFIG, "this Java key store is cut off");
}

/* ---- certificates ------------------------------------------------------------------------- */

/* A key's certificates are nobody to be trusted. */
static int read_trusted(struct reader *reader, uint32_t count, STACK_OF(X509) * trusted,
			struct err *err)
{
	for (uint32_t i = 0; i < count && !reader->is_short; i++) {
		struct entry entry cleanup_entry = {0};
		take_entry(reader, &entry);
		if (entry.kind == JKS_KEY || reader->is_short)
			continue;
		if (!entry.certificates)
			return err_set(err, ERR_CONFIG,
				       "entry %u of this Java key store is no certificate", i + 1);
		sk_X509_push(trusted, sk_X509_pop(entry.certificates));
	}
	return reader->is_short ? say_short(err) : 0;
}

STACK_OF(X509) * java_store_read_trusted(const void *bytes, size_t length, struct err *err)
{
	STACK_OF(X509) *trusted = sk_X509_new_null();
	struct reader reader;
	uint32_t count = begin(&reader, bytes, length);
	int result = read_trusted(&reader, count, trusted, err);

	ERR_clear_error();
	if (result == 0)
		return trusted;
	sk_X509_pop_free(trusted, X509_free);
	return NULL;
}

/* ---- keys --------------------------------------------------------------------------------- */

/* SHA-1 of the password and what follows it. */
static void digest(const unsigned char *password, int password_length, const unsigned char *more,
		   size_t length, unsigned char out[SHA1_BYTES])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (!context || EVP_DigestInit_ex(context, EVP_sha1(), NULL) != 1 ||
	    EVP_DigestUpdate(context, password, (size_t)password_length) != 1 ||
	    EVP_DigestUpdate(context, more, length) != 1 ||
	    EVP_DigestFinal_ex(context, out, NULL) != 1)
		BUG("OpenSSL has no SHA-1");
	EVP_MD_CTX_free(context);
}

/* Sun's own cipher: 20 bytes of salt, the key by turns with SHA-1 of the password and the turn
 * before, and SHA-1 of password and key. NULL: the password is another one. */
static EVP_PKEY *unseal(const unsigned char *sealed, size_t length, const unsigned char *password,
			int password_length)
{
	unsigned char turn[SHA1_BYTES], check[SHA1_BYTES];
	EVP_PKEY *key = NULL;

	if (length < sizeof(turn) + sizeof(check))
		return NULL;
	size_t size = length - sizeof(turn) - sizeof(check);
	unsigned char *plain = mem_alloc(size + 1);
	memcpy(turn, sealed, sizeof(turn));
	for (size_t i = 0; i < size; i++) {
		if (i % sizeof(turn) == 0)
			digest(password, password_length, turn, sizeof(turn), turn);
		plain[i] = sealed[sizeof(turn) + i] ^ turn[i % sizeof(turn)];
	}
	digest(password, password_length, plain, size, check);
	if (memcmp(check, sealed + sizeof(turn) + size, sizeof(check)) == 0) {
		const unsigned char *at = plain;
		key = d2i_AutoPrivateKey(NULL, &at, (long)size);
	}
	OPENSSL_cleanse(turn, sizeof(turn));
	OPENSSL_cleanse(plain, size);
	free(plain);
	return key;
}

/* The cipher of Sun's that has no other name than this. */
static bool is_suns(const X509_ALGOR *algorithm)
{
	static const char suns[] = "1.3.6.1.4.1.42.2.17.1.1";
	const ASN1_OBJECT *object;
	char text[64];

	X509_ALGOR_get0(&object, NULL, NULL, algorithm);
	return OBJ_obj2txt(text, sizeof(text), object, true) > 0 && strcmp(text, suns) == 0;
}

static EVP_PKEY *open_key(const struct entry *entry, const char *password)
{
	const unsigned char *der = entry->key;
	X509_SIG *sealed = d2i_X509_SIG(NULL, &der, (long)entry->key_length);
	const X509_ALGOR *algorithm = NULL;
	const ASN1_OCTET_STRING *bytes = NULL;
	unsigned char *wide = NULL;
	int wide_length = 0;
	EVP_PKEY *key = NULL;

	if (sealed)
		X509_SIG_get0(sealed, &algorithm, &bytes);
	/* In UTF-16, and with two bytes behind its end. */
	if (sealed && is_suns(algorithm) && OPENSSL_utf82uni(password, -1, &wide, &wide_length) &&
	    wide_length >= 2)
		key = unseal(ASN1_STRING_get0_data(bytes), (size_t)ASN1_STRING_length(bytes), wide,
			     wide_length - 2);
	OPENSSL_clear_free(wide, (size_t)wide_length);
	X509_SIG_free(sealed);
	return key;
}

static int read_key(struct reader *reader, uint32_t count, const char *password,
		    struct store_content *content, struct err *err)
{
	for (uint32_t i = 0; i < count && !reader->is_short; i++) {
		struct entry entry cleanup_entry = {0};
		take_entry(reader, &entry);
		if (entry.kind != JKS_KEY || reader->is_short)
			continue;
		if (sk_X509_num(entry.certificates) < 1)
			return err_set(err, ERR_CONFIG,
				       "the key of this Java key store has no certificate");
		content->key = open_key(&entry, password);
		if (!content->key)
			return err_set(err, ERR_CONFIG,
				       "the key of this Java key store cannot be opened with the "
				       "password");
		content->own = sk_X509_shift(entry.certificates);
		content->others = entry.certificates;
		entry.certificates = NULL;
		return 0;
	}
	return reader->is_short ? say_short(err)
				: err_set(err, ERR_CONFIG, "this Java key store holds no key");
}

int java_store_read_key(const void *bytes, size_t length, const char *password,
			struct store_content *content, struct err *err)
{
	struct reader reader;
	uint32_t count = begin(&reader, bytes, length);

	*content = (struct store_content){0};
	int result = read_key(&reader, count, password, content, err);
	ERR_clear_error();
	return result;
}
