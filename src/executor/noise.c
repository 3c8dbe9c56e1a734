#include "executor/noise.h"

#include <stdbool.h>
#include <string.h>

static bool has_noise(const char *const *texts, const char *line, size_t length)
{
	for (; *texts; texts++)
		if (memmem(line, length, *texts, strlen(*texts)))
			return true;
	return false;
}

size_t noise_remove(const char *const *texts, enum noise_place *place, char *bytes, size_t length)
{
	size_t left = 0;

	for (size_t i = 0; i < length;) {
		const char *end = memchr(bytes + i, '\n', length - i);
		size_t piece = end ? (size_t)(end + 1 - (bytes + i)) : length - i;
		if (*place == NOISE_AT_START)
			*place =
				has_noise(texts, bytes + i, piece) ? NOISE_IN_NOISE : NOISE_IN_LINE;
		if (*place == NOISE_IN_LINE) {
			memmove(bytes + left, bytes + i, piece);
			left += piece;
		}
		if (end)
			*place = NOISE_AT_START;
		i += piece;
	}
	return left;
}
