#include "client/event_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"

static const char *text_of(const json_t *record, const char *name)
{
	const char *text = json_string_value(json_object_get(record, name));

	return text ? text : "";
}

static int64_t number_of(const json_t *record, const char *name)
{
	return json_integer_value(json_object_get(record, name));
}

/* Its state did not change. */
static void describe_job(const json_t *record, struct str *out)
{
	str_append_format(out, "job %s, retries %" PRId64 ", infrastructure retries %" PRId64,
			  text_of(record, "to"), number_of(record, "retries"),
			  number_of(record, "infrastructure_retries"));
}

/* Of a program that was stopped: its state did not change. */
static void describe_use(const json_t *record, struct str *out)
{
	char *cpu cleanup_free = str_format_duration(number_of(record, "used_cpu_ms"));
	int64_t bytes = number_of(record, "used_pss_bytes");
	char *memory cleanup_free =
		str_format_bytes(bytes > 0 ? bytes : number_of(record, "used_rss_bytes"));

	str_append_format(out, "%s used %s of CPU and %s of memory", text_of(record, "task"), cpu,
			  memory);
}

/* Its state did not change. */
static void describe_task(const json_t *record, struct str *out)
{
	bool is_up = json_is_true(json_object_get(record, "up"));
	bool has_ui = json_object_get(record, "ui_port") != NULL;
	bool blames = json_is_true(json_object_get(record, "blames_peer"));
	bool rejoins = json_is_true(json_object_get(record, "rejoin"));

	str_append_format(out, "%s %s", text_of(record, "task"),
			  has_ui    ? "serves its web interface"
			  : is_up   ? "process is up"
			  : blames  ? "waits for word of its peers"
			  : rejoins ? "is to be started anew"
				    : text_of(record, "to"));
}

/* Which of its lives the line is about, unless it is the first. */
static void append_life(const json_t *record, struct str *out)
{
	static const char *const numbers[] = {"epoch", "attempt", "restart"};
	static const char *const words[] = {"cluster start", "attempt", "restart"};
	static const int first[] = {1, 1, 0};
	const char *before = " (";

	for (size_t i = 0; i < array_length(numbers); i++) {
		int64_t number = number_of(record, numbers[i]);
		if (number <= first[i])
			continue;
		str_append_format(out, "%s%s %" PRId64, before, words[i], number);
		before = ", ";
	}
	if (*before == ',')
		str_append_char(out, ')');
}

/* "worker:0 exited with code 1: ValueError: no data", as tony status has it. */
static void append_cause(const json_t *record, struct str *out)
{
	const json_t *object = json_object_get(record, "cause");
	const char *task = text_of(record, "cause_task");
	struct cause cause = {0};

	if (object && cause_from_json(object, &cause, NULL) == 0) {
		char *sentence cleanup_free = cause_sentence(&cause);
		str_append_format(out, ": %s%s%s", task, *task ? " " : "", sentence);
	}
	cause_finish(&cause);
}

static void describe_change(const json_t *record, struct str *out)
{
	const char *task = text_of(record, "task");
	const char *from = text_of(record, "from");
	const char *to = text_of(record, "to");

	if (str_equal(from, to)) {
		if (*task && json_object_get(record, "used_ms"))
			describe_use(record, out);
		else if (*task)
			describe_task(record, out);
		else
			describe_job(record, out);
		append_life(record, out);
		return;
	}
	str_append_format(out, "%s %s", *task ? task : "job", to);
	append_life(record, out);
	/* A task that goes on after a failure, or is stopped later, still carries its cause. */
	if (!*task || str_equal(to, "failed") || str_equal(to, "lost"))
		append_cause(record, out);
}

/* The final record, repeated: "tony.application.on-end: the command exited with code 0". */
static void describe_notices(const json_t *notices, struct str *out)
{
	const json_t *notice;
	size_t i;

	json_array_foreach(notices, i, notice) str_append_format(
		out, "%s%s%s: %s", i > 0 ? "\n" : "",
		json_is_true(json_object_get(notice, "failed")) ? "warning: " : "",
		text_of(notice, "of"), text_of(notice, "text"));
}

static void describe_start(const json_t *record, struct str *out)
{
	struct str_list met cleanup_str_list = {0};

	json_read_list(record, "met", &met, NULL);
	char *jobs cleanup_free = str_list_join(&met, ", ");
	str_append_format(out, "%s%s%s%s",
			  json_object_get(record, "released") ? "the job is released" : "",
			  json_object_get(record, "released") && met.count > 0 ? "; " : "",
			  met.count > 0 ? "not waited for any more: " : "", jobs);
}

static void describe_event(const json_t *record, struct str *out)
{
	const char *event = text_of(record, "ev");
	const char *task = text_of(record, "task");

	if (str_equal(event, "task") || str_equal(event, "job"))
		describe_change(record, out);
	else if (str_equal(event, "am"))
		str_append_format(out, "application master at %s", text_of(record, "address"));
	else if (str_equal(event, "avoid"))
		str_append_format(out, "%s is avoided from now on", text_of(record, "host"));
	else if (str_equal(event, "start"))
		describe_start(record, out);
	else if (json_object_get(record, "history_trouble"))
		str_append_format(out, "warning: %s", text_of(record, "history_trouble"));
	else if (json_object_get(record, "notices"))
		describe_notices(json_object_get(record, "notices"), out);
	else if (str_equal(event, "final"))
		str_append_format(out, "end: %s: %s", text_of(record, "state"),
				  text_of(record, "message"));
	else if (str_equal(event, "waiting") && !*text_of(record, "text"))
		str_append(out, "nothing is waited for any more");
	else
		str_append_format(out, "%s%s%s: %s", event, *task ? " of " : "", task,
				  text_of(record, "text"));
}

/* The last words of programs must neither move the cursor nor look like an event: further lines are
 * indented. */
char *event_text(int64_t time_ms, const json_t *record)
{
	struct str text cleanup_str = {0};
	struct str_list lines cleanup_str_list = {0};
	char *time cleanup_free = str_format_time(time_ms);
	struct str out = {0};

	describe_event(record, &text);
	char *printable cleanup_free = str_printable(str_text(&text), text.length);
	str_split(&lines, printable, '\n');
	for (size_t i = 0; i < lines.count; i++)
		str_append_format(&out, "%s  %s\n", i == 0 ? time : "", lines.items[i]);
	return str_steal(&out);
}
