#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/awaited.h"
#include "job/exit_rules.h"
#include "job/job_fields.h"

#define TOKEN_CAP 4096
#define LIST_CAP  100000 /* entries of any list of objects */

/* ---- small checks ------------------------------------------------------------------------- */

bool job_is_type_name(const char *name)
{
	if (*name < 'a' || *name > 'z')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/* Safe as one part of a path, and in a message. */
static bool is_id(const char *id)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

	return id[0] != '.' && id[0] != '-' && strspn(id, letters) == strlen(id);
}

/* Relative, and no part of it is "..". */
static bool is_inside(const char *path)
{
	if (*path == '\0' || *path == '/')
		return false;
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
			return false;
	}
	return true;
}

static bool is_uri(const char *text)
{
	size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

	return scheme > 1 && text[scheme] == ':';
}

static bool is_source(const char *text)
{
	return text[0] == '/' || is_uri(text);
}

/* 0 and the list in *list (NULL when absent). */
static int get_list(const json_t *object, const char *name, json_t **list, struct err *err)
{
	*list = json_object_get(object, name);
	if (!*list)
		return 0;
	if (!json_is_array(*list))
		return err_set(err, ERR_INPUT, "%s: is not a list", name);
	if (json_array_size(*list) > LIST_CAP)
		return err_set(err, ERR_INPUT, "%s: has more than %d entries", name, LIST_CAP);
	return 0;
}

static int read_type_index(const struct job *job, const char *name, size_t *index, struct err *err)
{
	int found = job_find_type(job, name);

	if (found < 0)
		return err_set(err, ERR_INPUT, "type: there is no type \"%.64s\"", name);
	*index = (size_t)found;
	return 0;
}

static int need_type(const struct job *job, const json_t *object, size_t *index, struct err *err)
{
	char *name cleanup_free = NULL;

	if (json_need_text(object, "type", &name, err) < 0)
		return -1;
	return read_type_index(job, name, index, err);
}

static int check_awaited(const char *name, const struct str_list *list, struct err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		struct awaited awaited cleanup_awaited = {0};
		if (awaited_parse(list->items[i], &awaited, err) < 0)
			return err_wrap(err, "%s[%zu]", name, i);
		if (!is_id(awaited.id))
			return err_set(err, ERR_INPUT, "%s[%zu]: \"%.64s\" is no job's id", name, i,
				       awaited.id);
	}
	return 0;
}

/* ---- types -------------------------------------------------------------------------------- */

static int read_file(const json_t *object, struct job_file *file, struct err *err)
{
	int kind = job_read_choice(object, "kind", job_file_kinds, err);

	if (kind < 0 || json_need_text(object, "source", &file->source, err) < 0 ||
	    json_need_text(object, "name", &file->name, err) < 0)
		return -1;
	file->kind = (enum job_file_kind)kind;
	if (!is_source(file->source))
		return err_set(err, ERR_INPUT, "source: is neither an absolute path nor a URI");
	if (!is_inside(file->name))
		return err_set(err, ERR_INPUT,
			       "name: \"%.256s\" leads out of the working directory", file->name);
	if (file->kind == JOB_FILE_LINK && strcmp(file->name, ".") == 0)
		return err_set(err, ERR_INPUT, "name: a link cannot be the working directory");
	return 0;
}

static int read_files(const json_t *object, struct job_files *files, struct err *err)
{
	json_t *list;

	if (get_list(object, "files", &list, err) < 0)
		return -1;
	files->items = mem_alloc_array(json_array_size(list), sizeof(*files->items));
	for (size_t i = 0; i < json_array_size(list); i++) {
		files->count = i + 1;
		if (read_file(json_array_get(list, i), &files->items[i], err) < 0)
			return err_wrap(err, "files[%zu]", i);
	}
	return 0;
}

static int check_on_exit(const struct job_type *type, struct err *err)
{
	if (type->on_exit.count > EXIT_RULES_MAX)
		return err_set(err, ERR_INPUT, "on_exit: has more than %d rules", EXIT_RULES_MAX);
	for (size_t i = 0; i < type->on_exit.count; i++)
		if (exit_rule_check(type->on_exit.items[i], err) < 0)
			return err_wrap(err, "on_exit[%zu]", i);
	return 0;
}

