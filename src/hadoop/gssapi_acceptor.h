/*
 * The service's end of GSSAPI (gssapi.h): who shows a ticket for this machine's HTTP/HOST, as
 * browsers and curl do it, by Kerberos itself or within SPNEGO (RFC 4178). No key distribution
 * centre is asked.
 */
#ifndef TONY_HADOOP_GSSAPI_ACCEPTOR_H
#define TONY_HADOOP_GSSAPI_ACCEPTOR_H

#include "hadoop/gssapi.h"

struct gssapi_acceptor;

/* `keytab`: the file with the keys of HTTP/HOST, of one or several hosts. NULL: ERR_CONFIG. */
struct gssapi_acceptor *gssapi_acceptor_create(const struct gssapi *gssapi, const char *keytab,
					       struct err *err);
void gssapi_acceptor_destroy(struct gssapi_acceptor *acceptor); /* NULL is fine */

/* Takes the client's token, the only one, and appends what it is to be sent. The principal
 * ("alice@REALM"), for the caller to free. NULL: ERR_DENIED. `channel`: what this end knows of the
 * connection (tls_end_point()): a token whose client has bound it to another one is refused. */
char *gssapi_acceptor_take(struct gssapi_acceptor *acceptor, const struct str *token,
			   const struct str *channel, struct str *answer, struct err *err);

#endif
