/* Paths and queries of URLs: pure functions over text. */
#ifndef TONY_NET_HTTP_URL_H
#define TONY_NET_HTTP_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct http_pair {
	char *name, *value; /* owned */
};

/* Decoded names and values: path parameters, or a query's members. Initialise with {0}. */
struct http_pairs {
	size_t count;
	struct http_pair items[16];
};
const char *http_pairs_find(const struct http_pairs *pairs, const char *name); /* the first; NULL */
void http_pairs_finish(struct http_pairs *pairs);

/* Percent-decodes ('+' is a blank when `plus`). NULL: malformed, or it holds a NUL. The caller
 * frees. */
char *http_url_decode(const char *text, size_t length, bool plus);

/* Appends a text, percent-encoded: all bytes but letters, digits, -._~ and those of `also`. A
 * blank,
 * '+', '%', ';', '?' and '#' have meanings of their own to some servers. */
void http_url_encode(struct str *url, const char *text, const char *also);

int http_hex_digit(char c); /* -1: none */

/* Whether the path of `target` (up to a '?') has the form of `pattern` (http_server.h); its
 * parameters are added. -1: it has, but a parameter is malformed. `pairs` may be NULL. */
int http_url_match(const char *pattern, const char *target, struct http_pairs *pairs);

/* Adds the members of the query of `target`. -1: malformed, or too many. */
int http_url_query(const char *target, struct http_pairs *pairs);

#endif
