/* Queues of splits (split_sets.h), for programs that share the reading of data sets. A claim waits
 * for the list, a question for a lease until there is one. */
#include <inttypes.h>
#include <stdlib.h>

#include "am/api_internal.h"
#include "am/split_call.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/timer.h"

enum { KEEP_MS = 2000 };

/* A request that is held. */
struct api_split_waiter {
	TAILQ_ENTRY(api_split_waiter) link;
	struct api *api;
	struct http_request *request;
	struct split_set *set;
	struct split_holder holder;
	size_t count; /* of leases; 0: it is a claim */
	struct event *over;
};

/* Of a job without data sets nothing changes. */
static void plan_keep(struct api *api)
{
	size_t first = 0;

	if (split_sets_next(api->splits.sets, &first) &&
	    !event_pending(&api->splits.keep, EV_TIMEOUT, NULL))
		timer_start(&api->splits.keep, KEEP_MS);
}

/* ---- callers ------------------------------------------------------------------------------ */

/* Its program runs, and is the present one. */
static bool lives(void *data, const struct split_holder *holder)
{
	const struct api *api = data;
	const struct task *task = machine_task(api->host.machine, holder->task);

	return task->state == TASK_RUNNING && task->attempt == holder->attempt &&
	       task->epoch == holder->epoch && task->restart == holder->restart;
}

static void answer_stale(struct http_request *request)
{
	http_answer_error(request, 409, "stale",
			  "another program of this task, or none, is the valid one");
}

/* The body, and who asks; NULL: answered. The caller frees. */
static json_t *read_call(struct api *api, struct http_request *request, struct split_holder *holder)
{
	struct err err cleanup_err = {0};
	size_t length;
	const char *bytes = http_request_body(request, &length);
	json_t *body = message_parse(bytes, length, &err);

	if (body && split_call_read_holder(body, api->host.machine, holder, &err) == 0 &&
	    lives(api, holder))
		return body;
	if (err.kind != ERR_NONE)
		api_answer_bad(request, &err);
	else
		answer_stale(request);
	json_decref(body);
	return NULL;
}

/* NULL: answered with 404. */
static struct split_set *find_set(const struct api *api, struct http_request *request)
{
	struct split_set *set =
		split_sets_find(api->splits.sets, http_request_parameter(request, "name"));

	if (!set)
		http_answer_error(request, 404, "not-found",
				  "this job has no data set of that name: claim it first");
	return set;
}

/* The same, once its list is complete. NULL: answered. */
static struct split_set *find_complete_set(const struct api *api, struct http_request *request)
{
	struct split_set *set = find_set(api, request);

	if (set && !set->queue) {
		http_answer_error(request, 409, "conflict", "its list is not complete yet");
		return NULL;
	}
	return set;
}

