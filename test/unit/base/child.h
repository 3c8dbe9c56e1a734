/* Processes to be looked at. */
#ifndef TONY_TEST_CHILD_H
#define TONY_TEST_CHILD_H

#include <sys/types.h>

/* A child that runs `body` (NULL: nothing), then says so and sleeps until it is killed. */
pid_t child_start(void (*body)(void));
void child_stop(pid_t child);

#endif
