#include "client/opened_jobs.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/follow.h"
#include "client/report.h"
#include "net/interrupt.h"
#include "scheduler/am_calls.h"

enum {
	NEWS_MS = 10000,      /* for what AMs on clusters have written since */
	PATIENCE_MS = 5000,   /* for an AM that is being started */
	STEP_MS = 100,	      /* between two looks for it */
	TELL_AFTER_MS = 1000, /* that an AM has not answered */
};

void opened_jobs_finish(struct opened_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		am_call_drop(jobs->items[i].call);
		opened_finish(&jobs->items[i].opened);
	}
	free(jobs->items);
	am_calls_destroy(jobs->calls);
	*jobs = (struct opened_jobs){0};
}

void opened_jobs_note(struct opened_jobs *jobs, int code, const struct err *err)
{
	int told = code < 0 ? report_error(err) : code;

	jobs->code = told > jobs->code ? told : jobs->code;
}

/* All AMs on clusters are asked for news before any of it is read. */
static void take_news(struct opened_jobs *jobs)
{
	am_calls_finish(jobs->calls, jobs->news_ms > 0 ? jobs->news_ms : NEWS_MS);
	for (size_t i = 0; i < jobs->count; i++) {
		struct opened_job *job = &jobs->items[i];
		struct err err cleanup_err = {0};
		if (job->is_over || !job->opened.ops->traits->remote_am)
			continue;
		job->is_over = opened_read(&job->opened, NULL, NULL, &err) < 0;
		if (job->is_over)
			opened_jobs_note(jobs, -1, &err);
		opened_rest(&job->opened);
	}
}

/* A name, a beginning and an id may mean one job: it is opened once. */
static bool is_there(const struct opened_jobs *jobs, const char *id)
{
	for (size_t i = 0; i < jobs->count; i++)
		if (id && str_equal(jobs->items[i].opened.id, id))
			return true;
	return false;
}

static void open_next(struct opened_jobs *jobs, const char *word, bool is_alone,
		      opened_jobs_open *open, void *data)
{
	struct opened_job *job = &jobs->items[jobs->count];
	struct err err cleanup_err = {0};

	job->word = word;
	job->opened.aside.calls = is_alone ? NULL : jobs->calls;
	int result = open(&job->opened, word, data, &err);
	if (is_there(jobs, job->opened.id)) {
		opened_finish(&job->opened);
		*job = (struct opened_job){0};
		return;
	}
	jobs->count++;
	job->is_over = result != 0;
	if (result < 0)
		opened_jobs_note(jobs, -1, &err);
	opened_rest(&job->opened);
}

/* Of one job alone the AM is asked as ever. */
static void settle_one(struct opened_jobs *jobs)
{
	if (jobs->count != 1)
		return;
	am_call_drop(jobs->items[0].opened.aside.call);
	jobs->items[0].opened.aside = (struct pull_aside){0};
}

void opened_jobs_find(struct opened_jobs *jobs, const struct str_list *words,
		      opened_jobs_open *open, void *data)
{
	size_t count = words->count > 0 ? words->count : 1;

	*jobs = (struct opened_jobs){.calls = am_calls_create(), .news_ms = jobs->news_ms};
	jobs->items = mem_alloc_array(count, sizeof(*jobs->items));
	for (size_t i = 0; i < count && jobs->code != EXIT_CODE_INTERRUPTED; i++)
		open_next(jobs, words->count > 0 ? words->items[i] : NULL, count == 1, open, data);
	if (count > 1)
		take_news(jobs);
	settle_one(jobs);
}

/* ---- signs of life ------------------------------------------------------------------------ */

void opened_jobs_greet(struct opened_jobs *jobs, bool only_remote, int64_t limit_ms)
{
	struct am_call **greetings cleanup_free = mem_alloc_array(jobs->count, sizeof(*greetings));

	if (jobs->count < 2)
		return;
	for (size_t i = 0; i < jobs->count; i++) {
		struct opened_job *job = &jobs->items[i];
		if (job->is_over || (only_remote && !job->opened.ops->traits->remote_am))
			continue;
		if (opened_can_ask(&job->opened, NULL))
			greetings[i] = am_call_start(jobs->calls, &job->opened.door, "GET",
						     "/v1/server", NULL, limit_ms);
	}
	am_calls_finish(jobs->calls, limit_ms);
	for (size_t i = 0; i < jobs->count; i++) {
		struct str answer cleanup_str = {0};
		int status;
		if (!greetings[i])
			continue;
		const bool has_ended = am_call_has_ended(greetings[i]);
		if (!has_ended)
			am_call_drop(greetings[i]);
		jobs->items[i].is_frozen = !has_ended;
		jobs->items[i].opened.is_silent =
			!has_ended || am_call_take(greetings[i], &status, &answer, NULL) < 0;
	}
}

void opened_jobs_drop_failed(struct opened_jobs *jobs)
{
	size_t kept = 0;

	for (size_t i = 0; i < jobs->count; i++) {
		struct opened_job *job = &jobs->items[i];
		struct err err cleanup_err = {0};
		if (!job->is_over && !job->is_frozen) {
			jobs->items[kept++] = *job;
			continue;
		}
		if (!job->is_over) {
			opened_can_ask(&job->opened, &err);
			opened_jobs_note(jobs, -1, &err);
		}
		opened_finish(&job->opened);
	}
	jobs->count = kept;
	settle_one(jobs);
}

/* ---- orders ------------------------------------------------------------------------------- */

struct ordering {
	struct opened_jobs *jobs;
	const struct opened_order *order;
	int64_t begun_ms; /* monotonic */
};

