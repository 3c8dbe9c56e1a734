#include "job/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

enum { LOCK_WAIT_MS = 3000, LOCK_PAUSE_MS = 5 };

struct journal {
	int fd;
	char *path;
	int64_t sequence;
	int64_t size; /* where the last good line ends */
	size_t hold_cap;
	struct str held; /* lines that are to follow it */
	int64_t held_count;
};

/* ---- opening ------------------------------------------------------------------------------ */

/* Finds where the good lines end. */
static int scan(struct journal *journal, struct err *err)
{
	struct journal_reader *reader = journal_reader_open(journal->path, 1, err);
	struct journal_line line;
	int got;

	if (!reader)
		return -1;
	while ((got = journal_reader_next(reader, &line, err)) > 0)
		journal->sequence = line.sequence;
	journal->size = journal_reader_offset(reader);
	journal_reader_close(reader);
	return got;
}

static int cut_torn_end(struct journal *journal, struct err *err)
{
	off_t end = lseek(journal->fd, 0, SEEK_END);

	if (end < 0)
		return err_set_errno(err, "%s: cannot seek", journal->path);
	if (end == journal->size)
		return 0;
	log_warning("%s: what was written last is torn; %" PRId64 " bytes are cut off",
		    journal->path, (int64_t)end - journal->size);
	if (ftruncate(journal->fd, journal->size) < 0)
		return err_set_errno(err, "%s: cannot cut the torn end", journal->path);
	return 0;
}

/* A child of a killed AM keeps the AM's lock until its exec closes the descriptor. */
static int lock(int fd)
{
	int64_t until = clock_monotonic_ms() + LOCK_WAIT_MS;

	for (;;) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK || clock_monotonic_ms() >= until)
			return -1;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
}

static int open_file(struct journal *journal, struct err *err)
{
	journal->fd = open(journal->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (journal->fd < 0)
		return err_set_errno(err, "%s: cannot open", journal->path);
	if (lock(journal->fd) < 0) {
		if (errno == EWOULDBLOCK)
			return err_set(err, ERR_FAILED, "%s: another process writes this journal",
				       journal->path);
		return err_set_errno(err, "%s: cannot lock", journal->path);
	}
	return 0;
}

struct journal *journal_open(const char *path, struct err *err)
{
	struct journal *journal = mem_alloc(sizeof(*journal));

	journal->path = mem_strdup(path);
	if (open_file(journal, err) < 0 || scan(journal, err) < 0 ||
	    cut_torn_end(journal, err) < 0) {
		journal_close(journal);
		return NULL;
	}
	return journal;
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	if (journal->fd >= 0)
		close(journal->fd);
	str_finish(&journal->held);
	free(journal->path);
	free(journal);
}

int64_t journal_sequence(const struct journal *journal)
{
	return journal->sequence;
}

/* ---- appending ---------------------------------------------------------------------------- */

static void compose(struct str *lines, const struct journal_line *frame, json_t *record)
{
	json_t *framed cleanup_json = json_object();
	size_t start = lines->length;

	json_set_int(framed, "seq", frame->sequence);
	json_set_int(framed, "t", frame->time_ms);
	json_set_bool(framed, "more", true);
	json_object_update_missing(framed, record);
	json_object_del(framed, "crc"); /* the frame's own members */
	if (!frame->more)
		json_object_del(framed, "more");
	char *text cleanup_free = json_text(framed);
	str_append_bytes(lines, text, strlen(text) - 1);
	str_append_format(lines, ",\"crc\":\"%08" PRIx32 "\"}\n",
			  crc32c(lines->text + start, lines->length - start));
}

/* Behind the lines that are held. */
static int compose_all(struct journal *journal, size_t count, journal_make *make, void *data,
		       int64_t time_ms, struct err *err)
{
	struct str *lines = &journal->held;
	int64_t before = journal->sequence + journal->held_count;
	size_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		const struct journal_line frame = {.sequence = before + 1 + (int64_t)i,
						   .time_ms = time_ms,
						   .more = i + 1 < count};
		size_t start = lines->length;
		json_t *record cleanup_json = make(data, i);
		compose(lines, &frame, record);
		if (lines->length - start > longest)
			longest = lines->length - start;
	}
	if (longest > JOURNAL_LINE_CAP)
		return err_set(err, ERR_INPUT, "%s: a record of %zu bytes is too long",
			       journal->path, longest);
	return 0;
}

/* Cuts off a half-written line: the next line must not follow it. */
static void undo(const struct journal *journal)
{
	if (ftruncate(journal->fd, journal->size) < 0)
		log_error("%s: cannot take back what was written by half", journal->path);
}

int journal_sync(struct journal *journal, struct err *err)
{
	if (fdatasync(journal->fd) < 0)
		return err_set_errno(err, "%s: cannot sync", journal->path);
	return 0;
}

void journal_hold(struct journal *journal, size_t cap)
{
	journal->hold_cap = cap;
}

void journal_drop_held(struct journal *journal)
{
	str_finish(&journal->held);
	journal->held_count = 0;
}

/* All or nothing of the lines that are held. */
static int write_held(struct journal *journal, bool sync, struct err *err)
{
	const struct str *held = &journal->held;

	if (fs_write_all(journal->fd, held->text, held->length, err) < 0) {
		undo(journal);
		return err_wrap(err, "%s", journal->path);
	}
	if (sync && journal_sync(journal, err) < 0) {
		undo(journal);
		return -1;
	}
	journal->sequence += journal->held_count;
	journal->size += (int64_t)held->length;
	journal_drop_held(journal);
	return 0;
}

int journal_append_all(struct journal *journal, size_t count, journal_make *make, void *data,
		       int64_t time_ms, bool sync, struct err *err)
{
	size_t before = journal->held.length;
	int result = compose_all(journal, count, make, data, time_ms, err);

	if (result == 0) {
		journal->held_count += (int64_t)count;
		if (write_held(journal, sync, err) == 0)
			return 0;
		if (journal->held.length <= journal->hold_cap)
			return 1;
		journal->held_count -= (int64_t)count;
	}
	str_truncate(&journal->held, before);
	return -1;
}

static json_t *take(void *data, size_t number)
{
	return data;
}

int journal_append(struct journal *journal, json_t *record, int64_t time_ms, bool sync,
		   struct err *err)
{
	return journal_append_all(journal, 1, take, record, time_ms, sync, err);
}
