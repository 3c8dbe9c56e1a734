#include "am/am_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "am/am_internal.h"
#include "am/listen.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/proc.h"
#include "job/record.h"

#define JOURNAL_RESERVE_BYTES 65536
#define DRAIN_MS	      2000

struct am_options {
	char *job_dir;
};

static const struct opt am_option_rows[] = {
	{.name = "job-dir",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct am_options, job_dir),
	 .argument = "DIR",
	 .help = "the job's directory, with job.json; else the working directory",
	 .completion = OPT_COMPLETE_DIRECTORY},
};

static const struct opt_table table = {
	.verb = "am",
	.usage = "tony-agent am [--job-dir DIR]",
	.summary = "run a job's application master",
	.options = am_option_rows,
	.option_count = array_length(am_option_rows),
};

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
	struct cause cause = {.kind = CAUSE_ALLOCATION_REFUSED, .text = (char *)text};
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
	if (str_equal(am->waiting, text))
		return;
	mem_replace(&am->waiting, mem_strdup(text));
	am_record(am, record_waiting(text), false);
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
	if (am->dismissal)
		return;
	am->dismissal = mem_strdup(text);
	am_record(am, record_note(am->job, NULL, text), true);
	event_base_loopbreak(am->base);
}

static double on_progress(void *data)
{
	const struct am *am = data;
	struct machine_status status;
	machine_status(am->machine, &status);
	return status.tracked ? (double)status.tracked_done / (double)status.tracked : 0;
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
	if (am->place.may_return)
		on_dismissed(am, text);
	else
		am_feed(am, &(struct machine_event){.kind = EVENT_KILL, .cause = &cause});
}

static void on_guardian_gone(evutil_socket_t fd, short what, void *data)
{
	struct am *am = data;
	event_del(am->guardian_gone);
	if (am->place.may_return)
		on_dismissed(am, "the application master's guardian was killed");
	else
		am_break(am, "the application master's guardian was killed");
}

/* ---- opening ------------------------------------------------------------------------------ */

/* So that the end of a job can be written down even when its disk is full. */
static void reserve_journal_space(struct am *am)
{
	char *path cleanup_free = fs_join(am->job_dir, "journal.reserve");
	int fd cleanup_close = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, JOURNAL_RESERVE_BYTES) != 0)
		log_warning("cannot keep %d bytes free for the end of the journal",
			    JOURNAL_RESERVE_BYTES);
}

static void give_up_reserve(const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "journal.reserve");
	unlink(path);
}

/* Where others find this AM. */
static int announce(struct am *am, struct err *err)
{
	struct proc_id self = {0};
	proc_identify(getpid(), &self);
	json_t *door cleanup_json = json_object();
	json_set_text(door, "address", api_address(am->api));
	json_set_int(door, "pid", self.pid);
	json_set_int(door, "start_time", (int64_t)self.start_time);
	json_set_int(door, "am_attempt", am->place.am_attempt);
	char *text cleanup_free = json_text(door);
	char *path cleanup_free = fs_join(am->job_dir, "am.json");
	return fs_write_file(path, text, strlen(text), 0600, err);
}

static uint64_t random_seed(void)
{
	uint64_t seed = 0;
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = (uint64_t)clock_monotonic_ms();
	return seed;
}

static void watch(struct am *am)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	am->timer = event_new(am->base, -1, 0, on_timer, am);
	am->sync_timer = event_new(am->base, -1, 0, am_on_sync_timer, am);
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

static int open_api(struct am *am, struct err *err)
{
	const struct api_host host = {.data = am,
				      .job = am->job,
				      .machine = am->machine,
				      .journal_path = am->place.journal,
				      .am_attempt = am->place.am_attempt,
				      .deliver = on_message,
				      .log_path = on_log_path};
	char *address cleanup_free = listen_address(am->place.host);
	struct api_options options = {
		.address = address, .host = am->place.host, .token = am->place.token};
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
		.am_address = api_address(am->api),
		.base = am->base,
		.listener = {.data = am,
			     .allocated = on_allocated,
			     .refused = on_refused,
			     .ended = on_ended,
			     .waiting = on_waiting,
			     .preempted = on_preempted,
			     .dismissed = on_dismissed,
			     .progress = on_progress},
	};
	am->scheduler = am->scheduler_ops->open(&setup, err);
	return am->scheduler ? 0 : -1;
}

