#include "scheduler/yarn_cluster.h"

#include <errno.h>
#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "hadoop/cluster_site.h"
#include "hadoop/cluster_tokens.h"
#include "hadoop/cluster_trust.h"
#include "hadoop/hdfs_ticket.h"
#include "hadoop/id.h"
#include "hadoop/kerberos_user.h"
#include "hadoop/methods.h"
#include "hadoop/sasl_gssapi.h"
#include "hadoop/token_file.h"
#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_diagnostics.h"
#include "scheduler/yarn_store.h"
#include "store/location.h"

#define CONNECT_RETRIES	    3
#define MAX_CONNECT_RETRIES 100
#define STAGING_KEY	    "tony.yarn.staging-location"
#define PRINCIPAL_KEY	    "tony.kerberos.principal"
#define KEYTAB_KEY	    "tony.kerberos.keytab"
#define AM_LEAVES_MS	    60000 /* after it has told of the end */
#define AM_MEMORY	    512	  /* MiB, unless tony.am.memory says otherwise */

/* ---- configuration ------------------------------------------------------------------------ */

static bool is_default(const struct job *job, const char *key)
{
	const json_t *entry = json_object_get(job->config, key);
	const char *origin = json_string_value(json_object_get(entry, "origin"));

	return !origin || str_equal(origin, "default");
}

/* ---- the cluster -------------------------------------------------------------------------- */

/* Of one job, or of all. */
struct settings {
	const struct job *job; /* NULL: what `site` says */
	const struct conf *site;
};

static const char *setting(const struct settings *settings, const char *key)
{
	return settings->job ? job_config(settings->job, key)
			     : conf_text(settings->site, "%s", key);
}

/* As in TonY, so many intervals, and not a quarter of an hour as Hadoop's own clients do. */
static int64_t client_wait(const struct hadoop_cluster *cluster, const struct settings *settings)
{
	const char *text = setting(settings, "tony.application.num-client-rm-connect-retries");
	int64_t retries = CONNECT_RETRIES;

	if (text)
		str_parse_int(text, 0, MAX_CONNECT_RETRIES, &retries);
	int64_t wait_ms = retries * cluster->retry_interval_ms;
	bool is_shorter = cluster->max_wait_ms < 0 || wait_ms < cluster->max_wait_ms;
	return is_shorter ? wait_ms : cluster->max_wait_ms;
}

/* Those of the job's submit, from wherever they were read then; else those of now. */
static int find_authorities(struct hadoop_cluster *cluster, struct hadoop_site *site,
			    const struct settings *settings, struct err *err)
{
	struct hdfs_access known cleanup_hdfs_access = {0};

	if (settings->job)
		hdfs_access_read(&known, settings->job->stores, NULL);
	cluster->hdfs.authorities = mem_steal(&known.authorities);
	return cluster->hdfs.authorities
		       ? 0
		       : hadoop_cluster_trust(cluster, site, setting(settings, "tony.hdfs.ca-file"),
					      err);
}

/* *path NULL: in HDFS. */
static int find_staging(const struct settings *settings, char **path, struct err *err)
{
	const char *text = setting(settings, STAGING_KEY);
	struct store_location location cleanup_store_location = {0};

	if (!text)
		return 0;
	if (store_location_parse(text, &location, err) < 0)
		return err_wrap(err, STAGING_KEY);
	if (store_location_is_remote(&location))
		return err_set(err, ERR_CONFIG,
			       STAGING_KEY ": \"%s\" is no directory of the nodes; write "
					   "file:///PATH, or leave the key out: files then go to "
					   "the cluster's HDFS",
			       text);
	*path = mem_steal(&location.path);
	return 0;
}

static struct hadoop_site *load_site(const struct settings *settings, struct err *err)
{
	const struct hadoop_site_files files = {
		.hdfs_site = setting(settings, "tony.application.hdfs-conf-path"),
		.yarn_site = setting(settings, "tony.application.yarn-conf-path"),
	};

	return hadoop_site_load(&files, err);
}

static int add_others(struct hadoop_cluster *cluster, struct hadoop_site *site,
		      const struct settings *settings, struct err *err)
{
	const char *text = setting(settings, YARN_OTHERS_KEY);
	struct str_list urls cleanup_str_list = {0};

	str_split(&urls, text ? text : "", ',');
	if (cluster->require_sasl && hadoop_cluster_add_others(cluster, site, &urls, err) < 0)
		return err_wrap(err, YARN_OTHERS_KEY);
	return 0;
}

