#include "logs/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "logs/part.h"

#define PARTS_MAX 1000 /* "stdout.999" is the oldest part looked for */
#define TRIES_MAX 1000 /* more rotations do not happen meanwhile: a part cannot be opened */

struct opened_part {
	uint64_t id;
	int fd, times; /* times: its index; -1: none, or it rests, as the part does */
};

struct log_file {
	struct log_source base;
	char *path;
	struct log_position wanted;
	bool is_wanted;	      /* it was not found yet */
	struct log_tail tail; /* where it is looked for, if `opened` is a part */
	bool has_begun;	      /* a part is read: */
	struct opened_part opened;
	bool lacks_times;     /* it has bytes, and no index */
	struct log_part part; /* its bytes */
};

/* ---- parts -------------------------------------------------------------------------------- */

static char *part_path(const struct log_file *file, int number)
{
	return number == 0 ? mem_strdup(file->path) : mem_printf("%s.%d", file->path, number);
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

static bool part_id(const struct log_file *file, int number, uint64_t *id)
{
	char *path cleanup_free = part_path(file, number);

	return identify(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, id);
}

/* Bytes that cannot be read are missing, and that is to be told. */
static void note_problem(struct log_file *file, const char *path)
{
	struct err err cleanup_err = {0};

	if (file->base.problem)
		return;
	err_set_errno(&err, "%s", path);
	file->base.problem = mem_steal(&err.message);
}

/* The program may have put something else at the path: a FIFO there must block nobody, and a link
 * would show another file as its log. -1: nothing, or no file; errno: why there is no telling. */
static int open_regular(const char *path)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		return fd;
	bool is_known = fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
			errno == ENXIO; /* a socket */
	int error = errno;
	mem_cleanup_close(&fd);
	errno = is_known ? 0 : error;
	return -1;
}

static void close_part(struct opened_part *part)
{
	mem_cleanup_close(&part->fd);
	mem_cleanup_close(&part->times);
}

static bool is_at(const struct log_file *file, int number, uint64_t id)
{
	uint64_t found;

	return part_id(file, number, &found) && found == id;
}

/* Lines without a time are better than none; but where descriptors lack, it is there. The part is
 * still at that number afterwards, or the index was that of another one. */
static void open_times(struct log_file *file, int number, struct opened_part *part)
{
	char *path cleanup_free = part_path(file, number);
	char *times cleanup_free = mem_printf("%s.times", path);

	part->times = open_regular(times);
	if (part->times < 0 && (errno == EMFILE || errno == ENFILE))
		note_problem(file, times);
	if (part->times >= 0 && !is_at(file, number, part->id))
		mem_cleanup_close(&part->times);
}

static bool open_part(struct log_file *file, int number, struct opened_part *part)
{
	char *path cleanup_free = part_path(file, number);

	*part = (struct opened_part){.fd = open_regular(path), .times = -1};
	if (part->fd < 0) {
		if (errno)
			note_problem(file, path);
		return false;
	}
	if (!identify(part->fd, "", AT_EMPTY_PATH, &part->id)) {
		note_problem(file, path);
		close_part(part);
		return false;
	}
	open_times(file, number, part);
	return true;
}

static ssize_t read_bytes(void *data, int64_t offset, void *bytes, size_t length)
{
	struct log_file *file = data;
	ssize_t got = pread(file->opened.fd, bytes, length, offset);

	if (got < 0)
		note_problem(file, file->path);
	return got;
}

static ssize_t read_times(void *data, int64_t offset, void *bytes, size_t length)
{
	return pread(((const struct log_file *)data)->opened.times, bytes, length, offset);
}

static void set_opened(struct log_file *file, const struct opened_part *part)
{
	close_part(&file->opened);
	file->opened = *part;
	file->part.read_times = part->times >= 0 ? read_times : NULL;
}

/* Goes on with this part (taken) from `offset` on. */
static void take_part(struct log_file *file, const struct opened_part *part, int64_t offset)
{
	set_opened(file, part);
	file->has_begun = true;
	file->lacks_times = false;
	log_part_begin(&file->part, part->id, offset);
	file->is_wanted = false;
}

static bool is_newest(const struct log_file *file)
{
	return is_at(file, 0, file->opened.id);
}

/* The number that the part being read has now; -1: none is read, or it was deleted. `oldest` is the
 * number of the oldest part (-1: there is none). In the middle of a rotation one number is
 * nobody's.
 */
static int find_part(const struct log_file *file, int *oldest)
{
	int found = -1;
	uint64_t id;

	*oldest = -1;
	for (int number = 0; number < PARTS_MAX && number <= *oldest + 2; number++) {
		if (!part_id(file, number, &id))
			continue;
		*oldest = number;
		if (file->has_begun && id == file->opened.id)
			found = number;
	}
	return found;
}

/* The part begun after that with the number `present` (-1: the oldest); its number, -1: none. */
static int open_after(struct log_file *file, int present, int oldest, struct opened_part *part)
{
	int number = present < 0 ? oldest : present - 1;

	while (number >= 0 && !open_part(file, number, part))
		number--;
	return number;
}

