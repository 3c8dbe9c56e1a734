#include "executor/log_times.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "logs/part.h"

enum {
	TURNS_MAX = 200, /* entries of a second that tell no more than an order */
	AHEAD_MAX_MS =
		50, /* of the clock: turns of one millisecond have times one after the other */
};

static char *index_of(const char *log)
{
	return mem_printf("%s.times", log);
}

static int64_t read_from(const char *path)
{
	char text[LOG_FROM_MAX];
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	return got > 0 ? log_part_from(text, (size_t)got) : 0;
}

static void write_from(struct log_times *times)
{
	char line[LOG_FROM_MAX];
	int length = snprintf(line, sizeof(line), "from %" PRId64 "\n", times->from);

	if (write(times->fd, line, (size_t)length) == length)
		times->size += length;
	else if (ftruncate(times->fd, times->size) < 0)
		log_times_close(times);
}

void log_times_open(struct log_times *times, const char *log, int64_t log_size, int64_t from)
{
	char *path cleanup_free = index_of(log);
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (log_size == 0 ? O_TRUNC : 0);
	struct stat info;

	times->from = from >= 0 ? from : read_from(path);
	times->fd = open(path, flags, 0600);
	times->size = times->fd >= 0 && fstat(times->fd, &info) == 0 ? info.st_size : 0;
	times->last_ms = 0;
	if (times->fd >= 0 && times->size == 0 && times->from > 0)
		write_from(times);
}

void log_times_close(struct log_times *times)
{
	mem_cleanup_close(&times->fd);
}

/* A stream follows another one. The time of its entry; -1: it needs none. A program that has many
 * short turns has their order for the first ones of each second, and no more. */
static int64_t take_turn(struct log_times *times, int64_t now_ms)
{
	struct log_turn *turn = times->turn;
	const bool is_turn = turn && turn->last && turn->last != times;

	if (!turn)
		return -1;
	turn->last = times;
	if (!is_turn)
		return -1;
	if (now_ms < turn->second_ms || now_ms - turn->second_ms >= 1000) {
		turn->second_ms = now_ms;
		turn->count = 0;
	}
	const int64_t time = now_ms > turn->last_ms ? now_ms : turn->last_ms + 1;
	return turn->count++ < TURNS_MAX && time - now_ms < AHEAD_MAX_MS ? time : -1;
}

void log_times_mark(struct log_times *times, int64_t offset, int64_t now_ms)
{
	char entry[48];
	const int64_t turn_ms = take_turn(times, now_ms);
	const int64_t time_ms = turn_ms >= 0 ? turn_ms : now_ms;

	/* The wall clock may have been set back. */
	bool is_due = turn_ms >= 0 || now_ms < times->last_ms - AHEAD_MAX_MS ||
		      now_ms - times->last_ms >= LOG_TIMES_STEP_MS;
	if (times->fd < 0 || !is_due)
		return;
	int length = snprintf(entry, sizeof(entry), "%" PRId64 " %" PRId64 "\n", time_ms, offset);
	if (write(times->fd, entry, (size_t)length) == length) {
		times->size += length;
		times->last_ms = time_ms;
		if (times->turn)
			times->turn->last_ms = time_ms;
	} else if (ftruncate(times->fd, times->size) < 0) {
		log_times_close(times); /* half an entry would spoil the next one */
	}
}

void log_times_rename(const char *log, const char *new_log)
{
	char *from cleanup_free = index_of(log);
	char *to cleanup_free = index_of(new_log);

	if (rename(from, to) < 0)
		unlink(to); /* that of another log */
}
