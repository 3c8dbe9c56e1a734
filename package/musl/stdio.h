#include_next <stdio.h>

#ifndef TONY_MUSL_STDIO_H
#define TONY_MUSL_STDIO_H

#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1 /* of <linux/fs.h>, as the other */
#define RENAME_EXCHANGE	 2

static inline int renameat2(int from_dir, const char *from, int to_dir, const char *to,
			    unsigned flags)
{
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}
#endif

#endif
