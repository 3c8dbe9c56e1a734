#include "hadoop/hdfs_ticket.h"

#include <string.h>

#include "base/mem.h"
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
	int (*find_cluster)(struct err *err);
	char *user, *user_principal, *user_keytab;
	char *noted_principal, *noted_keytab; /* a job's */
	char *principal, *principal_pattern, *renewer;
	unsigned protections;
	int64_t connect_timeout_ms;
	bool is_by_token; /* one of the file says who the user is */
	/* Servers of HDFS that this machine's configuration names: "host:port" of RPC, and URLs. */
	struct str_list known;
	bool uses_ip;
	char *kms; /* hadoop.security.key.provider.path; NULL: there is none */
} own;

const char *hdfs_ticket_renewer(void)
{
	return own.renewer ? own.renewer : "";
}

/* The NameNodes of a nameservice have one token, by whose name Hadoop's clients look for it. */
static char *service_of(const struct hdfs_token_server *server)
{
	if (server->name_nodes->count > 1 || server->services->count == 0)
		return mem_printf("ha-hdfs:%s", hdfs_access_authority(server->name));
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

	request.renewer = (char *)hdfs_ticket_renewer();
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
			      server->name);
}

static struct gateway_question gateway_question(const struct hdfs_token_server *server,
						int64_t patience_ms)
{
	return (struct gateway_question){
		.urls = server->gateways,
		.path = server->gateway_path,
		.authorities = server->authorities,
		.principal = own.user_principal,
		.keytab = own.user_keytab,
		.renewer = hdfs_ticket_renewer(),
		.patience_ms = patience_ms,
		.user = hadoop_proxy_user(),
	};
}

static int ask_gateway(const struct hdfs_token_server *server, int64_t patience_ms,
		       struct hadoop_token *token, struct err *err)
{
	const struct gateway_question question = gateway_question(server, patience_ms);

	if (gateway_token_get(&question, token, err) < 0)
		return -1;
	if (server->services->count > 0)
		mem_replace(&token->service, mem_strdup(server->services->items[0]));
	return 0;
}

/* A NameNode takes the token itself as the proof, and no ticket is needed. */
static void cancel_at_name_nodes(const struct hdfs_token_server *server,
				 const struct hadoop_token *token)
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

