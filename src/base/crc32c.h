/* CRC-32C (Castagnoli; RFC 3720, B.4). */
#ifndef TONY_BASE_CRC32C_H
#define TONY_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t length);

#endif
