#include "portal/comparison.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/job.h"
#include "job/series_text.h"

/* In the order of the answer: what came of the runs, what was different, and what always is. */
enum group { METRICS, ENVIRONMENT, CONFIGURATION, SUMMARY, TYPES, GROUPS };

static const char *const group_names[GROUPS] = {"metrics", "environment", "configuration",
						"summary", "types"};

struct table {
	json_t *groups[GROUPS]; /* key -> row */
	size_t runs;
};

/* The first value of a run at this key stays. */
static void put(struct table *table, enum group group, const char *key, const char *unit,
		size_t run, json_t *value)
{
	json_t *row = json_object_get(table->groups[group], key), *values;

	if (!row) {
		row = json_object();
		json_set_text(row, "group", group_names[group]);
		json_set_text(row, "key", key);
		json_set_text(row, "unit", unit);
		values = json_array();
		for (size_t i = 0; i < table->runs; i++)
			json_array_append_new(values, json_null());
		json_object_set_new(row, "values", values);
		json_object_set_new(table->groups[group], key, row);
	}
	values = json_object_get(row, "values");
	if (json_is_null(json_array_get(values, run)) && value &&
	    (json_is_string(value) || json_is_number(value)))
		json_array_set(values, run, value);
}

/* A number that is not known keeps the place of the row. */
static void put_int(struct table *table, const char *key, const char *unit, size_t run,
		    bool is_known, int64_t value)
{
	json_t *number cleanup_json = is_known ? json_integer(value) : json_null();

	put(table, SUMMARY, key, unit, run, number);
}

/* ---- what it came to ---------------------------------------------------------------------- */

static int64_t number_of(const json_t *object, const char *name)
{
	return (int64_t)json_integer_value(json_object_get(object, name));
}

static void put_summary(struct table *table, size_t run, const json_t *job)
{
	static const struct {
		const char *key, *member, *unit;
	} rows[] = {
		{"State", "state", NULL},
		{"Job", "id", NULL},
		{"Name", "name", NULL},
		{"User", "user", NULL},
		{"Queue", "queue", NULL},
		{"Framework", "framework", NULL},
		{"Submitted", "submitted_ms", "time"},
	};
	int64_t begun = number_of(job, "running_ms"), ended = number_of(job, "ended_ms");

	for (size_t i = 0; i < array_length(rows); i++)
		put(table, SUMMARY, rows[i].key, rows[i].unit, run,
		    json_object_get(job, rows[i].member));
	put_int(table, "Waited", "ms", run, begun > 0, begun - number_of(job, "submitted_ms"));
	put_int(table, "Ran", "ms", run, begun > 0 && ended > 0, ended - begun);
	put(table, SUMMARY, "Tasks", NULL, run, json_object_get(job, "task_count"));
	put(table, SUMMARY, "Cluster starts", NULL, run, json_object_get(job, "epoch"));
	put_int(table, "Retries", NULL, run, true,
		number_of(job, "retries") + number_of(job, "infrastructure_retries"));
	put(table, SUMMARY, "Message", NULL, run, json_object_get(job, "message"));
}

static void put_types(struct table *table, size_t run, const json_t *types)
{
	static const struct {
		const char *key, *member, *unit;
	} rows[] = {
		{"tasks", "wanted", NULL},
		{"tasks", "instances", NULL},
		{"memory", "memory_mib", "mib"},
		{"largest memory", "max_pss_bytes", "bytes"},
		{"largest memory", "max_rss_bytes", "bytes"}, /* of an older version */
		{"vcores", "vcores", NULL},
		{"mean CPU", "average_cpu_percent", "percent"},
		{"GPUs", "gpus", NULL},
		{"mean GPU", "average_gpu_percent", "percent"},
	};
	const json_t *type;
	size_t i;

	json_array_foreach(types, i, type)
	{
		const char *name = json_string_value(json_object_get(type, "name"));
		for (size_t k = 0; name && k < array_length(rows); k++) {
			json_t *value = json_object_get(type, rows[k].member);
			char *key cleanup_free = mem_printf("%s: %s", name, rows[k].key);
			if (json_is_number(value) && json_number_value(value) > 0)
				put(table, TYPES, key, rows[k].unit, run, value);
		}
	}
}

/* ---- what it was told --------------------------------------------------------------------- */

/* Their values are hidden there; the variables are rows of their own. */
static bool is_of_environment(const char *key)
{
	return str_ends_with(key, ".envs");
}

/* A masked value may have a mark beside it; a default is the same everywhere. */
static void put_key(struct table *table, const char *key, size_t run, const json_t *entry)
{
	json_t *value = json_object_get(entry, "value");
	const char *mark = json_string_value(json_object_get(entry, "mark"));
	bool is_default = str_equal(json_string_value(json_object_get(entry, "origin")), "default");

	if (!job_is_hidden(json_string_value(value))) {
		put(table, CONFIGURATION, key, NULL, run, value);
		return;
	}
	json_t *hidden cleanup_json =
		is_default ? json_string("default, hidden")
			   : json_sprintf("%s%s", json_string_value(value), mark ? mark : "");
	put(table, CONFIGURATION, key, NULL, run, hidden);
}

