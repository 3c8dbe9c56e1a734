#include "client/opened.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/follow.h"
#include "client/job_array.h"
#include "client/job_list.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "job/record.h"
#include "net/http_client.h"
#include "scheduler/am_calls.h"
#include "scheduler/job_stores.h"
#include "scheduler/removal.h"
#include "scheduler/state_dir.h"

#define ASK_TIMEOUT_MS	10000
#define SILENCE_MS	3000 /* of the journal, after which the AM is looked for */
#define PULL_MS		250  /* between two questions to an AM whose journal is elsewhere */
#define TELL_AFTER_MS	2000 /* since the submission: why the job waits for its AM */
#define TELL_EVERY_MS	10000
#define FIND_TIMEOUT_MS 5000 /* for an AM that is being started */
#define FIND_STEP_MS	100
#define LEAVING_MS	5000 /* for an AM that is there, and tells nothing, to be gone or tell */

static int read_description(struct opened *opened, struct err *err)
{
	char *path cleanup_free = fs_join(opened->door.job_dir, "job.json");

	opened->job = job_read_file(path, err);
	if (!opened->job)
		return -1;
	if (opened->door.queue)
		mem_replace(&opened->job->queue, mem_strdup(opened->door.queue));
	opened->journal_path = fs_join(opened->door.job_dir, "journal.jsonl");
	opened->view = job_view_create(opened->job);
	return 0;
}

/* An AM that publishes the record of its job, and leaves, does so between two questions of ours. */
static int read_first(struct opened *opened, struct err *err)
{
	int64_t until = clock_monotonic_ms() + LEAVING_MS;

	for (;;) {
		bool had_am = opened->ops->traits->remote_am && opened->door.address;
		int more = opened_read(opened, NULL, NULL, err);
		if (more < 0 || !had_am || opened->view->is_final ||
		    (opened->view->sequence > 0 && !opened->door.end_message) ||
		    clock_monotonic_ms() >= until)
			return more;
		poll(NULL, 0, PULL_MS);
		if (opened_find_am(opened, err) < 0)
			return -1;
	}
}

/* Of an array only one of its jobs is opened. */
static int find_in_array(const char *word, struct str_list *ids, struct err *err)
{
	if (job_list_find_array(word, ids, err) < 0)
		return -1;
	return ids->count == 1 ? 0
			       : err_set(err, ERR_USAGE,
					 "%s has %zu jobs; name one: %s_N, see tony list %s", word,
					 ids->count, word, word);
}

typedef const struct scheduler_client_ops *find_job(const char *id, struct job_door *door,
						    char **full_id, struct err *err);

/* `of`: of that user's jobs; NULL: as `find_it` does. */
static int find_of(struct opened *opened, const char *id, const char *of, find_job *find_it,
		   struct err *err)
{
	struct str_list ids cleanup_str_list = {0};

	if (id && job_array_is_id(id)) {
		if (find_in_array(id, &ids, err) < 0)
			return -1;
		id = ids.items[0];
	}
	opened->ops = of ? schedulers_find_of(id, of, &opened->door, &opened->id, err)
			 : find_it(id, &opened->door, &opened->id, err);
	if (!opened->ops && id && err && err->kind == ERR_NOT_FOUND)
		job_list_explain_name(id, err);
	return opened->ops ? 0 : -1;
}

static int find(struct opened *opened, const char *id, find_job *find_it, struct err *err)
{
	return find_of(opened, id, NULL, find_it, err);
}

static int open_found(struct opened *opened, struct err *err)
{
	if (opened->door.undescribed.kind)
		return err_copy(err, &opened->door.undescribed);
	if (read_description(opened, err) < 0)
		return err && err->kind == ERR_NOT_FOUND ? removal_tell_gone(opened->id, err) : -1;
	opened->heard_ms = clock_monotonic_ms();
	if ((opened->aside.calls ? opened_read(opened, NULL, NULL, err) : read_first(opened, err)) <
	    0)
		return -1;
	if (!opened->view->is_final && !fs_exists(opened->door.job_dir))
		return removal_tell_gone(opened->id, err);
	return 0;
}

