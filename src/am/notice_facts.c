#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "am/notice.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/record.h"

/* Members of `job`, under the names that tony status --json has for them. */
static const char *const told[] = {
	"id",	 "name",	 "user",       "framework", "scheduler", "queue",      "tags",
	"state", "submitted_ms", "running_ms", "ended_ms",  "cause",	 "cause_task", "message",
};

static json_t *describe_job(const struct job_view *view)
{
	json_t *all cleanup_json = job_view_to_json(view), *job = json_object();
	char *page cleanup_free = job_portal_page(view->job);

	for (size_t i = 0; i < array_length(told); i++)
		if (json_object_get(all, told[i]))
			json_object_set(job, told[i], json_object_get(all, told[i]));
	/* Pages of a program's last words are for its log. */
	json_object_del(json_object_get(job, "cause"), "tail");
	json_set_int(job, "exit_code", job_state_exit_code(view->state));
	json_set_text(job, "portal_url", page);
	return job;
}

json_t *notice_facts(const struct job_view *view)
{
	const struct job *job = view->job;
	char *id cleanup_free = mem_printf("%s/end", job->id);
	char *text cleanup_free =
		mem_printf("%s (%s) %s%s%s", job->name, job->id, job_state_name(view->state),
			   view->state != JOB_SUCCEEDED && view->message ? ": " : "",
			   view->state != JOB_SUCCEEDED && view->message ? view->message : "");
	json_t *facts = json_object();

	json_set_text(facts, "id", id);
	json_set_text(facts, "event", "end");
	json_set_text(facts, "text", text);
	json_object_set_new(facts, "job", describe_job(view));
	return facts;
}

/* "submitted_ms" -> "TONY_JOB_SUBMITTED_MS". */
static void add_variable(struct str_list *environment, const char *name, const char *value)
{
	struct str variable cleanup_str = {0};

	str_append(&variable, "TONY_JOB_");
	for (; *name; name++)
		str_append_char(&variable, (char)toupper((unsigned char)*name));
	str_append_format(&variable, "=%s", value);
	str_list_add(environment, str_text(&variable));
}

static void add_list(struct str_list *environment, const char *name, const json_t *list)
{
	struct str text cleanup_str = {0};
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		str_append_format(&text, "%s%s", i > 0 ? "," : "", json_string_value(item));
	add_variable(environment, name, str_text(&text));
}

void notice_environment(const json_t *facts, struct str_list *environment)
{
	json_t *job = json_object_get(facts, "job"), *value;
	const char *name;

	str_list_add_format(environment, "TONY_NOTICE_ID=%s",
			    json_string_value(json_object_get(facts, "id")));
	json_object_foreach(job, name, value)
	{
		char *number cleanup_free = NULL;
		if (json_is_integer(value))
			number = mem_printf("%" PRId64, (int64_t)json_integer_value(value));
		if (json_is_array(value))
			add_list(environment, name, value);
		else if (!json_is_object(value))
			add_variable(environment, name, number ? number : json_string_value(value));
	}
}
