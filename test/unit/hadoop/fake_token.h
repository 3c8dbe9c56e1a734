/* For fake_server.on_sasl: a server that wants a Hadoop token, by DIGEST-MD5 without protection. */
#ifndef TONY_TEST_HADOOP_FAKE_TOKEN_H
#define TONY_TEST_HADOOP_FAKE_TOKEN_H

#include "fake_rpc.h"

/* The answer to NEGOTIATE. */
void fake_offer_token(struct fake_connection *connection);

/* The answer to INITIATE. The client must be `user` with `password`, both as they are on the wire:
 * base64. */
void fake_accept_token(struct fake_connection *connection, const Hadoop__RpcSaslProto *message,
		       const char *user, const char *password);

#endif
