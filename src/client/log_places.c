#include "client/log_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

/* Of one attempt of a task; NULL: not known. */
struct attempt {
	char *container, *host;
};

struct log_places {
	const struct job *job;
	struct attempts {
		struct attempt *items;
		size_t count;
	} * tasks, am;
	size_t task_count;
};

static struct attempt *attempt_at(struct attempts *attempts, int64_t attempt)
{
	while ((int64_t)attempts->count < attempt) {
		attempts->items = mem_realloc_array(attempts->items, attempts->count + 1,
						    sizeof(*attempts->items));
		attempts->items[attempts->count++] = (struct attempt){0};
	}
	return &attempts->items[attempt - 1];
}

static void replace_text(const json_t *record, const char *member, char **text)
{
	const char *value = json_string_value(json_object_get(record, member));

	if (value)
		mem_replace(text, mem_strdup(value));
}

static void take_am(struct log_places *places, const json_t *record, int64_t attempt)
{
	const char *address = json_string_value(json_object_get(record, "address"));
	const char *colon = address ? strrchr(address, ':') : NULL;
	struct attempt *known = attempt_at(&places->am, attempt);

	replace_text(record, "container", &known->container);
	if (colon)
		mem_replace(&known->host, mem_strndup(address, (size_t)(colon - address)));
}

static void take_task(struct log_places *places, const json_t *record, int64_t attempt)
{
	const char *name = json_string_value(json_object_get(record, "task"));
	int64_t task = name ? job_find_task(places->job, name) : -1;

	if (task < 0)
		return;
	struct attempt *known = attempt_at(&places->tasks[task], attempt);
	replace_text(record, "container", &known->container);
	replace_text(record, "host", &known->host);
}

/* Records "am" and "task" (job/record.h): their members were checked when the view was made. */
static int visit(void *data, const struct journal_line *line, struct err *err)
{
	struct log_places *places = data;
	json_t *record cleanup_json = journal_line_record(line, err);
	const char *event = json_string_value(json_object_get(record, "ev"));
	int64_t attempt = json_integer_value(json_object_get(record, "attempt"));

	if (!record)
		return -1;
	if (attempt < 1 || attempt > INT32_MAX || !json_object_get(record, "container"))
		return 0;
	if (str_equal(event, "task"))
		take_task(places, record, attempt);
	else if (str_equal(event, "am"))
		take_am(places, record, attempt);
	return 0;
}

struct log_places *log_places_read(const struct opened *opened, struct err *err)
{
	struct log_places *places = mem_alloc(sizeof(*places));

	places->job = opened->view->job;
	places->task_count = opened->view->task_count;
	places->tasks = mem_alloc_array(places->task_count, sizeof(*places->tasks));
	if (!fs_exists(opened->journal_path) ||
	    journal_read(opened->journal_path, 1, visit, places, err) == 0)
		return places;
	log_places_destroy(places);
	return NULL;
}

static void attempts_finish(struct attempts *attempts)
{
	for (size_t i = 0; i < attempts->count; i++) {
		free(attempts->items[i].container);
		free(attempts->items[i].host);
	}
	free(attempts->items);
}

void log_places_destroy(struct log_places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < places->task_count; i++)
		attempts_finish(&places->tasks[i]);
	attempts_finish(&places->am);
	free(places->tasks);
	free(places);
}

void log_places_find(const struct log_places *places, int64_t task, struct log_place *place)
{
	const struct attempts *attempts = task < 0 ? &places->am : &places->tasks[task];

	if ((size_t)place->attempt > attempts->count)
		return;
	place->container = attempts->items[place->attempt - 1].container;
	place->host = attempts->items[place->attempt - 1].host;
}
