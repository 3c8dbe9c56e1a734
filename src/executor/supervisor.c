#include "executor/supervisor_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/timer.h"
#include "executor/executor.h"
#include "executor/imports.h"
#include "executor/link.h"
#include "executor/localize.h"
#include "executor/log_send.h"
#include "executor/metrics.h"
#include "executor/mirror.h"
#include "executor/mirrors.h"
#include "executor/port.h"
#include "executor/program.h"
#include "executor/run.h"
#include "executor/spawn.h"
#include "framework/framework.h"
#include "net/tunnel.h"
#include "store/file_server.h"

enum {
	BEAT_NUMBERS_BYTES = 128 << 10,
	EXIT_NUMBERS_BYTES = 512 << 10, /* all that is left, if that is possible */
	LAST_REPORT_MS = 3000,		/* for an exit report, when ordered to leave */
	LAST_LOGS_MS = 3000,		/* for the last bytes of logs that somebody follows */
	LAST_STORE_MS = 30000, /* for the last checkpoint and results, where they have to be stored
				  elsewhere */
};

static void pursue(struct supervisor *supervisor);
static void report_end(struct supervisor *supervisor, const struct cause *cause);

/* ---- leaving ------------------------------------------------------------------------------ */

static void leave_in(struct supervisor *supervisor, enum phase phase, int code)
{
	int64_t limit = supervisor->type->stop_grace_ms + LAST_REPORT_MS;

	if (supervisor->phase == PHASE_OBEYING) {
		supervisor->phase = phase;
		supervisor->code = code;
		timer_start(supervisor->leave_timer,
			    limit + (supervisor->mirrors ? LAST_STORE_MS : 0));
	}
	pursue(supervisor);
}

static void leave(struct supervisor *supervisor, int code)
{
	leave_in(supervisor, PHASE_LEAVING, code);
}

static void go(struct supervisor *supervisor)
{
	program_destroy(supervisor->program);
	supervisor->program = NULL;
	event_base_loopbreak(supervisor->base);
}

static void on_leave_timer(evutil_socket_t fd, short what, void *data)
{
	go(data);
}

/* Why the program is ended: it may look before, or when SIGTERM has come. */
static void tell_preempted(const struct supervisor *supervisor, const char *why)
{
	struct err err cleanup_err = {0};
	const char *path = supervisor->settings->preempted_file;
	char *line cleanup_free = mem_printf("%s\n", why);

	if (!fs_exists(path) && fs_write_volatile(path, line, strlen(line), 0600, &err) < 0)
		log_warning("%s", err_message(&err));
}

/* For the program's last lines: then they must be told, before the scheduler kills all of it. */
static int64_t last_words_ms(const struct supervisor *supervisor)
{
	return supervisor->settings->kill_notice_ms * 2 / 5;
}

/* What is reported of a task whose container is told to end, once. */
static void tell_end(struct supervisor *supervisor)
{
	struct cause cause = {.kind = CAUSE_CONTAINER_STOPPED,
			      .text = mem_strdup("its executor was told to end (SIGTERM)")};

	if (supervisor->phase == PHASE_TOLD && supervisor->program &&
	    supervisor->activity == ACTIVITY_RUNNING) {
		program_tail(supervisor->program, &cause.tail);
		report_end(supervisor, &cause);
	}
	if (supervisor->phase == PHASE_TOLD)
		supervisor->phase = PHASE_LEAVING;
	cause_finish(&cause);
}

static void on_words_timer(evutil_socket_t fd, short what, void *data)
{
	tell_end(data);
}

static void on_signal(evutil_socket_t signal, short what, void *data)
{
	struct supervisor *supervisor = data;

	log_info("%s", proc_signal_name((int)signal));
	if (supervisor->phase != PHASE_OBEYING)
		go(supervisor); /* twice: at once */
	if (supervisor->phase == PHASE_OBEYING && supervisor->program) {
		tell_preempted(supervisor, "its container is told to end (SIGTERM)");
		timer_start(supervisor->words_timer, last_words_ms(supervisor));
		leave_in(supervisor, PHASE_TOLD, EXECUTOR_ENDED);
	} else {
		leave(supervisor, EXECUTOR_ENDED);
	}
}

