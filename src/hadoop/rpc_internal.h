/* What rpc.c (a client and its connection) and rpc_call.c (its calls) share. */
#ifndef TONY_HADOOP_RPC_INTERNAL_H
#define TONY_HADOOP_RPC_INTERNAL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hadoop/rpc.h"
#include "hadoop/rpc_connection.h"
#include "hadoop/rpc_frame.h"
#include "hadoop/token.h"

enum rpc_call_state {
	CALL_WAITING, /* for a connection that is ready */
	CALL_SENT,
	CALL_PAUSED, /* the server wants to be asked again later */
	CALL_ENDED,  /* to be told from the loop */
};

struct rpc_call {
	TAILQ_ENTRY(rpc_call) link;
	struct rpc_client *client;
	const struct rpc_method *method;
	struct str request; /* rpc_frame_add_request() */
	int32_t id;	    /* the same however often it is sent */
	int sends;
	enum rpc_call_state state;
	struct event timer; /* CALL_SENT: the answer is late; CALL_PAUSED: it goes on */

	int failures;
	int64_t failed_since_ms; /* clock_monotonic_ms() of the first */

	void (*done)(void *data, const ProtobufCMessage *response, const struct rpc_error *error);
	void *data;
	/* CALL_ENDED: with the one or the other. */
	ProtobufCMessage *response;
	enum rpc_error_kind error;
	char *error_class, *error_text;
};
TAILQ_HEAD(rpc_call_list, rpc_call);

struct rpc_client {
	struct event_base *base;
	struct rpc_options options; /* `token` is NULL or points to `token` */
	struct hadoop_token token;
	char *user, *principal;
	char *all_addresses; /* for messages */
	unsigned char id[RPC_CLIENT_ID_LENGTH];
	int32_t last_call_id;

	struct rpc_call_list calls, ended;
	struct event step; /* brings things on, and tells of one call that ended */

	struct rpc_connection *connection;
	bool is_ready;
	bool has_served; /* this connection */
	bool is_leaving; /* a standby: the next one, as soon as it has answered what it got */
	size_t address;	 /* of options.addresses */
	int tries;	 /* in vain, since a server last served */
	bool has_warned;
	struct event pause;
};

/* rpc.c */
void rpc_client_wake(struct rpc_client *client);
/* The server is silent, or does not serve: its connection is given up. */
void rpc_client_leave(struct rpc_client *client, const char *class, const char *why);
const char *rpc_client_address(const struct rpc_client *client); /* the one in use */

/* rpc_call.c: what happens to one call */
void rpc_call_send(struct rpc_call *call);
void rpc_call_take(struct rpc_call *call, const struct rpc_answer *answer);
/* Its connection is gone, or did not come about, and another one may be tried: it waits again, or
 * ends when it must not be repeated. */
void rpc_call_lose(struct rpc_call *call, const char *class, const char *why);
/* Whether it has been tried for long enough. */
bool rpc_call_is_tired(const struct rpc_call *call, int64_t now_ms);
/* `where`: the server or servers. */
void rpc_call_fail(struct rpc_call *call, enum rpc_error_kind kind, const char *where,
		   const char *class, const char *why);
void rpc_call_tell(struct rpc_call *call); /* frees it, then calls `done` */
void rpc_call_free(struct rpc_call *call); /* not in a list any more */

#endif
