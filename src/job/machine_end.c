#include "job/machine_internal.h"

#include <stdlib.h>

#include "base/mem.h"

/* What is not back this long after the last grace period is left to the scheduler's close(). */
#define FINISH_MARGIN_MS 30000

enum {
	/* Tasks of a type whose presumed thefts cost nothing. After the first one no port of the
	 * type is held; the next one may have run before. */
	PORTS_OF_TYPE = 2,
	/* Thefts of any kind. A thief who takes more, each after a longer back-off, fails the job.
	 */
	PORTS_OF_JOB = 20,
};

/* ---- failures ----------------------------------------------------------------------------- */

void machine_blame(struct machine *m, int64_t task, const struct cause *cause)
{
	if (m->cause.kind != CAUSE_NONE && m->cause_epoch == m->epoch)
		return;
	cause_copy(&m->cause, cause);
	m->cause_task = task;
	m->cause_epoch = m->epoch;
	m->unrecorded = true;
}

void machine_fail(struct machine *m, enum cause_kind kind, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	struct cause cause = {.kind = kind, .text = text};
	machine_blame(m, -1, &cause);
	machine_finish(m, JOB_FAILED);
}

static bool lost_its_port(const struct task *t)
{
	return t->cause.kind == CAUSE_PORT_TAKEN || t->cause.kind == CAUSE_PORT_STOLEN;
}

static int count_lost_ports(const struct machine *m)
{
	int lost = 0;
	for (size_t i = 0; i < m->task_count; i++)
		lost += m->tasks[i].ports_lost;
	return lost;
}

/* It could not bind a port that was held, and could have been anybody's. */
static bool missed_its_port(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	const struct job_type *type = &m->job->types[t->type];
	return t->cause.kind == CAUSE_PORT_TAKEN && type->hold_port && !type->strict_port &&
	       !t->port_open;
}

/* Whether another user was faster at the task's port, as the kernel said, or as is presumed. */
static bool is_other_users_fault(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	return t->cause.kind == CAUSE_PORT_STOLEN ||
	       (missed_its_port(m, task) && m->types[t->type].missed < PORTS_OF_TYPE &&
		count_lost_ports(m) < PORTS_OF_JOB);
}

/* Nobody's cluster spec names this container yet, or nobody has one: a new container will do. */
static bool can_be_replaced_alone(const struct machine *m, size_t task)
{
	return m->tasks[task].epoch != m->epoch || m->job->mode == JOB_MODE_FCFS;
}

/* A thief spends no retry of the job. */
static void judge_theft(const struct machine *m, size_t task, struct policy *policy)
{
	if (count_lost_ports(m) >= PORTS_OF_JOB) {
		policy->charge = CHARGE_NEVER;
		policy->blames_host = false;
		policy->why = "other users took too many of the job's ports";
		return;
	}
	policy->charge = CHARGE_PORT;
	/* The executor knows best how to keep the next one; a new one knows nothing. */
	policy->blames_host =
		policy->blames_host && (can_be_replaced_alone(m, task) || m->job->live_elastic);
	if (m->tasks[task].cause.kind == CAUSE_PORT_TAKEN)
		policy->why = "the next one is kept in another way";
}

/* How far a task of the type was that last ended out of memory, the farthest one; 0: it told no
 * steps. -1: none did. */
static int64_t find_farthest_end(const struct machine *m, size_t type)
{
	const struct type_tally *tally = &m->types[type];
	int64_t step = -1;
	for (size_t i = tally->first; i < tally->first + tally->count; i++) {
		const struct cause *cause = &m->tasks[i].cause;
		if (cause->kind == CAUSE_OUT_OF_MEMORY && cause->step > step)
			step = cause->step;
	}
	return step;
}

/* A program that tells no steps may have got further if it ran for a while. */
bool machine_is_stuck(const struct machine *m, size_t task, const struct cause *cause)
{
	const struct task *t = &m->tasks[task];
	if (cause->kind != CAUSE_OUT_OF_MEMORY)
		return false;
	int64_t before = find_farthest_end(m, t->type);
	if (before == 0 && cause->step == 0)
		return m->now - t->state_since < GOOD_FORMATION_MS;
	return cause->step <= before;
}

static void judge_stuck(struct policy *policy)
{
	policy->charge = CHARGE_NEVER;
	policy->in_place = false;
	policy->why = "it met the same memory limit before, and has got no further since";
}

/* The other's cause may be forgotten by now; that machine is not. */
static bool has_ended_elsewhere(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	const struct type_tally *tally = &m->types[t->type];
	for (size_t i = tally->first; t->host && i < tally->first + tally->count; i++) {
		const char *blamed = m->tasks[i].blamed;
		if (blamed && !str_equal(blamed, t->host))
			return true;
	}
	return false;
}

static void judge_twice(const struct machine *m, size_t task, struct policy *policy)
{
	if (!m->one_host && !has_ended_elsewhere(m, task))
		return;
	policy->blames_host = false;
	policy->charge = m->one_host ? CHARGE_USER : CHARGE_NEVER;
	policy->in_place = m->one_host;
	if (!m->one_host)
		policy->why = "processors of two machines lack an instruction of the program's: "
			      "build it for these";
}

