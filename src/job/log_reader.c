#include "job/log_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define PARTS_MAX     1000 /* "stdout.999" is the oldest part looked for */
#define TRIES_MAX     1000 /* more rotations do not happen meanwhile: a part cannot be opened */
#define PROCESSES_MAX 10000

struct part {
	int fd; /* -1: none */
	uint64_t id;
	FILE *times; /* its index: lines "time_ms offset"; NULL: none */
};

struct log_reader {
	char *path;
	char wanted[LOG_POSITION_SIZE]; /* not found yet; "": it was */
	struct part part;		/* the one being read */
	int64_t offset;			/* of buffer[start] in it */
	char *buffer;			/* of LOG_SPAN_MAX; NULL until there is something to read */
	size_t start, end;
	int64_t time;	      /* of the last index entry passed */
	int64_t entry_time;   /* of the entry after that */
	int64_t entry_offset; /* INT64_MAX: there was none */
	bool times_may_grow;  /* the part was read since the index's end was met */
};

char *log_file_name(const char *name)
{
	const char *dash = strchr(name, '-');
	char *stream cleanup_free =
		dash ? mem_strndup(name, (size_t)(dash - name)) : mem_strdup(name);
	int64_t process;

	if (str_equal(name, "executor"))
		return mem_strdup("executor.log");
	if (!str_equal(stream, "stdout") && !str_equal(stream, "stderr"))
		return NULL;
	if (dash && (dash[1] < '1' || dash[1] > '9' ||
		     str_parse_int(dash + 1, 1, PROCESSES_MAX, &process) < 0))
		return NULL;
	return mem_strdup(name);
}

/* ---- parts -------------------------------------------------------------------------------- */

static char *part_path(const struct log_reader *reader, int number)
{
	return number == 0 ? mem_strdup(reader->path) : mem_printf("%s.%d", reader->path, number);
}

/* A number of the file alone may be given again to the next one, when an old part was deleted; so
 * the time of its birth counts as well, where the file system tells. False: not a file. */
static bool identify(int directory, const char *path, int flags, uint64_t *id)
{
	struct statx info;

	if (statx(directory, path, flags, STATX_TYPE | STATX_INO | STATX_BTIME, &info) < 0)
		return false;
	uint64_t birth = 0;
	if (info.stx_mask & STATX_BTIME)
		birth = (uint64_t)info.stx_btime.tv_sec * 1000000000u + info.stx_btime.tv_nsec;
	*id = (info.stx_ino ^ (birth * 0x9e3779b97f4a7c15u)) & INT64_MAX;
	return true;
}

static bool part_id(const struct log_reader *reader, int number, uint64_t *id)
{
	char *path cleanup_free = part_path(reader, number);

	return identify(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, id);
}

/* The program may have put something else at the path: a FIFO there must block nobody, and a link
 * would show another file as its log. */
static bool part_open(const struct log_reader *reader, int number, struct part *part)
{
	struct stat info;
	char *path cleanup_free = part_path(reader, number);
	char *times cleanup_free = mem_printf("%s.times", path);
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	*part = (struct part){.fd = -1};
	if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) ||
	    !identify(fd, "", AT_EMPTY_PATH, &part->id))
		return false;
	int index cleanup_close = open(times, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (index >= 0 && fstat(index, &info) == 0 && S_ISREG(info.st_mode))
		part->times = fdopen(mem_steal_fd(&index), "r");
	part->fd = mem_steal_fd(&fd);
	return true;
}

static void part_close(struct part *part)
{
	mem_cleanup_close(&part->fd);
	mem_cleanup_file(&part->times);
	part->times = NULL;
}

/* Goes on with this part (taken) from `offset` on. */
static void take_part(struct log_reader *reader, struct part *part, int64_t offset)
{
	part_close(&reader->part);
	reader->part = *part;
	reader->offset = offset;
	reader->start = reader->end = 0;
	reader->entry_offset = INT64_MAX;
	reader->times_may_grow = true;
	reader->wanted[0] = '\0';
}

static bool is_newest(const struct log_reader *reader)
{
	uint64_t id;

	return part_id(reader, 0, &id) && id == reader->part.id;
}

/* The number that the part being read has now; -1: none is read, or it was deleted. `oldest` is the
 * number of the oldest part (-1: there is none). In the middle of a rotation one number is
 * nobody's.
 */
static int find_part(const struct log_reader *reader, int *oldest)
{
	int found = -1;
	uint64_t id;

	*oldest = -1;
	for (int number = 0; number < PARTS_MAX && number <= *oldest + 2; number++) {
		if (!part_id(reader, number, &id))
			continue;
		*oldest = number;
		if (reader->part.fd >= 0 && id == reader->part.id)
			found = number;
	}
	return found;
}

