/* The fuzzer's bytes as a file of aggregated logs: nothing outside of them is asked for. */
#ifndef TONY_FUZZ_BYTES_H
#define TONY_FUZZ_BYTES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hadoop/container_log.h"

struct bytes {
	const uint8_t *bytes;
	size_t length;
};

static inline int read_bytes(void *data, int64_t offset, void *to, size_t length, struct err *err)
{
	const struct bytes *bytes = data;

	if (offset < 0 || length > bytes->length || (size_t)offset > bytes->length - length)
		abort();
	memcpy(to, bytes->bytes + offset, length);
	return 0;
}

#endif
