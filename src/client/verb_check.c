/* tony check: the preflight alone, with a word on other users. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_verb.h"
#include "client/other_tools.h"
#include "client/preflight.h"
#include "client/report.h"
#include "client/verbs.h"
#include "framework/module.h"
#include "history/store.h"

struct check_options {
	struct job_options job;
	bool json;
};

static const struct opt options[] = {
	OPT_ROW("json", struct check_options, json, "as JSON (docs/json.md)"),
	JOB_OPTIONS(struct check_options, job),
};

/* "the content of src", "data.csv", each once, however many types get it. */
static void name_files(const struct stage *stage, struct str_list *names)
{
	for (size_t i = 0; i < stage->type_count; i++) {
		for (size_t k = 0; k < stage->types[i].count; k++) {
			const struct stage_file *file = &stage->types[i].items[k];
			char *name cleanup_free =
				stage_is_source(file)
					? mem_printf("the content of %s", file->source)
					: mem_strdup(file->name);
			if (!str_list_has(names, name))
				str_list_add(names, name);
		}
	}
}

static void check_files(struct preflight *preflight, const struct stage *stage)
{
	enum { NAMES_MAX = 10 };
	struct str_list names cleanup_str_list = {0};
	struct str text cleanup_str = {0};

	name_files(stage, &names);
	for (size_t i = 0; i < names.count && i < NAMES_MAX; i++)
		str_append_format(&text, "%s%s", i > 0 ? ", " : "", names.items[i]);
	if (names.count > NAMES_MAX)
		str_append_format(&text, " and %zu more", names.count - NAMES_MAX);
	preflight_add(preflight, "files", names.count > 0 ? text.text : "none");
}

static void check_neighbours(struct preflight *preflight, const struct description *description)
{
	const struct scheduler_client_ops *ops = job_verb_scheduler(description);
	char *neighbours cleanup_free =
		ops->traits->tells_neighbours ? ops->neighbours(description->job) : NULL;

	if (neighbours)
		preflight_add(preflight, "other users", neighbours);
}

static void check_configuration(struct preflight *preflight, const struct description *description)
{
	const char *found = description->found_file, *framework = description->job->framework;
	char *text cleanup_free = found ? mem_printf("%s, of ./%s", framework, found) : NULL;

	preflight_add(preflight, "configuration", text ? text : framework);
}

/* The owner of a day can rename what is in it. */
static void check_history(struct preflight *preflight, const struct job *job)
{
	const char *location = job_config(job, "tony.history.location");
	char *found cleanup_free =
		location ? history_find_foreign_day(location, clock_wall_ms()) : NULL;

	if (found)
		preflight_add_warning(preflight, "history", found);
}

static void check_job(struct preflight *preflight, const struct check_options *chosen,
		      const struct verb_call *call)
{
	struct description description cleanup_description = {0};
	struct stage stage cleanup_stage = {0};
	struct err err cleanup_err = {0};

	if (job_verb_describe(&chosen->job, call->operands, call->dashdash, &description, &stage,
			      &err) < 0) {
		preflight_add_problem(preflight, "configuration", &err);
		return;
	}
	check_configuration(preflight, &description);
	check_files(preflight, &stage);
	if (description.job->work_dir)
		preflight_add(preflight, "directory of all tasks", description.job->work_dir);
	preflight_job(preflight, &description, &stage);
	check_history(preflight, description.job);
	if (preflight_to_err(preflight, NULL) == 0)
		check_neighbours(preflight, &description);
}

static void print_rows(const struct preflight *preflight)
{
	for (size_t i = 0; i < preflight->count; i++) {
		const struct preflight_row *row = &preflight->rows[i];
		bool ok = row->problem == ERR_NONE;
		const char *word = !ok ? "problem" : row->warns ? "warning" : "ok";
		char *text cleanup_free = report_clean(row->text);
		fprintf(ok ? stdout : stderr, "%-8s %s: %s\n", word, row->check, text);
	}
}

/* {"ok", "checks": [{"check", "ok", "text", "warning"}]} */
static void print_json(const struct preflight *preflight, bool ok)
{
	json_t *object = json_object(), *rows = json_array();

	for (size_t i = 0; i < preflight->count; i++) {
		json_t *row = json_object();
		json_set_text(row, "check", preflight->rows[i].check);
		json_set_bool(row, "ok", preflight->rows[i].problem == ERR_NONE);
		json_set_text(row, "text", preflight->rows[i].text);
		if (preflight->rows[i].warns)
			json_set_bool(row, "warning", true);
		json_array_append_new(rows, row);
	}
	json_set_bool(object, "ok", ok);
	json_object_set_new(object, "checks", rows);
	report_json(object);
}

static int report(const struct preflight *preflight, bool as_json)
{
	struct err err cleanup_err = {0};
	bool ok = preflight_to_err(preflight, &err) == 0;

	if (as_json)
		print_json(preflight, ok);
	else
		print_rows(preflight);
	return ok ? EXIT_CODE_OK : exit_code_of(err.kind);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct check_options *chosen = data;
	struct preflight preflight cleanup_preflight = {.patience_ms = MODULE_PATIENCE_MS};

	check_job(&preflight, chosen, call);
	preflight_state(&preflight);
	return report(&preflight, chosen->json);
}

const struct verb verb_check = {
	.options =
		{
			.verb = "check",
			.usage = "tony check [OPTIONS] [-- COMMAND ARG...]",
			.summary = "see whether a job could run, without starting anything",
			.description = "Takes the options of submit. Checks the configuration, the "
				       "files, the "
				       "programs that the commands name, whether the scheduler can "
				       "ever give "
				       "what the job asks for, and whether the state directory is "
				       "the user's "
				       "own and has room.",
			.options = options,
			.option_count = array_length(options),
			.elsewhere = other_tools_job_options,
		},
	.size = sizeof(struct check_options),
	.run = run,
};
