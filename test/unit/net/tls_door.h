/* TLS in front of a server that has none: what comes in is handed on to an address, and back. Runs
 * in a thread of its own, with an authority and a certificate that are made for it. */
#ifndef TONY_TEST_NET_TLS_DOOR_H
#define TONY_TEST_NET_TLS_DOOR_H

#include <stdbool.h>

struct tls_door;

struct tls_door_options {
	const char *names;	 /* NULL: "IP:127.0.0.1,DNS:localhost" */
	bool is_expired;	 /* the certificate is */
	bool is_cut_off;	 /* connections end without TLS's word for it */
	bool wants_certificates; /* of its clients, too */
	int newest;		 /* version of TLS; 0: any */
};

/* `options`: NULL for none. */
struct tls_door *tls_door_open(const char *target, const struct tls_door_options *options);
void tls_door_close(struct tls_door *door); /* NULL is fine */

const char *tls_door_address(const struct tls_door *door);   /* "127.0.0.1:4711" */
const char *tls_door_authority(const struct tls_door *door); /* PEM */

#endif
