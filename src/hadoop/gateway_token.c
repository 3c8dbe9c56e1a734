#include "hadoop/gateway_token.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/spnego.h"
#include "hadoop/token.h"
#include "hadoop/webhdfs.h"
#include "net/http_client.h"
#include "net/tls.h"

#define TIMEOUT_MS 60000
#define ANSWER_CAP (1u << 20) /* bytes */

/* One of the servers. */
struct server {
	const char *text; /* its URL as it is written */
	struct net_url url;
	struct tls_context *tls; /* NULL: plain http */
};

static void close_server(struct server *server)
{
	tls_context_destroy(server->tls);
	net_url_finish(&server->url);
}
#define cleanup_server __attribute__((cleanup(close_server)))

static int open_server(const struct gateway_question *question, const char *text,
		       struct server *server, struct err *err)
{
	*server = (struct server){.text = text};
	return webhdfs_url_parse(text, &server->url, err) < 0 ||
			       webhdfs_tls_create(text, question->authorities, &server->tls, err) <
				       0
		       ? -1
		       : 0;
}

static int64_t patience(const struct gateway_question *question)
{
	return question->patience_ms > 0 ? question->patience_ms : TIMEOUT_MS;
}

/* Behind a path of the URL's own. */
static void append_target(struct str *target, const struct gateway_question *question,
			  const struct server *server, const char *operation)
{
	size_t length = strlen(server->url.target);

	while (length > 0 && server->url.target[length - 1] == '/')
		length--;
	str_append_bytes(target, server->url.target, length);
	str_append_format(target, "%s/?op=%s", question->path, operation);
}

static int ask(const struct gateway_question *asks, const struct server *server,
	       struct http_negotiator *negotiator, struct hadoop_token *token, struct err *err)
{
	const struct webhdfs_question question = {WEBHDFS_GETDELEGATIONTOKEN, server->text, "/"};
	const struct http_site site = {server->url.address, server->tls, negotiator};
	const char *operation = webhdfs_op_name(question.op);
	struct str target cleanup_str = {0};
	struct str body cleanup_str_secret = {0}; /* it has the token in it */
	int status = 0;

	append_target(&target, asks, server, operation);
	webhdfs_target_add(&target, "renewer", asks->renewer);
	if (asks->user)
		webhdfs_target_add(&target, "doAs", asks->user);
	if (http_get(&site, str_text(&target), patience(asks), ANSWER_CAP, &status, &body, err) < 0)
		return err_wrap(err, "%s: %s", server->text, operation);
	if (status == 404)
		return err_set(err, ERR_NOT_FOUND, "%s gives no delegation tokens at %s",
			       server->text, asks->path);
	if (webhdfs_judge(&question, status, str_text(&body), body.length, err) != WEBHDFS_DONE)
		return -1;
	return webhdfs_answer_token(&question, str_text(&body), body.length, token, err);
}

int gateway_token_get(const struct gateway_question *question, struct hadoop_token *token,
		      struct err *err)
{
	struct http_negotiator *negotiator = spnego_create(question->library, question->principal,
							   question->keytab, SPNEGO_HDFS_REMEDY);
	int result = -1;

	for (size_t i = 0; i < question->urls->count && result < 0; i++) {
		struct server server cleanup_server;
		if (err)
			err_finish(err);
		result = open_server(question, question->urls->items[i], &server, err);
		if (result == 0)
			result = ask(question, &server, negotiator, token, err);
	}
	http_negotiator_destroy(negotiator);
	return result;
}

static bool cancel(const struct gateway_question *asks, const struct server *server,
		   const char *token)
{
	struct str target cleanup_str_secret = {0};
	struct http_question question = {.method = "PUT", .timeout_ms = patience(asks)};
	int status = 0;

	append_target(&target, asks, server, "CANCELDELEGATIONTOKEN");
	webhdfs_target_add(&target, "token", token);
	question.path = str_text(&target);
	return http_ask(server->url.address, server->tls, &question, &status, NULL) == 0 &&
	       status == 200;
}

void gateway_token_cancel(const struct gateway_question *question, const struct hadoop_token *token)
{
	char *text = token_url_string(token);
	bool is_done = false;

	for (size_t i = 0; i < question->urls->count && !is_done; i++) {
		struct server server cleanup_server;
		is_done = open_server(question, question->urls->items[i], &server, NULL) == 0 &&
			  cancel(question, &server, text);
	}
	mem_free_secret(text);
}
