/* Removing ended jobs on YARN: what is left of them in the store, and this machine's copy. */
#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "scheduler/removal.h"
#include "scheduler/state_dir.h"
#include "scheduler/yarn_reports.h"

#define POLL_MS	   200
#define UNKNOWN_MS 86400000 /* longer than any submission takes */

struct removing {
	const char *id;
	struct hadoop_cluster *cluster;
	struct store *own;
	struct removal *removal;
};

/* ---- in the store ------------------------------------------------------------------------- */

/* Names are of the user's own place. */
static int remove_name(const struct removing *removing, const char *name, struct err *err)
{
	struct store_item there cleanup_store_item = {0};
	struct err missing cleanup_err = {0};

	if (store_look(removing->own, name, &there, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND ? 0 : err_copy(err, &missing);
	struct store_measure measure;
	if (store_measure(removing->own, name, &measure, err) < 0)
		return -1;
	if (!removing->removal->is_dry && store_run(removing->own, store_remove(name), err) < 0)
		return -1;
	removing->removal->bytes += measure.bytes;
	str_list_take(&removing->removal->removed, yarn_user_url(removing->cluster, name));
	return 0;
}

/* ---- what others use ---------------------------------------------------------------------- */

static void add_job(void *data, const struct store_item *file)
{
	if (file->is_directory && yarn_is_id(file->name))
		str_list_add(data, file->name);
}

/* ERR_USAGE: this job, which has not ended, goes on with those checkpoints. */
static int check_user(const struct removing *removing, const char *user, const char *checkpoints,
		      struct err *err)
{
	char *path cleanup_free = fs_join(user, "job.json");
	struct str text cleanup_str = {0};
	int result = 0;

	if (store_read_bytes(removing->own, path, JOB_JSON_CAP, &text, NULL) < 0)
		return 0; /* it has ended meanwhile, or begins now, with checkpoints of its own */
	struct job *job = job_from_text(str_text(&text), text.length, NULL);
	char *used cleanup_free = job && job->checkpoint_dir
					  ? yarn_path_within(removing->cluster, job->checkpoint_dir)
					  : NULL;
	if (used && fs_is_below(used, checkpoints))
		result = err_set(err, ERR_USAGE,
				 "%s stays: %s, which runs, uses %s; remove it once that has ended",
				 removing->id, user, used);
	job_destroy(job);
	return result;
}

/* Each job that has not ended has a directory of its own. */
static int check_unused(const struct removing *removing, const char *checkpoints, struct err *err)
{
	struct str_list ids cleanup_str_list = {0};
	struct err missing cleanup_err = {0};

	if (store_run(removing->own, store_list("", NULL, add_job, &ids), &missing) < 0 &&
	    missing.kind != ERR_NOT_FOUND)
		return err_copy(err, &missing);
	for (size_t i = 0; i < ids.count; i++)
		if (!str_equal(ids.items[i], removing->id) &&
		    check_user(removing, ids.items[i], checkpoints, err) < 0)
			return -1;
	return 0;
}

/* The name of a directory of yarn_resumed_name(); false: it is none. */
static bool split_resumed(const char *name, char **later, char **first)
{
	const char *dot = strchr(name, '.');

	*later = dot ? mem_strndup(name, (size_t)(dot - name)) : NULL;
	*first = dot ? mem_strdup(dot + 1) : NULL;
	return dot && yarn_is_id(*later) && yarn_is_id(*first);
}

static void note_resumed(void *data, const struct store_item *file)
{
	const struct removing *removing = data;
	char *later cleanup_free = NULL, *first cleanup_free = NULL;

	if (!split_resumed(file->name, &later, &first))
		return;
	char *name cleanup_free = yarn_checkpoint_name(first);
	char *checkpoints cleanup_free = yarn_user_path(removing->cluster, name);
	removal_note_use(&removing->removal->kept_in_hdfs, later, checkpoints);
}

/* ERR_USAGE: a job that has ended, and is not removed, went on with those checkpoints. */
static int check_not_resumed(const struct removing *removing, const char *checkpoints,
			     struct err *err)
{
	struct removal_use *use = &removing->removal->kept_in_hdfs;
	struct store_request resumed =
		store_list(YARN_RESUMED, NULL, note_resumed, (void *)removing);
	struct err missing cleanup_err = {0};

	use->of_ended = true;
	if (removal_use_begin(use) && store_run(removing->own, resumed, &missing) < 0 &&
	    missing.kind != ERR_NOT_FOUND) {
		use->looked_ms = 0;
		return err_copy(err, &missing);
	}
	return removal_check_unused(removing->removal, use, removing->id, checkpoints, err);
}

static int remove_resumed(const struct removing *removing, struct err *err)
{
	const struct removal_use *use = &removing->removal->kept_in_hdfs;

	for (size_t i = 0; i < use->jobs.count; i++) {
		if (!str_equal(use->jobs.items[i], removing->id))
			continue;
		char *name cleanup_free = mem_printf(YARN_RESUMED "/%s.%s", removing->id,
						     fs_basename(use->paths.items[i]));
		if (remove_name(removing, name, err) < 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

/* The job's own places: a directory that the user has named is not among them. */
static int remove_stored(const struct removing *removing, struct err *err)
{
	char *name cleanup_free = yarn_checkpoint_name(removing->id);
	char *checkpoints cleanup_free = yarn_user_path(removing->cluster, name);
	char *output cleanup_free = yarn_output_name(removing->id);

	if (check_unused(removing, checkpoints, err) < 0 ||
	    check_not_resumed(removing, checkpoints, err) < 0 ||
	    remove_name(removing, name, err) < 0 || remove_name(removing, output, err) < 0 ||
	    remove_resumed(removing, err) < 0)
		return -1;
	return remove_name(removing, removing->id, err);
}

/* ---- here --------------------------------------------------------------------------------- */

static int remove_mirror(const struct removing *removing, struct err *err)
{
	char *mirror cleanup_free = yarn_mirror_path(removing->id, err);

	if (!mirror)
		return -1;
	return fs_exists(mirror) ? removal_remove_folder(removing->removal, mirror, mirror, err)
				 : 0;
}

/* ---- ended -------------------------------------------------------------------------------- */

/* Whether a process of this machine sends the notices in place of the last AM. */
static bool is_being_told(const char *id)
{
	char *mirror cleanup_free = yarn_mirror_path(id, NULL);

	return mirror && state_dir_is_held(mirror);
}

/* An AM that has told of the end removes the job's directory last. */
static bool has_left(const struct removing *removing, const Hadoop__ApplicationReportProto *report)
{
	struct store_item there cleanup_store_item = {0};

	if (is_being_told(removing->id))
		return false;
	return !yarn_has_am_still(report) ||
	       store_look(removing->own, removing->id, &there, NULL) < 0;
}

static int check_report(const struct removing *removing,
			const Hadoop__ApplicationReportProto *report, struct err *err)
{
	const char *id = removing->id, *user = yarn_known_text(report->user);
	int64_t until = clock_monotonic_ms() + removing->removal->wait_ms;

	if (user && !str_equal(user, removing->cluster->user))
		return err_set(err, ERR_DENIED, "%s is %s's, and is not removed", id, user);
	if (!job_state_is_final(yarn_job_state(report)))
		return removal_refuse_live(id, err);
	while (!has_left(removing, report)) {
		if (clock_monotonic_ms() >= until)
			return removal_refuse_leaving(id, err);
		poll(NULL, 0, POLL_MS);
	}
	return 0;
}

/* ---- forgotten ---------------------------------------------------------------------------- */

/* When something of the job was made or removed in the store last; 0: there is nothing. */
static int64_t touched_ms(const struct removing *removing)
{
	char *names[] = {mem_strdup(removing->id), yarn_checkpoint_name(removing->id),
			 yarn_output_name(removing->id)};
	int64_t newest = 0;

	for (size_t i = 0; i < array_length(names); i++) {
		struct store_item file cleanup_store_item = {0};
		if (store_look(removing->own, names[i], &file, NULL) == 0 &&
		    file.modified_ms > newest)
			newest = file.modified_ms;
		free(names[i]);
	}
	return newest;
}

/* Clusters may share a file system: a job of another one's ResourceManager lives as long as its
 * directory is there. */
static bool is_elsewhere(const struct removing *removing)
{
	char *path cleanup_free = fs_join(removing->id, "job.json");
	struct str text cleanup_str = {0};
	struct err err cleanup_err = {0};

	if (store_read_bytes(removing->own, path, JOB_JSON_CAP, &text, &err) < 0)
		return err.kind != ERR_NOT_FOUND;
	struct job *job = job_from_text(str_text(&text), text.length, NULL);
	struct hadoop_cluster *own cleanup_hadoop_cluster =
		job ? hadoop_cluster_from_json(job->engine, job->stores, NULL) : NULL;
	bool is_here = !own;
	job_destroy(job);
	for (size_t i = 0; own && i < own->rm.count; i++)
		is_here = is_here || str_list_has(&removing->cluster->rm, own->rm.items[i]);
	return !is_here;
}

static bool has_known_end(const struct removing *removing)
{
	char *mirror cleanup_free = yarn_mirror_path(removing->id, NULL);

	return mirror && fs_is_directory(mirror) && yarn_mirror_is_final(mirror);
}

/* A submission makes directories before the ResourceManager knows the job. */
static int check_forgotten(const struct removing *removing, struct err *err)
{
	bool is_over =
		has_known_end(removing) ||
		(touched_ms(removing) <= clock_wall_ms() - UNKNOWN_MS && !is_elsewhere(removing));

	return is_over ? 0
		       : err_set(err, ERR_USAGE,
				 "%s stays: the ResourceManager does not know it, and it may be "
				 "one that is being submitted, or of another cluster",
				 removing->id);
}

static int check_ended(const struct removing *removing, struct err *err)
{
	struct err unknown cleanup_err = {0};
	Hadoop__GetApplicationReportResponseProto *response =
		yarn_report(removing->cluster, removing->id, &unknown);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;

	if (response)
		return check_report(removing, response->application_report, err);
	return unknown.kind == ERR_NOT_FOUND ? check_forgotten(removing, err)
					     : err_copy(err, &unknown);
}

int yarn_remove(const char *id, struct removal *removal, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_of(id, err);
	struct store *own cleanup_yarn_store = cluster ? yarn_store_own(cluster, err) : NULL;
	const struct removing removing = {id, cluster, own, removal};

	if (!own || check_ended(&removing, err) < 0 || remove_stored(&removing, err) < 0 ||
	    remove_mirror(&removing, err) < 0)
		return -1;
	if (removal->is_whole && !removal->is_dry)
		yarn_removed_note(id);
	return 0;
}

/* ---- which there are ---------------------------------------------------------------------- */

static void add_once(struct str_list *ids, const char *id)
{
	if (!str_list_has(ids, id))
		str_list_add(ids, id);
}

/* A job that was never submitted has no journal. */
static bool is_old_mirror(const char *mirror, int64_t until_ms)
{
	bool is_unsent = yarn_mirror_is_unsent(mirror);
	char *last cleanup_free = fs_join(mirror, is_unsent ? YARN_MIRROR_UNSENT : "journal.jsonl");
	struct stat info;

	return lstat(last, &info) == 0 && fs_modified_ms(&info) <= until_ms &&
	       (is_unsent || yarn_mirror_is_final(mirror));
}

static void add_mirrors(int64_t until_ms, struct str_list *ids)
{
	char *mirrors cleanup_free = yarn_mirror_path("", NULL);
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

static void add_left(void *data, const struct store_item *file)
{
	const struct leaving *leaving = data;
	char *later cleanup_free = NULL, *first cleanup_free = NULL;

	if (!file->is_directory || file->modified_ms > leaving->until_ms)
		return;
	if (yarn_is_id(file->name))
		add_once(leaving->ids, file->name);
	/* It has written to the checkpoints of the first one, and is as old as those. */
	else if (split_resumed(file->name, &later, &first) && str_list_has(leaving->ids, first))
		add_once(leaving->ids, later);
}

/* Of jobs that the ResourceManager has forgotten, too; yarn_remove() sees which live. */
static int add_left_stored(const struct hadoop_cluster *cluster, int64_t until_ms,
			   struct str_list *ids, struct err *err)
{
	static const char *const names[] = {"checkpoints", "output", YARN_RESUMED}; /* in order */
	struct store *own cleanup_yarn_store = yarn_store_own(cluster, err);
	struct leaving leaving = {until_ms, ids};

	for (size_t i = 0; own && i < array_length(names); i++) {
		struct err missing cleanup_err = {0};
		if (store_run(own, store_list(names[i], NULL, add_left, &leaving), &missing) < 0 &&
		    missing.kind != ERR_NOT_FOUND)
			return err_copy(err, &missing);
	}
	return own ? 0 : -1;
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
	    add_left_stored(cluster, until_ms, &found, err) < 0)
		return -1;
	add_mirrors(until_ms, &found);
	for (size_t i = 0; i < found.count; i++)
		if (!has_ended_later(&reports, found.items[i], until_ms))
			str_list_add(ids, found.items[i]);
	return 0;
}

/* ---- with age ----------------------------------------------------------------------------- */

static void age_mirrors(int64_t until_ms, struct removal *removal)
{
	struct str_list ids cleanup_str_list = {0};

	add_mirrors(until_ms, &ids);
	for (size_t i = 0; i < ids.count; i++)
		remove_mirror(&(struct removing){.id = ids.items[i], .removal = removal}, NULL);
}

void yarn_removal_age(const struct job *job)
{
	struct str_list ids cleanup_str_list = {0};
	struct removal removal cleanup_removal = {0};
	int64_t now = clock_wall_ms(), copies_ms = job_config_ms(job, "tony.jobs.max-age", 1000),
		all_ms = job_config_ms(job, "tony.jobs.results-max-age", 1000);

	/* A client may still follow a job that has just ended. */
	if (all_ms > 0)
		yarn_ended(now - (all_ms > UNKNOWN_MS ? all_ms : UNKNOWN_MS), &ids, NULL);
	str_list_copy(&removal.chosen, &ids);
	for (size_t i = 0; i < ids.count; i++) {
		removal_begin(&removal);
		yarn_remove(ids.items[i], &removal, NULL);
	}
	if (copies_ms > 0)
		age_mirrors(now - copies_ms, &removal);
	yarn_removed_age(now);
}
