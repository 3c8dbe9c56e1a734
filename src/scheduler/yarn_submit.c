/* The submission itself: the application's context. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/container.h"
#include "hadoop/credentials.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/id.h"
#include "hadoop/message.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_diagnostics.h"
#include "scheduler/yarn_resource.h"

#define LIFETIME_MARGIN_S 60
#define AM_PRIORITY	  0
#define COMMAND		  "exec ./tony-agent am 1><LOG_DIR>/am.stdout 2><LOG_DIR>/" YARN_AM_LOG

/*
 * A NodeManager deletes, by its name, a file that it has collected. While the job runs, that would
 * take the journal from the AM and a log from its writer; and a rotated part may have another's
 * name by then. Of several containers whose files it has collected at once it deletes those of one
 * alone, and later none of the others' (YARN-11963): so not its own files, which are in the AM's
 * container, too.
 */
#define OWN_LOGS                                                                                   \
	"^(journal\\.jsonl|am\\.std(out|err)|executor\\.(stdout|log)|"                             \
	"std(out|err)(-[0-9]+)?(\\.[0-9]+)?(\\.times)?|"                                           \
	"prelaunch\\.(out|err)|launch_container\\.sh|directory\\.info)$"

#define TIMEOUT_LIFETIME HADOOP__APPLICATION_TIMEOUT_TYPE_PROTO__APP_TIMEOUT_LIFETIME
#define VIEW_APP	 HADOOP__APPLICATION_ACCESS_TYPE_PROTO__APPACCESS_VIEW_APP
#define MODIFY_APP	 HADOOP__APPLICATION_ACCESS_TYPE_PROTO__APPACCESS_MODIFY_APP

/* ---- files -------------------------------------------------------------------------------- */

/* All messages of one submission, which refer to each other. */
struct submission {
	const struct hadoop_cluster *cluster;
	const struct job *job;
	Hadoop__ApplicationIdProto id;
	Hadoop__ApplicationSubmissionContextProto context;
	Hadoop__ContainerLaunchContextProto launch;
	Hadoop__ResourceProto resource;
	Hadoop__PriorityProto priority, am_priority;
	Hadoop__ResourceRequestProto request, *requests[1];
	Hadoop__LogAggregationContextProto logs;
	char *not_rolled; /* of them */
	Hadoop__ApplicationTimeoutMapProto timeout, *timeouts[1];
	Hadoop__ApplicationACLMapProto acls[2], *acl_list[2];
	Hadoop__LocalResourceProto *agent; /* the one file that the AM needs */
	Hadoop__StringLocalResourceMapProto entry, *entries[1];
	Hadoop__StringStringMapProto *variables, **variable_list;
	struct str_list names, values; /* of the variables */
	struct str_list tags;
	char *command[1];
	struct str credentials;
};

static int add_agent(struct submission *submission, struct err *err)
{
	const struct hadoop_cluster *cluster = submission->cluster;

	if (cluster->agent >= cluster->file_count)
		return err_set(err, ERR_INPUT, "the job's files are not staged");
	submission->agent = yarn_resource(cluster, &cluster->files[cluster->agent], err);
	if (!submission->agent)
		return -1;
	submission->entry.key = "tony-agent";
	submission->entry.value = submission->agent;
	submission->entries[0] = &submission->entry;
	submission->launch.n_localresources = 1;
	submission->launch.localresources = submission->entries;
	return 0;
}

/* ---- the AM's container ------------------------------------------------------------------- */

static void add_variable(struct submission *submission, const char *name, const char *value)
{
	str_list_add(&submission->names, name);
	str_list_add(&submission->values, value);
}

/* Whatever else the user has written is in job.json: these lines are read by a shell. */
static void add_environment(struct submission *submission)
{
	const struct job *job = submission->job;
	const char *image = job_config(job, "tony.docker.am.image");
	const char *mounts = job_config(job, "tony.docker.containers.mount");

	if (!image)
		image = job_config(job, "tony.docker.containers.image");
	if (job_config_bool(job, "tony.docker.enabled") && image) {
		add_variable(submission, "YARN_CONTAINER_RUNTIME_TYPE", "docker");
		add_variable(submission, "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", image);
		if (mounts)
			add_variable(submission, "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", mounts);
	}
	size_t count = submission->names.count;
	submission->variables = mem_alloc_array(count, sizeof(*submission->variables));
	submission->variable_list = mem_alloc_array(count, sizeof(*submission->variable_list));
	for (size_t i = 0; i < count; i++) {
		hadoop__string_string_map_proto__init(&submission->variables[i]);
		submission->variables[i].key = submission->names.items[i];
		submission->variables[i].value = submission->values.items[i];
		submission->variable_list[i] = &submission->variables[i];
	}
	submission->launch.n_environment = count;
	submission->launch.environment = submission->variable_list;
}

