/* tony check: the preflight alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_verb.h"
#include "client/other_tools.h"
#include "client/program.h"
#include "client/report.h"
#include "client/verbs.h"
#include "scheduler/state_dir.h"

struct check_options {
	struct job_options job;
	bool json;
};

static const struct opt options[] = {
	{.name = "json",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct check_options, json),
	 .help = "as JSON"},
	JOB_OPTIONS(struct check_options, job),
};

const struct opt_table verb_check_options = {
	.verb = "check",
	.usage = "tony check [OPTIONS] [-- COMMAND ARG...]",
	.summary = "see whether a job could run, without starting anything",
	.description = "Takes the options of submit. Checks the configuration, the files, the "
		       "programs that the commands name, whether the scheduler can ever give "
		       "what the job asks for, and whether the state directory is the user's "
		       "own and has room.",
	.options = options,
	.option_count = array_length(options),
	.elsewhere = other_tools_job_options,
};

struct check {
	json_t *rows;	     /* [{"check", "ok", "text"}] */
	enum exit_code code; /* of the first problem */
};

static void add_row(struct check *check, const char *what, bool ok, const char *text)
{
	json_t *row = json_object();

	json_set_text(row, "check", what);
	json_set_bool(row, "ok", ok);
	json_set_text(row, "text", text);
	json_array_append_new(check->rows, row);
}

static void add_problem(struct check *check, const char *what, const struct err *err)
{
	add_row(check, what, false, err_message(err));
	if (check->code == EXIT_CODE_OK)
		check->code = exit_code_of(err->kind);
}

static void check_files(struct check *check, const struct stage *stage)
{
	size_t files = 0;

	for (size_t i = 0; i < stage->type_count; i++)
		if (stage->types[i].count > files)
			files = stage->types[i].count;
	char *text cleanup_free = mem_printf("at most %zu for each task", files);
	add_row(check, "files", true, files > 0 ? text : "none");
}

static const char *find_path(const struct job_type *type)
{
	const char *path = getenv("PATH");

	for (size_t i = 0; i < type->environment.count; i++)
		if (str_starts_with(type->environment.items[i], "PATH="))
			path = type->environment.items[i] + strlen("PATH=");
	return path;
}

/* `elsewhere`: the program runs on other machines, which may have what this one lacks. */
static void check_program(struct check *check, const struct job *job, size_t number,
			  const struct stage_files *files, bool elsewhere)
{
	const struct job_type *type = &job->types[number];
	char *what cleanup_free = mem_printf("program of %s", type->name);
	char *text cleanup_free = NULL;
	struct err err cleanup_err = {0};

	switch (program_find(type->command, job->work_dir, files, find_path(type), &text)) {
	case PROGRAM_FOUND:
		add_row(check, what, true, text);
		break;
	case PROGRAM_UNKNOWN:
		add_row(check, what, true, "left to the shell");
		break;
	case PROGRAM_MISSING:
		if (elsewhere) {
			add_row(check, what, true, "not here; left to the cluster's nodes");
			break;
		}
		err_set(&err, ERR_CONFIG, "%s", text);
		add_problem(check, what, &err);
		break;
	}
}

static void check_capacity(struct check *check, const struct description *description)
{
	const struct scheduler_client_ops *ops = job_verb_scheduler(description);
	struct job *job = description->job;
	struct err err cleanup_err = {0};
	int64_t memory = 0;

	if (ops->preflight(job, &err) < 0) {
		add_problem(check, "capacity", &err);
		return;
	}
	for (size_t i = 0; i < job->type_count; i++)
		memory += job->types[i].memory * job->types[i].instances;
	char *size cleanup_free = str_format_mib((double)memory);
	char *text cleanup_free =
		mem_printf("tasks: %zu, memory: %s in all", job_task_count(job), size);
	add_row(check, "capacity", true, text);
	char *neighbours cleanup_free = ops->neighbours ? ops->neighbours(job) : NULL;
	if (neighbours)
		add_row(check, "other users", true, neighbours);
}

static void check_state(struct check *check)
{
	struct err err cleanup_err = {0};
	char *state cleanup_free = state_dir_find(&err);

	if (!state || fs_check_room(state, &err) < 0) {
		add_problem(check, "state directory", &err);
		return;
	}
	char *room cleanup_free = fs_describe_room(state);
	char *text cleanup_free = mem_printf("%s on %s", state, room);
	add_row(check, "state directory", true, text);
}

static void check_job(struct check *check, const struct check_options *chosen,
		      const struct str_list *operands, size_t dashdash)
{
	struct description description cleanup_description = {0};
	struct stage stage cleanup_stage = {0};
	struct err err cleanup_err = {0};

	if (job_verb_describe(&chosen->job, operands, dashdash, &description, &stage, &err) < 0) {
		add_problem(check, "configuration", &err);
		return;
	}
	add_row(check, "configuration", true, description.job->framework);
	check_files(check, &stage);
	if (description.job->work_dir)
		add_row(check, "directory of all tasks", true, description.job->work_dir);
	bool elsewhere = !job_verb_scheduler(&description)->shares_files;
	for (size_t i = 0; i < description.job->type_count; i++)
		if (description.job->types[i].instances > 0)
			check_program(check, description.job, i, &stage.types[i], elsewhere);
	check_capacity(check, &description);
}

static void print_rows(const json_t *rows)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		bool ok = json_is_true(json_object_get(row, "ok"));
		fprintf(ok ? stdout : stderr, "%-8s %s: %s\n", ok ? "ok" : "problem",
			json_string_value(json_object_get(row, "check")),
			json_string_value(json_object_get(row, "text")));
	}
}

static int report(struct check *check, bool as_json)
{
	if (!as_json) {
		print_rows(check->rows);
		json_decref(check->rows);
		return (int)check->code;
	}
	json_t *object = json_object();
	json_set_bool(object, "ok", check->code == EXIT_CODE_OK);
	json_object_set_new(object, "checks", check->rows);
	report_json(object);
	return (int)check->code;
}

int verb_check(int argc, char **argv)
{
	struct check_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	struct check check = {.code = EXIT_CODE_OK};
	size_t dashdash = 0;
	int code;

	if (report_parse_command(&verb_check_options, argc, argv, &chosen, &operands, &dashdash,
				 &code)) {
		check.rows = json_array();
		check_job(&check, &chosen, &operands, dashdash);
		check_state(&check);
		code = report(&check, chosen.json);
	}
	opt_finish(&verb_check_options, &chosen);
	return code;
}
