#include "hadoop/container_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/indexed_log.h"

#define NAME_MAX_BYTES	 4096
#define LENGTH_MAX_BYTES 20

/* How reading a part of a value went. */
enum part {
	PART_ERROR = -1,
	PART_NONE, /* the value ends before it */
	PART_CUT,  /* the value ends within it, or it is not what it should be */
	PART_WHOLE,
};

static enum part read_bytes(struct tfile_cursor *cursor, void *bytes, size_t length,
			    struct err *err)
{
	unsigned char *next = bytes;

	for (size_t left = length; left > 0;) {
		ssize_t got = tfile_cursor_read(cursor, next, left, err);
		if (got < 0)
			return PART_ERROR;
		if (got == 0)
			return left == length ? PART_NONE : PART_CUT;
		next += got;
		left -= (size_t)got;
	}
	return PART_WHOLE;
}

/* As Java's writeUTF() wrote it: 2 bytes of length, then text; neither empty nor longer than `cap`.
 */
static enum part read_text(struct tfile_cursor *cursor, size_t cap, char **text, struct err *err)
{
	unsigned char size[2];
	char bytes[NAME_MAX_BYTES];

	enum part part = read_bytes(cursor, size, sizeof(size), err);
	if (part != PART_WHOLE)
		return part;
	size_t length = (size_t)(size[0] << 8 | size[1]);
	if (length == 0 || length > cap)
		return PART_CUT;
	part = read_bytes(cursor, bytes, length, err);
	if (part != PART_WHOLE)
		return part == PART_ERROR ? PART_ERROR : PART_CUT;
	*text = mem_strndup(bytes, length);
	return strlen(*text) == length ? PART_WHOLE : PART_CUT;
}

static enum part read_head(struct tfile_cursor *cursor, char **name, int64_t *length,
			   struct err *err)
{
	char *digits cleanup_free = NULL;

	enum part part = read_text(cursor, NAME_MAX_BYTES, name, err);
	if (part != PART_WHOLE)
		return part;
	if (strchr(*name, '/'))
		return PART_CUT;
	part = read_text(cursor, LENGTH_MAX_BYTES, &digits, err);
	if (part != PART_WHOLE)
		return part == PART_ERROR ? PART_ERROR : PART_CUT;
	return str_parse_int(digits, 0, INT64_MAX, length) < 0 ? PART_CUT : PART_WHOLE;
}

/* Adds the file that begins here and passes over it. */
static enum part read_file(struct tfile_cursor *cursor, const struct tfile *file,
			   struct container_log_files *files, struct err *err)
{
	char *name cleanup_free = NULL;
	int64_t length;

	enum part part = read_head(cursor, &name, &length, err);
	if (part != PART_WHOLE)
		return part;
	struct tfile_position position = tfile_cursor_tell(cursor);
	int64_t there = tfile_cursor_skip(cursor, length, err);
	if (there < 0)
		return PART_ERROR;
	files->items = mem_realloc_array(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] = (struct container_log_file){
		.name = mem_steal(&name), .length = there, .file = file, .position = position};
	return there == length ? PART_WHOLE : PART_CUT;
}

static int list(struct tfile_cursor *cursor, const struct tfile *file, const char *container,
		struct container_log_files *files, struct err *err)
{
	struct str key cleanup_str = {0};
	size_t length = strlen(container);
	enum part part;

	if (length > NAME_MAX_BYTES)
		return 0;
	str_append_char(&key, (char)(length >> 8));
	str_append_char(&key, (char)length);
	str_append(&key, container);
	int found = tfile_cursor_find(cursor, key.text, key.length, err);
	if (found <= 0)
		return found;
	do
		part = files->count < CONTAINER_LOG_FILES_MAX ? read_file(cursor, file, files, err)
							      : PART_CUT;
	while (part == PART_WHOLE);
	files->is_cut = files->is_cut || part == PART_CUT;
	return part == PART_ERROR ? -1 : 1;
}

int container_log_list(const struct tfile *file, const char *container,
		       struct container_log_files *files, struct err *err)
{
	struct tfile_cursor *cursor = tfile_cursor_create(file);
	int result = list(cursor, file, container, files, err);

	tfile_cursor_destroy(cursor);
	return result;
}

void container_log_files_finish(struct container_log_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].name);
	free(files->items);
	*files = (struct container_log_files){0};
}

const struct container_log_file *container_log_find(const struct container_log_files *files,
						    const char *name)
{
	for (size_t i = 0; i < files->count; i++)
		if (str_equal(files->items[i].name, name))
			return &files->items[i];
	return NULL;
}

/* ---- reading ------------------------------------------------------------------------------ */

struct container_log {
	struct tfile_cursor *cursor; /* NULL: it is in a block of its own */
	struct tfile_block *block;
	int64_t left;
};

static int go_to(struct container_log *opened, const struct container_log_file *log, int64_t offset,
		 struct err *err)
{
	if (log->indexed) {
		opened->block = indexed_log_block(log->indexed, &log->region);
		return tfile_block_skip(opened->block, offset, err);
	}
	opened->cursor = tfile_cursor_create(log->file);
	if (tfile_cursor_seek(opened->cursor, &log->position, err) < 0)
		return -1;
	return tfile_cursor_skip(opened->cursor, offset, err) < 0 ? -1 : 0;
}

struct container_log *container_log_open(const struct container_log_file *log, int64_t offset,
					 struct err *err)
{
	struct container_log *opened = mem_alloc(sizeof(*opened));

	opened->left = log->length - offset;
	if (opened->left <= 0 || go_to(opened, log, offset, err) == 0)
		return opened;
	container_log_close(opened);
	return NULL;
}

void container_log_close(struct container_log *log)
{
	if (!log)
		return;
	tfile_cursor_destroy(log->cursor);
	tfile_block_close(log->block);
	free(log);
}

static ssize_t read_block(struct tfile_block *block, void *bytes, size_t length, struct err *err)
{
	return tfile_block_read(block, bytes, length, err) < 0 ? -1 : (ssize_t)length;
}

ssize_t container_log_read(struct container_log *log, void *bytes, size_t length, struct err *err)
{
	if (log->left <= 0)
		return 0;
	if ((int64_t)length > log->left)
		length = (size_t)log->left;
	ssize_t got = log->block ? read_block(log->block, bytes, length, err)
				 : tfile_cursor_read(log->cursor, bytes, length, err);
	if (got > 0)
		log->left -= got;
	return got;
}
