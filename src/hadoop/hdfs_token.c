#include "hadoop/hdfs_token.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "hadoop/credentials.h"
#include "hadoop/token_file.h"

struct hdfs_token {
	SLIST_ENTRY(hdfs_token) link;
	char *name;
	const char *kind;
	struct str_list services, name_nodes;
	bool is_encrypted, tokens_in_clear;
	struct str_list gateways, web;
	char *gateway_path, *authorities;
	struct hadoop_token token;
	char *url;
	unsigned generation;
	bool is_own;  /* got by this process */
	bool is_left; /* to a job */
};

static SLIST_HEAD(, hdfs_token) all = SLIST_HEAD_INITIALIZER(all);

static const struct hdfs_token_client *client;

void hdfs_tokens_get_by(const struct hdfs_token_client *by)
{
	client = by;
}

/* ---- one token ---------------------------------------------------------------------------- */

static void forget(struct hdfs_token *token)
{
	token_finish(&token->token);
	if (token->url)
		explicit_bzero(token->url, strlen(token->url));
	free(mem_steal(&token->url));
}

static void destroy(struct hdfs_token *token)
{
	forget(token);
	str_list_finish(&token->services);
	str_list_finish(&token->name_nodes);
	str_list_finish(&token->gateways);
	str_list_finish(&token->web);
	free(token->gateway_path);
	free(token->authorities);
	free(token->name);
	free(token);
}

/* Takes `found`. */
static void keep(struct hdfs_token *token, struct hadoop_token *found, bool is_own)
{
	forget(token);
	token->token = *found;
	*found = (struct hadoop_token){0};
	token->url = token_url_string(&token->token);
	token->is_own = is_own;
	token->is_left = false;
	token->generation++;
}

/* ---- from the file ------------------------------------------------------------------------ */

/* A request has all of its token in it, the password, too: over plain http goes one that was issued
 * for that, and where the cluster has decided for no secrecy any other. */
static int find_in_file(const struct hdfs_token *token, struct hadoop_token *found, struct err *err)
{
	static const char *const kinds[] = {TOKEN_KIND_WEBHDFS, TOKEN_KIND_HDFS,
					    TOKEN_KIND_SWEBHDFS};
	size_t first = token->is_encrypted ? 1 : 0;
	size_t count = token->is_encrypted ? 2 : token->tokens_in_clear ? 3 : 1;

	if (token->kind)
		return token_file_find(&token->kind, 1, &token->services, found, err);
	return token_file_find(kinds + first, count, &token->services, found, err);
}

/* ---- by a ticket ------------------------------------------------------------------------- */

static struct hdfs_token_server server_of(const struct hdfs_token *token)
{
	return (struct hdfs_token_server){
		.name = token->name,
		.kind = token->kind,
		.services = &token->services,
		.name_nodes = &token->name_nodes,
		.is_encrypted = token->is_encrypted,
		.tokens_in_clear = token->tokens_in_clear,
		.gateways = token->gateways.count > 0 ? &token->gateways : NULL,
		.gateway_path = token->gateway_path,
		.web = &token->web,
		.authorities = token->authorities,
	};
}

static void cancel(const struct hdfs_token *token)
{
	const struct hdfs_token_server server = server_of(token);

	if (client && token->is_own && !token->is_left)
		client->cancel(&server, &token->token);
}

/* One of the ResourceManager's would be given to tasks. */
static int check_kind(const struct hdfs_token *token, struct hadoop_token *found, struct err *err)
{
	if (token->kind ? str_equal(found->kind, token->kind) : token_is_of_hdfs(found))
		return 0;
	token_finish(found);
	return err_set(err, ERR_DENIED, "%s gives a token of another kind", token->name);
}

static int ask(const struct hdfs_token *token, int64_t patience_ms, struct hadoop_token *found,
	       struct err *err)
{
	if (!token->is_encrypted && !token->tokens_in_clear)
		return err_set(err, ERR_CONFIG,
			       "%s: %s is not encrypted, and hadoop.rpc.protection wants privacy: "
			       "whoever reads the network could use the token%s",
			       token->name, token->kind ? "it" : "WebHDFS",
			       token->kind ? "" : "; set dfs.http.policy to HTTPS_ONLY");
	if (!client)
		return err_set(err, ERR_DENIED,
			       "%s wants a delegation token, and HADOOP_TOKEN_FILE_LOCATION has "
			       "none for it; name it in tony.other.namenodes at submission",
			       token->name);
	const struct hdfs_token_server server = server_of(token);
	if (client->ask(&server, patience_ms, found, err) < 0)
		return -1;
	return check_kind(token, found, err);
}

