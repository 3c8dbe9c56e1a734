/* Running a program: how it starts, how it ends, and that nothing of it stays. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "bed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"
#include "executor/program.h"
#include "executor/spawn.h"
#include "executor/tally.h"

struct bed {
	void **state;
	struct event_base *base;
	struct job *job;
	struct proc_tree *processes;
	struct memory memory;
	struct environment environments[4];
	struct program *program;
	struct cause cause;
	bool ended, stopped, failed;
	const char *progress_file, *stdin_file;
	int alive; /* of its processes, when it was told that it failed */
	struct err err;
};

static void on_failed(void *data, const struct cause *cause)
{
	struct bed *bed = data;

	assert_false(bed->failed || bed->ended);
	bed->failed = true;
	int *pids cleanup_free = NULL;
	bed->alive = (int)program_pids(bed->program, &pids);
	cause_copy(&bed->cause, cause);
}

static void on_ended(void *data, bool succeeded)
{
	struct bed *bed = data;

	bed->ended = true;
	assert_false(succeeded && bed->failed);
	bed->stopped = !succeeded && !bed->failed;
	event_base_loopbreak(bed->base);
}

static void init(struct bed *bed, void **state, const char *command)
{
	*bed = (struct bed){.state = state, .base = event_base_new(), .job = bed_job(command)};
	bed->processes = proc_tree_create(getpid());
	memory_init(&bed->memory, bed->processes, 0, NULL, false);
	for (int i = 0; i < 4; i++) {
		environment_set(&bed->environments[i], "PATH", "/usr/bin:/bin");
		environment_set_format(&bed->environments[i], "PROCESS", "%d", i);
		environment_set(&bed->environments[i], "HERE", scratch_path(state, "."));
	}
}

static int start(struct bed *bed)
{
	struct program_options options = {
		.base = bed->base,
		.job = bed->job,
		.type = &bed->job->types[0],
		.work_dir = scratch_path(bed->state, "."),
		.log_dir = scratch_path(bed->state, "."),
		.progress_file = bed->progress_file,
		.stdin_file = bed->stdin_file,
		.environments = bed->environments,
		.memory = &bed->memory,
		.port = 40001,
		.failed = on_failed,
		.ended = on_ended,
		.data = bed,
	};

	bed->program = program_start(&options, &bed->err);
	return bed->program ? 0 : -1;
}

static void await(struct bed *bed)
{
	while (!bed->ended)
		event_base_loop(bed->base, EVLOOP_ONCE);
	/* The promise of program.h: nothing is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static bool is_in_state(pid_t pid, const char *name, char state)
{
	char *found cleanup_free = proc_name(pid);
	struct proc_entry entry;

	assert_int_equal(proc_read_entry(pid, &entry), 0);
	return strcmp(found, name) == 0 && entry.state == state;
}

/* Waits until its process is this program, in this state: 'S', it sleeps; 'T', it is stopped. A
 * limit that is over meanwhile is looked at in await() only. */
static void await_state(const struct bed *bed, const char *name, char state)
{
	int *pids cleanup_free = NULL;

	assert_true(program_pids(bed->program, &pids) > 0);
	wait_until(is_in_state(pids[0], name, state));
}

static void run(struct bed *bed)
{
	assert_success(start(bed), &bed->err);
	await(bed);
}

static void finish(struct bed *bed)
{
	program_destroy(bed->program);
	cause_finish(&bed->cause);
	for (int i = 0; i < 4; i++)
		environment_finish(&bed->environments[i]);
	job_destroy(bed->job);
	proc_tree_destroy(bed->processes);
	event_base_free(bed->base);
	err_finish(&bed->err);
}

/* ---- start -------------------------------------------------------------------------------- */

static void a_program_gets_what_it_should(void **state)
{
	struct bed bed;

	init(&bed, state,
	     "pwd -P; echo $PROCESS; readlink /proc/self/fd/0; ls /proc/$$/fd >fds; wc -l <fds; "
	     "test \"$(ps -o sid= -p $$ | tr -d ' ')\" = $$ && echo own session; "
	     "grep -E 'SigBlk|SigIgn' /proc/self/status | cut -f2 | sort -u; echo oops >&2");
	signal(SIGUSR1, SIG_IGN); /* of this process: not of the program's */
	int leak = open("/dev/null", O_RDONLY);
	run(&bed);
	close(leak);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(bed.cause.kind, CAUSE_NONE);
	char *where cleanup_free = realpath(scratch_path(state, "."), NULL);
	char *expected cleanup_free =
		mem_printf("%s\n0\n/dev/null\n3\nown session\n0000000000000000\n", where);
	assert_text_freed(scratch_read(state, "stdout"), expected);
	assert_text_freed(scratch_read(state, "stderr"), "oops\n");
	finish(&bed);
}

static void each_process_reads_the_file_from_its_start(void **state)
{
	struct bed bed;

	scratch_write(state, "input", "one\ntwo\n", 0600);
	init(&bed, state, "read line; echo $PROCESS $line; cat");
	bed.stdin_file = scratch_path(state, "input");
	bed.job->types[0].processes = 2;
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_NONE);
	assert_text_freed(scratch_read(state, "stdout"), "0 one\ntwo\n");
	assert_text_freed(scratch_read(state, "stdout-1"), "1 one\ntwo\n");
	finish(&bed);
}