static int begin_order(const struct ordering *ordering, struct opened_job *job, struct err *err)
{
	const struct opened_order *order = ordering->order;
	int wanted = order->before ? order->before(&job->opened, order->data, err) : 1;

	job->is_ordered = wanted == 0;
	if (wanted <= 0)
		return wanted;
	if (!opened_can_ask(&job->opened, err))
		return -1;
	job->call = opened_ask_aside(&job->opened, ordering->jobs->calls, "POST", order->path,
				     order->body);
	return 0;
}

static int end_order(struct opened_job *job, int64_t lasted_ms, struct err *err)
{
	if (!am_call_has_ended(job->call))
		return lasted_ms > INTERRUPT_GRACE_MS && interrupt_is_pending()
			       ? interrupt_set(err, job->opened.id)
			       : 0;
	json_t *answer cleanup_json = opened_take_answer(mem_steal(&job->call), err);
	job->is_ordered = answer;
	return answer ? 0 : -1;
}

/* An AM may be on its way, such as the one that follows a killed one. */
static int order_on(const struct ordering *ordering, struct opened_job *job, struct err *err)
{
	const struct opened_order *order = ordering->order;
	struct err failure cleanup_err = {0};
	int64_t now = clock_monotonic_ms();

	if (!job->call && now < job->next_ms)
		return 0;
	int result = job->call ? end_order(job, now - ordering->begun_ms, &failure)
			       : begin_order(ordering, job, &failure);
	if (result == 0)
		return 0;
	job->is_ordered = order->is_done && order->is_done(&job->opened);
	if (job->is_ordered)
		return 0;
	if (failure.kind != ERR_UNREACHABLE ||
	    clock_monotonic_ms() > ordering->begun_ms + PATIENCE_MS)
		return order->fail(&job->opened, &failure, err);
	job->next_ms = now + STEP_MS;
	return opened_find_am(&job->opened, err);
}

static void tell_silence(const struct ordering *ordering, struct opened_job *job)
{
	if (job->is_noted || clock_monotonic_ms() < ordering->begun_ms + TELL_AFTER_MS)
		return;
	job->is_noted = true;
	report_note("the application master of %s has not answered yet%s", job->opened.id,
		    ordering->order->advice);
}

/* False: none is missing. */
static bool order_all(const struct ordering *ordering)
{
	bool is_missing = false;

	for (size_t i = 0; i < ordering->jobs->count; i++) {
		struct opened_job *job = &ordering->jobs->items[i];
		struct err err cleanup_err = {0};
		if (job->is_over || job->is_ordered)
			continue;
		job->is_over = order_on(ordering, job, &err) < 0;
		if (job->is_over) {
			opened_jobs_note(ordering->jobs, -1, &err);
		} else if (!job->is_ordered) {
			tell_silence(ordering, job);
			is_missing = true;
		}
	}
	return is_missing;
}

void opened_jobs_order(struct opened_jobs *jobs, const struct opened_order *order)
{
	const struct ordering ordering = {jobs, order, clock_monotonic_ms()};

	while (order_all(&ordering))
		am_calls_wait(jobs->calls, STEP_MS);
}

/* ---- their ends --------------------------------------------------------------------------- */

static int look_at(struct opened *opened, struct err *err)
{
	if (opened_look_for_am(opened, err) < 0 || opened_read(opened, NULL, NULL, err) < 0 ||
	    opened_check_record(opened, err) < 0)
		return -1;
	opened_rest(opened);
	char *given_up cleanup_free = opened_check_start(opened);
	if (given_up)
		report_note("%s", given_up);
	return 0;
}

/* How many go on. */
static size_t look_at_all(struct opened_jobs *jobs, opened_jobs_look *look, void *data)
{
	size_t left = 0;

	for (size_t i = 0; i < jobs->count; i++) {
		struct opened_job *job = &jobs->items[i];
		struct err err cleanup_err = {0};
		if (job->is_over)
			continue;
		if (look_at(&job->opened, &err) < 0) {
			opened_jobs_note(jobs, -1, &err);
			job->is_over = true;
		} else {
			look(jobs, job, data);
		}
		left += !job->is_over;
	}
	return left;
}

static bool asks_am(const struct opened_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		if (!jobs->items[i].is_over && jobs->items[i].opened.ops->traits->remote_am)
			return true;
	return false;
}

/* The answer of one AM is taken with all others: it is no reason to ask another one again. */
static void await_news(struct opened_jobs *jobs, struct follow *changes, int64_t left_ms)
{
	int64_t wait_ms = left_ms;

	for (size_t i = 0; i < jobs->count; i++)
		if (!jobs->items[i].is_over)
			wait_ms = opened_wait_ms(&jobs->items[i].opened, wait_ms);
	if (asks_am(jobs))
		am_calls_run(jobs->calls, wait_ms);
	else
		follow_wait(changes, wait_ms);
}

void opened_jobs_follow(struct opened_jobs *jobs, int64_t timeout_ms, opened_jobs_look *look,
			void *data)
{
	int64_t start = clock_monotonic_ms();
	struct follow *changes = follow_create();

	for (size_t i = 0; i < jobs->count; i++) {
		struct opened_job *job = &jobs->items[i];
		if (job->is_over)
			continue;
		job->opened.aside.calls = jobs->calls;
		follow_add(changes, job->opened.door.job_dir);
	}
	for (;;) {
		follow_drain(changes);
		size_t going_on = look_at_all(jobs, look, data);
		int64_t left =
			timeout_ms < 0 ? INT64_MAX : start + timeout_ms - clock_monotonic_ms();
		if (going_on == 0 || left <= 0)
			break;
		await_news(jobs, changes, left);
	}
	follow_destroy(changes);
}