static void add_acls(struct submission *submission)
{
	const struct job *job = submission->job;
	const char *const acls[] = {job_view_acl(job), job_modify_acl(job)};

	for (size_t i = 0; i < array_length(acls); i++) {
		const char *acl = acls[i];
		if (!acl)
			continue; /* the owner and administrators */
		size_t number = submission->launch.n_application_acls++;
		hadoop__application_aclmap_proto__init(&submission->acls[number]);
		submission->acls[number].has_accesstype = true;
		submission->acls[number].accesstype = i == 0 ? VIEW_APP : MODIFY_APP;
		submission->acls[number].acl = (char *)acl;
		submission->acl_list[number] = &submission->acls[number];
	}
	submission->launch.application_acls = submission->acl_list;
}

/* By which the AM of a job that waits for others asks how they stand. Its tasks do not get it. */
static int add_rm_token(const struct submission *submission, struct credentials *credentials,
			bool *are_own, struct err *err)
{
	const struct job *job = submission->job;
	struct hadoop_token token cleanup_token = {0};
	bool is_own;

	if (!submission->cluster->require_sasl || (job->after.count == 0 && job->array_limit == 0))
		return 0;
	if (yarn_get_rm_token(submission->cluster, &token, &is_own, err) < 0)
		return err_wrap(err,
				"%s: the application master needs a token of the "
				"ResourceManager to ask how other jobs stand",
				job->after.count > 0 ? "--after" : "--array");
	credentials_add_token(credentials, token.service, &token);
	*are_own = *are_own && is_own;
	return 0;
}

/* The ResourceManager renews the tokens while the job lives, and cancels them at its end: unless
 * somebody else goes by them, too. */
static int add_credentials(struct submission *submission, const char *token,
			   const char *description, struct err *err)
{
	struct credentials credentials cleanup_credentials = {0};
	bool are_own;

	hdfs_tokens_add(&credentials, &are_own);
	if (add_rm_token(submission, &credentials, &are_own, err) < 0)
		return -1;
	submission->context.has_cancel_tokens_when_complete = true;
	submission->context.cancel_tokens_when_complete = are_own;
	credentials_add_secret(&credentials, HADOOP_SECRET_TOKEN, token, strlen(token));
	credentials_add_secret(&credentials, HADOOP_SECRET_JOB, description, strlen(description));
	credentials_write(&credentials, &submission->credentials);
	submission->launch.has_tokens = true;
	submission->launch.tokens.data = (uint8_t *)submission->credentials.text;
	submission->launch.tokens.len = submission->credentials.length;
	return 0;
}

static int fill_launch(struct submission *submission, const char *token, const char *description,
		       struct err *err)
{
	submission->command[0] = COMMAND;
	submission->launch.n_command = 1;
	submission->launch.command = submission->command;
	add_acls(submission);
	submission->context.am_container_spec = &submission->launch;
	return add_credentials(submission, token, description, err);
}

static void fill_resource(struct submission *submission)
{
	struct yarn_am_size size = yarn_am_size(submission->job);
	const char *label = job_config(submission->job, "tony.am.node-label");
	Hadoop__ResourceRequestProto *request = &submission->request;

	submission->resource.has_memory = submission->resource.has_virtual_cores = true;
	submission->resource.memory = size.memory;
	submission->resource.virtual_cores = size.vcores;
	submission->context.resource = &submission->resource;
	if (!label)
		return;
	submission->am_priority.has_priority = true;
	submission->am_priority.priority = AM_PRIORITY;
	request->priority = &submission->am_priority;
	request->resource_name = "*";
	request->capability = &submission->resource;
	request->has_num_containers = request->has_relax_locality = true;
	request->num_containers = 1;
	request->relax_locality = true;
	request->node_label_expression = (char *)label;
	submission->requests[0] = request;
	submission->context.n_am_container_resource_request = 1;
	submission->context.am_container_resource_request = submission->requests;
}

/* ---- the application ---------------------------------------------------------------------- */

static void fill_tags(struct submission *submission)
{
	const struct job *job = submission->job;

	str_list_add(&submission->tags, YARN_TAG);
	str_list_add_format(&submission->tags, "%s%s", YARN_FRAMEWORK_TAG, job->framework);
	for (size_t i = 0; i < job->tags.count; i++)
		if (!str_list_has(&submission->tags, job->tags.items[i]))
			str_list_add(&submission->tags, job->tags.items[i]);
	submission->context.n_applicationtags = submission->tags.count;
	submission->context.applicationtags = submission->tags.items;
}

