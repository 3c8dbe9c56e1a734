/* A disk that takes no more. */
#ifndef TONY_TEST_UNIT_BASE_FILE_LIMIT_H
#define TONY_TEST_UNIT_BASE_FILE_LIMIT_H

#include "test.h"

#include <signal.h>
#include <sys/resource.h>

/* From now on no file of this process gets longer than that; RLIM_INFINITY ends it. */
static inline void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