static void on_guardian_gone(evutil_socket_t fd, short what, void *data)
{
	struct supervisor *supervisor = data;

	log_error("the guardian was killed; ending all it watched over");
	guard_end_tree(supervisor->guard);
	supervisor->code = EXECUTOR_ENDED;
	go(supervisor);
}

/* Nobody comes after this AM: its container is of no use, as if it had been told to end. */
static void on_am_gone(evutil_socket_t fd, short what, void *data)
{
	struct supervisor *supervisor = data;

	event_del(supervisor->lifeline);
	log_error("leaving: every process of the AM is gone");
	leave(supervisor, EXECUTOR_ENDED);
}

static void on_link_ended(void *data, enum link_end how, const char *text)
{
	static const int codes[] = {
		[LINK_STALE] = EXECUTOR_STALE,
		[LINK_REFUSED] = EXECUTOR_REFUSED,
		[LINK_SILENT] = EXECUTOR_SILENCE,
	};

	log_error("leaving: %s", text);
	leave(data, codes[how]);
}

/* ---- messages ----------------------------------------------------------------------------- */

/* `bytes`: of what the program tells of itself. Output is lost by all programs of this container.
 */
static void fill_account(const struct supervisor *supervisor, size_t bytes,
			 struct program_account *account)
{
	struct output_loss loss = {0};

	account->has_metrics = supervisor->has_metrics;
	if (supervisor->has_metrics)
		metrics_copy(&account->metrics, &supervisor->metrics);
	if (supervisor->numbers)
		numbers_next(supervisor->numbers, bytes, &account->numbers);
	output_loss_add(&loss, &supervisor->lost);
	if (supervisor->program)
		program_add_loss(supervisor->program, &loss);
	account->lost.lines = loss.count.lines;
	account->lost.bytes = loss.count.bytes;
	if (loss.count.bytes > 0)
		account->lost.text = output_loss_text(&loss, "its");
	output_loss_finish(&loss);
	if (supervisor->activity == ACTIVITY_WAITING)
		return;
	account->restarts.count = supervisor->restarts.count;
	account->restarts.text = mem_strdup(supervisor->restarts.text);
}

static void note_use(struct supervisor *supervisor)
{
	const struct program_use *use = program_use(supervisor->program);

	if (use)
		supervisor->use = *use;
}

/* The last program has used what no report has told: nobody asks how a program ended that was
 * stopped for good. */
static bool has_use_to_tell(const struct supervisor *supervisor)
{
	return supervisor->phase != PHASE_OBEYING && supervisor->code == EXECUTOR_DONE &&
	       supervisor->use.ms > 0 && !supervisor->use_is_reported;
}

static void on_state(void *data, struct heartbeat *heartbeat)
{
	const struct supervisor *supervisor = data;
	bool waiting = supervisor->activity == ACTIVITY_WAITING;

	heartbeat->of.attempt = supervisor->settings->attempt;
	heartbeat->of.epoch = waiting ? supervisor->registered_epoch : supervisor->epoch;
	heartbeat->of.restart = waiting ? 0 : supervisor->restart;
	heartbeat->activity = supervisor->activity;
	heartbeat->pid_count = program_pids(supervisor->program, &heartbeat->pids);
	if (supervisor->ui_is_served)
		heartbeat->ui_port = supervisor->ui_port.number;
	heartbeat->tokens = supervisor->tokens.number;
	heartbeat->log_count = log_send_numbers(supervisor->logs, heartbeat->logs);
	fill_account(supervisor, BEAT_NUMBERS_BYTES, &heartbeat->account);
	if (has_use_to_tell(supervisor))
		heartbeat->account.use = supervisor->use;
	if (!supervisor->mirrors)
		return;
	heartbeat->checkpoint_trouble = mirrors_trouble(supervisor->mirrors);
	heartbeat->has_storing = true;
	mirrors_measure(supervisor->mirrors, &heartbeat->storing);
}

