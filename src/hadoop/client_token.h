/*
 * The token by which a user proves to an AM who he is (Hadoop's ClientToAMToken). The
 * ResourceManager puts it into the report of an application that the user may view, and gives the
 * key to the application's AM when that registers: the password is HMAC-SHA1 of the identifier
 * under that key. Each attempt of an application has a key of its own.
 */
#ifndef TONY_HADOOP_CLIENT_TOKEN_H
#define TONY_HADOOP_CLIENT_TOKEN_H

#include <protobuf-c/protobuf-c.h>

#include "proto/rpc.pb-c.h"

#define CLIENT_TOKEN_USER_CAP 256 /* bytes of a user's name */

/* The identifier and the password as texts. The caller frees, the password as a secret. */
char *client_token_identity(const Hadoop__TokenProto *token);
char *client_token_password(const Hadoop__TokenProto *token);

/* At the AM: the password that proves `identity`, which a stranger may have made up, and the user
 * whom it names, "alice@REALM". NULL: it names none, or there is no key. */
char *client_token_find(const ProtobufCBinaryData *key, const char *identity, char **user);

#endif
