#include <stdlib.h>
#include <string.h>

#include "am/am_internal.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "job/record.h"

/* A sync takes milliseconds: a cluster that comes up must not pay one for each of its tasks. */
#define SYNC_DELAY_US 50000

/* Once its program has ended, an executor reports, for 3 s at most, and leaves. */
#define LEAVE_MS 4000

/* ---- the journal -------------------------------------------------------------------------- */

/* The AM's own files cannot be written. */
static void break_for_files(struct am *am, struct err *err)
{
	fs_explain_room(am->job_dir, err);
	am_break(am, err_message(err));
}

/* `result`: of what was appended to the journal. */
static void on_appended(struct am *am, int result, bool sync, struct err *err)
{
	const struct timeval soon = {.tv_usec = SYNC_DELAY_US};
	if (result != 0) {
		break_for_files(am, err);
		return;
	}
	if (sync)
		event_del(am->sync_timer);
	else if (!event_pending(am->sync_timer, EV_TIMEOUT, NULL))
		event_add(am->sync_timer, &soon);
	if (am->api)
		api_journal_appended(am->api, journal_sequence(am->journal));
	if (am->scheduler && am->scheduler_ops->traits->remote_am)
		am->scheduler_ops->journal_appended(am->scheduler, journal_sequence(am->journal));
}

void am_record(struct am *am, json_t *record, bool sync)
{
	struct err err cleanup_err = {0};
	int result = journal_append(am->journal, record, clock_wall_ms(), sync, &err);
	on_appended(am, result, sync, &err);
}

void am_on_sync_timer(evutil_socket_t fd, short what, void *data)
{
	struct am *am = data;
	struct err err cleanup_err = {0};
	if (journal_sync(am->journal, &err) < 0)
		break_for_files(am, &err);
}

/* Executors may report after the job's end; nothing follows the last line. */
static void record_report(struct am *am, json_t *record)
{
	if (am->has_ended)
		json_decref(record);
	else
		am_record(am, record, false);
}

void am_on_output_lost(void *data, size_t task, const struct lost_output *lost)
{
	struct am *am = data;
	record_report(am, record_output(am->job, machine_task(am->machine, task), lost));
}

void am_on_restarted_inside(void *data, size_t task, int64_t count, const char *text)
{
	struct am *am = data;
	const struct task *of = machine_task(am->machine, task);
	char *line cleanup_free =
		mem_printf("%s:%d goes on after %lld failure%s inside of it%s%s",
			   am->job->types[of->type].name, of->index, (long long)count,
			   str_plural(count), text ? ", the last: " : "", text ? text : "");
	record_report(am, record_note(am->job, of, line));
}

/* It has ended by then as far as the machine goes: its last line is told once more, with the use.
 */
void am_on_used(void *data, size_t task, const struct program_use *use)
{
	struct am *am = data;
	const struct task *ended = machine_task(am->machine, task);
	json_t *record =
		record_task(am->job, ended, ended->state, ended->state, api_log_dir(am->api, task));
	record_add_use(record, use);
	record_report(am, record);
}

void am_on_checkpoint_trouble(void *data, size_t task, const char *text, int64_t since_ms)
{
	struct am *am = data;
	const struct task *of = machine_task(am->machine, task);
	record_report(am, record_checkpoints(am->job, of, text, since_ms, clock_wall_ms()));
}

void am_on_store_trouble(void *data, const char *text)
{
	struct am *am = data;
	int64_t now_ms = clock_wall_ms(), since_ms = am->store_trouble_since_ms;
	if ((since_ms > 0) == (text != NULL) || am_is_over(am))
		return;
	am->store_trouble_since_ms = text ? now_ms : 0;
	api_set_store_trouble(am->api, am->store_trouble_since_ms);
	am_record(am, record_store(text, text ? now_ms : since_ms, now_ms), false);
}

void am_note(struct am *am, const char *text)
{
	log_warning("%s", text);
	if (!am_is_over(am))
		am_record(am, record_note(am->job, NULL, text), false);
}

void am_break(struct am *am, const char *text)
{
	if (am->failure)
		return;
	log_error("%s", text);
	am->failure = mem_strdup(text);
	event_active(am->broken, EV_TIMEOUT, 0);
}

