/*
 * The portal: all jobs, those that go on and those that have ended, for browsers and programs. This
 * process knows who asks, and what the index says (index.h); what one job says comes from a reader
 * (readers.h), and what is new is found by the indexer (indexer.h): children of it.
 */
#ifndef TONY_PORTAL_PORTAL_H
#define TONY_PORTAL_PORTAL_H

#include "base/err.h"
#include "base/str.h"
#include "net/tls_identity.h"
#include "portal/indexer.h"
#include "portal/reader.h"

struct portal_options {
	const char *listen; /* HOST:PORT */
	const char *token;  /* of who may see all */
	const char *folder; /* of its own: where it is asked for links (link_socket.h), and keeps
			     * the key of its sessions (session_key.h) */
	const char *user;   /* whose portal it is */
	/* By which browsers may call it, beside numeric addresses and the machine's own name. A
	 * proxy may pass on any name. */
	const struct str_list *names;
	bool shares_origin; /* with the pages of jobs' programs */
	/* The header in which a proxy at one of `proxies` (numeric addresses) names its user; NULL:
	 * none does. */
	const char *auth_header;
	const struct str_list *proxies;
	/* The users (uids, as text), beside root, who are believed where a proxy's address is one
	 * of this machine, which all its users have. */
	const struct str_list *proxy_users;
	struct scheduler_negotiator *negotiator; /* knows users' tickets; NULL: nobody does */
	const char *administrators; /* an ACL (base/acl.h) of its users who see all; NULL: none */
	const struct tls_identity_files *https; /* NULL: it speaks plain HTTP */
	struct indexer indexer;
	struct reader_setup reader; /* without its token, starter and TLS */
	const char *tensorboard;    /* the program */
	/* It listens at this address: `url`, and a link that opens it. */
	void (*ready)(const char *address, const char *url, const char *link);
};

/* Until SIGTERM or SIGINT. */
int portal_run(const struct portal_options *options, struct err *err);

#endif
