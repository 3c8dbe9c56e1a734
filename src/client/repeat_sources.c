/* Where the sources of an earlier job are kept. */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/repeat.h"
#include "client/report.h"
#include "client/stage_send.h"
#include "scheduler/fetch.h"
#include "scheduler/local_sources.h"
#include "scheduler/state_dir.h"

/* ---- the configuration of the job that repeats another ------------------------------------- */

void repeat_set_value(struct repeat *repeat, const char *key, const char *value)
{
	json_t *config = repeat->config;
	json_t *row = json_object_get(config, key);

	if (!value) {
		json_object_del(config, key);
		return;
	}
	if (!row) {
		row = json_object();
		json_set_text(row, "origin", "tony rerun");
		json_object_set_new(config, key, row);
	}
	json_set_text(row, "value", value);
}

/* The same for a place where tony keeps what the user had named otherwise. */
static void set_place(struct repeat *repeat, const char *key, const char *value)
{
	repeat_set_value(repeat, key, value);
	json_set_text(repeat->placed, key, value);
}

/* ---- its sources -------------------------------------------------------------------------- */

#define SOURCE_KEY    "tony.application.src-dir"
#define RESOURCES_KEY "tony.containers.resources"
#define FILE_SCHEME   "file://"

struct finder {
	struct repeat *repeat;
	const struct job *job;
	char *cache; /* of this machine */
	const struct job_options *options;
};

static bool is_staged(const struct finder *finder)
{
	return finder->repeat->opened->ops->traits->staged;
}

static int find_sent(const struct finder *finder, size_t type, const char *name,
		     struct scheduler_sent *sent, struct err *err)
{
	return finder->repeat->opened->ops->find_sent(finder->job, type, name, sent, err);
}

/* ---- src_dir ------------------------------------------------------------------------------ */

static int tell_gone(const struct finder *finder, const char *what, struct err *err)
{
	const char *id = finder->job->id, *from = job_config(finder->job, SOURCE_KEY);
	char *quoted cleanup_free = from ? str_shell_quote(from) : mem_strdup("DIR");

	return err_set(
		err, ERR_NOT_FOUND,
		"the sources of %s are gone (%s); \"tony rerun %s --src_dir %s\" takes those "
		"that lie there now",
		id, what, id, quoted);
}

static int place_local_source(struct finder *finder, struct err *err)
{
	char *path cleanup_free = local_sources_path(finder->repeat->opened->door.job_dir);
	char *snapshot cleanup_free = realpath(path, NULL);

	if (!snapshot)
		return tell_gone(finder, path, err);
	set_place(finder->repeat, SOURCE_KEY, snapshot);
	return 0;
}

static int place_sent_source(struct finder *finder, struct err *err)
{
	struct scheduler_sent sent = {0};
	struct err missing cleanup_err = {0};
	int found = 1;

	for (size_t i = 0; i < finder->job->type_count && found > 0; i++)
		found = find_sent(finder, i, STAGE_SENT_SOURCE, &sent, err);
	if (found != 0)
		return found < 0 ? -1 : tell_gone(finder, "its description names no copy", err);
	char *url cleanup_free = sent.url;
	if (fetch_keep(finder->job, url, &missing) < 0)
		return missing.kind == ERR_NOT_FOUND ? tell_gone(finder, url, err)
						     : err_copy(err, &missing);
	/* One in a directory that all nodes see is one of this machine. */
	bool is_here = str_starts_with(url, FILE_SCHEME);
	set_place(finder->repeat, SOURCE_KEY, url + (is_here ? strlen(FILE_SCHEME) : 0));
	return 0;
}

static bool is_overridden(const struct job_options *options)
{
	for (size_t i = 0; i < options->conf.count; i++)
		if (str_starts_with(options->conf.items[i], SOURCE_KEY "="))
			return true;
	return options->src_dir;
}

/* A description of before this was recorded tells the files of the types. */
static bool has_source(const struct finder *finder)
{
	for (size_t i = 0; i < finder->job->type_count; i++)
		for (size_t k = 0; k < finder->job->types[i].files.count; k++)
			if (finder->job->types[i].files.items[k].kind == JOB_FILE_CONTENT)
				return true;
	return false;
}

