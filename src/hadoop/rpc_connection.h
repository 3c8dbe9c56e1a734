/* One connection to one server: reached, agreed with about who we are, then frames both ways. It
 * tries nothing twice; rpc.c does. */
#ifndef TONY_HADOOP_RPC_CONNECTION_H
#define TONY_HADOOP_RPC_CONNECTION_H

#include <stdint.h>

#include "base/str.h"
#include "hadoop/rpc.h"
#include "hadoop/rpc_frame.h"

struct event_base;
struct rpc_connection;

/* Called from the loop. Each may close the connection. */
struct rpc_connection_events {
	void (*on_ready)(void *data); /* calls may be sent from now on, and from within */
	void (*on_answer)(void *data, const struct rpc_answer *answer); /* to a call: id >= 0 */
	/* It is of no use any more, and closed as if by rpc_connection_close(). `class`: of the
	 * server's exception, or NULL. RPC_UNREACHABLE: it did not come about, or broke. */
	void (*on_end)(void *data, enum rpc_error_kind kind, const char *class, const char *text);
};

/* `options`, `client_id` and `events` are borrowed for its life; of options->token what is there
 * when the server asks. `address`: HOST:PORT. */
struct rpc_connection *rpc_connection_open(struct event_base *base, const char *address,
					   const struct rpc_options *options,
					   const unsigned char *client_id,
					   const struct rpc_connection_events *events, void *data);
void rpc_connection_close(struct rpc_connection *connection);

/* Sends a whole frame, protected as agreed. After on_ready. */
void rpc_connection_send(struct rpc_connection *connection, const struct str *frame);

#endif
