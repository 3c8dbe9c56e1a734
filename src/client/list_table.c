#include "client/list_table.h"

#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/report.h"

static json_t *job_json(const struct job_summary *job)
{
	json_t *object = json_object();

	json_set_text(object, "id", job->id);
	json_set_text(object, "name", job->name);
	json_set_text(object, "user", job->user);
	json_object_set_new(object, "own", json_boolean(!job->is_others && !job->is_claimed));
	json_set_text(object, "framework", job->framework);
	json_set_text(object, "scheduler", job->scheduler);
	json_set_text(object, "queue", job->queue);
	if (job->tags.count > 0)
		json_set_list(object, "tags", &job->tags);
	if (job->task_count > 0)
		json_set_int(object, "task_count", job->task_count);
	json_set_text(object, "state", job_state_name(job->state));
	exit_code_set_member(object, job->state);
	json_set_int(object, "submitted_ms", job->submitted_ms);
	if (job->ended_ms > 0)
		json_set_int(object, "ended_ms", job->ended_ms);
	json_set_text(object, "message", job->message);
	json_set_text(object, "waiting", job->waiting);
	json_set_text(object, "parent", job->parent);
	return object;
}

json_t *list_table_json(const struct job_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, job_json(&list->items[i]));
	return array;
}

static void add_details(struct report_table *table, const struct job_summary *job)
{
	report_table_add(table, job->user);
	report_table_add(table, job->scheduler);
	report_table_add(table, job->queue);
	report_table_take(
		table, job->task_count > 0 ? mem_printf("%lld", (long long)job->task_count) : NULL);
	report_table_take(table, str_list_join(&job->tags, ","));
	report_table_take(table, str_format_time(job->submitted_ms));
	report_table_take(table, job->ended_ms > 0 ? str_format_time(job->ended_ms) : NULL);
}

/* Whose each job is, is said unless all are this user's. */
static bool has_others(const struct job_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].is_others)
			return true;
	return false;
}

static void add_row(struct report_table *table, const struct job_summary *job, bool wide,
		    bool with_user, int64_t now_ms)
{
	int64_t lasted = (job->ended_ms > 0 ? job->ended_ms : now_ms) - job->submitted_ms;

	report_table_add(table, job->id);
	report_table_add(table, job_state_name(job->state));
	report_table_add(table, job->framework);
	report_table_take(table, str_format_duration(lasted > 0 ? lasted : 0));
	if (with_user && !wide)
		report_table_add(table, job->user);
	if (wide)
		add_details(table, job);
	char *waiting cleanup_free = job->waiting ? mem_printf("waiting: %s", job->waiting) : NULL;
	char *nested cleanup_free =
		job->parent ? mem_printf("%s (within %s)", job->name ? job->name : "-", job->parent)
			    : NULL;
	report_table_add_job(table, nested ? nested : job->name, job->state,
			     waiting ? waiting : job->message);
}

static void format_rows(const struct job_list *list, bool wide, int64_t now_ms, size_t width,
			struct str *out)
{
	static const char *const few[] = {"JOB", "STATE", "FRAMEWORK", "DURATION", "NAME, CAUSE"};
	static const char *const named[] = {"JOB",	"STATE", "FRAMEWORK",
					    "DURATION", "USER",	 "NAME, CAUSE"};
	static const char *const all[] = {"JOB",  "STATE",     "FRAMEWORK", "DURATION",
					  "USER", "ON",	       "QUEUE",	    "TASKS",
					  "TAGS", "SUBMITTED", "ENDED",	    "NAME, CAUSE"};
	struct report_table table = {0};

	bool with_user = has_others(list);

	report_table_begin(&table,
			   wide	       ? all
			   : with_user ? named
				       : few,
			   wide	       ? array_length(all)
			   : with_user ? array_length(named)
				       : array_length(few));
	for (size_t i = 0; i < list->count; i++)
		add_row(&table, &list->items[i], wide, with_user, now_ms);
	report_table_format(&table, width, out);
	report_table_finish(&table);
}

void list_table_format(const struct job_list *list, const struct list_form *form, int64_t now_ms,
		       size_t width, struct str *out)
{
	struct job_list folded cleanup_job_list = {0};
	bool folds = !form->each && job_list_has_families(list);

	if (folds)
		job_list_fold(list, &folded);
	format_rows(folds ? &folded : list, form->wide, now_ms, width, out);
}
