#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/ended_jobs.h"
#include "client/exit_code.h"
#include "client/history_sums.h"
#include "client/moment.h"
#include "client/prune.h"
#include "client/report.h"
#include "client/verbs.h"

enum { LAST = 20 };

struct history_options {
	bool json, csv, prunes;
	char *state, *user, *name, *since, *until, *sum_by, *location, *older_than, *max_size;
	int64_t last;
};

static const char *const states[] = {"succeeded", "failed", "killed", "running", NULL};

static const struct opt options[] = {
	OPT_ROW("last", struct history_options, last, "at most N jobs, the newest first (20)",
		.letter = 'n', .argument = "N", .min = 1, .max = 1000000),
	OPT_ROW("state", struct history_options, state,
		"only jobs that ended so; running: TonY's that have not", .argument = "STATE",
		.choices = states),
	OPT_ROW("user", struct history_options, user, "only this user's", .argument = "USER"),
	OPT_ROW("name", struct history_options, name, "only jobs whose name fits, such as 'mnist*'",
		.argument = "PATTERN"),
	OPT_ROW("since", struct history_options, since,
		"only jobs submitted since then: 2d ago, or 2026-11-21T06:14:11Z",
		.argument = "TIME"),
	OPT_ROW("until", struct history_options, until,
		"only jobs submitted before that, written as for --since", .argument = "TIME"),
	OPT_ROW("sum-by", struct history_options, sum_by,
		"in place of the jobs the hours of GPUs, cores and memory that they held, by user, "
		"queue or tag: one row for each",
		.argument = "WHAT", .choices = history_sums_by),
	OPT_ROW("csv", struct history_options, csv, "with --sum-by: as CSV"),
	OPT_ROW("location", struct history_options, location,
		"this history alone: a directory, hdfs://NAMESERVICE/PATH or s3://BUCKET/PATH",
		.argument = "PLACE", .completion = OPT_COMPLETE_DIRECTORY),
	OPT_ROW("prune", struct history_options, prunes,
		"remove the histories that are too old or too many, and list nothing"),
	OPT_ROW("older-than", struct history_options, older_than,
		"with --prune: how old is too old, in whole days, such as 30d "
		"(tony.history.retention-sec)",
		.argument = "AGE"),
	OPT_ROW("max-size", struct history_options, max_size,
		"with --prune: how much may be kept, such as 10g (tony.history.retention-size)",
		.argument = "SIZE"),
	OPT_ROW("json", struct history_options, json,
		"as JSON (docs/json.md), with the cause in full"),
};

static void print_json(const struct ended_jobs *jobs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < jobs->count; i++) {
		json_t *job = history_summary_to_json(&jobs->items[i]);
		exit_code_set_member(job, jobs->items[i].state);
		json_array_append_new(list, job);
	}
	report_json(list);
}

/* Whose each job is, is said unless all are this user's. */
static bool has_others(const struct ended_jobs *jobs)
{
	struct str_list own cleanup_str_list = {0};
	size_t i = 0;

	job_stores_own_names(&own);
	while (i < jobs->count && str_list_has(&own, jobs->items[i].user))
		i++;
	return i < jobs->count;
}

static void add_row(struct report_table *table, const struct history_summary *job, bool with_user)
{
	int64_t lasted = job->ended_ms - job->submitted_ms;
	char *ended cleanup_free = str_format_time(job->ended_ms);
	bool has_ended = job_state_is_final(job->state);

	ended[strlen("2026-11-21T06:14")] = '\0';
	report_table_add(table, job->id);
	report_table_add(table, job_state_name(job->state));
	report_table_add(table, has_ended ? ended : NULL);
	report_table_take(table, has_ended ? str_format_duration(lasted > 0 ? lasted : 0) : NULL);
	if (with_user)
		report_table_add(table, job->user);
	report_table_add_job(table, job->name, job->state, job->message);
}

