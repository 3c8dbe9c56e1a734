/* The log of a container that has ended, as its scheduler's cluster has kept it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/log_lines.h"
#include "scheduler/job_logs.h"

#define FIRST_WINDOW (64 << 10) /* bytes at a part's end in which its last lines are looked for */
#define WINDOW_STEP  8		/* how much more is looked at when they are not there */

struct kept_source {
	struct log_source base;
	struct job_log *log;
	size_t part;	/* the one being read, once it was begun */
	int64_t offset; /* in it */
	bool has_begun;
};

static ssize_t read_at(struct kept_source *source, size_t part, int64_t offset, void *bytes,
		       size_t length)
{
	struct err err cleanup_err = {0};

	if (source->base.problem)
		return -1;
	ssize_t got = source->log->ops->read(source->log, part, false, offset, bytes, length, &err);
	if (got < 0)
		source->base.problem = mem_strdup(err_message(&err));
	return got;
}

/* ---- times -------------------------------------------------------------------------------- */

/* The index beside a part, as a file. */
struct index {
	struct job_log *log;
	size_t part;
	int64_t offset;
};

static ssize_t read_index(void *cookie, char *bytes, size_t length)
{
	struct index *index = cookie;
	ssize_t got = index->log->ops->read(index->log, index->part, true, index->offset, bytes,
					    length, NULL);

	if (got <= 0)
		return 0; /* lines without a time are better than none */
	index->offset += got;
	return got;
}

static int seek_index(void *cookie, off64_t *offset, int whence)
{
	struct index *index = cookie;

	if (whence == SEEK_END)
		return -1;
	index->offset = whence == SEEK_CUR ? index->offset + *offset : *offset;
	*offset = index->offset;
	return 0;
}

static int close_index(void *cookie)
{
	free(cookie);
	return 0;
}

static FILE *open_index(const struct kept_source *source, size_t part)
{
	const cookie_io_functions_t functions = {
		.read = read_index, .seek = seek_index, .close = close_index};
	struct index *index;

	if (!source->log->parts[part].has_times)
		return NULL;
	index = mem_alloc(sizeof(*index));
	*index = (struct index){.log = source->log, .part = part};
	FILE *file = fopencookie(index, "r", functions);
	if (!file)
		free(index);
	return file;
}

/* ---- lines -------------------------------------------------------------------------------- */

static void begin_part(struct kept_source *source, size_t part, int64_t offset)
{
	source->has_begun = true;
	source->part = part;
	source->offset = offset;
	log_lines_begin(&source->base, offset, open_index(source, part));
}

static ssize_t read_part(struct log_source *base, char *bytes, size_t length)
{
	struct kept_source *source = (struct kept_source *)base;
	ssize_t got = read_at(source, source->part, source->offset, bytes, length);

	if (got > 0)
		source->offset += got;
	return got;
}

static bool next(struct log_source *base, bool to_the_end, struct log_line *line)
{
	struct kept_source *source = (struct kept_source *)base;

	if (source->log->count == 0)
		return false;
	if (!source->has_begun)
		begin_part(source, 0, 0);
	for (;;) {
		if (log_lines_next(base, line) || log_lines_rest(base, line))
			return true;
		if (base->problem || source->part + 1 == source->log->count)
			return false;
		begin_part(source, source->part + 1, 0);
	}
}

/* ---- the tail ----------------------------------------------------------------------------- */

/* Counts the ends of lines from `start` on that have more behind them, up to `most`; *position is
 * behind the last one counted. */
static int64_t count_ends(struct kept_source *source, size_t part, int64_t start, int64_t most,
			  int64_t *position)
{
	char block[16384];
	int64_t length = source->log->parts[part].length;
	int64_t count = 0;
	ssize_t got;

	*position = start;
	for (int64_t offset = start;
	     count < most && (got = read_at(source, part, offset, block, sizeof(block))) > 0;
	     offset += got) {
		for (ssize_t i = 0; i < got && count < most; i++) {
			if (block[i] != '\n' || offset + i + 1 >= length)
				continue;
			count++;
			*position = offset + i + 1;
		}
	}
	return count;
}

/* Where the last `*lines` lines of a part begin; *lines is what is still missing before it. What is
 * packed can only be read from its beginning on, so there are few tries. */
static int64_t find_tail(struct kept_source *source, size_t part, int64_t *lines)
{
	int64_t length = source->log->parts[part].length;
	int64_t position;

	for (int64_t window = FIRST_WINDOW;; window *= WINDOW_STEP) {
		int64_t start = window < length ? length - window : 0;
		int64_t ends = count_ends(source, part, start, INT64_MAX, &position);
		if (source->base.problem)
			return 0;
		if (ends >= *lines) {
			count_ends(source, part, start, ends - *lines + 1, &position);
			*lines = 0;
			return position;
		}
		if (start == 0) {
			*lines -= ends + (length > 0);
			return 0;
		}
	}
}

static void seek_tail(struct log_source *base, int64_t lines)
{
	struct kept_source *source = (struct kept_source *)base;
	size_t part = source->log->count;
	int64_t position = 0;

	while (part-- > 0) {
		position = lines > 0 ? find_tail(source, part, &lines)
				     : source->log->parts[part].length;
		if (lines <= 0 || part == 0)
			break;
	}
	if (source->log->count > 0)
		begin_part(source, part, position);
}

/* ------------------------------------------------------------------------------------------- */

static void destroy(struct log_source *base)
{
	struct kept_source *source = (struct kept_source *)base;

	job_log_destroy(source->log);
	free(source);
}

struct log_source *log_source_kept(struct job_log *log)
{
	static const struct log_source_ops ops = {.read = read_part,
						  .next = next,
						  .begun = log_lines_begun,
						  .seek_tail = seek_tail,
						  .destroy = destroy};
	struct kept_source *source = mem_alloc(sizeof(*source));

	source->base.ops = &ops;
	source->log = log;
	return &source->base;
}
