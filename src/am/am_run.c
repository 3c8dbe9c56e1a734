/* The AM itself: from its opening to its end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "am/am_internal.h"
#include "am/listen.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/random.h"
#include "base/str.h"
#include "framework/framework.h"
#include "history/layout.h"
#include "job/record.h"
#include "job/site_policy.h"
#include "job/view.h"
#include "scheduler/launch.h"
#include "web/audit.h"

enum { OPEN_FILES_BESIDES = 192 }; /* for people who look, logs, files and the scheduler */

#define RESERVE_BYTES	   65536
#define RESERVE_TASK_BYTES 1536	 /* of each task: its end, what of its output is lost, its use */
#define RESERVE_END_BYTES  16384 /* of them, for the last line alone */

/* ---- what the scheduler tells ------------------------------------------------------------- */

static void on_allocated(void *data, size_t task, int attempt, const char *container,
			 const char *host)
{
	am_feed(data, &(struct machine_event){.kind = EVENT_ALLOCATED,
					      .task = task,
					      .attempt = attempt,
					      .container = container,
					      .host = host});
}

static void on_refused(void *data, size_t task, int attempt, const char *text)
{
	struct cause cause = {.kind = CAUSE_ALLOCATION_REFUSED, .text = text};
	am_feed(data,
		&(struct machine_event){
			.kind = EVENT_REFUSED, .task = task, .attempt = attempt, .cause = &cause});
}

static void on_ended(void *data, size_t task, int attempt, const struct cause *cause)
{
	am_feed(data, &(struct machine_event){.kind = EVENT_CONTAINER_ENDED,
					      .task = task,
					      .attempt = attempt,
					      .cause = cause});
}

static void on_waiting(void *data, const char *text)
{
	struct am *am = data;
	if (str_equal(am->waiting, text) || am_is_over(am)) /* nothing follows the last line */
		return;
	mem_replace(&am->waiting, mem_strdup(text));
	machine_set_waiting(am->machine, text);
	am_record(am, record_waiting(text), false);
}

static void on_noted(void *data, const char *text)
{
	am_note(data, text);
}

static void on_preempted(void *data, size_t task, int attempt, const struct cause *cause)
{
	am_feed(data,
		&(struct machine_event){
			.kind = EVENT_PREEMPTED, .task = task, .attempt = attempt, .cause = cause});
}

static void on_dismissed(void *data, const char *text)
{
	struct am *am = data;
	if (am->dismissal || am_is_over(am))
		return;
	am->dismissal = mem_strdup(text);
	am_record(am, record_note(am->job, NULL, text), true);
	event_base_loopbreak(am->base);
}

static double on_progress(void *data)
{
	const struct am *am = data;
	return api_progress(am->api);
}

static void on_journal_kept(void *data, int64_t sequence)
{
	struct am *am = data;
	api_journal_kept(am->api, sequence);
}

/* ---- what the clock, signals and the guardian tell ---------------------------------------- */

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	am_feed(data, &(struct machine_event){.kind = EVENT_TICK});
}

static void on_signal(evutil_socket_t signal, short what, void *data)
{
	struct am *am = data;
	char *text cleanup_free = mem_printf("the application master was told to end by %s",
					     proc_signal_name((int)signal));
	struct cause cause = {.kind = CAUSE_KILLED_BY_USER, .text = text};
	if (am->place.may_return) {
		am->signal = (int)signal;
		on_dismissed(am, text);
	} else {
		am_feed(am, &(struct machine_event){.kind = EVENT_KILL, .cause = &cause});
	}
}

static void on_guardian_gone(evutil_socket_t fd, short what, void *data)
{
	struct am *am = data;
	event_del(am->guardian_gone);
	if (am->place.may_return) {
		on_dismissed(am, "the application master's guardian was killed");
		return;
	}
	am_become_guardian(am);
	am_break(am, "the application master's guardian was killed");
}

/* ---- opening ------------------------------------------------------------------------------ */

/* So that how a job and its tasks end can be written down even when its disk is full. */
static void reserve_journal_space(struct am *am)
{
	size_t bytes = RESERVE_BYTES + job_task_count(am->job) * RESERVE_TASK_BYTES;
	char *path cleanup_free = fs_join(am->job_dir, "journal.reserve");
	int fd cleanup_close = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes) != 0)
		log_warning("cannot keep %zu bytes free for the end of the journal", bytes);
	journal_hold(am->journal, bytes - RESERVE_END_BYTES);
}

