#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "scheduler/launch.h"
#include "scheduler/launch_record.h"
#include "scheduler/local_internal.h"
#include "scheduler/state_dir.h"

enum {
	EXECUTOR_MIB = 24, /* the executor is in the task's control group and not to be billed */
};

static const struct job_type *type_of(const struct container *container)
{
	return &container->local->job->types[container->request.type];
}

static void fail_launch(struct container *container, struct err *err)
{
	fs_explain_room(container->dir, err);
	cause_set(&container->cause, cause_kind_of_err(err, CAUSE_LAUNCH_FAILED),
		  mem_printf("could not start its executor: %s", err_message(err)));
}

/* ---- the end ------------------------------------------------------------------------------ */

static void end(struct container *container)
{
	if (container->grace)
		event_free(container->grace);
	container->grace = NULL;
	launch_record_close(container->dir);
	container->state = CONTAINER_ENDED;
	local_add_news(container);
}

static void set_out_of_memory(struct container *container)
{
	const struct job_type *type = type_of(container);
	char *limit cleanup_free = str_format_mib((double)type->memory);

	container->cause.kind = CAUSE_OUT_OF_MEMORY;
	container->cause.text =
		mem_printf("went over its memory of %s (tony.%s.memory)", limit, type->name);
}

static void set_lost(struct container *container, int signal)
{
	struct cause *cause = &container->cause;

	cause->signal = signal;
	if (signal == SIGKILL && container->oom_kills > 0) {
		set_out_of_memory(container);
		return;
	}
	cause->kind = CAUSE_EXECUTOR_LOST;
	cause->text = mem_printf("lost its executor: killed by signal %d (%s)", signal,
				 proc_signal_name(signal));
}

/* The executor left with `code` although nobody had told it to. */
static void set_left(struct container *container, int code)
{
	struct err err cleanup_err = {0};
	char *output cleanup_free = fs_join(container->dir, "stdout");
	char *log cleanup_free = fs_join(container->dir, "executor.log");
	struct cause *cause = &container->cause;

	state_dir_read_log(log, cause);
	if (launch_exit_is_full(code, container->dir, &err)) {
		fail_launch(container, &err);
		return;
	}
	/* The user's program has never been started where it has no output file. */
	bool ran = code == 0 || fs_exists(output);
	cause->kind = ran ? CAUSE_EXECUTOR_LOST : CAUSE_LAUNCH_FAILED;
	cause->text = mem_printf(
		"%s with exit code %d",
		ran ? "lost its executor: it left" : "could not run: its executor left", code);
}

/* Another process has its wait status. */
static void set_gone(struct container *container)
{
	if (container->oom_kills > 0) {
		set_out_of_memory(container);
		return;
	}
	container->cause.kind = CAUSE_EXECUTOR_LOST;
	container->cause.text = mem_strdup("lost its executor: it is gone");
}

static void judge(struct container *container)
{
	int status = container->status, code = WEXITSTATUS(status);

	if (container->released)
		return;
	if (container->executor.is_adopted)
		set_gone(container);
	else if (WIFSIGNALED(status))
		set_lost(container, WTERMSIG(status));
	else if (code > PROC_SHELL_SIGNAL && code < PROC_SHELL_SIGNAL + NSIG)
		set_lost(container, code - PROC_SHELL_SIGNAL);
	else
		set_left(container, code);
}

static void on_swept(void *data, int status)
{
	struct container *container = data;

	if (status != 0)
		log_error("%s: some of its processes cannot be killed", container->mark);
	container->swept = true;
	if (container->executor.pid == 0) {
		end(container);
		return;
	}
	/* It was between fork and exec when the sweep went by; its end comes as an event. */
	child_signal(&container->executor, SIGKILL);
}

static void start_sweep(struct container *container)
{
	struct local *local = container->local;
	struct err err cleanup_err = {0};

	if (container->sweeper.pid != 0)
		return;
	pid_t pid = launch_sweep(container->mark, container->executor.pid, container->cgroup,
				 ledger_descriptor(local->ledger), local->shared_hold, &err);
	if (pid > 0 &&
	    child_watch(&container->sweeper, local->base, pid, on_swept, container, &err) == 0)
		return;
	log_error("%s: %s", container->mark, err_message(&err));
	container->swept = true;
	if (container->executor.pid != 0)
		child_signal(&container->executor, SIGKILL);
	else
		end(container);
}

/* All that an executor starts stays below its guardian, which leaves in order only when nothing is
 * there any more. To look for it among all processes would cost the end of a job of many tasks the
 * square of their number. */
static bool left_nothing(const struct container *container)
{
	return !container->executor.is_adopted && WIFEXITED(container->status) &&
	       WEXITSTATUS(container->status) <= PROC_SHELL_SIGNAL;
}