/* The part begun after that with the number `present` (-1: the oldest); its number, -1: none. */
static int open_after(const struct log_reader *reader, int present, int oldest, struct part *part)
{
	int number = present < 0 ? oldest : present - 1;

	while (number >= 0 && !part_open(reader, number, part))
		number--;
	return number;
}

/* A rotation renames the oldest part first. So as long as a part keeps its number, and no part has
 * come to stand between it and the one that was opened, no rotation has passed between them. */
static bool is_still_next(const struct log_reader *reader, int present, int number)
{
	uint64_t id;
	int oldest;
	int last = present < 0 ? number + 2 : present - 1;

	for (int between = number + 1; between <= last; between++) {
		if (part_id(reader, between, &id))
			return false;
	}
	return find_part(reader, &oldest) == present;
}

/* Goes on to the part that was begun after this one; false: there is none yet. */
static bool go_to_next_part(struct log_reader *reader)
{
	struct part next;
	int oldest;

	for (int tries = 0;; tries++) {
		int present = find_part(reader, &oldest);
		int number = open_after(reader, present, oldest, &next);
		if (number < 0)
			return false;
		if (tries == TRIES_MAX || is_still_next(reader, present, number)) {
			take_part(reader, &next, 0);
			return true;
		}
		part_close(&next);
	}
}

/* ---- times -------------------------------------------------------------------------------- */

/* "time_ms offset\n" */
static bool parse_entry(struct log_reader *reader, const char *line)
{
	int64_t time, offset;

	if (sscanf(line, "%" SCNd64 " %" SCNd64, &time, &offset) != 2)
		return false;
	reader->entry_time = time;
	reader->entry_offset = offset;
	return true;
}

/* Reads the next whole entry of the index. An entry is written before the bytes that it is about:
 * there is no new one before more of the log is read. */
static void read_entry(struct log_reader *reader)
{
	char line[64];
	FILE *times = reader->part.times;

	reader->entry_offset = INT64_MAX;
	for (long start = ftell(times); fgets(line, sizeof(line), times); start = ftell(times)) {
		if (!strchr(line, '\n') && feof(times)) {
			fseek(times, start, SEEK_SET); /* torn: the rest may come */
			break;
		}
		if (parse_entry(reader, line))
			return;
	}
	clearerr(times);
	reader->times_may_grow = false;
}

static int64_t time_at(struct log_reader *reader, int64_t offset)
{
	if (!reader->part.times)
		return reader->time;
	if (reader->entry_offset == INT64_MAX && reader->times_may_grow)
		read_entry(reader);
	while (reader->entry_offset <= offset) {
		reader->time = reader->entry_time;
		read_entry(reader);
	}
	return reader->time;
}

/* ---- positions ---------------------------------------------------------------------------- */

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

static void seek_tail(struct log_reader *reader, int64_t lines)
{
	int oldest;
	struct part part;

	find_part(reader, &oldest);
	for (int number = 0; number <= oldest; number++) {
		if (!part_open(reader, number, &part))
			continue;
		int64_t offset =
			lines > 0 ? find_tail(part.fd, &lines) : lseek(part.fd, 0, SEEK_END);
		take_part(reader, &part, offset);
		if (lines <= 0)
			return;
	}
}

static void seek_offset(struct log_reader *reader, int64_t offset)
{
	struct part part;

	if (!part_open(reader, 0, &part))
		return;
	int64_t end = lseek(part.fd, 0, SEEK_END);
	if (offset < 0)
		offset = end + offset > 0 ? end + offset : 0;
	take_part(reader, &part, offset < end ? offset : end);
}

static void seek_part(struct log_reader *reader, uint64_t id, int64_t offset)
{
	struct part part;
	int oldest;

	find_part(reader, &oldest);
	/* A rotation meanwhile gives parts higher numbers: they are looked at in that order. */
	for (int number = 0; number <= oldest + 1; number++) {
		if (!part_open(reader, number, &part))
			continue;
		if (part.id == id) {
			take_part(reader, &part, offset);
			return;
		}
		part_close(&part);
	}
	go_to_next_part(reader);
}

struct position {
	enum { AT_OLDEST, AT_OFFSET, AT_TAIL, AT_PART } kind;
	uint64_t part;
	int64_t number;
};

static int parse_part(const char *text, struct position *position)
{
	const char *colon = strchr(text, ':');
	char *end;

	if (!colon || colon == text || strspn(text, "0123456789abcdef") != (size_t)(colon - text))
		return -1;
	position->part = strtoull(text, &end, 16);
	return str_parse_int(colon + 1, 0, INT64_MAX, &position->number);
}

