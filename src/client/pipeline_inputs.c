#include "client/pipeline_inputs.h"

#include <errno.h>
#include <glob.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/program.h"
#include "client/report.h"
#include "scheduler/fetch.h"

struct inputs {
	const struct pipeline *pipeline;
	const struct pipeline_node *node;
	const struct description *description;
	const struct stage *stage;
	const struct str_list *before;
	struct str text; /* which is hashed: a line for each thing */
	struct err *err;
};

static void add(struct inputs *inputs, const char *what, const char *name, const char *value)
{
	/* Lengths, so that no two sets of inputs read alike. */
	str_append_format(&inputs->text, "%s %zu %zu %s %s\n", what, strlen(name), strlen(value),
			  name, value);
}

/* ---- the description ---------------------------------------------------------------------- */

/* When the job begins, and how people find it. */
static bool is_of_order(const char *key)
{
	static const char *const keys[] = {"tony.application.name",  "tony.application.tags",
					   "tony.application.after", "tony.application.begin",
					   "tony.application.hold",  "tony.application.priority"};

	for (size_t i = 0; i < array_length(keys); i++)
		if (str_equal(key, keys[i]))
			return true;
	return false;
}

static void add_keys(struct inputs *inputs)
{
	json_t *config = inputs->description->job->config;
	struct str_list keys cleanup_str_list = {0};
	const char *key;
	json_t *row;

	json_object_foreach(config, key, row)
	{
		if (!is_of_order(key))
			str_list_add(&keys, key);
	}
	str_list_sort(&keys);
	for (size_t i = 0; i < keys.count; i++) {
		const char *value = job_config_value(config, keys.items[i]);
		add(inputs, "key", keys.items[i], value ? value : "");
	}
}

/* The configuration has variables without their values. */
static void add_type(struct inputs *inputs, const struct job_type *type)
{
	add(inputs, "command", type->name, type->command ? type->command : "");
	for (size_t i = 0; i < type->environment.count; i++)
		add(inputs, "variable", type->name, type->environment.items[i]);
}

/* ---- files -------------------------------------------------------------------------------- */

static int add_content(struct inputs *inputs, const char *name, const char *path)
{
	char *hash cleanup_free = fs_hash_tree(path, inputs->err);

	if (!hash)
		return -1;
	add(inputs, "content", name, hash);
	return 0;
}

/* By length and time of change. `place`: a URL, which `name` stands for. */
static int add_measure(struct inputs *inputs, const char *name, const char *place)
{
	struct fetch_measure measure = {0};
	struct err missing cleanup_err = {0};

	int result = fetch_measure(inputs->description->job, place, &measure, &missing);
	if (result < 0 && missing.kind != ERR_NOT_FOUND)
		return err_copy(inputs->err, &missing);
	char *value cleanup_free =
		result < 0 ? mem_strdup("nothing")
			   : mem_printf("%lld bytes of %lld", (long long)measure.bytes,
					(long long)measure.newest_ms);
	add(inputs, "measure", name, value);
	return 0;
}

static int add_staged(struct inputs *inputs, const struct stage_file *file)
{
	add(inputs, "file", file->name ? file->name : "", stage_kind_name(file->kind));
	return fetch_is_needed(file->source) ? add_measure(inputs, file->source, file->source)
					     : add_content(inputs, file->source, file->source);
}

static int add_all_staged(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->stage->type_count; i++)
		for (size_t k = 0; k < inputs->stage->types[i].count; k++)
			if (add_staged(inputs, &inputs->stage->types[i].items[k]) < 0)
				return -1;
	return 0;
}

/* The job before stands for its results, which need not be there yet. */
static bool is_result(const struct inputs *inputs, const char *path)
{
	for (size_t i = 0; i < inputs->before->count; i++)
		if (strstr(path, strchr(inputs->before->items[i], '=') + 1))
			return true;
	return false;
}

static int add_named(struct inputs *inputs, const char *name)
{
	char *path cleanup_free = fs_join(inputs->description->job->work_dir, name);
	struct stat info;

	return is_result(inputs, path) || stat(path, &info) < 0 || !S_ISREG(info.st_mode)
		       ? 0
		       : add_content(inputs, name, path);
}