static void put_config(struct table *table, size_t run, const json_t *config)
{
	const char *key;
	json_t *entry;

	json_object_foreach((json_t *)config, key, entry)
	{
		if (!is_of_environment(key))
			put_key(table, key, run, entry);
	}
}

/* Adds the variables of a run that not each of its types has, with the same value. */
static void add_differing(const json_t *types, json_t *differing)
{
	json_t *first cleanup_json = json_object(), *counts cleanup_json = json_object();
	json_t *variables, *value, *count;
	const char *type, *name;

	json_object_foreach((json_t *)types, type, variables)
	{
		json_object_foreach(variables, name, value)
		{
			json_t *before = json_object_get(first, name);
			if (!before)
				json_object_set(first, name, value);
			else if (!json_equal(before, value))
				json_object_set_new(differing, name, json_true());
			json_object_set_new(
				counts, name,
				json_integer(json_integer_value(json_object_get(counts, name)) +
					     1));
		}
	}
	json_object_foreach(counts, name, count)
	{
		if ((size_t)json_integer_value(count) < json_object_size(types))
			json_object_set_new(differing, name, json_true());
	}
}

/* By its name alone where all types of all runs that have it agree; else also by type. */
static void put_environments(struct table *table, const json_t *runs)
{
	json_t *differing cleanup_json = json_object();
	json_t *run, *variables, *value;
	const char *type, *name;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		add_differing(json_object_get(run, "environment"), differing);
	}
	json_array_foreach(runs, i, run)
	{
		json_object_foreach(json_object_get(run, "environment"), type, variables)
		{
			json_object_foreach(variables, name, value)
			{
				char *key cleanup_free = json_object_get(differing, name)
								 ? mem_printf("%s: %s", type, name)
								 : mem_strdup(name);
				put(table, ENVIRONMENT, key, NULL, i, value);
			}
		}
	}
}

/* ---- what its programs measured ----------------------------------------------------------- */

static json_t *make_number(double value)
{
	const double limit = (double)(INT64_C(1) << 53);

	return value == trunc(value) && fabs(value) < limit ? json_integer((json_int_t)value)
							    : json_real(value);
}

static void put_series(struct table *table, size_t run, const char *key, const json_t *series)
{
	const char *unit = json_string_value(json_object_get(series, "unit"));
	struct series_facts facts;
	double mean;

	if (series_parse_facts(series, &facts, &mean) == 0 && facts.nans == 0)
		return;
	char *nans cleanup_free = series_nan_words(&facts);
	json_t *last cleanup_json =
		isnan(facts.last.value) ? json_string(nans) : make_number(facts.last.value);
	put(table, METRICS, key, unit, run, last);
	if (!nans || json_is_string(last))
		return;
	/* The last one is a number: beside it stands what it does not show. */
	char *own cleanup_free = mem_printf("%s: NaN", key);
	json_t *words cleanup_json = json_string(nans);
	put(table, METRICS, own, NULL, run, words);
}

/* Tasks come in order: the first that has a series of the name says it. */
static void put_metrics(struct table *table, size_t run, const json_t *tasks)
{
	const json_t *task, *series;
	size_t i, k;

	json_array_foreach(tasks, i, task)
	{
		json_array_foreach(json_object_get(task, "user"), k, series)
		{
			const char *name = json_string_value(json_object_get(series, "name"));
			const char *of = json_string_value(json_object_get(series, "run"));
			char *key cleanup_free = mem_printf("%s%s%s", name ? name : "",
							    of && *of ? ", " : "", of ? of : "");
			if (name)
				put_series(table, run, key, series);
		}
	}
}

/* ---- secrets ------------------------------------------------------------------------------ */

static const char *hidden_at(const json_t *values, size_t run)
{
	const char *text = json_string_value(json_array_get(values, run));

	return job_is_hidden(text) ? text : NULL;
}

/* Of all pairs of hidden values of a row. */
struct hidden {
	size_t count; /* of values */
	bool is_other, is_unknown;
};

static struct hidden compare_hidden(const json_t *values)
{
	struct hidden found = {0};

	for (size_t i = 0; i < json_array_size(values); i++) {
		const char *one = hidden_at(values, i);
		found.count += one != NULL;
		for (size_t k = 0; one && k < i; k++) {
			const char *other = hidden_at(values, k);
			int order = other ? job_compare_hidden(one, other) : 0;
			found.is_other = found.is_other || order > 0;
			found.is_unknown = found.is_unknown || order < 0;
		}
	}
	return found;
}

/* Puts words in the place of marks. Returns whether the secrets differ, or may. */
static bool tell_hidden(json_t *values)
{
	const struct hidden found = compare_hidden(values);
	const char *words = found.is_other			   ? "differs, hidden"
			    : found.is_unknown || found.count == 1 ? "hidden"
								   : "same, hidden";

	for (size_t i = 0; i < json_array_size(values); i++)
		if (hidden_at(values, i))
			json_array_set_new(values, i, json_string(words));
	return found.is_other || found.is_unknown;
}

