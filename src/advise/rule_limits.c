/* Time-outs that are too short, or far longer than was ever needed. */
#include <inttypes.h>

#include "advise/rules.h"
#include "base/mem.h"

enum {
	SECOND_MS = 1000,
	PATIENCE_MS = 25 * SECOND_MS,	  /* what the defaults come to */
	IMPATIENT_MS = 15 * SECOND_MS,	  /* the AM waits no longer than so */
	TOO_PATIENT_MS = 120 * SECOND_MS, /* or so long */
	BEATS_MANY = 5000,		  /* per second, of all executors */
	LOSSES_MIN = 2,
	REGISTRATION_LEAST_MS = 60 * SECOND_MS,
};

/* ---- heartbeats --------------------------------------------------------------------------- */

static void suggest_patience(struct advice *advice, const struct advising *advising)
{
	const struct job *job = advising->job;
	int64_t beats = PATIENCE_MS / job->heartbeat_interval_ms;

	if (beats < 3) {
		advice_set(advice, advising, "tony.task.heartbeat-interval-ms",
			   mem_printf("%" PRId64, job->heartbeat_interval_ms), mem_strdup("1000"));
		beats = PATIENCE_MS / 1000;
	}
	advice_set(advice, advising, "tony.task.max-missed-heartbeats",
		   mem_printf("%d", job->max_missed_heartbeats), mem_printf("%" PRId64, beats));
}

/* On how many hosts executors went silent. */
static size_t silent_hosts(const struct advising *advising, size_t *losses)
{
	struct incidents incidents cleanup_incidents = {0};
	struct str_list hosts cleanup_str_list = {0};

	*losses = 0;
	advise_incidents(advising, &incidents);
	for (size_t i = 0; i < incidents.count; i++) {
		const struct attempt_view *attempt = incidents.items[i].attempt;
		if (attempt->cause.kind != CAUSE_EXECUTOR_LOST)
			continue;
		(*losses)++;
		if (attempt->host && !str_list_has(&hosts, attempt->host))
			str_list_add(&hosts, attempt->host);
	}
	return hosts.count;
}

/* How many tasks were nearly given up for silence and then went on; the longest of it, and how many
 * beats were late at all. */
static size_t count_near(const struct advising *advising, int64_t *longest_ms, int64_t *late)
{
	const struct advise_uses *uses = &advising->input->uses;
	size_t near = 0;

	*longest_ms = *late = 0;
	for (size_t i = 0; i < uses->count; i++) {
		const struct advise_use *use = &uses->items[i];
		*late += use->late_beats > 0 ? use->late_beats : 0;
		if (use->longest_silence_ms > *longest_ms)
			*longest_ms = use->longest_silence_ms;
		near += use->longest_silence_ms >= job_heartbeat_timeout_ms(advising->job) / 2;
	}
	return near;
}

/* A dead node is one; nodes that go silent one after the other are busy. */
void rule_heartbeat_short(struct advising *advising)
{
	size_t losses, hosts = silent_hosts(advising, &losses);
	int64_t longest_ms, late;
	size_t near = count_near(advising, &longest_ms, &late);

	if ((hosts < LOSSES_MIN && near < LOSSES_MIN) ||
	    job_heartbeat_timeout_ms(advising->job) >= IMPATIENT_MS)
		return;
	char *patience cleanup_free = str_format_duration(job_heartbeat_timeout_ms(advising->job));
	char *longest cleanup_free = str_format_duration(longest_ms);
	struct advice *advice =
		advice_begin(advising, "executors count as lost before a busy node can answer");
	if (losses > 0)
		advice_evidence(advice, "lost: %zu executor%s, on %zu node%s", losses,
				str_plural(losses), hosts, str_plural(hosts));
	advice_evidence(advice, "one counts as lost after a silence of %s", patience);
	if (near > 0)
		advice_evidence(advice,
				"silent for half of that or longer, and then heard of again: %zu "
				"task%s; the longest: %s; late heartbeats of all tasks: %" PRId64,
				near, str_plural(near), longest, late);
	suggest_patience(advice, advising);
}

void rule_heartbeat_long(struct advising *advising)
{
	size_t losses;

	silent_hosts(advising, &losses);
	if (losses == 0 || job_heartbeat_timeout_ms(advising->job) < TOO_PATIENT_MS)
		return;
	char *patience cleanup_free = str_format_duration(job_heartbeat_timeout_ms(advising->job));
	struct advice *advice = advice_begin(advising, "a lost executor is noticed late");
	advice_evidence(advice,
			"lost: %zu executor%s, each noticed after %s, in which the others "
			"waited",
			losses, str_plural(losses), patience);
	suggest_patience(advice, advising);
}