void yarn_cluster_site_login(const char **principal, const char **keytab)
{
	static struct conf *site;

	if (!site) {
		site = conf_create();
		conf_load_site(site, NULL);
		conf_resolve(site, true);
	}
	*principal = conf_text(site, "%s", PRINCIPAL_KEY);
	*keytab = conf_text(site, "%s", KEYTAB_KEY);
}

static bool is_readable(const char *path)
{
	return path && access(path, R_OK) == 0;
}

static int check_keytab(const char *keytab, struct err *err)
{
	if (is_readable(keytab))
		return fs_check_secret(keytab, "the keys of a user", err);
	return err_set(err, ERR_CONFIG,
		       "cannot read %s: %s; name a keytab of yours, or leave the key out to go by "
		       "your ticket",
		       keytab, strerror(errno));
}

/* A job that runs may have been submitted elsewhere, or by a ticket: then the site's keytab counts.
 * That one may be of a service, whose keys its other users cannot read: they go by tickets. */
static int find_login(const struct settings *settings, struct kerberos_login *login,
		      struct err *err)
{
	struct kerberos_login site = {0};

	yarn_cluster_site_login(&site.principal, &site.keytab);
	*login = (struct kerberos_login){
		.principal = setting(settings, PRINCIPAL_KEY),
		.keytab = setting(settings, KEYTAB_KEY),
	};
	if (settings->job && settings->job->engine && !is_readable(login->keytab)) {
		login->keytab = NULL;
		if (is_readable(site.keytab))
			*login = site;
	}
	if (login->keytab && str_equal(login->keytab, site.keytab) &&
	    access(login->keytab, R_OK) != 0 && errno == EACCES)
		*login = (struct kerberos_login){0};
	return login->keytab && check_keytab(login->keytab, err) < 0 ? err_wrap(err, KEYTAB_KEY)
								     : 0;
}

/* By the keytab of a job that this process deals with. */
static bool find_noted_user(struct hadoop_site *site, const struct str_list *rm,
			    struct kerberos_login *login, struct kerberos_user *user)
{
	const struct kerberos_login noted = hdfs_ticket_noted_login();

	if (!is_readable(noted.keytab) || check_keytab(noted.keytab, NULL) < 0 ||
	    hadoop_kerberos_user(site, rm, &noted, user, NULL) < 0)
		return false;
	*login = noted;
	return true;
}

static int find_user(const struct settings *settings, struct hadoop_site *site,
		     struct kerberos_login *login, struct kerberos_user *user, struct err *err)
{
	struct str_list rm cleanup_str_list = {0};
	struct err why cleanup_err = {0};
	const char *keytab = setting(settings, KEYTAB_KEY);

	if (find_login(settings, login, err) < 0 || hadoop_cluster_find_rm(site, &rm, err) < 0)
		return -1;
	if (hadoop_kerberos_user(site, &rm, login, user, &why) == 0 ||
	    (!settings->job && find_noted_user(site, &rm, login, user)))
		return 0;
	err_copy(err, &why);
	return keytab && !login->keytab
		       ? err_wrap(err, KEYTAB_KEY ": %s cannot be read, and by a ticket", keytab)
		       : -1;
}

static void take_user(struct hadoop_cluster *cluster, const struct kerberos_login *login,
		      struct kerberos_user *user)
{
	cluster->principal = mem_steal(&user->principal);
	cluster->realm = mem_steal(&user->realm);
	if (cluster->principal)
		cluster->keytab = mem_strdup(login->keytab);
}

static struct hadoop_cluster *find_cluster(const struct settings *settings, struct err *err)
{
	const char *gateways = setting(settings, "tony.hdfs.httpfs");
	struct str_list http_fs cleanup_str_list = {0};
	struct kerberos_user user cleanup_kerberos_user = {0};
	struct kerberos_login login;
	char *staging cleanup_free = NULL;
	struct hadoop_site *site cleanup_hadoop_site = load_site(settings, err);

