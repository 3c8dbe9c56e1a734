#include "hadoop/base64.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

static char *encode(const unsigned char *bytes, size_t length, const char *last_two, bool padded)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	char *text = mem_alloc_array(length / 3 + 2, 4), *at = text;

	for (size_t i = 0; i < length; i += 3) {
		size_t count = length - i < 3 ? length - i : 3;
		uint32_t group = 0;
		for (size_t k = 0; k < 3; k++)
			group = group << 8 | (k < count ? bytes[i + k] : 0);
		for (size_t k = 0; k < 4; k++) {
			uint32_t digit = group >> (18 - 6 * k) & 63;
			if (k <= count)
				*at++ = digit < 62 ? digits[digit] : last_two[digit - 62];
			else if (padded)
				*at++ = '=';
		}
	}
	return text;
}

char *base64_encode(const void *bytes, size_t length)
{
	return encode(bytes, length, "+/", true);
}

char *base64_encode_url(const void *bytes, size_t length)
{
	return encode(bytes, length, "-_", false);
}