struct policy machine_judge(const struct machine *m, size_t task)
{
	const struct task *t = &m->tasks[task];
	struct policy policy = policy_judge(&m->job->types[t->type], &t->cause, m->failures);

	if (policy.elsewhere_once && (m->one_host || t->moved)) {
		policy.charge = CHARGE_NEVER;
		policy.blames_host = false;
	}
	if (policy.own_if_twice)
		judge_twice(m, task, &policy);
	if (!policy.by_rule && is_other_users_fault(m, task))
		judge_theft(m, task, &policy);
	if (!policy.by_rule && t->is_stuck && t->cause.kind == CAUSE_OUT_OF_MEMORY)
		judge_stuck(&policy);
	return policy;
}

static bool is_awaited(const struct machine *m, size_t type)
{
	for (size_t i = 0; i < m->job->type_count; i++)
		for (size_t k = 0; k < m->job->types[i].dependency_count; k++)
			if (m->job->types[i].dependencies[k].type == type && !m->types[i].active &&
			    m->types[i].count > 0)
				return true;
	return false;
}

/* Without a retry left: can the others still end well, or at least usefully? */
static bool ends_the_job(const struct machine *m, size_t task, enum policy_charge charge)
{
	const struct task *t = &m->tasks[task];
	const struct job_type *type = &m->job->types[t->type];
	return m->job->fail_fast || type->stop_on_failure || machine_is_chief(m, task) ||
	       machine_role(m, t->type) == JOB_ROLE_UNTRACKED || is_awaited(m, t->type) ||
	       (m->job->mode == JOB_MODE_GANG && t->epoch != m->epoch) || /* no gang without it */
	       charge == CHARGE_NEVER;
}

void machine_let_go(struct machine *m, size_t task)
{
	if (m->tasks[task].has_container)
		machine_act(m, ACTION_RELEASE, task);
}

static void replace_charged(struct machine *m, size_t task, enum policy_charge charge)
{
	const struct task *t = &m->tasks[task];
	/* What is lost while a back-off runs belongs to the incident already paid for. */
	if (m->now >= m->hold_until)
		machine_charge(m, charge);
	machine_note(m, task, "%s:%d: %s; asking for another container",
		     m->job->types[t->type].name, t->index, t->cause.text ? t->cause.text : "lost");
	machine_let_go(m, task);
	machine_replace(m, task);
	machine_open_barrier(m);
}

static char *word_price(const struct machine *m, enum policy_charge charge)
{
	if (charge == CHARGE_PORT)
		return mem_strdup("with other ports; no retry is spent");
	if (charge == CHARGE_PREEMPTION)
		return mem_strdup("no retry is spent");
	bool user = charge == CHARGE_USER;
	return mem_printf("%s %d of %d", user ? "retry" : "infrastructure retry",
			  (user ? m->retries_used : m->infrastructure_retries_used) + 1,
			  user ? m->job->retry_count : m->job->infrastructure_retry_count);
}

static void reform_for(struct machine *m, size_t task, const struct policy *policy)
{
	const struct task *t = &m->tasks[task];
	char *price cleanup_free = word_price(m, policy->charge);
	machine_note(m, task, "%s:%d: %s%s%s; the job re-forms (%s)", m->job->types[t->type].name,
		     t->index, t->cause.text ? t->cause.text : "failed", policy->why ? ": " : "",
		     policy->why ? policy->why : "", price);
	if (t->state == TASK_LOST)
		machine_let_go(m, task);
	machine_reform(m, task, policy->charge);
}

/* What is not tried again though there may be a budget for it. */
static void tell_why_not(struct machine *m, size_t task, const struct policy *policy)
{
	const struct task *t = &m->tasks[task];
	const char *type = m->job->types[t->type].name;
	if (policy->charge != CHARGE_NEVER)
		return;
	if (policy->by_rule)
		machine_note(m, task, "%s:%d is not tried again, as tony.%s.on-exit says", type,
			     t->index, type);
	else if (policy->why)
		machine_note(m, task, "%s:%d is not tried again: %s%s", type, t->index, policy->why,
			     !policy->elsewhere_once ? ""
			     : m->one_host	     ? ", and there is no other machine"
						     : ", as one was before");
}

static void follow_policy(struct machine *m, size_t task, const struct policy *policy)
{
	const struct task *t = &m->tasks[task];
	enum policy_charge charge = policy->charge;
	if (policy->blames_host && t->container)
		machine_act(m, ACTION_AVOID, task);
	if (machine_role(m, t->type) == JOB_ROLE_SIDECAR && !is_awaited(m, t->type)) {
		machine_let_go(m, task);
		machine_open_barrier(m);
		machine_check_end(m);
		return;
	}
	/* With the machine that is to blame goes the container. */
	if (policy->blames_host && t->state == TASK_FAILED && machine_can_charge(m, charge))
		machine_set_task(m, task, TASK_LOST);
	if (machine_can_spare(m, task, charge)) {
		machine_spare(m, task);
		return;
	}
	bool lost = t->state == TASK_LOST;
	if (lost && policy_is_others_fault(charge) && can_be_replaced_alone(m, task) &&
	    machine_can_charge(m, charge)) {
		replace_charged(m, task, charge);
		return;
	}
	machine_blame(m, (int64_t)task, &t->cause);
	if (machine_can_charge(m, charge)) {
		reform_for(m, task, policy);
		return;
	}
	tell_why_not(m, task, policy);
	if (ends_the_job(m, task, charge)) {
		machine_finish(m, JOB_FAILED);
		return;
	}
	machine_let_go(m, task);
	machine_settle_size(m);
	machine_open_barrier(m);
	machine_check_end(m);
}