	if (!site || find_staging(settings, &staging, err) < 0 ||
	    find_user(settings, site, &login, &user, err) < 0)
		return NULL;
	if (!user.name)
		user.name = hadoop_cluster_user();
	str_split(&http_fs, gateways ? gateways : "", ',');
	struct hadoop_cluster *cluster =
		hadoop_cluster_from_site(site, user.name, &http_fs, staging, err);
	if (!cluster)
		return NULL;
	take_user(cluster, &login, &user);
	cluster->client_wait_ms = client_wait(cluster, settings);
	cluster->history_dir =
		yarn_history_path(cluster, setting(settings, "tony.history.location"));
	int result = add_others(cluster, site, settings, err);
	hadoop_cluster_find_tokens(cluster, site);
	hdfs_ticket_use(cluster, site);
	if (result == 0 && yarn_check_own_place(cluster, err) == 0 &&
	    find_authorities(cluster, site, settings, err) == 0)
		return cluster;
	hadoop_cluster_destroy(cluster);
	return NULL;
}

/* Those of a job, or of tony-site.xml, which is then loaded into *conf. NULL: `err`. */
static const struct settings *find_settings(const struct job *job, struct conf **conf,
					    struct settings *settings, struct err *err)
{
	if (!job) {
		*conf = conf_create();
		if (conf_load_site(*conf, err) < 0)
			return NULL;
		conf_resolve(*conf, true);
	}
	*settings = (struct settings){job, *conf};
	return settings;
}

struct hadoop_cluster *yarn_cluster_find(const struct job *job, struct err *err)
{
	struct conf *conf cleanup_conf = NULL;
	struct settings settings;

	return find_settings(job, &conf, &settings, err) ? find_cluster(&settings, err) : NULL;
}

/* Where jobs' files are does not matter. */
int yarn_cluster_tell_user(struct err *err)
{
	struct conf *conf cleanup_conf = NULL;
	struct settings settings;
	struct kerberos_user user cleanup_kerberos_user = {0};
	struct kerberos_login login;
	struct str_list rm cleanup_str_list = {0};
	struct hadoop_site *site cleanup_hadoop_site =
		find_settings(NULL, &conf, &settings, err) ? load_site(&settings, err) : NULL;

	if (!site || hadoop_cluster_find_rm(site, &rm, err) < 0)
		return -1;
	if (!find_noted_user(site, &rm, &login, &user) &&
	    find_user(&settings, site, &login, &user, err) < 0)
		return -1;
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = hadoop_cluster_from_site(
		site, user.name ? user.name : "", &(struct str_list){0}, "/", err);
	if (!cluster)
		return -1;
	take_user(cluster, &login, &user);
	hdfs_ticket_use(cluster, site);
	return 0;
}

struct hadoop_site *yarn_cluster_site(const struct job *job, struct err *err)
{
	struct conf *conf cleanup_conf = NULL;
	struct settings settings;

	return find_settings(job, &conf, &settings, err) ? load_site(&settings, err) : NULL;
}

void yarn_cluster_adopt(struct hadoop_cluster *cluster, const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "job.json");
	struct job *job = job_read_file(path, NULL);
	struct hdfs_access known cleanup_hdfs_access = {0};

	if (job)
		hdfs_access_read(&known, job->stores, NULL);
	job_destroy(job);
	if (known.authorities)
		mem_replace(&cluster->hdfs.authorities, mem_steal(&known.authorities));
	if (known.http_fs) {
		str_list_finish(&cluster->hdfs.webhdfs);
		cluster->hdfs.webhdfs = known.webhdfs;
		known.webhdfs = (struct str_list){0};
		str_list_finish(&cluster->hdfs.token_services);
		cluster->hdfs.token_services = known.token_services;
		known.token_services = (struct str_list){0};
		cluster->hdfs.http_fs = true;
		hdfs_ticket_trust(&cluster->hdfs);
	}
}

void yarn_cluster_note_hdfs(const struct hadoop_cluster *cluster, struct job *job)
{
	if (!job->stores)
		job->stores = json_object();
	hdfs_access_write(&cluster->hdfs, job->stores);
}

void yarn_cluster_note(const struct hadoop_cluster *cluster, struct job *job)
{
	json_decref(job->engine);
	job->engine = hadoop_cluster_to_json(cluster);
	if (hadoop_cluster_has_hdfs(cluster))
		yarn_cluster_note_hdfs(cluster, job);
}

void yarn_cluster_cleanup(struct hadoop_cluster **cluster)
{
	hadoop_cluster_destroy(*cluster);
}

void yarn_message_cleanup(ProtobufCMessage **message)
{
	if (*message)
		protobuf_c_message_free_unpacked(*message, NULL);
}

