#include "../base/patience.h"
#include "../base/scratch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "bed.h"
#include "scheduler/cgroup.h"
#include "scheduler/ledger.h"
#include "scheduler/state_dir.h"

#define GIB_AND_2_GPUS                                                                             \
	"{\"tony.local.memory\": {\"value\": \"1000m\"}, \"tony.local.gpus\": {\"value\": \"2\"}}"
#define GANG JOB_MODE_GANG
#define FCFS JOB_MODE_FCFS

static void stand_in(const char *what)
{
	setenv("STAND_IN", what, 1);
}

/* One worker that is up. */
static struct bed *start_one(void **state, const char *what)
{
	struct bed *bed = bed_open(state, "tony-one", GANG, "worker=1:64", GIB_AND_2_GPUS);

	stand_in(what);
	bed_request(bed, "worker:0");
	bed_wait(bed, "allocated worker:0/1");
	bed_launch(bed, "worker:0");
	return bed;
}

static bool is_running(pid_t pid)
{
	struct proc_id id;

	return proc_identify(pid, &id) && proc_is_alive(&id);
}

/* ---- the life of a container -------------------------------------------------------------- */

static void assert_variable(struct bed *bed, const char *name, const char *expected)
{
	char *value cleanup_free = bed_variable(bed, "worker-0-1", name);

	if (!value || strcmp(value, expected) != 0)
		fail_msg("%s is %s, not %s", name, value ? value : "not set", expected);
}

static void an_executor_gets_its_environment(void **state)
{
	struct bed *bed = start_one(state, "wait");
	char *job_file cleanup_free = fs_join(bed->dir, "job.json");
	char *token_file cleanup_free = fs_join(bed->dir, "token");
	char *dir cleanup_free = fs_join(bed->dir, "containers/worker-0-1");
	char *work cleanup_free = fs_join(dir, "work");
	char *mark cleanup_free = mem_printf("%s/worker-0-1", bed->job.id);

	assert_variable(bed, "TONY_JOB_ID", bed->job.id);
	assert_variable(bed, "TONY_JOB_FILE", job_file);
	assert_variable(bed, "TONY_TOKEN_FILE", token_file);
	assert_variable(bed, "TONY_AM_ADDRESS", "127.0.0.1:4000");
	assert_variable(bed, "TONY_TASK", "worker:0");
	assert_variable(bed, "TONY_TASK_ATTEMPT", "1");
	assert_variable(bed, "TONY_CONTAINER", mark);
	assert_variable(bed, "TONY_CONTAINER_DIR", dir);
	assert_variable(bed, "TONY_HOST", "127.0.0.1");
	assert_variable(bed, "CUDA_VISIBLE_DEVICES", "");
	assert_variable(bed, "CWD", work);
	assert_variable(bed, "SESSION_LEADER", "1");
	assert_variable(bed, "LEDGER_IS_OPEN", "1");

	char *group cleanup_free = bed_variable(bed, "worker-0-1", "TONY_CGROUP");
	char *watch cleanup_free = bed_variable(bed, "worker-0-1", "TONY_MEMORY_WATCH");
	assert_true((group != NULL) != (watch != NULL));
	bed_close(bed);
}

static void an_executor_that_leaves_as_told_is_no_failure(void **state)
{
	struct bed *bed = start_one(state, "wait");
	pid_t pid = bed_wait_pid(bed, "worker-0-1", "pid");

	bed_release(bed, "worker:0", 600000);
	kill(pid, SIGUSR1);
	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_NONE);
	bed_close(bed);
}

static void what_does_not_leave_is_ended(void **state)
{
	struct bed *bed = start_one(state, "stubborn");
	pid_t pid = bed_wait_pid(bed, "worker-0-1", "pid");
	pid_t escaped = bed_wait_pid(bed, "worker-0-1", "escaped");
	char *group cleanup_free = bed_variable(bed, "worker-0-1", "TONY_CGROUP");

	assert_true(is_running(pid) && is_running(escaped));
	bed_release(bed, "worker:0", 20);
	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_NONE);
	assert_false(is_running(pid));
	assert_false(is_running(escaped));
	assert_false(group && fs_exists(group));
	bed_close(bed);
}