/* The files that the commands of a job name which runs in place: FILE and --data=FILE. */
static int add_words(struct inputs *inputs, const struct str_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i], *value = strchr(word, '=');
		if (add_named(inputs, word) < 0 || (value && add_named(inputs, value + 1) < 0))
			return -1;
	}
	return 0;
}

static int add_programs(struct inputs *inputs)
{
	const struct job *job = inputs->description->job;

	for (size_t i = 0; job->work_dir && i < job->type_count; i++) {
		struct str_list programs cleanup_str_list = {0}, arguments cleanup_str_list = {0};
		if (job->types[i].command)
			program_words(job->types[i].command, &programs, &arguments);
		if (add_words(inputs, &programs) < 0 || add_words(inputs, &arguments) < 0)
			return -1;
	}
	return 0;
}

/* ---- <input> ------------------------------------------------------------------------------ */

static int add_time(struct inputs *inputs, const char *path)
{
	char *whole cleanup_free = fs_absolute(path, inputs->err);
	char *place cleanup_free = whole ? mem_printf("file://%s", whole) : NULL;

	return place ? add_measure(inputs, path, place) : -1;
}

static int add_matches(struct inputs *inputs, const struct pipeline_input *input)
{
	glob_t found = {0};
	int result = 0, answer = glob(input->path, 0, NULL, &found);

	if (answer == GLOB_NOMATCH) {
		report_note("warning: %s:%d: input: nothing is at %s", inputs->pipeline->path,
			    input->line, input->path);
		add(inputs, "input", input->path, "nothing");
	} else if (answer != 0) {
		errno = answer == GLOB_NOSPACE ? ENOMEM : EIO;
		result = err_set_errno(inputs->err, "%s", input->path);
	}
	for (size_t i = 0; i < found.gl_pathc && result == 0; i++)
		result = input->by_content
				 ? add_content(inputs, found.gl_pathv[i], found.gl_pathv[i])
				 : add_time(inputs, found.gl_pathv[i]);
	globfree(&found);
	return result;
}

static int add_input(struct inputs *inputs, const struct pipeline_input *input)
{
	int result = fetch_is_needed(input->path) ? add_measure(inputs, input->path, input->path)
						  : add_matches(inputs, input);

	return result < 0
		       ? err_wrap(inputs->err, "%s:%d: input", inputs->pipeline->path, input->line)
		       : 0;
}

static int add_all_inputs(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->node->input_count; i++)
		if (add_input(inputs, &inputs->node->inputs[i]) < 0)
			return -1;
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

/* Half of a SHA-256: it is a tag, which people see. */
static char *hash_text(const struct str *text)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct str hex = {0};

	if (!EVP_Digest(text->text, text->length, digest, NULL, EVP_sha256(), NULL))
		BUG("SHA-256 does not work");
	for (size_t i = 0; i < 16; i++)
		str_append_format(&hex, "%02x", digest[i]);
	return str_steal(&hex);
}

char *pipeline_inputs_hash(const struct pipeline *pipeline, const struct pipeline_node *node,
			   const struct description *description, const struct stage *stage,
			   const struct str_list *before, struct err *err)
{
	const struct job *job = description->job;
	struct inputs inputs = {.pipeline = pipeline,
				.node = node,
				.description = description,
				.stage = stage,
				.before = before,
				.err = err};

	add_keys(&inputs);
	for (size_t i = 0; i < job->type_count; i++)
		add_type(&inputs, &job->types[i]);
	for (size_t i = 0; i < before->count; i++)
		add(&inputs, "before", "", before->items[i]);
	int result = add_all_staged(&inputs) < 0 || add_programs(&inputs) < 0 ||
				     add_all_inputs(&inputs) < 0
			     ? -1
			     : 0;
	char *hash = result == 0 ? hash_text(&inputs.text) : NULL;
	str_finish(&inputs.text);
	return hash;
}