/* The job, its scheduler, and what that one left here for the AM. */
static int find_all(const char *job_dir, struct job **job, const struct scheduler_ops **ops,
		    struct scheduler_place *place, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "job.json");
	*job = job_read_file(path, err);
	if (!*job)
		return -1;
	const char *name = (*job)->scheduler ? (*job)->scheduler : "local";
	*ops = scheduler_find(name);
	if (!*ops)
		return err_set(err, ERR_INPUT,
			       "%s: scheduler: this program knows none named "
			       "\"%s\"",
			       path, name);
	return (*ops)->find_place(job_dir, place, err);
}

static int open_all(struct am *am, struct err *err)
{
	if (find_all(am->job_dir, &am->job, &am->scheduler_ops, &am->place, err) < 0)
		return -1;
	am->journal = journal_open(am->place.journal, err);
	if (!am->journal)
		return -1;
	reserve_journal_space(am);
	am->machine = machine_create(am->job, random_seed());
	am->base = event_base_new();
	if (!am->base)
		return err_set_errno(err, "cannot make an event loop");
	watch(am);
	if (open_api(am, err) < 0 || open_scheduler(am, err) < 0)
		return -1;
	return announce(am, err);
}

/* ---- the end ------------------------------------------------------------------------------ */

/* "worker:1 on 127.0.0.1 exited with code 1: ValueError: no data". The caller frees. */
static char *final_message(const struct am *am)
{
	struct machine_status status;
	machine_status(am->machine, &status);
	const struct cause *cause = status.cause;
	if (status.state == JOB_SUCCEEDED || cause->kind == CAUSE_NONE)
		return mem_printf("the job %s", job_state_name(status.state));
	const char *text = cause->text ? cause->text : cause_kind_name(cause->kind);
	if (status.cause_task < 0)
		return mem_strdup(text);
	const struct task *task = machine_task(am->machine, (size_t)status.cause_task);
	struct str message = {0};
	str_append_format(&message, "%s:%d on %s %s", am->job->types[task->type].name, task->index,
			  task->host ? task->host : "no host", text);
	if (cause->headline)
		str_append_format(&message, ": %s", cause->headline);
	return str_steal(&message);
}

/* The last line of a job's journal, after which nobody writes it. */
static void record_end(struct journal *journal, enum job_state state, const char *message)
{
	struct err err cleanup_err = {0};
	if (journal_append(journal, record_final(state, message), clock_wall_ms(), true, &err) < 0)
		log_error("the end of the job cannot be written down: %s", err_message(&err));
}

static void close_all(struct am *am)
{
	if (am->api)
		api_destroy(am->api);
	if (am->scheduler)
		am->scheduler_ops->close(am->scheduler);
	for (size_t i = 0; i < array_length(am->signals); i++)
		if (am->signals[i])
			event_free(am->signals[i]);
	if (am->timer)
		event_free(am->timer);
	if (am->sync_timer)
		event_free(am->sync_timer);
	if (am->guardian_gone)
		event_free(am->guardian_gone);
	if (am->base)
		event_base_free(am->base);
	machine_destroy(am->machine);
	journal_close(am->journal);
	action_list_finish(&am->actions);
	job_destroy(am->job);
	free(am->waiting);
	free(am->failure);
	free(am->dismissal);
	scheduler_place_finish(&am->place);
}

static void on_drained(void *data)
{
	event_base_loopbreak(data);
}

static void tell_end(struct am *am, enum job_state state, const char *message)
{
	const struct scheduler_end end = {
		.state = state, .message = message, .journal = am->place.journal};
	if (!am->scheduler_ops->finish || am->dismissal)
		return;
	am->scheduler_ops->finish(am->scheduler, &end, on_drained, am->base);
	event_base_dispatch(am->base);
}

/* Containers are gone; lets those who watch the job read its last lines. */
static enum job_state end(struct am *am)
{
	struct machine_status status;
	machine_status(am->machine, &status);
	char *message cleanup_free = final_message(am);
	log_info("the job %s: %s", job_state_name(status.state), message);
	give_up_reserve(am->job_dir);
	record_end(am->journal, status.state, message);
	api_journal_appended(am->api);
	api_drain(am->api, DRAIN_MS, on_drained, am->base);
	event_base_dispatch(am->base);
	tell_end(am, status.state, message);
	return status.state;
}

