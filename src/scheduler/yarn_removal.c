/* Removing ended jobs on YARN: what is left of them in HDFS, and this machine's copy. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "hadoop/webhdfs_client.h"
#include "scheduler/removal.h"
#include "scheduler/state_dir.h"
#include "scheduler/yarn_reports.h"

#define POLL_MS 200

struct removing {
	const char *id;
	struct hadoop_cluster *cluster;
	struct webhdfs_client *client;
	struct removal *removal;
};

/* ---- in HDFS ------------------------------------------------------------------------------ */

struct level {
	const char *path;
	struct str_list *directories;
	int64_t bytes;
};

static void on_file(void *data, const struct webhdfs_file *file)
{
	struct level *level = data;

	if (file->is_directory)
		str_list_take(level->directories, fs_join(level->path, file->name));
	else
		level->bytes += file->length;
}

static int64_t measure(struct webhdfs_client *client, const char *path)
{
	struct str_list directories cleanup_str_list = {0};
	int64_t bytes = 0;

	str_list_add(&directories, path);
	for (size_t i = 0; i < directories.count; i++) {
		char *directory cleanup_free = mem_strdup(directories.items[i]);
		struct level level = {directory, &directories, 0};
		webhdfs_list(client, directory, on_file, &level, NULL);
		bytes += level.bytes;
	}
	return bytes;
}