static void a_missing_standard_input_fails_the_start(void **state)
{
	struct bed bed;

	init(&bed, state, "true");
	bed.stdin_file = scratch_path(state, "absent");
	assert_int_equal(start(&bed), -1);
	assert_message_has(&bed.err, "cannot open its standard input, ");
	assert_message_has(&bed.err, "absent: No such file or directory");
	finish(&bed);
}

static void the_first_word_is_made_executable(void **state)
{
	struct stat info;
	struct bed bed;

	scratch_write(state, "train.sh", "#!/bin/sh\necho trained\n", 0640);
	init(&bed, state, "  ./train.sh --epochs 3");
	spawn_make_executable(bed.job->types[0].command, scratch_path(state, "."));
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_NONE);
	assert_text_freed(scratch_read(state, "stdout"), "trained\n");
	assert_int_equal(stat(scratch_path(state, "train.sh"), &info), 0);
	assert_int_equal(info.st_mode & 07777, 0750);
	finish(&bed);
}

static void files_of_others_stay_as_they_are(void **state)
{
	struct stat info;
	struct bed bed;

	scratch_write(state, "shared/tool.sh", "#!/bin/sh\n", 0640);
	scratch_write(state, "work/x", "", 0600);
	assert_int_equal(symlink("../shared/tool.sh", scratch_path(state, "work/tool.sh")), 0);
	spawn_make_executable("./tool.sh", scratch_path(state, "work"));
	spawn_make_executable("../shared/tool.sh", scratch_path(state, "work"));
	spawn_make_executable(scratch_path(state, "shared/tool.sh"), scratch_path(state, "work"));
	spawn_make_executable("", scratch_path(state, "work"));
	spawn_make_executable("absent", scratch_path(state, "work"));
	assert_int_equal(stat(scratch_path(state, "shared/tool.sh"), &info), 0);
	assert_int_equal(info.st_mode & 07777, 0640);
	init(&bed, state, "true");
	finish(&bed);
}

static void a_start_that_fails_says_why(void **state)
{
	struct bed bed;

	init(&bed, state, "true");
	environment_set(&bed.environments[0], "HERE", "x");
	bed.job->types[0].processes = 2;
	struct program_options options = {
		.base = bed.base,
		.job = bed.job,
		.type = &bed.job->types[0],
		.work_dir = scratch_path(state, "absent"),
		.log_dir = scratch_path(state, "."),
		.environments = bed.environments,
		.memory = &bed.memory,
		.failed = on_failed,
		.ended = on_ended,
		.data = &bed,
	};
	assert_null(program_start(&options, &bed.err));
	assert_message_has(&bed.err, "cannot enter the working directory");
	assert_message_has(&bed.err, "absent: No such file or directory");
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	finish(&bed);
}

/* ---- ends --------------------------------------------------------------------------------- */

static void assert_end(void **state, const char *command, enum cause_kind kind, const char *text)
{
	struct bed bed;

	init(&bed, state, command);
	run(&bed);
	assert_int_equal(bed.cause.kind, kind);
	assert_string_equal(bed.cause.text ? bed.cause.text : "", text);
	finish(&bed);
}

