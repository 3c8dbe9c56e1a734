/* Jobs on YARN by name: what the ResourceManager knows, and of what it has forgotten, what was
 * published. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "hadoop/methods.h"
#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_client.h"

#define NAMED_AT_MOST	5
#define TOKEN_CAP	4096
#define KILL_TIMEOUT_MS 30000
#define KILL_POLL_MS	200

/* ---- all of this user's ------------------------------------------------------------------- */

typedef Hadoop__ApplicationReportProto report_proto;

/* Reports, newest first; they belong to `message`. */
struct reports {
	ProtobufCMessage *message;
	const report_proto **items;
	size_t count;
};

static void reports_finish(struct reports *reports)
{
	yarn_message_cleanup(&reports->message);
	free(reports->items);
}
#define cleanup_reports __attribute__((cleanup(reports_finish)))

static int newest_first(const void *left, const void *right)
{
	const report_proto *a = *(const report_proto *const *)left;
	const report_proto *b = *(const report_proto *const *)right;

	if (a->starttime != b->starttime)
		return a->starttime < b->starttime ? 1 : -1;
	return a->applicationid->id < b->applicationid->id ? 1 : -1;
}

static int ask(const struct hadoop_cluster *cluster, struct reports *reports, struct err *err)
{
	Hadoop__GetApplicationsRequestProto request = HADOOP__GET_APPLICATIONS_REQUEST_PROTO__INIT;
	char *tags[] = {(char *)YARN_TAG}, *users[] = {cluster->user};

	request.n_applicationtags = request.n_users = 1;
	request.applicationtags = tags;
	request.users = users;
	if (yarn_call(cluster, &RM_GET_APPLICATIONS, &request.base, &reports->message, NULL, err) <
	    0)
		return -1;
	const Hadoop__GetApplicationsResponseProto *response =
		(const Hadoop__GetApplicationsResponseProto *)reports->message;
	reports->items = mem_alloc_array(response->n_applications, sizeof(*reports->items));
	for (size_t i = 0; i < response->n_applications; i++)
		if (response->applications[i]->applicationid)
			reports->items[reports->count++] = response->applications[i];
	if (reports->count > 1)
		qsort(reports->items, reports->count, sizeof(*reports->items), newest_first);
	return 0;
}

/* ---- list --------------------------------------------------------------------------------- */

static const char *framework_of(const report_proto *report)
{
	for (size_t i = 0; i < report->n_applicationtags; i++)
		if (str_starts_with(report->applicationtags[i], YARN_FRAMEWORK_TAG))
			return report->applicationtags[i] + strlen(YARN_FRAMEWORK_TAG);
	return "generic";
}

static void summarize(const report_proto *report, struct job_summary *summary)
{
	*summary = (struct job_summary){
		.id = hadoop_application_id_text(report->applicationid),
		.name = mem_strdup(report->name ? report->name : ""),
		.user = mem_strdup(report->user ? report->user : ""),
		.framework = mem_strdup(framework_of(report)),
		.state = yarn_job_state(report),
		.submitted_ms = report->starttime,
	};
	if (job_state_is_final(summary->state))
		summary->ended_ms = report->finishtime;
}

int yarn_list(struct job_summary **jobs, size_t *count, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	struct reports reports cleanup_reports = {0};

	if (!cluster || ask(cluster, &reports, err) < 0)
		return -1;
	*jobs = mem_alloc_array(reports.count, sizeof(**jobs));
	for (size_t i = 0; i < reports.count; i++)
		summarize(reports.items[i], &(*jobs)[i]);
	*count = reports.count;
	return 0;
}

/* ---- find --------------------------------------------------------------------------------- */

bool yarn_is_id(const char *id)
{
	Hadoop__ApplicationIdProto parsed = HADOOP__APPLICATION_ID_PROTO__INIT;

	return hadoop_application_id_parse(id, &parsed, NULL) == 0;
}

static bool fits(const report_proto *report, const char *id, bool by_name)
{
	char *text cleanup_free = hadoop_application_id_text(report->applicationid);

	if (!by_name)
		return str_starts_with(text, id);
	return !job_state_is_final(yarn_job_state(report)) && str_equal(report->name, id);
}

static size_t match(const struct reports *reports, const char *id, bool by_name, char **found,
		    struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	size_t count = 0;

	for (size_t i = 0; i < reports->count; i++) {
		if (!fits(reports->items[i], id, by_name))
			continue;
		char *text = hadoop_application_id_text(reports->items[i]->applicationid);
		if (count++ < NAMED_AT_MOST)
			str_list_take(&names, text);
		else
			free(text);
	}
	if (count == 1)
		*found = mem_strdup(names.items[0]);
	if (count > 1) {
		char *text cleanup_free = str_list_join(&names, ", ");
		err_set(err, ERR_USAGE, "\"%s\" fits %zu jobs (%s%s); write more of the id", id,
			count, text, count > NAMED_AT_MOST ? ", ..." : "");
	}
	return count;
}

/* The whole id of what a user calls `id`. */
static char *choose(const struct hadoop_cluster *cluster, const char *id, struct err *err)
{
	struct reports reports cleanup_reports = {0};
	char *found = NULL;

	if (id && yarn_is_id(id))
		return mem_strdup(id);
	if (ask(cluster, &reports, err) < 0)
		return NULL;
	if (!id && reports.count > 0)
		return hadoop_application_id_text(reports.items[0]->applicationid);
	if (!id) {
		err_set(err, ERR_NOT_FOUND, "there is no job yet");
		return NULL;
	}
	size_t count = *id ? match(&reports, id, false, &found, err) : 0;
	if (count == 0)
		count = match(&reports, id, true, &found, err);
	if (count == 0)
		err_set(err, ERR_NOT_FOUND, "no job \"%s\"; `tony list` shows those there are", id);
	return found;
}

