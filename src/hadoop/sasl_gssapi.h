/* GSSAPI in SASL (RFC 4752), the client's side: proves who holds a Kerberos ticket. */
#ifndef TONY_HADOOP_SASL_GSSAPI_H
#define TONY_HADOOP_SASL_GSSAPI_H

#include "hadoop/gssapi.h"
#include "hadoop/sasl.h"

extern const struct sasl_mechanism sasl_kerberos; /* the row: loads the library when it is used */

/* The mechanism with the library. NULL: `err`. */
struct sasl *sasl_gssapi_create(const struct gssapi *gssapi, const struct sasl_identity *identity,
				unsigned protections, struct err *err);

#endif