static void ends_are_told_apart(void **state)
{
	assert_end(state, "true", CAUSE_NONE, "");
	assert_end(state, "exit 3", CAUSE_EXIT, "exited with code 3");
	assert_end(state, "kill -9 $$", CAUSE_SIGNAL, "killed by signal 9 (SIGKILL)");
	assert_end(state, "sh -c 'kill -9 $$'; exit $?", CAUSE_EXIT,
		   "exited with code 137, as a shell does whose program was killed by signal 9 "
		   "(SIGKILL)");
	assert_end(state, "no-such-program --now", CAUSE_EXIT,
		   "exited with code 127: the command was not found");
	assert_end(state, "mkdir d; ./d", CAUSE_EXIT,
		   "exited with code 126: the command could not be executed");
}

static void the_last_words_are_reported(void **state)
{
	struct bed bed;

	init(&bed, state,
	     "seq 1 30 >&2; printf 'Traceback (most recent call last):\\n  File \"x\"\\n"
	     "ValueError: no data\\n' >&2; exit 1");
	run(&bed);
	assert_int_equal(bed.cause.tail.count, 20);
	assert_string_equal(bed.cause.tail.items[19], "ValueError: no data");
	assert_string_equal(bed.cause.tail.items[16], "30");
	assert_string_equal(bed.cause.headline, "ValueError: no data");
	finish(&bed);
}

static void much_output_is_all_kept(void **state)
{
	struct bed bed;
	struct stat info;

	init(&bed, state, "head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2");
	run(&bed);
	assert_int_equal(stat(scratch_path(state, "stdout"), &info), 0);
	assert_int_equal(info.st_size, 5000000);
	assert_int_equal(stat(scratch_path(state, "stderr"), &info), 0);
	assert_int_equal(info.st_size, 3000000);
	finish(&bed);
}

/* ---- nothing stays ------------------------------------------------------------------------ */

/* Starts a process that has left its parent, its session and its signals behind. */
#define ESCAPE                                                                                     \
	"(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >$HERE/escaped; "                          \
	"while :; do sleep 1000; done' &) & wait; "                                                \
	"while ! test -s $HERE/escaped; do sleep 0.01; done; "

/* promise: R49 */
static void what_escaped_ends_with_the_program(void **state)
{
	struct bed bed;

	init(&bed, state, ESCAPE "exit 5");
	run(&bed);
	assert_int_equal(bed.cause.exit_code, 5);
	int pid = bed_await_number(state, "escaped");
	assert_int_equal(kill(pid, 0), -1);
	finish(&bed);
}

static void what_ends_by_itself_is_let_end(void **state)
{
	struct bed bed;

	/* The shell does not wait for its process substitution, which is loaded by then. */
	init(&bed, state,
	     "exec > >(sed -u 's/^/log: /'); echo up; "
	     "until grep -q up $HERE/stdout; do sleep 0.01; done; echo done");
	run(&bed);
	assert_text_freed(scratch_read(state, "stdout"), "log: up\nlog: done\n");
	finish(&bed);
}

/* promise: R27 */
static void a_stop_ends_the_tree_with_grace(void **state)
{
	struct bed bed;

	init(&bed, state,
	     "sh -c 'trap \"echo saved; exit 0\" TERM; echo $$ >$HERE/inner; "
	     "while :; do sleep 0.01; done'; true");
	assert_success(start(&bed), &bed.err);
	int inner = bed_await_number(state, "inner");
	program_stop(bed.program);
	await(&bed);
	assert_true(bed.stopped);
	assert_text_freed(scratch_read(state, "stdout"), "saved\n");
	assert_int_equal(kill(inner, 0), -1);
	finish(&bed);
}

/* promise: R28 */
static void a_stop_ends_what_does_not_listen(void **state)
{
	struct bed bed;

	init(&bed, state, ESCAPE "trap '' TERM; echo $$ >$HERE/main; while :; do sleep 1000; done");
	bed.job->types[0].stop_grace_ms = 50;
	assert_success(start(&bed), &bed.err);
	int main_pid = bed_await_number(state, "main"),
	    escaped = bed_await_number(state, "escaped");
	program_stop(bed.program);
	await(&bed);
	assert_true(bed.stopped);
	assert_int_equal(kill(main_pid, 0), -1);
	assert_int_equal(kill(escaped, 0), -1);
	finish(&bed);
}

