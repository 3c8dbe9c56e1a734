/* Random numbers of the kernel, good for secrets. */
#ifndef TONY_BASE_RANDOM_H
#define TONY_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Neither fails: the process ends where the kernel has no random numbers (before Linux 3.17). */
void random_bytes(void *bytes, size_t length);
uint64_t random_u64(void);

#endif
