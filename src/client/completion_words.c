#include "client/completion_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "client/job_list.h"
#include "client/opened.h"
#include "client/schedulers.h"
#include "history/layout.h"
#include "scheduler/resources.h"

const char *completion_jobs_of(const struct opt_table *verb)
{
	static const char *const names[] = {
		[OPT_JOBS_ALL] = "all", [OPT_JOBS_LIVE] = "live", [OPT_JOBS_ENDED] = "ended"};

	return names[verb->jobs];
}

/* Each once, and none that a shell would take for several words. */
static void print_once(struct map *printed, const char *word)
{
	if (!word || !history_is_name(word) || map_get(printed, word))
		return;
	map_set(printed, word, printed);
	puts(word);
}

static int find_jobs(const char *of, struct job_list *list, struct err *err)
{
	const struct job_list_filter filter = {.live_only = str_equal(of, "live"),
					       .patience_ms = SCHEDULERS_PATIENCE_MS,
					       .own_only = true};

	return job_list_find(&filter, list, err);
}

static bool is_for(const char *of, const struct job_summary *job)
{
	return !str_equal(of, "ended") || job_state_is_final(job->state);
}

static int print_jobs(const char *of, struct err *err)
{
	struct job_list list cleanup_job_list = {0};
	struct map *printed = map_create(NULL);
	int result = find_jobs(of, &list, err);

	for (size_t i = 0; i < list.count; i++)
		if (is_for(of, &list.items[i]))
			print_once(printed, list.items[i].id);
	for (size_t i = 0; i < list.count; i++)
		if (is_for(of, &list.items[i]))
			print_once(printed, list.items[i].name);
	map_destroy(printed);
	return result;
}

static int print_tags(const char *of, struct err *err)
{
	struct job_list list cleanup_job_list = {0};
	struct map *printed = map_create(NULL);
	int result = find_jobs(of, &list, err);

	for (size_t i = 0; i < list.count; i++)
		for (size_t k = 0; is_for(of, &list.items[i]) && k < list.items[i].tags.count; k++)
			print_once(printed, list.items[i].tags.items[k]);
	map_destroy(printed);
	return result;
}

static int print_tasks(const char *job, struct err *err)
{
	struct opened opened cleanup_opened = {0};

	if (opened_find_any(&opened, job, err) < 0)
		return -1;
	for (size_t i = 0; i < opened.view->task_count; i++) {
		const struct task_view *task = &opened.view->tasks[i];
		char *name cleanup_free = job_task_name(opened.job, task->type, task->index);
		if (!task->dormant)
			puts(name);
	}
	return 0;
}

static int print_types(const char *job, struct err *err)
{
	struct opened opened cleanup_opened = {0};

	if (opened_find_any(&opened, job, err) < 0)
		return -1;
	for (size_t i = 0; i < opened.job->type_count; i++)
		puts(opened.job->types[i].name);
	return 0;
}

/* NULL: its words cannot be had soon. */
static const struct scheduler_client_ops *choose_scheduler(struct err *err)
{
	const struct scheduler_client_ops *ops = schedulers_choose(NULL, NULL, err);
	bool answers =
		ops && (!ops->traits->is_service || ops->answers(SCHEDULERS_PATIENCE_MS, err) == 0);

	return answers ? ops : NULL;
}

static int print_queues(const char *of, struct err *err)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};
	const struct scheduler_client_ops *ops = choose_scheduler(err);

	if (!ops || ops->queues(&queues, err) < 0)
		return -1;
	for (size_t i = 0; i < queues.count; i++)
		if (history_is_name(queues.items[i].name))
			puts(queues.items[i].name);
	return 0;
}

static int print_nodes(const char *of, struct err *err)
{
	struct scheduler_nodes nodes cleanup_scheduler_nodes = {0};
	const struct scheduler_client_ops *ops = choose_scheduler(err);

	if (!ops || ops->nodes(&nodes, err) < 0)
		return -1;
	for (size_t i = 0; i < nodes.count; i++)
		if (history_is_name(nodes.items[i].name))
			puts(nodes.items[i].name);
	return 0;
}

bool completion_words(const char *kind, const char *of, struct err *err)
{
	static const struct {
		const char *kind;
		int (*print)(const char *of, struct err *err);
	} kinds[] = {{"jobs", print_jobs},   {"tags", print_tags},     {"tasks", print_tasks},
		     {"types", print_types}, {"queues", print_queues}, {"nodes", print_nodes}};

	for (size_t i = 0; i < array_length(kinds); i++) {
		if (!str_equal(kinds[i].kind, kind))
			continue;
		kinds[i].print(of, err);
		return true;
	}
	return false;
}
