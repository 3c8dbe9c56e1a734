#include "hadoop/rm_web.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "hadoop/site.h"
#include "hadoop/spnego.h"
#include "hadoop/webhdfs_client.h"
#include "net/http_client.h"
#include "net/http_url.h"
#include "net/tls.h"

struct rm_web {
	const struct str_list *addresses; /* "http://host:port" each, or https */
	struct tls_context *tls;
	struct http_negotiator *negotiator; /* NULL: the cluster's web servers ask for no proof */
	int64_t timeout_ms;
	size_t first; /* the address to ask first: it answered last */
};

struct rm_web *rm_web_open(const struct hadoop_cluster *cluster, int64_t timeout_ms,
			   struct err *err)
{
	struct tls_context *tls = NULL;

	if (cluster->rm_web.count == 0) {
		err_set(err, ERR_CONFIG, "yarn.resourcemanager.webapp.address is not known");
		return NULL;
	}
	if (net_url_is_https(cluster->rm_web.items[0])) {
		tls = tls_context_create_client(cluster->hdfs.authorities, WEBHDFS_TRUST_REMEDY,
						err);
		if (!tls)
			return NULL;
	}
	struct rm_web *web = mem_alloc(sizeof(*web));
	*web = (struct rm_web){
		.addresses = &cluster->rm_web,
		.tls = tls,
		.timeout_ms = timeout_ms,
		.negotiator = cluster->web_asks_proof
				      ? spnego_create(NULL, cluster->principal, cluster->keytab,
						      SPNEGO_WEB_REMEDY)
				      : NULL,
	};
	return web;
}

void rm_web_close(struct rm_web *web)
{
	if (!web)
		return;
	tls_context_destroy(web->tls);
	http_negotiator_destroy(web->negotiator);
	free(web);
}

static bool gather(void *data, const char *bytes, size_t length)
{
	struct str *body = data;

	str_append_bytes(body, bytes, length);
	return body->length <= RM_WEB_CAP;
}

/* The first answer of those that are asked. */
static int ask(struct rm_web *web, const char *path, struct str *body, struct err *err)
{
	int result = -1;

	for (size_t i = 0; i < web->addresses->count && result < 0; i++) {
		size_t turn = (web->first + i) % web->addresses->count;
		const char *whole = web->addresses->items[turn];
		const char *scheme = strstr(whole, "://");
		const struct http_site site = {
			.address = scheme ? scheme + 3 : whole,
			.tls = web->tls,
			.negotiator = web->negotiator,
		};
		if (err)
			err_finish(err);
		str_truncate(body, 0);
		result = http_stream(&site, path, web->timeout_ms, gather, body, err);
		if (result == 0)
			web->first = turn;
		else
			spnego_explain(&site, err);
	}
	return result;
}

int rm_web_conf(struct rm_web *web, const char *key, char **value, struct err *err)
{
	struct str path cleanup_str = {0};
	struct str body cleanup_str = {0};
	struct err why cleanup_err = {0};

	*value = NULL;
	str_append(&path, "/conf?name=");
	http_url_encode(&path, key, "");
	if (ask(web, str_text(&path), &body, &why) < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &why);
	struct hadoop_site *site cleanup_hadoop_site =
		hadoop_site_parse(str_text(&body), body.length, "/conf", err);
	if (!site)
		return -1;
	*value = mem_strdup(hadoop_site_get(site, key));
	return 0;
}

json_t *rm_web_ask(struct rm_web *web, const char *path, struct err *err)
{
	struct str body cleanup_str = {0};

	return ask(web, path, &body, err) < 0 ? NULL
					      : json_parse(str_text(&body), body.length, err);
}
