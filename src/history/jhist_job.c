/* A job out of TonY's configuration, and of the tasks that its events name. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/conf.h"
#include "history/jhist_internal.h"

#define HIDDEN "***"

struct building {
	struct job *job;
	const struct conf *conf;
};

/* ---- configuration ------------------------------------------------------------------------ */

/* TonY's file has all of Hadoop's configuration in it. */
static bool is_secret(const struct conf_entry *entry)
{
	static const char *const words[] = {"password", "secret", "credential", "access.key"};

	if (entry->key)
		return entry->key->secret;
	return str_has_any_nocase(entry->name, words, array_length(words));
}

static json_t *read_config(const struct conf *conf)
{
	json_t *config = json_object();
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);) {
		json_t *row = json_object();
		const char *value = entry->value ? entry->value : entry->raw;
		json_set_text(row, "value", is_secret(entry) ? HIDDEN : value);
		json_set_text(row, "origin", "tony-final.xml");
		char *name cleanup_free = str_printable(entry->name, strlen(entry->name));
		json_object_set_new(config, name, row);
	}
	return config;
}

/* ---- types -------------------------------------------------------------------------------- */

/* Room for `instances` tasks of the type, where a job may be so large. */
static void need_type(struct building *building, const char *name, int64_t instances)
{
	struct job *job = building->job;
	int number = job_find_type(job, name);
	int64_t before = number < 0 ? 0 : job->types[number].instances;
	int64_t total = (int64_t)job_task_count(job) - before;

	if (instances < before || instances > JOB_MAX_TASKS - total ||
	    (number < 0 && job->type_count == JOB_MAX_TYPES))
		return;
	if (number < 0) {
		const char *command = conf_text(building->conf, "tony.%s.command", name);
		number = (int)job->type_count++;
		job->types = mem_realloc_array(job->types, job->type_count, sizeof(*job->types));
		job->types[number] = (struct job_type){
			.name = mem_strdup(name),
			.processes = 1,
			.memory = conf_mib(building->conf, "tony.%s.memory", name),
			.vcores = (int)conf_int(building->conf, "tony.%s.vcores", name),
			.gpus = (int)conf_int(building->conf, "tony.%s.gpus", name),
			.command = mem_strdup(command ? command : ""),
		};
	}
	job->types[number].instances = (int)instances;
}

/* "tony.worker.instances" */
static void take_configured(struct building *building)
{
	static const char head[] = "tony.", tail[] = ".instances";
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(building->conf, &i, &entry);) {
		const char *start = entry->name + strlen(head);
		if (!str_starts_with(entry->name, head) || !str_ends_with(entry->name, tail) ||
		    strlen(entry->name) <= strlen(head) + strlen(tail))
			continue;
		size_t length = strlen(start) - strlen(tail);
		char *type cleanup_free = mem_strndup(start, length);
		if (key_is_task_type(type))
			need_type(building, type, conf_int(building->conf, "%s", entry->name));
	}
}

static void take_named(struct building *building, const json_t *records)
{
	const json_t *record;
	size_t i;

	json_array_foreach(records, i, record)
	{
		struct jhist_event event;
		if (!jhist_event_of(record, &event))
			continue;
		const char *type = jhist_event_text(&event, "taskType");
		json_int_t index = json_integer_value(json_object_get(event.body, "taskIndex"));
		if (type && key_is_task_type(type) && index >= 0 && index < JOB_MAX_TASKS)
			need_type(building, type, index + 1);
	}
}

/* ------------------------------------------------------------------------------------------- */

static char *lower(const char *text)
{
	char *copy = mem_strdup(text ? text : "");

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

static void fill(struct job *job, const struct conf *conf, const struct jhist_name *name)
{
	*job = (struct job){
		.id = mem_strdup(name->id),
		.name = mem_strdup(conf_text(conf, "tony.application.name")),
		.user = mem_strdup(name->user),
		.framework = lower(conf_text(conf, "tony.application.framework")),
		.scheduler = mem_strdup("yarn"),
		.queue = mem_strdup(conf_text(conf, "tony.application.queue")),
		.submitted_ms = name->started_ms,
		.heartbeat_interval_ms = 1000,
		.max_missed_heartbeats = 1,
		.config = read_config(conf),
	};
	conf_list(conf, &job->tags, "tony.application.tags");
}

/* What does not fit into a description of tony's is no job. */
static struct job *check(struct job *job, const char *name, struct err *err)
{
	char *text cleanup_free = job_to_text(job);
	struct job *checked = job_from_text(text, strlen(text), err);

	if (!checked)
		err_wrap(err, "%s: cannot be told as a job", name);
	job_destroy(job);
	return checked;
}

struct job *jhist_job(const struct jhist_source *source, const struct jhist_name *name,
		      const json_t *records, struct err *err)
{
	struct conf *conf cleanup_conf = conf_create();
	struct job *job = mem_alloc(sizeof(*job));
	struct building building = {job, conf};

	/* A job whose configuration is damaged or missing is shown without. */
	if (source->config)
		conf_load_bytes(conf, CONF_LAYER_FILE, NULL, source->config, source->config_length,
				NULL);
	conf_resolve(conf, true);
	fill(job, conf, name);
	take_configured(&building);
	take_named(&building, records);
	if (job->type_count == 0)
		need_type(&building, "worker", 1); /* a job has a task */
	return check(job, source->name, err);
}