static void enter(struct supervisor *supervisor)
{
	const struct registration registration = {
		.of = {.attempt = supervisor->settings->attempt,
		       .epoch = supervisor->registered_epoch},
		.process_epoch = supervisor->activity == ACTIVITY_WAITING ? 0 : supervisor->epoch,
		.host = (char *)supervisor->settings->host,
		.port = supervisor->port.number,
		.pid = getpid(),
		.log_dir = (char *)supervisor->settings->log_dir,
		.door = supervisor->door ? door_port(supervisor->door) : 0,
		.tokens = supervisor->tokens,
	};

	link_register(supervisor->link, &registration);
}

static void report_end(struct supervisor *supervisor, const struct cause *cause)
{
	struct exit_report report = {.of = {.attempt = supervisor->settings->attempt,
					    .epoch = supervisor->epoch,
					    .restart = supervisor->restart}};

	cause_copy(&report.cause, cause);
	supervisor_look_at_numbers(supervisor);
	if (cause->kind == CAUSE_OUT_OF_MEMORY)
		report.cause.step = supervisor_step(supervisor);
	fill_account(supervisor, EXIT_NUMBERS_BYTES, &report.account);
	if (supervisor->program)
		note_use(supervisor);
	report.account.use = supervisor->use;
	supervisor->use_is_reported = supervisor->use.ms > 0;
	supervisor->activity = ACTIVITY_EXITED;
	log_info("process %d of epoch %d %s", supervisor->restart, supervisor->epoch,
		 cause->text ? cause->text : "succeeded");
	link_report(supervisor->link, &report);
	exit_report_finish(&report);
	link_changed(supervisor->link);
}

/* It knows what the journal tells, and of this executor no more than that. */
static void on_am_changed(void *data)
{
	enter(data);
}

static void on_reported(void *data)
{
	pursue(data);
}

static bool on_called(void *data, const struct am_call *call)
{
	struct supervisor *supervisor = data;

	if (!link_move(supervisor->link, call->am_attempt, call->address))
		return false;
	log_info("AM %d is at %s", call->am_attempt, call->address);
	mem_replace(&supervisor->am_address, mem_strdup(call->address));
	log_send_move(supervisor->logs, call->address);
	if (supervisor->relay)
		tunnel_move(supervisor->relay, call->address);
	if (supervisor->phase == PHASE_OBEYING)
		enter(supervisor);
	return true;
}

/* ---- orders ------------------------------------------------------------------------------- */

static bool stop_is_due(const struct supervisor *supervisor)
{
	int epoch = supervisor->goal.epoch;

	if (supervisor->goal.kind != ORDER_STOP)
		return false;
	if (supervisor->activity == ACTIVITY_WAITING)
		return epoch > supervisor->registered_epoch;
	return epoch >= supervisor->epoch && epoch >= supervisor->registered_epoch;
}

static bool run_is_due(const struct supervisor *supervisor)
{
	const struct order *goal = &supervisor->goal;

	if (goal->kind != ORDER_RUN || goal->epoch < supervisor->registered_epoch)
		return false;
	if (supervisor->activity == ACTIVITY_WAITING)
		return true;
	return goal->epoch > supervisor->epoch ||
	       (goal->epoch == supervisor->epoch && goal->restart > supervisor->restart);
}

static void obey_stop(struct supervisor *supervisor)
{
	struct err err cleanup_err = {0};

	if (supervisor_take_ports(supervisor, &err) < 0) {
		log_error("%s", err_message(&err));
		leave(supervisor, EXECUTOR_FAILED);
		return;
	}
	supervisor->registered_epoch = supervisor->goal.epoch;
	supervisor->activity = ACTIVITY_WAITING;
	log_info("stopped for epoch %d", supervisor->registered_epoch);
	enter(supervisor);
}

/* Everything was reported. Who follows a log gets its end, if the AM is there to take it. */
static void finish_logs(struct supervisor *supervisor)
{
	bool is_heard = supervisor->code == EXECUTOR_DONE || supervisor->code == EXECUTOR_ENDED;

	if (supervisor->phase != PHASE_SENDING_LOGS && is_heard) {
		supervisor->phase = PHASE_SENDING_LOGS;
		timer_start(supervisor->leave_timer, LAST_LOGS_MS);
		log_send_end(supervisor->logs);
	}
	if (!is_heard || log_send_is_done(supervisor->logs))
		event_base_loopbreak(supervisor->base);
}

