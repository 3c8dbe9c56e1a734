#include "history/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "history/layout.h"
#include "job/cause_json.h"
#include "job/job_fields.h"

#define TEXT_CAP  4096
#define COUNT_CAP INT32_MAX
#define CPU_CAP	  1000000000 /* percent */

#define SUMMARY(member) #member, .offset = offsetof(struct history_summary, member)
#define TYPE(member)	#member, .offset = offsetof(struct history_type, member)

static const struct job_field fields[] = {
	{SUMMARY(id), .kind = FIELD_TEXT, .min = 1, .max = HISTORY_ID_CAP},
	{SUMMARY(name), .kind = FIELD_TEXT, .max = TEXT_CAP},
	{SUMMARY(user), .kind = FIELD_TEXT, .max = 256},
	{SUMMARY(framework), .kind = FIELD_TEXT, .max = 64},
	{SUMMARY(scheduler), .kind = FIELD_OPTIONAL_TEXT, .max = 64},
	{SUMMARY(queue), .kind = FIELD_OPTIONAL_TEXT, .max = TEXT_CAP},
	{SUMMARY(tags), .kind = FIELD_LIST, .max = TEXT_CAP},
	{SUMMARY(submitted_ms), .kind = FIELD_INT64, .max = INT64_MAX},
	{SUMMARY(begun_ms), .kind = FIELD_INT64, .max = INT64_MAX},
	{SUMMARY(forming_ms), .kind = FIELD_KNOWN_INT64, .max = INT64_MAX},
	{SUMMARY(running_ms), .kind = FIELD_INT64, .max = INT64_MAX},
	{SUMMARY(ended_ms), .kind = FIELD_INT64, .max = INT64_MAX},
	{SUMMARY(epoch), .kind = FIELD_INT, .max = COUNT_CAP},
	{SUMMARY(retries), .kind = FIELD_INT, .max = COUNT_CAP},
	{SUMMARY(infrastructure_retries), .kind = FIELD_INT, .max = COUNT_CAP},
	{SUMMARY(am_attempt), .kind = FIELD_INT, .max = COUNT_CAP},
	{SUMMARY(message), .kind = FIELD_OPTIONAL_TEXT, .max = 65536},
	{SUMMARY(cause_task), .kind = FIELD_OPTIONAL_TEXT, .max = 128},
	{SUMMARY(task_count), .kind = FIELD_INT64, .max = COUNT_CAP},
	{SUMMARY(bytes), .kind = FIELD_INT64, .max = INT64_MAX},
	{SUMMARY(view_acl), .kind = FIELD_OPTIONAL_TEXT, .max = 65536},
};

static const struct job_field type_fields[] = {
	{TYPE(name), .kind = FIELD_TEXT, .min = 1, .max = 64},
	{TYPE(instances), .kind = FIELD_INT, .max = COUNT_CAP},
	{"memory_mib", .kind = FIELD_INT64, .offset = offsetof(struct history_type, memory),
	 .max = INT64_MAX},
	{TYPE(vcores), .kind = FIELD_INT, .max = COUNT_CAP},
	{TYPE(gpus), .kind = FIELD_INT, .max = COUNT_CAP},
	/* Figures: 0 in a summary of a version that did not have them. */
	{TYPE(max_rss_bytes), .kind = FIELD_KNOWN_INT64, .max = INT64_MAX},
	{TYPE(max_pss_bytes), .kind = FIELD_KNOWN_INT64, .max = INT64_MAX},
	{TYPE(p95_rss_bytes), .kind = FIELD_KNOWN_INT64, .max = INT64_MAX},
	{TYPE(longest_silence_ms), .kind = FIELD_KNOWN_INT64, .max = INT64_MAX},
	{TYPE(late_beats), .kind = FIELD_KNOWN_INT64, .max = INT64_MAX},
};

void history_summary_finish(struct history_summary *summary)
{
	job_fields_finish(fields, array_length(fields), summary);
	cause_finish(&summary->cause);
	for (size_t i = 0; i < summary->type_count; i++)
		job_fields_finish(type_fields, array_length(type_fields), &summary->types[i]);
	free(summary->types);
	free(summary->owner);
	*summary = (struct history_summary){0};
}

/* ---- out of a job ------------------------------------------------------------------------- */

static void take_types(const struct job_view *view, struct history_summary *summary)
{
	const struct job *job = view->job;

	summary->type_count = job->type_count;
	summary->types = mem_alloc_array(job->type_count, sizeof(*summary->types));
	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		summary->types[i] = (struct history_type){
			.name = mem_strdup(type->name),
			.instances = type->instances,
			.memory = type->memory,
			.vcores = type->vcores,
			.gpus = type->gpus,
			.average_cpu_percent = -1,
			.average_gpu_percent = -1,
			.container_ms = view->sequence > 0 ? view->types[i].container_ms : -1,
		};
	}
}

static void take_cause(const struct job_view *view, struct history_summary *summary)
{
	cause_copy(&summary->cause, &view->cause);
	if (view->cause.kind == CAUSE_NONE || view->cause_task < 0)
		return;
	const struct task_view *task = &view->tasks[view->cause_task];
	summary->cause_task = job_task_name(view->job, task->type, task->index);
}

