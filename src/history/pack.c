#include "history/pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/measure.h"
#include "history/pack_internal.h"
#include "history/publish.h"

static int write_text(const char *directory, const char *name, const char *text, struct err *err)
{
	int fd cleanup_close = pack_create(directory, name, err);

	if (fd < 0)
		return -1;
	return fs_write_all(fd, text, strlen(text), err) < 0 ? err_wrap(err, "%s", name) : 0;
}

/* ---- metrics ------------------------------------------------------------------------------ */

static int copy(const char *from, const char *directory, const char *name, struct err *err)
{
	char *to cleanup_free = fs_join(directory, name);

	return fs_clone_tree(from, to, 0, err);
}

static int pack_metrics(const struct history_pack *pack, const char *directory, struct err *err)
{
	if (pack->metrics && fs_exists(pack->metrics))
		return copy(pack->metrics, directory, HISTORY_METRICS, err);
	if (!pack->write_metrics)
		return 0;
	int fd cleanup_close = pack_create(directory, HISTORY_METRICS, err);
	return fd < 0 ? -1 : pack->write_metrics(pack->data, fd, err);
}

static int pack_diff(const struct history_pack *pack, const char *directory, struct err *err)
{
	if (!pack->diff || !fs_exists(pack->diff))
		return 0;
	return copy(pack->diff, directory, HISTORY_DIFF, err);
}

/* A sweep that never began has none. */
static int pack_sweep(const struct job *job, const char *directory, struct err *err)
{
	char *table cleanup_free =
		job_is_sweep(job) ? fs_join(job->checkpoint_dir, HISTORY_SWEEP) : NULL;

	return table && fs_exists(table) ? copy(table, directory, HISTORY_SWEEP, err) : 0;
}

/* ---- summary ------------------------------------------------------------------------------ */

/* Of all files below the directory. */
static int64_t count_bytes(const char *path)
{
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *entry;
	int64_t bytes = 0;

	while (directory && (entry = readdir(directory))) {
		char *member cleanup_free = fs_join(path, entry->d_name);
		struct stat status;
		if (*entry->d_name == '.' || lstat(member, &status) < 0)
			continue;
		bytes += S_ISDIR(status.st_mode) ? count_bytes(member) : status.st_size;
	}
	return bytes;
}

static int pack_summary(const struct history_pack *pack, const struct job_view *view,
			const char *directory, struct err *err)
{
	struct history_summary summary cleanup_history_summary = {0};

	history_summary_of(view, &summary);
	if (pack->measure)
		pack->measure(pack->data, &summary);
	else if (pack->metrics && fs_exists(pack->metrics) &&
		 history_measure_file(pack->job, pack->metrics, &summary, err) < 0)
		return -1;
	summary.bytes = count_bytes(directory);
	json_t *object cleanup_json = history_summary_to_json(&summary);
	/* Programs of before read the same location, and know it by this name only. */
	json_set_int(object, "tasks", summary.task_count);
	char *text cleanup_free = json_text(object);
	return write_text(directory, HISTORY_SUMMARY, text, err);
}

/* ---- description -------------------------------------------------------------------------- */

/* "NAME=value" -> "NAME=***", of all types in `object`, which may be NULL. */
static void hide_environments(json_t *object)
{
	json_t *type, *pair;
	size_t i, k;

	json_array_foreach(json_object_get(object, "types"), i, type)
	{
		json_t *environment = json_object_get(type, "environment");
		json_array_foreach(environment, k, pair)
		{
			const char *text = json_string_value(pair);
			char *hidden cleanup_free =
				mem_printf("%.*s=***", (int)strcspn(text, "="), text);
			json_array_set_new(environment, k, json_string(hidden));
		}
	}
}

/* The keys to buckets. */
static void hide_stores(json_t *object)
{
	json_t *stores = json_copy(json_object_get(object, "stores"));

	json_object_del(stores, "s3");
	json_object_set_new(object, "stores", stores);
}

json_t *history_description(const struct job *job, bool for_others)
{
	json_t *object = job_to_json(job);

	/* A URL is a secret; job->config has it masked. */
	json_object_del(object, "on_end_webhook");
	json_object_del(object, "on_end_authorities");
	json_object_del(object, "tracking_authorities");
	hide_stores(object);
	job_secrets_hide(object);
	if (for_others) {
		hide_environments(object);
		if (job->engine) /* which is the job's own */
			json_object_set_new(object, "engine", json_deep_copy(job->engine));
		hide_environments(json_object_get(object, "engine"));
	}
	return object;
}

static int pack_description(const struct history_pack *pack, const char *directory, struct err *err)
{
	struct history_access access =
		history_access_of(job_config(pack->job, "tony.history.permissions"));
	json_t *object cleanup_json = history_description(pack->job, access.file != 0600);
	char *text cleanup_free = json_text(object);
	return write_text(directory, HISTORY_JOB, text, err);
}

/* ------------------------------------------------------------------------------------------- */

static int pack_all(const struct history_pack *pack, const struct job_view *view,
		    const char *directory, struct err *err)
{
	char *configuration cleanup_free = history_configuration(pack->job);

	if (pack_description(pack, directory, err) < 0 ||
	    write_text(directory, HISTORY_CONFIG, configuration, err) < 0 ||
	    copy(pack->journal, directory, HISTORY_EVENTS, err) < 0 ||
	    pack_metrics(pack, directory, err) < 0 || pack_diff(pack, directory, err) < 0 ||
	    pack_sweep(pack->job, directory, err) < 0 || pack_logs(pack, view, directory, err) < 0)
		return -1;
	return pack_summary(pack, view, directory, err);
}

static int pack_view(const struct history_pack *pack, struct job_view *view, const char *directory,
		     struct err *err)
{
	if (job_view_read(view, pack->journal, err) < 0)
		return err_wrap(err, "%s", pack->journal);
	if (!view->is_final)
		return err_set(err, ERR_FAILED, "%s has not ended", pack->job->id);
	if (fs_remove_tree(directory, err) < 0)
		return -1;
	if (mkdir(directory, 0700) < 0)
		return err_set_errno(err, "%s", directory);
	if (pack_all(pack, view, directory, err) == 0)
		return 0;
	fs_remove_tree(directory, NULL);
	return -1;
}

int history_pack(const struct history_pack *pack, const char *directory, struct err *err)
{
	struct job_view *view = job_view_create(pack->job);
	int result = pack_view(pack, view, directory, err);

	job_view_destroy(view);
	return result;
}
