/*
 * The certificate with which the portal speaks HTTPS, out of files that are watched: those who
 * renew it (Let's Encrypt every 60 days) need not start the portal anew.
 */
#ifndef TONY_PORTAL_CERTIFICATE_H
#define TONY_PORTAL_CERTIFICATE_H

#include "base/err.h"
#include "net/tls_identity.h"

struct event_base;
struct tls_context;
struct portal_certificate;

/* `files` outlive it; they are looked at every 5 s. `address`: HOST:PORT, to which links lead. */
struct portal_certificate *portal_certificate_open(struct event_base *base,
						   const struct tls_identity_files *files,
						   const char *address, struct err *err);
void portal_certificate_close(struct portal_certificate *certificate); /* NULL is fine */

/* For servers; it is the same for as long as the certificate is open. */
struct tls_context *portal_certificate_tls(const struct portal_certificate *certificate);

#endif