/* Of a token that the ResourceManager does not take: which one it is, and what to do. */
static int name_token(const struct hadoop_token *token, const struct rpc_failure *failure,
		      struct err *err)
{
	char *why cleanup_free = mem_strdup(err_message(err));

	if (str_equal(failure->class, "InvalidToken")) {
		token_file_say_ended(token, err);
		return err_wrap(err, "%s", why);
	}
	return err_set(err, ERR_DENIED,
		       "the token %s for %s in %s (HADOOP_TOKEN_FILE_LOCATION) is refused: %s; get "
		       "tokens anew, or unset the variable to go by your Kerberos ticket",
		       token->kind, token->service, token_file_path(), why);
}

int yarn_call(const struct hadoop_cluster *cluster, const struct rpc_method *method,
	      const ProtobufCMessage *request, ProtobufCMessage **response,
	      struct rpc_failure *failure, struct err *err)
{
	static const char *const kind = TOKEN_KIND_RM;
	struct hadoop_token token cleanup_token = {0};
	struct rpc_failure unasked cleanup_rpc_failure = {0};

	failure = failure ? failure : &unasked;
	if (token_file_find(&kind, 1, &cluster->token_services, &token, err) < 0)
		return -1;
	const struct rpc_options options = {
		.service = &RM_CLIENT,
		.addresses = cluster->rm,
		.user = cluster->user,
		.user_principal = cluster->principal,
		.user_keytab = cluster->keytab,
		.effective_user = hadoop_proxy_user(),
		.token = token.kind ? &token : NULL,
		.protections = cluster->protections,
		.require_sasl = cluster->require_sasl,
		.kerberos = cluster->require_sasl ? &sasl_kerberos : NULL,
		.principal = cluster->rm_principal,
		.principal_pattern = cluster->rm_principal_pattern,
		.connect_timeout_ms = cluster->connect_timeout_ms,
		.call_timeout_ms = cluster->call_timeout_ms,
		.retry_interval_ms = cluster->retry_interval_ms,
		.max_wait_ms = cluster->client_wait_ms,
	};

	if (rpc_call_wait(&options, method, request, response, failure, err) == 0)
		return 0;
	if (!token.kind && token_file_path() && err && err->kind == ERR_EXPIRED)
		return err_wrap(err,
				"%s (HADOOP_TOKEN_FILE_LOCATION) has no " TOKEN_KIND_RM
				" for the ResourceManager, and without a ticket it is needed",
				token_file_path());
	return token.kind && err && failure->kind == RPC_DENIED && err->kind == ERR_DENIED
		       ? name_token(&token, failure, err)
		       : -1;
}

struct webhdfs_client *yarn_webhdfs(const struct hadoop_cluster *cluster, const char *url,
				    struct err *err)
{
	const struct webhdfs_options options = hdfs_access_webhdfs_of(&cluster->hdfs, url);

	return webhdfs_client_create(&options, err);
}

void yarn_webhdfs_cleanup(struct webhdfs_client **client)
{
	webhdfs_client_destroy(*client);
}

char *yarn_history_path(const struct hadoop_cluster *cluster, const char *location)
{
	struct store_location parsed cleanup_store_location = {0};

	if (!location || store_location_parse(location, &parsed, NULL) < 0 ||
	    parsed.kind == (cluster->fs ? STORE_HDFS : STORE_FILE) || parsed.kind == STORE_S3)
		return NULL;
	if (cluster->fs)
		return mem_steal(&parsed.path);
	/* A path is one of the default file system. */
	char *url cleanup_free = parsed.kind == STORE_PATH
					 ? mem_printf(HDFS_SCHEME "%s", parsed.path)
					 : store_location_url(&parsed, parsed.path);
	char *path = hdfs_access_path(&cluster->hdfs, url);
	return path ? path : hdfs_access_resolve(&cluster->hdfs, url);
}

char *yarn_path_within(const struct hadoop_cluster *cluster, const char *uri)
{
	if (!cluster->fs)
		return hdfs_access_path(&cluster->hdfs, uri);
	if (str_starts_with(uri, "file:///"))
		return mem_strdup(uri + strlen("file://"));
	return *uri == '/' ? mem_strdup(uri) : NULL;
}

char *yarn_url_within(const struct hadoop_cluster *cluster, const char *uri)
{
	char *own cleanup_free = yarn_path_within(cluster, uri);

	if (own)
		return mem_printf("%s%s", hadoop_cluster_fs(cluster), own);
	return hadoop_cluster_has_hdfs(cluster) ? hdfs_access_resolve(&cluster->hdfs, uri) : NULL;
}

