#include "hadoop/spnego.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/cluster.h"
#include "hadoop/gssapi.h"
#include "net/http_client.h"

struct spnego {
	const struct gssapi *library; /* NULL: not loaded */
	char *principal, *keytab;
	struct gssapi_credential *credential; /* NULL: not asked for */
};

/* The caller frees. */
static char *service_of(const struct gssapi *library, const char *host)
{
	char *realm cleanup_free = gssapi_host_realm(library, host);
	char *service = mem_printf("HTTP/%s%s%s", host, realm ? "@" : "", realm ? realm : "");

	for (char *at = service + strlen("HTTP/"); *at && *at != '@'; at++)
		*at = (char)tolower((unsigned char)*at);
	return service;
}

static void *begin(void *data, const char *host, struct err *err)
{
	struct spnego *spnego = data;

	if (!spnego->library)
		spnego->library = gssapi_load(err);
	if (!spnego->library)
		return NULL;
	if (!spnego->credential)
		spnego->credential = gssapi_credential_find(spnego->library, spnego->principal,
							    spnego->keytab, err);
	if (!spnego->credential)
		return NULL;
	char *service cleanup_free = service_of(spnego->library, host);
	return gssapi_context_create(spnego->credential, service, err);
}

static int step(void *exchange, const void *token, size_t length, struct str *out, bool *complete,
		struct err *err)
{
	return gssapi_context_step(exchange, token, length, out, complete, err);
}

static void end(void *exchange)
{
	gssapi_context_destroy(exchange);
}

static void forget(void *data)
{
	struct spnego *spnego = data;

	gssapi_credential_release(spnego->credential);
	free(spnego->principal);
	free(spnego->keytab);
	free(spnego);
}

int spnego_explain(const struct http_site *site, struct err *err)
{
	if (!err || err->kind != ERR_DENIED || site->negotiator || site->headers)
		return -1;
	return err_set(err, ERR_DENIED, "%s; " SPNEGO_WEB_REMEDY, err_message(err));
}

struct http_negotiator *spnego_create(const struct gssapi *library, const char *principal,
				      const char *keytab, const char *remedy)
{
	static const struct http_mechanism mechanism = {
		.begin = begin,
		.step = step,
		.end = end,
		.forget = forget,
		.cookie = "hadoop.auth",
		.name = "Kerberos",
	};
	struct spnego *spnego = mem_alloc(sizeof(*spnego));

	*spnego = (struct spnego){
		.library = library,
		.principal = mem_strdup(principal),
		.keytab = mem_strdup(keytab),
	};
	return http_negotiator_create(&mechanism, spnego, remedy);
}

struct http_negotiator *spnego_create_for_yarn(const struct hadoop_cluster *cluster)
{
	return cluster->web_asks_proof
		       ? spnego_create(NULL, cluster->principal, cluster->keytab, SPNEGO_WEB_REMEDY)
		       : NULL;
}
