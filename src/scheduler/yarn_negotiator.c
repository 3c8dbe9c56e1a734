/* Users of the cluster, by the tickets that they show in a browser. */
#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/gssapi_acceptor.h"
#include "hadoop/kerberos_user.h"
#include "scheduler/yarn_client.h"

struct negotiator {
	struct scheduler_negotiator base;
	struct gssapi_acceptor *acceptor;
	struct hadoop_site *site; /* NULL: none says what users are called */
	char *realm;
};

static char *take(struct scheduler_negotiator *base, const struct str *token,
		  const struct str *channel, struct str *answer, struct err *err)
{
	struct negotiator *negotiator = (struct negotiator *)base;
	char *principal cleanup_free =
		gssapi_acceptor_take(negotiator->acceptor, token, channel, answer, err);

	return principal ? hadoop_user_of_principal(negotiator->site, negotiator->realm, principal,
						    err)
			 : NULL;
}

static void close_negotiator(struct scheduler_negotiator *base)
{
	struct negotiator *negotiator = (struct negotiator *)base;

	gssapi_acceptor_destroy(negotiator->acceptor);
	hadoop_site_destroy(negotiator->site);
	free(negotiator->realm);
	free(negotiator);
}

/* A configuration that cannot be read may have rules by which users have other names. */
static int load_site(struct negotiator *negotiator, struct err *err)
{
	const struct hadoop_site_files files = {0};
	const char *directory = getenv("HADOOP_CONF_DIR");

	if (!(directory && *directory) && !hadoop_site_has_yarn())
		return 0;
	negotiator->site = hadoop_site_load(&files, err);
	return negotiator->site ? 0 : -1;
}

struct scheduler_negotiator *yarn_open_negotiator(const char *keytab, struct err *err)
{
	const struct gssapi *gssapi = gssapi_load(err);

	if (!gssapi)
		return NULL;
	struct negotiator *negotiator = mem_alloc(sizeof(*negotiator));
	negotiator->base = (struct scheduler_negotiator){.take = take, .close = close_negotiator};
	negotiator->realm = gssapi_default_realm(gssapi);
	negotiator->acceptor = gssapi_acceptor_create(gssapi, keytab, err);
	if (negotiator->acceptor && load_site(negotiator, err) == 0)
		return &negotiator->base;
	close_negotiator(&negotiator->base);
	return NULL;
}
