#include "base/base64.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

char *base64_encode(const void *bytes, size_t length)
{
	if (length > INT32_MAX / 2)
		BUG("base64 of %zu bytes", length);
	char *text = mem_alloc_array(length / 3 + 2, 4);

	EVP_EncodeBlock((unsigned char *)text, bytes, (int)length);
	return text;
}

char *base64_encode_url(const void *bytes, size_t length)
{
	char *text = base64_encode(bytes, length);

	for (char *c = text; *c; c++)
		*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	text[strcspn(text, "=")] = '\0';
	return text;
}

void *base64_decode(const char *text, size_t length, size_t *bytes_length)
{
	size_t padding = 0;

	while (padding < 2 && padding < length && text[length - padding - 1] == '=')
		padding++;
	/* libcrypto passes over spaces at both ends, and takes padding anywhere for zeros. */
	if (length > INT32_MAX / 2 || length % 4 != 0 || memchr(text, ' ', length) ||
	    memchr(text, '=', length - padding))
		return NULL;
	unsigned char *bytes = mem_alloc_array(length / 4 + 1, 3);
	int decoded = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length);
	if (decoded < 0 || (size_t)decoded != length / 4 * 3) {
		free(bytes);
		return NULL;
	}
	*bytes_length = (size_t)decoded - padding;
	return bytes;
}
