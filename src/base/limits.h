/*
 * Limits of the user's that tony's own processes bear in another way than what they start.
 *
 * Core dumps. The memory of tony's own processes holds tokens, so they leave none; what they start
 * may, as if its user's shell had started it. Where the kernel passes dumps to a program
 * (core_pattern with a '|') it does so whatever the limit is: dumps of tony's own processes hold
 * none of their memory then (coredump_filter of proc(5)).
 *
 * Open files. tony's own processes may have as many as the hard limit allows; what they start gets
 * the soft one that there was, since programs with select() rely on a low one. Tools that tony asks
 * for itself (curl, py-spy, base/helper.h) keep the hard one.
 *
 * Sizes of files (ulimit -f). A write beyond the limit fails with EFBIG in tony's own processes;
 * SIGXFSZ, which would kill them, is ignored there. A program that they start has the signal's
 * default.
 */
#ifndef TONY_BASE_LIMITS_H
#define TONY_BASE_LIMITS_H

/* Of this process, and of those that it forks: no core dump, as many open files as may be, and
 * SIGXFSZ is ignored. Called once, first in main(). */
void limits_take(void);

/* Between fork() and exec(): the soft limits that this process was started with (without
 * limits_take() they stay as they are), and SIGXFSZ's default. Keeps errno. */
void limits_restore(void);

/* In the parent of a vfork(), whose child has restored what is of their common memory. */
void limits_take_back(void);

#endif
