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
#define TRIES_MAX 1000 /* more rotations do not happen meanwhile: a part cannot be opened */

struct part {
	int fd; /* -1: none */
	ino_t inode;
	FILE *times; /* its index: lines "time_ms offset"; NULL: none */
};

struct log_source {
	char *path;
	struct part part; /* the one being read */
	int64_t offset;	  /* of buffer[start] in it */
	char *buffer;	  /* of LOG_LINE_CAP bytes; NULL until there is something to read */
	size_t start, end;
	int64_t time;	      /* of the last index entry passed */
	int64_t entry_time;   /* of the entry after that */
	int64_t entry_offset; /* INT64_MAX: there was none */
	bool times_may_grow;  /* the part was read since the index's end was met */
};

/* ---- parts -------------------------------------------------------------------------------- */

static char *part_path(const struct log_source *source, int number)
{
	return number == 0 ? mem_strdup(source->path) : mem_printf("%s.%d", source->path, number);
}

static bool part_inode(const struct log_source *source, int number, ino_t *inode)
{
	struct stat info;
	char *path cleanup_free = part_path(source, number);

	if (stat(path, &info) < 0)
		return false;
	*inode = info.st_ino;
	return true;
}

static bool part_open(const struct log_source *source, int number, struct part *part)
{
	struct stat info;
	char *path cleanup_free = part_path(source, number);
	char *times cleanup_free = mem_printf("%s.times", path);
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) < 0)
		return false;
	*part = (struct part){.inode = info.st_ino, .times = fopen(times, "re")};
	part->fd = mem_steal_fd(&fd);
	return true;
}

static void part_close(struct part *part)
{
	mem_cleanup_close(&part->fd);
	part->fd = -1;
	mem_cleanup_file(&part->times);
	part->times = NULL;
}

/* Goes on with this part (taken) from `offset` on. */
static void take_part(struct log_source *source, struct part *part, int64_t offset)
{
	part_close(&source->part);
	source->part = *part;
	source->offset = lseek(part->fd, offset, SEEK_SET);
	source->start = source->end = 0;
	source->entry_offset = INT64_MAX;
	source->times_may_grow = true;
}

static bool is_newest(const struct log_source *source)
{
	ino_t inode;

	return part_inode(source, 0, &inode) && inode == source->part.inode;
}

/* The number that the part being read has now; -1: none is read, or it was deleted. `oldest` is the
 * number of the oldest part (-1: there is none). In the middle of a rotation one number is
 * nobody's.
 */
static int find_part(const struct log_source *source, int *oldest)
{
	int found = -1;
	ino_t inode;

	*oldest = -1;
	for (int number = 0; number < PARTS_MAX && number <= *oldest + 2; number++) {
		if (!part_inode(source, number, &inode))
			continue;
		*oldest = number;
		if (source->part.fd >= 0 && inode == source->part.inode)
			found = number;
	}
	return found;
}

/* The part begun after that with the number `present` (-1: the oldest); its number, -1: none. */
static int open_after(const struct log_source *source, int present, int oldest, struct part *part)
{
	int number = present < 0 ? oldest : present - 1;

	while (number >= 0 && !part_open(source, number, part))
		number--;
	return number;
}

/* A rotation renames the oldest part first. So as long as a part keeps its number, and no part has
 * come to stand between it and the one that was opened, no rotation has passed between them. */
static bool is_still_next(const struct log_source *source, int present, int number)
{
	ino_t inode;
	int oldest;
	int last = present < 0 ? number + 2 : present - 1;

	for (int between = number + 1; between <= last; between++) {
		if (part_inode(source, between, &inode))
			return false;
	}
	return find_part(source, &oldest) == present;
}

/* Goes on to the part that was begun after this one; false: there is none yet. */
static bool go_to_next_part(struct log_source *source)
{
	struct part next;
	int oldest;

	for (int tries = 0;; tries++) {
		int present = find_part(source, &oldest);
		int number = open_after(source, present, oldest, &next);
		if (number < 0)
			return false;
		if (tries == TRIES_MAX || is_still_next(source, present, number)) {
			take_part(source, &next, 0);
			return true;
		}
		part_close(&next);
	}
}

/* ---- times -------------------------------------------------------------------------------- */

/* "time_ms offset\n" */
static bool parse_entry(struct log_source *source, const char *line)
{
	int64_t time, offset;

	if (sscanf(line, "%" SCNd64 " %" SCNd64, &time, &offset) != 2)
		return false;
	source->entry_time = time;
	source->entry_offset = offset;
	return true;
}

