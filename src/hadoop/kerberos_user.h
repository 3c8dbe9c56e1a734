/* Whose tokens or ticket these are, as the cluster calls that user. */
#ifndef TONY_HADOOP_KERBEROS_USER_H
#define TONY_HADOOP_KERBEROS_USER_H

#include "base/err.h"
#include "hadoop/site.h"

/* The owner of the tokens in HADOOP_TOKEN_FILE_LOCATION comes before the ticket's, as tokens do on
 * the wire. *user: NULL where the cluster does not use Kerberos, and where there is neither: the
 * first call says so better. ERR_CONFIG: hadoop.security.auth_to_local gives no name, or the file
 * cannot be read. The caller frees. */
int hadoop_kerberos_user(struct hadoop_site *site, char **user, struct err *err);

#endif