void history_summary_of(const struct job_view *view, struct history_summary *summary)
{
	const struct job *job = view->job;

	*summary = (struct history_summary){
		.id = mem_strdup(job->id),
		.name = mem_strdup(job->name),
		.user = mem_strdup(job->user),
		.framework = mem_strdup(job->framework),
		.scheduler = mem_strdup(job->scheduler ? job->scheduler : "local"),
		.queue = mem_strdup(job->queue),
		.submitted_ms = job->submitted_ms,
		.begun_ms = view->begun_ms,
		.forming_ms = view->forming_ms,
		.running_ms = view->running_ms,
		.ended_ms = view->ended_ms,
		.state = view->state,
		.epoch = view->epoch,
		.retries = view->retries,
		.infrastructure_retries = view->infrastructure_retries,
		.am_attempt = view->am_attempt,
		.message = mem_strdup(view->message),
		.task_count = job_view_wanted(view),
		.view_acl = mem_strdup(job_view_acl(job)),
	};
	str_list_copy(&summary->tags, &job->tags);
	take_cause(view, summary);
	take_types(view, summary);
}

/* ---- writing ------------------------------------------------------------------------------ */

static void set_known(json_t *object, const char *name, int64_t value)
{
	if (value >= 0)
		json_set_int(object, name, value);
}

static json_t *write_types(const struct history_summary *summary)
{
	json_t *list = json_array();

	for (size_t i = 0; i < summary->type_count; i++) {
		const struct history_type *type = &summary->types[i];
		json_t *object = json_object();
		job_fields_write(type_fields, array_length(type_fields), type, object);
		set_known(object, "average_cpu_percent", type->average_cpu_percent);
		set_known(object, "average_gpu_percent", type->average_gpu_percent);
		set_known(object, "container_ms", type->container_ms);
		json_array_append_new(list, object);
	}
	return list;
}

json_t *history_summary_to_json(const struct history_summary *summary)
{
	json_t *object = json_object();

	json_set_int(object, "format", HISTORY_SUMMARY_FORMAT);
	job_fields_write(fields, array_length(fields), summary, object);
	json_set_text(object, "state", job_state_name(summary->state));
	cause_set_member(object, &summary->cause);
	json_object_set_new(object, "types", write_types(summary));
	return object;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int read_known(const json_t *row, struct history_type *type, struct err *err)
{
	type->average_cpu_percent = type->average_gpu_percent = type->container_ms = -1;
	if (json_read_int(row, "average_cpu_percent", 0, CPU_CAP, &type->average_cpu_percent, err) <
		    0 ||
	    json_read_int(row, "container_ms", 0, INT64_MAX, &type->container_ms, err) < 0)
		return -1;
	return json_read_int(row, "average_gpu_percent", 0, CPU_CAP, &type->average_gpu_percent,
			     err);
}

static int read_types(const json_t *object, struct history_summary *summary, struct err *err)
{
	const json_t *list = json_object_get(object, "types");
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count > JOB_MAX_TYPES)
		return err_set(err, ERR_INPUT, "types: is not a list of at most %d", JOB_MAX_TYPES);
	summary->types = mem_alloc_array(count, sizeof(*summary->types));
	summary->type_count = count;
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(list, i);
		struct history_type *type = &summary->types[i];
		if (job_fields_read(type_fields, array_length(type_fields), row, type, err) < 0 ||
		    read_known(row, type, err) < 0)
			return err_wrap(err, "types[%zu]", i);
	}
	return 0;
}

static int read_state(const json_t *object, struct history_summary *summary, struct err *err)
{
	char *text cleanup_free = NULL;

	if (json_need_text(object, "state", &text, err) < 0)
		return -1;
	int state = job_state_parse(text);
	if (state < 0 || !job_state_is_final((enum job_state)state))
		return err_set(err, ERR_INPUT, "state: \"%.64s\" is no end of a job", text);
	summary->state = (enum job_state)state;
	return 0;
}

/* Summaries that were written before have it by the name "tasks". */
static void rename_task_count(json_t *object)
{
	json_t *count = json_object_get(object, "tasks");

	if (count && !json_object_get(object, "task_count"))
		json_object_set(object, "task_count", count);
}

static int read_members(const json_t *object, struct history_summary *summary, struct err *err)
{
	const json_t *cause = json_object_get(object, "cause");
	int64_t format = 0;

	if (json_need_int(object, "format", 1, INT32_MAX, &format, err) < 0)
		return -1;
	if (format != HISTORY_SUMMARY_FORMAT)
		return err_set(err, ERR_INPUT, "format: %lld is of another version of tony",
			       (long long)format);
	if (job_fields_read(fields, array_length(fields), object, summary, err) < 0 ||
	    read_state(object, summary, err) < 0 || read_types(object, summary, err) < 0)
		return -1;
	if (!history_is_id(summary->id))
		return err_set(err, ERR_INPUT, "id: \"%.64s\" cannot be a job's", summary->id);
	if (cause && cause_from_json(cause, &summary->cause, err) < 0)
		return err_wrap(err, "cause");
	return 0;
}

int history_summary_from_text(const char *bytes, size_t length, struct history_summary *summary,
			      struct err *err)
{
	struct history_summary read = {0};

	if (length > HISTORY_SUMMARY_CAP)
		return err_set(err, ERR_INPUT, "is larger than %u bytes", HISTORY_SUMMARY_CAP);
	json_t *object cleanup_json = json_parse(bytes, length, err);
	if (!object)
		return -1;
	rename_task_count(object);
	if (read_members(object, &read, err) < 0) {
		history_summary_finish(&read);
		return -1;
	}
	*summary = read;
	return 0;
}
