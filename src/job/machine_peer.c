#include "job/machine_internal.h"

#include "base/mem.h"

/*
 * "Connection reset by peer": a program that loses a peer tells of it at once, the loss itself is
 * known only when its executor has been silent for long enough, or the scheduler says so. Who is to
 * blame decides who pays. So such a failure waits until each peer has been heard of after it, a
 * heartbeat later at the earliest, since what was sent before may arrive after. A peer that is
 * lost, or fails of itself, is judged meanwhile, and takes those that wait along.
 */

bool machine_asks_for_peers(struct machine *m, size_t task, const struct policy *policy)
{
	const struct task *t = &m->tasks[task];
	const struct job_type *type = &m->job->types[t->type];
	if (!policy->blames_peer || m->job->mode != JOB_MODE_GANG || m->in[TASK_RUNNING] < 2)
		return false;
	char *limit cleanup_free = str_format_duration(job_heartbeat_timeout_ms(m->job));
	machine_note(m, task, "%s:%d %s: %s; whether a peer is lost is known within %s", type->name,
		     t->index, t->cause.text ? t->cause.text : "failed", policy->why, limit);
	machine_set_up(m, task, false);
	machine_set_blames_peer(m, task, true);
	machine_tell(m, task);
	machine_due(m, m->now + m->job->heartbeat_interval_ms);
	return true;
}

static bool is_peer(const struct machine *m, const struct task *t)
{
	return t->state == TASK_RUNNING && !t->blames_peer &&
	       machine_role(m, t->type) != JOB_ROLE_SIDECAR;
}

/* When the peer that has been silent for longest was heard of. */
static int64_t longest_silent(const struct machine *m)
{
	int64_t heard_at = INT64_MAX;
	for (size_t task = 0; task < m->task_count; task++) {
		const struct task *t = &m->tasks[task];
		if (is_peer(m, t) && t->heard_at < heard_at)
			heard_at = t->heard_at;
	}
	return heard_at;
}

/* The one that has blamed its peers for longest. */
static size_t first_blaming(const struct machine *m)
{
	size_t first = SIZE_MAX;
	for (size_t task = 0; task < m->task_count; task++) {
		const struct task *t = &m->tasks[task];
		if (t->blames_peer &&
		    (first == SIZE_MAX || t->blames_since < m->tasks[first].blames_since))
			first = task;
	}
	return first;
}

static void judge(struct machine *m, size_t task, int64_t heard_at)
{
	struct task *t = &m->tasks[task];
	if (!t->blames_peer || heard_at - m->job->heartbeat_interval_ms < t->blames_since)
		return;
	machine_set_blames_peer(m, task, false);
	const struct policy policy = policy_judge(&m->job->types[t->type], &t->cause, m->failures);
	machine_process_failed(m, task, &policy);
}

void machine_judge_blame(struct machine *m)
{
	if (m->blaming == 0)
		return;
	int64_t heard_at = longest_silent(m);
	judge(m, first_blaming(m), heard_at);
	for (size_t task = 0; task < m->task_count && m->blaming > 0; task++)
		judge(m, task, heard_at);
	if (m->blaming > 0)
		machine_due(m, m->now + m->job->heartbeat_interval_ms / 4 + 1);
}