/* ---- the table ---------------------------------------------------------------------------- */

static void add_row(json_t *rows, json_t *row)
{
	json_t *values = json_object_get(row, "values"), *value;
	bool differs = tell_hidden(values), is_known = false;
	size_t i;

	json_array_foreach(values, i, value)
	{
		differs = differs || !json_equal(value, json_array_get(values, 0));
		is_known = is_known || !json_is_null(value);
	}
	json_object_set_new(row, "differs", json_boolean(differs));
	if (is_known)
		json_array_append(rows, row);
}

/* Keys are looked for by their names; the other groups have an order of their own. */
static void add_group(json_t *rows, const json_t *group, bool is_sorted)
{
	struct str_list keys cleanup_str_list = {0};
	const char *key;
	json_t *row;

	json_object_foreach((json_t *)group, key, row)
	{
		str_list_add(&keys, key);
	}
	if (is_sorted)
		str_list_sort(&keys);
	for (size_t i = 0; i < keys.count; i++)
		add_row(rows, json_object_get(group, keys.items[i]));
}

/* The end of an id tells jobs of one name apart. */
static char *label_of(const json_t *runs, size_t run)
{
	const json_t *job = json_object_get(json_array_get(runs, run), "job");
	const char *id = json_string_value(json_object_get(job, "id"));
	const char *name = json_string_value(json_object_get(job, "name"));
	const char *end = id ? strpbrk(id, "-_") : NULL;

	while (end && strpbrk(end + 1, "-_"))
		end = strpbrk(end + 1, "-_");
	for (size_t i = 0; name && *name && i < json_array_size(runs); i++) {
		const json_t *other = json_object_get(json_array_get(runs, i), "job");
		if (i != run &&
		    json_equal(json_object_get(other, "name"), json_object_get(job, "name")))
			return mem_printf("%s %s", name, end ? end + 1 : id ? id : "");
	}
	return mem_strdup(name && *name ? name : id ? id : "");
}

static json_t *describe_run(const json_t *runs, size_t run)
{
	const json_t *job = json_object_get(json_array_get(runs, run), "job"), *type;
	char *label cleanup_free = label_of(runs, run);
	json_t *object = json_object(), *types = json_array();
	size_t i;

	json_object_set(object, "id", json_object_get(job, "id"));
	json_set_text(object, "label", label);
	json_object_set(object, "state", json_object_get(job, "state"));
	json_array_foreach(json_object_get(job, "types"), i, type)
	{
		json_array_append(types, json_object_get(type, "name"));
	}
	json_object_set_new(object, "types", types);
	return object;
}

json_t *comparison_make(const json_t *runs)
{
	struct table table = {.runs = json_array_size(runs)};
	json_t *answer = json_object(), *rows = json_array(), *described = json_array();

	for (size_t i = 0; i < GROUPS; i++)
		table.groups[i] = json_object();
	for (size_t i = 0; i < table.runs; i++) {
		const json_t *run = json_array_get(runs, i);
		const json_t *job = json_object_get(run, "job");
		json_array_append_new(described, describe_run(runs, i));
		put_summary(&table, i, job);
		put_types(&table, i, json_object_get(job, "types"));
		put_types(&table, i, json_object_get(json_object_get(run, "summary"), "types"));
		put_config(&table, i, json_object_get(run, "config"));
		put_metrics(&table, i, json_object_get(run, "metrics"));
	}
	put_environments(&table, runs);
	for (size_t i = 0; i < GROUPS; i++) {
		add_group(rows, table.groups[i], i == ENVIRONMENT || i == CONFIGURATION);
		json_decref(table.groups[i]);
	}
	json_object_set_new(answer, "runs", described);
	json_object_set_new(answer, "rows", rows);
	return answer;
}

/* ---- CSV ---------------------------------------------------------------------------------- */

static void append_value(struct str *out, const json_t *value)
{
	str_append_char(out, ',');
	if (json_is_integer(value))
		str_append_format(out, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		str_append_format(out, "%.15g", json_real_value(value));
	else if (json_is_string(value))
		str_append_csv(out, json_string_value(value));
}

void comparison_to_csv(const json_t *comparison, struct str *out)
{
	const json_t *run, *row, *value;
	size_t i, k;

	str_append(out, "group,key,unit");
	json_array_foreach(json_object_get(comparison, "runs"), i, run)
	{
		append_value(out, json_object_get(run, "label"));
	}
	json_array_foreach(json_object_get(comparison, "rows"), i, row)
	{
		const char *unit = json_string_value(json_object_get(row, "unit"));
		str_append_format(out, "\r\n%s,", json_string_value(json_object_get(row, "group")));
		str_append_csv(out, json_string_value(json_object_get(row, "key")));
		str_append_format(out, ",%s", unit ? unit : "");
		json_array_foreach(json_object_get(row, "values"), k, value)
		{
			append_value(out, value);
		}
	}
	str_append(out, "\r\n");
}
