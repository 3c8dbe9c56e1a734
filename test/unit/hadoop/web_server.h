/* A web server with a script, in a thread of its own: each connection is one request and one
 * answer, in order. */
#ifndef TONY_TEST_HADOOP_WEB_SERVER_H
#define TONY_TEST_HADOOP_WEB_SERVER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/str.h"

struct web_step {
	const char *expect; /* must be in the request's head */
	/* From the status line on: "200 OK\r\n\r\nbody"; every '@' becomes `outside`.
	 * NULL: hangs up instead. */
	const char *answer;
	bool keeps; /* the next request has to come by the same connection */
	/* These two try a client's patience, which may end before it has asked. */
	bool drips;	    /* a blank now and then follows, until the peer hangs up */
	bool repeats;	    /* again and again, as the last step; every '#' becomes a new number */
	const char *echoes; /* a line of an earlier head begins so: every '$' becomes it */
};

struct web_server {
	char *address;	     /* "127.0.0.1:4711" */
	char *url;	     /* "http://127.0.0.1:4711" */
	const char *outside; /* "127.0.0.1:4711", unless something else stands in front of it */
	int listener;
	pthread_t thread;
	const struct web_step *steps;
	size_t count;

	/* After web_server_stop(). */
	size_t served;
	struct str heads, bodies; /* of all requests */
	char *surprise;		  /* the request that was not expected; NULL: none */
};

void web_server_start(struct web_server *server, const struct web_step *steps, size_t count);
/* Ends it, and fails the test unless every step was taken, as expected; but see drips. `heads` and
 * `bodies` stay until web_server_finish(). */
void web_server_stop(struct web_server *server);
void web_server_finish(struct web_server *server);

/* "127.0.0.1:4712", where nobody listens; the caller frees. */
char *web_nobody(void);
/* Where connections are accepted and nobody says anything; the caller closes it and frees. */
int web_silent(char **address);

#endif
