/*
 * An HTTP/1.1 server on libevent's loop, for callers that hold a bearer token, or that may do less
 * without it. What it answers to bad input is docs/rest.md, "Limits and refusals": it checks size,
 * form, token, path and method in that order, before a handler sees anything.
 *
 * It frames messages itself (http_message.h) rather than through evhttp, which in libevent 2.1 can
 * neither cap connections, nor bound the time of a whole request, nor word its refusals, nor tell
 * at once that the client of a request in progress is gone.
 *
 * Every handler gets a request that it must either answer (once) or hold and answer later. An
 * answered request can be read until the handler returns to the loop, and no longer. Nothing here
 * calls back from within a call of the holder into it, http_server_destroy() excepted.
 */
#ifndef TONY_NET_HTTP_SERVER_H
#define TONY_NET_HTTP_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/tls.h"

struct event_base;
struct evbuffer;
struct http_head;
struct http_request;
struct str_list;
struct http_server;
struct http_stream;
struct str;

/* What a caller may do, from most to least. */
enum http_access {
	HTTP_ACCESS_ALL,     /* it showed the token, or the server has none */
	HTTP_ACCESS_CONTROL, /* look, and give the orders of routes that need no more than this */
	HTTP_ACCESS_READ,    /* look, and change nothing */
	HTTP_ACCESS_NONE,
	HTTP_ACCESS_LATER, /* not known yet: the request waits for http_server_admit_again() */
};

struct http_route {
	const char *method; /* "GET", "POST", "PUT", "DELETE"; "*": any */
	/* "/v1/tasks/{task}/beat": a name in braces takes one segment; "{key*}" as the last takes
	 * the rest of the path. */
	const char *pattern;
	void (*handle)(void *data, struct http_request *request);
	enum http_access needs; /* what is enough; HTTP_ACCESS_NONE: everybody is welcome */
	/* Everybody gets an answer, and each by his access another one. */
	bool differs;
	/* The handler is called once the head is there, for http_request_take_over(). */
	bool raw;
	/* Bytes of body that a stranger may send, a caller with HTTP_ACCESS_NONE. 0: none. */
	size_t stranger_body;
	void *data; /* for the handler; NULL: the server's */
};

/* A connection counts as so much while its TLS is not agreed on: OpenSSL's buffers for a record in
 * and one out, and its part of the handshake. */
#define HTTP_HANDSHAKE_BYTES ((size_t)72 * 1024)

/* A member that is 0 gets the default of docs/rest.md. */
struct http_limits {
	size_t head_bytes;  /* request line and headers: 16 KiB */
	size_t body_bytes;  /* 1 MiB */
	size_t connections; /* 1,024; never more than the process may open, less 64 */
	/* Requests and unread answers of all connections that have shown neither token nor session,
	 * together: 4 MiB. When they are more, the connection that holds most is closed. */
	size_t stranger_bytes;
	int64_t idle_ms; /* for a whole request to arrive, or an answer to move on: 30 s */
};