static void fill_logs(struct submission *submission)
{
	Hadoop__LogAggregationContextProto *logs = &submission->logs;
	const struct job *job = submission->job;
	const char *include = job_config(job, "tony.yarn.log-include");
	const char *exclude = job_config(job, "tony.yarn.log-exclude");
	const char *rolled = job_config(job, "tony.yarn.rolled-log-include");
	const char *not_rolled = job_config(job, "tony.yarn.rolled-log-exclude");

	if (!include && !exclude && !rolled)
		return;
	submission->context.log_aggregation_context = logs;
	if (include)
		logs->include_pattern = (char *)include;
	if (exclude)
		logs->exclude_pattern = (char *)exclude;
	if (!rolled)
		return;
	submission->not_rolled =
		not_rolled ? mem_printf(OWN_LOGS "|%s", not_rolled) : mem_strdup(OWN_LOGS);
	logs->rolled_logs_include_pattern = (char *)rolled;
	logs->rolled_logs_exclude_pattern = submission->not_rolled;
}

/* The AM ends the job in time by itself; this ends it when the AM cannot. YARN counts from the
 * submission. */
static void fill_timeout(struct submission *submission)
{
	int64_t ms = submission->job->application_timeout_ms;

	if (ms <= 0 || job_waits_to_begin(submission->job))
		return;
	submission->timeout.has_application_timeout_type = true;
	submission->timeout.application_timeout_type = TIMEOUT_LIFETIME;
	submission->timeout.has_timeout = true;
	submission->timeout.timeout = ms / 1000 + LIFETIME_MARGIN_S;
	submission->timeouts[0] = &submission->timeout;
	submission->context.n_application_timeouts = 1;
	submission->context.application_timeouts = submission->timeouts;
}

static int64_t number_of(const struct job *job, const char *key)
{
	const char *text = job_config(job, key);
	int64_t number = 0;

	if (text)
		str_parse_int(text, 0, INT32_MAX, &number);
	return number;
}

static void fill_context(struct submission *submission)
{
	Hadoop__ApplicationSubmissionContextProto *context = &submission->context;
	const struct job *job = submission->job;
	const char *type = job_config(job, "tony.application.type");

	context->application_id = &submission->id;
	context->application_name = job->name;
	context->queue = submission->cluster->queue;
	context->applicationtype = (char *)(type ? type : "TONY");
	context->node_label_expression = submission->cluster->node_label;
	context->has_keep_containers_across_application_attempts = true;
	context->keep_containers_across_application_attempts = true;
	context->has_maxappattempts = true;
	context->maxappattempts = (int32_t)number_of(job, "tony.am.max-attempts");
	if (job_config(job, "tony.application.priority")) {
		submission->priority.has_priority = true;
		submission->priority.priority = (int32_t)job->priority;
		context->priority = &submission->priority;
	}
	fill_tags(submission);
	fill_logs(submission);
	fill_timeout(submission);
	fill_resource(submission);
}

static void submission_init(struct submission *submission)
{
	hadoop__application_id_proto__init(&submission->id);
	hadoop__application_submission_context_proto__init(&submission->context);
	hadoop__container_launch_context_proto__init(&submission->launch);
	hadoop__string_local_resource_map_proto__init(&submission->entry);
	hadoop__resource_proto__init(&submission->resource);
	hadoop__priority_proto__init(&submission->priority);
	hadoop__priority_proto__init(&submission->am_priority);
	hadoop__resource_request_proto__init(&submission->request);
	hadoop__log_aggregation_context_proto__init(&submission->logs);
	hadoop__application_timeout_map_proto__init(&submission->timeout);
}

static void submission_finish(struct submission *submission)
{
	free(submission->variables);
	free(submission->variable_list);
	str_list_finish(&submission->names);
	str_list_finish(&submission->values);
	free(submission->not_rolled);
	message_free(submission->agent);
	str_list_finish(&submission->tags);
	str_finish_secret(&submission->credentials);
}
#define cleanup_submission __attribute__((cleanup(submission_finish)))

/* Without an answer the ResourceManager may have it all the same. */
static bool is_refusal(const struct rpc_failure *failure)
{
	return failure->kind == RPC_REMOTE || failure->kind == RPC_DENIED ||
	       failure->kind == RPC_EXPIRED;
}

int yarn_submit(const struct hadoop_cluster *cluster, const struct job *job, const char *token,
		const char *description, struct err *err)
{
	Hadoop__SubmitApplicationRequestProto request =
		HADOOP__SUBMIT_APPLICATION_REQUEST_PROTO__INIT;
	struct submission submission cleanup_submission = {.cluster = cluster, .job = job};
	struct rpc_failure failure cleanup_rpc_failure = {0};
	ProtobufCMessage *response cleanup_message = NULL;

	submission_init(&submission);
	if (hadoop_application_id_parse(job->id, &submission.id, err) < 0 ||
	    add_agent(&submission, err) < 0)
		return -1;
	add_environment(&submission);
	if (fill_launch(&submission, token, description, err) < 0)
		return -1;
	fill_context(&submission);
	request.application_submission_context = &submission.context;
	int result =
		yarn_call(cluster, &RM_SUBMIT_APPLICATION, &request.base, &response, &failure, err);
	if (result == 0 || !is_refusal(&failure))
		hdfs_tokens_leave();
	return result;
}
