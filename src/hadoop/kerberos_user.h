/* Whose token or ticket the ResourceManager is shown, as the cluster calls that user. */
#ifndef TONY_HADOOP_KERBEROS_USER_H
#define TONY_HADOOP_KERBEROS_USER_H

#include "base/err.h"
#include "base/str.h"
#include "hadoop/site.h"

/* Both are owned. */
struct kerberos_user {
	char *name;	 /* NULL: the cluster does not use Kerberos, or there is neither of them */
	char *principal; /* of the ticket that is to prove it; NULL: a token does */
};
void kerberos_user_finish(struct kerberos_user *user);
#define cleanup_kerberos_user __attribute__((cleanup(kerberos_user_finish)))

/* The owner of the token in HADOOP_TOKEN_FILE_LOCATION that is for one of `rm`, "host:port", comes
 * before the ticket's, as tokens do on the wire. Neither: the first call says so better.
 * ERR_CONFIG: hadoop.security.auth_to_local gives no name, or the file cannot be read. */
int hadoop_kerberos_user(struct hadoop_site *site, const struct str_list *rm,
			 struct kerberos_user *user, struct err *err);

#endif
