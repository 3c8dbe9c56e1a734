#include "base/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

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

void limits_take(void)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
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
	signal(SIGXFSZ, SIG_DFL);
	errno = error;
}
