/*
 * The frames of Hadoop's RPC: bytes to be sent, and what was received read. Pure functions.
 * A connection begins with seven bytes; from then on, both ways, a length of four bytes (big
 * endian) and a payload of messages, each behind its own length as a varint.
 */
#ifndef TONY_HADOOP_RPC_FRAME_H
#define TONY_HADOOP_RPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "hadoop/rpc.h"
#include "proto/rpc.pb-c.h"

enum {
	RPC_CLIENT_ID_LENGTH = 16,
	RPC_FRAME_HEAD = 4, /* bytes of a frame before its payload */
	/* What stands in the place of a call's number. */
	RPC_ID_CONTEXT = -3,
	RPC_ID_SASL = -33,
};

/* Each appends whole frames. `user`: NULL where SASL has told it. */
void rpc_frame_add_hello(struct str *out, bool sasl);
void rpc_frame_add_context(struct str *out, const unsigned char *client_id, const char *user,
			   const char *protocol);
void rpc_frame_add_sasl(struct str *out, const Hadoop__RpcSaslProto *message);

/* What of a call's payload stays the same however often it is sent. */
void rpc_frame_add_request(struct str *out, const struct rpc_service *service,
			   const struct rpc_method *method, const ProtobufCMessage *request);
void rpc_frame_add_call(struct str *out, const unsigned char *client_id, int32_t id, int retries,
			const struct str *request);

/* Whether the bytes received begin with a whole frame. 1: *payload bytes behind RPC_FRAME_HEAD; 0:
 * more must come; -1: this is no frame (ERR_INPUT; `err` says what it looks like). */
int rpc_frame_look(const void *bytes, size_t length, size_t *payload, struct err *err);

/* One payload. Initialise with {0}. */
struct rpc_answer {
	int32_t id; /* of the call, or one of those above; the server has more below zero */
	Hadoop__RpcStatusProto status;
	const unsigned char *message; /* status SUCCESS: within the payload */
	size_t length;
	/* Any other status. */
	Hadoop__RpcErrorCodeProto detail; /* 0: not told */
	char *class;			  /* without package and outer class; NULL: not told */
	char *text;			  /* one line, without class and stack trace; not NULL */
};
int rpc_answer_parse(const void *payload, size_t length, struct rpc_answer *answer,
		     struct err *err);
void rpc_answer_finish(struct rpc_answer *answer);

/* protobuf_c_message_unpack(), which itself goes as deep into messages within messages as an enemy
 * likes, until the stack ends. NULL: malformed, or deeper than RPC_MESSAGE_DEPTH. */
enum { RPC_MESSAGE_DEPTH = 64 };
ProtobufCMessage *rpc_message_unpack(const ProtobufCMessageDescriptor *descriptor,
				     const unsigned char *bytes, size_t length);
#define cleanup_rpc_answer __attribute__((cleanup(rpc_answer_finish)))

#endif
