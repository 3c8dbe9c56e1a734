/*
 * The certificate and the key of a server of TLS, out of the files in which administrators keep
 * them: PEM; PKCS #12.
 */
#ifndef TONY_NET_TLS_IDENTITY_H
#define TONY_NET_TLS_IDENTITY_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define TLS_IDENTITY_CAP (1u << 20) /* bytes of a file */

struct tls_identity_files {
	const char *certificate; /* PEM, with those that lead to an authority behind it; PKCS #12 */
	const char *key;	 /* PEM; NULL: it is in the file of the certificate */
	/* Of PKCS #12, or of the key in PEM; or the file that has it in its first line. NULL: there
	 * is none. */
	const char *password, *password_file;
};

struct tls_identity {
	EVP_PKEY *key;
	X509 *certificate;
	STACK_OF(X509) * chain;	    /* the certificates that lead to an authority */
	int64_t begins_ms, ends_ms; /* the certificate's time, wall time */
};

/* ERR_CONFIG: a file is none of these, the key is another certificate's, or every user of this
 * machine can read the key, or the password. */
int tls_identity_read(const struct tls_identity_files *files, struct tls_identity *identity,
		      struct err *err);
/* Clients that ask for this host, a name or a numeric address without brackets, take it. */
bool tls_identity_is_for(const struct tls_identity *identity, const char *host);
void tls_identity_finish(struct tls_identity *identity);
#define cleanup_tls_identity __attribute__((cleanup(tls_identity_finish)))

#endif
