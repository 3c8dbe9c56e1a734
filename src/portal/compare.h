/* Two jobs side by side: what they came to, and what they were told differently. */
#ifndef TONY_PORTAL_COMPARE_H
#define TONY_PORTAL_COMPARE_H

#include <jansson.h>

struct compare;
struct event_base;
struct http_request;

struct compare_side {
	const char *address; /* of the job's reader */
	const char *summary; /* JSON */
};

/* [{"key": ..., "a": ..., "b": ...}] of two configurations; what only one has is null at the other.
 */
json_t *compare_configs(const json_t *a, const json_t *b);

/* Asks both readers for the configurations, and answers. */
void compare_start(struct event_base *base, struct http_request *request, const char *token,
		   const struct compare_side sides[2]);

#endif
