#include "hadoop/cluster_tokens.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/mem.h"
#include "hadoop/sasl.h"
#include "net/address.h"

/* ---- the services of an address ----------------------------------------------------------- */

/* A service that is there already says nothing new. With more than the cap the job's description
 * could not be read. */
static void add_service(struct str_list *services, char *service)
{
	if (services->count < FIELD_LIST_CAP && !str_list_has(services, service))
		str_list_take(services, service);
	else
		free(service);
}

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
		add_service(services, mem_printf("%s:%d", text, port));
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
	add_service(services, mem_printf("%s:%d", host, port));
}

/* ---- of the servers ----------------------------------------------------------------------- */

/* WebHDFS takes tokens of the NameNode's RPC, too. */
static void add_file_system(struct str_list *services, const char *fs, const struct str_list *rpc,
			    bool use_ip)
{
	const char *authority = hdfs_access_authority(fs);

	add_services(services, authority, use_ip);
	for (size_t i = 0; i < rpc->count; i++)
		add_services(services, rpc->items[i], use_ip);
	add_service(services, mem_printf("ha-hdfs:%s", authority));
	add_service(services, mem_printf("ha-swebhdfs:%s", authority));
	add_service(services, mem_printf("ha-webhdfs:%s", authority));
}

bool hadoop_token_uses_ip(struct hadoop_site *site)
{
	return !str_equal_nocase(hadoop_site_get(site, "hadoop.security.token.service.use_ip"),
				 "false");
}

void hadoop_token_services(bool use_ip, const struct str_list *addresses, struct str_list *services)
{
	for (size_t i = 0; i < addresses->count; i++) {
		const char *scheme = strstr(addresses->items[i], "://");
		add_services(services, scheme ? scheme + strlen("://") : addresses->items[i],
			     use_ip);
	}
}

void hadoop_cluster_find_tokens(struct hadoop_cluster *cluster, struct hadoop_site *site)
{
	bool use_ip = hadoop_token_uses_ip(site);
	struct hdfs_access *hdfs = &cluster->hdfs;

	if (!cluster->require_sasl)
		return;
	hadoop_token_services(use_ip, &cluster->rm, &cluster->token_services);
	hdfs->needs_token = true;
	hdfs->tokens_in_clear = cluster->protections != SASL_PRIVACY;
	/* A gateway has tokens of its own, and takes none of a NameNode. */
	if (hdfs->http_fs) {
		hdfs->behind = hdfs->name_nodes;
		hdfs->name_nodes = (struct str_list){0};
		add_file_system(&hdfs->behind_services, hdfs->fs, &hdfs->behind, use_ip);
	} else if (hdfs->fs) {
		add_file_system(&hdfs->token_services, hdfs->fs, &hdfs->name_nodes, use_ip);
	}
	hadoop_token_services(use_ip, &hdfs->webhdfs, &hdfs->token_services);
	for (size_t i = 0; i < hdfs->other_count; i++) {
		struct hdfs_other *other = &hdfs->others[i];
		add_file_system(&other->token_services, other->fs, &other->name_nodes, use_ip);
		hadoop_token_services(use_ip, &other->webhdfs, &other->token_services);
	}
}