/* Where others on this machine find this AM. */
static int announce(struct am *am, struct err *err)
{
	struct proc_id self = {0};
	proc_identify(getpid(), &self);
	json_t *door cleanup_json = json_object();
	json_set_text(door, "address", api_address(am->api));
	json_set_text(door, "pages", api_pages_address(am->api));
	json_set_int(door, "pid", self.pid);
	json_set_int(door, "start_time", (int64_t)self.start_time);
	json_set_int(door, "am_attempt", am->place.am_attempt);
	char *text cleanup_free = json_text(door);
	char *path cleanup_free = fs_join(am->job_dir, "am.json");
	if (fs_write_volatile(path, text, strlen(text), 0600, err) < 0)
		return -1;
	if (am->ready_fd > 0) {
		eventfd_write(am->ready_fd, 1);
		mem_cleanup_close(&am->ready_fd);
	}
	return 0;
}

static void watch(struct am *am)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	am->timer = event_new(am->base, -1, 0, on_timer, am);
	am->sync_timer = event_new(am->base, -1, 0, am_on_sync_timer, am);
	am->broken = event_new(am->base, -1, 0, am_on_broken, am);
	for (size_t i = 0; i < array_length(signals); i++) {
		am->signals[i] = evsignal_new(am->base, signals[i], on_signal, am);
		event_add(am->signals[i], NULL);
	}
	am->guardian_gone = event_new(am->base, am->guard.fd, EV_READ, on_guardian_gone, am);
	event_add(am->guardian_gone, NULL);
}

static bool on_message(void *data, const struct machine_event *event)
{
	return am_feed(data, event);
}

static char *on_log_path(void *data, size_t task, const char *name)
{
	const struct am *am = data;
	return am->scheduler_ops->log_path(am->scheduler, task, name);
}

static int on_tokens(void *data, const void *bytes, size_t length, struct err *err)
{
	static const char note[] = "the job's processes have new tokens for other services";
	struct am *am = data;

	if (am_is_over(am))
		return err_set(err, ERR_STALE, "the job is over");
	if (!am->scheduler_ops->traits->has_tokens)
		return err_set(err, ERR_INPUT, "jobs on \"%s\" have no tokens of other services",
			       am->scheduler_ops->traits->name);
	int result = am->scheduler_ops->take_tokens(am->scheduler, bytes, length, err);
	if (result != 0)
		return result;
	log_info("%s", note);
	am_record(am, record_note(am->job, NULL, note), false);
	return 0;
}

static void on_look_at_tokens(void *data, struct scheduler_tokens *tokens, bool *are_renewed)
{
	const struct am *am = data;

	*are_renewed = am->scheduler_ops->traits->renews_tokens;
	if (am->scheduler_ops->traits->has_tokens)
		scheduler_tokens_look(am->job, tokens);
}

/* The interface is there before the scheduler is. */
static char *on_find_secret(void *data, const char *identity, char **user)
{
	struct am *am = data;

	if (!am->scheduler || !am->scheduler_ops->traits->names_users)
		return NULL;
	return am->scheduler_ops->find_secret(am->scheduler, identity, user);
}

static bool on_release(void *data)
{
	const struct am *am = data;
	return !am_is_over(am) && gate_release(am->gate);
}

static pid_t on_start_child(void *data, const struct scheduler_child *child, struct err *err)
{
	const struct am *am = data;

	if (!am->scheduler || !am->scheduler_ops->start_child)
		return err_set(err, ERR_NOT_FOUND, "tasks of this job submit no jobs within it");
	if (am_is_over(am))
		return err_set(err, ERR_STALE, "the job is ending already");
	return am->scheduler_ops->start_child(am->scheduler, child, err);
}

static bool trusts_proxy(const struct am *am)
{
	const char *wanted = job_config(am->job, "tony.am.trust-proxy");
	bool trusts;

	return !wanted || str_parse_bool(wanted, &trusts) < 0 || trusts;
}

