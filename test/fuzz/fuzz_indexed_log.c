/* Any bytes as a file of aggregated logs in YARN's other format: nothing outside of it is asked
 * for, and each of its logs can be read, or is refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "hadoop/indexed_log.h"

#define CONTAINER "container_1795269657940_0003_01_000004" /* of the first file of the corpus */
#define PARTS	  64 /* of one log: a few bytes may unpack to thousands of times that */

static void read_log(const struct container_log_file *log)
{
	char part[4096];
	struct container_log *opened = container_log_open(log, log->length / 2, NULL);

	for (int i = 0; opened && i < PARTS; i++)
		if (container_log_read(opened, part, sizeof(part), NULL) <= 0)
			break;
	container_log_close(opened);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct bytes data = {.bytes = bytes, .length = length};
	const struct tfile_input input = {
		.name = "fuzz", .length = (int64_t)length, .data = &data, .read = read_bytes};
	struct indexed_log *file = indexed_log_open(&input, input.length, NULL);

	for (size_t i = 0; file && i < indexed_log_uploads(file); i++) {
		struct container_log_files files cleanup_container_log_files = {0};
		indexed_log_list(file, i, CONTAINER, &files);
		for (size_t k = 0; k < files.count; k++)
			read_log(&files.items[k]);
	}
	indexed_log_close(file);
	return 0;
}
