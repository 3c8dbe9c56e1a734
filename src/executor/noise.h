/*
 * Lines that a framework prints of itself whatever happens, and that tell a job's owner nothing
 * (framework_ops.noise).
 */
#ifndef TONY_EXECUTOR_NOISE_H
#define TONY_EXECUTOR_NOISE_H

#include <stddef.h>

/* Where a stream is, between two of its pieces. */
enum noise_place { NOISE_AT_START, NOISE_IN_LINE, NOISE_IN_NOISE };

/* Takes the lines out of `bytes` that have one of the texts (NULL-terminated) in their first piece;
 * the length that is left. */
size_t noise_remove(const char *const *texts, enum noise_place *place, char *bytes, size_t length);

#endif
