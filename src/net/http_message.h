/*
 * Framing of HTTP/1.1 messages (RFC 9112), as pure functions over bytes. Strict where leniency has
 * let requests be smuggled: CR LF only, no folded headers, no blank before a colon, one framing,
 * one Host.
 */
#ifndef TONY_NET_HTTP_MESSAGE_H
#define TONY_NET_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
	HTTP_HEADERS_MAX = 100,
	HTTP_METHOD_MAX = 16,
};

struct http_header {
	const char *name, *value;
};

/* A start line and headers. Texts point into `text`. */
struct http_head {
	char *text;		     /* owned */
	const char *method, *target; /* of a request; the target starts with '/' */
	int status;		     /* of a response */
	int minor_version;	     /* of HTTP/1.x: 0 or 1 */
	bool keep_alive;
	bool chunked;
	bool expects_continue;
	int64_t content_length; /* -1: not given */
	size_t header_count;
	struct http_header *headers; /* owned */
};

/* The length of the head at the front of `bytes`, its final empty line included, or up to a bare
 * LF, which the parser refuses; 0: not complete. `from` is where an earlier look at a shorter
 * prefix ended (0 at first). */
size_t http_head_length(const char *bytes, size_t length, size_t from);

/* `bytes` is a whole head as http_head_length() measures it. The caller finishes `head` after
 * success only. */
int http_head_parse_request(struct http_head *head, const char *bytes, size_t length,
			    struct err *err);
int http_head_parse_response(struct http_head *head, const char *bytes, size_t length,
			     struct err *err);
const char *http_head_find(const struct http_head *head, const char *name); /* NULL: not there */
size_t http_head_count(const struct http_head *head, const char *name);
void http_head_finish(struct http_head *head);

/* Takes a chunked body apart. Initialise with {0}. */
struct http_chunks {
	enum {
		CHUNKS_SIZE, /* within the line with a chunk's size */
		CHUNKS_DATA,
		CHUNKS_DATA_END, /* the CR LF behind the data */
		CHUNKS_TRAILER,
		CHUNKS_DONE,
	} state;
	uint64_t left; /* of the chunk's data */
	size_t line;   /* bytes of the present line, or of CR LF behind data, seen */
	bool carriage; /* the byte before was a CR */
	bool in_extension;
	size_t trailer; /* bytes of trailers seen: capped */
};

/* Consumes some of `bytes` and returns how many; the one piece of the body in what was consumed is
 * *data, *data_length (0: none). Call again with the rest until it is used up or `state` is
 * CHUNKS_DONE. -1: malformed. */
ssize_t http_chunks_next(struct http_chunks *chunks, const char *bytes, size_t length,
			 const char **data, size_t *data_length);

#endif