/* The one with this fingerprint, which is made where there is none. NULL: answered. */
static struct split_set *get_set(struct api *api, struct http_request *request,
				 const char *fingerprint)
{
	const char *name = http_request_parameter(request, "name");
	struct split_set *set = split_sets_find(api->splits.sets, name);

	if (!split_is_name(name)) {
		http_answer_error(request, 400, "bad-request",
				  "the name has not 1 to %d of the characters A-Z a-z 0-9 . _ -",
				  SPLIT_NAME_MAX);
		return NULL;
	}
	if (set && !str_equal(set->list.fingerprint, fingerprint)) {
		http_answer_error(request, 409, "conflict",
				  "%s is another data set, with the fingerprint %s: use another "
				  "name",
				  name, set->list.fingerprint);
		return NULL;
	}
	if (!set)
		set = split_sets_add(api->splits.sets, name, fingerprint);
	plan_keep(api);
	if (!set)
		http_answer_error(request, 413, "too-large", "the job has %d data sets already",
				  SPLIT_SETS_MAX);
	return set;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void append_leases(const struct split_set *set, const struct split_open *leases,
			  size_t count, struct str *text)
{
	for (size_t i = 0; i < count; i++) {
		str_append_format(text, "%s{\"split\":%zu,\"pass\":%lld,\"from\":%lld,\"item\":",
				  i > 0 ? "," : "", leases[i].id.split,
				  (long long)leases[i].id.pass, (long long)leases[i].offset);
		split_set_item(set, leases[i].id.split, text);
		str_append_char(text, '}');
	}
}

static void answer_leases(struct http_request *request, const struct split_set *set,
			  const struct split_open *leases, size_t count)
{
	struct str text cleanup_str = {0};

	str_append(&text, "{\"leases\":[");
	append_leases(set, leases, count, &text);
	str_append(&text, "],\"ended\":");
	str_append(&text, set->queue && split_queue_has_ended(set->queue) ? "true}" : "false}");
	http_answer_bytes(request, 200, "application/json", text.text, text.length);
}

static void answer_claim(const struct api *api, struct http_request *request,
			 const struct split_set *set, bool you_list)
{
	json_t *answer = json_object();

	json_set_bool(answer, "you_list", you_list);
	json_set_bool(answer, "complete", set->queue != NULL);
	if (!you_list && !set->queue) {
		char *lister cleanup_free = api_task_name(api, set->lister.task);
		json_set_text(answer, "lister", lister);
	}
	http_answer_json(request, 200, answer);
}

/* ---- waiting ------------------------------------------------------------------------------ */

static void waiter_destroy(struct api_split_waiter *waiter)
{
	TAILQ_REMOVE(&waiter->api->splits.waiters, waiter, link);
	event_free(waiter->over);
	free(waiter);
}

static void plan_expiry(struct api *api)
{
	int64_t now = clock_monotonic_ms(), deadline = INT64_MAX;
	const struct split_set *set;

	for (size_t i = 0; (set = split_sets_next(api->splits.sets, &i));)
		if (set->queue && split_queue_deadline(set->queue) < deadline)
			deadline = split_queue_deadline(set->queue);
	if (deadline != INT64_MAX)
		timer_start(&api->splits.expiry, deadline > now ? deadline - now : 0);
}

/* True: answered, and the request is gone. With `is_over` whatever there is. */
static bool lease(struct api *api, struct http_request *request, struct split_set *set,
		  const struct split_holder *holder, size_t count, bool is_over)
{
	struct split_open *leases cleanup_free = mem_alloc_array(count, sizeof(*leases));
	size_t given =
		set->queue ? split_set_lease(set, holder, count, clock_monotonic_ms(), leases) : 0;

	if (given == 0 && !is_over && !(set->queue && split_queue_has_ended(set->queue)))
		return false;
	answer_leases(request, set, leases, given);
	if (given > 0)
		plan_expiry(api);
	return true;
}

/* Its list begins anew: what another lister, or this one in an earlier attempt, has told may be of
 * other files. */
static void begin_listing(struct split_set *set, const struct split_holder *holder)
{
	split_set_clear(set);
	set->has_lister = true;
	set->lister = *holder;
}

static bool has_living_lister(struct api *api, const struct split_set *set)
{
	return set->has_lister && lives(api, &set->lister);
}

static bool claim(struct api *api, struct http_request *request, struct split_set *set,
		  const struct split_holder *holder, bool is_over)
{
	bool is_free = !has_living_lister(api, set) || split_holder_is(&set->lister, holder);
	bool you_list = !set->queue && is_free;

	if (!set->queue && !is_free && !is_over)
		return false;
	if (you_list)
		begin_listing(set, holder);
	answer_claim(api, request, set, you_list);
	return true;
}

static bool answer_waiter(struct api_split_waiter *waiter, bool is_over)
{
	struct api *api = waiter->api;
	bool is_answered = true;

	if (!lives(api, &waiter->holder) && !is_over)
		answer_stale(waiter->request);
	else if (waiter->count == 0)
		is_answered = claim(api, waiter->request, waiter->set, &waiter->holder, is_over);
	else
		is_answered = lease(api, waiter->request, waiter->set, &waiter->holder,
				    waiter->count, is_over);
	if (is_answered)
		waiter_destroy(waiter);
	return is_answered;
}

static void on_over(evutil_socket_t fd, short what, void *data)
{
	answer_waiter(data, true);
}

static void on_closed(void *data)
{
	waiter_destroy(data);
}

static void hold(struct api *api, struct http_request *request, struct split_set *set,
		 const struct split_holder *holder, size_t count, int64_t wait_ms)
{
	struct api_split_waiter *waiter = mem_alloc(sizeof(*waiter));

	*waiter = (struct api_split_waiter){.api = api,
					    .request = request,
					    .set = set,
					    .holder = *holder,
					    .count = count,
					    .over = evtimer_new(api->base, on_over, waiter)};
	TAILQ_INSERT_TAIL(&api->splits.waiters, waiter, link);
	timer_start(waiter->over, wait_ms);
	http_request_hold(request, on_closed, waiter);
}

/* The first that waits for a lease in vain tells that there is none for the others. */
static void answer_waiters(struct api *api, const struct split_set *set)
{
	struct api_split_waiter *waiter = TAILQ_FIRST(&api->splits.waiters);
	bool has_leases = true;

	while (waiter) {
		struct api_split_waiter *next = TAILQ_NEXT(waiter, link);
		bool is_claim = waiter->count == 0;
		if (waiter->set == set && (is_claim || has_leases) &&
		    !answer_waiter(waiter, false) && !is_claim)
			has_leases = false;
		waiter = next;
	}
}

/* ---- what happens to holders --------------------------------------------------------------- */

static void on_tasks_changed(evutil_socket_t fd, short what, void *data)
{
	struct api *api = data;
	struct api_split_waiter *waiter = TAILQ_FIRST(&api->splits.waiters);
	struct split_set *set;

	while (waiter) {
		struct api_split_waiter *next = TAILQ_NEXT(waiter, link);
		if (!lives(api, &waiter->holder))
			answer_waiter(waiter, false);
		waiter = next;
	}
	for (size_t i = 0; (set = split_sets_next(api->splits.sets, &i));)
		if (!set->queue || split_queue_reclaim(set->queue, lives, api) > 0)
			answer_waiters(api, set);
}

static void on_expired(evutil_socket_t fd, short what, void *data)
{
	struct api *api = data;
	struct split_set *set;

	for (size_t i = 0; (set = split_sets_next(api->splits.sets, &i));)
		if (set->queue && split_queue_expire(set->queue, clock_monotonic_ms()) > 0)
			answer_waiters(api, set);
	plan_expiry(api);
}

static void on_keep(evutil_socket_t fd, short what, void *data)
{
	struct api *api = data;
	struct err err cleanup_err = {0};

	split_sets_mend(api->splits.sets, &err);
	mem_replace(&api->splits.trouble,
		    err.kind == ERR_NONE ? NULL : mem_strdup(err_message(&err)));
	if (api->host.file_written)
		split_sets_tell_changes(api->splits.sets, api->host.file_written, api->host.data);
	plan_keep(api);
}

void api_splits_open(struct api *api, const char *list_file, const char *state_file)
{
	TAILQ_INIT(&api->splits.waiters);
	event_assign(&api->splits.changed, api->base, -1, 0, on_tasks_changed, api);
	event_assign(&api->splits.expiry, api->base, -1, 0, on_expired, api);
	api->splits.sets =
		split_sets_open(list_file, state_file, api->task_count, clock_monotonic_ms());
	plan_expiry(api);
	api_splits_check(api); /* while there was no AM, holders may have ended */
	event_assign(&api->splits.keep, api->base, -1, 0, on_keep, api);
	plan_keep(api);
}

void api_splits_close(struct api *api)
{
	if (!api->splits.sets)
		return;
	event_del(&api->splits.changed);
	event_del(&api->splits.expiry);
	event_del(&api->splits.keep);
	split_sets_close(api->splits.sets);
	free(api->splits.trouble);
}

/* Many tasks may change together: they are looked at once. */
void api_splits_check(struct api *api)
{
	size_t first = 0;

	if (split_sets_next(api->splits.sets, &first))
		event_active(&api->splits.changed, EV_TIMEOUT, 0);
}

void api_splits_conclude(struct api *api)
{
	while (!TAILQ_EMPTY(&api->splits.waiters))
		answer_waiter(TAILQ_FIRST(&api->splits.waiters), true);
}

/* ---- lists -------------------------------------------------------------------------------- */

/* Makes the holder the lister where there is none and its list begins. False: answered. */
static bool is_listing(struct api *api, struct http_request *request, struct split_set *set,
		       const struct split_holder *holder, bool is_first)
{
	bool is_free = !has_living_lister(api, set);

	if (set->queue || (!is_free && split_holder_is(&set->lister, holder)))
		return true;
	if (is_free && is_first) {
		begin_listing(set, holder);
		return true;
	}
	http_answer_error(request, 410, "gone",
			  "the list of %s begins anew, and another process makes it: claim it "
			  "again",
			  set->name);
	return false;
}

/* A task that waits is told to list: where all fail alike, each gets to know why. */
static void give_up_listing(struct api *api, struct split_set *set)
{
	split_set_clear(set);
	set->has_lister = false;
	answer_waiters(api, set);
}

static void refuse_more_items(struct api *api, struct http_request *request, struct split_set *set)
{
	http_answer_error(request, 413, "too-large",
			  "the lists of the job's data sets have no room for more (%d items each, "
			  "%zu MiB in all): make splits larger",
			  SPLITS_MAX, SPLIT_LISTS_MAX >> 20);
	give_up_listing(api, set);
}

static void put_items(struct api *api, struct http_request *request, struct split_set *set,
		      const struct split_put *given)
{
	bool is_new = !set->is_listed;
	json_t *answer = json_object();

	if (is_new)
		split_set_begin(set, &given->list);
	if (split_set_add(set, (size_t)given->first, &given->items) < 0) {
		json_decref(answer);
		refuse_more_items(api, request, set);
		return;
	}
	if (given->is_complete && !set->queue &&
	    (size_t)given->first + given->items.count == set->item_count)
		split_set_complete(set, clock_monotonic_ms());
	json_set_int(answer, "items", (int64_t)set->item_count);
	json_set_bool(answer, "complete", set->queue != NULL);
	http_answer_json(request, is_new ? 201 : 200, answer);
	if (set->queue)
		answer_waiters(api, set);
}

void api_handle_splits_put(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	struct split_holder holder;
	struct split_put given = {0};
	json_t *body cleanup_json = read_call(api, request, &holder);

	if (!body)
		return;
	if (split_call_read_put(body, &given, &err) < 0) {
		api_answer_bad(request, &err);
	} else {
		struct split_set *set = get_set(api, request, given.list.fingerprint);
		if (set && is_listing(api, request, set, &holder, given.first == 0))
			put_items(api, request, set, &given);
	}
	split_put_finish(&given);
}

static void release_list(struct api *api, struct http_request *request, struct split_set *set,
			 const struct split_holder *holder)
{
	if (!set->queue && set->has_lister && split_holder_is(&set->lister, holder))
		give_up_listing(api, set);
	http_answer_json(request, 200, json_object());
}

void api_handle_splits_claim(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	struct split_holder holder;
	int64_t wait_ms = 0;
	bool gives_up = false;
	json_t *body cleanup_json = read_call(api, request, &holder);
	char *fingerprint cleanup_free = body ? split_call_read_fingerprint(body, &err) : NULL;

	if (!body)
		return;
	if (!fingerprint || split_call_read_wait(body, &wait_ms, &err) < 0 ||
	    json_read_bool(body, "gives_up", &gives_up, &err) < 0) {
		api_answer_bad(request, &err);
		return;
	}
	struct split_set *set = get_set(api, request, fingerprint);
	if (set && gives_up)
		release_list(api, request, set, &holder);
	else if (set && !claim(api, request, set, &holder, wait_ms == 0 || api->concluded))
		hold(api, request, set, &holder, 0, wait_ms);
}

/* ---- leases ------------------------------------------------------------------------------- */

/* Leases of the caller that it does not know of. True: answered with them. */
static bool repeat(struct http_request *request, const struct split_set *set,
		   const struct split_holder *holder, const struct split_question *question)
{
	struct split_open *leases cleanup_free =
		mem_alloc_array((size_t)question->count, sizeof(*leases));
	size_t count =
		!question->has_held || !set->queue
			? 0
			: split_queue_repeat(set->queue, holder, question->held,
					     question->held_count, (size_t)question->count, leases);

	if (count > 0)
		answer_leases(request, set, leases, count);
	return count > 0;
}

static void ask(struct api *api, struct http_request *request, const struct split_holder *holder,
		const struct split_question *question, int64_t wait_ms)
{
	struct split_set *set = find_set(api, request);
	size_t count = (size_t)question->count;

	if (!set || repeat(request, set, holder, question))
		return;
	if (!lease(api, request, set, holder, count, wait_ms == 0 || api->concluded))
		hold(api, request, set, holder, count, wait_ms);
}

void api_handle_splits_lease(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	struct split_holder holder;
	struct split_question question = {0};
	int64_t wait_ms = 0;
	json_t *body cleanup_json = read_call(api, request, &holder);

	if (!body)
		return;
	if (split_call_read_lease(body, &question, &err) < 0 ||
	    split_call_read_wait(body, &wait_ms, &err) < 0)
		api_answer_bad(request, &err);
	else
		ask(api, request, &holder, &question, wait_ms);
	free(question.held);
}

/* Answers with those that `change` says are lost to the caller. */
static void change_leases(struct api *api, struct http_request *request,
			  bool (*change)(struct split_set *set, const struct split_holder *holder,
					 const struct split_open *lease))
{
	struct err err cleanup_err = {0};
	struct split_holder holder;
	size_t count = 0;
	json_t *body cleanup_json = read_call(api, request, &holder);
	struct split_open *leases cleanup_free =
		body ? split_call_read_leases(body, &count, &err) : NULL;

	if (!body)
		return;
	if (!leases) {
		api_answer_bad(request, &err);
		return;
	}
	struct split_set *set = find_complete_set(api, request);
	if (!set)
		return;
	json_t *lost = json_array();
	for (size_t i = 0; i < count; i++)
		if (!change(set, &holder, &leases[i]))
			json_array_append_new(lost,
					      json_pack("[I, I]", (json_int_t)leases[i].id.pass,
							(json_int_t)leases[i].id.split));
	plan_expiry(api);
	http_answer_json(request, 200, json_pack("{s:o}", "lost", lost));
	answer_waiters(api, set);
}

static bool renew(struct split_set *set, const struct split_holder *holder,
		  const struct split_open *lease)
{
	return split_queue_renew(set->queue, holder, &lease->id, lease->offset,
				 clock_monotonic_ms());
}

static bool finish(struct split_set *set, const struct split_holder *holder,
		   const struct split_open *lease)
{
	return split_queue_done(set->queue, holder, &lease->id);
}

void api_handle_splits_renew(void *data, struct http_request *request)
{
	change_leases(data, request, renew);
}

void api_handle_splits_done(void *data, struct http_request *request)
{
	change_leases(data, request, finish);
}

/* ---- what a checkpoint holds --------------------------------------------------------------- */

struct saved_lists {
	json_t *unfinished, *ahead;
};

static void save_open(void *data, const struct split_open *open)
{
	const struct saved_lists *lists = data;
	json_int_t pass = open->id.pass, split = (json_int_t)open->id.split;

	if (open->state == SPLIT_AHEAD)
		json_array_append_new(lists->ahead, json_pack("[I, I]", pass, split));
	else
		json_array_append_new(lists->unfinished, json_pack("[I, I, I]", pass, split,
								   (json_int_t)open->offset));
}

/* Stands for all items, which a fingerprint need not. */
static char *list_text(const struct split_set *set)
{
	return mem_printf("%016" PRIx64, set->list.hash);
}

void api_handle_splits_state(void *data, struct http_request *request)
{
	const struct split_set *set = find_complete_set(data, request);

	if (!set)
		return;
	struct split_position position = split_queue_position(set->queue);
	struct saved_lists lists = {json_array(), json_array()};
	json_t *answer = json_object();
	json_set_text(answer, "fingerprint", set->list.fingerprint);
	json_set_int(answer, "items", (int64_t)set->item_count);
	char *list cleanup_free = list_text(set);
	json_set_text(answer, "list", list);
	json_set_int(answer, "pass", position.pass);
	json_set_int(answer, "next", (int64_t)position.next);
	split_queue_each(set->queue, save_open, &lists);
	json_object_set_new(answer, "unfinished", lists.unfinished);
	json_object_set_new(answer, "ahead", lists.ahead);
	http_answer_json(request, 200, answer);
}

static void restore(struct api *api, struct http_request *request, const struct split_saved *saved)
{
	struct split_set *set = find_complete_set(api, request);

	if (!set)
		return;
	if (!str_equal(set->list.fingerprint, saved->fingerprint) ||
	    saved->items != (int64_t)set->item_count) {
		http_answer_error(request, 409, "conflict",
				  "what was saved is of %lld items with the fingerprint %s, and "
				  "this data set has %zu and %s",
				  (long long)saved->items, saved->fingerprint, set->item_count,
				  set->list.fingerprint);
		return;
	}
	char *list cleanup_free = list_text(set);
	if (saved->list && !str_equal(saved->list, list)) {
		http_answer_error(request, 409, "conflict",
				  "what was saved is of another list of files or splits");
		return;
	}
	split_queue_reset(set->queue, &saved->position, saved->open, saved->open_count);
	api_answer_empty(request);
	answer_waiters(api, set);
}

void api_handle_splits_restore(void *data, struct http_request *request)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	struct split_holder holder;
	struct split_saved saved = {0};
	json_t *body cleanup_json = read_call(api, request, &holder);

	if (!body)
		return;
	if (split_call_read_saved(body, &saved, &err) < 0)
		api_answer_bad(request, &err);
	else
		restore(api, request, &saved);
	split_saved_finish(&saved);
}