static int place_source(struct finder *finder, struct err *err)
{
	if (is_overridden(finder->options) || !has_source(finder))
		return 0;
	return is_staged(finder) ? place_sent_source(finder, err) : place_local_source(finder, err);
}

/* ---- resources ---------------------------------------------------------------------------- */

/* The directory unpacked for the earlier job; NULL: it used the file itself, or that is gone. */
static const char *find_unpacked(const struct finder *finder, size_t type, const char *name)
{
	const struct job_files *files = &finder->job->types[type].files;

	for (size_t i = 0; i < files->count; i++) {
		const struct job_file *file = &files->items[i];
		if (str_equal(file->name, name) && file->kind == JOB_FILE_LINK &&
		    str_starts_with(file->source, finder->cache) && fs_is_directory(file->source))
			return file->source;
	}
	return NULL;
}

/* Where the resource is kept; NULL: nowhere but where the user has it. The caller frees. */
static char *find_kept(const struct finder *finder, size_t type, const struct resource_spec *spec,
		       bool *archive)
{
	struct scheduler_sent sent = {0};

	if (!is_staged(finder)) {
		*archive = true;
		return mem_strdup(find_unpacked(finder, type, spec->name));
	}
	if (find_sent(finder, type, spec->name, &sent, NULL) != 0)
		return NULL;
	char *url cleanup_free = sent.url;
	*archive = sent.archive;
	return fetch_keep(finder->job, url, NULL) < 0 ? NULL : mem_steal(&url);
}

/* A file of this machine that a job linked was read in place: it is no copy that can be gone. */
static void warn_of_present(const struct finder *finder, const struct resource_spec *spec)
{
	if (!spec->remote &&
	    (is_staged(finder) || (spec->archive && !fs_is_directory(spec->source))))
		report_note("warning: %s is taken as it is now: the copy that %s had is gone",
			    spec->source, finder->job->id);
}

static void add_item(const struct finder *finder, size_t type, const char *item, struct str *out)
{
	struct resource_spec spec = {0};
	char *kept cleanup_free = NULL;
	bool archive = false;

	if (resource_parse(item, &spec, NULL) < 0)
		return;
	/* --python_venv is for the new one. */
	if (!finder->options->python_venv || !str_equal(spec.name, "venv")) {
		kept = find_kept(finder, type, &spec, &archive);
		if (!kept)
			warn_of_present(finder, &spec);
		str_append(out, out->length > 0 ? "," : "");
		if (kept)
			str_append_format(out, "%s::%s%s", kept, spec.name,
					  archive ? "#archive" : "");
		else
			str_append(out, item);
	}
	resource_finish(&spec);
}

static void place_resources(const struct finder *finder, const char *key, size_t type)
{
	const char *value = job_config_value(finder->repeat->config, key);
	struct str_list items cleanup_str_list = {0};
	struct str all cleanup_str = {0};

	if (!value || !*value)
		return;
	key_read_list(key_find(key, NULL), value, &items);
	for (size_t i = 0; i < items.count; i++)
		add_item(finder, type, items.items[i], &all);
	if (!str_equal(str_text(&all), value))
		set_place(finder->repeat, key, all.length > 0 ? all.text : NULL);
}

/* ------------------------------------------------------------------------------------------- */

static int place_all(struct finder *finder, struct err *err)
{
	if (place_source(finder, err) < 0)
		return -1;
	place_resources(finder, RESOURCES_KEY, 0);
	for (size_t i = 0; i < finder->job->type_count; i++) {
		char *key cleanup_free =
			mem_printf("tony.%s.resources", finder->job->types[i].name);
		place_resources(finder, key, i);
	}
	return 0;
}

int repeat_place_sources(struct repeat *repeat, const struct job_options *options, struct err *err)
{
	struct finder finder = {.repeat = repeat, .job = repeat->opened->job, .options = options};

	finder.cache = state_dir_cache(repeat->opened->door.job_dir);
	int result = place_all(&finder, err);
	free(finder.cache);
	return result;
}
