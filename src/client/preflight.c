#include "client/preflight.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/after.h"
#include "client/clearing.h"
#include "client/job_verb.h"
#include "client/module_check.h"
#include "client/program.h"
#include "framework/framework.h"
#include "job/site_policy.h"
#include "scheduler/fetch.h"
#include "scheduler/share.h"
#include "scheduler/state_dir.h"

void preflight_finish(struct preflight *preflight)
{
	for (size_t i = 0; i < preflight->count; i++) {
		free(preflight->rows[i].check);
		free(preflight->rows[i].text);
	}
	free(preflight->rows);
	*preflight = (struct preflight){0};
}

static void add_row(struct preflight *preflight, const char *check, const char *text,
		    enum err_kind problem)
{
	preflight->rows =
		mem_realloc_array(preflight->rows, preflight->count + 1, sizeof(*preflight->rows));
	preflight->rows[preflight->count++] = (struct preflight_row){
		.check = mem_strdup(check), .text = mem_strdup(text), .problem = problem};
}

void preflight_add(struct preflight *preflight, const char *check, const char *text)
{
	add_row(preflight, check, text, ERR_NONE);
}

void preflight_add_problem(struct preflight *preflight, const char *check, const struct err *err)
{
	add_row(preflight, check, err_message(err), err->kind);
}

void preflight_add_warning(struct preflight *preflight, const char *check, const char *text)
{
	add_row(preflight, check, text, ERR_NONE);
	preflight->rows[preflight->count - 1].warns = true;
}

/* ---- programs ----------------------------------------------------------------------------- */

static const char *find_path(const struct job_type *type)
{
	const char *path = getenv("PATH");

	for (size_t i = 0; i < type->environment.count; i++)
		if (str_starts_with(type->environment.items[i], "PATH="))
			path = type->environment.items[i] + strlen("PATH=");
	return path;
}

/* In a directory that all tasks share, tasks that run before may put it there. */
static bool may_come_later(const struct job *job, const struct job_type *type)
{
	return job->work_dir && type->dependency_count > 0;
}

/* A problem stands alone, too: submit prints no names of checks. */
static const struct err *tell_missing(const struct job *job, const struct job_type *type,
				      const char *text, struct err *err)
{
	err_set(err, ERR_CONFIG, "%s", text);
	if (!framework_is_single_node(job))
		err_wrap(err, "task type %s", type->name);
	return err;
}

/* `elsewhere`: the program runs on other machines, which may have what this one lacks. */
static void check_program(struct preflight *preflight, const struct job *job, size_t number,
			  const struct stage_files *files, bool elsewhere)
{
	const struct job_type *type = &job->types[number];
	char *check cleanup_free = mem_printf("program of %s", type->name);
	char *text cleanup_free = NULL;
	struct err err cleanup_err = {0};

	enum program_verdict verdict =
		program_find(type->command, job->work_dir, files, find_path(type), &text);
	switch (verdict) {
	case PROGRAM_FOUND:
		preflight_add(preflight, check, text);
		break;
	case PROGRAM_UNKNOWN:
		preflight_add(preflight, check, "left to the shell");
		break;
	case PROGRAM_UNSTAGED:
	case PROGRAM_MISSING:
		if (elsewhere && verdict == PROGRAM_MISSING)
			preflight_add(preflight, check, "not here; left to the cluster's nodes");
		else if (may_come_later(job, type))
			preflight_add(preflight, check, "not here yet; left to earlier tasks");
		else
			preflight_add_problem(preflight, check,
					      tell_missing(job, type, text, &err));
		break;
	}
}

static void check_module(struct preflight *preflight, const struct job *job, size_t number,
			 const struct stage_files *files)
{
	const struct job_type *type = &job->types[number];
	char *check cleanup_free = mem_printf("framework of %s", type->name);
	char *text cleanup_free = NULL;
	struct err err cleanup_err = {0};

	if (!module_check(job, number, files, find_path(type), preflight->patience_ms, &text))
		preflight_add_problem(preflight, check, tell_missing(job, type, text, &err));
	else if (text)
		preflight_add(preflight, check, text);
}

static void check_programs(struct preflight *preflight, const struct description *description,
			   const struct stage *stage)
{
	const struct job *job = description->job;
	bool elsewhere = !job_verb_scheduler(description)->traits->shares_files;

	for (size_t i = 0; i < job->type_count; i++) {
		if (job->types[i].instances == 0 || !job->types[i].command)
			continue;
		check_program(preflight, job, i, &stage->types[i], elsewhere);
		if (!elsewhere)
			check_module(preflight, job, i, &stage->types[i]);
	}
}