static int parse_position(const char *text, struct position *position)
{
	*position = (struct position){.kind = AT_OLDEST};
	if (strlen(text) >= LOG_POSITION_SIZE)
		return -1;
	if (str_equal(text, "oldest"))
		return 0;
	position->kind = AT_OFFSET;
	if (str_starts_with(text, "offset:"))
		return str_parse_int(text + strlen("offset:"), INT64_MIN, INT64_MAX,
				     &position->number);
	position->kind = AT_TAIL;
	if (str_starts_with(text, "tail:"))
		return str_parse_int(text + strlen("tail:"), 0, INT64_MAX, &position->number);
	position->kind = AT_PART;
	return str_starts_with(text, "at:") ? parse_part(text + strlen("at:"), position) : -1;
}

bool log_position_is_valid(const char *text)
{
	struct position position;

	return parse_position(text, &position) == 0;
}

/* Tries to get to what is wanted. */
static void find_wanted(struct log_reader *reader)
{
	struct position position;

	if (parse_position(reader->wanted, &position) < 0)
		BUG("position \"%s\"", reader->wanted);
	switch (position.kind) {
	case AT_OLDEST:
		go_to_next_part(reader);
		break;
	case AT_OFFSET:
		seek_offset(reader, position.number);
		break;
	case AT_TAIL:
		seek_tail(reader, position.number);
		break;
	case AT_PART:
		seek_part(reader, position.part, position.number);
		break;
	}
}

int log_reader_seek(struct log_reader *reader, const char *text)
{
	struct position position;

	if (parse_position(text, &position) < 0)
		return -1;
	part_close(&reader->part);
	snprintf(reader->wanted, sizeof(reader->wanted), "%s", text);
	find_wanted(reader);
	return 0;
}

void log_reader_tell(const struct log_reader *reader, char *position)
{
	if (reader->wanted[0])
		snprintf(position, LOG_POSITION_SIZE, "%s", reader->wanted);
	else
		snprintf(position, LOG_POSITION_SIZE, "at:%" PRIx64 ":%" PRId64, reader->part.id,
			 reader->offset);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool read_more(struct log_reader *reader)
{
	if (!reader->buffer)
		reader->buffer = mem_alloc(LOG_SPAN_MAX);
	ssize_t got = pread(reader->part.fd, reader->buffer, LOG_SPAN_MAX, reader->offset);
	reader->start = 0;
	reader->end = got > 0 ? (size_t)got : 0;
	reader->times_may_grow |= got > 0;
	return got > 0;
}

/* Somebody truncated it: what is written from now on counts. */
static void go_back_if_cut(struct log_reader *reader)
{
	struct stat info;

	if (fstat(reader->part.fd, &info) < 0 || info.st_size >= reader->offset)
		return;
	reader->offset = 0;
	reader->entry_offset = INT64_MAX;
	if (reader->part.times)
		rewind(reader->part.times);
}

static bool fetch(struct log_reader *reader)
{
	if (reader->wanted[0])
		find_wanted(reader);
	if (reader->part.fd < 0)
		return false;
	while (!read_more(reader)) {
		if (is_newest(reader)) {
			go_back_if_cut(reader);
			return read_more(reader);
		}
		/* It may have grown between the last read and its rotation. */
		if (read_more(reader))
			break;
		if (!go_to_next_part(reader))
			return false;
	}
	return true;
}

bool log_reader_next(struct log_reader *reader, size_t most, struct log_span *span)
{
	if (reader->start == reader->end && !fetch(reader))
		return false;
	size_t length = reader->end - reader->start;
	int64_t time = time_at(reader, reader->offset);
	if (length > most)
		length = most;
	if (reader->part.times && (int64_t)length > reader->entry_offset - reader->offset)
		length = (size_t)(reader->entry_offset - reader->offset);
	*span = (struct log_span){
		.bytes = reader->buffer + reader->start,
		.length = length,
		.time_ms = time,
		.part = reader->part.id,
		.offset = reader->offset,
	};
	reader->start += length;
	reader->offset += (int64_t)length;
	return true;
}

struct log_reader *log_reader_create(const char *path)
{
	struct log_reader *reader = mem_alloc(sizeof(*reader));

	reader->path = mem_strdup(path);
	reader->part.fd = -1;
	snprintf(reader->wanted, sizeof(reader->wanted), "oldest");
	return reader;
}

void log_reader_destroy(struct log_reader *reader)
{
	if (!reader)
		return;
	part_close(&reader->part);
	free(reader->path);
	free(reader->buffer);
	free(reader);
}
