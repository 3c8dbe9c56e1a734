#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>
#ifdef __x86_64__
#ifdef __GLIBC__
#include <sys/platform/x86.h>
#else
#include <cpuid.h>
#endif
#endif

#ifdef __x86_64__
/* Eight bytes at a time, by the processor's own instruction; returns how many were done. */
__attribute__((target("sse4.2,crc32"))) static size_t checksum_words(const char *bytes,
								     size_t length, uint32_t *crc)
{
	uint64_t sum = *crc, word;
	size_t done = 0;

	for (; length - done >= sizeof(word); done += sizeof(word)) {
		memcpy(&word, bytes + done, sizeof(word));
		sum = __builtin_ia32_crc32di(sum, word);
	}
	*crc = (uint32_t)sum;
	return done;
}

/* As glibc has found out. The compiler's own answer asks the processor again at each start of a
 * program, and in a virtual machine the hypervisor gives it, slowly. With another C library it is
 * asked once, when the first sum is needed. */
static bool has_instruction(void)
{
#ifdef __GLIBC__
	return CPU_FEATURE_ACTIVE(SSE4_2);
#else
	static _Atomic int known; /* 1: it has; -1: it has not */
	unsigned a, b, c, d;

	if (known == 0)
		known = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2) ? 1 : -1;
	return known > 0;
#endif
}
#else
#define checksum_words(bytes, length, crc) 0
#define has_instruction()		   false
#endif

/* Nibble by nibble: the table fits in one cache line. */
uint32_t crc32c(const void *data, size_t length)
{
	const char *bytes = data;
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = ~0u;
	size_t done = has_instruction() ? checksum_words(bytes, length, &crc) : 0;

	for (size_t i = done; i < length; i++) {
		crc ^= (unsigned char)bytes[i];
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return ~crc;
}
