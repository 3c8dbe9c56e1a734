#include "hadoop/rm_web.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "hadoop/site.h"
#include "hadoop/spnego.h"
#include "hadoop/token_file.h"
#include "net/http_client.h"
#include "net/http_url.h"
#include "net/tls.h"

struct rm_web {
	const struct str_list *addresses; /* "http://host:port" each, or https */
	struct tls_context *tls;
	struct http_negotiator *negotiator; /* NULL: no ticket is needed */
	char *headers;			    /* that have a token in them; NULL: there is none */
	int64_t timeout_ms;
	size_t first; /* the address to ask first: it answered last */
};

/* A token of the file that HADOOP_TOKEN_FILE_LOCATION names, as a line of a request: as secret as a
 * password, so that no plain http carries it. NULL: there is none. */
static int find_token(const struct hadoop_cluster *cluster, char **headers, struct err *err)
{
	static const char *const kind = TOKEN_KIND_RM;
	struct hadoop_token token cleanup_token = {0};

	if (!net_url_is_https(cluster->rm_web.items[0]))
		return 0;
	if (token_file_find(&kind, 1, &cluster->token_services, &token, err) < 0)
		return -1;
	if (!token.kind)
		return 0;
	char *text = token_url_string(&token);
	*headers = mem_printf("X-Hadoop-Delegation-Token: %s\r\n", text);
	explicit_bzero(text, strlen(text));
	free(text);
	return 0;
}

/* Over https a token proves enough: the server has a certificate. */
static int find_proof(struct rm_web *web, const struct hadoop_cluster *cluster, struct err *err)
{
	if (!cluster->web_asks_proof)
		return 0;
	if (find_token(cluster, &web->headers, err) < 0)
		return -1;
	if (!web->headers)
		web->negotiator = spnego_create_for_yarn(cluster);
	return 0;
}

struct rm_web *rm_web_open(const struct hadoop_cluster *cluster, int64_t timeout_ms,
			   struct err *err)
{
	if (cluster->rm_web.count == 0) {
		err_set(err, ERR_CONFIG, "yarn.resourcemanager.webapp.address is not known");
		return NULL;
	}
	struct rm_web *web = mem_alloc(sizeof(*web));
	*web = (struct rm_web){.addresses = &cluster->rm_web, .timeout_ms = timeout_ms};
	if (webhdfs_tls_create(cluster->rm_web.items[0], cluster->hdfs.authorities, &web->tls,
			       err) == 0 &&
	    find_proof(web, cluster, err) == 0)
		return web;
	rm_web_close(web);
	return NULL;
}

void rm_web_close(struct rm_web *web)
{
	if (!web)
		return;
	tls_context_destroy(web->tls);
	http_negotiator_destroy(web->negotiator);
	if (web->headers)
		explicit_bzero(web->headers, strlen(web->headers));
	free(web->headers);
	free(web);
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
			.headers = web->headers,
		};
		if (err)
			err_finish(err);
		str_truncate(body, 0);
		result = http_get(&site, path, web->timeout_ms, RM_WEB_CAP, NULL, body, err);
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
