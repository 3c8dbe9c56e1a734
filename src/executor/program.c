#include "executor/program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/helper.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/timer.h"
#include "executor/freeze.h"
#include "executor/hang.h"
#include "executor/port.h"
#include "executor/progress.h"
#include "executor/report.h"
#include "executor/sessions.h"
#include "executor/spawn.h"
#include "executor/tally.h"
#include "framework/framework.h"

enum {
	/* What a program leaves behind may end by itself (a `tee` at the end of a pipe) before it
	 * is killed. */
	LEAVE_MS = 1000,
	LOOK_MAX_MS = 5000,
	SAVE_LIMIT_MS = 30000, /* for the stacks of what hangs: stacks.c takes 20 s at most */
	STACK_LINES = 12,      /* of them, in the exit report */
	STACKS_CAP = 1 << 20,
};
static const char stacks_name[] = "hang-stacks.txt";

enum phase {
	PHASE_RUNNING,
	PHASE_ENDING,  /* SIGTERM was sent; the timer ends the grace */
	PHASE_LEAVING, /* the program has ended, something it left behind has not */
	PHASE_OVER,
};

struct process {
	pid_t pid; /* 0: not started */
	bool ended;
	int status;    /* valid when ended */
	int status_fd; /* see spawn.h */
	struct output *out, *error;
};

struct program {
	struct program_options options;
	struct mask_words *mask; /* NULL: the job has no secrets */
	struct log_turn turn;	 /* of the streams of all processes */
	struct process *processes;
	size_t count, alive;
	size_t decider; /* the first that failed; `count`: none yet */
	enum phase phase;
	bool stopped;		   /* by order: nobody asks for the cause */
	bool told;		   /* that it failed */
	enum cause_kind ended_for; /* see report.h */
	char *ended_text;	   /* why, where that says more than the kind; NULL: nothing */
	struct freeze freeze;
	struct hang hang;
	struct sessions sessions;
	struct str_list environment; /* of the first process */
	pid_t saver;		     /* writes the stacks of what hangs; 0: none */
	struct str_list stacks;
	struct tally tally;
	struct program_use use; /* once it has ended */
	struct event *child, *phase_timer, *timeout, *memory_timer, *freeze_timer, *hang_timer;
};

/* ---- the end ------------------------------------------------------------------------------ */

/* What this executor itself has started, and which is not the program's. */
static void cancel_helpers(struct program *program)
{
	gpu_cancel(program->options.gpu);
	sessions_cancel(&program->sessions);
	if (program->saver == 0)
		return;
	helper_end(program->saver);
	program->saver = 0;
}

