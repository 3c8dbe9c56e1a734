/* musl's, and what glibc has there. Found before musl's own, as are the other headers of this
 * folder. */
#include_next <unistd.h>

#ifndef TONY_MUSL_UNISTD_H
#define TONY_MUSL_UNISTD_H

#include <linux/close_range.h>
#include <sys/syscall.h>

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, (unsigned)flags);
}

#endif
