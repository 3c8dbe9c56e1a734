/* What the files of the HTTP server share: one connection, the request it is busy with. */
#ifndef TONY_NET_HTTP_INTERNAL_H
#define TONY_NET_HTTP_INTERNAL_H

#include <sys/queue.h>

#include "base/str.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/http_url.h"
#include "net/wire.h"

enum http_phase {
	PHASE_HEAD,    /* waits for a request's head to be complete */
	PHASE_BODY,    /* waits for its body */
	PHASE_ADMIT,   /* waits to hear what its caller may do */
	PHASE_REQUEST, /* the handler has it, or somebody holds it */
	PHASE_STREAM,  /* an answer without a known end */
	PHASE_RAW,     /* the handler reads and writes by itself */
	PHASE_LINGER,  /* the last answer is sent: waits for the peer to have read it */
};

/* The more its callers have shown so far, the later a connection makes way for others. */
enum http_standing {
	HTTP_STRANGER,
	HTTP_LOOKER, /* a session, or a right to look */
	HTTP_KNOWN,  /* the token */
	HTTP_STANDINGS,
};

struct http_connection {
	TAILQ_ENTRY(http_connection) link;
	struct http_server *server;
	struct wire wire;
	enum http_phase phase;
	enum http_standing standing;
	bool close_after;  /* the answer in progress is the last */
	bool peer_ended;   /* no more input */
	bool asks_again;   /* in PHASE_ADMIT */
	bool advancing;	   /* handlers run: who answers within need not wake it */
	size_t looked;	   /* bytes of the incomplete head looked at */
	size_t weight;	   /* its part of the server's stranger_bytes */
	int64_t opened_ms; /* monotonic */
	struct http_chunks chunks;
	struct http_request *request; /* while there is one */
	struct http_stream *stream;
	bool stream_wrote; /* in the present call of its source */
	bool is_queued;	   /* for a turn of the server's, by: */
	TAILQ_ENTRY(http_connection) turn_link;
	bool has_turn;
	void *note; /* of http_request_note() */
	void (*forget)(void *note);
	struct event timer; /* the phase's deadline */
	struct event wake;  /* go on from the loop, not from within a caller */
};
TAILQ_HEAD(http_connection_list, http_connection);

struct http_request {
	struct http_connection *connection; /* NULL: it is answered */
	SLIST_ENTRY(http_request) answered_link;
	const struct http_route *route;
	enum http_access access;
	struct http_head head;
	size_t head_bytes;
	size_t body_cap;
	struct http_pairs parameters, query;
	struct str body;
	struct str answer_headers;  /* beside those that every answer has */
	bool has_cache_control;	    /* among them */
	void (*closed)(void *data); /* while held */
	void *closed_data;
	bool is_held;
	void (*changed)(void *data); /* of PHASE_RAW; with closed_data */
};

struct http_stream {
	struct http_connection *connection;
	struct http_stream_source source;
	bool is_chunked;
};

struct http_server {
	struct event_base *base;
	struct http_server_config config; /* token and host owned, address not kept */
	char *address, *token;
	struct tls_context *tls; /* NULL: without TLS */
	int port;
	char *host_name; /* this machine's */
	char *host;	 /* the config's */
	struct evconnlistener *listener;
	struct event resume; /* listening again after accept failed */
	/* is_crowded: so many agree on TLS that no other is let in. is_stuck: since none of them
	 * got through within `patience`, others are. */
	bool is_crowded, is_stuck;
	struct event patience;
	unsigned accepted; /* while it is stuck */
	/* By http_standing and time of arrival: the first stranger is the first to go when room is
	 * needed. */
	struct http_connection_list connections[HTTP_STANDINGS];
	/* Streams that may have something to write. Each time around the loop one of them has its
	 * turn, however many there are, and all else that happens is heard in between. */
	struct http_connection_list streams;
	struct event turn;
	/* Requests whose handlers may still read them. */
	SLIST_HEAD(, http_request) answered;
	struct event sweep;
	size_t connection_count;
	size_t stranger_bytes;
	bool draining;
	void (*drained)(void *data);
	void *drained_data;
	struct event drain_timer;
};

/* http_connection.c */
void http_connection_open(struct http_server *server, int fd);
void http_connection_free(struct http_connection *connection); /* tells holders */
void http_connection_close_idle(struct http_connection *connection);
/* The whole answer stands in the output: sends it and goes on to the next request. */
void http_connection_answered(struct http_connection *connection);
/* Runs the connection again from the loop. */
void http_connection_wake(struct http_connection *connection);
/* The same for a stream, once those queued before it have had their turn. */
void http_connection_yield(struct http_connection *connection);
void http_connection_take_turn(struct http_connection *connection);
/* Its handler takes it over. */
void http_connection_begin_raw(struct http_connection *connection);

/* http_request.c */
void http_request_free(struct http_request *request);
/* Checks token, path, method and size in that order. -1: refused and answered; 1: not decided yet.
 */
int http_request_admit(struct http_request *request);
/* Its body is over request->body_cap. */
void http_request_refuse_body(struct http_request *request);

/* http_answer.c */
const char *http_status_reason(int status);
char *http_error_body(const char *code, const char *message);
/* An error after which the connection is closed: what follows on it is not to be trusted. */
void http_answer_refusal(struct http_request *request, int status, const char *code,
			 const char *message);

/* http_server.c */
void http_server_forget(struct http_server *server, struct http_connection *connection);
/* Takes nothing away from a better standing. */
void http_server_know(struct http_server *server, struct http_connection *connection,
		      enum http_standing standing);
/* Counts anew what this connection makes the server hold, from the loop. It may be closed for it,
 * and so may another one. */
void http_server_weigh(struct http_server *server, struct http_connection *connection);

#endif
