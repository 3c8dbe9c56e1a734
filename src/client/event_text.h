/* A line of a job's journal, for people. */
#ifndef TONY_CLIENT_EVENT_TEXT_H
#define TONY_CLIENT_EVENT_TEXT_H

#include <jansson.h>
#include <stdint.h>

/* "2026-11-21T06:14:11.102Z  worker:0 failed: exited with code 1\n": printable. The caller frees.
 */
char *event_text(int64_t time_ms, const json_t *record);

#endif