int opened_find(struct opened *opened, const char *id, struct err *err)
{
	return find(opened, id, schedulers_find, err) < 0 ? -1 : open_found(opened, err);
}

bool opened_is_others(const struct opened *opened)
{
	return opened->door.is_others;
}

int opened_find_any(struct opened *opened, const char *id, struct err *err)
{
	if (find(opened, id, schedulers_find_any, err) < 0)
		return -1;
	if (opened_is_others(opened))
		report_note("%s is %s's", opened->id, opened->door.user);
	return open_found(opened, err);
}

int opened_find_untold(struct opened *opened, const char *id, struct err *err)
{
	return find(opened, id, schedulers_find_any, err) < 0 ? -1 : open_found(opened, err);
}

int opened_find_of(struct opened *opened, const char *id, const char *of, struct err *err)
{
	if (find_of(opened, id, of, schedulers_find_any, err) < 0)
		return -1;
	if (opened->door.doubt && !of) {
		char *remedy cleanup_free =
			mem_printf("to use it anyway: --of %s", opened->door.user);
		return schedulers_refuse(opened->id, &opened->door, remedy, err);
	}
	return open_found(opened, err);
}

/* No more lines are compared. */
static void forget_past(struct opened *opened)
{
	journal_reader_close(mem_steal(&opened->past));
	job_view_destroy(mem_steal(&opened->fresh));
}

void opened_finish(struct opened *opened)
{
	am_call_drop(opened->aside.call);
	forget_past(opened);
	journal_reader_close(opened->reader);
	job_view_destroy(opened->view);
	job_destroy(opened->job);
	free(opened->journal_path);
	free(opened->id);
	free(opened->told);
	free(opened->waiting);
	job_door_finish(&opened->door);
}

/* ---- the journal -------------------------------------------------------------------------- */

static int open_reader(struct opened *opened, struct err *err)
{
	if (opened->reader || !fs_exists(opened->journal_path))
		return 0; /* the AM has not begun */
	opened->reader =
		journal_reader_open(opened->journal_path, opened->past ? 0 : opened->since, err);
	return opened->reader ? 0 : -1;
}

int opened_rewind(struct opened *opened, int64_t since, struct err *err)
{
	journal_reader_close(mem_steal(&opened->reader));
	forget_past(opened);
	opened->since = opened->first = since;
	return open_reader(opened, err);
}

/* An AM tells its lines before they are kept. The one that follows it knows those that were, and
 * goes on from there: it may write others with numbers that were told already. */
static void read_on(struct opened *opened)
{
	if (opened->past)
		journal_reader_close(opened->reader);
	else
		opened->past = opened->reader;
	opened->reader = NULL;
	if (!opened->past)
		return;
	journal_reader_rewind(opened->past);
	job_view_destroy(opened->fresh);
	opened->fresh = job_view_create(opened->view->job);
}

/* Others hold the view. */
static void take_fresh_view(struct opened *opened)
{
	struct job_view old = *opened->view;

	*opened->view = *opened->fresh;
	*opened->fresh = old;
}

/* Of the AM that follows. With the first line that differs what was told is void from there on. */
static int compare(struct opened *opened, const struct journal_line *line, struct err *err)
{
	struct journal_line told;

	if (journal_reader_next(opened->past, &told, NULL) <= 0) {
		forget_past(opened);
		return 0;
	}
	if (told.length == line->length && memcmp(told.text, line->text, line->length) == 0)
		return job_view_add(opened->fresh, line, err);
	if (line->sequence <= opened->view->sequence)
		take_fresh_view(opened);
	if (line->sequence < opened->since)
		opened->since = line->sequence > opened->first ? line->sequence : opened->first;
	forget_past(opened);
	return 0;
}

/* An AM that leaves has published the record of its job before, so that is looked for once more. */
static void take_end(struct opened *opened)
{
	const struct job_door *door = &opened->door;

	if (!opened->view->is_final && door->end_message && !door->address && opened->unheard != 1)
		job_view_end(opened->view, door->end_state, door->end_message, door->end_ms);
}

