#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"

static struct own_limit {
	int resource;
	bool is_full; /* as much as is allowed; else none */
	bool is_changed;
	rlim_t before; /* the soft limit, once it is changed */
} own_limits[] = {
	{.resource = RLIMIT_CORE},
	{.resource = RLIMIT_NOFILE, .is_full = true},
};

/* The parts of the memory that a dump holds, as the kernel writes them, with the "0x" that it wants
 * to read. It is a setting of the memory, and so of a vfork()ed child, too. */
static char filter_before[2 + 16] = "0x";
static bool filter_is_changed;

/* Without /proc the limit alone stands. Signal-safe. */
static bool write_filter(const char *text)
{
	int fd cleanup_close = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) >= 0;
}

static void take_filter(void)
{
	int fd cleanup_close = open("/proc/self/coredump_filter", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, filter_before + 2, sizeof(filter_before) - 3) : -1;

	if (length <= 0)
		return;
	filter_before[2 + length] = '\0';
	filter_before[strcspn(filter_before, "\n")] = '\0';
	filter_is_changed = write_filter("0");
}

void limits_take_back(void)
{
	if (filter_is_changed)
		write_filter("0");
}

void limits_take(void)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	take_filter();
	for (size_t i = 0; i < array_length(own_limits); i++) {
		struct own_limit *own = &own_limits[i];
		if (getrlimit(own->resource, &limit) < 0)
			continue;
		own->before = limit.rlim_cur;
		limit.rlim_cur = own->is_full ? limit.rlim_max : 0;
		own->is_changed = setrlimit(own->resource, &limit) == 0;
	}
}

void limits_restore(void)
{
	int error = errno;
	struct rlimit limit;

	for (size_t i = 0; i < array_length(own_limits); i++) {
		const struct own_limit *own = &own_limits[i];
		if (!own->is_changed || getrlimit(own->resource, &limit) < 0)
			continue;
		limit.rlim_cur = own->before;
		setrlimit(own->resource, &limit);
	}
	if (filter_is_changed)
		write_filter(filter_before);
	signal(SIGXFSZ, SIG_DFL);
	errno = error;
}