/* ---- the program -------------------------------------------------------------------------- */

static void forget_program(struct supervisor *supervisor)
{
	program_add_loss(supervisor->program, &supervisor->lost);
	note_use(supervisor);
	program_destroy(supervisor->program);
	supervisor->program = NULL;
	supervisor_forget_ui(supervisor);
	supervisor_choose_guard(supervisor);
	supervisor_close_ports(supervisor);
	evtimer_del(supervisor->metrics_timer);
	evtimer_del(supervisor->port_timer);
}

/* Nobody asks how a program ended that was stopped for good, but what it lost and used is told. */
static bool has_to_tell(const struct supervisor *supervisor)
{
	bool has_lost = supervisor->code == EXECUTOR_DONE && supervisor->lost.count.bytes > 0;

	return link_is_reporting(supervisor->link) ||
	       ((has_lost || has_use_to_tell(supervisor)) && !link_is_heard(supervisor->link));
}

static void on_program_failed(void *data, const struct cause *cause)
{
	struct supervisor *supervisor = data;

	supervisor_judge_port(supervisor, cause);
	report_end(supervisor, cause);
}

static void end_run(struct supervisor *supervisor, bool succeeded)
{
	const struct cause none = {0};

	if (succeeded)
		report_end(supervisor, &none);
	supervisor->activity = ACTIVITY_EXITED;
	if (supervisor->lost.count.bytes > 0 || has_use_to_tell(supervisor))
		link_changed(supervisor->link);
	pursue(supervisor);
}

static void report_start_failed(struct supervisor *supervisor, enum cause_kind kind,
				struct err *err)
{
	fs_explain_room(supervisor->settings->container_dir, err);
	struct cause cause = {.kind = cause_kind_of_err(err, kind)};

	cause.text = mem_printf("could not be started: %s", err_message(err));
	report_end(supervisor, &cause);
	cause_finish(&cause);
}

/* A success that left nothing behind is none. */
static void on_stored(void *data, const struct err *err)
{
	struct supervisor *supervisor = data;

	bool has_succeeded = supervisor->transfer == TRANSFER_OF_SUCCESS;
	supervisor->transfer = TRANSFER_NONE;
	if (err)
		log_error("%s", err_message(err));
	if (err && has_succeeded) {
		struct cause cause = {.kind = cause_kind_of_err(err, CAUSE_STORE_FAILED)};
		cause.text = mem_printf("succeeded, but %s", err_message(err));
		report_end(supervisor, &cause);
		cause_finish(&cause);
	}
	end_run(supervisor, !err && has_succeeded);
}

static void on_program_ended(void *data, bool succeeded)
{
	struct supervisor *supervisor = data;

	tell_end(supervisor);
	forget_program(supervisor);
	if (!supervisor->mirrors) {
		end_run(supervisor, succeeded);
		return;
	}
	supervisor->transfer = succeeded ? TRANSFER_OF_SUCCESS : TRANSFER_OF_FAILURE;
	mirrors_flush(supervisor->mirrors, on_stored, supervisor);
}

/* *path stays NULL where the program has none. */
static int find_stdin(const struct supervisor *supervisor, char **path, struct err *err)
{
	const char *source = supervisor->type->stdin_file;

	if (!source)
		return 0;
	*path = localize_find(source, supervisor->settings->scratch_dir, err);
	if (*path || err->message)
		return *path ? 0 : -1;
	return err_set(err, ERR_CONFIG, "its standard input, %s, is not on this machine", source);
}

