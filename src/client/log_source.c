#include "client/log_source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define PARTS_MAX 1000 /* "stdout.999" is the oldest part looked for */

struct log_source {
	char *path;
	int fd;				/* the part being read; -1: none yet */
	ino_t inode;			/* of that part */
	FILE *times;			/* its index: lines "time_ms offset"; NULL: none */
	int64_t time;			/* of the last index entry passed */
	int64_t next_time, next_offset; /* the entry after that; offset INT64_MAX: none yet */
	int64_t offset;			/* of buffer[start] in the part */
	char *buffer;			/* of LOG_LINE_CAP bytes */
	size_t start, end;
};

struct log_source *log_source_create(const char *path)
{
	struct log_source *source = mem_alloc(sizeof(*source));
	source->path = mem_strdup(path);
	source->fd = -1;
	source->buffer = mem_alloc(LOG_LINE_CAP);
	return source;
}

static void close_part(struct log_source *source)
{
	mem_cleanup_close(&source->fd);
	source->fd = -1;
	if (source->times)
		fclose(source->times);
	source->times = NULL;
}

void log_source_destroy(struct log_source *source)
{
	if (!source)
		return;
	close_part(source);
	free(source->path);
	free(source->buffer);
	free(source);
}

/* ---- parts -------------------------------------------------------------------------------- */

static char *part_path(const struct log_source *source, int part)
{
	return part == 0 ? mem_strdup(source->path) : mem_printf("%s.%d", source->path, part);
}

static bool part_inode(const struct log_source *source, int part, ino_t *inode)
{
	struct stat info;
	char *path cleanup_free = part_path(source, part);
	if (stat(path, &info) < 0)
		return false;
	*inode = info.st_ino;
	return true;
}

static int oldest_part(const struct log_source *source)
{
	ino_t inode;
	int part = 0;
	while (part + 1 < PARTS_MAX && part_inode(source, part + 1, &inode))
		part++;
	return part;
}

static void open_part(struct log_source *source, int part)
{
	struct stat info;
	char *path cleanup_free = part_path(source, part);
	close_part(source);
	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0 || fstat(source->fd, &info) < 0)
		return;
	source->inode = info.st_ino;
	char *times cleanup_free = mem_printf("%s.times", path);
	source->times = fopen(times, "re");
	source->next_offset = INT64_MAX;
	source->offset = 0;
	source->start = source->end = 0;
}

/* Goes on to the part that was begun after this one; false: this is the newest. */
static bool open_next_part(struct log_source *source)
{
	ino_t inode;
	if (source->fd < 0) {
		open_part(source, oldest_part(source));
		return source->fd >= 0;
	}
	for (int part = 0; part < PARTS_MAX && part_inode(source, part, &inode); part++) {
		if (inode != source->inode)
			continue;
		if (part == 0)
			return false;
		open_part(source, part - 1);
		return source->fd >= 0;
	}
	open_part(source, oldest_part(source)); /* ours was deleted meanwhile */
	return source->fd >= 0;
}

/* ---- times -------------------------------------------------------------------------------- */

/* Reads the next whole entry of the index, if there is one. */
static void read_entry(struct log_source *source)
{
	char line[64];
	long before = ftell(source->times);
	if (fgets(line, sizeof(line), source->times) && strchr(line, '\n') &&
	    sscanf(line, "%" SCNd64 " %" SCNd64, &source->next_time, &source->next_offset) == 2)
		return;
	fseek(source->times, before, SEEK_SET); /* also clears the end-of-file mark */
	source->next_offset = INT64_MAX;
}

static int64_t time_at(struct log_source *source, int64_t offset)
{
	if (!source->times)
		return 0;
	if (source->next_offset == INT64_MAX)
		read_entry(source);
	while (source->next_offset <= offset) {
		source->time = source->next_time;
		read_entry(source);
	}
	return source->time;
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool read_more(struct log_source *source)
{
	if (source->start > 0) {
		memmove(source->buffer, source->buffer + source->start,
			source->end - source->start);
		source->end -= source->start;
		source->start = 0;
	}
	ssize_t got = read(source->fd, source->buffer + source->end, LOG_LINE_CAP - source->end);
	if (got <= 0)
		return false;
	source->end += (size_t)got;
	return true;
}

static bool take_line(struct log_source *source, size_t length, size_t skip, struct log_line *line)
{
	*line = (struct log_line){.text = source->buffer + source->start,
				  .length = length,
				  .time_ms = time_at(source, source->offset)};
	source->start += length + skip;
	source->offset += (int64_t)(length + skip);
	return true;
}

bool log_source_next(struct log_source *source, bool to_the_end, struct log_line *line)
{
	if (source->fd < 0 && !open_next_part(source))
		return false;
	for (;;) {
		size_t there = source->end - source->start;
		const char *text = source->buffer + source->start;
		const char *newline = memchr(text, '\n', there);
		if (newline)
			return take_line(source, (size_t)(newline - text), 1, line);
		if (there == LOG_LINE_CAP)
			return take_line(source, there, 0, line);
		if (read_more(source))
			continue;
		ino_t inode;
		bool newest = part_inode(source, 0, &inode) && inode == source->inode;
		if (newest && read_more(source))
			continue;
		there = source->end - source->start;
		if (there > 0 && (to_the_end || !newest))
			return take_line(source, there, 0, line);
		if (newest || !open_next_part(source))
			return false;
	}
}

/* ---- the tail ----------------------------------------------------------------------------- */

/* Where the last `*lines` lines of the part begin; *lines is what is still missing before it. */
static int64_t find_tail(int fd, int64_t *lines)
{
	char block[8192];
	int64_t position = lseek(fd, 0, SEEK_END);
	bool at_end = true;
	while (position > 0) {
		int64_t size =
			position < (int64_t)sizeof(block) ? position : (int64_t)sizeof(block);
		position -= size;
		if (pread(fd, block, (size_t)size, position) != size)
			return 0;
		for (int64_t i = size - 1; i >= 0; i--) {
			bool ends_line = block[i] == '\n' && !at_end;
			at_end = false;
			if (ends_line && --*lines == 0)
				return position + i + 1;
		}
	}
	--*lines; /* the first line has no newline before it */
	return 0;
}

void log_source_seek_tail(struct log_source *source, int64_t lines)
{
	int oldest = oldest_part(source);
	for (int part = 0; part <= oldest; part++) {
		open_part(source, part);
		if (source->fd < 0)
			return;
		int64_t offset =
			lines > 0 ? find_tail(source->fd, &lines) : lseek(source->fd, 0, SEEK_END);
		lseek(source->fd, offset, SEEK_SET);
		source->offset = offset;
		if (lines <= 0)
			return;
	}
}