static void a_killed_executor_takes_its_processes_along(void **state)
{
	struct bed *bed = start_one(state, "stubborn");
	pid_t pid = bed_wait_pid(bed, "worker-0-1", "pid");
	pid_t escaped = bed_wait_pid(bed, "worker-0-1", "escaped");

	kill(pid, SIGKILL);
	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_EXECUTOR_LOST);
	assert_int_equal(bed->cause->signal, SIGKILL);
	assert_string_equal(bed->cause->text, "lost its executor: killed by signal 9 (SIGKILL)");
	assert_false(is_running(escaped));
	bed_close(bed);
}

static void a_killed_supervisor_is_a_lost_executor(void **state)
{
	struct bed *bed = start_one(state, "guardian");

	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_EXECUTOR_LOST);
	assert_int_equal(bed->cause->signal, SIGKILL);
	bed_close(bed);
}

/* 0: it is not written yet. */
static pid_t read_pid(const char *path)
{
	FILE *file cleanup_file = fopen(path, "re");
	int pid = 0;

	return file && fscanf(file, "%d", &pid) == 1 ? (pid_t)pid : 0;
}

/* An AM without a guardian, or a test that is interrupted: executors read the end of its lifeline.
 */
static void executors_hear_that_the_am_was_killed(void **state)
{
	static const char *const names[] = {"pid", "escaped"};
	pid_t pids[array_length(names)];
	pid_t am = fork();

	if (am == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		start_one(state, "stubborn");
		for (;;)
			pause();
	}
	for (size_t i = 0; i < array_length(names); i++) {
		char *name cleanup_free =
			mem_printf("jobs/tony-one/containers/worker-0-1/%s", names[i]);
		wait_until((pids[i] = read_pid(scratch_path(state, name))) > 0);
		assert_true(is_running(pids[i]));
	}
	kill(am, SIGKILL);
	waitpid(am, NULL, 0);
	for (size_t i = 0; i < array_length(names); i++)
		wait_until(!is_running(pids[i]));
	/* In a guardian's place. */
	char *job cleanup_free = mem_printf("tony-one-%d", (int)am);
	cgroup_clean("", job);
}

static void an_executor_that_leaves_unasked_is_lost(void **state)
{
	struct bed *bed = start_one(state, "wait");

	kill(bed_wait_pid(bed, "worker-0-1", "pid"), SIGUSR1);
	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_EXECUTOR_LOST);
	bed_close(bed);
}

static void an_executor_that_cannot_run_is_a_failed_launch(void **state)
{
	struct bed *bed = start_one(state, "fail");

	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_LAUNCH_FAILED);
	assert_string_equal(bed->cause->text, "could not run: its executor left with exit code 3");
	assert_string_equal(bed->cause->headline, "cannot find the moon");
	assert_int_equal(bed->cause->tail.count, 2);
	bed_close(bed);
}

static void an_executor_that_fails_later_is_lost(void **state)
{
	struct bed *bed = start_one(state, "ran");

	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_EXECUTOR_LOST);
	assert_text_has(bed->cause->text, "exit code 3");
	assert_string_equal(bed->cause->headline, "cannot find the moon");
	bed_close(bed);
}

static void a_container_without_a_place_is_a_failed_launch(void **state)
{
	struct bed *bed = bed_open(state, "tony-one", GANG, "worker=1:64", GIB_AND_2_GPUS);

	scratch_write(state, "jobs/tony-one/containers", "in the way", 0600);
	bed_request(bed, "worker:0");
	bed_wait(bed, "allocated worker:0/1");
	bed_launch(bed, "worker:0");
	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_LAUNCH_FAILED);
	assert_text_has(bed->cause->text, "could not start its executor: ");
	/* Its share is free again. */
	bed_request(bed, "worker:0/2");
	bed_wait(bed, "allocated worker:0/2");
	bed_close(bed);
}

static void over_its_memory_is_told_as_such(void **state)
{
	struct cgroup_home home;

	cgroup_find_home("", &home);
	enum cgroup_version version = home.version;
	cgroup_home_finish(&home);
	if (version == CGROUP_NONE)
		return; /* the executor watches then, and tells */
	struct bed *bed = start_one(state, "hog");
	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_OUT_OF_MEMORY);
	assert_string_equal(bed->cause->text,
			    "went over its memory of 64 MiB (tony.worker.memory)");
	bed_close(bed);
}

