/* An event file for TensorBoard, record by record; and, as no fuzzer finds a checksum, each
 * record's data with the checksum that it should have. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/mem.h"
#include "executor/event_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *data, const struct event_scalar *scalar)
{
	size_t length = strlen(scalar->tag);

	if (length < 1 || length > EVENT_TAG_CAP || scalar->step < 0 || !isfinite(scalar->wall_s) ||
	    scalar->wall_s < 0)
		BUG("a scalar out of bounds");
}

static void read_with_checksum(const uint8_t *data, size_t length)
{
	unsigned char *bytes cleanup_free = mem_alloc(length + EVENT_RECORD_TAIL);
	uint32_t crc = crc32c((const char *)data, length);

	if (length > 0)
		memcpy(bytes, data, length);
	crc = (crc >> 15 | crc << 17) + 0xa282ead8u;
	for (int i = 0; i < EVENT_RECORD_TAIL; i++)
		bytes[length + (size_t)i] = (unsigned char)(crc >> 8 * i);
	event_record_read(bytes, length, take, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_with_checksum(data, size);
	while (size >= EVENT_RECORD_HEAD) {
		int64_t length = event_record_length(data);
		size_t rest = size - EVENT_RECORD_HEAD;
		if (length < 0 || rest < EVENT_RECORD_TAIL ||
		    (uint64_t)length > rest - EVENT_RECORD_TAIL)
			return 0;
		read_with_checksum(data + EVENT_RECORD_HEAD, (size_t)length);
		if (event_record_read(data + EVENT_RECORD_HEAD, (size_t)length, take, NULL) < 0)
			return 0;
		size_t all = EVENT_RECORD_HEAD + (size_t)length + EVENT_RECORD_TAIL;
		data += all;
		size -= all;
	}
	return 0;
}