static void a_program_destroyed_is_gone(void **state)
{
	struct bed bed;

	init(&bed, state, ESCAPE "echo $$ >$HERE/main; sleep 1000");
	assert_success(start(&bed), &bed.err);
	int main_pid = bed_await_number(state, "main"),
	    escaped = bed_await_number(state, "escaped");
	program_destroy(bed.program);
	bed.program = NULL;
	assert_int_equal(kill(main_pid, 0), -1);
	assert_int_equal(kill(escaped, 0), -1);
	assert_false(bed.ended);
	finish(&bed);
}

static void a_program_dies_with_its_executor(void **state)
{
	struct bed bed;

	pid_t executor = fork();
	if (executor == 0) {
		init(&bed, state, "echo $$ >$HERE/main; exec sleep 1000");
		if (start(&bed) < 0)
			_exit(99);
		for (;;)
			event_base_loop(bed.base, EVLOOP_ONCE);
	}
	int main_pid = bed_await_number(state, "main");
	kill(executor, SIGKILL);
	bed_await_end(main_pid);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
}

/* ---- several processes -------------------------------------------------------------------- */

static void several_processes_have_logs_of_their_own(void **state)
{
	struct bed bed;

	init(&bed, state, "echo out $PROCESS; echo error $PROCESS >&2");
	bed.job->types[0].processes = 3;
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_NONE);
	assert_text_freed(scratch_read(state, "stdout"), "out 0\n");
	assert_text_freed(scratch_read(state, "stdout-1"), "out 1\n");
	assert_text_freed(scratch_read(state, "stderr-2"), "error 2\n");
	finish(&bed);
}

static void one_failure_ends_all_and_is_told(void **state)
{
	struct bed bed;

	init(&bed, state,
	     "if test $PROCESS = 2; then echo bad luck >&2; exit 9; fi; "
	     "echo $$ >$HERE/other-$PROCESS; exec sleep 1000");
	bed.job->types[0].processes = 4;
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_EXIT);
	assert_int_equal(bed.cause.exit_code, 9);
	assert_string_equal(bed.cause.text, "process 2 of 4 exited with code 9");
	assert_string_equal(bed.cause.headline, "bad luck");
	finish(&bed);
}

static void a_success_waits_for_the_others(void **state)
{
	struct bed bed;

	init(&bed, state,
	     "if test $PROCESS = 1; then while ! test -e $HERE/go; do sleep 0.01; done; "
	     "echo last; else touch $HERE/go; fi");
	bed.job->types[0].processes = 2;
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_NONE);
	assert_text_freed(scratch_read(state, "stdout-1"), "last\n");
	finish(&bed);
}

/* ---- limits ------------------------------------------------------------------------------- */

static void an_execution_timeout_ends_it(void **state)
{
	struct bed bed;

	init(&bed, state, ESCAPE "exec sleep 1000");
	bed.job->execution_timeout_ms = 100;
	bed.job->types[0].stop_grace_ms = 50;
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_EXECUTION_TIMEOUT);
	assert_text_has(bed.cause.text, "ended after its execution timeout of");
	assert_int_equal(bed.alive, 1);
	finish(&bed);
}

/* promise: R22 */
static void who_stands_still_is_ended(void **state)
{
	struct bed bed;

	init(&bed, state, "kill -STOP $$; sleep 1000");
	bed.job->types[0].frozen_timeout_ms = 100;
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_FROZEN);
	assert_text_has(bed.cause.text, "ended, frozen: process ");
	assert_text_has(bed.cause.text, "(bash) was stopped (SIGSTOP) and stood still for 100 ms");
	/* Before it is ended: its peers would tell of that first. */
	assert_int_equal(bed.alive, 1);
	finish(&bed);
}

