#include "logs/frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void log_frame_append_head(struct str *out, const struct log_span *span)
{
	const struct log_span nothing = {0};

	if (!span)
		span = &nothing;
	str_append_format(out, "%" PRId64 " %" PRIx64 " %" PRId64 " %zu\n", span->time_ms,
			  span->part, span->offset, span->length);
}

/* "17 3f 0 12": exactly four words, one blank between them. */
static int parse_words(const char *line, struct log_span *span)
{
	char *text cleanup_free = mem_strdup(line);
	char *words[4], *rest = text;
	int64_t length;

	for (size_t i = 0; i < array_length(words); i++) {
		words[i] = strsep(&rest, " ");
		if (!words[i] || !*words[i])
			return -1;
	}
	size_t digits = strspn(words[1], "0123456789abcdef");
	if (rest || words[1][digits] || digits > 16 ||
	    str_parse_int(words[0], 0, INT64_MAX, &span->time_ms) < 0 ||
	    str_parse_int(words[2], 0, INT64_MAX, &span->offset) < 0 ||
	    str_parse_int(words[3], 0, LOG_SPAN_MAX, &length) < 0)
		return -1;
	span->part = strtoull(words[1], NULL, 16);
	span->length = (size_t)length;
	return 0;
}

ssize_t log_frame_parse_head(const char *bytes, size_t length, struct log_span *span)
{
	char line[LOG_FRAME_HEAD_MAX];
	size_t most = length < sizeof(line) ? length : sizeof(line);
	const char *end = memchr(bytes, '\n', most);

	*span = (struct log_span){0};
	if (!end)
		return length < sizeof(line) ? 0 : -1;
	size_t used = (size_t)(end - bytes);
	if (memchr(bytes, '\0', used))
		return -1;
	memcpy(line, bytes, used);
	line[used] = '\0';
	return parse_words(line, span) < 0 ? -1 : (ssize_t)used + 1;
}

int log_frame_next(const char **bytes, size_t *length, struct log_span *span)
{
	if (*length == 0)
		return 0;
	ssize_t head = log_frame_parse_head(*bytes, *length, span);
	if (head <= 0 || *length - (size_t)head < span->length)
		return -1;
	span->bytes = *bytes + head;
	*bytes = span->bytes + span->length;
	*length -= (size_t)head + span->length;
	return 1;
}
