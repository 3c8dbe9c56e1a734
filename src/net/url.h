/* URLs of http and https, as people and servers write them. */
#ifndef TONY_NET_URL_H
#define TONY_NET_URL_H

#include <stdbool.h>

#include "base/err.h"

struct net_url {
	bool is_tls;
	char *user;    /* "name:password", decoded; NULL: none */
	char *host;    /* without brackets */
	char *address; /* "dn1:9865": the scheme's own port where the URL has none */
	char *target;  /* ASCII; starts with a slash; "" when the URL ends behind the address */
};
#define cleanup_net_url __attribute__((cleanup(net_url_finish)))

/* ERR_INPUT: no http or https URL, or one with blanks, control characters or a fragment in it; the
 * error is a phrase, and repeats nothing of the URL but its address. Letters beyond ASCII are
 * percent-encoded. */
int net_url_parse(const char *text, struct net_url *url, struct err *err);
void net_url_finish(struct net_url *url);

/* "https://host:port", without all that may be a secret. The caller frees. */
char *net_url_origin(const struct net_url *url);

/* A text that was to be a URL, as a message may show it: "***" stands for its user and password.
 * The caller frees. */
char *net_url_masked(const char *text);

/* Whether `text` begins with "https:", in any case. */
bool net_url_is_https(const char *text);

#endif
