/* Remedies for what MIT Kerberos says of a failure. */
#ifndef TONY_HADOOP_GSSAPI_REMEDY_H
#define TONY_HADOOP_GSSAPI_REMEDY_H

/* `text`: as gss_display_status() has it. NULL: none is known. */
const char *gssapi_remedy(const char *text);

#endif
