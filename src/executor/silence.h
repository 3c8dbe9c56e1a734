/*
 * How long the other side has been silent, by a listener that may be kept from listening: it looks
 * several times within the limit, and a look that comes late tells that its own process did not run
 * (SIGSTOP, steal time, a machine with much to do). The other side's words of that time have
 * yet to be read, so it does not count. Three times the limit count however late the looks were.
 */
#ifndef TONY_EXECUTOR_SILENCE_H
#define TONY_EXECUTOR_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct silence {
	int64_t limit_ms; /* 0: it may be silent for ever */
	int64_t heard_at; /* ms, as `now` */
	int64_t look_at;  /* the next look; INT64_MAX: there is none */
	int64_t counted_ms;
};

void silence_begin(struct silence *silence, int64_t limit_ms, int64_t now);
void silence_heard(struct silence *silence, int64_t now);
/* At a look, which may be late. True: the limit is over. */
bool silence_look(struct silence *silence, int64_t now);

#endif
