#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/journal.h"

#define CHUNK	   65536
#define LAST_CHUNK 65536 /* a final record with its texts at their caps, all of it escaped */

struct journal_reader {
	int fd; /* negative: it rests */
	char *path;
	int64_t since;
	int64_t number; /* lines passed */
	int64_t whole;	/* up to this line, all of each event is known to be there */
	off_t offset;	/* of the next line in the file */
	char *buffer;
	size_t capacity;
	size_t start, end; /* the unread part of the buffer; buffer[start] is at `offset` */
};

/* ---- one line ----------------------------------------------------------------------------- */

/* Takes `text` off the front. */
static bool take_text(const char **at, const char *end, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(end - *at) < length || memcmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

/* Takes a number without sign or leading zeros, of at most 18 digits, off the front. */
static bool take_number(const char **at, const char *end, int64_t *number)
{
	const char *first = *at;

	*number = 0;
	for (; *at < end && **at >= '0' && **at <= '9' && *at - first < 18; (*at)++)
		*number = 10 * *number + (**at - '0');
	return *at > first && (*first != '0' || *at == first + 1);
}

static bool take_head(const char *bytes, const char *end, struct journal_line *line)
{
	if (!take_text(&bytes, end, "{\"seq\":") || !take_number(&bytes, end, &line->sequence) ||
	    !take_text(&bytes, end, ",\"t\":") || !take_number(&bytes, end, &line->time_ms))
		return false;
	line->more = take_text(&bytes, end, ",\"more\":true");
	return bytes < end && (*bytes == ',' || *bytes == '}');
}

int journal_parse_line(const char *bytes, size_t length, struct journal_line *line, struct err *err)
{
	const size_t tail_length = strlen(",\"crc\":\"00000000\"}");

	*line = (struct journal_line){.text = bytes, .length = length};
	if (length > JOURNAL_LINE_CAP)
		return err_set(err, ERR_INPUT, "is longer than %u bytes", JOURNAL_LINE_CAP);
	if (length < tail_length)
		return err_set(err, ERR_INPUT, "is too short");
	size_t body = length - tail_length;
	char tail[32];
	snprintf(tail, sizeof(tail), ",\"crc\":\"%08" PRIx32 "\"}", crc32c(bytes, body));
	if (memcmp(bytes + body, tail, tail_length) != 0)
		return err_set(err, ERR_INPUT, "does not match its checksum");
	if (!take_head(bytes, bytes + length, line))
		return err_set(err, ERR_INPUT, "does not begin with seq and t");
	return 0;
}

json_t *journal_line_record(const struct journal_line *line, struct err *err)
{
	json_t *record = json_parse(line->text, line->length, err);

	if (!record)
		err_wrap(err, "journal line %" PRId64, line->sequence);
	return record;
}

/* ---- following ---------------------------------------------------------------------------- */

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

struct journal_reader *journal_reader_open(const char *path, int64_t since, struct err *err)
{
	int fd = open_file(path);

	if (fd < 0) {
		err_set_errno(err, "%s: cannot open", path);
		return NULL;
	}
	struct journal_reader *reader = mem_alloc(sizeof(*reader));
	*reader = (struct journal_reader){
		.fd = fd,
		.path = mem_strdup(path),
		.since = since,
		.buffer = mem_alloc(CHUNK),
		.capacity = CHUNK,
	};
	return reader;
}

void journal_reader_close(struct journal_reader *reader)
{
	if (!reader)
		return;
	mem_cleanup_close(&reader->fd);
	free(reader->path);
	free(reader->buffer);
	free(reader);
}

void journal_reader_rest(struct journal_reader *reader)
{
	mem_cleanup_close(&reader->fd);
	free(mem_steal(&reader->buffer));
	reader->fd = -1;
	reader->capacity = reader->start = reader->end = 0;
}

/* 0: the file is gone. */
static int wake(struct journal_reader *reader, struct err *err)
{
	if (reader->fd >= 0)
		return 1;
	reader->fd = open_file(reader->path);
	if (reader->fd < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s: cannot open", reader->path);
	reader->buffer = mem_alloc(CHUNK);
	reader->capacity = CHUNK;
	return 1;
}

void journal_reader_rewind(struct journal_reader *reader)
{
	reader->since = reader->number = reader->whole = 0;
	reader->offset = 0;
	reader->start = reader->end = 0;
}

int64_t journal_reader_offset(const struct journal_reader *reader)
{
	return reader->offset;
}

/* Reads anew from the start of the next line: a torn end that was seen before may have been cut
 * off and written over since. */
static int refill(struct journal_reader *reader, struct err *err)
{
	if (reader->start == 0 && reader->end == reader->capacity) {
		reader->capacity *= 2;
		reader->buffer = mem_realloc_array(reader->buffer, reader->capacity, 1);
	}
	reader->start = 0;
	reader->end = 0;
	while (reader->end < reader->capacity) {
		ssize_t got =
			pread(reader->fd, reader->buffer + reader->end,
			      reader->capacity - reader->end, reader->offset + (off_t)reader->end);
		if (got < 0)
			return err_set_errno(err, "%s: cannot read", reader->path);
		if (got == 0)
			break;
		reader->end += (size_t)got;
	}
	return 0;
}

static char *find_newline(const struct journal_reader *reader)
{
	return memchr(reader->buffer + reader->start, '\n', reader->end - reader->start);
}

/* 1: a whole line is in the buffer, up to *newline; 0: not yet. */
static int buffer_line(struct journal_reader *reader, char **newline, struct err *err)
{
	for (bool fresh = false;; fresh = true) {
		*newline = find_newline(reader);
		if (*newline)
			return 1;
		if (reader->end - reader->start > JOURNAL_LINE_CAP)
			return err_set(err, ERR_INPUT,
				       "%s: line %" PRId64 " is longer than %u bytes", reader->path,
				       reader->number + 1, JOURNAL_LINE_CAP);
		if (fresh && reader->end < reader->capacity)
			return 0;
		if (refill(reader, err) < 0)
			return -1;
	}
}

/* Whether the file ends with the line that ends at `newline`. */
static int is_last(const struct journal_reader *reader, const char *newline, struct err *err)
{
	if (newline + 1 < reader->buffer + reader->end)
		return 0;
	off_t end = lseek(reader->fd, 0, SEEK_END);
	if (end < 0)
		return err_set_errno(err, "%s: cannot seek", reader->path);
	return end <= reader->offset + (newline + 1 - (reader->buffer + reader->start));
}

static int check_line(const struct journal_reader *reader, const char *newline,
		      struct journal_line *line, struct err *err)
{
	const char *first = reader->buffer + reader->start;

	if (journal_parse_line(first, (size_t)(newline - first), line, err) < 0)
		return -1;
	if (line->sequence != reader->number + 1)
		return err_set(err, ERR_INPUT, "has the sequence number %" PRId64, line->sequence);
	return 0;
}

/* 1, 0 or -1 as journal_reader_next(), whatever `since` is. */
static int next_line(struct journal_reader *reader, struct journal_line *line, struct err *err)
{
	struct err bad cleanup_err = {0};
	char *newline;
	int got = buffer_line(reader, &newline, err);

	if (got <= 0)
		return got;
	if (check_line(reader, newline, line, &bad) < 0) {
		int last = is_last(reader, newline, err);
		if (last < 0)
			return -1;
		if (last) {
			reader->start = reader->end = 0; /* look again next time */
			return 0;
		}
		return err_set(err, ERR_INPUT, "%s: line %" PRId64 " %s", reader->path,
			       reader->number + 1, err_message(&bad));
	}
	reader->number++;
	reader->offset += newline + 1 - (reader->buffer + reader->start);
	reader->start = (size_t)(newline + 1 - reader->buffer);
	return 1;
}

/* Back to an earlier place. What is behind it in the buffer is read anew where it did not look
 * whole. */
static void go_back(struct journal_reader *reader, off_t offset, int64_t number, bool was_whole)
{
	off_t buffered = reader->offset - (off_t)reader->start;

	if (was_whole && offset >= buffered)
		reader->start = (size_t)(offset - buffered);
	else
		reader->start = reader->end = 0;
	reader->offset = offset;
	reader->number = number;
}

/* Looks ahead to the last line of the event. */
static int next_whole_line(struct journal_reader *reader, struct journal_line *line,
			   struct err *err)
{
	const off_t offset = reader->offset;
	const int64_t number = reader->number;
	int got = next_line(reader, line, err);

	if (got <= 0 || !line->more || number < reader->whole)
		return got;
	while (got > 0 && line->more)
		got = next_line(reader, line, err);
	if (got > 0)
		reader->whole = reader->number;
	go_back(reader, offset, number, got > 0);
	return got > 0 ? next_line(reader, line, err) : got;
}

int journal_reader_next(struct journal_reader *reader, struct journal_line *line, struct err *err)
{
	int got = wake(reader, err);

	if (got <= 0)
		return got;
	do {
		got = next_whole_line(reader, line, err);
	} while (got > 0 && line->sequence < reader->since);
	return got;
}

int journal_read(const char *path, int64_t since, journal_visit *visit, void *data, struct err *err)
{
	struct journal_reader *reader = journal_reader_open(path, since, err);
	struct journal_line line;
	int got, result = 0;

	if (!reader)
		return -1;
	while (result == 0 && (got = journal_reader_next(reader, &line, err)) != 0)
		result = got < 0 ? -1 : visit ? visit(data, &line, err) : 0;
	journal_reader_close(reader);
	return result;
}

/* The line that the text ends with; a torn one after it is passed over. */
static bool parse_last(const char *text, size_t length, struct journal_line *line)
{
	const char *newline = memrchr(text, '\n', length);
	if (!newline)
		return false;
	const char *before = memrchr(text, '\n', (size_t)(newline - text));
	const char *start = before ? before + 1 : text;

	return journal_parse_line(start, (size_t)(newline - start), line, NULL) == 0;
}

bool journal_read_last(const char *path, char **text, struct journal_line *line)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;

	if (end <= 0)
		return false;
	*text = mem_alloc(LAST_CHUNK);
	off_t offset = end > LAST_CHUNK ? end - LAST_CHUNK : 0;
	ssize_t got = pread(fd, *text, LAST_CHUNK, offset);
	return got > 0 && parse_last(*text, (size_t)got, line);
}
