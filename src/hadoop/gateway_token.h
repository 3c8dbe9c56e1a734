/* The delegation token of an HttpFS gateway, or of a key management server (kms.h), by the Kerberos
 * ticket of the client's user (spnego.h): neither takes one of a NameNode's. */
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
	const char *authorities;      /* PEM, for https; NULL: those that the machine trusts */
	const struct gssapi *library; /* as for spnego_create(), as are: */
	const char *principal, *keytab;
	const char *renewer;
	const char *kms_path; /* "/kms": these are key management servers; NULL: gateways */
	int64_t patience_ms;  /* with each server; 0: a minute */
	const char *user;     /* for whom a key management server is asked; NULL: for oneself */
};

/* Asks one after the other until one gives `token` ({0}), whose service is what the gateway says,
 * mostly "". ERR_DENIED: no ticket, or the gateway does not take it. */
int gateway_token_get(const struct gateway_question *question, struct hadoop_token *token,
		      struct err *err);

#endif