static bool has_children(struct program *program)
{
	siginfo_t info;

	cancel_helpers(program);
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/* At any address of this machine: some programs bind them all. */
static char *find_thief(const struct job_type *type, int port, bool is_shared)
{
	uid_t thief;
	enum port_listener found = port_look("", port, &type->listener_uids, &thief, NULL);

	if (found == PORT_STOLEN)
		return port_theft(port, thief);
	if (found == PORT_UNSERVED && is_shared && port_is_refused(port))
		return mem_printf("port %d was taken by a socket that does not listen", port);
	return NULL;
}

/* A thief may be what the program met. */
static char *find_theft(const struct program_options *options)
{
	const struct job_type *type = options->type;
	char *theft = find_thief(type, options->port, options->port_guard == PORT_SHARED);

	if (!theft && options->ui_port > 0)
		theft = find_thief(type, options->ui_port, type->hold_port);
	return theft;
}

static void make_cause(const struct program *program, struct cause *cause)
{
	char *theft cleanup_free = find_theft(&program->options);
	size_t which = program->decider < program->count ? program->decider : 0;
	const struct process *process = &program->processes[which];
	struct report report = {
		.status = process->status,
		.process = (int)which,
		.processes = (int)program->count,
		.memory = program->options.memory,
		.ended_for = program->ended_for,
		.ended_text = program->ended_text,
		.stacks = &program->stacks,
		.timeout_ms = program->options.job->execution_timeout_ms,
		.tail = output_tail(process->error),
		.port = program->options.port,
		.port_guard = program->options.port_guard,
		.type = program->options.type,
		.work_dir = program->options.work_dir,
		.checkpoint_dir = program->options.job->checkpoint_dir,
		.theft = theft,
	};

	report_cause(&report, cause);
}

static void drain(struct program *program)
{
	for (size_t i = 0; i < program->count; i++) {
		output_drain(program->processes[i].out);
		output_drain(program->processes[i].error);
	}
}

/* Tells the cause when it failed, as far as is known now. */
static void tell(struct program *program)
{
	struct cause cause = {0};

	if (program->stopped || program->told)
		return;
	make_cause(program, &cause);
	program->told = cause.kind != CAUSE_NONE;
	if (program->told)
		program->options.failed(program->options.data, &cause);
	cause_finish(&cause);
}

/* Nothing of the program is left: tells so. The program may be gone afterwards. */
static void finish(struct program *program)
{
	program->phase = PHASE_OVER;
	tally_end(&program->tally, program->options.memory, &program->use);
	event_del(program->child);
	evtimer_del(program->phase_timer);
	evtimer_del(program->timeout);
	evtimer_del(program->memory_timer);
	evtimer_del(program->freeze_timer);
	evtimer_del(program->hang_timer);
	drain(program);
	tell(program);
	program->options.ended(program->options.data, !program->stopped && !program->told);
}

/* The status of the program inside of a pid namespace, whose first process has ended. */
static int inner_status(const struct process *process)
{
	int status;

	if (read(process->status_fd, &status, sizeof(status)) == sizeof(status))
		return status;
	return SIGKILL;
}

static void note_end(struct program *program, struct process *process, int status)
{
	if (process->ended)
		return;
	process->ended = true;
	process->status = process->status_fd >= 0 ? inner_status(process) : status;
	program->alive--;
	size_t which = (size_t)(process - program->processes);
	if (process->status != 0 && program->decider == program->count)
		program->decider = which;
}

static void take_child(struct program *program, pid_t pid, int status, const struct rusage *used)
{
	bool is_saver = pid == program->saver;

	if (is_saver)
		program->saver = 0;
	if (is_saver || gpu_child_ended(program->options.gpu, pid, status) ||
	    sessions_child_ended(&program->sessions, pid)) {
		tally_leave_out(&program->tally, used);
		return;
	}
	for (size_t i = 0; i < program->count; i++) {
		if (program->processes[i].pid != pid)
			continue;
		tally_add(&program->tally, used);
		note_end(program, &program->processes[i], status);
	}
}

static void reap(struct program *program)
{
	struct rusage used;
	int status;

	for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &used)) > 0;)
		take_child(program, pid, status, &used);
}

/* Kills all there is. Own statuses and memory are taken before: the killing reaps. */
static void kill_all(struct program *program)
{
	cancel_helpers(program);
	reap(program);
	if (program->alive > 0)
		memory_look(program->options.memory);
	if (proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0) < 0)
		log_error("some processes survive SIGKILL (they sleep in the kernel)");
	for (size_t i = 0; i < program->count; i++) {
		if (program->processes[i].pid > 0)
			note_end(program, &program->processes[i], SIGKILL);
	}
}

static void send_to_all(const struct program *program, int signal)
{
	struct proc_list list;

	proc_find_descendants(getpid(), &list);
	for (size_t i = 0; i < list.count; i++)
		kill(list.items[i].pid, signal);
	proc_list_finish(&list);
}

static void begin_end(struct program *program)
{
	if (program->phase != PHASE_RUNNING)
		return;
	program->phase = PHASE_ENDING;
	cancel_helpers(program);
	send_to_all(program, SIGTERM);
	send_to_all(program, SIGCONT); /* a stopped process heeds no signal */
	timer_start(program->phase_timer, program->options.type->stop_grace_ms);
}

