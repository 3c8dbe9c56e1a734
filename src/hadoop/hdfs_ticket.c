#include "hadoop/hdfs_ticket.h"

#include <string.h>

#include "base/mem.h"
#include "hadoop/cluster_site.h"
#include "hadoop/cluster_tokens.h"
#include "hadoop/gateway_token.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/kerberos_user.h"
#include "hadoop/kms.h"
#include "hadoop/methods.h"
#include "hadoop/sasl_gssapi.h"
#include "hadoop/token.h"
#include "hadoop/token_file.h"
#include "net/address.h"

#define HOST "_HOST"

enum {
	CALL_TIMEOUT_MS = 60000,
	RETRY_MS = 1000,
	MAX_WAIT_MS = 20000,
};

static struct {
	char *user, *user_principal, *user_keytab;
	char *principal, *principal_pattern, *renewer;
	unsigned protections;
	int64_t connect_timeout_ms;
	bool is_by_token; /* one of the file says who the user is */
	/* Servers of HDFS that this machine's configuration names: "host:port" of RPC, and URLs. */
	struct str_list known;
	char *kms; /* hadoop.security.key.provider.path; NULL: there is none */
	struct str_list kms_services;
} own;

/* The NameNodes of a nameservice have one token, by whose name Hadoop's clients look for it. */
static char *service_of(const struct hdfs_token_server *server)
{
	if (server->name_nodes->count > 1 || server->services->count == 0)
		return mem_printf("ha-hdfs:%s", hdfs_access_authority(server->fs));
	return mem_strdup(server->services->items[0]);
}

static int ask_name_nodes(const struct hdfs_token_server *server, int64_t patience_ms,
			  struct hadoop_token *token, struct err *err)
{
	Hadoop__GetDelegationTokenRequestProto request =
		HADOOP__GET_DELEGATION_TOKEN_REQUEST_PROTO__INIT;
	ProtobufCMessage *response = NULL;
	const struct rpc_options options = {
		.service = &NAME_NODE,
		.addresses = *server->name_nodes,
		.user = own.user,
		.user_principal = own.user_principal,
		.user_keytab = own.user_keytab,
		.effective_user = hadoop_proxy_user(),
		.protections = own.protections,
		.require_sasl = true,
		.kerberos = &sasl_kerberos,
		.principal = own.principal,
		.principal_pattern = own.principal_pattern,
		.connect_timeout_ms = patience_ms ? patience_ms : own.connect_timeout_ms,
		.call_timeout_ms = patience_ms ? patience_ms : CALL_TIMEOUT_MS,
		.retry_interval_ms = RETRY_MS,
		.max_wait_ms = patience_ms ? 0 : MAX_WAIT_MS,
	};

	request.renewer = own.renewer ? own.renewer : "";
	if (rpc_call_wait(&options, &NN_GET_DELEGATION_TOKEN, &request.base, &response, NULL, err) <
	    0)
		return -1;
	const Hadoop__TokenProto *made =
		((Hadoop__GetDelegationTokenResponseProto *)response)->token;
	if (made) {
		token_from_proto(token, made);
		mem_replace(&token->service, service_of(server));
	}
	protobuf_c_message_free_unpacked(response, NULL);
	return made ? 0
		    : err_set(err, ERR_DENIED,
			      "%s gives no delegation token: does its NameNode use Kerberos?",
			      server->fs);
}

static int ask_gateway(const struct hdfs_token_server *server, struct hadoop_token *token,
		       struct err *err)
{
	const struct gateway_question question = {
		.urls = server->gateways,
		.authorities = server->authorities,
		.principal = own.user_principal,
		.keytab = own.user_keytab,
		.renewer = own.renewer ? own.renewer : "",
	};

	if (gateway_token_get(&question, token, err) < 0)
		return -1;
	if (server->services->count > 0)
		mem_replace(&token->service, mem_strdup(server->services->items[0]));
	return 0;
}

/* A NameNode takes the token itself as the proof, and no ticket is needed. Nobody waits for long
 * for what ends by itself in a day. */
