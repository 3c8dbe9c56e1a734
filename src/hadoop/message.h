/* Protobuf messages that outlive the answer they came in. */
#ifndef TONY_HADOOP_MESSAGE_H
#define TONY_HADOOP_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

/* A deep copy; the caller frees it with message_free(). `message` is the `base` of a message with
 * its required fields set. */
void *message_copy(const ProtobufCMessage *message);
void message_free(void *message); /* NULL is fine */

#endif
