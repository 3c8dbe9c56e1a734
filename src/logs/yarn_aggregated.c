/* A log of a container out of its cluster's aggregated files. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "logs/yarn.h"

struct place {
	const struct container_log_file *log;
	const struct container_log_file *times; /* NULL: none */
};

struct aggregated_log {
	struct log_parts base;
	struct place *places; /* of the parts */
	struct stream {
		struct container_log *log; /* NULL: none is open */
		size_t part;
		int64_t offset;
	} streams[2]; /* of a part, and of the index beside it */
};

/* Parts are in the order of the uploads; what was rotated since came with the same upload. */
static void add_upload(struct aggregated_log *kept, const struct container_log_files *upload,
		       const char *name)
{
	const struct container_log_file *files = upload->items;
	struct str_list names cleanup_str_list = {0};
	size_t *parts;
	size_t count = kept->base.count;

	for (size_t i = 0; i < upload->count; i++)
		str_list_add(&names, files[i].name);
	size_t more = log_parts_find(&names, name, &parts);
	kept->places = mem_realloc_array(kept->places, count + more, sizeof(*kept->places));
	kept->base.items =
		mem_realloc_array(kept->base.items, count + more, sizeof(*kept->base.items));
	for (size_t i = 0; i < more; i++) {
		const struct container_log_file *log = &files[parts[i]];
		char *index cleanup_free = mem_printf("%s.times", log->name);
		const struct container_log_file *times = container_log_find(upload, index);
		kept->places[count + i] = (struct place){.log = log, .times = times};
		kept->base.items[count + i] =
			(struct log_parts_item){.length = log->length, .has_times = times != NULL};
	}
	kept->base.count += more;
	free(parts);
}

static int go_to(struct stream *stream, const struct place *place, size_t part, bool times,
		 int64_t offset, struct err *err)
{
	if (stream->log && stream->part == part && stream->offset == offset)
		return 0;
	container_log_close(stream->log);
	stream->part = part;
	stream->offset = offset;
	stream->log = container_log_open(times ? place->times : place->log, offset, err);
	return stream->log ? 0 : -1;
}

static ssize_t read_kept(struct log_parts *log, size_t part, bool times, int64_t offset,
			 void *bytes, size_t length, struct err *err)
{
	struct aggregated_log *kept = (struct aggregated_log *)log;
	struct stream *stream = &kept->streams[times];

	if (go_to(stream, &kept->places[part], part, times, offset, err) < 0)
		return -1;
	ssize_t got = container_log_read(stream->log, bytes, length, err);
	if (got > 0)
		stream->offset += got;
	return got;
}

static void rest_kept(struct log_parts *log)
{
	struct aggregated_log *kept = (struct aggregated_log *)log;

	for (size_t i = 0; i < array_length(kept->streams); i++)
		container_log_close(mem_steal(&kept->streams[i].log));
}

static void destroy_kept(struct log_parts *log)
{
	struct aggregated_log *kept = (struct aggregated_log *)log;

	rest_kept(log);
	free(kept->places);
	free(log->items);
	free(kept);
}

struct log_source *log_of_aggregated(const struct aggregated_container *container, const char *name,
				     struct err *err)
{
	static const struct log_parts_ops ops = {
		.read = read_kept, .rest = rest_kept, .destroy = destroy_kept};
	struct aggregated_log *kept = mem_alloc(sizeof(*kept));

	kept->base.ops = &ops;
	log_parts_init(&kept->base);
	for (size_t i = 0; i < container->count; i++)
		add_upload(kept, &container->uploads[i], name);
	if (kept->base.count > 1) /* of one alone nothing was rotated: nothing is read for it */
		log_parts_find_cut(&kept->base);
	if (kept->base.count > 0)
		return &kept->base.base;
	log_source_destroy(&kept->base.base);
	err_set(err, ERR_NOT_FOUND, "the container has left no %s", name);
	return NULL;
}
