#include "job/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

struct journal {
	int fd;
	char *path;
	int64_t sequence;
	int64_t size; /* where the last good line ends */
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

static int cut_torn_line(struct journal *journal, struct err *err)
{
	off_t end = lseek(journal->fd, 0, SEEK_END);

	if (end < 0)
		return err_set_errno(err, "%s: cannot seek", journal->path);
	if (end == journal->size)
		return 0;
	log_warning("%s: the last line is torn; %" PRId64 " bytes are cut off", journal->path,
		    (int64_t)end - journal->size);
	if (ftruncate(journal->fd, journal->size) < 0)
		return err_set_errno(err, "%s: cannot cut the torn last line", journal->path);
	return 0;
}

static int open_file(struct journal *journal, struct err *err)
{
	journal->fd = open(journal->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (journal->fd < 0)
		return err_set_errno(err, "%s: cannot open", journal->path);
	if (flock(journal->fd, LOCK_EX | LOCK_NB) < 0) {
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
	    cut_torn_line(journal, err) < 0) {
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
	free(journal->path);
	free(journal);
}

int64_t journal_sequence(const struct journal *journal)
{
	return journal->sequence;
}

/* ---- appending ---------------------------------------------------------------------------- */

/* Nibble by nibble: lines are short, and the table fits in one cache line. */
uint32_t journal_checksum(const char *bytes, size_t length)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = ~0u;

	for (size_t i = 0; i < length; i++) {
		crc ^= (unsigned char)bytes[i];
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return ~crc;
}

static void compose(struct str *line, int64_t sequence, int64_t time_ms, json_t *record)
{
	json_t *framed cleanup_json = json_object();

	json_set_int(framed, "seq", sequence);
	json_set_int(framed, "t", time_ms);
	json_object_update_missing(framed, record);
	json_object_del(framed, "crc"); /* the frame's own member */
	char *text cleanup_free = json_text(framed);
	str_append_bytes(line, text, strlen(text) - 1);
	str_append_format(line, ",\"crc\":\"%08" PRIx32 "\"}\n",
			  journal_checksum(line->text, line->length));
}

/* What a failed write or sync may have left must not stand before the next line. */
static void undo(const struct journal *journal)
{
	if (ftruncate(journal->fd, journal->size) < 0)
		log_error("%s: cannot take a half-written line back", journal->path);
}

int journal_sync(struct journal *journal, struct err *err)
{
	if (fdatasync(journal->fd) < 0)
		return err_set_errno(err, "%s: cannot sync", journal->path);
	return 0;
}

int journal_append(struct journal *journal, json_t *record, int64_t time_ms, bool sync,
		   struct err *err)
{
	struct str line cleanup_str = {0};

	compose(&line, journal->sequence + 1, time_ms, record);
	json_decref(record);
	if (line.length > JOURNAL_LINE_CAP)
		return err_set(err, ERR_INPUT, "%s: a record of %zu bytes is too long",
			       journal->path, line.length);
	if (fs_write_all(journal->fd, line.text, line.length, err) < 0) {
		undo(journal);
		return err_wrap(err, "%s", journal->path);
	}
	if (sync && journal_sync(journal, err) < 0) {
		undo(journal);
		return -1;
	}
	journal->sequence++;
	journal->size += (int64_t)line.length;
	return 0;
}
