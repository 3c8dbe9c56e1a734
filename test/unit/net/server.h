/* A server with a few routes, for the tests of server and client. */
#ifndef TONY_TEST_NET_SERVER_H
#define TONY_TEST_NET_SERVER_H

#include <event2/event.h>

#include "net/http_server.h"

#define TEST_TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
/* Headers that every request has, and the token among them. */
#define TEST_HOST	   "Host: localhost\r\n"
#define TEST_AUTHORIZATION TEST_HOST "Authorization: Bearer " TEST_TOKEN "\r\n"

enum { OPEN_BODY = 100 };

struct fixture {
	struct event_base *base;
	struct http_server *server;
	/* GET /hold: the requests held, and how many clients of theirs went away. */
	struct http_request *held[8];
	size_t held_count;
	size_t closed_count;
	bool has_held, has_closed;
	/* GET /stream: an endless one of this many bytes a fill; or what a test puts in `line`. */
	struct http_stream *stream;
	size_t fill_bytes;
	size_t filled, fills;
	bool yields;
	const char *line;
	bool end_stream;
	size_t handled;
	struct http_request *raw; /* the last of /raw */
	bool drained;
	const char *access; /* of those who say "X-Access: ask"; NULL: it is not known yet */
	size_t asked;
};

/* Routes: GET /echo?text=, POST /echo, GET /item/{name}, GET /hold, GET /stream, GET /open (needs
 * no token), PUT /open (likewise, of a stranger up to OPEN_BODY bytes), GET /big (8 MiB), GET
 * /gzip?bytes=N&cut=N (compressed, for who takes that), GET /look (reading is enough), any method
 * of /raw (likewise): what comes behind the head goes back, until a
 * "." comes. A request with "X-Access: read" may read, one with "X-Access: ask" what `access` says.
 * It is also called own.example, and known.example at any port. */
void fixture_open(struct fixture *fixture, const struct http_limits *limits);
/* The same with is_sealed. */
void fixture_open_sealed(struct fixture *fixture, const struct http_limits *limits);
void fixture_close(struct fixture *fixture);

/* One as the `state` of a cmocka test. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

#endif
