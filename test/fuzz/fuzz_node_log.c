/* Any bytes as a NodeManager's answers: a file's, in pieces of each length that the first byte
 * says, and a list of files. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hadoop/node_log.h"

static void as_file(const char *bytes, size_t length, size_t step)
{
	struct node_log_frame frame = {0};
	int64_t total = 0;

	for (size_t at = 0; at < length; at += step) {
		const char *content;
		size_t count;
		size_t size = length - at < step ? length - at : step;
		if (node_log_frame_take(&frame, bytes + at, size, &content, &count, NULL) < 0)
			break;
		if (count > 0 && (content < bytes + at || content + count > bytes + at + size))
			abort();
		if (frame.left < 0 || (count > 0 && !frame.is_content))
			abort();
		total += (int64_t)count;
	}
	if (total > (int64_t)length)
		abort();
	node_log_frame_finish(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct str_list names cleanup_str_list = {0};
	const char *text = (const char *)bytes;

	if (length == 0)
		return 0;
	as_file(text + 1, length - 1, 1 + bytes[0]);
	node_log_parse_list(text + 1, length - 1, &names, NULL);
	for (size_t i = 0; i < names.count; i++)
		if (strchr(names.items[i], '/'))
			abort();
	return 0;
}
