/* Remedies for what MIT Kerberos says of a failure. */
#ifndef TONY_HADOOP_GSSAPI_REMEDY_H
#define TONY_HADOOP_GSSAPI_REMEDY_H

#include "base/err.h"

/* Sets `err` to that, `text`: as gss_display_status() has it. ERR_UNREACHABLE: no key distribution
 * centre answers; ERR_EXPIRED: there is no ticket, or none any more; else ERR_DENIED. Returns -1.
 */
int gssapi_err(struct err *err, const char *text);
/* The same where the keys of that file were to get a ticket; `principal` NULL: of its first key.
 * ERR_CONFIG: it has no key of the principal. */
int gssapi_keytab_err(struct err *err, const char *keytab, const char *principal, const char *text);

#endif
