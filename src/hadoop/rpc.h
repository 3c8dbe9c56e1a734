/*
 * Hadoop's RPC, version 9, from the client's side: one asynchronous client for one service, on an
 * event loop. The bytes are those of org.apache.hadoop.ipc (Client, Server) in Hadoop 2.10 to 3.5.
 *
 * A client connects when the first call is made and stays connected. Calls are sent as they are
 * made, and answered in any order. Several addresses are one service, of which one is active: the
 * next one is tried when a connection is refused or lost, when no answer comes in time, and on a
 * StandbyException. When all were tried in vain there is a pause of retry_interval_ms.
 *
 * A call that the server has not seen, or refused to look at (StandbyException,
 * RetriableException), is sent again. One that it may have seen is sent again only when its method
 * is idempotent. Other exceptions and refused credentials end a call at once.
 */
#ifndef TONY_HADOOP_RPC_H
#define TONY_HADOOP_RPC_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct hadoop_token;
struct rpc_client;
struct rpc_call;
struct sasl_mechanism;

#define RPC_FRAME_CAP (128u << 20) /* larger requests and answers fail: ipc.maximum.data.length */
#define RPC_TOLD_MS   2000

enum rpc_error_kind {
	RPC_UNREACHABLE, /* refused, dropped or silent, after all tries */
	RPC_REMOTE,	 /* the server answered with an exception: see `class` */
	RPC_DENIED,	 /* the server refused who we are, or would not prove who it is */
	RPC_EXPIRED,	 /* there is no Kerberos ticket, or none any more */
	RPC_PROTOCOL,	 /* what it said is not Hadoop RPC as we know it */
};

struct rpc_error {
	enum rpc_error_kind kind;
	const char *class; /* "ApplicationNotFoundException": without package and outer class;
			      NULL: none */
	const char *text;  /* one line: names the server, the method, the exception, what it says */
};

struct rpc_method {
	const char *name; /* as on the wire: "getNewApplication" */
	const ProtobufCMessageDescriptor *request, *response;
	bool idempotent; /* may be sent again when it is unknown whether the server did it */
};

struct rpc_service {
	const char *what;	   /* for messages: "ResourceManager" */
	const char *protocol;	   /* the name of the Java interface on the wire */
	const char *principal_key; /* of the configuration, where the server has a principal */
};

/* All is copied. */
struct rpc_options {
	const struct rpc_service *service;     /* static */
	struct str_list addresses;	       /* "host:port", host a name or numeric; not empty */
	const char *user;		       /* who we say we are where nobody proves it */
	const struct hadoop_token *token;      /* NULL: none */
	const struct sasl_mechanism *kerberos; /* static; NULL: it cannot be used here */
	/* Ours, for Kerberos: as gssapi_credential_find() takes them; may be NULL. */
	const char *user_principal, *user_keytab;
	const char *effective_user; /* for whom we act, by Kerberos; NULL: for ourselves */
	/* The server's principal by the configuration, for Kerberos; NULL: not set. */
	const char *principal, *principal_pattern;
	unsigned protections; /* of SASL_AUTH, SASL_INTEGRITY, SASL_PRIVACY (sasl.h): those that
				 will do; 0: SASL_AUTH */
	bool require_sasl;    /* a server that asks for no proof is refused */
	int64_t connect_timeout_ms; /* for name, connection and authentication together; > 0 */
	int64_t call_timeout_ms;    /* a server that is silent for so long is taken for lost; > 0 */
	int64_t retry_interval_ms;
	int64_t max_wait_ms; /* from the beginning of a call's first try that failed, until it ends
				as RPC_UNREACHABLE; 0: each address is tried once; -1: for ever */
	bool tells_waits;    /* somebody waits, and not for ever: after RPC_TOLD_MS a warning says
				for which server, and for how long at most (log_trouble()) */
};

/* ERR_INPUT: no address, or one that is not HOST:PORT. */
struct rpc_client *rpc_client_create(struct event_base *base, const struct rpc_options *options,
				     struct err *err);
/* Calls in progress are forgotten: nobody is told. May be called in `done`. NULL is fine. */
void rpc_client_destroy(struct rpc_client *client);

/* For the next connection; the one that there is stays. Copied. */
void rpc_client_set_token(struct rpc_client *client, const struct hadoop_token *token);

/* Packs `request` at once. `done` is called exactly once, from the loop and never from within here,
 * unless the call is cancelled: with the response (freed after it returns) or with the error. It
 * may start and cancel calls and destroy the client. */
struct rpc_call *rpc_call_start(struct rpc_client *client, const struct rpc_method *method,
				const ProtobufCMessage *request,
				void (*done)(void *data, const ProtobufCMessage *response,
					     const struct rpc_error *error),
				void *data);
/* `done` will not be called; what the server makes of it is not known. Not after `done`. */
void rpc_call_cancel(struct rpc_call *call);

/* ---- synchronous -------------------------------------------------------------------------- */

/* Why a call failed, kept. Initialise with {0}. */
struct rpc_failure {
	enum rpc_error_kind kind;
	char *class; /* NULL: none */
};
void rpc_failure_finish(struct rpc_failure *failure);
#define cleanup_rpc_failure __attribute__((cleanup(rpc_failure_finish)))

/* One call with a connection and a loop of its own, for somebody who waits (tells_waits); a signal
 * may cut it (net/interrupt.h: ERR_INTERRUPTED). 0: the caller frees *response with
 * protobuf_c_message_free_unpacked(*response, NULL). -1: err has the text (RPC_UNREACHABLE is
 * ERR_UNREACHABLE, RPC_DENIED ERR_DENIED, RPC_EXPIRED ERR_EXPIRED, RPC_PROTOCOL ERR_INPUT,
 * RPC_REMOTE ERR_FAILED); `failure`, which may be NULL, the rest. */
int rpc_call_wait(const struct rpc_options *options, const struct rpc_method *method,
		  const ProtobufCMessage *request, ProtobufCMessage **response,
		  struct rpc_failure *failure, struct err *err);

#endif
