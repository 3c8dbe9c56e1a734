/* Runs side by side (comparison.h), as the portal's readers know them. */
#ifndef TONY_PORTAL_COMPARE_H
#define TONY_PORTAL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct http_request;

struct compare_side {
	const char *address; /* of the job's reader */
	const char *summary; /* JSON */
};

/* Asks all readers, and answers, as CSV or JSON. */
void compare_start(struct event_base *base, struct http_request *request, const char *token,
		   const struct compare_side *sides, size_t count, bool as_csv);

#endif