void am_on_broken(evutil_socket_t fd, short what, void *data)
{
	struct am *am = data;
	struct cause cause = {.kind = CAUSE_AM_FAILED, .text = am->failure};
	am_feed(am, &(struct machine_event){.kind = EVENT_KILL, .cause = &cause});
}

/* ---- actions ------------------------------------------------------------------------------ */

/* How many more tasks an elastic type needs beside those that have a container. */
static int64_t count_lacking(const struct am *am, size_t type)
{
	const struct job_type *described = &am->job->types[type];
	int64_t lacking = job_type_minimum(described);

	for (int i = 0; i < job_type_slots(described); i++)
		lacking -= machine_task(am->machine, machine_task_number(am->machine, type, i))
				   ->has_container;
	return lacking;
}

/* Those beyond what their types need are optional. */
static void mark_optional(const struct am *am, struct scheduler_request *requests, size_t count)
{
	for (size_t type = 0; type < am->job->type_count; type++) {
		if (!job_type_is_elastic(&am->job->types[type]))
			continue;
		int64_t lacking = count_lacking(am, type);
		for (size_t i = 0; i < count; i++)
			if (requests[i].type == type)
				requests[i].is_optional = lacking-- <= 0;
	}
}

static void request_containers(struct am *am, const struct action *actions, size_t count)
{
	struct scheduler_request *requests = mem_alloc_array(count, sizeof(*requests));
	for (size_t i = 0; i < count; i++) {
		const struct task *task = machine_task(am->machine, actions[i].task);
		requests[i] = (struct scheduler_request){.task = actions[i].task,
							 .attempt = actions[i].attempt,
							 .type = task->type,
							 .index = task->index};
	}
	mark_optional(am, requests, count);
	am->scheduler_ops->request(am->scheduler, requests, count);
	free(requests);
}

static void launch(struct am *am, const struct action *action)
{
	const struct task *task = machine_task(am->machine, action->task);
	char *name cleanup_free = job_task_name(am->job, task->type, task->index);
	struct scheduler_launch order = {.task = action->task,
					 .attempt = action->attempt,
					 .task_name = name,
					 .am_address = api_address(am->api)};
	am->scheduler_ops->launch(am->scheduler, &order);
}

static void release(struct am *am, const struct action *action)
{
	const struct task *task = machine_task(am->machine, action->task);
	api_order_changed(am->api, action->task);
	am->scheduler_ops->release(am->scheduler, action->task, action->attempt,
				   am->job->types[task->type].stop_grace_ms + LEAVE_MS);
}

static void form(struct am *am)
{
	struct err err cleanup_err = {0};
	if (api_cluster_formed(am->api, &err) < 0)
		break_for_files(am, &err);
}

static bool leaves_line(const struct am *am, const struct action *action)
{
	return action->kind == ACTION_TASK_CHANGED || action->kind == ACTION_JOB_CHANGED ||
	       action->kind == ACTION_NOTE ||
	       (action->kind == ACTION_AVOID && !am->scheduler_ops->traits->one_host);
}

static json_t *describe_task(const struct am *am, const struct action *action)
{
	const struct task *task = machine_task(am->machine, action->task);
	const struct program_use *use = api_program_use(am->api, action->task);
	json_t *record =
		record_task(am->job, task, (enum task_state)action->from,
			    (enum task_state)action->to, api_log_dir(am->api, action->task));
	if (use && !task->process_up)
		record_add_use(record, use);
	return record;
}

static json_t *describe(const struct am *am, const struct action *action)
{
	switch (action->kind) {
	case ACTION_TASK_CHANGED:
		return describe_task(am, action);
	case ACTION_JOB_CHANGED:
		return record_job(am->job, am->machine, (enum job_state)action->from,
				  (enum job_state)action->to);
	case ACTION_AVOID:
		return record_avoid(machine_task(am->machine, action->task)->host);
	case ACTION_NOTE:
		return record_note(am->job, NULL, action->text);
	default:
		BUG("action %d leaves no line", (int)action->kind);
	}
}

