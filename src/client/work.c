#include "client/work.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { BAR_WIDTH = 20 };

static json_t *ask(const struct opened *opened, const char *path)
{
	struct str answer cleanup_str = {0};
	int status;

	if (opened->view->is_final || !opened->door.address || opened->is_silent ||
	    job_door_call(&opened->door, "GET", path, NULL, WORK_TIMEOUT_MS, &status, &answer,
			  NULL) < 0 ||
	    status != 200)
		return NULL;
	return json_parse(str_text(&answer), answer.length, NULL);
}

json_t *work_ask(const struct opened *opened)
{
	return ask(opened, "/v1/work");
}

void work_add_use(json_t *work, const struct opened *opened)
{
	json_t *answer cleanup_json = work ? ask(opened, "/v1/use") : NULL;

	if (answer)
		json_object_set(work, "use", json_object_get(answer, "tasks"));
}

static void append_bar(double done, struct str *text)
{
	str_append_char(text, '[');
	for (int i = 0; i < BAR_WIDTH; i++)
		str_append_char(text, i < (int)(done * BAR_WIDTH) ? '#' : '.');
	/* 0.29 is a little less in binary. */
	str_append_format(text, "] %d%%", (int)(done * 100 + 1e-6));
}

static void append_steps(const json_t *work, struct str *text)
{
	const int64_t least = json_integer_value(json_object_get(work, "least_step"));
	const int64_t most = json_integer_value(json_object_get(work, "most_step"));
	const json_t *steps = json_object_get(work, "steps");

	str_append(text, text->length > 0 ? ", " : "");
	if (least < most)
		str_append_format(text, "steps %" PRId64 " to %" PRId64, least, most);
	else
		str_append_format(text, "step %" PRId64, most);
	if (json_is_integer(steps))
		str_append_format(text, " of %" PRId64, (int64_t)json_integer_value(steps));
}

char *work_text(const json_t *work)
{
	const json_t *done = json_object_get(work, "done");
	struct str text = {0};

	if (json_is_number(done) && json_number_value(done) >= 0 && json_number_value(done) <= 1)
		append_bar(json_number_value(done), &text);
	if (json_is_integer(json_object_get(work, "least_step")))
		append_steps(work, &text);
	return text.length > 0 ? str_steal(&text) : NULL;
}

static int64_t number_of(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

static void append_trouble(const json_t *set, struct str *text)
{
	const char *trouble = json_string_value(json_object_get(set, "trouble"));

	if (trouble)
		str_append_format(text, ", not kept for an application master that follows (%s)",
				  trouble);
}

char *work_splits_text(const json_t *set)
{
	int64_t items = number_of(set, "items"), passes = number_of(set, "passes");
	int64_t splits = items * passes, done = number_of(set, "done");
	struct str text = {0};

	if (!json_is_true(json_object_get(set, "complete")))
		return mem_printf("%" PRId64 " splits listed so far", items);
	append_bar(splits > 0 ? (double)done / (double)splits : 1, &text);
	str_append_format(&text, ", %" PRId64 " of %" PRId64 " splits", done, splits);
	if (passes > 1)
		str_append_format(&text, ", pass %" PRId64 " of %" PRId64, number_of(set, "pass"),
				  passes);
	str_append_format(&text, ", %" PRId64 " leased", number_of(set, "leased"));
	append_trouble(set, &text);
	return str_steal(&text);
}

const json_t *work_use(const json_t *work, const char *task)
{
	return json_object_get(json_object_get(work, "use"), task);
}

const char *work_straggler(const json_t *work, const char *task)
{
	const json_t *straggler = json_object_get(json_object_get(work, "stragglers"), task);

	return json_string_value(json_object_get(straggler, "text"));
}