/* Reads the next whole entry of the index. An entry is written before the bytes that it is about:
 * there is no new one before more of the log is read. */
static void read_entry(struct log_source *source)
{
	char line[64];
	FILE *times = source->part.times;

	source->entry_offset = INT64_MAX;
	for (long start = ftell(times); fgets(line, sizeof(line), times); start = ftell(times)) {
		if (!strchr(line, '\n') && feof(times)) {
			fseek(times, start, SEEK_SET); /* torn: the rest may come */
			break;
		}
		if (parse_entry(source, line))
			return;
	}
	clearerr(times);
	source->times_may_grow = false;
}

static int64_t time_at(struct log_source *source, int64_t offset)
{
	if (!source->part.times)
		return source->time;
	if (source->entry_offset == INT64_MAX && source->times_may_grow)
		read_entry(source);
	while (source->entry_offset <= offset) {
		source->time = source->entry_time;
		read_entry(source);
	}
	return source->time;
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool read_more(struct log_source *source)
{
	size_t there = source->end - source->start;

	if (source->start > 0)
		memmove(source->buffer, source->buffer + source->start, there);
	source->start = 0;
	source->end = there;
	ssize_t got = read(source->part.fd, source->buffer + there, LOG_LINE_CAP - there);
	if (got <= 0)
		return false;
	source->end += (size_t)got;
	source->times_may_grow = true;
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

/* What is left of a part that gets no more, or of which no more is waited for. */
static bool take_rest(struct log_source *source, struct log_line *line)
{
	size_t there = source->end - source->start;

	return there > 0 && take_line(source, there, 0, line);
}

/* A line out of the buffer. */
static bool take_buffered(struct log_source *source, struct log_line *line)
{
	size_t there = source->end - source->start;
	const char *text = source->buffer + source->start;
	const char *newline = memchr(text, '\n', there);

	if (newline)
		return take_line(source, (size_t)(newline - text), 1, line);
	return there == LOG_LINE_CAP && take_line(source, there, 0, line);
}

bool log_source_next(struct log_source *source, bool to_the_end, struct log_line *line)
{
	if (source->part.fd < 0 && !go_to_next_part(source))
		return false;
	if (!source->buffer)
		source->buffer = mem_alloc(LOG_LINE_CAP);
	for (;;) {
		if (take_buffered(source, line))
			return true;
		if (read_more(source))
			continue;
		if (is_newest(source))
			return to_the_end && take_rest(source, line);
		/* It may have grown between the last read and its rotation. */
		if (read_more(source))
			continue;
		if (take_rest(source, line))
			return true;
		if (!go_to_next_part(source))
			return false;
	}
}

/* ---- the tail ----------------------------------------------------------------------------- */

/* Where the last `*lines` lines of a part begin; *lines is what is still missing before it. */
static int64_t find_tail(int fd, int64_t *lines)
{
	char block[8192];
	int64_t end = lseek(fd, 0, SEEK_END);
	int64_t position = end;

	while (position > 0) {
		int64_t size =
			position < (int64_t)sizeof(block) ? position : (int64_t)sizeof(block);
		position -= size;
		if (pread(fd, block, (size_t)size, position) != size)
			return 0;
		for (int64_t i = size - 1; i >= 0; i--) {
			bool ends_line = block[i] == '\n' && position + i + 1 < end;
			if (ends_line && --*lines == 0)
				return position + i + 1;
		}
	}
	*lines -= end > 0; /* the first line has no newline before it */
	return 0;
}

void log_source_seek_tail(struct log_source *source, int64_t lines)
{
	int oldest;
	struct part part;

	find_part(source, &oldest);
	for (int number = 0; number <= oldest; number++) {
		if (!part_open(source, number, &part))
			continue;
		int64_t offset =
			lines > 0 ? find_tail(part.fd, &lines) : lseek(part.fd, 0, SEEK_END);
		take_part(source, &part, offset);
		if (lines <= 0)
			return;
	}
}

/* ------------------------------------------------------------------------------------------- */

struct log_source *log_source_create(const char *path)
{
	struct log_source *source = mem_alloc(sizeof(*source));

	source->path = mem_strdup(path);
	source->part.fd = -1;
	return source;
}

void log_source_destroy(struct log_source *source)
{
	if (!source)
		return;
	part_close(&source->part);
	free(source->path);
	free(source->buffer);
	free(source);
}
