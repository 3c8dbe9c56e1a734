/* In which format a file of keys and certificates is, by its first bytes. Others are PKCS #12. */
#ifndef TONY_NET_STORE_FORMAT_H
#define TONY_NET_STORE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

bool store_is_java(const void *bytes, size_t length); /* JKS or JCEKS, of Java alone */
bool store_is_pem(const void *bytes, size_t length);

#endif
