#include "client/history_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "job/job_family.h"

#define MS_PER_HOUR 3600000.0
#define MIB_PER_GIB 1024.0

struct sum {
	const char *name; /* the map's; "" : jobs without one */
	int64_t jobs, estimated;
	double gpu_hours, core_hours, memory_gib_hours;
};

struct sums {
	const char *by;
	struct map *rows;  /* of struct sum */
	int64_t estimated; /* jobs */
};

const char *const history_sums_by[] = {"user", "queue", "tag", NULL};

/* ---- adding ------------------------------------------------------------------------------- */

/* A history of a version before tony counted it, or of TonY's without events, tells how long the
 * job ran, and how many tasks it began with. */
static double container_hours(const struct history_summary *job, const struct history_type *type)
{
	if (type->container_ms >= 0)
		return (double)type->container_ms / MS_PER_HOUR;
	if (job->running_ms == 0 || job->ended_ms < job->running_ms)
		return 0;
	return (double)type->instances * (double)(job->ended_ms - job->running_ms) / MS_PER_HOUR;
}

static bool is_estimated(const struct history_summary *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].container_ms < 0)
			return true;
	return false;
}

static void add_job(struct sums *sums, const char *name, const struct history_summary *job)
{
	struct sum *sum = map_get(sums->rows, name);

	if (!sum) {
		sum = mem_alloc(sizeof(*sum));
		map_set(sums->rows, name, sum);
	}
	sum->jobs++;
	sum->estimated += is_estimated(job);
	for (size_t i = 0; i < job->type_count; i++) {
		const struct history_type *type = &job->types[i];
		double hours = container_hours(job, type);
		sum->gpu_hours += hours * type->gpus;
		sum->core_hours += hours * type->vcores;
		sum->memory_gib_hours += hours * (double)type->memory / MIB_PER_GIB;
	}
}

/* For each tag that its user gave it. */
static void add_to_tags(struct sums *sums, const struct history_summary *job)
{
	bool has_one = false;

	for (size_t i = 0; i < job->tags.count; i++) {
		if (job_family_gave(job->tags.items[i]))
			continue;
		add_job(sums, job->tags.items[i], job);
		has_one = true;
	}
	if (!has_one)
		add_job(sums, "", job);
}

static void add(void *data, const struct history_summary *job)
{
	struct sums *sums = data;

	sums->estimated += is_estimated(job);
	if (str_equal(sums->by, "user"))
		add_job(sums, job->user, job);
	else if (str_equal(sums->by, "queue"))
		add_job(sums, job->queue ? job->queue : "", job);
	else
		add_to_tags(sums, job);
}

/* ---- printing ----------------------------------------------------------------------------- */

static int most_first(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->gpu_hours != b->gpu_hours)
		return a->gpu_hours < b->gpu_hours ? 1 : -1;
	if (a->core_hours != b->core_hours)
		return a->core_hours < b->core_hours ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* The caller frees; the names stay the map's. */
static struct sum *sort_rows(const struct sums *sums, size_t *count)
{
	struct sum *rows = mem_alloc_array(map_count(sums->rows) + 1, sizeof(*rows));
	const char *name;
	void *value;

	*count = 0;
	for (size_t i = 0; map_next(sums->rows, &i, &name, &value);) {
		rows[*count] = *(const struct sum *)value;
		rows[(*count)++].name = name;
	}
	if (*count > 1)
		qsort(rows, *count, sizeof(*rows), most_first);
	return rows;
}

static void print_table(const struct sums *sums, const struct sum *rows, size_t count)
{
	char *by cleanup_free = mem_strdup(sums->by);
	struct report_table table = {0};

	for (char *c = by; *c; c++)
		*c = (char)(*c + 'A' - 'a');
	report_table_begin(
		&table, (const char *const[]){by, "JOBS", "GPU-HOURS", "CORE-HOURS", "GIB-HOURS"},
		5);
	for (size_t i = 0; i < count; i++) {
		report_table_add(&table, rows[i].name);
		report_table_take(&table, mem_printf("%lld", (long long)rows[i].jobs));
		report_table_take(&table, mem_printf("%.2f", rows[i].gpu_hours));
		report_table_take(&table, mem_printf("%.2f", rows[i].core_hours));
		report_table_take(&table, mem_printf("%.2f", rows[i].memory_gib_hours));
	}
	report_table_print(&table);
	report_table_finish(&table);
}

static void print_csv(const struct sums *sums, const struct sum *rows, size_t count)
{
	char *head cleanup_free = mem_printf(
		"%s,job_count,estimated_job_count,gpu_hours,core_hours,memory_gib_hours", sums->by);

	report_text(head);
	for (size_t i = 0; i < count; i++) {
		struct str line cleanup_str = {0};
		str_append_csv(&line, rows[i].name);
		str_append_format(&line, ",%lld,%lld,%.15g,%.15g,%.15g", (long long)rows[i].jobs,
				  (long long)rows[i].estimated, rows[i].gpu_hours,
				  rows[i].core_hours, rows[i].memory_gib_hours);
		report_text(line.text);
	}
}

static void print_json(const struct sums *sums, const struct sum *rows, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *row = json_object();
		if (*rows[i].name)
			json_set_text(row, sums->by, rows[i].name);
		json_set_int(row, "job_count", rows[i].jobs);
		json_set_int(row, "estimated_job_count", rows[i].estimated);
		json_object_set_new(row, "gpu_hours", json_real(rows[i].gpu_hours));
		json_object_set_new(row, "core_hours", json_real(rows[i].core_hours));
		json_object_set_new(row, "memory_gib_hours", json_real(rows[i].memory_gib_hours));
		json_array_append_new(list, row);
	}
	report_json(list);
}

static void tell(const struct sums *sums, const struct ended_jobs *jobs,
		 enum history_sums_form form)
{
	size_t count;
	struct sum *rows cleanup_free = sort_rows(sums, &count);

	if (form == HISTORY_SUMS_JSON)
		print_json(sums, rows, count);
	else if (form == HISTORY_SUMS_CSV)
		print_csv(sums, rows, count);
	else if (count > 0)
		print_table(sums, rows, count);
	else if (jobs->failure == ERR_NONE)
		fputs("No job has ended so.\n", stderr);
	fflush(stdout);
	if (sums->estimated > 0)
		report_note("of %lld job%s the histories do not have the time of containers: "
			    "counted is the job's run with the tasks that it began with",
			    (long long)sums->estimated, str_plural(sums->estimated));
	if (jobs->closed > 0)
		report_note("%zu job%s of other users cannot be read, and %s not counted",
			    jobs->closed, str_plural((int64_t)jobs->closed),
			    jobs->closed == 1 ? "is" : "are");
}

int history_sums_print(const struct ended_filter *filter, const char *by,
		       enum history_sums_form form, struct err *err)
{
	struct sums sums = {.by = by, .rows = map_create(free)};
	struct ended_filter each = *filter;
	struct ended_jobs jobs cleanup_ended_jobs = {0};

	each.visit = add;
	each.data = &sums;
	int result = ended_jobs_find(&each, &jobs, err);
	if (result == 0)
		tell(&sums, &jobs, form);
	map_destroy(sums.rows);
	if (result < 0)
		return -1;
	return jobs.failure == ERR_NONE ? EXIT_CODE_OK : (int)exit_code_of(jobs.failure);
}