static int check_elastic(const struct job *job, const struct job_type *type, struct err *err)
{
	if (type->min_instances == 0 && type->max_instances == 0)
		return 0;
	if (type->min_instances < 1 || type->min_instances > type->instances ||
	    type->max_instances < type->instances || type->min_instances == type->max_instances)
		return err_set(
			err, ERR_INPUT,
			"min_instances: %d, instances: %d and max_instances: %d do not follow "
			"each other",
			type->min_instances, type->instances, type->max_instances);
	if (job->mode != JOB_MODE_GANG || type->role == JOB_ROLE_SIDECAR)
		return err_set(err, ERR_INPUT,
			       "min_instances: is not for a sidecar, nor for mode fcfs");
	return 0;
}

static int check_type(const struct job *job, size_t index, struct err *err)
{
	const struct job_type *type = &job->types[index];

	if (!job_is_type_name(type->name))
		return err_set(err, ERR_INPUT, "name: is not of the form [a-z][a-z0-9_-]*");
	if ((size_t)job_find_type(job, type->name) != index)
		return err_set(err, ERR_INPUT, "name: \"%s\" is there twice", type->name);
	if (type->instances > 0 && !type->command)
		return err_set(err, ERR_INPUT, "command: is missing");
	for (size_t i = 0; i < type->environment.count; i++) {
		if (strcspn(type->environment.items[i], "=") == 0)
			return err_set(err, ERR_INPUT, "environment[%zu]: has no name", i);
	}
	if (type->stdin_file && !is_source(type->stdin_file))
		return err_set(err, ERR_INPUT, "stdin_file: is neither an absolute path nor a URI");
	return check_elastic(job, type, err) < 0 ? -1 : check_on_exit(type, err);
}

static int read_type(struct job *job, const json_t *object, struct err *err)
{
	struct job_type *type = &job->types[job->type_count++];

	if (job_fields_read(job_type_fields, job_type_field_count, object, type, err) < 0 ||
	    check_type(job, job->type_count - 1, err) < 0)
		return -1;
	return read_files(object, &type->files, err);
}

static int read_types(struct job *job, const json_t *list, struct err *err)
{
	size_t count = json_array_size(list);

	if (count == 0 || count > JOB_MAX_TYPES)
		return err_set(err, ERR_INPUT, "types: %zu is not between 1 and %d", count,
			       JOB_MAX_TYPES);
	job->types = mem_alloc_array(count, sizeof(*job->types));
	for (size_t i = 0; i < count; i++)
		if (read_type(job, json_array_get(list, i), err) < 0)
			return err_wrap(err, "types[%zu]", i);
	size_t tasks = job_task_count(job);
	if (tasks == 0 || tasks > JOB_MAX_TASKS)
		return err_set(err, ERR_INPUT, "types: %zu tasks are not between 1 and %d", tasks,
			       JOB_MAX_TASKS);
	return 0;
}

/* ---- dependencies ------------------------------------------------------------------------- */

static int read_dependency(const struct job *job, const json_t *object,
			   struct job_dependency *dependency, struct err *err)
{
	if (need_type(job, object, &dependency->type, err) < 0)
		return -1;
	return json_read_bool(object, "on_start", &dependency->on_start, err);
}

static int read_dependencies(struct job *job, size_t index, const json_t *object, struct err *err)
{
	struct job_type *type = &job->types[index];
	json_t *list;

	if (get_list(object, "depends_on", &list, err) < 0)
		return -1;
	if (json_array_size(list) > job->type_count)
		return err_set(err, ERR_INPUT, "depends_on: has more entries than there are types");
	type->dependency_count = json_array_size(list);
	type->dependencies = mem_alloc_array(type->dependency_count, sizeof(*type->dependencies));
	for (size_t i = 0; i < type->dependency_count; i++)
		if (read_dependency(job, json_array_get(list, i), &type->dependencies[i], err) < 0)
			return err_wrap(err, "depends_on[%zu]", i);
	return 0;
}