static int start_program(struct supervisor *supervisor, struct err *err)
{
	const struct settings *settings = supervisor->settings;
	struct run run = {
		.settings = settings,
		.cluster = supervisor->cluster,
		.restart = supervisor->restart,
		.am_attempt = supervisor->am_attempt,
		.am_address = supervisor->relay ? tunnel_address(supervisor->relay)
						: supervisor->am_address,
		.files_socket = supervisor->files_socket,
		.ui_port = supervisor->ui_port.number,
		.guardian = supervisor->guard ? (int)supervisor->guard->guardian : 0,
	};
	struct program_options options = {
		.base = supervisor->base,
		.job = settings->job,
		.type = supervisor->type,
		.token = settings->token,
		.work_dir = settings->work_dir,
		.log_dir = settings->log_dir,
		.progress_file = settings->progress_file,
		.restarts = &supervisor->restarts,
		.memory = &supervisor->memory,
		.gpu = supervisor->gpu,
		.port = supervisor->port.number,
		.ui_port = supervisor->ui_port.number,
		.failed = on_program_failed,
		.ended = on_program_ended,
		.data = supervisor,
	};

	if (supervisor->trouble.kind != ERR_NONE)
		return err_copy(err, &supervisor->trouble);
	if (!supervisor->type->command)
		return err_set(err, ERR_CONFIG, "task type %s has no command",
			       supervisor->type->name);
	char *stdin_file cleanup_free = NULL;
	struct str_list commands cleanup_str_list = {0};
	if (find_stdin(supervisor, &stdin_file, err) < 0)
		return -1;
	struct environment *environments = run_prepare(&run, &commands, err);
	if (!environments)
		return -1;
	supervisor_open_ports(supervisor);
	options.port_guard = supervisor->port_guard;
	options.environments = environments;
	options.commands = &commands;
	options.stdin_file = stdin_file;
	supervisor->program = program_start(&options, err);
	run_finish(&run, environments);
	if (!supervisor->program)
		supervisor_close_ports(supervisor);
	return supervisor->program ? 0 : -1;
}

static void start_run(struct supervisor *supervisor, const struct err *fetch_err)
{
	struct err err cleanup_err = {0};

	supervisor->epoch = supervisor->goal.epoch;
	supervisor->restart = supervisor->goal.restart;
	metrics_finish(&supervisor->metrics);
	supervisor->has_metrics = false;
	supervisor->use = (struct program_use){0};
	restarts_finish(&supervisor->restarts);
	supervisor->use_is_reported = false;
	network_begin(supervisor->network);
	if (fetch_err)
		err_copy(&err, fetch_err);
	if (fetch_err || start_program(supervisor, &err) < 0) {
		bool is_away = fetch_err && fetch_err->kind == ERR_UNREACHABLE;
		report_start_failed(supervisor, is_away ? CAUSE_STORE_FAILED : CAUSE_START_FAILED,
				    &err);
		return;
	}
	supervisor->activity = ACTIVITY_RUNNING;
	log_info("started process %d of epoch %d", supervisor->restart, supervisor->epoch);
	if (supervisor->mirrors)
		mirrors_watch(supervisor->mirrors);
	supervisor_plan_metrics(supervisor);
	supervisor_watch_ports(supervisor);
	link_changed(supervisor->link);
}

static void on_fetched(void *data, const struct err *err)
{
	struct supervisor *supervisor = data;

	supervisor->transfer = TRANSFER_NONE;
	if (supervisor->phase == PHASE_OBEYING && run_is_due(supervisor))
		start_run(supervisor, err);
	else
		pursue(supervisor); /* the orders have changed meanwhile */
}

static void begin_run(struct supervisor *supervisor)
{
	if (!supervisor->mirrors) {
		start_run(supervisor, NULL);
		return;
	}
	supervisor->transfer = TRANSFER_BEFORE_RUN;
	mirrors_fetch(supervisor->mirrors, on_fetched, supervisor);
}

/* ---- obeying ------------------------------------------------------------------------------ */

/* Does the next thing that the orders want. */
static void pursue(struct supervisor *supervisor)
{
	bool is_leaving = supervisor->phase != PHASE_OBEYING;
	bool stop = stop_is_due(supervisor), run = run_is_due(supervisor);

	if (!is_leaving && !stop && !run)
		return;
	if (supervisor->program)
		program_stop(supervisor->program); /* and on from on_program_ended() */
	else if (supervisor->transfer != TRANSFER_NONE)
		return; /* and on from on_stored() or on_fetched() */
	else if (is_leaving && !has_to_tell(supervisor))
		finish_logs(supervisor);
	else if (!is_leaving && stop)
		obey_stop(supervisor);
	else if (!is_leaving)
		begin_run(supervisor);
}