/* A rotation renames the oldest part first. So as long as a part keeps its number, and no part has
 * come to stand between it and the one that was opened, no rotation has passed between them. */
static bool is_still_next(const struct log_file *file, int present, int number)
{
	uint64_t id;
	int oldest;
	int last = present < 0 ? number + 2 : present - 1;

	for (int between = number + 1; between <= last; between++) {
		if (part_id(file, between, &id))
			return false;
	}
	return find_part(file, &oldest) == present;
}

/* A rotation meanwhile gives parts higher numbers: they are looked at in that order. */
static bool open_by_id(struct log_file *file, uint64_t id, struct opened_part *part)
{
	int oldest;

	find_part(file, &oldest);
	for (int number = 0; number <= oldest + 1; number++) {
		if (!open_part(file, number, part))
			continue;
		if (part->id == id)
			return true;
		close_part(part);
	}
	return false;
}

/* Goes on to the part that was begun after this one; false: there is none yet. */
static bool go_to_next_part(struct log_file *file)
{
	struct opened_part next;
	int oldest;

	for (int tries = 0;; tries++) {
		int present = find_part(file, &oldest);
		int number = open_after(file, present, oldest, &next);
		if (number < 0)
			return false;
		if (file->base.problem) {
			close_part(&next);
			return false;
		}
		if (tries == TRIES_MAX || is_still_next(file, present, number)) {
			take_part(file, &next, 0);
			return true;
		}
		close_part(&next);
	}
}

/* ---- positions ---------------------------------------------------------------------------- */

static int64_t end_of(const struct opened_part *part)
{
	int64_t end = lseek(part->fd, 0, SEEK_END);

	return end > 0 ? end : 0;
}

/* To the end of the newest part, or of the one begun before that being read; false: there is
 * none. */
static bool go_back_a_part(struct log_file *file)
{
	struct opened_part part;
	int oldest;
	bool has_begun = file->has_begun;
	int present = find_part(file, &oldest);

	if (has_begun && present < 0)
		return false; /* it was deleted, as those before it were */
	/* A rotation meanwhile has given it a higher number. */
	for (int number = present + 1; number <= oldest + 1; number++) {
		if (!open_part(file, number, &part))
			continue;
		if (!has_begun || part.id != file->opened.id) {
			take_part(file, &part, end_of(&part));
			log_tail_enter(&file->tail, file->part.offset);
			return true;
		}
		close_part(&part);
	}
	return false;
}

/* To the last lines, or bytes. In turns, each of them in one part, where these are taken. */
static void seek_from_end(struct log_file *file)
{
	struct log_tail *tail = &file->tail;
	const int64_t most = file->base.takes_turns ? LOG_TURN : INT64_MAX;

	if (!file->has_begun) {
		log_tail_begin(tail, &file->wanted);
		if (!go_back_a_part(file))
			return;
	}
	do {
		bool is_found = log_tail_find(tail, read_bytes, file, most);
		if (is_found)
			log_part_begin(&file->part, file->opened.id, tail->position);
		file->is_wanted = !is_found || (tail->missing > 0 && go_back_a_part(file));
	} while (file->is_wanted && !file->base.takes_turns);
	file->base.is_busy = file->is_wanted;
}

static void seek_offset(struct log_file *file, int64_t offset)
{
	struct opened_part part;

	if (!open_part(file, 0, &part))
		return;
	int64_t end = end_of(&part);
	if (offset < 0)
		offset = end + offset > 0 ? end + offset : 0;
	take_part(file, &part, offset < end ? offset : end);
}

static void seek_part(struct log_file *file, uint64_t id, int64_t offset)
{
	struct opened_part part;

	if (open_by_id(file, id, &part))
		take_part(file, &part, offset);
	else if (!file->base.problem)
		go_to_next_part(file);
}

/* Tries to get to what is wanted. */
static void find_wanted(struct log_file *file)
{
	const struct log_position *wanted = &file->wanted;

	switch (wanted->kind) {
	case LOG_AT_OLDEST:
		go_to_next_part(file);
		break;
	case LOG_AT_OFFSET:
		seek_offset(file, wanted->number);
		break;
	case LOG_AT_TAIL:
	case LOG_AT_LAST:
		seek_from_end(file);
		break;
	case LOG_AT_PART:
		seek_part(file, wanted->part, wanted->number);
		break;
	}
}

static void forget(struct log_file *file)
{
	log_part_forget(&file->part);
	file->base.held = 0;
}

static void go(struct log_source *base, const struct log_position *position)
{
	struct log_file *file = (struct log_file *)base;

	close_part(&file->opened);
	file->has_begun = false;
	forget(file);
	file->wanted = *position;
	file->is_wanted = true;
	file->base.is_busy = false;
	/* Ends are those of now; a place stays what it is. */
	if (position->kind != LOG_AT_PART && position->kind != LOG_AT_OLDEST)
		find_wanted(file);
}