/* Nobody waits for long for what ends by itself in a day. */
static void cancel(const struct hdfs_token_server *server, const struct hadoop_token *token)
{
	const struct gateway_question question = gateway_question(server, HDFS_TOKEN_PATIENCE_MS);

	if (server->gateways)
		gateway_token_cancel(&question, token);
	else
		cancel_at_name_nodes(server, token);
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

/* hdfs-default.xml has a pattern of the NameNode's principal that takes all. */
void hdfs_ticket_use(const struct hadoop_cluster *cluster, struct hadoop_site *site)
{
	const char *pattern = hadoop_site_get(site, "dfs.namenode.kerberos.principal.pattern");
	const char *kms = hadoop_site_get(site, "hadoop.security.key.provider.path");

	mem_replace(&own.user, mem_strdup(cluster->user));
	mem_replace(&own.user_principal, mem_strdup(cluster->principal));
	mem_replace(&own.user_keytab, mem_strdup(cluster->keytab));
	mem_replace(&own.principal,
		    mem_strdup(hadoop_site_get(site, "dfs.namenode.kerberos.principal")));
	mem_replace(&own.principal_pattern, mem_strdup(pattern ? pattern : "*"));
	mem_replace(&own.renewer, find_renewer(cluster));
	mem_replace(&own.kms, kms && str_starts_with(kms, "kms://") ? mem_strdup(kms) : NULL);
	own.uses_ip = hadoop_token_uses_ip(site);
	own.protections = cluster->protections;
	own.connect_timeout_ms = cluster->connect_timeout_ms;
	own.is_by_token = cluster->user && !cluster->principal && token_file_path();
	hdfs_ticket_trust(&cluster->hdfs);
}

void hdfs_ticket_note_login(const struct hadoop_cluster *cluster)
{
	bool has_keytab = cluster->keytab;

	mem_replace(&own.noted_principal, has_keytab ? mem_strdup(cluster->principal) : NULL);
	mem_replace(&own.noted_keytab, mem_strdup(cluster->keytab));
}

struct kerberos_login hdfs_ticket_noted_login(void)
{
	return (struct kerberos_login){own.noted_principal, own.noted_keytab};
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

/* ---- who is asked ------------------------------------------------------------------------- */

static int check_known(const struct hdfs_token_server *server, const struct str_list *addresses,
		       struct err *err)
{
	for (size_t i = 0; i < addresses->count; i++)
		if (!str_list_has(&own.known, addresses->items[i]))
			return err_set(err, ERR_DENIED,
				       "%s: the job's description says that it is at %s, and this "
				       "machine's site files do not: no token is shown there",
				       server->name, addresses->items[i]);
	return 0;
}

static int check(const struct hdfs_token_server *server, struct err *err)
{
	if (!own.user && own.find_cluster(err) < 0)
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
			       server->name, own.user);
	return server->gateways ? ask_gateway(server, patience_ms, token, err)
				: ask_name_nodes(server, patience_ms, token, err);
}

/* ---- other services ----------------------------------------------------------------------- */

/* For a job's programs: `server` has all but what is alike of all. Hadoop's clients find a token by
 * the address of a server, and that of several key servers, since 3.2, by the name. */
static int get_token(struct hdfs_token_server server, int64_t patience_ms, struct err *err)
{
	static const struct str_list none;
	struct str_list addresses cleanup_str_list = {0}, services cleanup_str_list = {0};

	hadoop_token_services(own.uses_ip, server.gateways, &addresses);
	if (addresses.count > 1 && str_equal(server.kind, TOKEN_KIND_KMS))
		str_list_add(&services, server.name);
	str_list_copy(&services, &addresses);
	str_list_add(&services, server.name);
	server.services = &services;
	server.name_nodes = server.web = &none;
	server.is_encrypted = webhdfs_are_https(server.gateways);
	server.tokens_in_clear = own.protections != SASL_PRIVACY;
	return hdfs_token_get(hdfs_token_of(&server), patience_ms, err);
}

int hdfs_ticket_get_kms(const char *authorities, struct err *err)
{
	struct kms kms;

	if (!own.kms)
		return 0;
	int result = kms_parse(own.kms, &kms, err);
	if (result == 0)
		result = get_token(
			(struct hdfs_token_server){
				.name = own.kms,
				.kind = TOKEN_KIND_KMS,
				.gateways = &kms.urls,
				.gateway_path = kms.path,
				.authorities = authorities,
			},
			HDFS_TOKEN_PATIENCE_MS, err);
	kms_finish(&kms);
	return result < 0 ? err_wrap(err, "%s", own.kms) : 0;
}

int hdfs_ticket_get_timeline(const struct hadoop_cluster *cluster, struct err *err)
{
	const struct str_list urls = {(char *[]){cluster->timeline}, 1};

	if (!cluster->timeline)
		return 0;
	return get_token(
		(struct hdfs_token_server){
			.name = cluster->timeline,
			.kind = TOKEN_KIND_TIMELINE,
			.gateways = &urls,
			.gateway_path = "/ws/v1/timeline",
			.authorities = cluster->hdfs.authorities,
		},
		cluster->needs_timeline ? 0 : HDFS_TOKEN_PATIENCE_MS, err);
}

/* ------------------------------------------------------------------------------------------- */

static const struct hdfs_token_client by_ticket = {check, ask, cancel};

void hdfs_tokens_by_ticket(int (*find_cluster)(struct err *err))
{
	own.find_cluster = find_cluster;
	hdfs_tokens_get_by(&by_ticket);
}