static void note_missed_port(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	m->types[t->type].missed += !t->port_missed;
	t->port_missed = true;
}

void machine_task_failed(struct machine *m, size_t task)
{
	const struct policy policy = machine_judge(m, task);
	bool has_missed = missed_its_port(m, task);
	char *host cleanup_free = policy.own_if_twice ? mem_strdup(m->tasks[task].host) : NULL;
	follow_policy(m, task, &policy);
	if (has_missed)
		note_missed_port(m, task);
	if (policy.elsewhere_once) /* which the next judgement takes into account */
		m->tasks[task].moved = true;
	if (host)
		mem_replace(&m->tasks[task].blamed, mem_steal(&host));
	if (lost_its_port(&m->tasks[task]) && m->tasks[task].ports_lost < PORTS_OF_JOB)
		m->tasks[task].ports_lost++;
}

/* ---- the end ------------------------------------------------------------------------------ */

static int64_t longest_grace(const struct job *job)
{
	int64_t longest = 0;
	for (size_t i = 0; i < job->type_count; i++)
		if (job->types[i].stop_grace_ms > longest)
			longest = job->types[i].stop_grace_ms;
	return longest;
}

int64_t machine_finish_by(const struct machine *m)
{
	return m->now + longest_grace(m->job) + FINISH_MARGIN_MS;
}

void machine_stop_task(struct machine *m, size_t task)
{
	switch (m->tasks[task].state) {
	case TASK_WAITING:
		machine_set_task(m, task, TASK_STOPPED);
		break;
	case TASK_REQUESTED:
		machine_act(m, ACTION_CANCEL, task);
		machine_set_task(m, task, TASK_STOPPED);
		break;
	case TASK_ALLOCATED:
	case TASK_LAUNCHING:
	case TASK_REGISTERED:
	case TASK_RUNNING:
	case TASK_STOPPING:
		machine_set_task(m, task, TASK_STOPPED);
		machine_act(m, ACTION_RELEASE, task);
		break;
	case TASK_FAILED:
		/* The one whose failure ended the job still has its executor. */
		if (m->tasks[task].has_container)
			machine_act(m, ACTION_RELEASE, task);
		break;
	default:
		break;
	}
	machine_set_rejoin(m, task, false);
}

void machine_finish(struct machine *m, enum job_state outcome)
{
	if (m->state >= JOB_FINISHING)
		return;
	m->outcome = outcome;
	machine_set_job(m, JOB_FINISHING);
	m->finish_by = machine_finish_by(m);
	m->deadline = m->finish_by;
	for (size_t task = 0; task < m->task_count; task++)
		machine_stop_task(m, task);
	machine_check_end(m);
}

/* TASK_FAILED or _LOST for good counts as ended too. */
static bool tracked_have_ended(const struct machine *m, bool *failed)
{
	for (size_t i = 0; i < m->job->type_count; i++) {
		const struct type_tally *type = &m->types[i];
		if (machine_role(m, i) != JOB_ROLE_TRACKED)
			continue;
		size_t bad = type->in[TASK_FAILED] + type->in[TASK_LOST];
		if (type->in[TASK_SUCCEEDED] + bad < machine_size(m, i) || type->rejoining > 0)
			return false;
		*failed = *failed || bad > 0;
	}
	return true;
}

void machine_check_end(struct machine *m)
{
	if (m->state == JOB_FINISHING) {
		if (m->containers == 0)
			machine_set_job(m, m->outcome);
		return;
	}
	bool failed = false;
	if (tracked_have_ended(m, &failed))
		machine_finish(m, failed ? JOB_FAILED : JOB_SUCCEEDED);
}

/* ---- failures for which a program blames its peers ----------------------------------------- */

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

static void judge_blame(struct machine *m, size_t task, int64_t heard_at)
{
	struct task *t = &m->tasks[task];
	if (!t->blames_peer || heard_at - m->job->heartbeat_interval_ms < t->blames_since)
		return;
	machine_set_blames_peer(m, task, false);
	const struct policy policy = machine_judge(m, task);
	machine_process_failed(m, task, &policy);
}

void machine_judge_blame(struct machine *m)
{
	if (m->blaming == 0)
		return;
	int64_t heard_at = longest_silent(m);
	judge_blame(m, first_blaming(m), heard_at);
	for (size_t task = 0; task < m->task_count && m->blaming > 0; task++)
		judge_blame(m, task, heard_at);
	if (m->blaming > 0)
		machine_due(m, m->now + m->job->heartbeat_interval_ms / 4 + 1);
}
