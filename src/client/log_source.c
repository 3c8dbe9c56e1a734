#include "client/log_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/log_lines.h"

#define PARTS_MAX 1000 /* "stdout.999" is the oldest part looked for */
#define TRIES_MAX 1000 /* more rotations do not happen meanwhile: a part cannot be opened */

struct part {
	int fd; /* -1: none */
	ino_t inode;
	FILE *times; /* its index, until it is read; NULL: none */
};

struct file_source {
	struct log_source base;
	char *path;
	struct part part; /* the one being read */
};

/* ---- parts -------------------------------------------------------------------------------- */

static char *part_path(const struct file_source *source, int number)
{
	return number == 0 ? mem_strdup(source->path) : mem_printf("%s.%d", source->path, number);
}

static bool part_inode(const struct file_source *source, int number, ino_t *inode)
{
	struct stat info;
	char *path cleanup_free = part_path(source, number);

	if (stat(path, &info) < 0)
		return false;
	*inode = info.st_ino;
	return true;
}

static bool part_open(const struct file_source *source, int number, struct part *part)
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
static void take_part(struct file_source *source, struct part *part, int64_t offset)
{
	part_close(&source->part);
	source->part = *part;
	log_lines_begin(&source->base, lseek(part->fd, offset, SEEK_SET),
			mem_steal(&source->part.times));
}

static bool is_newest(const struct file_source *source)
{
	ino_t inode;

	return part_inode(source, 0, &inode) && inode == source->part.inode;
}

/* The number that the part being read has now; -1: none is read, or it was deleted. `oldest` is the
 * number of the oldest part (-1: there is none). In the middle of a rotation one number is
 * nobody's.
 */
static int find_part(const struct file_source *source, int *oldest)
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
static int open_after(const struct file_source *source, int present, int oldest, struct part *part)
{
	int number = present < 0 ? oldest : present - 1;

	while (number >= 0 && !part_open(source, number, part))
		number--;
	return number;
}

/* A rotation renames the oldest part first. So as long as a part keeps its number, and no part has
 * come to stand between it and the one that was opened, no rotation has passed between them. */
static bool is_still_next(const struct file_source *source, int present, int number)
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
static bool go_to_next_part(struct file_source *source)
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

static ssize_t read_part(struct log_source *base, char *bytes, size_t length)
{
	return read(((struct file_source *)base)->part.fd, bytes, length);
}

static bool next(struct log_source *base, bool to_the_end, struct log_line *line)
{
	struct file_source *source = (struct file_source *)base;

	if (source->part.fd < 0 && !go_to_next_part(source))
		return false;
	for (;;) {
		if (log_lines_next(base, line))
			return true;
		if (is_newest(source))
			return to_the_end && log_lines_rest(base, line);
		/* It may have grown between the last read and its rotation. */
		if (log_lines_next(base, line) || log_lines_rest(base, line))
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

static void seek_tail(struct log_source *base, int64_t lines)
{
	struct file_source *source = (struct file_source *)base;
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

static void destroy(struct log_source *base)
{
	struct file_source *source = (struct file_source *)base;

	part_close(&source->part);
	free(source->path);
	free(source);
}

struct log_source *log_source_create(const char *path)
{
	static const struct log_source_ops ops = {
		.read = read_part, .next = next, .seek_tail = seek_tail, .destroy = destroy};
	struct file_source *source = mem_alloc(sizeof(*source));

	source->base.ops = &ops;
	source->path = mem_strdup(path);
	source->part.fd = -1;
	return &source->base;
}
