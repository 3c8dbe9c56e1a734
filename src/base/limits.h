/*
 * Limits of the user's that tony's own processes bear in another way than what they start.
 *
 * Core dumps. The memory of tony's own processes holds tokens, so they leave none; what they start
 * may, as if its user's shell had started it. Where the kernel passes dumps to a program
 * (core_pattern with a '|'), that program decides.
 *
 * Sizes of files (ulimit -f). A write beyond the limit fails with EFBIG in tony's own processes;
 * SIGXFSZ, which would kill them, is ignored there. The programs that they start have its default
 * again.
 */
#ifndef TONY_BASE_LIMITS_H
#define TONY_BASE_LIMITS_H

/* Of this process, and of those that it forks: the soft limit of a core dump is 0, and SIGXFSZ
 * is ignored. Called once, first in main(). */
void limits_lower(void);

/* Between fork() and exec(): the soft limit that this process was started with (without
 * limits_lower() it stays as it is), and SIGXFSZ's default. Keeps errno. */
void limits_restore(void);

#endif
