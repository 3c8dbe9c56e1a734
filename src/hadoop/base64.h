/* Base64 (RFC 4648), as Hadoop writes the bytes of tokens where text is wanted. The results may be
 * secret; the caller frees them. */
#ifndef TONY_HADOOP_BASE64_H
#define TONY_HADOOP_BASE64_H

#include <stddef.h>

char *base64_encode(const void *bytes, size_t length);	   /* "+/", padded with "=" */
char *base64_encode_url(const void *bytes, size_t length); /* "-_", not padded */

#endif
