/* Users of the cluster, by the tickets that they show in a browser. */
#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/gssapi_acceptor.h"
#include "hadoop/kerberos_user.h"
#include "scheduler/yarn_client.h"

struct scheduler_negotiator {
	struct gssapi_acceptor *acceptor;
	struct hadoop_site *site; /* NULL: none says what users are called */
	char *realm;
};

struct scheduler_negotiator *yarn_open_negotiator(const char *keytab, struct err *err)
{
	const struct gssapi *gssapi = gssapi_load(err);
	const struct hadoop_site_files files = {0};
	struct gssapi_acceptor *acceptor =
		gssapi ? gssapi_acceptor_create(gssapi, keytab, err) : NULL;

	if (!acceptor)
		return NULL;
	struct scheduler_negotiator *negotiator = mem_alloc(sizeof(*negotiator));
	negotiator->acceptor = acceptor;
	negotiator->site = hadoop_site_load(&files, NULL);
	negotiator->realm = gssapi_default_realm(gssapi);
	return negotiator;
}

char *yarn_negotiate(struct scheduler_negotiator *negotiator, const void *token, size_t length,
		     struct str *answer, struct err *err)
{
	char *principal cleanup_free =
		gssapi_acceptor_take(negotiator->acceptor, token, length, answer, err);

	return principal ? hadoop_user_of_principal(negotiator->site, negotiator->realm, principal,
						    err)
			 : NULL;
}

void yarn_close_negotiator(struct scheduler_negotiator *negotiator)
{
	if (!negotiator)
		return;
	gssapi_acceptor_destroy(negotiator->acceptor);
	hadoop_site_destroy(negotiator->site);
	free(negotiator->realm);
	free(negotiator);
}
