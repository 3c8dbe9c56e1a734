/* The end of a job whose AM is there to tell it. */
#include <stdlib.h>

#include "am/am_internal.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/record.h"

#define LINGER_MS 2000
#define DRAIN_MS  2000

/* "worker:1 on 127.0.0.1 exited with code 1: ValueError: no data". The caller frees. */
static char *final_message(const struct am *am)
{
	struct machine_status status;
	machine_status(am->machine, &status);
	const struct cause *cause = status.cause;
	if (status.state == JOB_SUCCEEDED || cause->kind == CAUSE_NONE)
		return mem_printf("the job %s", job_state_name(status.state));
	char *sentence cleanup_free = cause_sentence(cause);
	if (status.cause_task < 0)
		return mem_steal(&sentence);
	const struct task *task = machine_task(am->machine, (size_t)status.cause_task);
	/* In the scheduler's words, which are a sentence of their own. */
	const char *join = cause->kind == CAUSE_ALLOCATION_REFUSED ? ":" : "";
	return mem_printf("%s:%d%s%s%s %s", am->job->types[task->type].name, task->index,
			  task->host ? " on " : "", task->host ? task->host : "", join, sentence);
}

void am_record_end(struct journal *journal, json_t *final, bool notices_due)
{
	struct err err cleanup_err = {0};
	json_t *record cleanup_json = final;
	int64_t now = clock_wall_ms();
	if (notices_due)
		record_set_notices_due(record);
	if (journal_append(journal, json_incref(record), now, true, NULL) == 0)
		return;
	journal_drop_held(journal); /* they may be too much for the room that there is */
	if (journal_append(journal, json_incref(record), now, true, &err) != 0)
		log_error("the end of the job cannot be written down: %s", err_message(&err));
}

static void on_done(void *data)
{
	*(bool *)data = true;
}

static void await_files(struct am *am)
{
	bool done = false;

	if (am->scheduler_ops->traits->remote_am &&
	    !am->scheduler_ops->await_files(am->scheduler, on_done, &done))
		am_run_until(am, &done);
}

/* Another AM of the job tells the end to those who ask to be told, if there is one. A scheduler
 * that does not answer for as long as it is waited for at all dismisses this one. */
static bool is_current(struct am *am)
{
	enum scheduler_standing standing = SCHEDULER_CURRENT;

	if (am->scheduler_ops->traits->restarts_am)
		standing = am->scheduler_ops->standing(am->scheduler);
	if (standing == SCHEDULER_NOT_KNOWN)
		log_info("waiting for the scheduler's answer before the end is told: it may have "
			 "started another application master");
	while (standing == SCHEDULER_NOT_KNOWN) {
		event_base_loop(am->base, EVLOOP_ONCE);
		standing = am->scheduler_ops->standing(am->scheduler);
	}
	return standing == SCHEDULER_CURRENT;
}

static void tell_end(struct am *am, enum job_state state, const char *message)
{
	await_files(am);
	char *history cleanup_free = am_history_pack(am);
	const struct scheduler_end end = {.state = state,
					  .message = message,
					  .journal = am->place.journal,
					  .history = history};
	bool done = false;
	if (!am->scheduler_ops->finish(am->scheduler, &end, on_done, &done))
		am_run_until(am, &done);
	if (history)
		fs_remove_tree(history, NULL);
}

enum job_state am_end(struct am *am)
{
	struct machine_status status;
	machine_status(am->machine, &status);
	char *message cleanup_free = final_message(am);
	bool lingered = false, drained = false;
	log_info("the job %s: %s", job_state_name(status.state), message);
	am_give_up_reserve(am->job_dir);
	json_t *final = record_final(status.state, message, NULL);
	record_set_ended(final, am->ended_ms);
	am_record_end(am->journal, final, job_has_notices(am->job) && !am->has_notified);
	am->has_ended = true;
	api_conclude(am->api);
	/* Before the scheduler knows: its web proxy leads elsewhere then. */
	api_linger(am->api, LINGER_MS, on_done, &lingered);
	am_run_until(am, &lingered);
	am_track_end(am);
	if (is_current(am))
		am_notify(am);
	tell_end(am, status.state, message);
	api_drain(am->api, DRAIN_MS, on_done, &drained);
	am_run_until(am, &drained);
	am_withdraw(am->job_dir, true); /* the guardian does so, too, unless it was killed */
	return status.state;
}
