/* Reads tony-site.xml for `tony portal`. */
#ifndef TONY_CLIENT_PORTAL_SITE_H
#define TONY_CLIENT_PORTAL_SITE_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "history/retain.h"
#include "net/tls_identity.h"

struct portal_site {
	char *listen; /* HOST:PORT of tony.https.port or tony.http.port; NULL: they say nothing */
	struct tls_identity_files https;    /* tony.https.keystore.*; without a certificate: none */
	char *keystore, *password;	    /* of it */
	struct history_retention retention; /* as prune_read_site() */
	int64_t retain_interval_ms;	    /* tony.history.purger-interval-ms */
	struct str_list proxies;	    /* tony.portal.trusted-proxies */
	struct str_list proxy_users;	    /* tony.portal.proxy-users */
	char *user_header;		    /* tony.portal.user-header */
	char *administrators;		    /* tony.admin.acl; NULL: none */
	char *login_keytab;		    /* tony.keytab.location; NULL: none */
	char *keytab;			    /* tony.portal.kerberos.keytab; NULL: none */
};
void portal_site_finish(struct portal_site *site);
#define cleanup_portal_site __attribute__((cleanup(portal_site_finish)))

/* Answers that a user has given already. */
struct portal_site_question {
	bool has_listen;      /* so that no port is read */
	bool has_certificate; /* so that no keystore is */
	bool is_running;      /* the portal, which is only looked for */
};
/* Warns of keys of TonY's portal that this one has no use for. ERR_CONFIG: a value is bad. */
int portal_site_read(const struct portal_site_question *asked, struct portal_site *site,
		     struct err *err);

#endif