/* It is to run what has run. An AM that follows another may not have known of that process yet when
 * it was told of its end, or not know what that one was told. */
static bool is_ended(const struct supervisor *supervisor, const struct order *order)
{
	return order->kind == ORDER_RUN && supervisor->activity == ACTIVITY_EXITED &&
	       order->epoch == supervisor->epoch && order->restart == supervisor->restart;
}

/* A container that cannot keep them goes on with its own: its executor's log says why. */
static void take_tokens(struct supervisor *supervisor, const struct new_tokens *tokens)
{
	const struct scheduler_ops *scheduler = supervisor->settings->scheduler;
	struct err err cleanup_err = {0};
	size_t length;
	char *bytes = new_tokens_decode(tokens->bytes, &length, &err);

	if (bytes && scheduler->traits->has_tokens)
		scheduler->container.take_tokens(bytes, length, &err);
	if (err.kind)
		log_error("new tokens cannot be taken: %s", err_message(&err));
	if (bytes)
		explicit_bzero(bytes, length);
	free(bytes);
	new_tokens_copy(&supervisor->tokens, tokens);
	link_changed(supervisor->link);
}

static void on_order(void *data, const struct orders *orders)
{
	struct supervisor *supervisor = data;

	supervisor->am_attempt = orders->am_attempt;
	supervisor->goal = orders->order;
	if (supervisor->numbers)
		numbers_taken(supervisor->numbers, orders->numbers);
	if (orders->order.kind == ORDER_RUN) {
		json_decref(supervisor->cluster);
		supervisor->cluster = json_incref(orders->cluster);
	}
	if (orders->tokens.bytes && orders->tokens.number > supervisor->tokens.number)
		take_tokens(supervisor, &orders->tokens);
	for (size_t i = 0; i < orders->session_count && supervisor->program; i++)
		program_open_session(supervisor->program, orders->sessions[i]);
	if (log_send_order(supervisor->logs, orders->logs, orders->log_count))
		link_changed(supervisor->link);
	if (orders->order.kind == ORDER_QUIT && orders->preempted && supervisor->program)
		tell_preempted(supervisor, "the scheduler takes its container back");
	if (is_ended(supervisor, &orders->order))
		link_report_again(supervisor->link);
	if (orders->order.kind == ORDER_QUIT)
		leave(supervisor, EXECUTOR_DONE);
	else
		pursue(supervisor);
}

static void on_log_sent(void *data)
{
	struct supervisor *supervisor = data;

	link_changed(supervisor->link);
}

static void on_logs_done(void *data)
{
	pursue(data);
}

/* ---- begin and end ------------------------------------------------------------------------ */

static int connect_link(struct supervisor *supervisor, struct err *err)
{
	const struct settings *settings = supervisor->settings;
	struct link_options options = {
		.base = supervisor->base,
		.address = settings->am_address,
		.token = settings->token,
		.is_sealed = settings->job->tls,
		.task = settings->task,
		.give_up_ms = settings->job->executor_give_up_ms,
		.events =
			{
				.state = on_state,
				.order = on_order,
				.am_changed = on_am_changed,
				.reported = on_reported,
				.ended = on_link_ended,
				.data = supervisor,
			},
	};

	struct log_send_options logs = {
		.base = supervisor->base,
		.address = settings->am_address,
		.token = settings->token,
		.is_sealed = settings->job->tls,
		.task = settings->task,
		.attempt = settings->attempt,
		.log_dir = settings->log_dir,
		.sent = on_log_sent,
		.done = on_logs_done,
		.data = supervisor,
	};

	supervisor->link = link_create(&options, err);
	supervisor->logs = supervisor->link ? log_send_create(&logs, err) : NULL;
	return supervisor->logs ? 0 : err_wrap(err, "TONY_AM_ADDRESS");
}

/* Programs find the AM by plain HTTP on this machine, and no other user's comes through. The next
 * AM is found in the same way, wherever it is. */
