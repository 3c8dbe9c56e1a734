#include "am/gate.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"

enum {
	LOOK_MS = 1000,
	LOOK_REMOTE_MS = 3000, /* at an engine that all users ask */
	/* A job of which nothing is seen for so many looks is gone: its AM may be coming up. */
	MISSES = 5,
	CLOCK_MS = 60000, /* between two looks at a clock that may be set */
};

struct other {
	struct awaited awaited;
	bool is_settled; /* it has ended, as is wanted; the array's: somehow */
	int misses;
	char *trouble; /* why it could not be looked at; NULL: it could */
};

struct gate {
	struct gate_options options;
	struct event *timer;
	struct other *others; /* job->after, then job->array_earlier from the last one on */
	size_t after_count, count;
	bool is_released, is_over;
	size_t next;   /* to be looked at in this round */
	size_t living; /* of the array, in this round */
	char *failure; /* why the job can never begin; NULL: it may */
};

/* ---- in words ----------------------------------------------------------------------------- */

static void add(struct str *text, char *part)
{
	str_append_format(text, "%s%s", text->length > 0 ? "; " : "", part);
	free(part);
}

static bool is_held(const struct gate *gate)
{
	return gate->options.job->hold && !gate->is_released;
}

static bool is_early(const struct gate *gate, int64_t now_ms)
{
	return gate->options.job->begin_ms > now_ms;
}

static bool is_behind(const struct gate *gate)
{
	int64_t limit = gate->options.job->array_limit;

	return limit > 0 && (int64_t)gate->living >= limit;
}

/* Of a job that counts for nothing any more it is of no interest. */
static void describe_trouble(const struct gate *gate, struct str *text)
{
	for (size_t i = 0; i < gate->count && text->length > 0; i++)
		if (gate->others[i].trouble)
			add(text, mem_printf("cannot look at job %s: %s",
					     gate->others[i].awaited.id, gate->others[i].trouble));
}

/* Empty: for nothing. */
static void describe(const struct gate *gate, int64_t now_ms, struct str *text)
{
	const struct job *job = gate->options.job;

	if (is_held(gate))
		add(text, mem_printf("is held; tony release %s lets it begin", job->id));
	if (is_early(gate, now_ms)) {
		char *time cleanup_free = str_format_time(job->begin_ms);
		add(text, mem_printf("waits until %s", time));
	}
	for (size_t i = 0; i < gate->after_count; i++) {
		const struct awaited *awaited = &gate->others[i].awaited;
		if (!gate->others[i].is_settled)
			add(text, mem_printf("waits for job %s to %s", awaited->id,
					     awaited->any_end ? "end" : "succeed"));
	}
	if (is_behind(gate))
		add(text, mem_printf("waits for its turn in %s, of which %lld run at a time",
				     job->array, (long long)job->array_limit));
	describe_trouble(gate, text);
}

static void tell_passed(const struct gate *gate)
{
	struct str_list met cleanup_str_list = {0};

	for (size_t i = 0; i < gate->after_count; i++)
		if (gate->others[i].is_settled)
			str_list_add(&met, gate->others[i].awaited.id);
	gate->options.passed(gate->options.data, gate->is_released, &met);
}

/* ---- other jobs --------------------------------------------------------------------------- */

static void fail(struct gate *gate, const struct other *other, const char *how, const char *message)
{
	if (gate->failure)
		return;
	gate->failure =
		mem_printf("canceled: job %s, after which it was to begin, %s%s%s",
			   other->awaited.id, how, message ? ": " : "", message ? message : "");
}

static void settle(struct gate *gate, struct other *other)
{
	other->is_settled = true;
	if (other < gate->others + gate->after_count)
		tell_passed(gate);
}

static void judge_end(struct gate *gate, struct other *other, const struct scheduler_other *seen)
{
	bool is_after = other < gate->others + gate->after_count;

	if (!is_after || other->awaited.any_end || seen->state == JOB_SUCCEEDED)
		settle(gate, other);
	else
		fail(gate, other, seen->state == JOB_KILLED ? "was killed" : "failed",
		     seen->message);
}

/* Of an array a job that was removed has had its turn. */
static void judge_absence(struct gate *gate, struct other *other,
			  const struct scheduler_other *seen)
{
	bool is_after = other < gate->others + gate->after_count;

	if (++other->misses < MISSES)
		gate->living += !is_after;
	else if (!is_after || other->awaited.any_end)
		settle(gate, other);
	else if (seen->message)
		fail(gate, other, "failed", seen->message);
	else
		fail(gate, other, "is gone, and how it ended is not known", NULL);
}

/* The engine may give the same answer to each look. */
static void note_trouble(struct other *other, const char *text)
{
	if (str_equal(other->trouble, text))
		return;
	if (text)
		log_warning("job %s, for which this one waits: %s", other->awaited.id, text);
	mem_replace(&other->trouble, mem_strdup(text));
}

