#include "client/kept_logs.h"

#include <stdlib.h>

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
	struct task_attempts {
		struct attempt *items;
		size_t count;
	} * tasks;
	size_t task_count;
};

static struct attempt *attempt_at(struct kept_logs *kept, size_t task, int64_t attempt)
{
	struct task_attempts *attempts = &kept->tasks[task];

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

/* Record "task" (job/record.h): its members were checked when the view was made. */
static int visit(void *data, const struct journal_line *line, struct err *err)
{
	struct kept_logs *kept = data;
	json_t *record cleanup_json = journal_line_record(line, err);
	const char *name = json_string_value(json_object_get(record, "task"));
	int64_t attempt = json_integer_value(json_object_get(record, "attempt"));

	if (!record)
		return -1;
	if (!str_equal(json_string_value(json_object_get(record, "ev")), "task") || !name ||
	    attempt < 1 || attempt > INT32_MAX || !json_object_get(record, "container"))
		return 0;
	int64_t task = job_find_task(kept->job, name);
	if (task < 0)
		return 0;
	struct attempt *known = attempt_at(kept, (size_t)task, attempt);
	replace_text(record, "container", &known->container);
	replace_text(record, "host", &known->host);
	return 0;
}

struct kept_logs *kept_logs_create(const struct opened *opened, struct err *err)
{
	struct kept_logs *kept = mem_alloc(sizeof(*kept));

	kept->job = opened->job;
	kept->task_count = opened->view->task_count;
	kept->tasks = mem_alloc_array(kept->task_count, sizeof(*kept->tasks));
	kept->logs = opened->ops->logs(&opened->door, opened->job, err);
	if (kept->logs && (!fs_exists(opened->journal_path) ||
			   journal_read(opened->journal_path, 1, visit, kept, err) == 0))
		return kept;
	kept_logs_destroy(kept);
	return NULL;
}

void kept_logs_destroy(struct kept_logs *kept)
{
	if (!kept)
		return;
	for (size_t i = 0; i < kept->task_count; i++) {
		for (size_t j = 0; j < kept->tasks[i].count; j++) {
			free(kept->tasks[i].items[j].container);
			free(kept->tasks[i].items[j].host);
		}
		free(kept->tasks[i].items);
	}
	free(kept->tasks);
	job_logs_destroy(kept->logs);
	free(kept);
}

struct job_log *kept_logs_open(struct kept_logs *kept, size_t task, int attempt, const char *name,
			       struct err *err)
{
	const struct attempt *known = (size_t)attempt <= kept->tasks[task].count
					      ? &kept->tasks[task].items[attempt - 1]
					      : NULL;

	if (known && known->container)
		return kept->logs->ops->open(kept->logs, known->container, known->host, name, err);
	err_set(err, ERR_NOT_FOUND, "attempt %d never got a container", attempt);
	return NULL;
}
