/* Files that tasks need: named here, staged by whoever submits. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/describe_internal.h"

/* A value that names files: where it was written, for messages, and whether it was typed. */
struct place {
	const char *label;
	enum problem_source source;
};

static enum problem_source source_of(const struct describer *describer, const char *key)
{
	return conf_source(describer->conf, conf_find(describer->conf, "%s", key));
}

/* Two files cannot have one name; the same file twice is one. True: `spec` is new. */
static bool is_new(const struct describer *describer, const struct place *where,
		   const struct resource_list *list, const struct resource_spec *spec)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct resource_spec *other = &list->items[i];
		if (!str_equal(other->name, spec->name))
			continue;
		if (!str_equal(other->source, spec->source) || other->archive != spec->archive)
			problems_error(describer->problems, where->source,
				       "%s: \"%s\" and \"%s\" would both appear as \"%s\"; write "
				       "one of them as SOURCE::NAME",
				       where->label, other->source, spec->source, spec->name);
		return false;
	}
	return true;
}

static bool is_in_hdfs(const char *source)
{
	return str_starts_with(source, "hdfs:") || str_starts_with(source, "viewfs:");
}

/* Whether it is there, only HDFS can tell. */
static void check_remote(const struct describer *describer, const struct place *where,
			 const char *source)
{
	if (!is_in_hdfs(source))
		problems_error(describer->problems, where->source,
			       "%s: \"%s\" is neither on this machine nor in HDFS; copy it to "
			       "either",
			       where->label, source);
}

/* A path that cannot be read, by errno; `what` would have been right. */
static void tell_unreadable(const struct describer *describer, const struct place *where,
			    const char *path, const char *what)
{
	const char *why = strerror(errno);

	if (errno == EACCES)
		problems_error(describer->problems, PROBLEM_FILE,
			       "%s: \"%s\": %s; make it readable (chmod)", where->label, path, why);
	else
		problems_error(describer->problems, PROBLEM_FILE,
			       "%s: \"%s\": %s; write the path of %s", where->label, path, why,
			       what);
}

static void check_source(const struct describer *describer, const struct place *where,
			 const struct resource_spec *spec)
{
	if (spec->remote)
		check_remote(describer, where, spec->source);
	else if (access(spec->source, R_OK) < 0)
		tell_unreadable(describer, where, spec->source, "a file or directory");
}

static bool is_of_classpath(const struct describer *describer, const char *source)
{
	const char *list = describer->options->hdfs_classpath;
	struct str_list items cleanup_str_list = {0};

	str_split(&items, list ? list : "", ',');
	for (size_t i = 0; i < items.count; i++) {
		char *url cleanup_free = job_options_classpath_url(items.items[i]);
		if (str_equal(url, source))
			return true;
	}
	return false;
}

static void add_resource(const struct describer *describer, const struct place *where,
			 struct resource_list *list, struct resource_spec *spec)
{
	check_source(describer, where, spec);
	spec->optional = spec->remote && is_of_classpath(describer, spec->source);
	if (is_new(describer, where, list, spec))
		resource_list_take(list, spec);
}

bool describe_is_replaced(const struct describer *describer, const char *key,
			  const struct resource_spec *spec)
{
	const struct conf_entry *entry = conf_find(describer->conf, "%s", key);

	return describer->options->python_venv && entry && entry->recorded &&
	       str_equal(spec->name, "venv");
}

static void add_resources(const struct describer *describer, const char *key,
			  struct resource_list *list)
{
	struct str_list items cleanup_str_list = {0};
	char *label cleanup_free = conf_locate(describer->conf, "%s", key);
	const struct place where = {label, source_of(describer, key)};

	conf_list(describer->conf, &items, "%s", key);
	for (size_t i = 0; i < items.count; i++) {
		struct resource_spec spec = {0};
		if (resource_parse(items.items[i], &spec, NULL) < 0)
			continue; /* told when the key was checked */
		if (!describe_is_replaced(describer, key, &spec))
			add_resource(describer, &where, list, &spec);
		resource_finish(&spec);
	}
}

