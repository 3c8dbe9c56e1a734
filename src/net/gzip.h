/*
 * gzip (RFC 1952), as one body of many answers: what they share is compressed once, and what
 * differs stands before and behind it as it is. To whoever reads it, that is one gzip file like any
 * other.
 */
#ifndef TONY_NET_GZIP_H
#define TONY_NET_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct evbuffer;

/* ---- writing ------------------------------------------------------------------------------ */

/* What is compressed once; answers share its bytes. */
struct gzip_part;
struct gzip_part *gzip_part_create(const char *bytes, size_t length);
void gzip_part_destroy(struct gzip_part *part); /* NULL is fine; answers under way keep the bytes */

struct gzip_body {
	struct evbuffer *out; /* borrowed */
	unsigned long checksum, length;
};

/* In this order: begin, any number of parts and plain pieces, end. */
void gzip_begin(struct gzip_body *body, struct evbuffer *out);
void gzip_add_part(struct gzip_body *body, const struct gzip_part *part);
void gzip_add_plain(struct gzip_body *body, const char *bytes, size_t length);
void gzip_end(struct gzip_body *body);

/* ---- reading ------------------------------------------------------------------------------ */

struct gunzip;
struct gunzip *gunzip_create(void);
void gunzip_destroy(struct gunzip *gunzip); /* NULL is fine */

/* Hands out what `bytes` hold, in pieces of at most 16 KiB, so that a bomb never lies in memory
 * whole. -1: it is no gzip, has bytes behind its end, or is damaged. 1: `take` returned false, and
 * the rest is lost. */
int gunzip_add(struct gunzip *gunzip, const char *bytes, size_t length,
	       bool (*take)(void *data, const char *bytes, size_t length), void *data,
	       struct err *err);
bool gunzip_is_whole(const struct gunzip *gunzip); /* its end was there, with the right checksum */

#endif
