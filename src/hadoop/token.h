/*
 * Hadoop's tokens: an identifier, which the server made and reads, and the password that proves it.
 * Passwords are wiped when they are freed, and belong in no message.
 */
#ifndef TONY_HADOOP_TOKEN_H
#define TONY_HADOOP_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "proto/rpc.pb-c.h"

/* All is owned; no text is NULL once filled. Initialise with {0}. */
struct hadoop_token {
	unsigned char *identifier;
	size_t identifier_length;
	unsigned char *password;
	size_t password_length;
	char *kind;    /* TOKEN_KIND_... */
	char *service; /* whom it is for: "ip:port", "ha-hdfs:name"; often "" */
};
#define cleanup_token __attribute__((cleanup(token_finish)))

#define TOKEN_KIND_AMRM	    "YARN_AM_RM_TOKEN"
#define TOKEN_KIND_NM	    "NMToken"
#define TOKEN_KIND_RM	    "RM_DELEGATION_TOKEN"
#define TOKEN_KIND_HDFS	    "HDFS_DELEGATION_TOKEN"
#define TOKEN_KIND_WEBHDFS  "WEBHDFS delegation"
#define TOKEN_KIND_SWEBHDFS "SWEBHDFS delegation"
#define TOKEN_KIND_KMS	    "kms-dt"
#define TOKEN_KIND_TIMELINE "TIMELINE_DELEGATION_TOKEN"

/* These fill what was empty ({0} or finished). Everything is copied. */
void token_set(struct hadoop_token *token, const void *identifier, size_t identifier_length,
	       const void *password, size_t password_length, const char *kind, const char *service);
void token_copy(struct hadoop_token *token, const struct hadoop_token *from);
void token_from_proto(struct hadoop_token *token, const Hadoop__TokenProto *from);

/* Whose delegation token this is: "alice@REALM", or the name that a proxy user gave. NULL: the kind
 * is another one, or the identifier is none of its kind. The caller frees. */
char *token_owner(const struct hadoop_token *token);

/* When it was issued, and when its server ends it however often it is renewed; wall time. False: it
 * does not say. */
bool token_times(const struct hadoop_token *token, int64_t *issued_ms, int64_t *ends_ms);

bool token_is_of_hdfs(const struct hadoop_token *token); /* of a NameNode, or of a gateway */
/* Such as a job's tasks have: of HDFS, of its key servers, of the timeline server. */
bool token_is_for_tasks(const struct hadoop_token *token);

/* As WebHDFS takes it behind "delegation=" (Token.encodeToUrlString): letters, digits, '-' and '_'
 * only. It holds the password. The caller frees. */
char *token_url_string(const struct hadoop_token *token);

/* Of such a text, as a web service gives it (Token.decodeFromUrlString). -1: ERR_INPUT. */
int token_from_url_string(struct hadoop_token *token, const char *text, struct err *err);

/* The very same one, and no other for the same service. */
bool token_is_same(const struct hadoop_token *one, const struct hadoop_token *other);

/* Wipes and frees; {0} is fine. */
void token_finish(struct hadoop_token *token);

#endif
