#include "client/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/user.h"
#include "client/describe_internal.h"
#include "client/framework_file.h"
#include "client/report.h"
#include "client/sweep_config.h"
#include "framework/framework.h"
#include "job/job_fields.h"
#include "net/trust_store.h"
#include "net/url.h"
#include "scheduler/fetch.h"

#define MAX_GIVE_UP_MS ((int64_t)365 * 86400 * 1000)

/* "tony-20261121-061400-1f3a09c4": many jobs may be submitted within a second. What is left of a
 * job is found, and killed, by its id, whatever state directory it is of. */
static char *make_id(int64_t now_ms)
{
	time_t seconds = (time_t)(now_ms / 1000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		BUG("the clock says %lld", (long long)now_ms);
	return mem_printf("tony-%04d%02d%02d-%02d%02d%02d-%08x", tm.tm_year + 1900, tm.tm_mon + 1,
			  tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (uint32_t)random_u64());
}

static char *describe_framework(struct describer *describer)
{
	struct str_list names cleanup_str_list = {0};
	const char *name = conf_text(describer->conf, "tony.application.framework");
	const struct framework_ops *ops = framework_find(name ? name : "generic");

	/* As in TonY, one program without a cluster gets no framework's cluster variables. But a
	 * user who asks for PyTorch may want several ranks in that one task. */
	if (ops && describer->single_node && str_equal(ops->name, "tensorflow"))
		return mem_strdup("generic");
	if (ops)
		return mem_strdup(ops->name);
	framework_names(&names);
	char *list cleanup_free = str_list_join(&names, ", ");
	const char *nearest = str_nearest(name, (const char *const *)names.items, names.count);
	describe_error(describer, "tony.application.framework",
		       "\"%s\" is not a known framework; write %s%s", name,
		       nearest ? nearest : "one of ", nearest ? "" : list);
	return mem_strdup("generic");
}

/* Relative paths are the submitting user's; a URI stays as it is. */
static char *absolute(struct describer *describer, const char *key, const char *path)
{
	struct err err cleanup_err = {0};

	if (!path || strstr(path, "://"))
		return mem_strdup(path);
	char *result = fs_absolute(path, &err);
	if (!result)
		problems_error(describer->problems, PROBLEM_FILE, "%s: \"%s\": %s", key, path,
			       err_message(&err));
	return result;
}

static void describe_identity(struct describer *describer)
{
	static const char output_key[] = "tony.application.output-dir";
	const struct conf *conf = describer->conf;
	struct job *job = describer->job;

	job->submitted_ms = clock_wall_ms();
	job->id = make_id(job->submitted_ms);
	job->user = user_name();
	if (!conf_text(conf, "tony.application.name"))
		mem_replace(&job->name, mem_strdup("unnamed"));
	job->framework = describe_framework(describer);
	framework_file_describe(describer);
	describer->out->framework_is_default =
		!describer->single_node && !job->framework_file &&
		!describe_is_users(conf, "tony.application.framework");
	describer->out->scheduler = mem_strdup(job->scheduler);
	const char *checkpoint = conf_text(conf, "tony.application.checkpoint-dir");
	job->checkpoint_dir = absolute(describer, "tony.application.checkpoint-dir", checkpoint);
	job->results_dir = absolute(describer, output_key, conf_text(conf, output_key));
	if (job->results_dir && *job->results_dir != '/' && !fetch_is_needed(job->results_dir)) {
		char *shown cleanup_free = net_url_masked(job->results_dir);
		describe_error(describer, output_key,
			       "\"%s\" is no directory of this machine; write its path, or "
			       "s3://BUCKET/PATH",
			       shown);
	}
}

/* The shorter of two limits of which 0 is none. */
static int64_t shorter(int64_t a, int64_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

/* Completes the scalars that more than one key decides. */
static void describe_times(struct describer *describer)
{
	struct job *job = describer->job;

	job->registration_timeout_ms =
		shorter(job->registration_timeout_ms,
			conf_ms(describer->conf, "tony.task.executor.registry-timeout-sec"));
	if (job->executor_give_up_ms == 0)
		job->executor_give_up_ms = shorter(job_heartbeat_timeout_ms(job), MAX_GIVE_UP_MS);
	job->log_rotate_bytes <<= 20; /* from MiB */
}

static int chief_count(const struct job *job)
{
	int chief = job_find_type(job, "chief");

	return chief < 0 ? 0 : job->types[chief].instances;
}

/* The success of the first one to end would cut the others off. */
static void check_chiefs(struct describer *describer)
{
	const struct job *job = describer->job;

	if (job->stop_after_chief && chief_count(job) > 1)
		describe_error(describer, "tony.chief.instances",
			       "\"%d\": the end of one chief ends the job, and cuts the others "
			       "off; set it to 1 and ask for more workers, or set "
			       "tony.application.stop-after-chief=false",
			       chief_count(job));
}

/* A framework says "tony.worker.processes: ..."; the user wrote --processes, or a line of a file.
 */
static void tell_place(const struct describer *describer, const char *message)
{
	size_t length = strcspn(message, ":");
	char *key cleanup_free = mem_strndup(message, length);

	describe_error(describer, key, "%s", message + length + strspn(message + length, ": "));
}

/* What the framework decides unless the user does. */
static void describe_policy(struct describer *describer)
{
	static const char chief_key[] = "tony.application.stop-after-chief";
	struct job *job = describer->job;
	struct err err cleanup_err = {0};

	if (describe_is_set(describer->conf, chief_key))
		job->stop_after_chief = conf_bool(describer->conf, chief_key);
	else
		job->stop_after_chief = chief_count(job) > 0 && job->group_timeout_count == 0;
	job->live_elastic = framework_lives_through_changes(job);
	/* On "auto" the cluster's own check has the last word. */
	job->tls = str_equal(conf_text(describer->conf, "tony.application.tls"), "true");
	if (framework_check(job, &err) < 0)
		tell_place(describer, err_message(&err));
	else
		check_chiefs(describer);
}

/* Nothing of the value is in the error: it may be a secret. */
static void check_webhook(const struct describer *describer)
{
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};
	const char *text = describer->job->on_end_webhook;

	if (text && net_url_parse(text, &url, &err) < 0)
		describe_error(describer, "tony.application.on-end-webhook",
			       "this is not a URL: %s; write https://HOST/PATH", err_message(&err));
}

/* Its programs are told it, too, and show it: what is a secret is given apart. */
static void check_tracking(const struct describer *describer)
{
	static const char key[] = "tony.tracking.uri";
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};
	const char *text = describer->job->tracking_uri;

	if (!text)
		return;
	if (net_url_parse(text, &url, &err) < 0)
		describe_error(describer, key,
			       "this is not the URL of an MLflow server: %s; write https://HOST",
			       err_message(&err));
	else if (url.user)
		describe_error(describer, key,
			       "it holds a user and a password, which all would see; take them out "
			       "and write --secret MLFLOW_TRACKING_USERNAME=FILE --secret "
			       "MLFLOW_TRACKING_PASSWORD=FILE");
	else if (strchr(url.target, '?'))
		describe_error(describer, key,
			       "it has a query, which all would see, and below which no server "
			       "answers; take it out");
}

