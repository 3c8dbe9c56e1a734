/* Pieces of a log on their way, from an enemy with the token; and positions. */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "logs/frame.h"
#include "logs/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *rest = (const char *)data;
	size_t length = size;
	struct log_span span;

	while (log_frame_next(&rest, &length, &span) > 0) {
		if (span.length > LOG_SPAN_MAX || span.offset < 0 || span.time_ms < 0)
			BUG("a piece out of bounds");
		if (span.bytes < (const char *)data ||
		    span.bytes + span.length > (const char *)data + size)
			BUG("bytes from elsewhere");
	}
	char *text cleanup_free = mem_strndup((const char *)data, size);
	struct log_position position;
	if (log_position_parse(text, &position) == 0) {
		char again[LOG_POSITION_SIZE];
		log_position_format(&position, again);
	}
	free(log_file_name(text));
	return 0;
}