static int open_relay(struct supervisor *supervisor, struct err *err)
{
	const struct settings *settings = supervisor->settings;
	bool is_sealed = settings->job->tls;
	const struct tunnel_options options = {
		.base = supervisor->base,
		.listen = "127.0.0.1:0",
		.target = settings->am_address,
		.secret = is_sealed ? settings->token : NULL,
		.user = geteuid(),
	};

	if (!is_sealed && !settings->scheduler->traits->restarts_am)
		return 0;
	supervisor->relay = tunnel_create(&options, err);
	return supervisor->relay ? 0 : -1;
}

/* A program that reads no file of HDFS does not miss it. */
static void open_files(struct supervisor *supervisor)
{
	const struct settings *settings = supervisor->settings;
	char *path cleanup_free = fs_join(settings->container_dir, "files.sock");
	struct err err cleanup_err = {0};

	if (!file_server_is_wanted(settings->job->stores))
		return;
	supervisor->files = file_server_open(supervisor->base, path, settings->job->stores, &err);
	if (supervisor->files)
		supervisor->files_socket = mem_steal(&path);
	else
		log_error("programs cannot read HDFS by TONY_FILES: %s", err_message(&err));
}

/* Without it the task lives as long as its AM. */
static void open_door(struct supervisor *supervisor)
{
	const struct settings *settings = supervisor->settings;
	struct err err cleanup_err = {0};
	const struct door_options options = {
		.base = supervisor->base,
		.self = {.token = settings->token,
			 .job = settings->job->id,
			 .task = settings->task,
			 .attempt = settings->attempt},
		.called = on_called,
		.data = supervisor,
	};

	if (settings->scheduler->traits->restarts_am)
		supervisor->door = door_open(&options, &err);
	if (settings->scheduler->traits->restarts_am && !supervisor->door)
		log_warning("an AM that follows will not find this executor: %s",
			    err_message(&err));
}

/* Told only when a start is ordered: the AM then knows it for the task's own failure, which another
 * container would not change. */
static void localize(struct supervisor *supervisor)
{
	const struct job_type *type = supervisor->type;
	const char *scratch_dir = supervisor->settings->scratch_dir;

	if (localize_files(&type->files, scratch_dir, &supervisor->trouble) < 0 ||
	    (!supervisor->settings->scheduler->traits->shares_files &&
	     imports_check(supervisor->settings, &supervisor->trouble) < 0))
		log_error("%s", err_message(&supervisor->trouble));
	else if (type->command && !supervisor->settings->job->work_dir)
		spawn_make_executable(type->command, scratch_dir);
}

static void watch(struct supervisor *supervisor)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	for (size_t i = 0; i < array_length(numbers); i++) {
		supervisor->signals[i] =
			evsignal_new(supervisor->base, numbers[i], on_signal, supervisor);
		evsignal_add(supervisor->signals[i], NULL);
	}
	supervisor->metrics_timer =
		evtimer_new(supervisor->base, supervisor_on_metrics_timer, supervisor);
	supervisor->port_timer =
		evtimer_new(supervisor->base, supervisor_on_port_timer, supervisor);
	supervisor->words_timer = evtimer_new(supervisor->base, on_words_timer, supervisor);
	supervisor->leave_timer = evtimer_new(supervisor->base, on_leave_timer, supervisor);
	if (supervisor->settings->lifeline >= 0) {
		supervisor->lifeline = event_new(supervisor->base, supervisor->settings->lifeline,
						 EV_READ, on_am_gone, supervisor);
		event_add(supervisor->lifeline, NULL);
	}
	if (!supervisor->guard)
		return;
	supervisor->guardian = event_new(supervisor->base, supervisor->guard->fd, EV_READ,
					 on_guardian_gone, supervisor);
	event_add(supervisor->guardian, NULL);
}

/* Where programs write for TensorBoard: the directory that the job names for it or, by habit, among
 * their checkpoints. No file is to be read twice. */
