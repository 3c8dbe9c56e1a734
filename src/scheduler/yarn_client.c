#include "scheduler/yarn_client.h"

#include <protobuf-c/protobuf-c.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/cluster_site.h"
#include "hadoop/id.h"
#include "hadoop/methods.h"
#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_logs.h"

#define CONNECT_RETRIES	    3
#define MAX_CONNECT_RETRIES 100

/* ---- configuration ------------------------------------------------------------------------ */

static const json_t *entry_of(const struct job *job, const char *key)
{
	return json_object_get(job->config, key);
}

const char *yarn_config(const struct job *job, const char *key)
{
	const char *value = json_string_value(json_object_get(entry_of(job, key), "value"));

	return value && *value ? value : NULL;
}

const char *yarn_config_format(const struct job *job, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *key cleanup_free = mem_vprintf(format, args);
	va_end(args);
	return yarn_config(job, key);
}

bool yarn_config_bool(const struct job *job, const char *key)
{
	const char *value = yarn_config(job, key);
	bool result = false;

	if (value)
		str_parse_bool(value, &result);
	return result;
}

bool yarn_config_is_default(const struct job *job, const char *key)
{
	const char *origin = json_string_value(json_object_get(entry_of(job, key), "origin"));

	return !origin || str_equal(origin, "default");
}

/* ---- the cluster -------------------------------------------------------------------------- */

/* As in TonY, so many intervals, and not a quarter of an hour as Hadoop's own clients do. */
static int64_t client_wait(const struct hadoop_cluster *cluster, const struct job *job)
{
	const char *text =
		job ? yarn_config(job, "tony.application.num-client-rm-connect-retries") : NULL;
	int64_t retries = CONNECT_RETRIES;

	if (text)
		str_parse_int(text, 0, MAX_CONNECT_RETRIES, &retries);
	int64_t wait_ms = retries * cluster->retry_interval_ms;
	bool is_shorter = cluster->max_wait_ms < 0 || wait_ms < cluster->max_wait_ms;
	return is_shorter ? wait_ms : cluster->max_wait_ms;
}

struct hadoop_cluster *yarn_cluster_find(const struct job *job, struct err *err)
{
	const struct hadoop_site_files files = {
		.hdfs_site = job ? yarn_config(job, "tony.application.hdfs-conf-path") : NULL,
		.yarn_site = job ? yarn_config(job, "tony.application.yarn-conf-path") : NULL,
	};
	const char *gateways = job ? yarn_config(job, "tony.hdfs.httpfs") : NULL;
	struct str_list http_fs cleanup_str_list = {0};
	char *user cleanup_free = hadoop_cluster_user();
	struct hadoop_site *site cleanup_hadoop_site = hadoop_site_load(&files, err);

	if (!site)
		return NULL;
	str_split(&http_fs, gateways ? gateways : "", ',');
	struct hadoop_cluster *cluster = hadoop_cluster_from_site(site, user, &http_fs, err);
	if (!cluster)
		return NULL;
	cluster->client_wait_ms = client_wait(cluster, job);
	if (job)
		cluster->ca_file = mem_strdup(yarn_config(job, "tony.hdfs.ca-file"));
	return cluster;
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

int yarn_call(const struct hadoop_cluster *cluster, const struct rpc_method *method,
	      const ProtobufCMessage *request, ProtobufCMessage **response,
	      struct rpc_failure *failure, struct err *err)
{
	const struct rpc_options options = {
		.service = &RM_CLIENT,
		.addresses = cluster->rm,
		.user = cluster->user,
		.protections = cluster->protections,
		.require_sasl = cluster->require_sasl,
		.connect_timeout_ms = cluster->connect_timeout_ms,
		.call_timeout_ms = cluster->call_timeout_ms,
		.retry_interval_ms = cluster->retry_interval_ms,
		.max_wait_ms = cluster->client_wait_ms,
	};

	return rpc_call_wait(&options, method, request, response, failure, err);
}

struct webhdfs_client *yarn_webhdfs(const struct hadoop_cluster *cluster, struct err *err)
{
	const struct webhdfs_options options = hadoop_cluster_webhdfs(cluster);

	return webhdfs_client_create(&options, err);
}

void yarn_webhdfs_cleanup(struct webhdfs_client **client)
{
	webhdfs_client_destroy(*client);
}

char *yarn_user_path(const struct hadoop_cluster *cluster, const char *name)
{
	return mem_printf("%s/.tony/%s", cluster->home, name);
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

enum job_state yarn_job_state(const Hadoop__ApplicationReportProto *report)
{
	switch (report->yarn_application_state) {
	case HADOOP__YARN_APPLICATION_STATE_PROTO__RUNNING:
		return JOB_RUNNING;
	case HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED:
		if (report->final_application_status ==
		    HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_SUCCEEDED)
			return JOB_SUCCEEDED;
		return report->final_application_status ==
				       HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_KILLED
			       ? JOB_KILLED
			       : JOB_FAILED;
	case HADOOP__YARN_APPLICATION_STATE_PROTO__FAILED:
		return JOB_FAILED;
	case HADOOP__YARN_APPLICATION_STATE_PROTO__KILLED:
		return JOB_KILLED;
	default:
		return JOB_SUBMITTED;
	}
}

/* ---- the table ---------------------------------------------------------------------------- */

static int preflight(struct job *job, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);

	return cluster ? yarn_preflight(cluster, job, err) : -1;
}

const struct scheduler_client_ops yarn_scheduler_client = {
	.name = "yarn",
	.is_there = hadoop_site_has_yarn,
	.is_id = yarn_is_id,
	.preflight = preflight,
	.stage = yarn_stage,
	.prepare = yarn_prepare,
	.start = yarn_start,
	.find = yarn_find,
	.list = yarn_list,
	.pull = yarn_pull,
	.logs = yarn_logs,
	.kill = yarn_kill,
};
