#include "client/kept_logs.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

/* Of one attempt of a task; NULL: not known. */
struct attempt {
	char *container, *host;
};

struct kept_logs {
	const struct job *job;
	struct job_logs *logs;
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

static void take_am(struct kept_logs *kept, const json_t *record, int64_t attempt)
{
	const char *address = json_string_value(json_object_get(record, "address"));
	const char *colon = address ? strrchr(address, ':') : NULL;
	struct attempt *known = attempt_at(&kept->am, attempt);

	replace_text(record, "container", &known->container);
	if (colon)
		mem_replace(&known->host, mem_strndup(address, (size_t)(colon - address)));
}

static void take_task(struct kept_logs *kept, const json_t *record, int64_t attempt)
{
	const char *name = json_string_value(json_object_get(record, "task"));
	int64_t task = name ? job_find_task(kept->job, name) : -1;

	if (task < 0)
		return;
	struct attempt *known = attempt_at(&kept->tasks[task], attempt);
	replace_text(record, "container", &known->container);
	replace_text(record, "host", &known->host);
}

/* Records "am" and "task" (job/record.h): their members were checked when the view was made. */
static int visit(void *data, const struct journal_line *line, struct err *err)
{
	struct kept_logs *kept = data;
	json_t *record cleanup_json = journal_line_record(line, err);
	const char *event = json_string_value(json_object_get(record, "ev"));
	int64_t attempt = json_integer_value(json_object_get(record, "attempt"));

	if (!record)
		return -1;
	if (attempt < 1 || attempt > INT32_MAX || !json_object_get(record, "container"))
		return 0;
	if (str_equal(event, "task"))
		take_task(kept, record, attempt);
	else if (str_equal(event, "am"))
		take_am(kept, record, attempt);
	return 0;
}

struct kept_logs *kept_logs_create(const struct opened *opened, struct err *err)
{
	struct kept_logs *kept = mem_alloc(sizeof(*kept));

	kept->job = opened->view->job;
	kept->task_count = opened->view->task_count;
	kept->tasks = mem_alloc_array(kept->task_count, sizeof(*kept->tasks));
	kept->logs = opened_logs(opened)(&opened->door, opened->view->job, err);
	if (kept->logs && (!fs_exists(opened->journal_path) ||
			   journal_read(opened->journal_path, 1, visit, kept, err) == 0))
		return kept;
	kept_logs_destroy(kept);
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

void kept_logs_destroy(struct kept_logs *kept)
{
	if (!kept)
		return;
	for (size_t i = 0; i < kept->task_count; i++)
		attempts_finish(&kept->tasks[i]);
	attempts_finish(&kept->am);
	free(kept->tasks);
	job_logs_destroy(kept->logs);
	free(kept);
}

bool kept_logs_has_ends(const struct kept_logs *kept)
{
	return kept->logs->has_ends;
}

static const struct attempt *find_attempt(const struct attempts *attempts, int attempt)
{
	return (size_t)attempt <= attempts->count ? &attempts->items[attempt - 1] : NULL;
}

struct job_log *kept_logs_open(struct kept_logs *kept, size_t task, int attempt, const char *name,
			       struct err *err)
{
	const struct attempt *known = find_attempt(&kept->tasks[task], attempt);

	if (known && known->container)
		return kept->logs->ops->open(kept->logs, known->container, known->host, name, err);
	err_set(err, ERR_NOT_FOUND, "attempt %d never got a container", attempt);
	return NULL;
}

struct job_log *kept_logs_open_am(struct kept_logs *kept, int attempt, struct err *err)
{
	const struct attempt *known = find_attempt(&kept->am, attempt);

	return kept->logs->ops->open_am(kept->logs, attempt, known ? known->container : NULL,
					known ? known->host : NULL, err);
}
