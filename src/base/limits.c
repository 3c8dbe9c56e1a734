#include "base/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

static struct {
	bool is_lowered;
	rlim_t before;
} core_limit;

void limits_lower(void)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return;
	core_limit.before = limit.rlim_cur;
	limit.rlim_cur = 0;
	core_limit.is_lowered = setrlimit(RLIMIT_CORE, &limit) == 0;
}

void limits_restore(void)
{
	int error = errno;
	struct rlimit limit;

	if (core_limit.is_lowered && getrlimit(RLIMIT_CORE, &limit) == 0) {
		limit.rlim_cur = core_limit.before;
		setrlimit(RLIMIT_CORE, &limit);
	}
	signal(SIGXFSZ, SIG_DFL);
	errno = error;
}