static bool is_clear(const struct container *container)
{
	const char *cgroup = container->cgroup;

	return cgroup ? cgroup_is_empty(cgroup) && cgroup_remove(cgroup) == 0
		      : left_nothing(container);
}

static void conclude(struct container *container)
{
	if (container->cgroup)
		container->oom_kills = cgroup_oom_kills(container->cgroup);
	judge(container);
	if (container->sweeper.pid != 0)
		return; /* on_swept() goes on */
	if (container->swept || is_clear(container))
		end(container);
	else
		start_sweep(container);
}

static void on_executor_end(void *data, int status)
{
	struct container *container = data;

	container->status = status;
	conclude(container);
}

static void on_grace_over(int fd, short what, void *data)
{
	start_sweep(data);
}

void container_release(struct container *container, int64_t grace_ms)
{
	struct timeval grace = clock_timeval(grace_ms);

	container->released = true;
	if (container->state == CONTAINER_ALLOCATED)
		end(container);
	if (container->state != CONTAINER_RUNNING || container->executor.pid == 0)
		return;
	if (!container->grace)
		container->grace = evtimer_new(container->local->base, on_grace_over, container);
	if (!container->grace || event_add(container->grace, &grace) < 0)
		start_sweep(container);
}

void container_kill(struct container *container)
{
	char *variable cleanup_free = mem_printf("TONY_CONTAINER=%s", container->mark);
	pid_t executor = container->executor.pid;

	child_kill(&container->sweeper);
	if (container->state != CONTAINER_RUNNING)
		return;
	if (container->cgroup)
		cgroup_kill(container->cgroup);
	proc_end_all(executor, variable, NULL, 0, SIGKILL, 0);
	child_kill(&container->executor);
	if (container->cgroup)
		cgroup_remove(container->cgroup);
}

/* ---- the start ---------------------------------------------------------------------------- */

static void make_cgroup(struct container *container)
{
	struct local *local = container->local;
	struct err err cleanup_err = {0};

	if (local->home.version == CGROUP_NONE || type_of(container)->memory == 0)
		return;
	char *name cleanup_free = cgroup_name(local->job->id, container->name);
	container->cgroup =
		cgroup_create(&local->home, name, type_of(container)->memory + EXECUTOR_MIB, &err);
	if (!container->cgroup)
		log_warning("%s: watched instead of limited: %s", container->mark,
			    err_message(&err));
}

static void remove_cgroup(struct container *container)
{
	if (container->cgroup)
		cgroup_remove(container->cgroup);
	mem_replace(&container->cgroup, NULL);
}

void container_launch(struct container *container, const struct scheduler_launch *order)
{
	struct local *local = container->local;
	struct err err cleanup_err = {0};

	make_cgroup(container);
	struct launch launch = {
		.job_id = local->job->id,
		.job_dir = local->job_dir,
		.dir = container->dir,
		.mark = container->mark,
		.task_name = order->task_name,
		.attempt = order->attempt,
		.am_attempt = local->am_attempt,
		.am_address = order->am_address,
		.host = LOCAL_HOST,
		.cgroup = container->cgroup,
		.gpus = &container->gpus,
		.hide_gpus = local->capacity.has_gpus || local->capacity.gpus.count > 0,
		.ledger = ledger_descriptor(local->ledger),
		.shared_ledger = local->shared_hold,
		.lifeline = local->lifeline,
	};
	pid_t pid = launch_start(&launch, &err);
	container->state = CONTAINER_RUNNING;
	if (pid > 0 && child_watch(&container->executor, local->base, pid, on_executor_end,
				   container, &err) == 0)
		return;
	fail_launch(container, &err);
	remove_cgroup(container);
	end(container);
}

/* ---- adoption ----------------------------------------------------------------------------- */

static void adopt_executor(struct container *container, struct launch_record *record)
{
	struct err err cleanup_err = {0};

	container->cgroup = mem_steal(&record->cgroup);
	container->gpus = record->gpus;
	record->gpus = (struct str_list){0};
	int gone = child_adopt(&container->executor, container->local->base, &record->executor,
			       on_executor_end, container, &err);
	if (gone < 0)
		log_error("%s: %s", container->mark, err_message(&err));
	if (gone != 0)
		conclude(container);
}

void container_adopt(struct container *container)
{
	struct launch_record record cleanup_launch_record = {0};
	struct err err cleanup_err = {0};

	container->state = CONTAINER_RUNNING;
	switch (launch_record_find(container->dir, container->local->am_attempt, &record, &err)) {
	case LAUNCH_NEVER:
		container->state = CONTAINER_ALLOCATED;
		break;
	case LAUNCH_DONE:
		adopt_executor(container, &record);
		break;
	case LAUNCH_OVER:
		end(container);
		break;
	default:
		log_error("%s: %s", container->mark, err_message(&err));
		start_sweep(container);
	}
}
