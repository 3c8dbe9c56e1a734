#include "am/open_files.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/str.h"

enum { BESIDES = 192 }; /* for people who look, logs, files and the scheduler */

void open_files_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	char *before cleanup_free = mem_printf("%llu", (unsigned long long)limit.rlim_cur);
	setenv("TONY_OPEN_FILES", before, 1);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int open_files_check(size_t tasks, struct err *err)
{
	size_t needed = tasks + BESIDES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= needed)
		return 0;
	return err_set(err, ERR_INPUT,
		       "the application master may have %llu files open, and for %zu task%s it "
		       "needs %zu: raise the hard limit (ulimit -Hn) where it runs, or ask for "
		       "fewer tasks",
		       (unsigned long long)limit.rlim_cur, tasks, str_plural(tasks), needed);
}