/* After processes ended: whether this was the end, and what it means for the others. */
static void proceed(struct program *program)
{
	if (program->phase == PHASE_OVER)
		return;
	if (program->alive > 0) {
		if (program->decider < program->count)
			begin_end(program);
		return;
	}
	if (!has_children(program)) {
		finish(program);
	} else if (program->phase == PHASE_RUNNING) {
		program->phase = PHASE_LEAVING;
		timer_start(program->phase_timer, LEAVE_MS);
	}
}

static void end_hung(struct program *program);

static void on_child(evutil_socket_t fd, short what, void *data)
{
	struct program *program = data;
	bool was_saving = program->saver > 0;

	reap(program);
	if (was_saving && program->saver == 0 && program->alive > 0)
		end_hung(program);
	proceed(program);
}

static void on_phase_timer(evutil_socket_t fd, short what, void *data)
{
	struct program *program = data;

	kill_all(program);
	finish(program);
}

/* ---- limits ------------------------------------------------------------------------------- */

static void on_timeout(evutil_socket_t fd, short what, void *data)
{
	struct program *program = data;

	if (program->phase != PHASE_RUNNING)
		return;
	program->ended_for = CAUSE_EXECUTION_TIMEOUT;
	tell(program);
	begin_end(program);
}

static void on_memory_timer(evutil_socket_t fd, short what, void *data)
{
	struct program *program = data;
	struct memory *memory = program->options.memory;

	if (!memory_look(memory)) {
		timer_start(program->memory_timer, memory_interval(memory));
		return;
	}
	reap(program);
	if (program->alive > 0 && program->phase == PHASE_RUNNING)
		program->ended_for = CAUSE_OUT_OF_MEMORY;
	kill_all(program); /* no grace: it would go on to eat the machine */
	finish(program);
}

/* When to look next, ms: a limit is overrun by a quarter at most. */
static int64_t look_interval(int64_t limit_ms)
{
	int64_t interval = limit_ms / 4 + 1;

	return interval < LOOK_MAX_MS ? interval : LOOK_MAX_MS;
}

/* What is stopped heeds no SIGTERM: begin_end() continues it for that. */
static void on_freeze_timer(evutil_socket_t fd, short what, void *data)
{
	struct program *program = data;

	if (program->phase != PHASE_RUNNING)
		return;
	struct proc_list others;

	sessions_list(&program->sessions, &others); /* people press Ctrl-Z */
	bool is_frozen = freeze_look(&program->freeze, program->options.memory->tree, &others,
				     clock_monotonic_ms());
	proc_list_finish(&others);
	if (!is_frozen) {
		timer_start(program->freeze_timer, look_interval(program->freeze.limit_ms));
		return;
	}
	char *text cleanup_free = freeze_text(&program->freeze);
	program_fail(program, CAUSE_FROZEN, text);
}

static void read_stacks(struct program *program)
{
	char *path cleanup_free = fs_join(program->options.log_dir, stacks_name);
	char *text cleanup_free = fs_read_file(path, STACKS_CAP, NULL, NULL);
	struct str_list lines cleanup_str_list = {0};

	if (!text)
		return;
	char *printable cleanup_free = str_printable(text, strlen(text));
	str_split(&lines, printable, '\n');
	for (size_t i = 0; i < lines.count && i < STACK_LINES; i++)
		str_list_add_format(&program->stacks, "%s: %s", stacks_name, lines.items[i]);
}

/* Where it stood is known, as far as it can be. */
static void end_hung(struct program *program)
{
	if (program->phase != PHASE_RUNNING)
		return;
	cancel_helpers(program);
	read_stacks(program);
	char *text cleanup_free = hang_text(&program->hang);
	program_fail(program, CAUSE_HUNG, text);
}

/* A shell that somebody opened in a task that hangs, and nvidia-smi, tell nothing of the task. */
static bool is_outsider(const void *data, pid_t pid)
{
	const struct program *program = data;

	return gpu_is_child(program->options.gpu, pid) || sessions_have(&program->sessions, pid);
}