static int open_api(struct am *am, struct err *err)
{
	am->diff_path = fs_join(am->job_dir, HISTORY_DIFF);
	const struct api_host host = {
		.data = am,
		.job = am->job,
		.machine = am->machine,
		.journal_path = am->place.journal,
		.diff_path = am->diff_path,
		.am_attempt = am->place.am_attempt,
		.one_host = am->scheduler_ops->traits->one_host,
		.deliver = on_message,
		.output_lost = am_on_output_lost,
		.restarted_inside = am_on_restarted_inside,
		.used = am_on_used,
		.numbers = am_on_numbers,
		.checkpoint_trouble = am_on_checkpoint_trouble,
		.take_tokens = on_tokens,
		.look_at_tokens = on_look_at_tokens,
		.release = on_release,
		.start_child = on_start_child,
		.file_written = am->scheduler_ops->traits->remote_am ? am_on_file_written : NULL,
		.find_secret = on_find_secret,
		.log_path = on_log_path};
	char *address cleanup_free = am->listener > 0 ? NULL : listen_address(am->place.host);
	/* An AM at another address is none that the ring's processes would ask. */
	if (am->listener > 0)
		am->ring_file = fs_join(am->job_dir, "ring.json");
	char *kv_file cleanup_free =
		am->scheduler_ops->traits->remote_am ? NULL : fs_join(am->job_dir, KV_FILE);
	char *list_file cleanup_free = fs_join(am->job_dir, SCHEDULER_SPLIT_LIST);
	char *state_file cleanup_free = fs_join(am->job_dir, SCHEDULER_SPLIT_STATE);
	char *rendezvous_file cleanup_free =
		am->listener > 0 ? fs_join(am->job_dir, RENDEZVOUS_FILE) : NULL;
	struct api_options options = {.address = address,
				      .listener = am->listener,
				      .pages_listener = am->pages_listener,
				      .proxy_tls = trusts_proxy(am) ? am->place.proxy_tls : NULL,
				      .host = am->place.host,
				      .token = am->place.token,
				      .kv_file = kv_file,
				      .split_list_file = list_file,
				      .split_state_file = state_file,
				      .rendezvous_file = rendezvous_file,
				      .ring_file = am->ring_file};
	am->api = api_create(am->base, &host, &options, err);
	if (!am->api && am->place.may_return) {
		/* A container may have a network of its own, in which its node's address is not. */
		log_warning("%s; listening on every address", err_message(err));
		err_finish(err);
		options.address = listen_everywhere;
		am->api = api_create(am->base, &host, &options, err);
	}
	return am->api ? 0 : -1;
}

static int open_scheduler(struct am *am, struct err *err)
{
	const struct scheduler_setup setup = {
		.job = am->job,
		.job_dir = am->job_dir,
		.place = &am->place,
		.am_address = api_address(am->api),
		.pages_address = api_pages_address(am->api),
		.proxy_address = api_proxy_address(am->api),
		.hold = am->hold.count > 0 ? &am->hold : NULL,
		.base = am->base,
		.listener = {.data = am,
			     .allocated = on_allocated,
			     .refused = on_refused,
			     .ended = on_ended,
			     .waiting = on_waiting,
			     .preempted = on_preempted,
			     .dismissed = on_dismissed,
			     .progress = on_progress,
			     .journal_kept = on_journal_kept,
			     .noted = on_noted,
			     .store_trouble = am_on_store_trouble},
	};
	am->scheduler = am->scheduler_ops->open(&setup, err);
	return am->scheduler ? 0 : -1;
}

static void trust_proxies(struct am *am)
{
	bool proves;

	if (!am->scheduler_ops->traits->has_proxy || !trusts_proxy(am))
		return;
	const struct str_list *hosts = am->scheduler_ops->web_proxies(am->scheduler, &proves);
	api_trust_proxies(am->api, hosts, proves);
}

static void name_administrators(struct am *am)
{
	if (am->scheduler_ops->traits->names_users)
		api_name_administrators(am->api, am->scheduler_ops->administrators(am->scheduler));
}

/* Makes the machine, and what else was known to the AMs before this one. `view`: what the journal
 * tells of them; of the first AM, nothing. */
static void restore(struct am *am, const struct job_view *view)
{
	if (am->place.am_attempt <= view->am_attempt)
		am->place.am_attempt = view->am_attempt + 1;
	if (job_state_is_final(view->state))
		am->ended_ms = view->ended_ms;
	am->waiting = mem_strdup(view->waiting);
	am->has_notified = view->notices != NULL;
	str_list_copy(&am->suspects, &view->avoided);
	am->machine =
		machine_restore(am->job, random_u64(), view, clock_monotonic_ms(), clock_wall_ms());
	machine_set_failures(am->machine, framework_failures(am->job));
	machine_set_waiting(am->machine, view->waiting);
	if (am->scheduler_ops->traits->one_host)
		machine_set_one_host(am->machine);
}

/* The same for the interface, which is open by then. */
static void restore_api(struct am *am, const struct job_view *view)
{
	for (size_t i = 0; i < view->task_count; i++) {
		const struct task_view *task = &view->tasks[i];
		if (task->log_dir)
			api_set_log_dir(am->api, i, task->log_dir);
		if (task->checkpoint_trouble)
			api_set_checkpoint_trouble(am->api, i, task->checkpoint_trouble_since_ms);
	}
	if (view->store_trouble)
		am->store_trouble_since_ms = view->store_trouble_since_ms;
	api_set_store_trouble(am->api, am->store_trouble_since_ms);
}