static void a_container_can_be_given_back_unused(void **state)
{
	struct bed *bed = bed_open(state, "tony-one", GANG, "worker=1:64", GIB_AND_2_GPUS);

	bed_request(bed, "worker:0");
	bed_wait(bed, "allocated worker:0/1");
	bed_release(bed, "worker:0", 1000);
	bed_wait(bed, "ended worker:0/1");
	assert_int_equal(bed->cause->kind, CAUSE_NONE);
	/* Stale names are nobody's. */
	bed_release(bed, "worker:0", 0);
	bed_cancel(bed, "worker:0/7");
	bed_launch(bed, "worker:0");
	bed_close(bed);
}

static void attempts_may_overlap(void **state)
{
	struct bed *bed = start_one(state, "stubborn");
	pid_t first = bed_wait_pid(bed, "worker-0-1", "pid");

	stand_in("wait");
	bed_request(bed, "worker:0/2");
	bed_wait(bed, "allocated worker:0/2");
	bed_launch(bed, "worker:0/2");
	pid_t second = bed_wait_pid(bed, "worker-0-2", "pid");
	bed_release(bed, "worker:0/1", 0);
	bed_wait(bed, "ended worker:0/1");
	assert_false(is_running(first));
	assert_true(is_running(second));
	char *log = bed->scheduler->ops->log_path(bed->scheduler, 0, "stdout");
	assert_text_has(log, "/containers/worker-0-2/stdout");
	free(log);
	assert_null(bed->scheduler->ops->log_path(bed->scheduler, 0, "../token"));
	assert_null(bed->scheduler->ops->log_path(bed->scheduler, 0, ".."));
	assert_null(bed->scheduler->ops->log_path(bed->scheduler, 99, "stdout"));
	bed_close(bed);
}

static void closing_ends_everything(void **state)
{
	struct bed *bed = start_one(state, "stubborn");
	pid_t pid = bed_wait_pid(bed, "worker-0-1", "pid");
	pid_t escaped = bed_wait_pid(bed, "worker-0-1", "escaped");
	char *group cleanup_free = bed_variable(bed, "worker-0-1", "TONY_CGROUP");

	bed_close_scheduler(bed);
	assert_false(is_running(pid));
	assert_false(is_running(escaped));
	assert_false(group && fs_exists(group));
	bed_close(bed);
}

/* ---- sharing the machine ------------------------------------------------------------------ */

static void what_never_fits_is_refused(void **state)
{
	struct bed *bed =
		bed_open(state, "tony-big", GANG, "worker=2:600 ps=1:2000", GIB_AND_2_GPUS);

	bed_request(bed, "ps:0");
	bed_wait(bed, "refused ps:0/1");
	assert_string_equal(
		bed->refusal,
		"ps:0 needs 2.0 GiB; this machine has 1000 MiB (tony.local.memory); lower "
		"tony.ps.memory");
	bed_request(bed, "worker:0 worker:1");
	bed_wait(bed, "refused worker:1/1");
	assert_true(bed_logged(bed, "refused worker:0/1"));
	assert_string_equal(bed->refusal, "2 tasks that run together (worker x 2) need 1.2 GiB; "
					  "this machine has 1000 MiB (tony.local.memory); ask for "
					  "fewer, or lower tony.worker.memory");
	bed_close(bed);
}

static void a_gang_gets_all_or_nothing(void **state)
{
	struct bed *a = bed_open(state, "tony-a", GANG, "worker=1:700", GIB_AND_2_GPUS);
	struct bed *b = bed_open(state, "tony-b", GANG, "worker=2:200", GIB_AND_2_GPUS);

	bed_request(a, "worker:0");
	bed_wait(a, "allocated worker:0/1");
	bed_request(b, "worker:0 worker:1");
	bed_wait_waiting(b, "waits for 400 MiB: 300 MiB free, job tony-a holds 700 MiB");
	assert_false(bed_logged(b, "allocated worker:0/1"));
	bed_release(a, "worker:0", 0);
	bed_wait(b, "allocated worker:1/1");
	assert_true(bed_logged(b, "allocated worker:0/1"));
	bed_wait_waiting(b, NULL);
	bed_close(a);
	bed_close(b);
}

static void one_by_one_each_gets_what_fits(void **state)
{
	struct bed *bed = bed_open(state, "tony-a", FCFS, "worker=3:400", GIB_AND_2_GPUS);

	bed_request(bed, "worker:0 worker:1 worker:2");
	bed_wait(bed, "allocated worker:1/1");
	bed_wait_waiting(bed, "waits for 400 MiB");
	assert_false(bed_logged(bed, "allocated worker:2/1"));
	bed_release(bed, "worker:0", 0);
	bed_wait(bed, "allocated worker:2/1");
	bed_wait_waiting(bed, NULL);
	bed_close(bed);
}