enum visit { UNSEEN, ON_THE_WAY, DONE };

/* Recursion is bounded by JOB_MAX_TYPES. */
static int visit_type(const struct job *job, size_t index, enum visit *visits, struct err *err)
{
	const struct job_type *type = &job->types[index];

	if (visits[index] == DONE)
		return 0;
	if (visits[index] == ON_THE_WAY)
		return err_set(err, ERR_INPUT, "depends_on: %s waits for itself in a circle",
			       type->name);
	visits[index] = ON_THE_WAY;
	for (size_t i = 0; i < type->dependency_count; i++)
		if (visit_type(job, type->dependencies[i].type, visits, err) < 0)
			return -1;
	visits[index] = DONE;
	return 0;
}

static int read_all_dependencies(struct job *job, const json_t *list, struct err *err)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (read_dependencies(job, i, json_array_get(list, i), err) < 0)
			return err_wrap(err, "types[%zu]", i);
	enum visit *visits cleanup_free = mem_alloc_array(job->type_count, sizeof(*visits));
	for (size_t i = 0; i < job->type_count; i++)
		if (visit_type(job, i, visits, err) < 0)
			return -1;
	return 0;
}

/* ---- group timeouts ----------------------------------------------------------------------- */

static int read_members(const struct job *job, const json_t *object,
			struct job_group_timeout *timeout, struct err *err)
{
	struct str_list names cleanup_str_list = {0};

	if (json_read_list(object, "members", &names, err) < 0)
		return -1;
	if (names.count > job->type_count)
		return err_set(err, ERR_INPUT, "members: has more entries than there are types");
	timeout->member_count = names.count;
	timeout->members = mem_alloc_array(names.count, sizeof(*timeout->members));
	for (size_t i = 0; i < names.count; i++)
		if (read_type_index(job, names.items[i], &timeout->members[i], err) < 0)
			return err_wrap(err, "members[%zu]", i);
	return 0;
}

static int read_group_timeout(const struct job *job, const json_t *object,
			      struct job_group_timeout *timeout, struct err *err)
{
	if (need_type(job, object, &timeout->type, err) < 0 ||
	    json_need_text(object, "group", &timeout->group, err) < 0 ||
	    json_need_int(object, "timeout_ms", 0, INT64_MAX / 4, &timeout->timeout_ms, err) < 0 ||
	    json_read_bool(object, "ignored", &timeout->ignored, err) < 0)
		return -1;
	return read_members(job, object, timeout, err);
}

