/*
 * Signature Version 4 of AWS, in the form that S3 and servers like it take: the Authorization
 * header of a request, from the request, a key and the time alone. Source: Amazon S3 API Reference,
 * "Authenticating Requests: Using the Authorization Header".
 */
#ifndef TONY_STORE_SIGV4_H
#define TONY_STORE_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD" /* a body that TLS alone protects */

struct sigv4_key {
	const char *id, *secret; /* AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY */
	const char *region;	 /* "eu-central-1" */
};

struct sigv4_header {
	const char *name, *value; /* the name in lower case */
};

struct sigv4_request {
	const char *method;
	const char *path; /* as it is sent: percent-encoded by http_url_encode() */
	/* Likewise, without the "?"; "": none. Members in any order, as long as none of their names
	 * is the beginning of another one. */
	const char *query;
	/* All that are sent but Authorization, sorted by name; "host" and "x-amz-date" are among
	 * them. */
	const struct sigv4_header *headers;
	size_t header_count;
	const char *payload; /* as x-amz-content-sha256 has it */
};

/* "AWS4-HMAC-SHA256 Credential=...,SignedHeaders=...,Signature=...". The caller frees. */
char *sigv4_authorization(const struct sigv4_key *key, const struct sigv4_request *request,
			  int64_t now_ms);

/* The value of x-amz-date, "20130524T000000Z". The caller frees. */
char *sigv4_time(int64_t now_ms);

/* SHA-256 in hexadecimal. The caller frees. */
char *sigv4_hash(const void *bytes, size_t length);

#endif