static int pull(struct opened *opened, struct err *err)
{
	int result = 0;

	if (opened->ops->traits->remote_am && !opened->view->is_final)
		result = opened->ops->pull(&opened->door, opened->hold_ms, &opened->aside, err);
	opened->hold_ms = 0;
	if (result == PULL_PENDING)
		return 0;
	if (opened->door.address)
		opened->unheard = result > 0 ? opened->unheard + 1 : 0;
	if (result > 0)
		mem_replace(&opened->door.address, NULL); /* to be looked for soon */
	else if (result == 0 && opened->ops->traits->remote_am && opened->door.address)
		opened->heard_ms = clock_monotonic_ms(); /* it has answered, be it without news */
	return result;
}

static int show_waiting(const char *text, journal_visit *on_line, void *data, struct err *err)
{
	int64_t now = clock_wall_ms();
	json_t *record cleanup_json = record_waiting(text), *shown cleanup_json = NULL;

	shown = json_pack("{si,sI}", "seq", 0, "t", (json_int_t)now);
	json_object_update(shown, record);
	char *line cleanup_free = json_text(shown);
	return on_line(data,
		       &(struct journal_line){.time_ms = now, .text = line, .length = strlen(line)},
		       err);
}

bool opened_note_waiting(struct opened *opened, const char *waiting)
{
	int64_t now = clock_monotonic_ms();

	if (str_equal(waiting, opened->told) ||
	    (waiting && opened->told && now - opened->told_ms < TELL_EVERY_MS))
		return false;
	mem_replace(&opened->told, mem_strdup(waiting));
	opened->told_ms = now;
	return true;
}

/* Most AMs come within seconds. */
static int tell_waiting(struct opened *opened, journal_visit *on_line, void *data, struct err *err)
{
	const char *text = opened->view->is_final ? NULL : opened->door.waiting;
	int64_t age_ms = clock_wall_ms() - opened->view->job->submitted_ms;

	if (!on_line || (text && !opened->told && age_ms < TELL_AFTER_MS) ||
	    !opened_note_waiting(opened, text))
		return 0;
	return show_waiting(text, on_line, data, err);
}

static void swap_waiting(struct opened *opened)
{
	char *waiting = opened->view->waiting;

	opened->view->waiting = opened->waiting;
	opened->waiting = waiting;
}

/* While there is no AM its engine's word is shown in place of the journal's. */
static void show_engines_waiting(struct opened *opened)
{
	const char *text = opened->view->is_final ? NULL : opened->door.waiting;

	if (!text)
		return;
	swap_waiting(opened);
	mem_replace(&opened->view->waiting, mem_strdup(text));
	opened->shows_engines = true;
}

static void show_journals_waiting(struct opened *opened)
{
	if (opened->shows_engines)
		swap_waiting(opened);
	opened->shows_engines = false;
}

static int read_journal(struct opened *opened, journal_visit *on_line, void *data, struct err *err)
{
	struct journal_line line;
	int more = 0;

	if (pull(opened, err) < 0 || tell_waiting(opened, on_line, data, err) < 0)
		return -1;
	if (open_reader(opened, err) < 0)
		return -1;
	while (opened->reader && (more = journal_reader_next(opened->reader, &line, err)) > 0) {
		opened->heard_ms = clock_monotonic_ms();
		if (opened->past && compare(opened, &line, err) < 0)
			return -1;
		if (line.sequence < opened->since)
			continue;
		opened->since = line.sequence + 1;
		if (job_view_add(opened->view, &line, err) < 0 ||
		    (on_line && on_line(data, &line, err) < 0))
			return -1;
	}
	if (more == 0)
		take_end(opened);
	return more;
}

int opened_read(struct opened *opened, journal_visit *on_line, void *data, struct err *err)
{
	show_journals_waiting(opened);
	int result = read_journal(opened, on_line, data, err);
	show_engines_waiting(opened);
	return result;
}