/* ---- what there is ------------------------------------------------------------------------ */

static json_t *tasks_to_json(const struct api *api, const struct split_set *set)
{
	json_t *tasks = json_object();
	size_t leased;
	int64_t done;

	for (size_t i = 0; set->queue && i < api->task_count; i++) {
		if (!split_queue_task(set->queue, i, &leased, &done))
			continue;
		char *name cleanup_free = api_task_name(api, i);
		json_object_set_new(tasks, name,
				    json_pack("{s:I, s:I}", "leased", (json_int_t)leased, "done",
					      (json_int_t)done));
	}
	return tasks;
}

static json_t *set_to_json(const struct api *api, const struct split_set *set)
{
	struct split_totals totals = {.waiting = set->item_count};
	struct split_position position = {.pass = 1};
	json_t *object = json_object();

	if (set->queue) {
		split_queue_totals(set->queue, &totals);
		position = split_queue_position(set->queue);
	}
	json_set_text(object, "name", set->name);
	json_set_int(object, "items", (int64_t)set->item_count);
	json_set_bool(object, "complete", set->queue != NULL);
	json_set_int(object, "pass", position.pass);
	json_set_int(object, "passes", set->is_listed ? set->list.passes : 1);
	json_set_int(object, "done", totals.done);
	json_set_int(object, "leased", (int64_t)totals.leased);
	json_set_int(object, "waiting", (int64_t)totals.waiting);
	if (api->splits.trouble)
		json_set_text(object, "trouble", api->splits.trouble);
	return object;
}

json_t *api_splits_to_json(const struct api *api)
{
	const struct split_set *set;
	json_t *list = json_array();

	for (size_t i = 0; (set = split_sets_next(api->splits.sets, &i));)
		json_array_append_new(list, set_to_json(api, set));
	return list;
}

static json_t *describe(const struct api *api, const struct split_set *set)
{
	json_t *object = set_to_json(api, set);

	json_object_set_new(object, "tasks", tasks_to_json(api, set));
	return object;
}

void api_handle_splits(void *data, struct http_request *request)
{
	const struct api *api = data;
	const struct split_set *set;
	json_t *list = json_array();

	for (size_t i = 0; (set = split_sets_next(api->splits.sets, &i));)
		json_array_append_new(list, describe(api, set));
	http_answer_json(request, 200, json_pack("{s:o}", "splits", list));
}

void api_handle_splits_of(void *data, struct http_request *request)
{
	const struct api *api = data;
	const struct split_set *set = find_set(api, request);

	if (set)
		http_answer_json(request, 200, describe(api, set));
}