/* "host:port" once the AM has registered. */
static char *address_of(const report_proto *report)
{
	if (report->yarn_application_state != HADOOP__YARN_APPLICATION_STATE_PROTO__RUNNING ||
	    !report->host || !*report->host || str_equal(report->host, "N/A") ||
	    report->rpc_port <= 0)
		return NULL;
	return mem_printf("%s:%d", report->host, report->rpc_port);
}

/* 0: none has begun, or it is not told. */
static int attempt_of(const report_proto *report)
{
	return report && report->currentapplicationattemptid
		       ? report->currentapplicationattemptid->attemptid
		       : 0;
}

static char *read_token(const struct hadoop_cluster *cluster, const char *mirror)
{
	char *local cleanup_free = fs_join(mirror, "token");
	char *path cleanup_free = fs_join(cluster->job_dir, "token");
	struct str token cleanup_str = {0};
	char *known = fs_exists(local) ? job_read_token(local, NULL) : NULL;

	if (known)
		return known;
	struct webhdfs_client *client cleanup_webhdfs = yarn_webhdfs(cluster, NULL);
	if (!client || webhdfs_read_file(client, path, TOKEN_CAP, &token, NULL) < 0 ||
	    token.length == 0)
		return NULL;
	yarn_mirror_write(mirror, "token", token.text, NULL);
	return str_steal(&token);
}

/* Another user's job lies in that user's home. */
static void take_place(struct hadoop_cluster *cluster, const char *id, const report_proto *report)
{
	char *history cleanup_free = mem_printf("history/%s", id);

	if (report && report->user && *report->user && !str_equal(report->user, "N/A")) {
		char *parent cleanup_free = fs_dirname(cluster->home);
		mem_replace(&cluster->home, fs_join(parent, report->user));
	}
	mem_replace(&cluster->job_dir, yarn_user_path(cluster, id));
	mem_replace(&cluster->history_dir, yarn_user_path(cluster, history));
}

static int open_door(struct hadoop_cluster *cluster, const char *id, struct job_door *door,
		     struct err *err)
{
	struct err unknown cleanup_err = {0};
	Hadoop__GetApplicationReportResponseProto *response = yarn_report(cluster, id, &unknown);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;
	const report_proto *report = response ? response->application_report : NULL;
	struct job_door made = {0};

	/* The ResourceManager forgets; what was published stays. */
	if (!response && unknown.kind != ERR_NOT_FOUND)
		return err_set(err, unknown.kind, "%s", err_message(&unknown));
	take_place(cluster, id, report);
	made.job_dir = yarn_mirror(id, err);
	if (!made.job_dir)
		return -1;
	struct err why cleanup_err = {0};
	made.am_attempt = attempt_of(report);
	if (made.am_attempt > 0 && yarn_mirror_begin(made.job_dir, made.am_attempt, err) < 0) {
		job_door_finish(&made);
		return -1;
	}
	if (yarn_mirror_settle(made.job_dir, cluster, id, report, &why) < 0) {
		rmdir(made.job_dir); /* nothing is in it, then */
		job_door_finish(&made);
		if (!report && why.kind == ERR_NOT_FOUND)
			return err_set(err, ERR_NOT_FOUND,
				       "no job \"%s\": the ResourceManager does not know it, and "
				       "nothing of it is in %s",
				       id, cluster->history_dir);
		return err_set(err, why.kind, "%s", err_message(&why));
	}
	made.ended = yarn_mirror_is_final(made.job_dir);
	if (!made.ended && report)
		made.address = address_of(report);
	made.token = read_token(cluster, made.job_dir);
	*door = made;
	return 0;
}

int yarn_find(const char *id, struct job_door *door, char **full_id, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	char *found cleanup_free = cluster ? choose(cluster, id, err) : NULL;

	if (!found || open_door(cluster, found, door, err) < 0)
		return -1;
	if (full_id)
		*full_id = mem_steal(&found);
	return 0;
}

/* ---- kill --------------------------------------------------------------------------------- */

int yarn_kill(const struct job_door *door, struct err *err)
{
	const char *id = fs_basename(door->job_dir);
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__KillApplicationRequestProto request = HADOOP__KILL_APPLICATION_REQUEST_PROTO__INIT;
	int64_t deadline = clock_monotonic_ms() + KILL_TIMEOUT_MS;

	if (!cluster || hadoop_application_id_parse(id, &application, err) < 0)
		return -1;
	request.application_id = &application;
	request.diagnostics = (char *)"killed by tony";
	for (;;) {
		ProtobufCMessage *response cleanup_message = NULL;
		if (yarn_call(cluster, &RM_FORCE_KILL_APPLICATION, &request.base, &response, NULL,
			      err) < 0)
			return -1;
		if (((const Hadoop__KillApplicationResponseProto *)response)->is_kill_completed)
			break;
		if (clock_monotonic_ms() >= deadline)
			return err_set(err, ERR_UNREACHABLE,
				       "the ResourceManager has not killed %s after %d s", id,
				       KILL_TIMEOUT_MS / 1000);
		poll(NULL, 0, KILL_POLL_MS);
	}
	/* An AM that was killed cannot clear up after itself. */
	struct webhdfs_client *client cleanup_webhdfs = yarn_webhdfs(cluster, NULL);
	char *directory cleanup_free = yarn_user_path(cluster, id);
	if (client)
		webhdfs_remove(client, directory, NULL);
	return 0;
}
