/* Which types come before which: TonY's two stages, and tony.<type>.depends-on. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"

#define PREPARE	 "tony.application.prepare-stage"
#define TRAINING "tony.application.training-stage"

static void add_dependency(struct job_type *type, size_t on, bool on_start)
{
	for (size_t i = 0; i < type->dependency_count; i++) {
		if (type->dependencies[i].type != on)
			continue;
		/* The end of a task comes after its start. */
		type->dependencies[i].on_start = type->dependencies[i].on_start && on_start;
		return;
	}
	type->dependencies = mem_realloc_array(type->dependencies, type->dependency_count + 1,
					       sizeof(*type->dependencies));
	type->dependencies[type->dependency_count++] =
		(struct job_dependency){.type = on, .on_start = on_start};
}

/* ---- stages */

static void check_stage(const struct describer *describer, const char *key,
			const struct str_list *stage)
{
	for (size_t i = 0; i < stage->count; i++) {
		char *hint cleanup_free = NULL;
		if (describe_find_type(describer, stage->items[i], &hint) >= 0)
			continue;
		describe_error(describer, key,
			       "\"%s\" is no task type of this job%s; write tony.%s.instances or "
			       "take it out",
			       stage->items[i], hint, stage->items[i]);
	}
}

/* All types but sidecars that the other stage does not name, as TonY fills in. */
static void fill_stage(const struct describer *describer, const char *key, struct str_list *stage,
		       const struct str_list *other)
{
	const struct job *job = describer->job;

	if (stage->count > 0)
		return;
	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].role != JOB_ROLE_SIDECAR &&
		    !str_list_has(other, job->types[i].name))
			str_list_add(stage, job->types[i].name);
	char *list cleanup_free = str_list_join(stage, ", ");
	problems_warning(describer->problems, "%s: is not set and taken as \"%s\"", key, list);
}

static void check_stages_are_complete(const struct describer *describer,
				      const struct str_list *prepare,
				      const struct str_list *training)
{
	const struct job *job = describer->job;

	for (size_t i = 0; i < job->type_count; i++) {
		const struct job_type *type = &job->types[i];
		bool first = str_list_has(prepare, type->name);
		bool second = str_list_has(training, type->name);
		if (first && second)
			describe_error(describer, TRAINING,
				       "\"%s\" is in the prepare stage too; write it in one",
				       type->name);
		else if (!first && !second && type->role != JOB_ROLE_SIDECAR)
			describe_error(describer, TRAINING,
				       "the task type %s is in no stage; add it to this one or "
				       "to " PREPARE,
				       type->name);
	}
}

static void describe_stages(struct describer *describer)
{
	struct job *job = describer->job;
	struct str_list prepare cleanup_str_list = {0}, training cleanup_str_list = {0};

	conf_list(describer->conf, &prepare, PREPARE);
	conf_list(describer->conf, &training, TRAINING);
	if (prepare.count == 0 && training.count == 0)
		return;
	check_stage(describer, PREPARE, &prepare);
	check_stage(describer, TRAINING, &training);
	fill_stage(describer, PREPARE, &prepare, &training);
	fill_stage(describer, TRAINING, &training, &prepare);
	check_stages_are_complete(describer, &prepare, &training);
	for (size_t i = 0; i < job->type_count; i++) {
		if (!str_list_has(&training, job->types[i].name))
			continue;
		for (size_t j = 0; j < job->type_count; j++)
			if (i != j && job->types[j].role == JOB_ROLE_TRACKED &&
			    str_list_has(&prepare, job->types[j].name))
				add_dependency(&job->types[i], j, false);
	}
}

/* ---- depends-on */

static void describe_dependency(struct describer *describer, struct job_type *type,
				const char *item)
{
	const char *colon = strchr(item, ':');
	char *name cleanup_free = mem_strndup(item, colon ? (size_t)(colon - item) : strlen(item));
	char *key cleanup_free = mem_printf("tony.%s.depends-on", type->name);
	char *hint cleanup_free = NULL;
	int on = describe_find_type(describer, name, &hint);

	if (on < 0) {
		describe_error(describer, key, "\"%s\" is no task type of this job%s", name,
			       *hint ? hint : "; write the name of one");
		return;
	}
	bool ends = describer->job->types[on].role == JOB_ROLE_TRACKED;
	bool on_start = colon ? str_equal(colon, ":start") : !ends;
	if (!on_start && !ends)
		describe_error(describer, key,
			       "\"%s\" would wait for ever: %s is untracked or a sidecar, and "
			       "only ends with the job; write %s:start",
			       item, name, name);
	else
		add_dependency(type, (size_t)on, on_start);
}

/* ---- circles */

/* A walk over types, along what each waits for. */
struct walk {
	struct describer *describer;
	size_t *path;
	size_t depth;
	bool *on_path;
	bool *done;
};

static void tell_circle(const struct walk *walk, size_t again)
{
	const struct job *job = walk->describer->job;
	struct str circle cleanup_str = {0};
	const char *owner = job->types[again].name;
	size_t start = 0;

	while (walk->path[start] != again)
		start++;
	for (size_t i = start; i < walk->depth; i++) {
		const char *name = job->types[walk->path[i]].name;
		str_append_format(&circle, "%s -> ", name);
		/* Stages alone make no circle: some type in it has a depends-on. */
		if (conf_find(walk->describer->conf, "tony.%s.depends-on", name))
			owner = name;
	}
	char *key cleanup_free = mem_printf("tony.%s.depends-on", owner);
	describe_error(walk->describer, key,
		       "task types wait for each other: %s%s; take one of these out", circle.text,
		       job->types[again].name);
}

static void visit(struct walk *walk, size_t type)
{
	const struct job_type *row = &walk->describer->job->types[type];

	if (walk->on_path[type]) {
		tell_circle(walk, type);
		return;
	}
	if (walk->done[type])
		return;
	walk->on_path[type] = true;
	walk->path[walk->depth++] = type;
	for (size_t i = 0; i < row->dependency_count; i++)
		visit(walk, row->dependencies[i].type);
	walk->depth--;
	walk->on_path[type] = false;
	walk->done[type] = true;
}

static void check_circles(struct describer *describer)
{
	size_t count = describer->job->type_count;
	struct walk walk = {
		.describer = describer,
		.path = mem_alloc_array(count, sizeof(size_t)),
		.on_path = mem_alloc_array(count, sizeof(bool)),
		.done = mem_alloc_array(count, sizeof(bool)),
	};

	for (size_t i = 0; i < count; i++)
		visit(&walk, i);
	free(walk.path);
	free(walk.on_path);
	free(walk.done);
}

void describe_order(struct describer *describer)
{
	struct job *job = describer->job;

	describe_stages(describer);
	for (size_t i = 0; i < job->type_count; i++) {
		struct str_list items cleanup_str_list = {0};
		conf_list(describer->conf, &items, "tony.%s.depends-on", job->types[i].name);
		for (size_t j = 0; j < items.count; j++)
			describe_dependency(describer, &job->types[i], items.items[j]);
	}
	check_circles(describer);
}
