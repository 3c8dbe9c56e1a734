/* The effective configuration as it is kept with the job: it says the same wherever it is read, so
 * what the user wrote from the current directory is written whole. */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/describe_internal.h"

#define ALL_RESOURCES "tony.containers.resources"

static void set_value(json_t *config, const char *name, const char *value, const char *origin)
{
	json_t *row = json_object_get(config, name);

	if (!row) {
		row = json_object();
		json_set_text(row, "origin", origin);
		json_object_set_new(config, name, row);
	}
	json_object_del(row, "value");
	json_set_text(row, "value", value);
}

/* "data.csv::train.csv" -> "/home/alice/data.csv::train.csv". An item of another form has been
 * reported. */
static void add_whole(const struct describer *describer, const char *key, const char *item,
		      struct str *out)
{
	struct resource_spec spec = {0};
	char *source cleanup_free = NULL;
	bool is_resource = resource_parse(item, &spec, NULL) == 0;

	if (is_resource && describe_is_replaced(describer, key, &spec)) {
		resource_finish(&spec);
		return;
	}
	if (out->length > 0)
		str_append_char(out, ',');
	if (is_resource && !spec.remote && *spec.source != '/')
		source = fs_absolute(spec.source, NULL);
	if (source)
		str_append_format(out, "%s::%s%s", source, spec.name,
				  spec.archive ? "#archive" : "");
	else
		str_append(out, item);
	resource_finish(&spec);
}

static void record_resources(const struct describer *describer, json_t *config, const char *name)
{
	struct str_list items cleanup_str_list = {0};
	struct str whole cleanup_str = {0};

	key_read_list(key_find(name, NULL), job_config_value(config, name), &items);
	for (size_t i = 0; i < items.count; i++)
		add_whole(describer, name, items.items[i], &whole);
	set_value(config, name, str_text(&whole), NULL);
}

static void record_all_resources(const struct describer *describer, json_t *config)
{
	struct str_list names cleanup_str_list = {0};
	const char *name;
	json_t *row;

	json_object_foreach(config, name, row)
	{
		const struct key *key = key_find(name, NULL);
		if (key && key->type == KEY_RESOURCES && job_config_value(config, name))
			str_list_add(&names, name);
	}
	for (size_t i = 0; i < names.count; i++)
		record_resources(describer, config, names.items[i]);
}

/* No key says it: it is a resource by the name of venv. */
static void record_venv(json_t *config, const char *venv)
{
	const char *others = job_config_value(config, ALL_RESOURCES);
	char *all cleanup_free =
		mem_printf("%s%s%s::venv#archive", others ? others : "", others ? "," : "", venv);

	set_value(config, ALL_RESOURCES, all, "--python_venv");
}

void describe_record(struct describer *describer)
{
	const struct description *out = describer->out;
	json_t *config = describe_config(describer->conf, true);

	record_all_resources(describer, config);
	if (out->python_venv)
		record_venv(config, out->python_venv);
	if (out->src_dir)
		set_value(config, "tony.application.src-dir", out->src_dir, "--src_dir");
	if (describer->job->checkpoint_dir)
		set_value(config, "tony.application.checkpoint-dir", describer->job->checkpoint_dir,
			  NULL);
	if (describer->job->results_dir)
		set_value(config, "tony.application.output-dir", describer->job->results_dir, NULL);
	describer->job->config = config;
}

void describe_record_place(struct job *job)
{
	set_value(job->config, "tony.application.work-dir", job->work_dir, "the current directory");
}
