/* Any bytes as a file of aggregated logs: nothing outside of it is asked for, and what is listed of
 * a container can be read to its end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bytes.h"
#include "hadoop/container_log.h"

#define VALUE_CAP                                                                                  \
	(1 << 20) /* bytes read of one value: a few may unpack to thousands of times that */
#define ENTRIES 64

static void read_log(const struct container_log_file *log)
{
	char part[4096];
	int64_t total = 0;
	ssize_t got = 0;

	if (log->length > VALUE_CAP)
		return;
	struct container_log *opened = container_log_open(log, 0, NULL);
	if (!opened)
		abort();
	while ((got = container_log_read(opened, part, sizeof(part), NULL)) > 0)
		total += got;
	if (got < 0 || total != log->length)
		abort();
	container_log_close(opened);
}

static void read_container(const struct tfile *file, struct tfile_bytes key)
{
	struct container_log_files files cleanup_container_log_files = {0};

	if (key.left < 2 || key.left > 200)
		return;
	char *id cleanup_free = mem_strndup((const char *)key.at + 2, key.left - 2);
	if (container_log_list(file, id, &files, NULL) < 0)
		return;
	for (size_t i = 0; i < files.count && i < ENTRIES; i++)
		read_log(&files.items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct bytes data = {.bytes = bytes, .length = length};
	const struct tfile_input input = {
		.name = "fuzz", .length = (int64_t)length, .data = &data, .read = read_bytes};

	struct tfile *file = tfile_open(&input, NULL);
	if (!file)
		return 0;
	struct tfile_cursor *cursor = tfile_cursor_create(file);
	for (int i = 0; i < ENTRIES && tfile_cursor_next(cursor, NULL) > 0; i++)
		read_container(file, tfile_cursor_key(cursor));
	tfile_cursor_destroy(cursor);
	tfile_close(file);
	return 0;
}