char *yarn_checkpoint_name(const char *id)
{
	return mem_printf("checkpoints/%s", id);
}

char *yarn_output_name(const char *id)
{
	return mem_printf("output/%s", id);
}

char *yarn_resumed_name(const struct hadoop_cluster *cluster, const struct job *job)
{
	char *whole cleanup_free =
		job->checkpoint_dir ? yarn_path_within(cluster, job->checkpoint_dir) : NULL;
	const char *path = whole;
	char *own cleanup_free = yarn_user_path(cluster, "checkpoints/");

	if (!path || !str_starts_with(path, own))
		return NULL;
	path += strlen(own);
	char *first cleanup_free = mem_strndup(path, strcspn(path, "/"));
	return yarn_is_id(first) && !str_equal(first, job->id)
		       ? mem_printf(YARN_RESUMED "/%s.%s", job->id, first)
		       : NULL;
}

/* ---- applications ------------------------------------------------------------------------- */

Hadoop__GetApplicationReportResponseProto *yarn_report(const struct hadoop_cluster *cluster,
						       const char *id, struct err *err)
{
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__GetApplicationReportRequestProto request =
		HADOOP__GET_APPLICATION_REPORT_REQUEST_PROTO__INIT;
	struct rpc_failure failure cleanup_rpc_failure = {0};
	ProtobufCMessage *response = NULL;

	request.application_id = &application;
	if (hadoop_application_id_parse(id, &application, err) < 0)
		return NULL;
	if (yarn_call(cluster, &RM_GET_APPLICATION_REPORT, &request.base, &response, &failure,
		      err) < 0) {
		if (err && str_equal(failure.class, "ApplicationNotFoundException"))
			err->kind = ERR_NOT_FOUND;
		return NULL;
	}
	Hadoop__GetApplicationReportResponseProto *report =
		(Hadoop__GetApplicationReportResponseProto *)response;
	if (report->application_report)
		return report;
	protobuf_c_message_free_unpacked(response, NULL);
	err_set(err, ERR_INPUT, "the ResourceManager reports nothing about %s", id);
	return NULL;
}

Hadoop__GetApplicationAttemptReportResponseProto *
yarn_attempt_report(const struct hadoop_cluster *cluster, const char *id, int attempt)
{
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__ApplicationAttemptIdProto asked = HADOOP__APPLICATION_ATTEMPT_ID_PROTO__INIT;
	Hadoop__GetApplicationAttemptReportRequestProto request =
		HADOOP__GET_APPLICATION_ATTEMPT_REPORT_REQUEST_PROTO__INIT;
	ProtobufCMessage *response = NULL;

	if (hadoop_application_id_parse(id, &application, NULL) < 0)
		return NULL;
	asked.application_id = &application;
	asked.has_attemptid = true;
	asked.attemptid = attempt;
	request.application_attempt_id = &asked;
	if (yarn_call(cluster, &RM_GET_APPLICATION_ATTEMPT_REPORT, &request.base, &response, NULL,
		      NULL) < 0)
		return NULL;
	Hadoop__GetApplicationAttemptReportResponseProto *report =
		(Hadoop__GetApplicationAttemptReportResponseProto *)response;
	if (report->application_attempt_report)
		return report;
	protobuf_c_message_free_unpacked(response, NULL);
	return NULL;
}

bool yarn_is_id(const char *id)
{
	Hadoop__ApplicationIdProto parsed = HADOOP__APPLICATION_ID_PROTO__INIT;

	return hadoop_application_id_parse(id, &parsed, NULL) == 0;
}

struct history_days yarn_id_days(const char *id)
{
	Hadoop__ApplicationIdProto parsed = HADOOP__APPLICATION_ID_PROTO__INIT;

	hadoop_application_id_parse(id, &parsed, NULL);
	return (struct history_days){parsed.cluster_timestamp - HISTORY_DAY_MS, INT64_MAX};
}

const char *yarn_known_text(const char *text)
{
	return text && *text && !str_equal(text, "N/A") ? text : NULL;
}

/* Before the first one it is -1. */
int yarn_am_attempt(const Hadoop__ApplicationReportProto *report)
{
	const Hadoop__ApplicationAttemptIdProto *attempt =
		report ? report->currentapplicationattemptid : NULL;

	return attempt && attempt->attemptid > 0 ? attempt->attemptid : 0;
}

