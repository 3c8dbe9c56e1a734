/* The members of one event. */
#include "base/json.h"
#include "base/mem.h"
#include "history/jhist_internal.h"

bool jhist_event_of(const json_t *record, struct jhist_event *event)
{
	const json_t *time = json_object_get(record, "timestamp");

	*event = (struct jhist_event){
		.kind = json_string_value(json_object_get(record, "type")),
		.body = json_object_get(record, "event"),
		.time_ms = json_integer_value(time),
	};
	return event->kind && json_is_object(event->body) && json_is_integer(time) &&
	       event->time_ms >= 0;
}

const char *jhist_event_text(const struct jhist_event *event, const char *member)
{
	return json_string_value(json_object_get(event->body, member));
}

int64_t jhist_event_task(const struct job *job, const struct jhist_event *event)
{
	const char *type = jhist_event_text(event, "taskType");
	json_int_t index = json_integer_value(json_object_get(event->body, "taskIndex"));
	char *name cleanup_free = type ? mem_printf("%s:%lld", type, (long long)index) : NULL;

	return name ? job_find_task(job, name) : -1;
}
