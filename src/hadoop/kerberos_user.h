/* Whose ticket this is, as the cluster calls that user. */
#ifndef TONY_HADOOP_KERBEROS_USER_H
#define TONY_HADOOP_KERBEROS_USER_H

#include "base/err.h"
#include "hadoop/site.h"

/* *user: NULL where the cluster does not use Kerberos, and where there is no ticket: the first call
 * says so better. ERR_CONFIG: hadoop.security.auth_to_local gives no name. The caller frees. */
int hadoop_kerberos_user(struct hadoop_site *site, char **user, struct err *err);

#endif
