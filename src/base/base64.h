/* Base64 (RFC 4648). The results may be secret; the caller frees. */
#ifndef TONY_BASE_BASE64_H
#define TONY_BASE_BASE64_H

#include <stddef.h>

char *base64_encode(const void *bytes, size_t length);	   /* "+/", padded with "=" */
char *base64_encode_url(const void *bytes, size_t length); /* "-_", not padded */

/* Of "+/" with padding. NULL: it is none. */
void *base64_decode(const char *text, size_t length, size_t *bytes_length);

#endif