/* Two connections per executor: as many descriptors as are allowed. What runs in containers gets
 * the limit that it would have had (scheduler/launch.c). */
static void raise_open_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	char *before cleanup_free = mem_printf("%llu", (unsigned long long)limit.rlim_cur);
	setenv("TONY_OPEN_FILES", before, 1);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(struct am *am, struct err *err)
{
	raise_open_files();
	if (open_all(am, err) < 0)
		return -1;
	am_record(am, record_am(am->place.am_attempt, getpid(), api_address(am->api)), true);
	am_feed(am, &(struct machine_event){.kind = EVENT_SUBMIT});
	/* A loop that is not running yet cannot be left. */
	if (!am_is_over(am))
		event_base_dispatch(am->base);
	if (am->dismissal)
		return err_set(err, ERR_FAILED, "%s", am->dismissal);
	return end(am) == JOB_SUCCEEDED ? 0 : 1;
}

/* ---- the guardian's last duty ------------------------------------------------------------- */

/* The final record is a journal's last line. */
static bool is_final(const char *journal_path)
{
	char *text cleanup_free = NULL;
	struct journal_line line;
	if (!journal_read_last(journal_path, &text, &line))
		return false;
	json_t *record cleanup_json = journal_line_record(&line, NULL);
	return str_equal(json_string_value(json_object_get(record, "ev")), "final");
}

/* A job whose AM was killed still gets its last line. */
static void write_last_line(const char *path, const struct guard *guard)
{
	struct err err cleanup_err = {0};
	if (is_final(path))
		return;
	char *message cleanup_free =
		guard->signal ? mem_printf("the application master was killed by %s",
					   proc_signal_name(guard->signal))
			      : mem_printf("the application master ended early, with code %d "
					   "(see am.log)",
					   guard->exit_code);
	struct journal *journal = journal_open(path, &err);
	if (!journal) {
		log_error("%s", err_message(&err));
		return;
	}
	record_end(journal, JOB_FAILED, message);
	journal_close(journal);
}

static void conclude(const char *job_dir, const struct guard *guard)
{
	struct err err cleanup_err = {0};
	struct job *job = NULL;
	const struct scheduler_ops *ops;
	struct scheduler_place place = {0};
	char *door cleanup_free = fs_join(job_dir, "am.json");
	unlink(door);
	give_up_reserve(job_dir);
	if (find_all(job_dir, &job, &ops, &place, &err) < 0) {
		log_error("%s", err_message(&err));
	} else {
		if (ops->clean)
			ops->clean(fs_basename(job_dir));
		if (!place.may_return)
			write_last_line(place.journal, guard);
	}
	scheduler_place_finish(&place);
	job_destroy(job);
}

/* `mark`: in the environment of every process below. */
static int run_guarded(const char *job_dir, const char *mark)
{
	struct err err cleanup_err = {0};
	struct am am = {.job_dir = job_dir};
	if (guard_start(mark, &am.guard, &err) < 0) {
		log_error("%s", err_message(&err));
		return 1;
	}
	if (!am.guard.is_worker) {
		conclude(job_dir, &am.guard);
		return am.guard.exit_code;
	}
	int code = run(&am, &err);
	if (code < 0)
		log_error("%s", err_message(&err));
	close_all(&am);
	guard_end_tree(&am.guard);
	return code < 0 ? 1 : code;
}

static int run_in(const char *job_dir)
{
	const char *container = getenv("CONTAINER_ID");
	char *here cleanup_free = getcwd(NULL, 0);
	if (!job_dir && (!container || !here)) {
		log_error("usage: %s (without DIR: in a YARN container)", table.usage);
		return 2;
	}
	char *mark cleanup_free = job_dir ? mem_printf("TONY_JOB_ID=%s", fs_basename(job_dir))
					  : mem_printf("CONTAINER_ID=%s", container);
	return run_guarded(job_dir ? job_dir : here, mark);
}

int am_main(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct am_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	log_open("am", LOG_LEVEL_INFO);
	int code = 2;
	if (opt_parse(&table, argc, argv, &chosen, &operands, NULL, &err) < 0)
		log_error("%s", err_message(&err));
	else if (operands.count > 0)
		log_error("usage: %s", table.usage);
	else
		code = run_in(chosen.job_dir);
	opt_finish(&table, &chosen);
	return code;
}