static int remove_path(const struct removing *removing, const char *path, struct err *err)
{
	struct webhdfs_file there cleanup_webhdfs_file = {0};
	struct err missing cleanup_err = {0};

	if (webhdfs_stat(removing->client, path, &there, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND
			       ? 0
			       : err_set(err, missing.kind, "%s", err_message(&missing));
	int64_t bytes = measure(removing->client, path);
	if (!removing->removal->is_dry && webhdfs_remove(removing->client, path, err) < 0)
		return -1;
	removing->removal->bytes += bytes;
	str_list_add_format(&removing->removal->removed, "%s%s", removing->cluster->fs, path);
	return 0;
}

/* ---- what others use ---------------------------------------------------------------------- */

static void add_job(void *data, const struct webhdfs_file *file)
{
	if (file->is_directory && yarn_is_id(file->name))
		str_list_add(data, file->name);
}

/* ERR_USAGE: this job, which has not ended, goes on with those checkpoints. */
static int check_user(const struct removing *removing, const char *user, const char *checkpoints,
		      struct err *err)
{
	char *directory cleanup_free = yarn_user_path(removing->cluster, user);
	char *path cleanup_free = fs_join(directory, "job.json");
	struct str text cleanup_str = {0};
	int result = 0;

	if (webhdfs_read_file(removing->client, path, JOB_JSON_CAP, &text, NULL) < 0)
		return 0; /* it has ended meanwhile, or begins now, with checkpoints of its own */
	struct job *job = job_from_text(str_text(&text), text.length, NULL);
	const char *used = job && job->checkpoint_dir
				   ? yarn_path_within(removing->cluster, job->checkpoint_dir)
				   : NULL;
	if (used && str_starts_with(used, checkpoints))
		result = err_set(err, ERR_USAGE,
				 "%s stays: %s, which runs, uses %s; remove it once that has ended",
				 removing->id, user, used);
	job_destroy(job);
	return result;
}

/* Each job that has not ended has a directory of its own. */
static int check_unused(const struct removing *removing, const char *checkpoints, struct err *err)
{
	char *directory cleanup_free = yarn_user_path(removing->cluster, "");
	struct str_list ids cleanup_str_list = {0};
	struct err missing cleanup_err = {0};

	if (webhdfs_list(removing->client, directory, add_job, &ids, &missing) < 0 &&
	    missing.kind != ERR_NOT_FOUND)
		return err_set(err, missing.kind, "%s", err_message(&missing));
	for (size_t i = 0; i < ids.count; i++)
		if (!str_equal(ids.items[i], removing->id) &&
		    check_user(removing, ids.items[i], checkpoints, err) < 0)
			return -1;
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

/* The job's own places: a directory that the user has named is not among them. */
static int remove_in_hdfs(const struct removing *removing, struct err *err)
{
	const struct job job = {.id = (char *)removing->id};
	char *own cleanup_free = yarn_user_path(removing->cluster, removing->id);
	char *checkpoints cleanup_free = yarn_own_checkpoint_dir(removing->cluster, &job);
	char *output cleanup_free = yarn_output_dir(removing->cluster, &job);

	if (check_unused(removing, checkpoints, err) < 0 ||
	    remove_path(removing, checkpoints, err) < 0 || remove_path(removing, output, err) < 0)
		return -1;
	return remove_path(removing, own, err);
}

/* ---- here --------------------------------------------------------------------------------- */

/* Renamed first: half of it must not look like the whole. */
static int remove_mirror(const struct removing *removing, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);
	char *mirror cleanup_free = state ? mem_printf("%s/yarn/%s", state, removing->id) : NULL;
	char *aside cleanup_free = mem_printf("%s/yarn/.%s.removed", state, removing->id);

	if (!mirror)
		return -1;
	if (removing->removal->is_dry)
		return removal_remove(removing->removal, mirror, mirror, err);
	if (fs_remove_tree(aside, err) < 0)
		return -1;
	if (rename(mirror, aside) < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", mirror);
	return removal_remove(removing->removal, aside, mirror, err);
}

/* ---- ended -------------------------------------------------------------------------------- */

/* An AM that has told of the end removes the job's directory last. */
static bool has_left(const struct removing *removing, const Hadoop__ApplicationReportProto *report)
{
	char *own cleanup_free = yarn_user_path(removing->cluster, removing->id);
	struct webhdfs_file there cleanup_webhdfs_file = {0};

	return !yarn_has_am_still(report) || webhdfs_stat(removing->client, own, &there, NULL) < 0;
}

static int check_report(const struct removing *removing,
			const Hadoop__ApplicationReportProto *report, struct err *err)
{
	const char *id = removing->id, *user = yarn_known_text(report->user);
	int64_t until = clock_monotonic_ms() + removing->removal->wait_ms;

	if (user && !str_equal(user, removing->cluster->user))
		return err_set(err, ERR_DENIED, "%s is %s's, and is not removed", id, user);
	if (!job_state_is_final(yarn_job_state(report)))
		return err_set(err, ERR_USAGE,
			       "%s has not ended, and is not removed; tony kill %s ends it", id,
			       id);
	while (!has_left(removing, report)) {
		if (clock_monotonic_ms() >= until)
			return err_set(err, ERR_USAGE,
				       "%s has ended, and its application master still brings its "
				       "history away; try again in a moment",
				       id);
		poll(NULL, 0, POLL_MS);
	}
	return 0;
}

/* A ResourceManager that does not know the job has forgotten it. */
static int check_ended(const struct removing *removing, struct err *err)
{
	struct err unknown cleanup_err = {0};
	Hadoop__GetApplicationReportResponseProto *response =
		yarn_report(removing->cluster, removing->id, &unknown);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;

	if (response)
		return check_report(removing, response->application_report, err);
	return unknown.kind == ERR_NOT_FOUND
		       ? 0
		       : err_set(err, unknown.kind, "%s", err_message(&unknown));
}

int yarn_remove(const char *id, struct removal *removal, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_of(id, err);
	struct webhdfs_client *client cleanup_webhdfs = cluster ? yarn_webhdfs(cluster, err) : NULL;
	const struct removing removing = {id, cluster, client, removal};

	if (!client || check_ended(&removing, err) < 0 || remove_in_hdfs(&removing, err) < 0)
		return -1;
	return remove_mirror(&removing, err);
}

/* ---- which there are ---------------------------------------------------------------------- */

static void add_once(struct str_list *ids, const char *id)
{
	if (!str_list_has(ids, id))
		str_list_add(ids, id);
}

static bool is_old_mirror(const char *mirror, int64_t until_ms)
{
	char *journal cleanup_free = fs_join(mirror, "journal.jsonl");
	struct stat info;

	return lstat(journal, &info) == 0 && fs_modified_ms(&info) <= until_ms &&
	       yarn_mirror_is_final(mirror);
}

static void add_mirrors(int64_t until_ms, struct str_list *ids)
{
	char *state cleanup_free = state_dir_find(NULL);
	char *mirrors cleanup_free = state ? fs_join(state, "yarn") : NULL;
	DIR *directory cleanup_dir = mirrors ? opendir(mirrors) : NULL;
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *mirror cleanup_free = fs_join(mirrors, entry->d_name);
		if (yarn_is_id(entry->d_name) && is_old_mirror(mirror, until_ms))
			add_once(ids, entry->d_name);
	}
}

struct leaving {
	int64_t until_ms;
	struct str_list *ids;
};

static void add_left(void *data, const struct webhdfs_file *file)
{
	const struct leaving *leaving = data;

	if (file->is_directory && yarn_is_id(file->name) && file->modified_ms <= leaving->until_ms)
		add_once(leaving->ids, file->name);
}

/* Of jobs that the ResourceManager has forgotten, too; yarn_remove() sees which live. */
static int add_left_in_hdfs(const struct hadoop_cluster *cluster, int64_t until_ms,
			    struct str_list *ids, struct err *err)
{
	static const char *const names[] = {"checkpoints", "output"};
	struct webhdfs_client *client cleanup_webhdfs = yarn_webhdfs(cluster, err);
	struct leaving leaving = {until_ms, ids};

	for (size_t i = 0; client && i < array_length(names); i++) {
		char *directory cleanup_free = yarn_user_path(cluster, names[i]);
		struct err missing cleanup_err = {0};
		if (webhdfs_list(client, directory, add_left, &leaving, &missing) < 0 &&
		    missing.kind != ERR_NOT_FOUND)
			return err_set(err, missing.kind, "%s", err_message(&missing));
	}
	return client ? 0 : -1;
}

/* A job that has written its checkpoints long ago may have ended since, or run on. */
static bool has_ended_later(const struct yarn_reports *reports, const char *id, int64_t until_ms)
{
	for (size_t i = 0; i < reports->count; i++) {
		const Hadoop__ApplicationReportProto *report = reports->items[i];
		char *text cleanup_free = hadoop_application_id_text(report->applicationid);
		if (str_equal(text, id))
			return !job_state_is_final(yarn_job_state(report)) ||
			       report->finishtime > until_ms;
	}
	return false;
}

int yarn_ended(int64_t until_ms, struct str_list *ids, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	struct yarn_reports reports cleanup_yarn_reports = {0};
	struct str_list found cleanup_str_list = {0};

	if (!cluster || yarn_reports_ask(cluster, &reports, err) < 0 ||
	    add_left_in_hdfs(cluster, until_ms, &found, err) < 0)
		return -1;
	add_mirrors(until_ms, &found);
	for (size_t i = 0; i < found.count; i++)
		if (!has_ended_later(&reports, found.items[i], until_ms))
			str_list_add(ids, found.items[i]);
	return 0;
}