static void cancel(const struct hdfs_token_server *server, const struct hadoop_token *token)
{
	Hadoop__CancelDelegationTokenRequestProto request =
		HADOOP__CANCEL_DELEGATION_TOKEN_REQUEST_PROTO__INIT;
	Hadoop__TokenProto proto = HADOOP__TOKEN_PROTO__INIT;
	ProtobufCMessage *response = NULL;
	const struct rpc_options options = {
		.service = &NAME_NODE,
		.addresses = *server->name_nodes,
		.user = own.user,
		.token = token,
		.protections = own.protections,
		.require_sasl = true,
		.connect_timeout_ms = HDFS_TOKEN_PATIENCE_MS,
		.call_timeout_ms = HDFS_TOKEN_PATIENCE_MS,
		.retry_interval_ms = RETRY_MS,
	};

	if (server->name_nodes->count == 0)
		return;
	proto.identifier = (ProtobufCBinaryData){token->identifier_length, token->identifier};
	proto.password = (ProtobufCBinaryData){token->password_length, token->password};
	proto.kind = token->kind;
	proto.service = token->service;
	request.token = &proto;
	if (rpc_call_wait(&options, &NN_CANCEL_DELEGATION_TOKEN, &request.base, &response, NULL,
			  NULL) == 0)
		protobuf_c_message_free_unpacked(response, NULL);
}

/* ---- what the configuration says ---------------------------------------------------------- */

/* As a principal, of whichever ResourceManager: the NameNode notes the short name. */
static char *find_renewer(const struct hadoop_cluster *cluster)
{
	const char *principal = cluster->rm_principal;
	const char *host = principal ? strstr(principal, HOST) : NULL;
	char *rm cleanup_free = NULL;
	int port;

	if (!host || cluster->rm.count == 0 ||
	    net_address_split(cluster->rm.items[0], &rm, &port, NULL) < 0)
		return mem_strdup(principal);
	return mem_printf("%.*s%s%s", (int)(host - principal), principal, rm, host + strlen(HOST));
}

static void note_kms(struct hadoop_site *site)
{
	const char *uri = hadoop_site_get(site, "hadoop.security.key.provider.path");
	struct kms kms;

	mem_replace(&own.kms, uri && str_starts_with(uri, "kms://") ? mem_strdup(uri) : NULL);
	str_list_finish(&own.kms_services);
	if (!own.kms || kms_parse(own.kms, &kms, NULL) < 0)
		return;
	hadoop_token_services(site, &kms.addresses, &own.kms_services);
	kms_finish(&kms);
}

/* hdfs-default.xml has a pattern of the NameNode's principal that takes all. */
void hdfs_ticket_use(const struct hadoop_cluster *cluster, struct hadoop_site *site)
{
	const char *pattern = hadoop_site_get(site, "dfs.namenode.kerberos.principal.pattern");

	mem_replace(&own.user, mem_strdup(cluster->user));
	mem_replace(&own.user_principal, mem_strdup(cluster->principal));
	mem_replace(&own.user_keytab, mem_strdup(cluster->keytab));
	mem_replace(&own.principal,
		    mem_strdup(hadoop_site_get(site, "dfs.namenode.kerberos.principal")));
	mem_replace(&own.principal_pattern, mem_strdup(pattern ? pattern : "*"));
	mem_replace(&own.renewer, find_renewer(cluster));
	note_kms(site);
	own.protections = cluster->protections;
	own.connect_timeout_ms = cluster->connect_timeout_ms;
	own.is_by_token = cluster->user && !cluster->principal && token_file_path();
	hdfs_ticket_trust(&cluster->hdfs);
}

static void know(const struct str_list *addresses)
{
	for (size_t i = 0; i < addresses->count; i++)
		if (!str_list_has(&own.known, addresses->items[i]))
			str_list_add(&own.known, addresses->items[i]);
}

void hdfs_ticket_trust(const struct hdfs_access *hdfs)
{
	know(&hdfs->name_nodes);
	know(&hdfs->webhdfs);
	know(&hdfs->behind);
	for (size_t i = 0; i < hdfs->other_count; i++) {
		know(&hdfs->others[i].name_nodes);
		know(&hdfs->others[i].webhdfs);
	}
}

