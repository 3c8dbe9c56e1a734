#include "job/view_attempts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void finish(struct attempt_view *attempt)
{
	free(attempt->container);
	free(attempt->host);
	free(attempt->log_dir);
	cause_finish(&attempt->cause);
}

void view_attempts_finish(struct task_view *task)
{
	for (size_t i = 0; i < task->attempt_count; i++)
		finish(&task->attempts[i]);
	free(task->attempts);
}

static struct attempt_view *last_of(const struct task_view *task)
{
	return task->attempt_count > 0 ? &task->attempts[task->attempt_count - 1] : NULL;
}

static struct attempt_view *add(struct task_view *task)
{
	if (task->attempt_count == ATTEMPT_VIEWS_MAX) {
		finish(&task->attempts[0]);
		memmove(&task->attempts[0], &task->attempts[1],
			--task->attempt_count * sizeof(*task->attempts));
	}
	task->attempts =
		mem_realloc_array(task->attempts, task->attempt_count + 1, sizeof(*task->attempts));
	struct attempt_view *attempt = &task->attempts[task->attempt_count++];
	*attempt = (struct attempt_view){.attempt = task->attempt};
	return attempt;
}

/* The next process in the same container. */
static struct attempt_view *add_process(struct task_view *task)
{
	const struct attempt_view before = *last_of(task);
	struct attempt_view *attempt = add(task);

	attempt->allocated_ms = before.allocated_ms;
	attempt->launched_ms = before.launched_ms;
	return attempt;
}

static void take_members(struct attempt_view *attempt, const struct task_view *task)
{
	attempt->epoch = task->epoch;
	attempt->restart = task->restart;
	attempt->port = task->port;
	mem_replace(&attempt->container, mem_strdup(task->container));
	mem_replace(&attempt->host, mem_strdup(task->host));
	mem_replace(&attempt->log_dir, mem_strdup(task->log_dir));
}

static void take_times(struct attempt_view *attempt, const struct task_view *task, int64_t time_ms)
{
	if (task->state == TASK_ALLOCATED && attempt->allocated_ms == 0)
		attempt->allocated_ms = time_ms;
	if (task->state == TASK_LAUNCHING && attempt->launched_ms == 0)
		attempt->launched_ms = time_ms;
	if (task->state == TASK_REGISTERED && attempt->registered_ms == 0)
		attempt->registered_ms = time_ms;
	if (task->up && attempt->started_ms == 0)
		attempt->started_ms = time_ms;
}

/* Not by its own doing, or in the best of ways. */
static bool has_no_cause(enum task_state state)
{
	return state == TASK_SUCCEEDED || state == TASK_STOPPING || state == TASK_STOPPED;
}

static void end(struct attempt_view *attempt, const struct task_view *task, enum task_state from,
		int64_t time_ms)
{
	attempt->ended_ms = time_ms;
	/* One that ended before it was seen to be up. */
	if (from == TASK_RUNNING && attempt->started_ms == 0)
		attempt->started_ms = task->started_ms;
	if (!has_no_cause(task->state))
		cause_copy(&attempt->cause, &task->cause);
}

static bool has_ended(const struct task_view *task, enum task_state from)
{
	if (from == TASK_RUNNING)
		return task->state != TASK_RUNNING;
	return task->state >= TASK_SUCCEEDED || task->state < TASK_ALLOCATED;
}

void view_attempts_fold(struct task_view *task, enum task_state from, int64_t time_ms)
{
	struct attempt_view *attempt = last_of(task);
	bool is_process = task->state == TASK_REGISTERED || task->state == TASK_RUNNING;

	/* What ends a process tells the numbers of the next one already. */
	if (attempt && attempt->ended_ms == 0 &&
	    (has_ended(task, from) || attempt->attempt != task->attempt))
		end(attempt, task, from, time_ms);
	if (task->state >= TASK_ALLOCATED && (!attempt || attempt->attempt < task->attempt))
		attempt = add(task);
	else if (attempt && attempt->ended_ms > 0 && is_process)
		attempt = add_process(task);
	if (!attempt || attempt->ended_ms > 0)
		return;
	take_members(attempt, task);
	take_times(attempt, task, time_ms);
}

void view_attempts_use(struct task_view *task)
{
	size_t i = task->attempt_count;

	while (i > 0 && task->attempts[i - 1].ended_ms == 0)
		i--; /* what ends a process may begin the next one */
	if (i > 0)
		task->attempts[i - 1].use = task->use;
}

void view_attempts_end(struct task_view *task, int64_t time_ms)
{
	struct attempt_view *attempt = last_of(task);

	if (attempt && attempt->ended_ms == 0)
		attempt->ended_ms = time_ms;
}

static bool holds_container(enum task_state state)
{
	return state >= TASK_ALLOCATED && state < TASK_SUCCEEDED;
}

int64_t view_attempts_hold(struct task_view *task, enum task_state from, int64_t time_ms)
{
	bool holds = holds_container(task->state), held = holds_container(from);
	bool is_same = task->held_attempt == task->attempt;
	int64_t since_ms = task->held_until_ms;

	if (!holds && !held)
		return 0;
	task->held_until_ms = time_ms;
	if (holds)
		task->held_attempt = task->attempt;
	/* A program that failed may start again in its container, which was the task's meanwhile.
	 */
	if ((!held && !is_same) || since_ms == 0 || time_ms < since_ms)
		return 0;
	return time_ms - since_ms;
}