static void a_small_job_does_not_pass_a_waiting_gang(void **state)
{
	struct bed *a = bed_open(state, "tony-a", GANG, "worker=1:700", GIB_AND_2_GPUS);
	struct bed *b = bed_open(state, "tony-b", GANG, "worker=2:450", GIB_AND_2_GPUS);
	struct bed *c = bed_open(state, "tony-c", GANG, "worker=1:200", GIB_AND_2_GPUS);

	bed_request(a, "worker:0");
	bed_wait(a, "allocated worker:0/1");
	bed_request(b, "worker:0 worker:1");
	bed_wait_waiting(b, "900 MiB");
	bed_request(c, "worker:0");
	bed_wait_waiting(c, "job tony-b is first and waits for 900 MiB");
	bed_release(a, "worker:0", 0);
	bed_wait(b, "allocated worker:1/1");
	bed_wait_waiting(c, "100 MiB free, job tony-b holds 900 MiB");
	assert_false(bed_logged(c, "allocated worker:0/1"));
	bed_release(b, "worker:0", 0);
	bed_wait(c, "allocated worker:0/1");
	bed_close(a);
	bed_close(b);
	bed_close(c);
}

static void who_gives_up_lets_the_next_one_go(void **state)
{
	struct bed *a = bed_open(state, "tony-a", GANG, "worker=1:700", GIB_AND_2_GPUS);
	struct bed *b = bed_open(state, "tony-b", GANG, "worker=2:450", GIB_AND_2_GPUS);
	struct bed *c = bed_open(state, "tony-c", GANG, "worker=1:200", GIB_AND_2_GPUS);

	bed_request(a, "worker:0");
	bed_wait(a, "allocated worker:0/1");
	bed_request(b, "worker:0 worker:1");
	bed_wait_waiting(b, "900 MiB");
	bed_request(c, "worker:0");
	bed_wait_waiting(c, "tony-b");
	bed_cancel(b, "worker:0");
	bed_cancel(b, "worker:1");
	bed_wait(c, "allocated worker:0/1");
	bed_wait_waiting(b, NULL);
	assert_int_equal(b->log.length, 0); /* a cancelled ask is never heard of again */
	bed_close(a);
	bed_close(b);
	bed_close(c);
}

static void a_running_job_replaces_a_task_before_others_come(void **state)
{
	struct bed *a = bed_open(state, "tony-a", GANG, "worker=2:400", GIB_AND_2_GPUS);
	struct bed *b = bed_open(state, "tony-b", GANG, "worker=1:500", GIB_AND_2_GPUS);

	bed_request(a, "worker:0 worker:1");
	bed_wait(a, "allocated worker:1/1");
	bed_request(b, "worker:0");
	bed_wait_waiting(b, "500 MiB");
	/* Asked for before the lost one is given back: they need not fit together. */
	bed_request(a, "worker:1/2");
	bed_wait_waiting(a, "400 MiB");
	bed_release(a, "worker:1", 0);
	bed_wait(a, "allocated worker:1/2");
	assert_false(bed_logged(b, "allocated worker:0/1"));
	bed_close(a);
	bed_wait(b, "allocated worker:0/1");
	bed_close(b);
}

static void what_a_job_can_do_without_does_not_hold_it_up(void **state)
{
	struct bed *bed = bed_open(state, "tony-a", GANG, "worker=4:400", GIB_AND_2_GPUS);

	bed_request(bed, "worker:3? worker:0 worker:2? worker:1");
	bed_wait(bed, "allocated worker:1/1");
	assert_true(bed_logged(bed, "allocated worker:0/1"));
	bed_wait_waiting(bed, "can run with fewer; each further task waits for 400 MiB");
	/* What it needs goes first, although it was asked for later. */
	bed_request(bed, "worker:1/2");
	bed_wait_waiting(bed, "waits for 400 MiB");
	bed_release(bed, "worker:0", 0);
	bed_wait(bed, "allocated worker:1/2");
	bed_release(bed, "worker:1", 0);
	bed_wait(bed, "allocated worker:3/1");
	assert_false(bed_logged(bed, "allocated worker:2/1"));
	bed_cancel(bed, "worker:2");
	bed_wait_waiting(bed, NULL);
	bed_close(bed);
}