static void a_short_stop_is_no_harm(void **state)
{
	struct bed bed;

	init(&bed, state,
	     "(kill -STOP $BASHPID; echo on) & "
	     "until grep -q 'T (stopped)' /proc/$!/status; do :; done; kill -CONT $!; wait $!");
	bed.job->types[0].frozen_timeout_ms = PATIENCE_MS;
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_NONE);
	finish(&bed);
}

static bool tail_has(const struct bed *bed, const char *part)
{
	for (size_t i = 0; i < bed->cause.tail.count; i++)
		if (strstr(bed->cause.tail.items[i], part))
			return true;
	return false;
}

/* promise: R18 R20 */
static void what_does_nothing_is_ended_and_where_it_stood_is_kept(void **state)
{
	struct bed bed;

	init(&bed, state, "sleep 1000");
	bed.job->types[0].hang_timeout_ms = 100;
	assert_success(start(&bed), &bed.err);
	await_state(&bed, "sleep", 'S');
	await(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_HUNG);
	assert_text_has(bed.cause.text,
			"ended, hung: nothing was written, read or computed for 100 ms");
	assert_int_equal(bed.alive, 1);
	char *stacks cleanup_free = scratch_read(state, "hang-stacks.txt");
	assert_text_has(stacks, "(sleep): sleep 1000\n  thread ");
	assert_text_has(stacks, "(sleep): S (sleeping), in the kernel at ");
	assert_true(tail_has(&bed, "hang-stacks.txt: process "));
	finish(&bed);
}

/* It computes and writes, but says itself that it does not get on. */
/* promise: R19 */
static void who_tells_no_further_step_is_ended(void **state)
{
	struct bed bed;

	init(&bed, state, "echo 12 100 >$HERE/progress; while :; do echo; done");
	bed.job->types[0].hang_timeout_ms = 300;
	bed.job->log_rotate_bytes = 1 << 20;
	bed.progress_file = scratch_path(state, "progress");
	assert_success(start(&bed), &bed.err);
	bed_await_number(state, "progress");
	await(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_HUNG);
	assert_text_has(bed.cause.text, "ended, hung: it told no further step for 300 ms");
	finish(&bed);
}

/* promise: R20 */
static void py_spy_tells_where_python_stands(void **state)
{
	struct bed bed;
	char *path cleanup_free = mem_printf("%s:%s", scratch_path(state, "bin"), getenv("PATH"));

	scratch_write(state, "bin/py-spy",
		      "#!/bin/sh\necho \"$1 $2: MainThread: step (train.py:12)\"\n", 0755);
	setenv("PATH", path, 1);
	init(&bed, state, "cp /bin/sleep python3; exec ./python3 1000");
	bed.job->types[0].hang_timeout_ms = 300;
	assert_success(start(&bed), &bed.err);
	await_state(&bed, "python3", 'S');
	await(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_HUNG);
	assert_true(tail_has(&bed, "hang-stacks.txt: dump --pid: MainThread: step (train.py:12)"));
	finish(&bed);
}

/* Its limit is the one for what is stopped. */
static void who_is_stopped_does_not_hang(void **state)
{
	struct bed bed;

	init(&bed, state, "kill -STOP $$; sleep 1000");
	bed.job->types[0].frozen_timeout_ms = 400;
	bed.job->types[0].hang_timeout_ms = PATIENCE_MS;
	assert_success(start(&bed), &bed.err);
	await_state(&bed, "bash", 'T');
	await(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_FROZEN);
	finish(&bed);
}

/* Grows to 64 MiB and stays. */
#define GROW                                                                                       \
	"tail -c 64m /dev/zero | (sleep 1000) & head -c 64m /dev/zero | tail -c 64m | sleep 1000"

static void who_uses_too_much_memory_is_ended(void **state)
{
	struct bed bed;

	init(&bed, state, GROW);
	memory_init(&bed.memory, bed.processes, 32, NULL, true);
	run(&bed);
	assert_int_equal(bed.cause.kind, CAUSE_OUT_OF_MEMORY);
	assert_text_has(bed.cause.text, "ended, out of memory: the task used ");
	assert_text_has(bed.cause.text, " of 32 MiB");
	finish(&bed);
}