void opened_rest(struct opened *opened)
{
	/* The copy of a journal that another AM goes on with is another file. */
	if (opened->reader && (opened->view->is_final || !opened->ops->traits->remote_am))
		journal_reader_rest(opened->reader);
}

char *opened_waiting(const struct opened *opened)
{
	const struct job_view *view = opened->view;
	bool runs = view->state == JOB_RUNNING && !opened->shows_engines;

	return view->waiting && !view->is_final && !runs ? mem_printf("waiting: %s", view->waiting)
							 : NULL;
}

int64_t opened_wait_ms(const struct opened *opened, int64_t timeout_ms)
{
	bool asks = opened->ops->traits->remote_am;

	return asks && (timeout_ms < 0 || timeout_ms > PULL_MS) ? PULL_MS : timeout_ms;
}

int64_t opened_let_hold(struct opened *opened, int64_t timeout_ms)
{
	int64_t wait_ms = opened_wait_ms(opened, timeout_ms);

	if (!opened->ops->traits->remote_am || !opened->door.address)
		return wait_ms;
	opened->hold_ms = wait_ms;
	return 0;
}

bool opened_is_over(const struct opened *opened)
{
	return opened->view->is_final || opened->ops->traits->is_history;
}

int opened_check_record(const struct opened *opened, struct err *err)
{
	if (opened->view->is_final || !opened_is_over(opened))
		return 0;
	return err_set(
		err, ERR_INPUT,
		"%s: the record of its end is cut or damaged, and nothing else is left of it",
		opened->id);
}

static int follow(struct opened *opened, struct follow *changes, int64_t timeout_ms,
		  journal_visit *on_line, void *data, struct err *err)
{
	int64_t start = clock_monotonic_ms();

	for (;;) {
		follow_drain(changes);
		if (opened_read(opened, on_line, data, err) < 0)
			return -1;
		if (opened->view->is_final)
			return 1;
		if (opened_check_record(opened, err) < 0)
			return -1;
		char *given_up cleanup_free = opened_check_start(opened);
		if (given_up)
			report_note("%s", given_up);
		int64_t left =
			timeout_ms < 0 ? INT64_MAX : start + timeout_ms - clock_monotonic_ms();
		if (left <= 0)
			return 0;
		follow_wait(changes, opened_let_hold(opened, left));
		if (opened_look_for_am(opened, err) < 0)
			return -1;
	}
}

int opened_follow(struct opened *opened, int64_t timeout_ms, journal_visit *on_line, void *data,
		  struct err *err)
{
	struct follow *changes = follow_create();

	follow_add(changes, opened->door.job_dir);
	int result = follow(opened, changes, timeout_ms, on_line, data, err);
	follow_destroy(changes);
	return result;
}

/* ---- the AM ------------------------------------------------------------------------------- */

int opened_find_am(struct opened *opened, struct err *err)
{
	struct job_door door = {0};

	if (scheduler_find_job(opened->ops, opened->id, &door, NULL, err) < 0)
		return -1;
	bool begins_anew = opened->door.am_attempt > 0 && door.am_attempt > 0 &&
			   opened->door.am_attempt != door.am_attempt;
	/* Another command may have put the whole journal in its place. */
	bool has_ended = door.ended && !opened->door.ended;
	if (!str_equal(door.address, opened->door.address))
		am_call_drop(mem_steal(&opened->aside.call));
	job_door_finish(&opened->door);
	opened->door = door;
	opened->is_silent = false;
	if (begins_anew || has_ended)
		read_on(opened);
	return 0;
}

/* The AM's own journal needs no ticket, and the user may get one. */
static void tell_ticket(struct opened *opened, const struct err *failure)
{
	if (!opened->lacks_ticket)
		log_warning("%s goes on, and is looked for again until there is a ticket: %s",
			    opened->id, err_message(failure));
	opened->lacks_ticket = true;
}

