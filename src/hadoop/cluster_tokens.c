#include "hadoop/cluster_tokens.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/credentials.h"
#include "net/address.h"

#define VARIABLE "HADOOP_TOKEN_FILE_LOCATION"
#define HDFS	 "hdfs://"

/* ---- the services of an address ----------------------------------------------------------- */

/* Hadoop's own clients know addresses of IPv4 alone. */
static void add_numeric(struct str_list *services, const char *host, int port)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return;
	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		struct net_address address = {.length = at->ai_addrlen};
		memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
		char *text cleanup_free = net_address_host(&address);
		str_list_add_format(services, "%s:%d", text, port);
	}
	freeaddrinfo(found);
}

/* `address`: HOST:PORT; what is none has no services. */
static void add_services(struct str_list *services, const char *address, bool use_ip)
{
	char *host cleanup_free = NULL;
	int port;

	if (net_address_split(address, &host, &port, NULL) < 0)
		return;
	if (use_ip) {
		add_numeric(services, host, port);
		return;
	}
	for (char *at = host; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	str_list_add_format(services, "%s:%d", host, port);
}

/* ---- tokens ------------------------------------------------------------------------------- */

struct search {
	const struct credentials *credentials;
	bool use_ip;
};

static void take_resource_managers(const struct search *search, struct hadoop_cluster *cluster)
{
	struct str_list services cleanup_str_list = {0};

	for (size_t i = 0; i < cluster->rm.count; i++)
		add_services(&services, cluster->rm.items[i], search->use_ip);
	const struct hadoop_token *token =
		credentials_find(search->credentials, TOKEN_KIND_RM, &services);
	if (token)
		token_copy(&cluster->rm_token, token);
}

/* WebHDFS takes tokens of the NameNode's RPC, too. NULL: there is none. The caller frees. */
static char *take_hdfs(const struct search *search, const char *fs, const struct str_list *rpc,
		       const struct str_list *webhdfs)
{
	static const char *const kinds[] = {TOKEN_KIND_HDFS, TOKEN_KIND_SWEBHDFS,
					    TOKEN_KIND_WEBHDFS};
	struct str_list services cleanup_str_list = {0};
	const char *authority = str_starts_with(fs, HDFS) ? fs + strlen(HDFS) : fs;

	add_services(&services, authority, search->use_ip);
	str_list_add_format(&services, "ha-hdfs:%s", authority);
	str_list_add_format(&services, "ha-swebhdfs:%s", authority);
	str_list_add_format(&services, "ha-webhdfs:%s", authority);
	for (size_t i = 0; i < rpc->count; i++)
		add_services(&services, rpc->items[i], search->use_ip);
	for (size_t i = 0; i < webhdfs->count; i++) {
		const char *address = strstr(webhdfs->items[i], "://");
		if (address)
			add_services(&services, address + strlen("://"), search->use_ip);
	}
	for (size_t i = 0; i < array_length(kinds); i++) {
		const struct hadoop_token *token =
			credentials_find(search->credentials, kinds[i], &services);
		if (token)
			return token_url_string(token);
	}
	return NULL;
}

int hadoop_cluster_take_tokens(struct hadoop_cluster *cluster, struct hadoop_site *site,
			       struct err *err)
{
	const char *path = getenv(VARIABLE);
	const char *use_ip = hadoop_site_get(site, "hadoop.security.token.service.use_ip");
	struct credentials credentials cleanup_credentials = {0};
	struct err flaw cleanup_err = {0};

	if (!cluster->require_sasl || !path || !*path)
		return 0;
	if (credentials_read_file(path, &credentials, &flaw) < 0)
		return err_set(err, ERR_CONFIG,
			       VARIABLE ": %s; unset it to go by your Kerberos ticket",
			       err_message(&flaw));
	const struct search search = {&credentials, !str_equal_nocase(use_ip, "false")};
	const struct str_list none = {0};
	take_resource_managers(&search, cluster);
	/* A gateway knows its own tokens, and none of a NameNode. */
	struct hdfs_access *hdfs = &cluster->hdfs;
	if (hdfs->fs)
		hdfs->delegation =
			take_hdfs(&search, hdfs->http_fs ? "" : hdfs->fs,
				  hdfs->http_fs ? &none : &hdfs->name_nodes, &hdfs->webhdfs);
	for (size_t i = 0; i < hdfs->other_count; i++)
		hdfs->others[i].delegation =
			take_hdfs(&search, hdfs->others[i].fs, &none, &hdfs->others[i].webhdfs);
	return 0;
}