bool yarn_is_others(const struct hadoop_cluster *cluster,
		    const Hadoop__ApplicationReportProto *report)
{
	return report && report->user && !str_equal(report->user, cluster->user);
}

/* The AM says the end first, and then publishes the journal: as long as that is not to be found, it
 * is there. */
char *yarn_am_address(const Hadoop__ApplicationReportProto *report)
{
	if ((report->yarn_application_state != HADOOP__YARN_APPLICATION_STATE_PROTO__RUNNING &&
	     report->yarn_application_state != HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED) ||
	    !yarn_known_text(report->host) || report->rpc_port <= 0)
		return NULL;
	return mem_printf("%s:%d", report->host, report->rpc_port);
}

char *yarn_diagnose(const Hadoop__ApplicationReportProto *report, bool has_begun,
		    struct cause *cause)
{
	static const char mark[] = " with diagnostic message: ";
	char *id cleanup_free = report && report->applicationid
					? hadoop_application_id_text(report->applicationid)
					: mem_strdup("application_");
	char *told cleanup_free = yarn_diagnostics_of(
		id, report && report->diagnostics && *report->diagnostics ? report->diagnostics
									  : "YARN says no more");
	const char *text = told, *reason = strstr(text, mark);

	if (report &&
	    report->yarn_application_state == HADOOP__YARN_APPLICATION_STATE_PROTO__FAILED) {
		yarn_diagnostics_judge_am(text, has_begun, cause);
		return cause_sentence(cause);
	}
	text = reason ? reason + strlen(mark) : text;
	return str_printable(text, strcspn(text, "\n"));
}

char *yarn_waiting(const Hadoop__ApplicationReportProto *report)
{
	if (report->yarn_application_state != HADOOP__YARN_APPLICATION_STATE_PROTO__ACCEPTED)
		return NULL;
	return yarn_diagnostics_waiting(report->diagnostics, report->queue ? report->queue : "?");
}

bool yarn_awaits_first_am(const Hadoop__ApplicationReportProto *report)
{
	switch (report->yarn_application_state) {
	case HADOOP__YARN_APPLICATION_STATE_PROTO__NEW:
	case HADOOP__YARN_APPLICATION_STATE_PROTO__NEW_SAVING:
	case HADOOP__YARN_APPLICATION_STATE_PROTO__SUBMITTED:
	case HADOOP__YARN_APPLICATION_STATE_PROTO__ACCEPTED:
		return yarn_am_attempt(report) == 0 ||
		       (yarn_am_attempt(report) == 1 &&
			yarn_diagnostics_await_am(report->diagnostics));
	default:
		return false;
	}
}

bool yarn_has_am_still(const Hadoop__ApplicationReportProto *report)
{
	return report &&
	       report->yarn_application_state == HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED &&
	       clock_wall_ms() - report->finishtime < AM_LEAVES_MS;
}

struct yarn_am_size yarn_am_size(const struct job *job)
{
	struct yarn_am_size size = {.memory = AM_MEMORY, .vcores = 1};
	const char *memory = job_config(job, "tony.am.memory");
	const char *vcores = job_config(job, "tony.am.vcores");
	int64_t number;

	/* Without task types these keys are the one task's. */
	if (job->type_count == 1 && str_equal(job->types[0].name, "driver") &&
	    is_default(job, "tony.driver.instances"))
		return size;
	if (memory && !is_default(job, "tony.am.memory"))
		str_parse_mib(memory, &size.memory);
	if (vcores && str_parse_int(vcores, 1, INT32_MAX, &number) == 0)
		size.vcores = (int)number;
	return size;
}

/* ---- resources ---------------------------------------------------------------------------- */

int64_t yarn_resource_value(const Hadoop__ResourceProto *resource, const char *name)
{
	if (str_equal(name, YARN_MEMORY))
		return resource->memory;
	if (str_equal(name, YARN_VCORES))
		return resource->virtual_cores;
	for (size_t i = 0; i < resource->n_resource_value_map; i++)
		if (str_equal(resource->resource_value_map[i]->key, name))
			return resource->resource_value_map[i]->value;
	return -1;
}

struct share yarn_share_of(const Hadoop__ResourceProto *resource)
{
	if (!resource)
		return (struct share){0};
	int64_t gpus = yarn_resource_value(resource, YARN_GPUS);
	return (struct share){resource->memory, resource->virtual_cores, gpus > 0 ? gpus : 0};
}