int opened_look_for_am(struct opened *opened, struct err *err)
{
	const struct job_door *door = &opened->door;
	int64_t patience_ms = SILENCE_MS;

	/* Before it has registered there is nobody to be silent. */
	if (opened->ops->traits->remote_am && !door->address)
		patience_ms = door->ask_ms > PULL_MS ? door->ask_ms : PULL_MS;
	if (clock_monotonic_ms() - opened->heard_ms < patience_ms)
		return 0;
	opened->heard_ms = clock_monotonic_ms();
	struct err failure cleanup_err = {0};
	bool is_found = opened_find_am(opened, &failure) == 0;
	if (is_found)
		opened->lacks_ticket = false;
	else if (failure.kind == ERR_EXPIRED)
		tell_ticket(opened, &failure);
	/* A scheduler that is being restarted will know the job again: nobody stops looking. */
	if (is_found || (opened->ops->traits->remote_am &&
			 (failure.kind == ERR_UNREACHABLE || failure.kind == ERR_EXPIRED)))
		return 0;
	return err_copy(err, &failure);
}

/* Until the AM has started; the lower of two. 0: there is none. */
static int64_t start_limit(const struct job *job, const char **key)
{
	int64_t startup_ms = job_config_ms(job, "tony.am.startup-timeout", 1);
	int64_t whole_ms = job_waits_to_begin(job) ? 0 : job->application_timeout_ms;
	bool is_whole = whole_ms > 0 && (startup_ms <= 0 || whole_ms < startup_ms);

	*key = is_whole ? "tony.application.timeout" : "tony.am.startup-timeout";
	return is_whole ? whole_ms : startup_ms;
}

/* A cluster may keep the application master waiting for longer than its user wants to. */
char *opened_check_start(struct opened *opened)
{
	const struct job_view *view = opened->view;
	const char *key;
	int64_t limit_ms = start_limit(view->job, &key);
	struct err err cleanup_err = {0};

	if (!opened->ops->traits->remote_am || limit_ms <= 0 || view->begun_ms > 0 ||
	    opened->gave_up || opened->door.address ||
	    clock_wall_ms() - view->job->submitted_ms < limit_ms)
		return NULL;
	char *limit cleanup_free = str_format_duration(limit_ms);
	char *reason cleanup_free =
		mem_printf("the application master has not started within %s (%s)", limit, key);
	int killed = opened->ops->kill(&opened->door, reason, &err);
	opened->gave_up = err.kind != ERR_INTERRUPTED;
	if (killed == 0)
		return mem_printf("%s; the job is ended", reason);
	return opened->gave_up
		       ? mem_printf("%s, and cannot be ended: %s", reason, err_message(&err))
		       : NULL;
}

int opened_kill_waiting(const struct opened *opened, const char *by, const char *reason,
			struct err *err)
{
	char *text cleanup_free = mem_printf("killed by %s%s%s", by ? by : "the user",
					     reason ? ": " : "", reason ? reason : "");

	if (!opened->ops->traits->remote_am || opened->door.address || opened->door.ended)
		return 1;
	return opened->ops->kill_waiting(&opened->door, text, err);
}

struct job_logs *opened_logs(const struct opened *opened, struct err *err)
{
	const struct job_door *door = &opened->door;
	const struct job *job = opened->view->job; /* also of one that was just submitted */

	if (door->end_message && opened->view->is_final && opened->view->sequence == 0) {
		err_set(err, ERR_UNREACHABLE, "where the logs of %s are is not known: %s",
			opened->id, door->end_message);
		return NULL;
	}
	if (!state_dir_is_cleared(door->job_dir, false))
		return opened->ops->logs(door, job, err);
	struct job_logs *logs = stored_jobs_client.logs(door, job, err);
	if (!logs)
		err_wrap(err,
			 "the logs of %s were removed for their age (tony.jobs.max-age), and the "
			 "history has no ends of them",
			 opened->id);
	return logs;
}

int opened_wrap(const struct opened *opened, struct err *err)
{
	return err && strstr(err_message(err), opened->id) ? -1 : err_wrap(err, "%s", opened->id);
}

