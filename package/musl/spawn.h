#include_next <spawn.h>

#ifndef TONY_MUSL_SPAWN_H
#define TONY_MUSL_SPAWN_H

/* As of glibc 2.34, but for the moment at which it looks which descriptors are open: now, and not
 * in the child. Those that another thread opens later have to be close-on-exec. */
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
