#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"

void random_bytes(void *bytes, size_t length)
{
	unsigned char *at = bytes;

	while (length > 0) {
		ssize_t count = getrandom(at, length, 0);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			BUG("getrandom: %s", strerror(errno));
		at += count;
		length -= (size_t)count;
	}
}

uint64_t random_u64(void)
{
	uint64_t number;

	random_bytes(&number, sizeof(number));
	return number;
}
