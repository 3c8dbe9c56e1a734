#include "executor/log_times.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static char *index_of(const char *log)
{
	return mem_printf("%s.times", log);
}

void log_times_open(struct log_times *times, const char *log, int64_t log_size)
{
	char *path cleanup_free = index_of(log);
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (log_size == 0 ? O_TRUNC : 0);
	struct stat info;

	times->fd = open(path, flags, 0600);
	times->size = times->fd >= 0 && fstat(times->fd, &info) == 0 ? info.st_size : 0;
	times->last_ms = 0;
}

void log_times_close(struct log_times *times)
{
	mem_cleanup_close(&times->fd);
}

void log_times_mark(struct log_times *times, int64_t offset, int64_t now_ms)
{
	char entry[48];

	/* The wall clock may have been set back. */
	bool is_due = now_ms < times->last_ms || now_ms - times->last_ms >= LOG_TIMES_STEP_MS;
	if (times->fd < 0 || !is_due)
		return;
	int length = snprintf(entry, sizeof(entry), "%" PRId64 " %" PRId64 "\n", now_ms, offset);
	if (write(times->fd, entry, (size_t)length) == length) {
		times->size += length;
		times->last_ms = now_ms;
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
