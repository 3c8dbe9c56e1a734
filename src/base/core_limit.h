/*
 * Core dumps. The memory of tony's own processes holds tokens, so they leave none; what they start
 * may, as if its user's shell had started it. Where the kernel passes dumps to a program
 * (core_pattern with a '|'), that program decides.
 */
#ifndef TONY_BASE_CORE_LIMIT_H
#define TONY_BASE_CORE_LIMIT_H

/* Of this process, and of those that it forks: the soft limit of a core dump is 0. Called once,
 * first in main(). */
void core_limit_lower(void);

/* Between fork() and exec(): the soft limit that this process was started with. Without
 * core_limit_lower() nothing changes. Keeps errno. */
void core_limit_restore(void);

#endif