static void what_a_job_can_do_without_gives_way_to_others(void **state)
{
	struct bed *a = bed_open(state, "tony-a", GANG, "worker=3:400", GIB_AND_2_GPUS);
	struct bed *b = bed_open(state, "tony-b", GANG, "worker=1:500", GIB_AND_2_GPUS);
	struct bed *c = bed_open(state, "tony-c", GANG, "worker=1:100", GIB_AND_2_GPUS);

	bed_request(a, "worker:0 worker:1? worker:2?");
	bed_wait(a, "allocated worker:1/1");
	bed_wait_waiting(a, "can run with fewer");
	bed_request(b, "worker:0"); /* waits, and not behind worker:2 */
	bed_wait_waiting(b, "500 MiB");
	bed_release(a, "worker:1", 0);
	bed_wait(b, "allocated worker:0/1");
	assert_false(bed_logged(a, "allocated worker:2/1"));
	bed_request(c, "worker:0"); /* fits beside it */
	bed_wait(c, "allocated worker:0/1");
	bed_release(b, "worker:0", 0);
	bed_wait(a, "allocated worker:2/1");
	bed_close(a);
	bed_close(b);
	bed_close(c);
}

static void gpus_belong_to_one_task_each(void **state)
{
	struct bed *a = bed_open(state, "tony-a", GANG, "worker=1:64:1 ps=1:64", GIB_AND_2_GPUS);
	struct bed *b = bed_open(state, "tony-b", GANG, "worker=1:64:1", GIB_AND_2_GPUS);
	struct bed *c = bed_open(state, "tony-c", GANG, "worker=1:64:1", GIB_AND_2_GPUS);

	stand_in("wait");
	bed_request(a, "worker:0 ps:0");
	bed_wait(a, "allocated ps:0/1");
	bed_launch(a, "worker:0");
	bed_launch(a, "ps:0");
	bed_request(b, "worker:0");
	bed_wait(b, "allocated worker:0/1");
	bed_launch(b, "worker:0");
	bed_request(c, "worker:0");
	bed_wait_waiting(c, "64 MiB and 1 GPU: no GPU free, job tony-a holds 1 GPU");

	char *first cleanup_free = bed_variable(a, "worker-0-1", "CUDA_VISIBLE_DEVICES");
	char *second cleanup_free = bed_variable(b, "worker-0-1", "CUDA_VISIBLE_DEVICES");
	char *none cleanup_free = bed_variable(a, "ps-0-1", "CUDA_VISIBLE_DEVICES");
	char *order cleanup_free = bed_variable(a, "worker-0-1", "CUDA_DEVICE_ORDER");
	assert_string_equal(first, "0");
	assert_string_equal(second, "1");
	assert_string_equal(none, "");
	assert_string_equal(order, "PCI_BUS_ID");

	bed_release(a, "worker:0", 0);
	bed_wait(c, "allocated worker:0/1");
	bed_launch(c, "worker:0");
	char *third cleanup_free = bed_variable(c, "worker-0-1", "CUDA_VISIBLE_DEVICES");
	assert_string_equal(third, "0");
	bed_close(a);
	bed_close(b);
	bed_close(c);
}

