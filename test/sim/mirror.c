#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/record.h"

static void add(struct sim *sim, json_t *record)
{
	str_list_take(&sim->lines, json_text(record));
	json_decref(record);
}

static void keep(struct sim *sim, const struct unkept *unkept)
{
	struct err err cleanup_err = {0};
	struct journal_line line = {.sequence = sim->view->sequence + 1,
				    .time_ms = unkept->when,
				    .text = unkept->line,
				    .length = strlen(unkept->line)};

	if (job_view_add(sim->view, &line, &err) < 0)
		sim_break(sim, "a record cannot be read: %s", err_message(&err));
}

void mirror_lose(struct sim *sim)
{
	for (size_t i = 0; i < sim->unkept_count; i++)
		free(sim->unkept[i].line);
	sim->unkept_count = 0;
}

void mirror_catch_up(struct sim *sim)
{
	for (size_t i = 0; i < sim->unkept_count; i++)
		keep(sim, &sim->unkept[i]);
	mirror_lose(sim);
}

void mirror_commit(struct sim *sim)
{
	for (size_t i = 0; i < sim->lines.count; i++) {
		if (sim->unkept_count == sim->unkept_capacity) {
			sim->unkept_capacity = 2 * sim->unkept_capacity + 16;
			sim->unkept = mem_realloc_array(sim->unkept, sim->unkept_capacity,
							sizeof(*sim->unkept));
		}
		sim->unkept[sim->unkept_count++] =
			(struct unkept){.when = sim->now, .line = mem_strdup(sim->lines.items[i])};
	}
	str_list_finish(&sim->lines);
	if (sim->now >= sim->outage_until)
		mirror_catch_up(sim);
}

void mirror_action(struct sim *sim, const struct action *action)
{
	if (action->kind == ACTION_TASK_CHANGED)
		add(sim,
		    record_task(sim->job, machine_task(sim->machine, action->task),
				(enum task_state)action->from, (enum task_state)action->to, NULL));
	else if (action->kind == ACTION_JOB_CHANGED)
		add(sim, record_job(sim->job, sim->machine, (enum job_state)action->from,
				    (enum job_state)action->to));
}

static bool is_same_task(const struct task_view *row, const struct task *task)
{
	return row->state == task->state && row->attempt == task->attempt &&
	       row->epoch == task->epoch && row->restart == task->restart &&
	       row->restarts_used == task->restarts_used && row->up == task->process_up &&
	       row->blames_peer == task->blames_peer && row->port == task->port &&
	       str_equal(row->host, task->host) && str_equal(row->container, task->container) &&
	       (task->cause.kind == CAUSE_NONE || row->cause.kind == task->cause.kind);
}

void mirror_check(struct sim *sim)
{
	const struct job_view *view = sim->view;
	struct machine_status status;

	machine_status(sim->machine, &status);
	if (view->state != status.state || view->epoch != status.epoch ||
	    view->retries != status.retries_used ||
	    view->infrastructure_retries != status.infrastructure_retries_used ||
	    view->preemptions != status.preemptions || view->cause.kind != status.cause->kind ||
	    (status.cause->kind != CAUSE_NONE && view->cause_task != status.cause_task))
		sim_break(sim, "the journal tells of another job");
	for (size_t i = 0; i < sim->job->type_count; i++)
		if (view->types[i].wanted != machine_wanted(sim->machine, i))
			sim_break(sim, "the journal tells of another number of %s",
				  sim->job->types[i].name);
	for (size_t i = 0; i < view->task_count; i++)
		if (!is_same_task(&view->tasks[i], machine_task(sim->machine, i)))
			sim_break(sim, "the journal tells of another %s:%d",
				  sim->job->types[view->tasks[i].type].name, view->tasks[i].index);
}