/* An absolute path that can be read, or a URI; NULL after a problem was told. */
static char *find_path(const struct describer *describer, const struct place *where,
		       const char *path, const char *what)
{
	struct err err cleanup_err = {0};
	struct resource_spec spec = {0};

	if (!path)
		return NULL;
	if (resource_parse(path, &spec, &err) < 0 && !fs_exists(path)) {
		problems_error(describer->problems, where->source, "%s: %s", where->label,
			       err_message(&err));
		return NULL;
	}
	/* "." and ".." name no file to a task, but a directory to us. */
	const char *source = spec.source ? spec.source : path;
	char *result = NULL;
	if (spec.remote) {
		check_remote(describer, where, source);
		result = mem_strdup(source);
	} else if (access(source, R_OK) < 0)
		tell_unreadable(describer, where, source, what);
	else
		result = fs_absolute(source, NULL);
	resource_finish(&spec);
	return result;
}

/* A job file names what lies beside it, wherever the job is submitted from. */
static char *find_source(const struct describer *describer)
{
	static const char key[] = "tony.application.src-dir", what[] = "a directory or an archive";
	const struct conf_entry *entry = conf_find(describer->conf, key);

	if (describer->options->src_dir)
		return find_path(describer, &(struct place){"--src_dir", PROBLEM_TYPED},
				 describer->options->src_dir, what);
	if (!describe_is_set(describer->conf, key))
		return NULL;
	char *label cleanup_free = conf_locate(describer->conf, key);
	const struct place where = {label, source_of(describer, key)};
	if (entry->layer == CONF_LAYER_CONF || is_in_hdfs(entry->value))
		return find_path(describer, &where, entry->value, what);
	/* The origin is the file's path and, behind a colon, the line. */
	char *folder cleanup_free = fs_dirname(entry->origin);
	char *path cleanup_free = fs_join(folder, entry->value);
	return find_path(describer, &where, path, what);
}

/* Only where the job runs there, it matters whether it is there: place.c. */
static char *find_work_dir(const struct describer *describer)
{
	const char *path = conf_text(describer->conf, "tony.application.work-dir");

	return path ? fs_absolute(path, NULL) : NULL;
}

/* It lies beside the program where its user works, and makes gigabytes of a few small files. */
static void warn_of_environments(const struct describer *describer)
{
	const char *source = describer->out->src_dir;
	DIR *dir cleanup_dir = source ? opendir(source) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *mark cleanup_free = mem_printf("%s/%s/pyvenv.cfg", source, entry->d_name);
		if (entry->d_type != DT_LNK && fs_exists(mark))
			problems_warning(describer->problems,
					 "src_dir: %s/%s is a virtual environment, and would be "
					 "copied for every task; move it out of there, and name it "
					 "by --python_venv or activate it",
					 source, entry->d_name);
	}
}

/* "URI#NAME", as mapreduce.application.framework.path has it. */
static void add_distribution(const struct describer *describer, struct resource_list *list)
{
	static const char key[] = "tony.application.hadoop.location";
	const char *location = conf_text(describer->conf, key);
	const char *hash = location ? strrchr(location, '#') : NULL;
	struct resource_spec spec = {.archive = true, .remote = true};

	if (!location || !key_is_read(key_find(key, NULL), describer->job->scheduler))
		return;
	char *label cleanup_free = conf_locate(describer->conf, key);
	const struct place where = {label, source_of(describer, key)};
	if (!hash || !hash[1] || strchr(hash, '/')) {
		describe_error(describer, key,
			       "\"%s\" does not say what it is to be called; write URI#NAME",
			       location);
		return;
	}
	spec.source = mem_strndup(location, (size_t)(hash - location));
	spec.name = mem_strdup(hash + 1);
	check_remote(describer, &where, spec.source);
	if (is_new(describer, &where, list, &spec))
		resource_list_take(list, &spec);
	resource_finish(&spec);
}

void describe_resources(struct describer *describer)
{
	const struct job_options *options = describer->options;
	struct description *out = describer->out;
	struct job *job = describer->job;

	out->resources = mem_alloc_array(job->type_count, sizeof(*out->resources));
	for (size_t i = 0; i < job->type_count; i++) {
		char *own cleanup_free =
			describe_type_key(describer, job->types[i].name, "resources");
		add_resources(describer, own, &out->resources[i]);
		add_resources(describer, "tony.containers.resources", &out->resources[i]);
		add_distribution(describer, &out->resources[i]);
	}
	out->src_dir = find_source(describer);
	out->work_dir = find_work_dir(describer);
	warn_of_environments(describer);
	out->python_venv = find_path(describer, &(struct place){"--python_venv", PROBLEM_TYPED},
				     options->python_venv, "an archive or a directory");
	out->interpreter = describe_interpreter(options->python_venv, options->python_binary_path);
}
