#include "client/framework_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "framework/framework.h"

#define FILE_KEY      "tony.framework.file"
#define FRAMEWORK_KEY "tony.application.framework"

/* The keys of its types, as those of any job file. */
static int check_settings(const struct definition *definition, struct err *err)
{
	for (size_t i = 0; i < definition->setting_count; i++) {
		const struct definition_setting *setting = &definition->settings[i];
		size_t length = strcspn(setting->pair, "=");
		char *name cleanup_free = mem_strndup(setting->pair, length);
		const struct key *key = key_find(name, NULL);
		if (!key || key->status != KEY_HONOURED)
			return err_set(err, ERR_CONFIG,
				       "%s:%d: <type>: there is no key %s that it could set; see "
				       "tony config keys",
				       definition->place, setting->line, name);
		if (key_check(key, setting->pair + length + 1, err) < 0)
			return err_wrap(err, "%s:%d: <type>: %s", definition->place, setting->line,
					name);
	}
	return 0;
}

static int check(const struct definition *definition, struct err *err)
{
	if (framework_find(definition->name))
		return err_set(err, ERR_CONFIG,
			       "%s: name=\"%s\" is a framework of tony's own; choose another name",
			       definition->place, definition->name);
	return check_settings(definition, err);
}

char *framework_file_read(const struct conf *conf, const struct job_options *options,
			  struct definition **definition, struct err *err)
{
	const char *path = conf_text(conf, FILE_KEY);
	bool is_earlier = path && options->earlier_framework &&
			  str_equal(path, job_config_value(options->earlier, FILE_KEY));
	char *text cleanup_free = NULL;

	*definition = NULL;
	if (!path)
		return NULL;
	text = is_earlier ? mem_strdup(options->earlier_framework)
			  : fs_read_file(path, DEFINITION_CAP, NULL, err);
	*definition = text ? definition_parse(text, path, err) : NULL;
	if (*definition && check(*definition, err) == 0)
		return mem_steal(&text);
	definition_free(*definition);
	*definition = NULL;
	return NULL;
}

/* The first of its types that the job has. */
static const char *find_chief(const struct job *job, const struct definition *definition)
{
	for (size_t i = 0; i < definition->chief.count; i++) {
		int type = job_find_type(job, definition->chief.items[i]);
		if (type >= 0 && job->types[type].instances > 0)
			return job->types[type].name;
	}
	return NULL;
}

void framework_file_describe(struct describer *describer)
{
	struct job *job = describer->job;
	struct err err cleanup_err = {0};
	struct definition *definition cleanup_definition = NULL;
	char *text cleanup_free =
		framework_file_read(describer->conf, describer->options, &definition, &err);

	if (err.kind != ERR_NONE) {
		describe_error(describer, FILE_KEY, "%s", err_message(&err));
		describer->problems->in_files = true; /* though its name may have been typed */
		return;
	}
	if (!text)
		return;
	const char *chosen = conf_text(describer->conf, FRAMEWORK_KEY);
	const char *chief = find_chief(job, definition);
	if (describe_is_users(describer->conf, FRAMEWORK_KEY) &&
	    !str_equal_nocase(chosen, definition->name))
		describe_error(describer, FRAMEWORK_KEY,
			       "\"%s\" and the framework \"%s\" of " FILE_KEY
			       " contradict; give one",
			       chosen, definition->name);
	if (!chief && !describer->single_node) {
		char *types cleanup_free = str_list_join(&definition->chief, ", ");
		describe_error(describer, FILE_KEY,
			       "%s: the job has no chief: it has no task of the type %s",
			       definition->place, types);
	}
	job->chief = mem_strdup(chief);
	mem_replace(&job->framework, mem_strdup(definition->name));
	job->framework_place = mem_strdup(definition->place);
	job->framework_file = mem_steal(&text);
}