static void measure_signs(const struct program *program, struct hang_signs *signs)
{
	struct progress progress;

	*signs = (struct hang_signs){.tells_steps = program->options.progress_file &&
						    progress_read(program->options.progress_file,
								  program->count, &progress)};
	if (signs->tells_steps)
		signs->change = progress.change;
	hang_measure(program->options.memory->tree, is_outsider, program, signs);
	for (size_t i = 0; i < program->count; i++)
		signs->output_bytes += output_bytes(program->processes[i].out) +
				       output_bytes(program->processes[i].error);
}

static void on_hang_timer(evutil_socket_t fd, short what, void *data)
{
	struct program *program = data;
	int64_t now = clock_monotonic_ms();
	struct hang_signs signs;

	if (program->phase != PHASE_RUNNING)
		return;
	if (program->saver > 0) {
		end_hung(program); /* that hangs as well */
		return;
	}
	measure_signs(program, &signs);
	if (program->freeze.process.pid > 0)
		program->hang.since = now; /* who was stopped does not hang */
	if (!hang_look(&program->hang, &signs, now)) {
		timer_start(program->hang_timer, look_interval(program->hang.limit_ms));
		return;
	}
	char *path cleanup_free = fs_join(program->options.log_dir, stacks_name);
	program->saver = hang_save_stacks(path, program->mask);
	if (program->saver < 0) {
		program->saver = 0;
		end_hung(program);
	} else {
		timer_start(program->hang_timer, SAVE_LIMIT_MS);
	}
}

static void start_timers(struct program *program)
{
	int64_t timeout = program->options.job->execution_timeout_ms;

	if (timeout > 0)
		timer_start(program->timeout, timeout);
	if (program->options.memory->enforce)
		timer_start(program->memory_timer, memory_interval(program->options.memory));
	if (program->freeze.limit_ms > 0)
		timer_start(program->freeze_timer, look_interval(program->freeze.limit_ms));
	hang_begin(&program->hang, clock_monotonic_ms());
	if (program->hang.limit_ms > 0)
		timer_start(program->hang_timer, look_interval(program->hang.limit_ms));
}

/* ---- the beginning ------------------------------------------------------------------------ */

static struct output *open_log(struct program *program, const char *name, size_t which, int fd,
			       int tail_lines)
{
	const struct job *job = program->options.job;
	struct output_options options = {
		.rotate_bytes = job->log_rotate_bytes,
		.keep = job->log_keep,
		.tail_lines = tail_lines,
		.restarts = which == 0 ? program->options.restarts : NULL,
		.noise = framework_noise(job),
		.mask = program->mask,
		.turn = &program->turn,
	};
	char *file cleanup_free = which == 0 ? mem_strdup(name) : mem_printf("%s-%zu", name, which);
	char *path cleanup_free = fs_join(program->options.log_dir, file);

	return output_open(program->options.base, fd, path, &options);
}

static int start_process(struct program *program, size_t which, struct err *err)
{
	const struct program_options *options = &program->options;
	struct process *process = &program->processes[which];
	struct spawn_options how = {
		.command = options->commands ? options->commands->items[which]
					     : options->type->command,
		.work_dir = options->work_dir,
		.stdin_file = options->stdin_file,
		.environment = options->environments[which].entries.items,
		.isolation = options->type->isolation,
	};
	struct spawn spawn;

	if (spawn_start(&how, &spawn, err) < 0)
		return -1;
	process->pid = spawn.pid;
	process->status_fd = spawn.status_fd;
	process->out = open_log(program, "stdout", which, spawn.stdout_fd, 0);
	process->error =
		open_log(program, "stderr", which, spawn.stderr_fd, options->job->error_lines);
	program->alive++;
	return 0;
}

static struct program *create(const struct program_options *options)
{
	struct program *program = mem_alloc(sizeof(*program));
	struct event_base *base = options->base;