static void judge(struct gate *gate, struct other *other, const struct scheduler_other *seen)
{
	bool is_after = other < gate->others + gate->after_count;
	bool is_known = seen->standing != SCHEDULER_OTHER_NOT_KNOWN;

	note_trouble(other, is_known ? NULL : seen->message);
	switch (seen->standing) {
	case SCHEDULER_OTHER_ENDED:
		judge_end(gate, other, seen);
		break;
	case SCHEDULER_OTHER_GONE:
		judge_absence(gate, other, seen);
		break;
	case SCHEDULER_OTHER_LIVES:
		other->misses = 0;
		__attribute__((fallthrough));
	case SCHEDULER_OTHER_NOT_KNOWN:
		gate->living += !is_after;
		break;
	}
}

/* ---- rounds ------------------------------------------------------------------------------- */

/* So that a clock that is set, or a machine that slept, is noticed. */
static int64_t next_look_ms(const struct gate *gate, int64_t now_ms)
{
	bool is_remote = gate->options.ops->traits->remote_am;
	int64_t left = gate->options.job->begin_ms - now_ms;

	for (size_t i = 0; i < gate->count; i++)
		if (!gate->others[i].is_settled)
			return is_remote ? LOOK_REMOTE_MS : LOOK_MS;
	return left > 0 && left < CLOCK_MS ? left : CLOCK_MS;
}

static void conclude(struct gate *gate)
{
	struct str text cleanup_str = {0};
	int64_t now_ms = clock_wall_ms(); /* of which both say whether it is early */

	describe(gate, now_ms, &text);
	gate->is_over = gate->failure || text.length == 0;
	if (gate->failure)
		gate->options.canceled(gate->options.data, gate->failure);
	else if (gate->is_over)
		gate->options.opened(gate->options.data);
	else
		gate->options.waiting(gate->options.data, str_text(&text));
	if (!gate->is_over)
		timer_start(gate->timer, next_look_ms(gate, now_ms));
}

/* Of an array no more are looked at than are needed to know that it is not the job's turn. */
static struct other *find_next(struct gate *gate)
{
	while (gate->next < gate->count && gate->others[gate->next].is_settled)
		gate->next++;
	if (gate->next == gate->count || (gate->next >= gate->after_count && is_behind(gate)))
		return NULL;
	return &gate->others[gate->next++];
}

static void look_on(struct gate *gate);

static void on_other(void *data, const struct scheduler_other *seen)
{
	struct gate *gate = data;

	judge(gate, &gate->others[gate->next - 1], seen);
	look_on(gate);
}

static void look_on(struct gate *gate)
{
	const struct gate_options *options = &gate->options;
	struct other *other;

	while (!gate->failure && (other = find_next(gate))) {
		struct scheduler_other seen = {0};
		if (!options->ops->look_at(options->scheduler, &other->awaited, &seen, on_other,
					   gate))
			return;
		judge(gate, other, &seen);
		scheduler_other_finish(&seen);
	}
	conclude(gate);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct gate *gate = data;

	gate->next = gate->living = 0;
	look_on(gate);
}

/* ------------------------------------------------------------------------------------------- */

static void add_other(struct gate *gate, const char *text, const struct str_list *met)
{
	struct other *other = &gate->others[gate->count];

	if (awaited_parse(text, &other->awaited, NULL) < 0)
		return; /* job_read.c has refused it */
	other->is_settled = str_list_has(met, other->awaited.id);
	gate->count++;
}

struct gate *gate_create(const struct gate_options *options, const struct job_view *view)
{
	const struct job *job = options->job;
	size_t earlier = job->array_earlier.count;

	if (!job_waits_to_begin(job))
		return NULL;
	struct gate *gate = mem_alloc(sizeof(*gate));
	*gate = (struct gate){.options = *options, .is_released = view->released};
	gate->others = mem_alloc_array(job->after.count + earlier, sizeof(*gate->others));
	for (size_t i = 0; i < job->after.count; i++)
		add_other(gate, job->after.items[i], &view->met);
	gate->after_count = gate->count;
	for (size_t i = earlier; i > 0; i--)
		add_other(gate, job->array_earlier.items[i - 1], &view->met);
	gate->timer = evtimer_new(options->base, on_timer, gate);
	timer_start(gate->timer, 0);
	return gate;
}

void gate_destroy(struct gate *gate)
{
	if (!gate)
		return;
	event_free(gate->timer);
	for (size_t i = 0; i < gate->count; i++) {
		awaited_finish(&gate->others[i].awaited);
		free(gate->others[i].trouble);
	}
	free(gate->others);
	free(gate->failure);
	free(gate);
}

bool gate_release(struct gate *gate)
{
	if (!gate || gate->is_over || !is_held(gate))
		return false;
	gate->is_released = true;
	tell_passed(gate);
	if (event_pending(gate->timer, EV_TIMEOUT, NULL))
		timer_start(gate->timer, 0);
	return true;
}
