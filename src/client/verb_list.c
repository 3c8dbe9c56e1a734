#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/ended_jobs.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "client/verbs.h"

struct list_options {
	bool json;
	bool all;
};

static const struct opt options[] = {
	{.name = "all",
	 .letter = 'a',
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct list_options, all),
	 .help = "also the jobs that have ended"},
	{.name = "json",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct list_options, json),
	 .help = "as JSON (docs/json.md)"},
};

const struct opt_table verb_list_options = {
	.verb = "list",
	.usage = "tony list [OPTIONS]",
	.summary = "list the jobs that run",
	.options = options,
	.option_count = array_length(options),
};

static json_t *summary_to_json(const struct job_summary *job)
{
	json_t *object = json_object();

	json_set_text(object, "id", job->id);
	json_set_text(object, "name", job->name);
	json_set_text(object, "user", job->user);
	json_set_text(object, "framework", job->framework);
	json_set_text(object, "state", job_state_name(job->state));
	exit_code_set_member(object, job->state);
	json_set_int(object, "submitted_ms", job->submitted_ms);
	if (job->ended_ms > 0)
		json_set_int(object, "ended_ms", job->ended_ms);
	json_set_text(object, "message", job->message);
	return object;
}

static void print_json(const struct job_summary *const *jobs, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, summary_to_json(jobs[i]));
	report_json(list);
}

static void add_row(struct report_table *table, const struct job_summary *job, int64_t now)
{
	int64_t lasted = (job->ended_ms > 0 ? job->ended_ms : now) - job->submitted_ms;

	report_table_add(table, job->id);
	report_table_add(table, job_state_name(job->state));
	report_table_add(table, job->framework);
	report_table_take(table, str_format_duration(lasted > 0 ? lasted : 0));
	report_table_add_job(table, job->name, job->state, job->message);
}

static void print_table(const struct job_summary *const *jobs, size_t count)
{
	static const char *const headings[] = {"JOB", "STATE", "FRAMEWORK", "FOR", "NAME, CAUSE"};
	struct report_table table = {0};
	int64_t now = clock_wall_ms();

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < count; i++)
		add_row(&table, jobs[i], now);
	report_table_print(&table);
	report_table_finish(&table);
}

static void print_jobs(const struct list_options *chosen, const struct job_summary *jobs,
		       size_t count)
{
	const struct job_summary **shown cleanup_free = mem_alloc_array(count, sizeof(*shown));
	size_t shown_count = 0;

	for (size_t i = 0; i < count; i++)
		if (chosen->all || !job_state_is_final(jobs[i].state))
			shown[shown_count++] = &jobs[i];
	if (chosen->json)
		print_json(shown, shown_count);
	else if (shown_count > 0)
		print_table(shown, shown_count);
	else
		fputs(chosen->all ? "There is no job yet; tony submit starts one.\n"
				  : "No job runs; tony submit starts one, tony history lists those "
				    "that have ended.\n",
		      stderr);
}

/* Adds those of which nothing but their history is left. */
static int add_stored(struct job_summary **jobs, size_t *count, struct err *err)
{
	struct ended_jobs stored cleanup_ended_jobs = {0};
	struct map *known = map_create(NULL);

	if (ended_jobs_stored(&(struct ended_filter){0}, &stored, err) < 0) {
		map_destroy(known);
		return -1;
	}
	for (size_t i = 0; i < *count; i++)
		map_set(known, (*jobs)[i].id, known);
	*jobs = mem_realloc_array(*jobs, *count + stored.count + 1, sizeof(**jobs));
	for (size_t i = 0; i < stored.count; i++) {
		struct history_summary *job = &stored.items[i];
		if (map_get(known, job->id))
			continue;
		(*jobs)[(*count)++] = (struct job_summary){
			.id = mem_steal(&job->id),
			.name = mem_steal(&job->name),
			.user = mem_steal(&job->user),
			.framework = mem_steal(&job->framework),
			.state = job->state,
			.submitted_ms = job->submitted_ms,
			.ended_ms = job->ended_ms,
			.message = mem_steal(&job->message),
		};
	}
	map_destroy(known);
	schedulers_sort(*jobs, *count);
	return 0;
}

static int list(const struct list_options *chosen, struct err *err)
{
	struct job_summary *jobs;
	size_t count;

	if (schedulers_list(chosen->all ? 0 : INT64_MAX, &jobs, &count, err) < 0)
		return -1;
	int result = chosen->all ? add_stored(&jobs, &count, err) : 0;
	if (result == 0)
		print_jobs(chosen, jobs, count);
	job_summaries_free(jobs, count);
	return result;
}

int verb_list(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct list_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	int code;

	if (!report_parse(&verb_list_options, argc, argv, &chosen, &operands, &code))
		return code;
	if (report_no_operand(&verb_list_options, &operands, &err) < 0 || list(&chosen, &err) < 0)
		return report_error(&err);
	return EXIT_CODE_OK;
}