struct http_server_config {
	const char *address; /* "127.0.0.1:0": port 0 is any; copied */
	bool shares_port;    /* another process of this user's holds it with SO_REUSEPORT */
	/* net_listen()'s, in place of `address`, for several in turn; or net_listen_path()'s, which
	 * has no address to be told. 0: none. */
	int listener;
	const char *token;	 /* copied; NULL: there is none to show */
	const char *token_owner; /* for words of refusal; NULL: "the job" */
	/* It speaks TLS, by which both ends prove that they know the token (tls.h), and answers
	 * nothing that comes without. The token is to be shown all the same. */
	bool is_sealed;
	/* With is_sealed: users who may prove who they are instead (http_request_user()). */
	struct tls_people people;
	/* It speaks TLS with a certificate (HTTPS). Shared; NULL: it does not. */
	struct tls_context *tls;
	const struct http_route *routes; /* borrowed */
	size_t route_count;
	void *data; /* for the handlers */
	/* What a caller may do that does not show the token. NULL: nothing. */
	enum http_access (*authorize)(void *data, const struct http_request *request);
	/* Told of each request that a caller is refused for want of access, before the answer, for
	 * which it may have words, that the caller frees; NULL: those of the server. Without a
	 * function nobody is told. */
	char *(*refused)(void *data, const struct http_request *request);
	/* A request without the token names the server in its Host: a numeric address, "localhost",
	 * this machine's own name or `host`, and the server's port, or none. A page whose name is
	 * made to mean this machine's address has no other way to be of the same origin as the
	 * server (DNS rebinding). Any port is fine behind a loopback address and "localhost": there
	 * tunnels listen (ssh -L, tony open --tunnel). */
	const char *host; /* by which others call it, as net_address_split() has it; copied */
	bool any_host;	  /* calls prove themselves, by whichever name they found the way */
	/* Whether the request may call the server `name`, at any port, for all that. NULL: never.
	 */
	bool (*knows_host)(void *data, const struct http_request *request, const char *name);
	/* Answers with a failure in its own way and returns true, or leaves that to
	 * http_answer_error(). NULL: it always does. */
	bool (*answer_failure)(struct http_request *request, int status, const char *message);
	struct http_limits limits;
};

struct http_server *http_server_create(struct event_base *base,
				       const struct http_server_config *config, struct err *err);
const char *http_server_address(const struct http_server *server); /* with the port bound */
size_t http_server_connection_count(const struct http_server *server);

/* Asks again what the callers may do whose access was HTTP_ACCESS_LATER, from the loop. */
void http_server_admit_again(struct http_server *server);

/* Accepts no more, answers new requests 503, and calls `done` once every answer is delivered and
 * every stream has ended, at the latest after timeout_ms. Answer what is held before or after. */
void http_server_drain(struct http_server *server, int64_t timeout_ms, void (*done)(void *data),
		       void *data);

/* Closes everything; tells the holders of requests and streams. NULL is fine. */
void http_server_destroy(struct http_server *server);

/* ---- the request ------------------------------------------------------------------------- */

/* All NUL-terminated, percent-decoded where the URL says so, valid until the answer. NULL: there
 * is none. Parameters never hold a NUL; queries and headers neither. */
const char *http_request_parameter(const struct http_request *request, const char *name);
const char *http_request_query(const struct http_request *request, const char *name);
const char *http_request_header(const struct http_request *request, const char *name);
const char *http_request_body(const struct http_request *request, size_t *length);
/* Its client takes an answer with "Content-Encoding: gzip". */
bool http_request_takes_gzip(const struct http_request *request);

/* It came over TLS with the server's certificate. */
bool http_request_is_https(const struct http_request *request);
/* As tls_end_point() appends it: nothing without TLS. */
void http_request_end_point(const struct http_request *request, struct str *bytes);
/* The user whom its TLS has proven the caller to be; NULL: none. */
const char *http_request_user(const struct http_request *request);
/* The access that its route needs; HTTP_ACCESS_READ where there is no such route. */
enum http_access http_request_need(const struct http_request *request);
/* As it came (http_message.h): method, target, all headers. */
const struct http_head *http_request_head(const struct http_request *request);
enum http_access http_request_access(const struct http_request *request);
/* The numeric address of the caller, or of a proxy between; "" when it is gone. The caller frees.
 */
char *http_request_peer(const struct http_request *request);
/* Whether the caller is at one of these numeric addresses and, where that is one of this machine,
 * is root or one of `users` (uids, as text). */
bool http_request_comes_from(const struct http_request *request, const struct str_list *hosts,
			     const struct str_list *users);

/* The query member as a number. Absent: *value stays. Out of range or no number: answers 400 and
 * returns -1 (the request is gone). */
int http_request_query_int(struct http_request *request, const char *name, int64_t min, int64_t max,
			   int64_t *value);

