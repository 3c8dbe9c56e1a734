#include "base/secret.h"

/* The functions that OpenSSL wants used instead would double the size of tony-agent. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/str.h"

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
char *secret_derive(const char *key, const char *purpose)
{
	unsigned char inner[SHA256_CBLOCK], outer[SHA256_CBLOCK];
	size_t length = strlen(key);
	struct digest short_key;
	struct str text = {0};

	if (length > sizeof(inner)) {
		short_key = hash(key, length, "", 0);
		key = (const char *)short_key.bytes;
		length = sizeof(short_key.bytes);
	}
	for (size_t i = 0; i < sizeof(inner); i++) {
		unsigned char byte = i < length ? (unsigned char)key[i] : 0;
		inner[i] = byte ^ 0x36;
		outer[i] = byte ^ 0x5c;
	}
	struct digest sum = hash(inner, sizeof(inner), purpose, strlen(purpose));
	sum = hash(outer, sizeof(outer), sum.bytes, sizeof(sum.bytes));
	for (size_t i = 0; i < sizeof(sum.bytes); i++)
		str_append_format(&text, "%02x", sum.bytes[i]);
	OPENSSL_cleanse(inner, sizeof(inner));
	OPENSSL_cleanse(outer, sizeof(outer));
	return str_steal(&text);
}