static void print_table(const struct ended_jobs *jobs)
{
	static const char *const few[] = {"JOB", "STATE", "ENDED", "DURATION", "NAME, CAUSE"};
	static const char *const named[] = {"JOB",	"STATE", "ENDED",
					    "DURATION", "USER",	 "NAME, CAUSE"};
	bool with_user = has_others(jobs);
	struct report_table table = {0};

	report_table_begin(&table, with_user ? named : few,
			   with_user ? array_length(named) : array_length(few));
	for (size_t i = 0; i < jobs->count; i++)
		add_row(&table, &jobs->items[i], with_user);
	report_table_print(&table);
	report_table_finish(&table);
}

static bool has_filter(const struct history_options *chosen)
{
	return chosen->state || chosen->user || chosen->name || chosen->since || chosen->until;
}

/* One more was asked for than is shown. */
static bool cut(struct ended_jobs *jobs, size_t most)
{
	if (jobs->count <= most)
		return false;
	history_summary_finish(&jobs->items[--jobs->count]);
	return true;
}

static int read_filter(const struct history_options *chosen, struct ended_filter *filter,
		       struct err *err)
{
	*filter = (struct ended_filter){
		.location = chosen->location,
		.user = chosen->user,
		.name = chosen->name,
		.state = chosen->state,
	};
	if (chosen->since && moment_parse("--since", chosen->since, &filter->since_ms, err) < 0)
		return -1;
	return chosen->until ? moment_parse("--until", chosen->until, &filter->until_ms, err) : 0;
}

static int list(const struct history_options *chosen, struct err *err)
{
	struct ended_jobs jobs cleanup_ended_jobs = {0};
	struct ended_filter filter;
	size_t most = chosen->last > 0 ? (size_t)chosen->last : LAST;

	if (read_filter(chosen, &filter, err) < 0)
		return -1;
	filter.most = most + 1;
	filter.with_open = true;
	if (ended_jobs_find(&filter, &jobs, err) < 0)
		return -1;
	bool is_cut = cut(&jobs, most);
	if (chosen->json)
		print_json(&jobs);
	else if (jobs.count > 0)
		print_table(&jobs);
	else if (jobs.failure == ERR_NONE)
		fputs(has_filter(chosen)
			      ? "No job has ended so.\n"
			      : "No job has ended yet; tony list shows those that run.\n",
		      stderr);
	if (is_cut && !chosen->json) {
		fflush(stdout);
		fputs("There are older ones; see --last.\n", stderr);
	}
	if (jobs.closed > 0 && !chosen->json)
		report_note("%zu job%s of other users cannot be read", jobs.closed,
			    str_plural((int64_t)jobs.closed));
	return jobs.failure == ERR_NONE ? EXIT_CODE_OK : (int)exit_code_of(jobs.failure);
}

static int sum(const struct history_options *chosen, struct err *err)
{
	struct ended_filter filter;

	if (chosen->prunes || chosen->last > 0)
		return err_set(err, ERR_USAGE,
			       "--sum-by counts all jobs of its span, and removes none: leave out "
			       "--%s",
			       chosen->prunes ? "prune" : "last");
	if (chosen->csv && chosen->json)
		return err_set(err, ERR_USAGE, "--csv or --json: not both");
	if (read_filter(chosen, &filter, err) < 0)
		return -1;
	return history_sums_print(&filter, chosen->sum_by,
				  chosen->json	? HISTORY_SUMS_JSON
				  : chosen->csv ? HISTORY_SUMS_CSV
						: HISTORY_SUMS_TABLE,
				  err);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct history_options *chosen = data;

	if (chosen->sum_by)
		return sum(chosen, err);
	if (chosen->csv)
		return err_set(err, ERR_USAGE, "--csv is for --sum-by alone; the list has --json");
	if (chosen->prunes)
		return prune(chosen->location, chosen->older_than, chosen->max_size, chosen->json,
			     err);
	if (chosen->older_than || chosen->max_size)
		return err_set(err, ERR_USAGE,
			       "--older-than and --max-size say what --prune removes; without it "
			       "they mean nothing");
	return list(chosen, err);
}

const struct verb verb_history = {
	.options =
		{
			.verb = "history",
			.usage = "tony history [OPTIONS]",
			.summary = "list the jobs that have ended, and why",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct history_options),
	.operands = VERB_NONE,
	.run = run,
};