/* The caller frees; NULL: the key is not set. */
static char *read_authorities(const struct describer *describer, const char *key)
{
	struct err err cleanup_err = {0};
	struct str pem cleanup_str = {0};
	const char *path = conf_text(describer->conf, "%s", key);

	if (path && trust_store_read(path, NULL, &pem, &err) < 0)
		describe_error(describer, key, "%s", err_message(&err));
	return path ? str_steal(&pem) : NULL;
}

static void describe_notices(const struct describer *describer)
{
	struct job *job = describer->job;

	check_webhook(describer);
	check_tracking(describer);
	job->on_end_authorities = read_authorities(describer, "tony.application.on-end-ca-file");
	job->tracking_authorities = read_authorities(describer, "tony.tracking.ca-file");
}

void description_finish(struct description *description)
{
	if (description->job)
		for (size_t i = 0; description->resources && i < description->job->type_count; i++)
			resource_list_finish(&description->resources[i]);
	free(description->resources);
	job_destroy(description->job);
	free(description->src_dir);
	free(description->python_venv);
	free(description->work_dir);
	str_list_finish(&description->secret_files);
	str_list_finish(&description->after);
	free(description->array);
	free(description->interpreter);
	free(description->scheduler);
	*description = (struct description){0};
}

/* The sweep's own process reads it again. */
static void describe_sweep(const struct describer *describer)
{
	struct sweep_config sweep cleanup_sweep_config = {0};
	struct err err cleanup_err = {0};
	const char *key;

	if (sweep_is_configured(describer->job->config) &&
	    sweep_config_read(describer->job->config, &sweep, &key, &err) < 0)
		describe_error(describer, key, "%s", err_message(&err));
}

static void describe_rest(struct describer *describer)
{
	describe_fields(describer, job_fields, job_field_count, describer->job, NULL);
	describe_identity(describer);
	describe_check_variables(describer);
	describe_secrets(describer);
	describe_elastic(describer);
	describe_times(describer);
	describe_resources(describer);
	describe_order(describer);
	describe_groups(describer);
	describe_limits(describer);
	describe_start(describer);
	describe_notices(describer);
	describe_effects(describer);
	describe_record(describer);
	describe_sweep(describer);
	describe_policy(describer);
}

int describe_job(struct conf *conf, const struct job_options *options,
		 struct description *description, struct err *err)
{
	struct describer describer = {
		.conf = conf,
		.options = options,
		.out = description,
		.job = mem_alloc(sizeof(struct job)),
		.problems = conf_problems(conf),
	};

	description->job = describer.job;
	if (describe_types(&describer) == 0)
		describe_rest(&describer);
	if (problems_to_err(describer.problems, err) == 0)
		return 0;
	description_finish(description);
	return -1;
}

void describe_print_warnings(struct conf *conf)
{
	const struct str_list *warnings = &conf_problems(conf)->warnings;

	for (size_t i = 0; i < warnings->count; i++)
		report_note("warning: %s", warnings->items[i]);
}

int describe_from_options(const struct job_options *options, const struct str_list *command,
			  struct description *description, struct err *err)
{
	struct conf *conf cleanup_conf = NULL;

	if (job_options_load(options, command, &conf, err) < 0)
		return -1;
	int result = describe_job(conf, options, description, err);
	if (!options->is_told)
		describe_print_warnings(conf);
	if (result == 0)
		description->found_file = conf_found_file(conf);
	return result;
}