/* Keeps a note of the holder's with the request's connection, for the requests that follow on it.
 * `forget` gets the note when the connection ends, or another one takes its place. */
void http_request_note(struct http_request *request, void *note, void (*forget)(void *note));
void *http_request_noted(const struct http_request *request); /* NULL: nothing */

/* Its caller has proven who it is by other means than the token: no stranger takes the place of its
 * connection. */
void http_request_trust(struct http_request *request);

/* Keeps the request for a later answer. `closed` is called at once when the client goes away (also
 * when it only ends its sending side); the request is gone then. */
void http_request_hold(struct http_request *request, void (*closed)(void *data), void *data);

/* ---- the connection itself --------------------------------------------------------------- */

/* For the handler of a raw route: it takes the request's body, as it was framed, from the input,
 * and writes all of the answer, status line included. `changed` is called from the loop when bytes
 * came, or left; `closed` when the client has gone, or has ended its sending side: the request is
 * gone then. The connection is not used again afterwards. As long as nothing was written, an
 * http_answer_...() ends it as well. */
struct http_raw {
	void (*changed)(void *data);
	void (*closed)(void *data);
	void *data;
};
void http_request_take_over(struct http_request *request, const struct http_raw *raw);
struct evbuffer *http_raw_input(struct http_request *request);
struct evbuffer *http_raw_output(struct http_request *request);
/* Sends what was written, and reads on when input was taken. */
void http_raw_go_on(struct http_request *request);
/* Delivers what was written. The request is gone. */
void http_raw_end(struct http_request *request);

/* ---- the answer -------------------------------------------------------------------------- */

/* A header of the answer to come. The value is one line; "Cache-Control" takes the place of
 * "no-store". */
void http_answer_header(struct http_request *request, const char *name, const char *value);

/* JSON between 1 KiB and 1 MiB goes compressed to clients that take gzip. */
void http_answer_json(struct http_request *request, int status, json_t *body); /* takes `body` */
void http_answer_json_text(struct http_request *request, int status, const char *text,
			   size_t length);
/* {"error": {"code": ..., "message": ...}}, unless the server answers in its own way. */
void http_answer_error(struct http_request *request, int status, const char *code,
		       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The body of an answer to HEAD, and of a 304, is left out. */
void http_answer_bytes(struct http_request *request, int status, const char *content_type,
		       const void *bytes, size_t length);
/* Moves the content of `body` (shared parts stay shared), which is empty afterwards. */
void http_answer_buffer(struct http_request *request, int status, const char *content_type,
			struct evbuffer *body);

/* An answer without a known end. The stream pulls: `fill` is called when there is room (from the
 * loop, first right after this call) and writes up to HTTP_STREAM_CHUNK bytes or so; when it wrote
 * nothing it is called again after http_stream_wake(). So a slow reader costs no memory.
 * `closed` comes when the client went away or the server is destroyed, not after
 * http_stream_end(); the stream is gone then. */
enum { HTTP_STREAM_CHUNK = 64 * 1024 };
struct http_stream_source {
	void (*fill)(void *data, struct http_stream *stream);
	void (*closed)(void *data);
	void *data;
};
struct http_stream *http_answer_stream(struct http_request *request, const char *content_type,
				       const struct http_stream_source *source);
void http_stream_write(struct http_stream *stream, const void *bytes, size_t length);
/* The same of all that is in `bytes`, which is empty afterwards; nothing is copied. */
void http_stream_move(struct http_stream *stream, struct evbuffer *bytes);
void http_stream_wake(struct http_stream *stream);
/* From within `fill`: that was much to do for one time, and it is called again when others have had
 * their turn. */
void http_stream_yield(struct http_stream *stream);
/* Not from within `fill`: the rest of the answer cannot be had. The connection is closed, by which
 * the client knows. `closed` is not called. */
void http_stream_break(struct http_stream *stream);
void http_stream_end(struct http_stream *stream); /* delivers what was written; stream is gone */

#endif