/* ---- all ---------------------------------------------------------------------------------- */

static bool is_same_list(const struct str_list *one, const struct str_list *other)
{
	if (one->count != other->count)
		return false;
	for (size_t i = 0; i < one->count; i++)
		if (!str_equal(one->items[i], other->items[i]))
			return false;
	return true;
}

/* Two clusters may call their file systems the same. */
static struct hdfs_token *find(const struct hdfs_token_server *server)
{
	struct hdfs_token *token;

	SLIST_FOREACH(token, &all, link)
	if (str_equal(token->name, server->name) && token->is_encrypted == server->is_encrypted &&
	    token->tokens_in_clear == server->tokens_in_clear &&
	    !server->gateways == (token->gateways.count == 0) &&
	    is_same_list(&token->services, server->services) &&
	    is_same_list(&token->name_nodes, server->name_nodes) &&
	    is_same_list(&token->web, server->web))
		return token;
	return NULL;
}

struct hdfs_token *hdfs_token_of(const struct hdfs_token_server *server)
{
	struct hdfs_token *token = find(server);

	if (token)
		return token;
	token = mem_alloc(sizeof(*token));
	token->name = mem_strdup(server->name);
	token->kind = server->kind;
	token->is_encrypted = server->is_encrypted;
	token->tokens_in_clear = server->tokens_in_clear;
	str_list_copy(&token->services, server->services);
	str_list_copy(&token->name_nodes, server->name_nodes);
	str_list_copy(&token->web, server->web);
	if (server->gateways)
		str_list_copy(&token->gateways, server->gateways);
	token->gateway_path = mem_strdup(server->gateway_path);
	token->authorities = mem_strdup(server->authorities);
	SLIST_INSERT_HEAD(&all, token, link);
	return token;
}

int hdfs_token_get(struct hdfs_token *token, int64_t patience_ms, struct err *err)
{
	const struct hdfs_token_server server = server_of(token);
	struct hadoop_token found cleanup_token = {0};

	if (token->url)
		return 0;
	if ((client && client->check(&server, err) < 0) || find_in_file(token, &found, err) < 0)
		return -1;
	bool is_own = !found.kind;
	if (is_own && ask(token, patience_ms, &found, err) < 0)
		return -1;
	keep(token, &found, is_own);
	return 0;
}

const char *hdfs_token_url(const struct hdfs_token *token)
{
	return token->url;
}

unsigned hdfs_token_generation(const struct hdfs_token *token)
{
	return token->generation;
}

int hdfs_token_replace(struct hdfs_token *token, unsigned generation, struct err *err)
{
	struct hadoop_token found cleanup_token = {0};
	struct err why cleanup_err = {0};

	/* By another client of this process, in the meantime. */
	if (token->generation != generation)
		return 0;
	if (find_in_file(token, &found, err) < 0)
		return -1;
	if (found.kind && !token_is_same(&found, &token->token)) {
		keep(token, &found, false);
		return 0;
	}
	token_finish(&found);
	if (!client)
		return err_set(err, ERR_EXPIRED,
			       "the job's delegation token has ended: run `tony renew JOB`, which "
			       "gets others, and again before those end");
	if (ask(token, HDFS_TOKEN_PATIENCE_MS, &found, &why) == 0) {
		keep(token, &found, true);
		return 0;
	}
	if (!token->is_own)
		return token_file_say_ended(&token->token, err);
	return err_set(err, ERR_EXPIRED, "no new delegation token: %s", err_message(&why));
}

void hdfs_tokens_add(struct credentials *credentials, bool *are_own)
{
	struct hdfs_token *token;

	*are_own = true;
	SLIST_FOREACH(token, &all, link)
	{
		if (!token->url)
			continue;
		credentials_add_token(credentials, token->token.service, &token->token);
		*are_own = *are_own && token->is_own;
	}
}

void hdfs_tokens_leave(void)
{
	struct hdfs_token *token;

	SLIST_FOREACH(token, &all, link)
	token->is_left = true;
}

void hdfs_tokens_finish(void)
{
	while (!SLIST_EMPTY(&all)) {
		struct hdfs_token *token = SLIST_FIRST(&all);
		SLIST_REMOVE_HEAD(&all, link);
		cancel(token);
		destroy(token);
	}
	client = NULL;
}
