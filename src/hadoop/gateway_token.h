/*
 * The delegation token of a service that gives it over HTTP, by the Kerberos ticket of the client's
 * user (spnego.h): an HttpFS gateway, or a service beside HDFS. Their side is Hadoop's
 * DelegationTokenAuthenticationHandler.
 */
#ifndef TONY_HADOOP_GATEWAY_TOKEN_H
#define TONY_HADOOP_GATEWAY_TOKEN_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct gssapi;
struct hadoop_token;

/* All is borrowed. */
struct gateway_question {
	const struct str_list *urls;  /* "https://host:port", each of the same service */
	const char *path;	      /* behind each of them: "/webhdfs/v1" */
	const char *authorities;      /* PEM, for https; NULL: those that the machine trusts */
	const struct gssapi *library; /* as for spnego_create(), as are: */
	const char *principal, *keytab;
	const char *renewer;
	int64_t patience_ms; /* with each server; 0: a minute */
	const char *user;    /* for whom it is; NULL: for oneself */
};

/* Asks one after the other until one gives `token` ({0}), whose service is what the server says,
 * mostly "". ERR_DENIED: no ticket, or the server does not take it; ERR_NOT_FOUND: it gives no
 * tokens at that path. */
int gateway_token_get(const struct gateway_question *question, struct hadoop_token *token,
		      struct err *err);

/* Has the service forget a token, if it can be reached. The token itself is the proof. */
void gateway_token_cancel(const struct gateway_question *question,
			  const struct hadoop_token *token);

#endif