/* Where jobs' files are does not matter. */
static int use_site(struct err *err)
{
	struct hadoop_site *site cleanup_hadoop_site =
		hadoop_site_load(&(struct hadoop_site_files){0}, err);
	struct str_list rm cleanup_str_list = {0};
	struct kerberos_user user cleanup_kerberos_user = {0};

	if (!site || hadoop_cluster_find_rm(site, &rm, err) < 0 ||
	    hadoop_kerberos_user(site, &rm, &(struct kerberos_login){0}, &user, err) < 0)
		return -1;
	struct hadoop_cluster *cluster = hadoop_cluster_from_site(site, user.name ? user.name : "",
								  &(struct str_list){0}, "/", err);
	if (!cluster)
		return -1;
	cluster->principal = mem_steal(&user.principal);
	hdfs_ticket_use(cluster, site);
	hadoop_cluster_destroy(cluster);
	return 0;
}

/* ---- who is asked ------------------------------------------------------------------------- */

static int check_known(const struct hdfs_token_server *server, const struct str_list *addresses,
		       struct err *err)
{
	for (size_t i = 0; i < addresses->count; i++)
		if (!str_list_has(&own.known, addresses->items[i]))
			return err_set(err, ERR_DENIED,
				       "%s: the job's description says that it is at %s, and this "
				       "machine's site files do not: no token is shown there",
				       server->fs, addresses->items[i]);
	return 0;
}

static int check(const struct hdfs_token_server *server, struct err *err)
{
	if (!own.user && use_site(err) < 0)
		return -1;
	return check_known(server, server->name_nodes, err) < 0 ||
			       check_known(server, server->web, err) < 0
		       ? -1
		       : 0;
}

static int ask(const struct hdfs_token_server *server, int64_t patience_ms,
	       struct hadoop_token *token, struct err *err)
{
	/* The ticket may be of the service that hands the tokens over. */
	if (own.is_by_token)
		return err_set(err, ERR_DENIED,
			       "%s wants a delegation token, and " TOKEN_FILE_VARIABLE
			       " has none for it beside that of %s by which tony goes; add one "
			       "(hdfs dtutil get), or unset the variable to go by a ticket",
			       server->fs, own.user);
	return server->gateways ? ask_gateway(server, token, err)
				: ask_name_nodes(server, patience_ms, token, err);
}

/* ---- keys of encryption zones ------------------------------------------------------------- */

static int ask_kms(const struct kms *kms, const char *authorities, struct hadoop_token *token,
		   struct err *err)
{
	const struct gateway_question question = {
		.urls = &kms->urls,
		.authorities = authorities,
		.principal = own.user_principal,
		.keytab = own.user_keytab,
		.renewer = own.renewer ? own.renewer : "",
		.kms_path = kms->path,
		.patience_ms = HDFS_TOKEN_PATIENCE_MS,
		.user = hadoop_proxy_user(),
	};

	if (own.is_by_token)
		return err_set(err, ERR_DENIED, TOKEN_FILE_VARIABLE " has none for it");
	if (own.protections == SASL_PRIVACY && str_starts_with(kms->urls.items[0], "http://"))
		return err_set(err, ERR_CONFIG,
			       "it is not encrypted, and hadoop.rpc.protection wants privacy");
	if (gateway_token_get(&question, token, err) < 0)
		return -1;
	if (!str_equal(token->kind, TOKEN_KIND_KMS))
		return err_set(err, ERR_DENIED, "the server gives a token of another kind");
	/* Hadoop's clients look for it by the address of a server, since 3.2 by the URI first. */
	mem_replace(&token->service,
		    mem_strdup(own.kms_services.count == 1 ? own.kms_services.items[0] : kms->uri));
	return 0;
}

int hdfs_ticket_get_kms(const char *authorities, struct err *err)
{
	static const char *const kind = TOKEN_KIND_KMS;
	struct hadoop_token token cleanup_token = {0};
	struct str_list services cleanup_str_list = {0};
	struct kms kms = {0};

	if (!own.kms)
		return 0;
	str_list_copy(&services, &own.kms_services);
	str_list_add(&services, own.kms);
	int result = kms_parse(own.kms, &kms, err);
	if (result == 0 && token_file_path())
		result = token_file_find(&kind, 1, &services, &token, err);
	bool is_own = !token.kind;
	if (result == 0 && is_own)
		result = ask_kms(&kms, authorities, &token, err);
	kms_finish(&kms);
	if (result < 0)
		return err_wrap(err, "%s", own.kms);
	hdfs_token_adopt(own.kms, &token, is_own);
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static const struct hdfs_token_client by_ticket = {check, ask, cancel};

void hdfs_tokens_by_ticket(void)
{
	hdfs_tokens_get_by(&by_ticket);
}