static pid_t hold_in_another_process(void **state, struct bed *bed)
{
	char *directory cleanup_free = state_dir_ledger(bed->dir);
	int pipes[2];
	char byte;

	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int held = ledger_hold(directory, "tony-other", NULL);
		struct ledger *ledger = ledger_open(directory, "tony-other", held, NULL);
		while (ledger_begin(ledger, NULL) != 0)
			let_pass(1);
		ledger_own(ledger)->containers = 1;
		ledger_own(ledger)->holds.memory = 1000;
		ledger_commit(ledger, NULL);
		if (write(pipes[1], "x", 1) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	return child;
}

static void a_killed_job_gives_way(void **state)
{
	struct bed *bed = bed_open(state, "tony-a", GANG, "worker=1:64", GIB_AND_2_GPUS);
	pid_t other = hold_in_another_process(state, bed);

	bed_request(bed, "worker:0");
	bed_wait_waiting(bed, "job tony-other holds 1000 MiB");
	kill(other, SIGKILL);
	bed_wait(bed, "allocated worker:0/1");
	waitpid(other, NULL, 0);
	bed_close(bed);
}

/* ---- the ledger of all users -------------------------------------------------------------- */

static void remove_entries(void **state)
{
	char *command cleanup_free = mem_printf("rm %s/*.job", scratch_path(state, "all"));

	assert_int_equal(system(command), 0);
}

static void a_removed_entry_is_told_once_and_ends_no_job(void **state)
{
	const char *all = scratch_path(state, "all");
	char *noted cleanup_free =
		mem_printf("noted %s: the job's entry is gone, so other users' jobs can get any "
			   "GPU that it holds; to prevent that, submit the job again",
			   all);

	assert_int_equal(mkdir(all, 0777), 0);
	assert_int_equal(chmod(all, 01777), 0);
	setenv("TONY_LEDGER_DIR", all, 1);
	struct bed *bed = bed_open(state, "tony-a", FCFS, "worker=2:64:1 ps=1:64", GIB_AND_2_GPUS);
	unsetenv("TONY_LEDGER_DIR");
	stand_in("wait");
	bed_request(bed, "worker:0");
	bed_wait(bed, "allocated worker:0/1");
	bed_launch(bed, "worker:0");
	remove_entries(state);
	bed_wait(bed, noted);
	bed_request(bed, "ps:0");
	bed_wait(bed, "allocated ps:0/1");
	/* Nobody would see that it holds this one. */
	bed_request(bed, "worker:1");
	bed_wait_waiting(bed, "waits for the ledger of all users: ");
	assert_false(bed_logged(bed, "allocated worker:1/1"));
	const char *first = strstr(str_text(&bed->log), noted);
	assert_null(strstr(first + 1, noted));
	assert_true(is_running(bed_wait_pid(bed, "worker-0-1", "pid")));
	bed_close(bed);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void note_done(void *data)
{
	*(bool *)data = true;
}

static void files_end_with_a_job_that_has_no_history(void **state)
{
	struct bed *bed = bed_open(state, "tony-one", GANG, "worker=1:64", GIB_AND_2_GPUS);
	const struct scheduler_end end = {.state = JOB_FAILED};
	bool done = false;
	struct stat info;

	scratch_write(state, "jobs/tony-one/files/stdin", "secret", 0600);
	scratch_write(state, "jobs/tony-one/files/src/train.py", "pass", 0644);
	assert_true(bed->scheduler->ops->finish(bed->scheduler, &end, note_done, &done));
	assert_false(fs_exists(scratch_path(state, "jobs/tony-one/files/stdin")));
	assert_false(done);
	bed_close(bed);
	assert_int_equal(lstat(scratch_path(state, "jobs/tony-one/files/src"), &info), 0);
	assert_true(S_ISLNK(info.st_mode));
	assert_text_freed(scratch_read(state, "jobs/tony-one/files/src/train.py"), "pass");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		scratch_test(an_executor_gets_its_environment),
		scratch_test(an_executor_that_leaves_as_told_is_no_failure),
		scratch_test(what_does_not_leave_is_ended),
		scratch_test(a_killed_executor_takes_its_processes_along),
		scratch_test(a_killed_supervisor_is_a_lost_executor),
		scratch_test(executors_hear_that_the_am_was_killed),
		scratch_test(an_executor_that_leaves_unasked_is_lost),
		scratch_test(an_executor_that_cannot_run_is_a_failed_launch),
		scratch_test(an_executor_that_fails_later_is_lost),
		scratch_test(a_container_without_a_place_is_a_failed_launch),
		scratch_test(over_its_memory_is_told_as_such),
		scratch_test(a_container_can_be_given_back_unused),
		scratch_test(attempts_may_overlap),
		scratch_test(closing_ends_everything),
		scratch_test(what_never_fits_is_refused),
		scratch_test(a_gang_gets_all_or_nothing),
		scratch_test(one_by_one_each_gets_what_fits),
		scratch_test(a_small_job_does_not_pass_a_waiting_gang),
		scratch_test(who_gives_up_lets_the_next_one_go),
		scratch_test(a_running_job_replaces_a_task_before_others_come),
		scratch_test(what_a_job_can_do_without_does_not_hold_it_up),
		scratch_test(what_a_job_can_do_without_gives_way_to_others),
		scratch_test(gpus_belong_to_one_task_each),
		scratch_test(a_killed_job_gives_way),
		scratch_test(a_removed_entry_is_told_once_and_ends_no_job),
		scratch_test(files_end_with_a_job_that_has_no_history),
	};

	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		return bed_executor();
	unsetenv("CUDA_VISIBLE_DEVICES");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