	program->options = *options;
	program->mask = mask_words_create(&options->job->secrets, options->token);
	program->count = (size_t)framework_process_count(options->job, options->type);
	program->decider = program->count;
	program->processes = mem_alloc_array(program->count, sizeof(*program->processes));
	for (size_t i = 0; i < program->count; i++)
		program->processes[i].status_fd = -1;
	program->child = evsignal_new(base, SIGCHLD, on_child, program);
	program->phase_timer = evtimer_new(base, on_phase_timer, program);
	program->timeout = evtimer_new(base, on_timeout, program);
	program->memory_timer = evtimer_new(base, on_memory_timer, program);
	program->freeze_timer = evtimer_new(base, on_freeze_timer, program);
	program->hang_timer = evtimer_new(base, on_hang_timer, program);
	program->hang.limit_ms = options->type->hang_timeout_ms;
	program->freeze.limit_ms = options->type->frozen_timeout_ms;
	tally_begin(&program->tally);
	evsignal_add(program->child, NULL);
	return program;
}

struct program *program_start(const struct program_options *options, struct err *err)
{
	struct program *program = create(options);

	memory_begin(options->memory);
	str_list_copy(&program->environment, &options->environments[0].entries);
	for (size_t i = 0; i < program->count; i++) {
		if (start_process(program, i, err) < 0) {
			program_destroy(program);
			return NULL;
		}
	}
	start_timers(program);
	return program;
}

void program_stop(struct program *program)
{
	program->stopped = true;
	begin_end(program);
}

void program_fail(struct program *program, enum cause_kind kind, const char *text)
{
	if (program->phase != PHASE_RUNNING)
		return;
	program->ended_for = kind;
	program->ended_text = mem_strdup(text);
	tell(program);
	begin_end(program);
}

void program_destroy(struct program *program)
{
	if (!program)
		return;
	if (program->phase != PHASE_OVER)
		kill_all(program);
	for (size_t i = 0; i < program->count; i++) {
		output_close(program->processes[i].out);
		output_close(program->processes[i].error);
		mem_cleanup_close(&program->processes[i].status_fd);
	}
	event_free(program->child);
	event_free(program->phase_timer);
	event_free(program->timeout);
	event_free(program->memory_timer);
	event_free(program->freeze_timer);
	event_free(program->hang_timer);
	str_list_finish(&program->stacks);
	str_list_finish(&program->environment);
	mask_words_destroy(program->mask);
	free(program->ended_text);
	free(program->processes);
	free(program);
}

void program_add_loss(const struct program *program, struct output_loss *loss)
{
	for (size_t i = 0; i < program->count; i++) {
		output_loss_add(loss, output_loss(program->processes[i].out));
		output_loss_add(loss, output_loss(program->processes[i].error));
	}
}

const struct program_use *program_use(const struct program *program)
{
	return program->phase == PHASE_OVER ? &program->use : NULL;
}

/* In a namespace of its own the process that was started there is not the program's. */
static pid_t find_process(const struct program *program)
{
	pid_t found = 0;

	for (size_t i = 0; i < program->count && found == 0; i++)
		if (!program->processes[i].ended)
			found = program->processes[i].pid;
	if (found == 0 || program->options.type->isolation == JOB_ISOLATION_NONE)
		return found;
	struct proc_list list;
	proc_find_descendants(found, &list);
	found = list.count > 0 ? list.items[0].pid : 0;
	proc_list_finish(&list);
	return found;
}

void program_open_session(struct program *program, const char *id)
{
	if (program->phase == PHASE_RUNNING)
		sessions_start(&program->sessions, id, find_process(program),
			       program->environment.items);
}

size_t program_pids(const struct program *program, int **pids)
{
	size_t count = 0;

	*pids = mem_alloc_array(program ? program->count : 0, sizeof(**pids));
	for (size_t i = 0; program && i < program->count; i++) {
		if (!program->processes[i].ended)
			(*pids)[count++] = program->processes[i].pid;
	}
	return count;
}

void program_tail(const struct program *program, struct str_list *lines)
{
	tail_list(output_tail(program->processes[0].error), lines);
}