static void act(struct am *am, const struct action *action)
{
	switch (action->kind) {
	case ACTION_CANCEL:
		am->scheduler_ops->cancel(am->scheduler, action->task, action->attempt);
		break;
	case ACTION_LAUNCH:
		if (!am->scheduler_ops->traits->starts_by_itself)
			launch(am, action);
		break;
	case ACTION_ORDER:
		api_order_changed(am->api, action->task);
		break;
	case ACTION_RELEASE:
		release(am, action);
		break;
	case ACTION_AVOID:
		if (!am->scheduler_ops->traits->one_host)
			am->scheduler_ops->avoid(am->scheduler,
						 machine_task(am->machine, action->task)->host);
		break;
	case ACTION_EPOCH:
		form(am);
		break;
	case ACTION_NOTE:
		log_info("%s", action->text);
		break;
	case ACTION_TASK_CHANGED:
	case ACTION_JOB_CHANGED:
		break; /* is written down, no more */
	case ACTION_REQUEST:
	case ACTION_KIND_COUNT:
		BUG("action %d is not one to be carried out alone", (int)action->kind);
	}
}

struct lines {
	const struct am *am;
	const struct action **actions; /* that leave one */
};

static json_t *make_record(void *data, size_t number)
{
	const struct lines *lines = data;
	return describe(lines->am, lines->actions[number]);
}

/* What one event led to is written down as one: an AM that follows this one finds all or none of
 * it.
 */
static void write_down(struct am *am, const struct action_list *list)
{
	struct err err cleanup_err = {0};
	struct lines lines = {am, mem_alloc_array(list->count, sizeof(struct action *))};
	size_t count = 0;
	bool sync = false;
	int64_t now = clock_wall_ms();
	for (size_t i = 0; i < list->count; i++) {
		if (leaves_line(am, &list->items[i]))
			lines.actions[count++] = &list->items[i];
		sync = sync || list->items[i].kind == ACTION_JOB_CHANGED;
	}
	if (am_is_over(am) && am->ended_ms == 0)
		am->ended_ms = now;
	if (count > 0) {
		int result = journal_append_all(am->journal, count, make_record, &lines, now, sync,
						&err);
		on_appended(am, result, sync, &err);
	}
	free(lines.actions);
}

/* What happened is written down before anything is done about it; asks that belong together go
 * out together. */
static void act_on_all(struct am *am, const struct action_list *list)
{
	write_down(am, list);
	struct action *requests = mem_alloc_array(list->count, sizeof(*requests));
	size_t request_count = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].kind == ACTION_REQUEST)
			requests[request_count++] = list->items[i];
		else
			act(am, &list->items[i]);
	}
	if (request_count > 0)
		request_containers(am, requests, request_count);
	free(requests);
}

/* ---- events ------------------------------------------------------------------------------- */

static void set_timer(struct am *am)
{
	int64_t deadline = machine_deadline(am->machine);
	if (deadline == INT64_MAX) {
		event_del(am->timer);
		return;
	}
	int64_t wait = deadline - clock_monotonic_ms();
	wait = wait < 0 ? 0 : wait;
	timer_start(am->timer, wait);
}

bool am_is_over(const struct am *am)
{
	struct machine_status status;
	machine_status(am->machine, &status);
	return job_state_is_final(status.state);
}

/* What the machine has said is done, `feeding` all the while. */
static void carry_out(struct am *am)
{
	act_on_all(am, &am->actions);
	if (am->actions.count > 0)
		api_tasks_changed(am->api);
	action_list_clear(&am->actions);
	am->feeding = false;
	set_timer(am);
	if (am_is_over(am))
		event_base_loopbreak(am->base);
}

bool am_feed(struct am *am, const struct machine_event *event)
{
	if (am->feeding)
		BUG("event %d came while another was in hand", (int)event->kind);
	am->feeding = true;
	bool heard = machine_handle(am->machine, event, clock_monotonic_ms(), &am->actions);
	carry_out(am);
	return heard;
}

void am_resume(struct am *am)
{
	am->feeding = true;
	machine_resume(am->machine, clock_monotonic_ms(), &am->actions);
	carry_out(am);
}

void am_run_until(struct am *am, const bool *done)
{
	while (!*done)
		event_base_loop(am->base, EVLOOP_ONCE);
}