static void find_scalars(struct supervisor *supervisor)
{
	const struct job *job = supervisor->settings->job;
	const char *logs = job->tensorboard_log_dir, *checkpoints = job->checkpoint_dir;
	int64_t now = clock_wall_ms();
	bool has_logs = logs && *logs == '/', has_checkpoints = checkpoints && *checkpoints == '/';

	if (has_logs && has_checkpoints) {
		if (fs_is_below(logs, checkpoints))
			has_logs = false;
		else if (fs_is_below(checkpoints, logs))
			has_checkpoints = false;
	}
	if (has_logs)
		supervisor->scalars[0] = scalars_create(logs, now, supervisor->numbers);
	if (has_checkpoints)
		supervisor->scalars[1] = scalars_create(checkpoints, now, supervisor->numbers);
}

static void init(struct supervisor *supervisor, const struct settings *settings)
{
	const struct job *job = settings->job;

	supervisor->settings = settings;
	supervisor->am_address = mem_strdup(settings->am_address);
	supervisor->type = &job->types[settings->type];
	supervisor->base = event_base_new();
	supervisor->port.fd = supervisor->ui_port.fd = -1;
	supervisor->port_guard = supervisor->type->strict_port ? PORT_STRICT
				 : supervisor->type->hold_port ? PORT_SHARED
							       : PORT_OPEN;
	supervisor->processes = proc_tree_create(getpid());
	memory_init(&supervisor->memory, supervisor->processes, supervisor->type->memory,
		    settings->cgroup, settings->memory_watch);
	supervisor->network = network_create();
	if (settings->metrics_file)
		supervisor->numbers = numbers_create(settings->metrics_file);
	if (supervisor->numbers && job_is_chief(job, settings->type, settings->index))
		find_scalars(supervisor);
	if (job->gpu_metrics && supervisor->type->gpus > 0)
		supervisor->gpu = gpu_create(supervisor->base,
					     job->gpu_command ? job->gpu_command : "nvidia-smi",
					     getenv("CUDA_VISIBLE_DEVICES"));
}

static void finish(struct supervisor *supervisor)
{
	struct event *events[] = {
		supervisor->metrics_timer, supervisor->port_timer, supervisor->leave_timer,
		supervisor->words_timer,   supervisor->guardian,   supervisor->lifeline,
		supervisor->signals[0],	   supervisor->signals[1], supervisor->signals[2],
	};

	program_destroy(supervisor->program);
	supervisor_forget_ui(supervisor);
	log_send_destroy(supervisor->logs);
	tunnel_destroy(supervisor->relay);
	file_server_close(supervisor->files);
	free(supervisor->files_socket);
	door_close(supervisor->door);
	mirrors_destroy(supervisor->mirrors);
	link_destroy(supervisor->link);
	gpu_destroy(supervisor->gpu);
	network_destroy(supervisor->network);
	proc_tree_destroy(supervisor->processes);
	for (size_t i = 0; i < array_length(supervisor->scalars); i++)
		scalars_destroy(supervisor->scalars[i]);
	numbers_destroy(supervisor->numbers);
	for (size_t i = 0; i < array_length(events); i++) {
		if (events[i])
			event_free(events[i]);
	}
	port_release(&supervisor->port);
	port_release(&supervisor->ui_port);
	new_tokens_finish(&supervisor->tokens);
	json_decref(supervisor->cluster);
	metrics_finish(&supervisor->metrics);
	output_loss_finish(&supervisor->lost);
	restarts_finish(&supervisor->restarts);
	err_finish(&supervisor->trouble);
	free(supervisor->am_address);
	event_base_free(supervisor->base);
}

int supervisor_run(const struct settings *settings, const struct guard *guard, struct err *err)
{
	struct supervisor supervisor = {.guard = guard, .code = -1};

	init(&supervisor, settings);
	if (supervisor_take_ports(&supervisor, err) == 0 && connect_link(&supervisor, err) == 0 &&
	    open_relay(&supervisor, err) == 0 &&
	    mirrors_open(settings, supervisor.base, &supervisor.mirrors, err) == 0) {
		watch(&supervisor);
		open_files(&supervisor);
		open_door(&supervisor);
		localize(&supervisor);
		enter(&supervisor);
		event_base_dispatch(supervisor.base);
	}
	finish(&supervisor);
	return supervisor.code;
}
