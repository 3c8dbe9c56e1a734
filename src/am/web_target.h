/* A server that is none of tony's, which a job names by its URL. */
#ifndef TONY_AM_WEB_TARGET_H
#define TONY_AM_WEB_TARGET_H

#include "base/err.h"
#include "net/tls.h"
#include "net/url.h"

struct web_target {
	struct net_url url;
	struct tls_context *tls; /* NULL: http */
	char *authorization;	 /* a secret; NULL: none */
};
#define cleanup_web_target __attribute__((cleanup(web_target_close)))

/* `authorities`, `remedy`: as tls_context_create_client() has them. A user and password of the URL
 * become its authorization. The description may be of another version, which takes other URLs:
 * then `target` is to be closed all the same. */
int web_target_open(struct web_target *target, const char *url, const char *authorities,
		    const char *remedy, struct err *err);
void web_target_close(struct web_target *target);

/* Tells it something: `body`, JSON, is sent by POST to `path`, and again while that may help. It
 * waits for that. The outcome, a phrase with the server's address and nothing else of its URL,
 * which the caller frees. */
char *web_target_post(const struct web_target *target, const char *path, const char *body,
		      bool *failed);

#endif
