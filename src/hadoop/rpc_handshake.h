/* How the two ends of a connection agree on who the client is: SASL within RpcSaslProto. Bytes in,
 * bytes out. */
#ifndef TONY_HADOOP_RPC_HANDSHAKE_H
#define TONY_HADOOP_RPC_HANDSHAKE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "hadoop/sasl.h"
#include "proto/rpc.pb-c.h"

struct hadoop_token;

/* Initialise with the members of the first part; the texts are borrowed. */
struct rpc_handshake {
	const struct hadoop_token *token;      /* NULL: none */
	const struct sasl_mechanism *kerberos; /* NULL: it cannot be used here */
	const char *principal, *keytab;	       /* ours, for Kerberos; may be NULL */
	struct sasl_peer peer;		       /* for Kerberos */
	unsigned protections;
	bool require_sasl;

	struct sasl *sasl; /* NULL once it is over: SIMPLE, nobody has proved anything */
	bool is_proved;	   /* the server has shown who it is */
};

/* Appends the first frame. */
void rpc_handshake_begin(struct str *out);

/* Takes what the server says and appends the answer. 1: it is over, `out` is to be sent before
 * anything else; 0: it goes on; -1: ERR_DENIED, ERR_EXPIRED, ERR_UNREACHABLE (a
 * key distribution centre), or ERR_INPUT for nonsense. */
int rpc_handshake_take(struct rpc_handshake *handshake, const Hadoop__RpcSaslProto *message,
		       struct str *out, struct err *err);

void rpc_handshake_finish(struct rpc_handshake *handshake);

#endif
