/*
 * SPNEGO, as Hadoop's web servers want it: Negotiate (http_negotiate.h) by Kerberos, and the cookie
 * hadoop.auth that stands for it afterwards. Tokens are Kerberos's own (RFC 4121), as those of
 * Hadoop's Java clients are, without the choice of a mechanism around them (RFC 4178).
 *
 * The service is HTTP/HOST, in small letters, of the host that the client was configured with. No
 * redirect leads to another one: http_client.h follows none.
 *
 * Hadoop's Java client is less strict: to a server that does not ask for Negotiate it tells the
 * user's name instead (PseudoAuthenticator). When it does negotiate, it wants the server's token,
 * too.
 */
#ifndef TONY_HADOOP_SPNEGO_H
#define TONY_HADOOP_SPNEGO_H

#include "net/http_negotiate.h"

struct gssapi;
struct hadoop_cluster;
struct http_site;

/* For the servers of YARN, and for those of WebHDFS and HttpFS. */
#define SPNEGO_WEB_REMEDY                                                                          \
	"hadoop.http.authentication.type in this machine's core-site.xml must be the servers'"
#define SPNEGO_HDFS_REMEDY                                                                         \
	"hadoop.security.authentication in this machine's core-site.xml must be the servers'"

/* After a failed question to a web server of YARN: adds the remedy where that server asks who the
 * user is, and was not to be told. Returns -1. */
int spnego_explain(const struct http_site *site, struct err *err);

/* `library`: NULL: gssapi_load()'s, when a server asks for it. `principal`, `keytab`: as
 * gssapi_credential_find() takes them, which is asked then, once. `remedy` is borrowed. */
struct http_negotiator *spnego_create(const struct gssapi *library, const char *principal,
				      const char *keytab, const char *remedy);
/* For the web servers of YARN, which all want the same. NULL: they ask nobody who they are. */
struct http_negotiator *spnego_create_for_yarn(const struct hadoop_cluster *cluster);

#endif
