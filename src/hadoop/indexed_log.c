#include "hadoop/indexed_log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/java_object.h"

struct indexed_log {
	struct tfile_input input;
	enum tfile_compression compression;
	struct java_stream *stream;
	const struct java_value *uploads; /* a list */
};

/* ---- the list ----------------------------------------------------------------------------- */

/* The list that ends `owner` bytes before the end; the caller frees. NULL: there is none. */
static unsigned char *read_list(const struct tfile_input *input, int64_t end, int64_t owner,
				size_t *length, struct err *err)
{
	static const unsigned char magic[] = {0xac, 0xed, 0, 5};
	unsigned char size[4], begin[sizeof(magic)];
	int64_t at = end - owner - (int64_t)sizeof(size);

	if (at < 0 || input->read(input->data, at, size, sizeof(size), err) < 0)
		return NULL;
	*length = (size_t)size[0] << 24 | (size_t)size[1] << 16 | (size_t)size[2] << 8 | size[3];
	if (*length < sizeof(magic) || (int64_t)*length > at ||
	    input->read(input->data, at - (int64_t)*length, begin, sizeof(begin), err) < 0 ||
	    memcmp(begin, magic, sizeof(magic)) != 0)
		return NULL;
	if (*length > INDEXED_LOG_LIST_CAP) {
		err_set(err, ERR_INPUT, "%s: its list of logs takes %zu MiB, and tony reads %d",
			input->name, *length >> 20, INDEXED_LOG_LIST_CAP >> 20);
		return NULL;
	}
	unsigned char *list = mem_alloc(*length);
	if (input->read(input->data, at - (int64_t)*length, list, *length, err) == 0)
		return list;
	free(list);
	return NULL;
}

static int parse(struct indexed_log *log, const unsigned char *list, size_t length, struct err *err)
{
	log->stream = java_stream_read(list, length, err);
	if (!log->stream)
		return err_wrap(err, "%s", log->input.name);
	const struct java_value *root = java_stream_root(log->stream);
	const char *compression = java_text(root, "compressName");
	log->uploads = java_field(root, "logMetas", JAVA_OBJECT);
	if (!compression || !log->uploads)
		return err_set(err, ERR_INPUT, "%s: its list of logs is not YARN's",
			       log->input.name);
	return tfile_compression_parse(compression, &log->compression, err);
}

struct indexed_log *indexed_log_open(const struct tfile_input *input, int64_t end, struct err *err)
{
	static const int64_t owners[] = {32, 36};
	unsigned char *list cleanup_free = NULL;
	size_t length = 0;

	for (size_t i = 0; i < array_length(owners) && !list; i++) {
		struct err problem cleanup_err = {0};
		list = read_list(input, end, owners[i], &length, &problem);
		if (problem.kind != ERR_NONE) {
			err_copy(err, &problem);
			return NULL;
		}
	}
	if (!list)
		return NULL;
	struct indexed_log *log = mem_alloc(sizeof(*log));
	log->input = *input;
	if (parse(log, list, length, err) == 0)
		return log;
	indexed_log_close(log);
	return NULL;
}

void indexed_log_close(struct indexed_log *log)
{
	if (!log)
		return;
	java_stream_destroy(log->stream);
	free(log);
}

/* ---- what it says ------------------------------------------------------------------------- */

size_t indexed_log_uploads(const struct indexed_log *log)
{
	return log->uploads->item_count;
}

/* Of a map from containers to lists; NULL: it has none. */
static const struct java_value *find_container(const struct java_value *map, const char *container)
{
	for (size_t i = 0; map && i + 1 < map->item_count; i += 2)
		if (map->items[i]->kind == JAVA_TEXT && str_equal(map->items[i]->text, container))
			return map->items[i + 1];
	return NULL;
}

static void add_file(const struct indexed_log *log, const struct java_value *file,
		     struct container_log_files *files)
{
	const char *name = java_text(file, "fileName");
	struct tfile_region region;

	if (!name || !*name || strlen(name) > NAME_MAX || strchr(name, '/') ||
	    !java_number(file, "startIndex", &region.offset) ||
	    !java_number(file, "fileCompressedSize", &region.stored) ||
	    !java_number(file, "fileSize", &region.raw) || region.offset < 0 || region.stored < 0 ||
	    region.raw < 0 || region.stored > log->input.length ||
	    region.offset > log->input.length - region.stored ||
	    files->count == CONTAINER_LOG_FILES_MAX) {
		files->is_cut = true;
		return;
	}
	/* It became shorter while the NodeManager read it. */
	if (log->compression == TFILE_NONE && region.raw > region.stored) {
		region.raw = region.stored;
		files->is_cut = true;
	}
	files->items = mem_realloc_array(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] = (struct container_log_file){
		.name = mem_strdup(name), .length = region.raw, .indexed = log, .region = region};
}

static int by_name(const void *left, const void *right)
{
	const struct container_log_file *a = left, *b = right;

	return strcmp(a->name, b->name);
}

int indexed_log_list(const struct indexed_log *log, size_t upload, const char *container,
		     struct container_log_files *files)
{
	const struct java_value *map =
		java_field(log->uploads->items[upload], "logMetas", JAVA_OBJECT);
	const struct java_value *list = find_container(map, container);

	if (!list || list->kind != JAVA_OBJECT)
		return 0;
	for (size_t i = 0; i < list->item_count; i++)
		add_file(log, list->items[i], files);
	/* They come out of a set of Java's, in any order. */
	if (files->count > 1)
		qsort(files->items, files->count, sizeof(*files->items), by_name);
	return 1;
}

struct tfile_block *indexed_log_block(const struct indexed_log *log,
				      const struct tfile_region *region)
{
	return tfile_block_open(&log->input, region, log->compression);
}
