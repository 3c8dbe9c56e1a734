#include "client/repeat.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/provenance.h"
#include "client/report.h"
#include "scheduler/fetch.h"

#define CHECKPOINT_KEY "tony.application.checkpoint-dir"
#define WORK_DIR_KEY   "tony.application.work-dir"

void repeat_finish(struct repeat *repeat)
{
	json_decref(repeat->config);
	json_decref(repeat->placed);
	*repeat = (struct repeat){0};
}

/* ---- environment -------------------------------------------------------------------------- */

static bool is_pair_of(const char *pair, const char *name, size_t length)
{
	return strncmp(pair, name, length) == 0 && pair[length] == '=';
}

/* The pair of a type's own environment whose name is that of `masked`; the last one where the key
 * is the type's own, which stands behind the others, else the first one. */
static const char *find_pair(const struct job_type *type, const char *masked, bool last)
{
	size_t length = strcspn(masked, "=");
	const char *found = NULL;

	for (size_t i = 0; i < type->environment.count && (last || !found); i++)
		if (is_pair_of(type->environment.items[i], masked, length))
			found = type->environment.items[i];
	return found ? found : masked;
}

static void unmask(struct repeat *repeat, const char *key, const struct job_type *type, bool last)
{
	const char *value = job_config_value(repeat->config, key);
	struct str_list pairs cleanup_str_list = {0};
	struct str all cleanup_str = {0};

	if (!value || !*value)
		return;
	key_read_list(key_find(key, NULL), value, &pairs);
	for (size_t i = 0; i < pairs.count; i++)
		key_append_item(key_find(key, NULL), find_pair(type, pairs.items[i], last), &all);
	repeat_set_value(repeat, key, str_text(&all));
}

static void unmask_all(struct repeat *repeat)
{
	const struct job *job = repeat->opened->job;

	unmask(repeat, "tony.containers.envs", &job->types[0], false);
	unmask(repeat, "tony.execution.envs", &job->types[0], true);
	for (size_t i = 0; i < job->type_count; i++) {
		char *key cleanup_free = mem_printf("tony.%s.envs", job->types[i].name);
		unmask(repeat, key, &job->types[i], true);
	}
}

/* "--env NAME=" of the earlier job stands before those of the new one. */
static void repeat_removals(const struct job *job, struct job_options *options)
{
	struct str_list all = {0};

	for (size_t i = 0; i < job->types[0].environment.count; i++)
		if (!strchr(job->types[0].environment.items[i], '='))
			str_list_add_format(&all, "%s=", job->types[0].environment.items[i]);
	str_list_copy(&all, &options->env);
	str_list_finish(&options->env);
	options->env = all;
}

/* ---- checkpoints -------------------------------------------------------------------------- */

static int check_checkpoints(const struct job *job, struct err *err)
{
	const char *directory = job->checkpoint_dir;
	struct err missing cleanup_err = {0};
	bool is_there = true;

	if (!directory)
		is_there = false;
	else if (fetch_is_needed(directory))
		is_there =
			fetch_keep(job, directory, &missing) == 0 || missing.kind != ERR_NOT_FOUND;
	else if (!strstr(directory, "://") && access(directory, R_OK | X_OK) < 0 && errno == EACCES)
		return err_set(err, ERR_DENIED,
			       "--resume: the checkpoints of %s in %s: you may not read them",
			       job->id, directory);
	else if (!strstr(directory, "://"))
		is_there = fs_has_entries(directory);
	return is_there ? 0
			: err_set(err, ERR_NOT_FOUND,
				  "--resume: %s has left no checkpoints in %s; leave --resume out",
				  job->id, directory ? directory : "any directory");
}

/* A sweep goes on from its journal; its trials have checkpoints of their own. */
static int resume(struct repeat *repeat, struct err *err)
{
	const struct opened *opened = repeat->opened;

	repeat->resumes = true;

	if (!opened->view->is_final)
		return err_set(err, ERR_USAGE,
			       "--resume: %s still runs, and writes its checkpoints; end it by "
			       "tony kill %s first",
			       opened->id, opened->id);
	if (check_checkpoints(opened->job, err) < 0)
		return -1;
	if (!job_is_sweep(opened->job))
		repeat_set_value(repeat, CHECKPOINT_KEY, opened->job->checkpoint_dir);
	return 0;
}

