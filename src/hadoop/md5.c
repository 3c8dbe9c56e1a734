#include "hadoop/md5.h"

#include <string.h>

/* RFC 1321, 3.4: the integer part of 2^32 * |sin(i + 1)|. */
static const uint32_t sines[64] = {
	0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
	0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
	0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
	0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
	0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
	0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
	0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
	0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
	0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
	0xeb86d391,
};
static const unsigned char shifts[4][4] = {
	{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t rotate(uint32_t value, unsigned bits)
{
	return value << bits | value >> (32 - bits);
}

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
	switch (round) {
	case 0:
		return (b & c) | (~b & d);
	case 1:
		return (b & d) | (c & ~d);
	case 2:
		return b ^ c ^ d;
	default:
		return c ^ (b | ~d);
	}
}

static void transform(uint32_t state[4], const unsigned char block[64])
{
	static const unsigned char step[4] = {1, 5, 3, 7}, first[4] = {0, 1, 5, 0};
	uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3];

	for (size_t i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8 |
			   (uint32_t)block[4 * i + 2] << 16 | (uint32_t)block[4 * i + 3] << 24;
	for (unsigned i = 0; i < 64; i++) {
		unsigned round = i / 16;
		uint32_t sum = a + mix(round, b, c, d) + sines[i] +
			       words[(first[round] + step[round] * i) % 16];
		a = d;
		d = c;
		c = b;
		b += rotate(sum, shifts[round][i % 4]);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	explicit_bzero(words, sizeof(words));
}

void md5_start(struct md5 *md5)
{
	*md5 = (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void md5_update(struct md5 *md5, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	while (length > 0) {
		size_t used = md5->length % sizeof(md5->block);
		size_t part = sizeof(md5->block) - used;
		if (part > length)
			part = length;
		memcpy(md5->block + used, at, part);
		md5->length += part;
		at += part;
		length -= part;
		if (used + part == sizeof(md5->block))
			transform(md5->state, md5->block);
	}
}

void md5_finish(struct md5 *md5, unsigned char digest[MD5_LENGTH])
{
	static const unsigned char padding[64] = {0x80};
	uint64_t bits = md5->length * 8;
	unsigned char count[8];

	for (size_t i = 0; i < sizeof(count); i++)
		count[i] = (unsigned char)(bits >> (8 * i));
	md5_update(md5, padding, 1 + (119 - md5->length % 64) % 64);
	md5_update(md5, count, sizeof(count));
	for (size_t i = 0; i < MD5_LENGTH; i++)
		digest[i] = (unsigned char)(md5->state[i / 4] >> (8 * (i % 4)));
	explicit_bzero(md5, sizeof(*md5));
}

void md5_hex(const unsigned char digest[MD5_LENGTH], char hex[MD5_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < MD5_LENGTH; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hex[MD5_HEX_SIZE - 1] = '\0';
}

void md5_hmac_start(struct md5_hmac *hmac, const void *key, size_t key_length)
{
	unsigned char short_key[MD5_LENGTH], inner[64], outer[64];

	if (key_length > sizeof(inner)) {
		md5_start(&hmac->inner);
		md5_update(&hmac->inner, key, key_length);
		md5_finish(&hmac->inner, short_key);
		key = short_key;
		key_length = sizeof(short_key);
	}
	for (size_t i = 0; i < sizeof(inner); i++) {
		unsigned char byte = i < key_length ? ((const unsigned char *)key)[i] : 0;
		inner[i] = byte ^ 0x36;
		outer[i] = byte ^ 0x5c;
	}
	md5_start(&hmac->inner);
	md5_update(&hmac->inner, inner, sizeof(inner));
	md5_start(&hmac->outer);
	md5_update(&hmac->outer, outer, sizeof(outer));
	explicit_bzero(short_key, sizeof(short_key));
	explicit_bzero(inner, sizeof(inner));
	explicit_bzero(outer, sizeof(outer));
}

void md5_hmac_update(struct md5_hmac *hmac, const void *bytes, size_t length)
{
	md5_update(&hmac->inner, bytes, length);
}

void md5_hmac_finish(struct md5_hmac *hmac, unsigned char digest[MD5_LENGTH])
{
	unsigned char sum[MD5_LENGTH];

	md5_finish(&hmac->inner, sum);
	md5_update(&hmac->outer, sum, sizeof(sum));
	md5_finish(&hmac->outer, digest);
	explicit_bzero(sum, sizeof(sum));
}