int opened_say_ended(const struct opened *opened, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "%s has already ended: %s", opened->id,
		       job_state_name(opened->view->state));
}

void opened_look_at_history(struct opened *opened)
{
	struct job_view *view = opened->view;

	if (view->is_final && !view->history_trouble && opened->ops->traits->tells_history_trouble)
		view->history_trouble =
			opened->ops->history_trouble(view->job, opened->door.job_dir);
}

bool opened_can_ask(const struct opened *opened, struct err *err)
{
	if (opened->view->is_final) {
		opened_say_ended(opened, err);
		return false;
	}
	if (!opened->door.address) {
		char *waiting cleanup_free = opened_waiting(opened);
		err_set(err, ERR_UNREACHABLE, "%s has no running application master%s%s",
			opened->id, waiting ? "; " : "", waiting ? waiting : "");
		return false;
	}
	if (opened->is_silent)
		err_set(err, ERR_UNREACHABLE, "the application master of %s does not answer",
			opened->id);
	return !opened->is_silent;
}

static json_t *read_answer(int status, const struct str *response, struct err *err)
{
	return http_response_check(status, str_text(response), response->length, err) < 0
		       ? NULL
		       : json_parse(str_text(response), response->length, err);
}

json_t *opened_ask(const struct opened *opened, const char *method, const char *path,
		   const char *body, struct err *err)
{
	struct str response cleanup_str = {0};
	int status;

	if (!opened_can_ask(opened, err) ||
	    job_door_call(&opened->door, method, path, body, ASK_TIMEOUT_MS, &status, &response,
			  err) < 0)
		return NULL;
	return read_answer(status, &response, err);
}

struct am_call *opened_ask_aside(const struct opened *opened, struct am_calls *calls,
				 const char *method, const char *path, const char *body)
{
	return am_call_start(calls, &opened->door, method, path, body, ASK_TIMEOUT_MS);
}

json_t *opened_take_answer(struct am_call *call, struct err *err)
{
	struct str response cleanup_str = {0};
	int status;

	return am_call_take(call, &status, &response, err) < 0
		       ? NULL
		       : read_answer(status, &response, err);
}

json_t *opened_ask_soon(struct opened *opened, const char *method, const char *path,
			const char *body, struct err *err)
{
	int64_t until = clock_monotonic_ms() + FIND_TIMEOUT_MS;

	for (;;) {
		struct err failure cleanup_err = {0};
		json_t *answer = opened_ask(opened, method, path, body, &failure);
		if (answer)
			return answer;
		if (failure.kind != ERR_UNREACHABLE || clock_monotonic_ms() > until) {
			err_copy(err, &failure);
			return NULL;
		}
		poll(NULL, 0, FIND_STEP_MS);
		if (opened_find_am(opened, err) < 0)
			return NULL;
	}
}

/* ---- tasks -------------------------------------------------------------------------------- */

static bool has_task(const struct job *job, const char *name)
{
	const char *colon = strrchr(name, ':');
	char *type cleanup_free = mem_strndup(name, colon ? (size_t)(colon - name) : strlen(name));
	int number = job_find_type(job, type);
	int64_t index;

	if (number < 0 || !colon)
		return number >= 0;
	return !(colon[1] == '0' && colon[2]) && /* "worker:01" is nobody's name */
	       str_parse_int(colon + 1, 0, job_type_slots(&job->types[number]) - 1, &index) == 0;
}

int opened_check_task(const struct opened *opened, const char *name, struct err *err)
{
	if (has_task(opened->job, name))
		return 0;
	return err_set(err, ERR_NOT_FOUND, "%s has no task \"%s\"; see tony status %s", opened->id,
		       name, opened->id);
}

bool opened_is_task(const char *word)
{
	const char *colon = strchr(word, ':');

	return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

int opened_check_one_task(const struct opened *opened, const char *name, struct err *err)
{
	if (opened_check_task(opened, name, err) < 0)
		return -1;
	return strchr(name, ':') ? 0 : err_set(err, ERR_USAGE, "which %s? write %s:0", name, name);
}
