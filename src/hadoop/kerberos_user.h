/* Whose token or ticket the ResourceManager is shown, as the cluster calls that user. */
#ifndef TONY_HADOOP_KERBEROS_USER_H
#define TONY_HADOOP_KERBEROS_USER_H

#include "base/err.h"
#include "base/str.h"
#include "hadoop/site.h"

/* All is owned. */
struct kerberos_user {
	char *name; /* the proxy user's where there is one; NULL: the cluster does not use Kerberos
		     */
	char *principal; /* of the ticket that is to prove it; NULL: a token does */
	char *realm;	 /* whose users have names without it; NULL: it is not known */
};
void kerberos_user_finish(struct kerberos_user *user);
#define cleanup_kerberos_user __attribute__((cleanup(kerberos_user_finish)))

/* Whose tickets they are to be; both may be NULL, see gssapi_credential_acquire(). */
struct kerberos_login {
	const char *principal, *keytab;
};

/* As the cluster calls that principal, by hadoop.security.auth_to_local; `site` NULL: by its
 * default rule, "alice" of "alice@REALM". The caller frees. NULL: ERR_CONFIG, it has no name. */
char *hadoop_user_of_principal(struct hadoop_site *site, const char *realm, const char *principal,
			       struct err *err);

/* Of HADOOP_PROXY_USER: the user for whom this one acts, where a ticket proves that it is this one.
 * NULL: it acts for itself. */
const char *hadoop_proxy_user(void);

/* The owner of the token in HADOOP_TOKEN_FILE_LOCATION that is for one of `rm`, "host:port", comes
 * before the ticket's, as tokens do on the wire; without either it is the owner of any token there,
 * whom file systems may know. ERR_CONFIG: hadoop.security.auth_to_local gives no name, or the file
 * cannot be read; else of gssapi_err(): there is neither ticket nor token. */
int hadoop_kerberos_user(struct hadoop_site *site, const struct str_list *rm,
			 const struct kerberos_login *login, struct kerberos_user *user,
			 struct err *err);

#endif
