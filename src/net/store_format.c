#include "net/store_format.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#define JKS_MAGIC   0xfeedfeedu
#define JCEKS_MAGIC 0xcecececeu

bool store_is_java(const void *bytes, size_t length)
{
	uint32_t magic;

	if (length < sizeof(magic))
		return false;
	memcpy(&magic, bytes, sizeof(magic));
	magic = ntohl(magic);
	return magic == JKS_MAGIC || magic == JCEKS_MAGIC;
}

bool store_is_pem(const void *bytes, size_t length)
{
	static const char mark[] = "-----BEGIN";

	return memmem(bytes, length, mark, strlen(mark));
}

void store_content_finish(struct store_content *content)
{
	EVP_PKEY_free(content->key);
	X509_free(content->own);
	sk_X509_pop_free(content->others, X509_free);
	*content = (struct store_content){0};
}
