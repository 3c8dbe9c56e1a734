#include "scheduler/yarn_reports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_cache.h"

#define SWEPT_AT_MOST	  5
#define SWEEP_MS	  2000 /* no further one is begun then */
#define SWEEP_PATIENCE_MS 2000

/* ---- all of this user's ------------------------------------------------------------------- */

typedef Hadoop__ApplicationReportProto report_proto;

void yarn_reports_finish(struct yarn_reports *reports)
{
	yarn_message_cleanup(&reports->message);
	free(reports->items);
}

static int newest_first(const void *left, const void *right)
{
	const report_proto *a = *(const report_proto *const *)left;
	const report_proto *b = *(const report_proto *const *)right;

	if (a->starttime != b->starttime)
		return a->starttime < b->starttime ? 1 : -1;
	return a->applicationid->id < b->applicationid->id ? 1 : -1;
}

static void add_reports(const Hadoop__GetApplicationsResponseProto *response,
			struct yarn_reports *reports)
{
	char *removed cleanup_free = yarn_removed_directory();

	reports->items = mem_alloc_array(response->n_applications, sizeof(*reports->items));
	for (size_t i = 0; i < response->n_applications; i++) {
		const report_proto *report = response->applications[i];
		char *id cleanup_free = report->applicationid
						? hadoop_application_id_text(report->applicationid)
						: NULL;
		if (id && !yarn_removed_has(removed, id))
			reports->items[reports->count++] = report;
	}
}

int yarn_reports_ask_of(const struct hadoop_cluster *cluster, const char *user,
			struct yarn_reports *reports, struct err *err)
{
	Hadoop__GetApplicationsRequestProto request = HADOOP__GET_APPLICATIONS_REQUEST_PROTO__INIT;
	char *tags[] = {YARN_TAG}, *users[] = {(char *)user};

	request.n_applicationtags = 1;
	request.n_users = str_equal(user, ANY_USER) ? 0 : 1;
	request.applicationtags = tags;
	request.users = users;
	if (yarn_call(cluster, &RM_GET_APPLICATIONS, &request.base, &reports->message, NULL, err) <
	    0)
		return -1;
	add_reports((const Hadoop__GetApplicationsResponseProto *)reports->message, reports);
	if (reports->count > 1)
		qsort(reports->items, reports->count, sizeof(*reports->items), newest_first);
	return 0;
}

int yarn_reports_ask(const struct hadoop_cluster *cluster, struct yarn_reports *reports,
		     struct err *err)
{
	return yarn_reports_ask_of(cluster, cluster->user, reports, err);
}

void yarn_take_place(struct hadoop_cluster *cluster, const char *id, const report_proto *report)
{
	if (report && yarn_known_text(report->user)) {
		char *parent cleanup_free = fs_dirname(cluster->home);
		mem_replace(&cluster->home, fs_join(parent, report->user));
	}
	mem_replace(&cluster->job_dir, yarn_user_path(cluster, id));
	if (!cluster->history_dir)
		cluster->history_dir = yarn_user_path(cluster, "history");
}

/* ---- what jobs have left ------------------------------------------------------------------ */

static void add_directory(void *data, const struct store_item *file)
{
	if (file->is_directory && yarn_is_id(file->name))
		str_list_add(data, file->name);
}

/* Of this user's jobs that have one; none when the store does not answer at once. */
static void list_directories(const struct hadoop_cluster *cluster, struct str_list *ids)
{
	struct hadoop_cluster hasty = *cluster;
	char *path cleanup_free = yarn_user_path(cluster, "");

	hasty.hdfs.patience_ms = SWEEP_PATIENCE_MS;
	struct store *own cleanup_yarn_store = yarn_store_open_once(&hasty, path, NULL);
	if (own)
		store_run(own, store_list("", NULL, add_directory, ids), NULL);
}

/* NULL: not among them. */
static const report_proto *find_report(const struct yarn_reports *reports, const char *id)
{
	for (size_t i = 0; i < reports->count; i++) {
		char *text cleanup_free =
			hadoop_application_id_text(reports->items[i]->applicationid);
		if (str_equal(text, id))
			return reports->items[i];
	}
	return NULL;
}

/* The ResourceManager forgets, and lists only so many. */
static bool is_forgotten(const struct hadoop_cluster *cluster, const char *id)
{
	struct err err cleanup_err = {0};
	Hadoop__GetApplicationReportResponseProto *response = yarn_report(cluster, id, &err);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;

	return !response && err.kind == ERR_NOT_FOUND;
}

/* False: it lives, or its end cannot be told. */
static bool sweep_one(struct hadoop_cluster *cluster, const char *id, const report_proto *report)
{
	bool is_over =
		report ? job_state_is_final(yarn_job_state(report)) : is_forgotten(cluster, id);
	char *mirror cleanup_free =
		is_over && !yarn_has_am_still(report) ? yarn_mirror(id, NULL) : NULL;

	if (!mirror)
		return false;
	yarn_take_place(cluster, id, report);
	if (yarn_mirror_settle(mirror, cluster, id, report, NULL) < 0) {
		rmdir(mirror); /* if nothing is in it */
		return false;
	}
	if (!yarn_mirror_is_final(mirror))
		return false;
	yarn_mirror_clear_up(mirror, cluster);
	return true;
}

void yarn_sweep(struct hadoop_cluster *cluster, const struct yarn_reports *reports)
{
	struct str_list ids cleanup_str_list = {0};
	int64_t deadline = clock_monotonic_ms() + SWEEP_MS;
	int swept = 0;

	list_directories(cluster, &ids);
	for (size_t i = 0; i < ids.count && swept < SWEPT_AT_MOST; i++) {
		swept += sweep_one(cluster, ids.items[i], find_report(reports, ids.items[i]));
		if (clock_monotonic_ms() >= deadline)
			return;
	}
}

/* ---- whether it answers -------------------------------------------------------------------- */

static void shorten(int64_t *limit_ms, int64_t to_ms)
{
	if (*limit_ms < 0 || *limit_ms > to_ms)
		*limit_ms = to_ms;
}

int yarn_answers(int64_t within_ms, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	struct yarn_reports reports cleanup_yarn_reports = {0};

	if (!cluster)
		return -1;
	shorten(&cluster->connect_timeout_ms, within_ms);
	shorten(&cluster->call_timeout_ms, within_ms);
	shorten(&cluster->client_wait_ms, within_ms);
	return yarn_reports_ask(cluster, &reports, err);
}
