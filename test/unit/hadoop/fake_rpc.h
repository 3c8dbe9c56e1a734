/* A server of Hadoop's RPC that does what a test says, on the test's own loop. */
#ifndef TONY_TEST_HADOOP_FAKE_RPC_H
#define TONY_TEST_HADOOP_FAKE_RPC_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "proto/rpc.pb-c.h"

struct fake_server;

struct fake_connection {
	struct fake_server *server;
	struct fake_connection *next;
	int fd; /* -1: closed */
	struct event event;
	struct str received; /* all of it */
	size_t read;	     /* of that, as frames */
	bool has_context;
	char *user, *protocol; /* of the context; NULL: not told */
	bool ended;	       /* the client closed */
	struct str clear;      /* what was protected, opened: see fake_take_clear() */
	size_t clear_read;
};

struct fake_call {
	int32_t id;
	int retries;
	char method[64];
	const unsigned char *request;
	size_t length;
};

struct fake_server {
	struct event_base *base;
	int fd;
	char *address;
	struct event event;
	struct fake_connection *connections; /* the newest first */
	int accepted;
	int calls;
	/* NULL: nothing happens. */
	void (*on_connect)(struct fake_connection *connection);
	void (*on_sasl)(struct fake_connection *connection, const Hadoop__RpcSaslProto *message);
	void (*on_call)(struct fake_connection *connection, const struct fake_call *call);
};

void fake_server_open(struct fake_server *server, struct event_base *base);
void fake_server_open_at(struct fake_server *server, struct event_base *base, const char *address);
void fake_server_close(struct fake_server *server);
/* A port of loopback on which nobody listens; the caller frees. */
char *fake_free_address(void);

void fake_send(struct fake_connection *connection, const void *bytes, size_t length);
void fake_hang_up(struct fake_connection *connection);

/* Appends one frame. `body`: of status SUCCESS. `class`, `text`: of the others; NULL: not told. */
void fake_add_answer(struct str *out, int32_t id, int status, const void *body, size_t length);
void fake_add_error(struct str *out, int32_t id, int status, int detail, const char *class,
		    const char *text);

/* Answers the call, which succeeded, with this message. */
void fake_answer_message(struct fake_connection *connection, const struct fake_call *call,
			 const ProtobufCMessage *message);

/* An answer to getNewApplication. */
void fake_add_application(struct str *out, int32_t id, int application);

void fake_answer(struct fake_connection *connection, int32_t id, int application);
void fake_fail(struct fake_connection *connection, int32_t id, int status, int detail,
	       const char *class, const char *text);
void fake_say_sasl(struct fake_connection *connection, Hadoop__RpcSaslProto *message);
/* For on_sasl: adds what a token held; whole frames go the way of those that come in clear. */
void fake_take_clear(struct fake_connection *connection, const struct str *bytes);

#endif
