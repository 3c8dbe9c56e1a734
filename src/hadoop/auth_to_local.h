/* The name that a principal of Kerberos has on the cluster, by hadoop.security.auth_to_local, as
 * org.apache.hadoop.security.authentication.util.KerberosName finds it. Its expressions are Java's;
 * here they are POSIX's extended ones, with \d: the same for what such rules say. */
#ifndef TONY_HADOOP_AUTH_TO_LOCAL_H
#define TONY_HADOOP_AUTH_TO_LOCAL_H

#include "base/err.h"

#define AUTH_TO_LOCAL_CAP (1 << 20) /* bytes of the rules */

/* `principal`: "alice@REALM" or "rm/host@REALM". NULL: ERR_CONFIG, a rule cannot be read, or none
 * gives a name. The caller frees. */
char *auth_to_local(const char *rules, const char *default_realm, const char *principal,
		    struct err *err);

#endif