/* Two jobs do not write their checkpoints into one directory unless the user says so. */
static void begin_anew(struct repeat *repeat)
{
	const char *chosen = job_config_value(repeat->config, CHECKPOINT_KEY);

	if (chosen && *chosen)
		report_note("checkpoints go to a directory of the new job; --resume goes on in %s",
			    chosen);
	repeat_set_value(repeat, CHECKPOINT_KEY, NULL);
}

/* ------------------------------------------------------------------------------------------- */

/* For what a job waits is of its time, and none of another run. */
static void forget_start(struct repeat *repeat)
{
	static const char *const keys[] = {"tony.application.after", "tony.application.begin",
					   "tony.application.hold"};

	for (size_t i = 0; i < array_length(keys); i++)
		repeat_set_value(repeat, keys[i], NULL);
}

static int check_stdin(const struct job *job, bool has_stdin, struct err *err)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].stdin_file && !has_stdin)
			return err_set(err, ERR_USAGE,
				       "%s read standard input, which is not kept; give it again: "
				       "tony rerun %s --stdin <FILE",
				       job->id, job->id);
	return 0;
}

int repeat_plan(struct repeat *repeat, const struct opened *opened,
		const struct repeat_choice *choice, struct job_options *options, struct err *err)
{
	const struct job *job = opened->job;

	if (options->conf_file)
		return err_set(err, ERR_USAGE,
			       "--conf_file: rerun has the configuration of %s; give what differs "
			       "with --conf, or see tony submit",
			       opened->id);
	if (check_stdin(job, choice->has_stdin, err) < 0)
		return -1;
	repeat->opened = opened;
	repeat->config = job->config ? json_deep_copy(job->config) : json_object();
	repeat->placed = json_object();
	if (job->work_dir)
		repeat_set_value(repeat, WORK_DIR_KEY, job->work_dir);
	forget_start(repeat);
	unmask_all(repeat);
	repeat_removals(job, options);
	if (!choice->resumes)
		begin_anew(repeat);
	else if (resume(repeat, err) < 0)
		return -1;
	options->earlier = repeat->config;
	options->earlier_name = opened->id;
	options->earlier_framework = job->framework_file;
	options->earlier_secrets = &job->secrets;
	return repeat_place_sources(repeat, options, err);
}

void repeat_note(const struct repeat *repeat, struct job *job)
{
	const char *key;
	json_t *placed;

	json_object_foreach(repeat->placed, key, placed)
	{
		json_t *before = json_object_get(repeat->opened->job->config, key);
		if (before &&
		    str_equal(job_config_value(job->config, key), json_string_value(placed)))
			json_object_set(job->config, key, before);
	}
	job->rerun_of = mem_strdup(repeat->opened->id);
	if (!job->array) {
		job->array = mem_strdup(repeat->opened->job->array);
		job->array_index = repeat->opened->job->array_index;
	}
}

bool repeat_has_sources(const struct repeat *repeat)
{
	return json_object_get(repeat->placed, "tony.application.src-dir");
}

/* ---- in place ----------------------------------------------------------------------------- */

void repeat_warn_of_changes(const struct repeat *repeat, const struct job *job)
{
	const struct job *earlier = repeat->opened->job;
	struct str_list names cleanup_str_list = {0};

	if (!job->work_dir || !str_equal(job->work_dir, earlier->work_dir))
		return;
	provenance_changes(earlier, &names);
	if (names.count == 0)
		return;
	char *list cleanup_free = str_list_join(&names, ", ");
	report_note("warning: changed in %s since %s: %s", job->work_dir, earlier->id, list);
}

void repeat_warn_of_commit(const struct repeat *repeat, const struct job *job)
{
	const struct job *earlier = repeat->opened->job;
	const char *before = json_string_value(json_object_get(earlier->provenance, "commit"));
	const char *now = json_string_value(json_object_get(job->provenance, "commit"));

	if (job->work_dir && before && now && !str_equal(before, now))
		report_note("warning: %s ran at the commit %s, which is now %s", earlier->id,
			    before, now);
}