/* The scheduler knows who it was; an AM that follows is nobody's doing. */
static void audit_submission(const struct am *am, const struct job_view *view)
{
	if (view->am_attempt > 0)
		return;
	audit_write(&(struct audit_line){
		.user = am->job->user,
		.proof = "scheduler",
		.action = "submit",
		.job = am->job->id,
		.outcome = "done",
		.detail = am->job->name,
	});
}

/* ---- the job's beginning ------------------------------------------------------------------ */

/* An AM holds a connection for each executor. */
static int check_open_files(size_t tasks, struct err *err)
{
	size_t needed = tasks + OPEN_FILES_BESIDES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= needed)
		return 0;
	return err_set(err, ERR_INPUT,
		       "the application master may have %llu files open, and for %zu task%s it "
		       "needs %zu: raise the hard limit (ulimit -Hn) where it runs, or ask for "
		       "fewer tasks",
		       (unsigned long long)limit.rlim_cur, tasks, str_plural(tasks), needed);
}

/* Where the AM runs, whatever its user's machine has. */
static int check_policy(const struct am *am, struct err *err)
{
	return site_policy_check(SITE_POLICY_FILE, am->job, err) == 0
		       ? 0
		       : err_wrap(err, "on %s, where the application master runs", am->place.host);
}

/* What cannot go well is not begun. */
static void submit(void *data)
{
	struct am *am = data;
	struct err err cleanup_err = {0};
	struct cause cause = {.kind = CAUSE_AM_FAILED};
	struct machine_status status;

	machine_status(am->machine, &status);
	if (status.state != JOB_SUBMITTED)
		return; /* a kill has come meanwhile */
	if (check_open_files(machine_task_count(am->machine), &err) < 0 ||
	    check_policy(am, &err) < 0) {
		cause.text = err_message(&err);
		am_feed(am, &(struct machine_event){.kind = EVENT_KILL, .cause = &cause});
	} else {
		am_feed(am, &(struct machine_event){.kind = EVENT_SUBMIT});
	}
}

/* A kill may have come meanwhile. */
static void on_gate_opened(void *data)
{
	struct am *am = data;
	if (am_is_over(am))
		return;
	on_waiting(am, NULL);
	am_track_begin(am, submit);
}

static void on_gate_passed(void *data, bool released, const struct str_list *met)
{
	struct am *am = data;
	if (!am_is_over(am))
		am_record(am, record_start(released, met), true);
}

static void on_gate_canceled(void *data, const char *text)
{
	const struct cause cause = {.kind = CAUSE_CANCELED, .text = text};
	am_feed(data, &(struct machine_event){.kind = EVENT_KILL, .cause = &cause});
}

static void open_gate(struct am *am, const struct job_view *view)
{
	if (view->state != JOB_SUBMITTED)
		return;
	am->gate = gate_create(&(struct gate_options){.base = am->base,
						      .job = am->job,
						      .ops = am->scheduler_ops,
						      .scheduler = am->scheduler,
						      .waiting = on_waiting,
						      .passed = on_gate_passed,
						      .opened = on_gate_opened,
						      .canceled = on_gate_canceled,
						      .data = am},
			       view);
}

static void on_parent_ended(void *data, const char *text)
{
	const struct am *am = data;
	const struct cause cause = {.kind = CAUSE_CANCELED, .text = text};

	if (!am_is_over(am))
		am_feed(data, &(struct machine_event){.kind = EVENT_KILL, .cause = &cause});
}

static void open_parent(struct am *am)
{
	am->parent = parent_watch_create(&(struct parent_options){.base = am->base,
								  .job = am->job,
								  .ops = am->scheduler_ops,
								  .scheduler = am->scheduler,
								  .ended = on_parent_ended,
								  .data = am});
}

/* ---- opening all -------------------------------------------------------------------------- */

static int open_restored(struct am *am, const struct job_view *view, struct err *err)
{
	restore(am, view);
	am->base = event_base_new();
	if (!am->base)
		return err_set_errno(err, "cannot make an event loop");
	watch(am);
	if (open_api(am, err) < 0)
		return -1;
	restore_api(am, view);
	if (open_scheduler(am, err) < 0)
		return -1;
	am_track_open(am, view);
	open_gate(am, view);
	open_parent(am);
	am_history_begin(am);
	trust_proxies(am);
	name_administrators(am);
	audit_submission(am, view);
	return 0;
}