/* ---- results ------------------------------------------------------------------------------ */

static int check_place(const char *directory, const struct scheduler_traits *engine,
		       struct err *err)
{
	if (fetch_is_needed(directory) && engine->shares_files)
		return 0; /* its preflight asks the store */
	if (fetch_is_needed(directory))
		return err_set(err, ERR_CONFIG,
			       "with the scheduler \"%s\" results come to this machine; name a "
			       "directory of it",
			       engine->name);
	if (fs_exists(directory) && !fs_is_directory(directory))
		return err_set(err, ERR_CONFIG, "is not a directory; name one for the results");
	return fs_check_room(directory, err);
}

static void check_results(struct preflight *preflight, const struct description *description)
{
	const struct job *job = description->job;
	struct err err cleanup_err = {0};

	if (!job->results_dir)
		return;
	if (check_place(job->results_dir, job_verb_scheduler(description)->traits, &err) == 0) {
		preflight_add(preflight, "results", job->results_dir);
		return;
	}
	err_wrap(&err, "--output (tony.application.output-dir): %s", job->results_dir);
	preflight_add_problem(preflight, "results", &err);
}

/* ---- the rest ----------------------------------------------------------------------------- */

static void check_policy(struct preflight *preflight, const struct job *job)
{
	struct err err cleanup_err = {0};

	if (site_policy_check(SITE_POLICY_FILE, job, &err) < 0)
		preflight_add_problem(preflight, "policy", &err);
	else if (fs_exists(SITE_POLICY_FILE))
		preflight_add(preflight, "policy", SITE_POLICY_FILE);
}

static void check_scheduler(struct preflight *preflight, const struct description *description)
{
	struct job *job = description->job;
	struct err err cleanup_err = {0};
	struct share asked = {0};

	for (size_t i = 0; i < job->type_count; i++)
		asked.memory += job->types[i].memory * job->types[i].instances;
	struct share given = asked;
	if (job_verb_scheduler(description)->preflight(job, &given, &err) < 0) {
		bool is_short = err.kind == ERR_CAPACITY;
		preflight_add_problem(preflight, is_short ? "capacity" : "scheduler and stores",
				      &err);
		return;
	}
	char *size cleanup_free = str_format_mib_beside(given.memory, asked.memory);
	char *least cleanup_free = str_format_mib_beside(asked.memory, given.memory);
	char *note cleanup_free = mem_printf(" (%s asked for)", least);
	char *text cleanup_free = mem_printf("tasks: %zu, memory: %s in all%s", job_task_count(job),
					     size, given.memory != asked.memory ? note : "");
	preflight_add(preflight, "capacity", text);
}

static void check_start(struct preflight *preflight, const struct description *description)
{
	struct err err cleanup_err = {0};
	char *text = NULL;

	if (description->after.count == 0)
		return;
	if (after_resolve(description, &text, &err) < 0)
		preflight_add_problem(preflight, "after", &err);
	else
		preflight_add(preflight, "after", text);
	free(text);
}

void preflight_job(struct preflight *preflight, const struct description *description,
		   const struct stage *stage)
{
	check_policy(preflight, description->job);
	check_programs(preflight, description, stage);
	check_results(preflight, description);
	check_start(preflight, description);
	check_scheduler(preflight, description);
}

void preflight_state(struct preflight *preflight)
{
	struct err err cleanup_err = {0};
	char *state cleanup_free = state_dir_find(&err);

	if (!state || fs_check_room(state, &err) < 0) {
		preflight_add_problem(preflight, "state directory", &err);
		return;
	}
	char *room cleanup_free = fs_describe_room(state);
	char *text cleanup_free = mem_printf("%s on %s", state, room);
	preflight_add(preflight, "state directory", text);
	if (clearing_sweep(state, true, &err) > 0)
		preflight_add_warning(preflight, "removed jobs", err_message(&err));
}

int preflight_to_err(const struct preflight *preflight, struct err *err)
{
	struct str text cleanup_str = {0};
	enum err_kind kind = ERR_NONE;

	for (size_t i = 0; i < preflight->count; i++) {
		const struct preflight_row *row = &preflight->rows[i];
		if (row->problem == ERR_NONE)
			continue;
		kind = kind == ERR_NONE ? row->problem : kind;
		str_append_format(&text, "%s%s", text.length > 0 ? "\n" : "", row->text);
	}
	return kind == ERR_NONE ? 0 : err_set(err, kind, "%s", str_text(&text));
}