void rule_heartbeat_often(struct advising *advising)
{
	const struct job *job = advising->job;
	int64_t tasks = (int64_t)advising->view->task_count;
	int64_t beats = tasks * SECOND_MS / job->heartbeat_interval_ms;

	if (beats < BEATS_MANY)
		return;
	int64_t interval_ms = (tasks * SECOND_MS / BEATS_MANY / SECOND_MS + 1) * SECOND_MS;
	char *interval cleanup_free = str_format_duration(job->heartbeat_interval_ms);
	struct advice *advice = advice_begin(
		advising, "the heartbeat interval is too short for %" PRId64 " tasks", tasks);
	advice_evidence(advice,
			"%" PRId64 " executors with a message every %s at the latest: %" PRId64
			" messages per second",
			tasks, interval, beats);
	advice_set(advice, advising, "tony.task.heartbeat-interval-ms",
		   mem_printf("%" PRId64, job->heartbeat_interval_ms),
		   mem_printf("%" PRId64, interval_ms));
}

/* ---- registration ------------------------------------------------------------------------- */

/* The longest that a container took to register; 0: none did. */
static int64_t longest_launch(const struct advising *advising)
{
	int64_t longest = 0;

	for (size_t i = 0; i < advising->view->task_count; i++) {
		const struct task_view *task = &advising->view->tasks[i];
		const struct attempt_view *first = task->attempts;
		if (task->attempt_count > 0 && first->launched_ms > 0 &&
		    first->registered_ms - first->launched_ms > longest)
			longest = first->registered_ms - first->launched_ms;
	}
	return longest;
}

static void advise_registration(struct advising *advising, const char *title, size_t losses,
				int64_t suggested_ms)
{
	int64_t limit_ms = advising->job->registration_timeout_ms;
	char *limit cleanup_free = str_format_duration(limit_ms);
	char *longest cleanup_free = str_format_duration(longest_launch(advising));
	struct advice *advice = advice_begin(advising, "%s", title);

	advice_evidence(advice, "containers that had not registered after %s: %zu", limit, losses);
	advice_evidence(advice, "the longest that any other took: %s", longest);
	advice_set(advice, advising, "tony.container.registration.timeout",
		   advise_duration(limit_ms), advise_duration(suggested_ms));
}

void rule_registration_short(struct advising *advising)
{
	size_t losses = advise_count_causes(advising, CAUSE_REGISTRATION_TIMEOUT);
	int64_t limit_ms = advising->job->registration_timeout_ms;

	/* Others came close to it: those that did not make it were on their way, too. */
	if (losses > 0 && 2 * longest_launch(advising) >= limit_ms)
		advise_registration(advising, "containers are given up while they come up", losses,
				    advise_round_ms(3 * limit_ms));
}

void rule_registration_long(struct advising *advising)
{
	size_t losses = advise_count_causes(advising, CAUSE_REGISTRATION_TIMEOUT);
	int64_t limit_ms = advising->job->registration_timeout_ms;
	int64_t needed_ms = longest_launch(advising);
	int64_t enough_ms =
		5 * needed_ms > REGISTRATION_LEAST_MS ? 5 * needed_ms : REGISTRATION_LEAST_MS;

	if (losses > 0 && needed_ms > 0 && 2 * enough_ms <= limit_ms)
		advise_registration(advising, "containers that never come up are waited for long",
				    losses, advise_round_ms(enough_ms));
}

/* ---- the job's own ------------------------------------------------------------------------ */

/* When the time of a past run began that the limit would count: of the job that is all but its wait
 * before it asked for containers, which older summaries do not tell from the rest. */
static int64_t counted_from(const struct history_summary *past, bool of_job)
{
	return of_job && past->forming_ms > 0 ? past->forming_ms : past->running_ms;
}

/* The longest past run that succeeded, in ms of which the limit would count; 0: none. */
static int64_t longest_success(const struct advising *advising, bool of_job)
{
	int64_t longest = 0;

	for (size_t i = 0; i < advising->input->past_count; i++) {
		const struct history_summary *past = &advising->input->past[i];
		int64_t begun_ms = counted_from(past, of_job), lasted = past->ended_ms - begun_ms;
		if (past->state == JOB_SUCCEEDED && begun_ms > 0 && lasted > longest &&
		    !str_equal(past->id, advising->job->id))
			longest = lasted;
	}
	return longest;
}

/* A job that was ended by a limit may have hung: only that such jobs took as long and succeeded
 * tells that the limit is what is wrong. */
void rule_time_limit(struct advising *advising)
{
	const struct job *job = advising->job;
	bool of_job = advising->view->cause.kind == CAUSE_APPLICATION_TIMEOUT;
	int64_t limit_ms = of_job ? job->application_timeout_ms : job->execution_timeout_ms;
	int64_t needed_ms = longest_success(advising, of_job);

	if ((!of_job && advising->view->cause.kind != CAUSE_EXECUTION_TIMEOUT) ||
	    advising->view->state != JOB_FAILED || 10 * needed_ms < 9 * limit_ms)
		return;
	struct advice *advice = advice_begin(advising, "the job needs more time than it is given");
	char *limit cleanup_free = str_format_duration(limit_ms);
	char *needed cleanup_free = str_format_duration(needed_ms);
	advice_evidence(advice, "ended after %s, its limit", limit);
	advice_evidence(advice, "the longest past run of this name that succeeded: %s", needed);
	advice_set(advice, advising,
		   of_job ? "tony.application.timeout" : "tony.task.executor.execution-timeout-ms",
		   advise_duration(limit_ms), advise_duration(advise_round_ms(2 * needed_ms)));
}