/* ---- rest --------------------------------------------------------------------------------- */

static void rest(struct log_source *base)
{
	close_part(&((struct log_file *)base)->opened);
}

static bool is_resting(const struct log_file *file)
{
	return file->has_begun && file->opened.fd < 0;
}

/* Most logs that rest are asked in vain: one look at the file tells. */
static bool has_nothing_new(const struct log_file *file)
{
	struct stat info;

	return file->part.start == file->part.end && is_newest(file) &&
	       lstat(file->path, &info) == 0 && info.st_size == file->part.offset;
}

/* False: the part was deleted meanwhile, or cannot be opened. */
static bool wake(struct log_file *file)
{
	struct opened_part part;

	if (!open_by_id(file, file->opened.id, &part))
		return false;
	set_opened(file, &part);
	return true;
}

/* The executor makes the index right after the file, which may have been opened in between. */
static void find_times(struct log_file *file)
{
	int oldest;
	int number = find_part(file, &oldest);

	if (number < 0)
		return;
	open_times(file, number, &file->opened);
	file->lacks_times = file->opened.times < 0;
	file->part.read_times = file->lacks_times ? NULL : read_times;
}

static bool fill(struct log_file *file)
{
	const bool got = log_part_fill(&file->part);

	file->base.held = file->part.size;
	if (got && file->opened.times < 0 && !file->lacks_times)
		find_times(file);
	return got;
}

static void tell(const struct log_source *base, char *text)
{
	const struct log_file *file = (const struct log_file *)base;
	const struct log_position at = {
		.kind = LOG_AT_PART, .part = file->part.id, .number = file->part.offset};

	log_position_format(file->is_wanted ? &file->wanted : &at, text);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Somebody truncated it: what is written from now on counts. */
static void go_back_if_cut(struct log_file *file)
{
	if (end_of(&file->opened) < file->part.offset)
		log_part_begin(&file->part, file->part.id, 0);
}

static bool fetch(struct log_file *file)
{
	file->base.is_busy = false;
	if (file->is_wanted)
		find_wanted(file);
	if (!file->has_begun || file->is_wanted || file->base.problem)
		return false;
	while (!fill(file)) {
		if (file->base.problem)
			return false;
		if (is_newest(file)) {
			go_back_if_cut(file);
			return fill(file);
		}
		/* It may have grown between the last read and its rotation. */
		if (fill(file))
			break;
		if (!go_to_next_part(file))
			return false;
	}
	return true;
}

static bool next(struct log_source *base, size_t most, struct log_span *span)
{
	struct log_file *file = (struct log_file *)base;

	if (is_resting(file) && has_nothing_new(file))
		return false;
	/* Of a part that was deleted, memory may have some bytes, without their times. */
	if (is_resting(file) && !wake(file) && file->part.start == file->part.end &&
	    (base->problem || !go_to_next_part(file)))
		return false;
	if (log_part_take(&file->part, most, span) ||
	    (fetch(file) && log_part_take(&file->part, most, span)))
		return true;
	forget(file);
	return false;
}

static int64_t measure(struct log_source *base)
{
	const struct log_file *file = (const struct log_file *)base;
	struct stat info;
	int oldest;
	int64_t length = 0;

	find_part(file, &oldest);
	for (int number = 0; number <= oldest; number++) {
		char *path cleanup_free = part_path(file, number);
		if (lstat(path, &info) == 0 && S_ISREG(info.st_mode))
			length += info.st_size;
	}
	return length;
}

static void destroy(struct log_source *base)
{
	struct log_file *file = (struct log_file *)base;

	close_part(&file->opened);
	log_part_finish(&file->part);
	free(file->path);
	free(file);
}

/* Of the oldest part there is. */
static int64_t find_cut(const struct log_file *file)
{
	char text[LOG_FROM_MAX];
	int oldest;

	find_part(file, &oldest);
	if (oldest < 0)
		return 0;
	char *path cleanup_free = part_path(file, oldest);
	char *times cleanup_free = mem_printf("%s.times", path);
	int fd cleanup_close = open_regular(times);
	ssize_t got = fd >= 0 ? pread(fd, text, sizeof(text), 0) : -1;
	return got > 0 ? log_part_from(text, (size_t)got) : 0;
}

struct log_source *log_file_open(const char *path)
{
	static const struct log_source_ops ops = {.grows = true,
						  .joins_parts = true,
						  .next = next,
						  .go = go,
						  .rest = rest,
						  .tell = tell,
						  .length = measure,
						  .destroy = destroy};
	struct log_file *file = mem_alloc(sizeof(*file));

	file->base.ops = &ops;
	file->path = mem_strdup(path);
	file->opened = (struct opened_part){.fd = -1, .times = -1};
	file->part.read = read_bytes;
	file->part.data = file;
	file->is_wanted = true; /* the oldest part */
	file->base.cut = find_cut(file);
	return &file->base;
}