static int open_all(struct am *am, struct err *err)
{
	if (am->scheduler_ops->traits->remote_am &&
	    am->scheduler_ops->recover(am->job, am->job_dir, &am->place, err) < 0)
		return -1;
	am->journal = journal_open(am->place.journal, err);
	if (!am->journal)
		return -1;
	reserve_journal_space(am);
	struct job_view *view = job_view_create(am->job);
	int result = job_view_read(view, am->place.journal, err);
	if (result == 0)
		result = open_restored(am, view, err);
	job_view_destroy(view);
	return result;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void close_all(struct am *am)
{
	tracking_destroy(am->tracking);
	metrics_file_destroy(am->metrics_file);
	summons_destroy(am->summons);
	gate_destroy(am->gate);
	parent_watch_destroy(am->parent);
	if (am->api)
		api_destroy(am->api);
	if (am->scheduler)
		am->scheduler_ops->close(am->scheduler);
	for (size_t i = 0; i < array_length(am->signals); i++)
		if (am->signals[i])
			event_free(am->signals[i]);
	if (am->timer)
		event_free(am->timer);
	if (am->track_timer)
		event_free(am->track_timer);
	if (am->sync_timer)
		event_free(am->sync_timer);
	if (am->guardian_gone)
		event_free(am->guardian_gone);
	if (am->broken)
		event_free(am->broken);
	if (am->base)
		event_base_free(am->base);
	machine_destroy(am->machine);
	journal_close(am->journal);
	action_list_finish(&am->actions);
	str_list_finish(&am->suspects);
	free(am->ring_file);
	free(am->diff_path);
	free(am->waiting);
	free(am->job_page);
	free(am->failure);
	free(am->dismissal);
}

/* The containers that the AM before this one had. */
static void adopt(struct am *am)
{
	size_t task_count = machine_task_count(am->machine), count = 0;
	struct scheduler_adoption *items = mem_alloc_array(task_count, sizeof(*items));
	for (size_t i = 0; i < task_count; i++) {
		const struct task *task = machine_task(am->machine, i);
		bool is_asked = am->scheduler_ops->traits->starts_by_itself &&
				task->state == TASK_REQUESTED;
		if (task->has_container || is_asked)
			items[count++] =
				(struct scheduler_adoption){.request = {.task = i,
									.attempt = task->attempt,
									.type = task->type,
									.index = task->index},
							    .container = task->container,
							    .host = task->host,
							    .is_reachable = task->door > 0,
							    .is_asked = is_asked};
	}
	log_info("AM attempt %d goes on with the job, and with %zu container%s",
		 am->place.am_attempt, count, str_plural(count));
	am->scheduler_ops->adopt(am->scheduler, items, count);
	free(items);
	for (size_t i = 0; !am->scheduler_ops->traits->one_host && i < am->suspects.count; i++)
		am->scheduler_ops->avoid(am->scheduler, am->suspects.items[i]);
	am->summons = summons_create(&(struct summons_options){
		.base = am->base,
		.job = am->job,
		.machine = am->machine,
		.token = am->place.token,
		.call = {am->place.am_attempt, (char *)api_address(am->api)},
	});
}

static void begin(struct am *am)
{
	struct machine_status status;
	machine_status(am->machine, &status);
	if (am->place.am_attempt > 1)
		adopt(am);
	if (am->waiting && !am->gate)
		on_waiting(am, NULL); /* it will tell what is waited for now */
	if (status.state != JOB_SUBMITTED) {
		am_resume(am);
		am_track_begin(am, NULL);
	} else if (!am->gate) {
		am_track_begin(am, submit);
	}
}

static int serve(struct am *am, struct err *err)
{
	if (open_all(am, err) < 0)
		return -1;
	/* The job's own line follows at once, and is synced. */
	am_record(am,
		  record_am(am->place.am_attempt, getpid(), api_address(am->api),
			    am->place.container),
		  false);
	/* Who finds this AM finds it in the journal, too. */
	if (!am->scheduler_ops->traits->remote_am && announce(am, err) < 0)
		return -1;
	begin(am);
	/* A loop that is not running yet cannot be left. */
	if (!am_is_over(am))
		event_base_dispatch(am->base);
	if (am->dismissal)
		return err_set(err, ERR_FAILED, "%s", am->dismissal);
	return am_end(am) == JOB_SUCCEEDED ? 0 : 1;
}

int am_run(struct am *am)
{
	struct err err cleanup_err = {0};
	int code = serve(am, &err);
	if (code < 0)
		log_error("%s", err_message(&err));
	close_all(am);
	guard_leave(&am->guard);
	if (code < 0)
		/* As a shell says it: a scheduler that ends the container, as for its memory, would
		 * take any other code for the reason, instead of its own. */
		return am->signal ? 128 + am->signal : launch_exit_code(&err, 1);
	return code;
}
