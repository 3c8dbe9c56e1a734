/* Principals of Hadoop's servers: "rm/host.example.com@REALM". A server names its own; which ones
 * it may have, the configuration says, as in org.apache.hadoop.security.SaslRpcClient. */
#ifndef TONY_HADOOP_PRINCIPAL_H
#define TONY_HADOOP_PRINCIPAL_H

#include <stdbool.h>

#include "base/err.h"
#include "hadoop/sasl.h"

/* The principal to ask for, of what the server says: "rm" and "host.example.com". Without a realm
 * it is of the host's, or the machine's default one. NULL: ERR_DENIED, not a server that it may be.
 * The caller frees. */
char *principal_choose(const struct sasl_peer *peer, const char *protocol, const char *server_id,
		       struct err *err);
/* The same once the realm is known; `principal` is whole. */
int principal_check(const struct sasl_peer *peer, const char *principal, struct err *err);

/* Hadoop's glob: "*", "?", "[a-z]", "[^a]", "{nn,dn}", and a backslash before what stands for
 * itself. */
bool principal_matches(const char *pattern, const char *principal);

#endif