static void shared_memory_is_counted_once(void **state)
{
	struct memory memory;
	enum { SIZE = 48 << 20 };
	char *shared = malloc(SIZE);

	explicit_bzero(shared, SIZE); /* which no compiler leaves out */
	struct proc_tree *tree = proc_tree_create(getpid());
	memory_init(&memory, tree, 100, NULL, true);
	for (int i = 0; i < 4; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	memory_begin(&memory);
	assert_false(memory_look(&memory));
	assert_true(memory.resident_peak >= 4 * (uint64_t)SIZE);
	assert_true(memory.peak * 2 < memory.resident_peak);
	/* The kernel tells of one process at the end, with what it shared. */
	const struct tally tally = {.max_rss_bytes = SIZE};
	struct program_use use;
	tally_end(&tally, &memory, &use);
	assert_int_equal(use.max_pss_bytes, memory.peak);
	assert_int_equal(use.max_rss_bytes, memory.resident_peak);
	proc_end_all(getpid(), NULL, NULL, 0, SIGKILL, 0);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	proc_tree_destroy(tree);
	free(shared);
}

/* ---- isolation ---------------------------------------------------------------------------- */

static void a_pid_namespace_ends_with_its_program(void **state)
{
	struct bed bed;

	scratch_write(state, "input", "one\n", 0600);
	init(&bed, state,
	     "cat; test $$ -lt 10 && ls /proc | grep -c '^[0-9]*$' >$HERE/visible; "
	     "(setsid sleep 1000 &) & wait; exit 4");
	bed.stdin_file = scratch_path(state, "input");
	bed.job->types[0].isolation = JOB_ISOLATION_PID_NAMESPACE;
	if (start(&bed) < 0) {
		/* A kernel that forbids it is named as the reason. */
		assert_message_has(&bed.err, "isolation=pid-namespace");
		finish(&bed);
		return;
	}
	await(&bed);
	assert_string_equal(bed.cause.text, "exited with code 4");
	assert_true(bed_await_number(state, "visible") < 10);
	assert_text_freed(scratch_read(state, "stdout"), "one\n");
	finish(&bed);
}

static void signals_inside_of_a_pid_namespace_are_told(void **state)
{
	struct bed bed;

	init(&bed, state, "kill -SEGV $$");
	bed.job->types[0].isolation = JOB_ISOLATION_PID_NAMESPACE;
	if (start(&bed) == 0) {
		await(&bed);
		assert_int_equal(bed.cause.kind, CAUSE_SIGNAL);
		assert_int_equal(bed.cause.signal, SIGSEGV);
	}
	finish(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_program_gets_what_it_should),
		scratch_test(each_process_reads_the_file_from_its_start),
		scratch_test(a_missing_standard_input_fails_the_start),
		scratch_test(the_first_word_is_made_executable),
		scratch_test(files_of_others_stay_as_they_are),
		scratch_test(a_start_that_fails_says_why),
		scratch_test(ends_are_told_apart),
		scratch_test(the_last_words_are_reported),
		scratch_test(much_output_is_all_kept),
		scratch_test(what_escaped_ends_with_the_program),
		scratch_test(what_ends_by_itself_is_let_end),
		scratch_test(a_stop_ends_the_tree_with_grace),
		scratch_test(a_stop_ends_what_does_not_listen),
		scratch_test(a_program_destroyed_is_gone),
		scratch_test(a_program_dies_with_its_executor),
		scratch_test(several_processes_have_logs_of_their_own),
		scratch_test(one_failure_ends_all_and_is_told),
		scratch_test(a_success_waits_for_the_others),
		scratch_test(an_execution_timeout_ends_it),
		scratch_test(who_stands_still_is_ended),
		scratch_test(a_short_stop_is_no_harm),
		scratch_test(what_does_nothing_is_ended_and_where_it_stood_is_kept),
		scratch_test(who_tells_no_further_step_is_ended),
		scratch_test(py_spy_tells_where_python_stands),
		scratch_test(who_is_stopped_does_not_hang),
		scratch_test(who_uses_too_much_memory_is_ended),
		cmocka_unit_test(shared_memory_is_counted_once),
		scratch_test(a_pid_namespace_ends_with_its_program),
		scratch_test(signals_inside_of_a_pid_namespace_are_told),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