static int read_group_timeouts(struct job *job, const json_t *root, struct err *err)
{
	json_t *list;

	if (get_list(root, "group_timeouts", &list, err) < 0)
		return -1;
	size_t count = json_array_size(list);
	if (count > JOB_MAX_TYPES)
		return err_set(err, ERR_INPUT, "group_timeouts: has more than %d entries",
			       JOB_MAX_TYPES);
	job->group_timeouts = mem_alloc_array(count, sizeof(*job->group_timeouts));
	for (size_t i = 0; i < count; i++) {
		job->group_timeout_count = i + 1;
		if (read_group_timeout(job, json_array_get(list, i), &job->group_timeouts[i], err) <
		    0)
			return err_wrap(err, "group_timeouts[%zu]", i);
	}
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int read_config(struct job *job, const json_t *root, struct err *err)
{
	json_t *config = json_object_get(root, "config"), *entry;
	const char *key;

	if (!config)
		return 0;
	if (!json_is_object(config))
		return err_set(err, ERR_INPUT, "config: is not an object");
	json_object_foreach(config, key, entry)
	{
		if (!json_is_string(json_object_get(entry, "value")) ||
		    !json_is_string(json_object_get(entry, "origin")))
			return err_set(err, ERR_INPUT,
				       "config: \"%.128s\" lacks a value or an origin", key);
	}
	job->config = json_incref(config);
	return 0;
}

/* Its readers check what is in it. */
static int read_object(const json_t *root, const char *name, json_t **object, struct err *err)
{
	json_t *found = json_object_get(root, name);

	if (found && !json_is_object(found))
		return err_set(err, ERR_INPUT, "%s: is not an object", name);
	*object = json_incref(found);
	return 0;
}

/* Format 1 had one member "cluster", of YARN's and HDFS's facts; a local job had it, too, if its
 * history went to HDFS. */
static int read_cluster(struct job *job, const json_t *root, struct err *err)
{
	static const char *const shared[] = {"user", "connect_timeout_ms"};
	static const char *const of_hdfs[] = {"fs", "name_nodes", "webhdfs", "http_fs",
					      "authorities"};
	json_t *cluster cleanup_json = NULL;

	if (read_object(root, "cluster", &cluster, err) < 0)
		return -1;
	if (!cluster)
		return 0;
	json_t *engine = json_copy(cluster), *hdfs = json_object();
	for (size_t i = 0; i < array_length(shared); i++)
		json_object_set(hdfs, shared[i], json_object_get(cluster, shared[i]));
	for (size_t i = 0; i < array_length(of_hdfs); i++) {
		json_object_set(hdfs, of_hdfs[i], json_object_get(cluster, of_hdfs[i]));
		json_object_del(engine, of_hdfs[i]);
	}
	job->stores = json_pack("{s:o}", "hdfs", hdfs);
	if (str_equal(job->scheduler, "yarn"))
		job->engine = json_incref(engine);
	json_decref(engine);
	return 0;
}

static int read_job(struct job *job, const json_t *root, struct err *err)
{
	int64_t format = 0;
	json_t *types;

	if (json_need_int(root, "format", JOB_FORMAT_OLDEST, INT32_MAX, &format, err) < 0)
		return -1;
	if (format > JOB_FORMAT)
		return err_set(err, ERR_INPUT,
			       "format: %lld is of a newer version of tony than " TONY_VERSION
			       "; upgrade it",
			       (long long)format);
	if (job_fields_read(job_fields, job_field_count, root, job, err) < 0)
		return -1;
	if (!is_id(job->id))
		return err_set(err, ERR_INPUT, "id: is not of letters, digits, '.', '_' and '-'");
	if (job->work_dir && job->work_dir[0] != '/')
		return err_set(err, ERR_INPUT, "work_dir: is not an absolute path");
	if (check_awaited("after", &job->after, err) < 0 ||
	    check_awaited("array_earlier", &job->array_earlier, err) < 0)
		return -1;
	if (get_list(root, "types", &types, err) < 0 || read_types(job, types, err) < 0 ||
	    read_all_dependencies(job, types, err) < 0 || read_group_timeouts(job, root, err) < 0)
		return -1;
	if (job_secrets_read(root, &job->secrets, err) < 0 || read_config(job, root, err) < 0 ||
	    read_object(root, "provenance", &job->provenance, err) < 0 ||
	    read_object(root, "marks", &job->marks, err) < 0)
		return -1;
	if (format == 1)
		return read_cluster(job, root, err);
	return read_object(root, "engine", &job->engine, err) < 0
		       ? -1
		       : read_object(root, "stores", &job->stores, err);
}

struct job *job_from_text(const char *bytes, size_t length, struct err *err)
{
	if (length > JOB_JSON_CAP) {
		err_set(err, ERR_INPUT, "job.json: is larger than %u MiB", JOB_JSON_CAP >> 20);
		return NULL;
	}
	json_t *root cleanup_json = json_parse(bytes, length, err);
	struct job *job = mem_alloc(sizeof(*job));
	if (!root || read_job(job, root, err) < 0) {
		job_destroy(job);
		err_wrap(err, "job.json");
		return NULL;
	}
	return job;
}

struct job *job_read_file(const char *path, struct err *err)
{
	size_t length;
	char *text cleanup_secret = fs_read_file(path, JOB_JSON_CAP, &length, err);

	if (!text)
		return NULL;
	struct job *job = job_from_text(text, length, err);
	if (!job)
		err_wrap(err, "%s", path);
	return job;
}

char *job_read_token(const char *path, struct err *err)
{
	char *token = fs_read_secret(path, "the job's token", TOKEN_CAP, NULL, err);

	if (token)
		token[strcspn(token, " \t\r\n")] = '\0';
	return token;
}
