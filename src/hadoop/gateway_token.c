#include "hadoop/gateway_token.h"

#include <string.h>

#include "base/mem.h"
#include "hadoop/spnego.h"
#include "hadoop/token.h"
#include "hadoop/webhdfs.h"
#include "net/http_client.h"
#include "net/tls.h"

#define TIMEOUT_MS 60000
#define ANSWER_CAP (1u << 20) /* bytes */

static void append_target(const struct gateway_question *asks,
			  const struct webhdfs_question *question, struct str *target)
{
	if (asks->kms_path)
		str_append_format(target, "%s/v1/?op=GETDELEGATIONTOKEN", asks->kms_path);
	else
		webhdfs_target(target, &(struct webhdfs_options){0}, question);
	webhdfs_target_add(target, "renewer", asks->renewer);
	if (asks->user)
		webhdfs_target_add(target, "doAs", asks->user);
}

static int ask(const struct http_site *site, const struct webhdfs_question *question,
	       const struct gateway_question *asks, struct hadoop_token *token, struct err *err)
{
	struct str target cleanup_str = {0};
	struct str body cleanup_str_secret = {0}; /* it has the token in it */
	int status = 0;

	append_target(asks, question, &target);
	const int64_t patience_ms = asks->patience_ms > 0 ? asks->patience_ms : TIMEOUT_MS;
	if (http_get(site, str_text(&target), patience_ms, ANSWER_CAP, &status, &body, err) < 0)
		return err_wrap(err, "%s: GETDELEGATIONTOKEN", question->server);
	if (asks->kms_path && status == 404)
		return err_set(err, ERR_NOT_FOUND, "%s: there is no key management server at %s",
			       question->server, asks->kms_path);
	if (webhdfs_judge(question, status, str_text(&body), body.length, err) != WEBHDFS_DONE)
		return -1;
	return webhdfs_answer_token(question, str_text(&body), body.length, token, err);
}

static int ask_server(const struct gateway_question *question, const char *server,
		      struct http_negotiator *negotiator, struct hadoop_token *token,
		      struct err *err)
{
	const struct webhdfs_question asked = {WEBHDFS_GETDELEGATIONTOKEN, server, "/"};
	struct net_url url cleanup_net_url = {0};
	struct tls_context *tls = NULL;

	if (webhdfs_url_parse(server, &url, err) < 0 ||
	    webhdfs_tls_create(server, question->authorities, &tls, err) < 0)
		return -1;
	const struct http_site site = {url.address, tls, negotiator};
	int result = ask(&site, &asked, question, token, err);
	tls_context_destroy(tls);
	return result;
}

int gateway_token_get(const struct gateway_question *question, struct hadoop_token *token,
		      struct err *err)
{
	struct http_negotiator *negotiator = spnego_create(question->library, question->principal,
							   question->keytab, SPNEGO_HDFS_REMEDY);
	int result = -1;

	for (size_t i = 0; i < question->urls->count && result < 0; i++) {
		if (err)
			err_finish(err);
		result = ask_server(question, question->urls->items[i], negotiator, token, err);
	}
	http_negotiator_destroy(negotiator);
	return result;
}
