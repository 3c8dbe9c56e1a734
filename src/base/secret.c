#include "base/secret.h"

/* The functions that OpenSSL wants used instead would double the size of tony-agent. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/random.h"
#include "base/str.h"

enum { SECRET_BYTES = 32 };

static char *to_hex(const unsigned char *bytes, size_t length)
{
	struct str text = {0};

	for (size_t i = 0; i < length; i++)
		str_append_format(&text, "%02x", bytes[i]);
	return str_steal(&text);
}

char *secret_create(void)
{
	unsigned char bytes[SECRET_BYTES];

	random_bytes(bytes, sizeof(bytes));
	return to_hex(bytes, sizeof(bytes));
}

struct digest {
	unsigned char bytes[SHA256_DIGEST_LENGTH];
};

static struct digest hash(const void *first, size_t first_length, const void *second,
			  size_t second_length)
{
	SHA256_CTX context;
	struct digest digest;

	SHA256_Init(&context);
	SHA256_Update(&context, first, first_length);
	SHA256_Update(&context, second, second_length);
	SHA256_Final(digest.bytes, &context);
	OPENSSL_cleanse(&context, sizeof(context));
	return digest;
}

/* RFC 2104. */
void secret_hmac(const void *key, size_t key_length, const void *bytes, size_t length,
		 unsigned char hmac[SECRET_HMAC_BYTES])
{
	unsigned char inner[SHA256_CBLOCK], outer[SHA256_CBLOCK];
	const unsigned char *secret = key;
	struct digest short_key;

	if (key_length > sizeof(inner)) {
		short_key = hash(key, key_length, "", 0);
		secret = short_key.bytes;
		key_length = sizeof(short_key.bytes);
	}
	for (size_t i = 0; i < sizeof(inner); i++) {
		unsigned char byte = i < key_length ? secret[i] : 0;
		inner[i] = byte ^ 0x36;
		outer[i] = byte ^ 0x5c;
	}
	struct digest sum = hash(inner, sizeof(inner), bytes, length);
	sum = hash(outer, sizeof(outer), sum.bytes, sizeof(sum.bytes));
	memcpy(hmac, sum.bytes, SECRET_HMAC_BYTES);
	OPENSSL_cleanse(inner, sizeof(inner));
	OPENSSL_cleanse(outer, sizeof(outer));
}

char *secret_derive(const char *key, const char *purpose)
{
	unsigned char hmac[SECRET_HMAC_BYTES];

	secret_hmac(key, strlen(key), purpose, strlen(purpose), hmac);
	return to_hex(hmac, sizeof(hmac));
}

char *secret_prove(const char *key, const char *const *parts, size_t count)
{
	struct str all cleanup_str = {0};

	for (size_t i = 0; i < count; i++)
		str_append_format(&all, "%zu:%s\n", strlen(parts[i]), parts[i]);
	return secret_derive(key, str_text(&all));
}

char *secret_hash(const char *text)
{
	struct digest digest = hash(text, strlen(text), "", 0);

	return to_hex(digest.bytes, sizeof(digest.bytes));
}

bool secret_equal(const char *given, const char *right)
{
	size_t length = strlen(right);

	return strlen(given) == length && CRYPTO_memcmp(given, right, length) == 0;
}
