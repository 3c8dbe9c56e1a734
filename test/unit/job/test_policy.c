/* One case at least for each row of the table, and what the machine makes of the rows. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "job/policy.h"
#include "machine_bed.h"

/* What is to follow, as the table's macros have it. */
enum verdict {
	AGAIN,
	PEERS_FAULT,
	FORM_ANEW,
	ELSEWHERE,
	NEVER,
	CLUSTERS_FAULT,
	OTHERS_NEED,
	MACHINES_FAULT,
	ELSEWHERE_ONCE,
};

struct row {
	enum cause_kind kind;
	int exit_code, signal;
	const char *headline;
	enum verdict verdict;
	const char *why; /* part of it; NULL: there is none */
};

#define EXIT(code)   CAUSE_EXIT, code, 0
#define SIGNAL(code) CAUSE_SIGNAL, 0, code
#define KIND(kind)   kind, 0, 0, NULL
#define LAUNCH(text) CAUSE_LAUNCH_FAILED, 0, 0, text /* in place of the headline */

static const struct row table[] = {
	{EXIT(1), "RuntimeError: CUDA error: device-side assert triggered", AGAIN, "assertion"},
	{EXIT(1), "RuntimeError: CUDA error: uncorrectable ECC error encountered", MACHINES_FAULT,
	 "memory is faulty"},
	{EXIT(1), "NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus.",
	 MACHINES_FAULT, "GPU has failed"},
	{EXIT(1),
	 "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
	 MACHINES_FAULT, "error of the hardware"},
	{EXIT(1),
	 "RuntimeError: Unexpected error from cudaGetDeviceCount(): Error 802: system not yet "
	 "initialized",
	 MACHINES_FAULT, "driver on its machine is not ready"},
	{EXIT(1), "RuntimeError: No CUDA GPUs are available", ELSEWHERE, "found no GPU"},
	{EXIT(1), "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
	 MACHINES_FAULT, "somebody else has its GPU"},
	{EXIT(1), "CUDA driver version is insufficient for CUDA runtime version", ELSEWHERE,
	 "too old"},
	{EXIT(1), "OSError: [Errno 5] Input/output error: '/data/a'", MACHINES_FAULT, "a disk"},
	{EXIT(1), "OSError: [Errno 30] Read-only file system: '/data/a'", ELSEWHERE_ONCE,
	 "read-only"},
	{EXIT(1), "OSError: [Errno 28] No space left on device", ELSEWHERE_ONCE, "full"},
	{EXIT(1), "OSError: [Errno 122] Disk quota exceeded", NEVER, "quota"},
	{EXIT(1), "OSError: [Errno 116] Stale file handle", MACHINES_FAULT, "stale"},
	{EXIT(1), "OSError: [Errno 107] Transport endpoint is not connected: '/mnt'",
	 MACHINES_FAULT, "mounted file system"},
	{EXIT(1), "socket.gaierror: [Errno -3] Temporary failure in name resolution",
	 MACHINES_FAULT, "resolve names"},
	{EXIT(127),
	 "./train: error while loading shared libraries: libnccl.so.2: cannot open shared "
	 "object file",
	 ELSEWHERE, "lacks a library"},
	{EXIT(1), "./train: /lib/libc.so.6: version `GLIBC_2.38' not found", ELSEWHERE,
	 "C library"},
	{EXIT(1), "ModuleNotFoundError: No module named 'torch'", NEVER, "module is missing"},
	{EXIT(1), "/usr/bin/python3: No module named train", NEVER, "module is missing"},
	{EXIT(1), "SyntaxError: invalid syntax", NEVER, "does not parse"},
	{EXIT(1), "IndentationError: unexpected indent", NEVER, "does not parse"},
	{EXIT(1), "ImportError: cannot import name 'x' from 'y'", NEVER, "another version"},
	{EXIT(2), "python3: can't open file '/w/train.py': [Errno 2] No such file or directory",
	 NEVER, "file cannot be opened"},
	{EXIT(2), "train.py: error: unrecognized arguments: --lr", NEVER, "arguments"},
	{EXIT(1), "torch.cuda.OutOfMemoryError: CUDA out of memory.", AGAIN, "GPU's memory"},
	{EXIT(1), "MemoryError", AGAIN, "memory did not suffice"},
	{SIGNAL(SIGABRT), "terminate called after throwing an instance of 'std::bad_alloc'", AGAIN,
	 "memory did not suffice"},
	{EXIT(1), "RuntimeError: can't start new thread", AGAIN, "processes and threads"},
	{EXIT(1), "OSError: [Errno 24] Too many open files", AGAIN, "open files"},
	{EXIT(1),
	 "ERROR: Unexpected bus error; might be caused by insufficient shared memory (shm)",
	 ELSEWHERE, "/dev/shm"},
	{EXIT(1), "torch.distributed.DistBackendError: NCCL error in: x", PEERS_FAULT,
	 "gone or stuck"},
	{EXIT(1), "RuntimeError: [..] Connection closed by peer [10.0.0.1]:4000", PEERS_FAULT,
	 "peers, or a service"},
	{EXIT(1), "ConnectionRefusedError: [Errno 111] Connection refused", PEERS_FAULT,
	 "peers, or a service"},
	{EXIT(126), NULL, NEVER, "cannot be executed"},
	{EXIT(127), "bash: line 1: trian: command not found", NEVER, "not there"},
	{EXIT(124), NULL, AGAIN, "timeout(1)"},
	{SIGNAL(SIGILL), NULL, MACHINES_FAULT, "processor"},
	{EXIT(128 + SIGILL), NULL, MACHINES_FAULT, "processor"},
	{SIGNAL(SIGBUS), NULL, ELSEWHERE, "/dev/shm"},
	{SIGNAL(SIGSYS), NULL, ELSEWHERE, "system call"},
	{SIGNAL(SIGXFSZ), NULL, NEVER, "files' sizes"},
	{SIGNAL(SIGXCPU), NULL, AGAIN, "processor time"},
	{SIGNAL(SIGSEGV), NULL, AGAIN, NULL},
	{EXIT(139), NULL, AGAIN, NULL},
	{SIGNAL(SIGABRT), NULL, AGAIN, NULL},
	{SIGNAL(SIGFPE), NULL, AGAIN, NULL},
	{SIGNAL(SIGKILL), NULL, AGAIN, "killed it"},
	{EXIT(137), NULL, AGAIN, "killed it"},
	/* It had survived the loss of peers that it spoke of before; libraries abort then. */
	{SIGNAL(SIGKILL), "RuntimeError: NCCL error: x", AGAIN, "killed it"},
	{EXIT(137), "ConnectionResetError: Connection reset by peer", AGAIN, "killed it"},
	{SIGNAL(SIGABRT), "what(): NCCL error in: x", PEERS_FAULT, "gone or stuck"},
	{SIGNAL(SIGTERM), NULL, AGAIN, "told it to end"},
	{EXIT(143), NULL, AGAIN, "told it to end"},
	{SIGNAL(SIGINT), NULL, AGAIN, NULL},
	{SIGNAL(SIGHUP), NULL, AGAIN, NULL},
	{SIGNAL(SIGPIPE), NULL, AGAIN, "wrote to"},
	{EXIT(1), "ValueError: no data", AGAIN, NULL},
	{EXIT(255), NULL, AGAIN, NULL},
	{SIGNAL(SIGUSR1), NULL, AGAIN, NULL},
	{KIND(CAUSE_OUT_OF_MEMORY), AGAIN, NULL},
	{CAUSE_OUT_OF_MEMORY, 137, 0, "MemoryError", AGAIN, NULL},
	{KIND(CAUSE_EXECUTION_TIMEOUT), AGAIN, NULL},
	{KIND(CAUSE_FROZEN), AGAIN, NULL},
	{KIND(CAUSE_HUNG), AGAIN, NULL},
	{KIND(CAUSE_START_FAILED), FORM_ANEW, NULL},
	{KIND(CAUSE_STORE_FAILED), CLUSTERS_FAULT, NULL},
	{KIND(CAUSE_NO_SPACE), ELSEWHERE_ONCE, "disk of its machine is full"},
	{KIND(CAUSE_STORE_FULL), NEVER, "no other machine"},
	{KIND(CAUSE_PORT_TAKEN), FORM_ANEW, NULL},
	{KIND(CAUSE_PORT_STOLEN), MACHINES_FAULT, NULL},
	{KIND(CAUSE_EXECUTOR_LOST), MACHINES_FAULT, NULL},
	{KIND(CAUSE_CONTAINER_STOPPED), CLUSTERS_FAULT, NULL},
	{KIND(CAUSE_NODE_LOST), MACHINES_FAULT, NULL},
	{KIND(CAUSE_PREEMPTED), OTHERS_NEED, NULL},
	{LAUNCH("could not be started by its node: Resource hdfs://nn/a.zip changed on src "
		"filesystem - expected: "
		"2026-11-28, was: 2026-11-29"),
	 NEVER, "written anew"},
	{LAUNCH("could not be started by its node: File does not exist: hdfs://nn/a.zip"), NEVER,
	 "removed after"},
	{LAUNCH("could not be started by its node: docker: Error response from daemon: pull access "
		"denied for x, "
		"repository does not exist"),
	 NEVER, "Docker image"},
	{KIND(CAUSE_LAUNCH_FAILED), MACHINES_FAULT, NULL},
	{LAUNCH("could not be started by its node: Call From nm to nn failed"), MACHINES_FAULT,
	 NULL},
	{KIND(CAUSE_REGISTRATION_TIMEOUT), MACHINES_FAULT, NULL},
	{KIND(CAUSE_ALLOCATION_TIMEOUT), CLUSTERS_FAULT, NULL},
	{KIND(CAUSE_ALLOCATION_REFUSED), NEVER, NULL},
	{KIND(CAUSE_APPLICATION_TIMEOUT), NEVER, NULL},
	{KIND(CAUSE_GROUP_TIMEOUT), NEVER, NULL},
	{KIND(CAUSE_DEPENDENCY_FAILED), NEVER, NULL},
	{KIND(CAUSE_CANCELED), NEVER, NULL},
	{KIND(CAUSE_KILLED_BY_USER), NEVER, NULL},
	{KIND(CAUSE_RESTARTED_BY_USER), NEVER, NULL},
	{KIND(CAUSE_AM_FAILED), NEVER, NULL},
	{KIND(CAUSE_NONE), NEVER, NULL},
};

static const struct policy_row *find(const struct row *row)
{
	const struct cause cause = {.kind = row->kind,
				    .exit_code = row->exit_code,
				    .signal = row->signal,
				    .text = row->headline,
				    .headline = (char *)row->headline};

	return policy_find(&cause, NULL);
}

static enum verdict verdict_of(const struct policy_row *row)
{
	switch (row->charge) {
	case CHARGE_NEVER:
		return NEVER;
	case CHARGE_PREEMPTION:
		return OTHERS_NEED;
	case CHARGE_INFRASTRUCTURE:
		if (row->elsewhere_once)
			return ELSEWHERE_ONCE;
		return row->blames_host ? MACHINES_FAULT : CLUSTERS_FAULT;
	default:
		break;
	}
	if (row->blames_host)
		return ELSEWHERE;
	if (row->blames_peer)
		return PEERS_FAULT;
	return row->in_place ? AGAIN : FORM_ANEW;
}

/* promise: R2 R3 R5 */
static void each_end_has_what_follows_from_it(void **state)
{
	for (size_t i = 0; i < array_length(table); i++) {
		const struct policy_row *row = find(&table[i]);
		const char *said = table[i].headline ? table[i].headline : "";
		if (verdict_of(row) != table[i].verdict)
			fail_msg("case %zu (%s %d %d %s): %d", i, cause_kind_name(table[i].kind),
				 table[i].exit_code, table[i].signal, said, (int)verdict_of(row));
		if (!row->why != !table[i].why || (row->why && !strstr(row->why, table[i].why)))
			fail_msg("case %zu (%s): %s", i, said, row->why ? row->why : "no reason");
	}
}

static void every_row_has_a_case(void **state)
{
	bool *seen cleanup_free = mem_alloc_array(policy_count(), sizeof(*seen));

	assert_in_range(policy_count(), 40, 1000);
	for (size_t i = 0; i < array_length(table); i++)
		seen[policy_number(find(&table[i]))] = true;
	for (size_t i = 0; i < policy_count(); i++)
		if (!seen[i])
			fail_msg("row %zu has no case", i);
}

/* ---- what the machine makes of it --------------------------------------------------------- */

static struct bed *running(const char *types, int retries, int infrastructure_retries)
{
	struct bed *bed = bed_create(types);

	bed->job->retry_count = retries;
	bed->job->infrastructure_retry_count = infrastructure_retries;
	bed->job->retry_delay_ms = 0;
	return bed;
}

static bool notes(const struct bed *bed, const char *text)
{
	for (size_t i = 0; i < bed->actions.count; i++)
		if (bed->actions.items[i].text && strstr(bed->actions.items[i].text, text))
			return true;
	return false;
}

static bool exit_with(struct bed *bed, const char *name, const struct cause *cause)
{
	const struct task *task = bed_look(bed, name);
	const struct machine_event event = {.kind = EVENT_EXITED,
					    .task = bed_task(bed, name),
					    .attempt = task->attempt,
					    .epoch = task->epoch,
					    .restart = task->restart,
					    .cause = cause};

	return machine_handle(bed->machine, &event, bed->now, &bed->actions);
}

static const struct cause no_space = {.kind = CAUSE_NO_SPACE};
static const struct cause own_words = {
	.kind = CAUSE_EXIT,
	.exit_code = 1,
	.headline = (char *)"OSError: [Errno 28] No space left on device"};
static const struct cause read_only = {
	.kind = CAUSE_EXIT,
	.exit_code = 1,
	.headline = (char *)"OSError: [Errno 30] Read-only file system: '/data/a'"};

/* promise: R59 */
static void a_full_disk_is_tried_on_another_machine_once(void **state)
{
	const struct cause *const causes[] = {&no_space, &own_words};

	for (size_t i = 0; i < array_length(causes); i++) {
		struct bed *bed = running("worker=2", 3, 3);
		bed_submit(bed);
		bed_bring_up(bed, "worker");
		exit_with(bed, "worker:0", causes[i]);
		assert_true(bed_acted(bed, ACTION_AVOID, "worker:0"));
		assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
		assert_int_equal(bed_status(bed).infrastructure_retries_used, 1);
		assert_int_equal(bed_status(bed).state, JOB_REFORMING);
		bed_gone(bed, "worker:0");
		bed_register(bed, "worker:1");
		bed_pass(bed, 1000);
		bed_come(bed, "worker:0");
		assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
		exit_with(bed, "worker:0", causes[1 - i]);
		assert_int_equal(bed_status(bed).state, JOB_FINISHING);
		assert_true(notes(bed,
				  "worker:0 is not tried again: a disk of its machine is full, "
				  "as one was before"));
		bed_destroy(bed);
	}
}

/* promise: R59 */
static void a_full_disk_of_the_only_machine_fails_the_job(void **state)
{
	const struct cause *const causes[] = {&no_space, &own_words};

	for (size_t i = 0; i < array_length(causes); i++) {
		struct bed *bed = running("worker=2", 3, 3);
		bed_submit(bed);
		machine_set_one_host(bed->machine);
		bed_bring_up(bed, "worker");
		exit_with(bed, "worker:0", causes[i]);
		assert_false(bed_acted(bed, ACTION_AVOID, "worker:0"));
		assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
		assert_int_equal(bed_status(bed).state, JOB_FINISHING);
		assert_true(notes(bed,
				  "worker:0 is not tried again: a disk of its machine is full, "
				  "and there is no other machine"));
		bed_destroy(bed);
	}
}

/* promise: R59 */
static void a_read_only_file_system_of_the_only_machine_fails_the_job(void **state)
{
	struct bed *bed = running("worker=2", 3, 3);

	bed_submit(bed);
	machine_set_one_host(bed->machine);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:0", &read_only);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_true(notes(bed, "worker:0 is not tried again: a file system of its machine is "
			       "read-only, and there is no other machine"));
	bed_destroy(bed);
}

static void an_elastic_job_goes_on_without_a_container_that_never_comes_up(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");
	const struct cause changed = {.kind = CAUSE_LAUNCH_FAILED,
				      .text = "Resource x changed on src filesystem"};

	bed_submit(bed);
	bed_allocate(bed, "worker:2");
	const struct machine_event event = {.kind = EVENT_CONTAINER_ENDED,
					    .task = bed_task(bed, "worker:2"),
					    .attempt = bed_look(bed, "worker:2")->attempt,
					    .cause = &changed};
	machine_handle(bed->machine, &event, bed->now, &bed->actions);
	assert_true(notes(bed, "changed on src filesystem; the job goes on without it"));
	assert_int_equal(bed_status(bed).state, JOB_FORMING);
	bed_destroy(bed);
}

/* promise: R59 */
static void an_elastic_job_goes_on_without_the_worker_of_a_full_disk(void **state)
{
	struct bed *bed = bed_create_elastic("worker=3");

	bed->job->infrastructure_retry_count = 3;
	bed->job->live_elastic = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:2", &no_space);
	assert_true(bed_acted(bed, ACTION_AVOID, "worker:2"));
	assert_true(notes(bed, "the job goes on without it until another container comes"));
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	bed_destroy(bed);
}

/* promise: R59 */
static void without_a_budget_the_others_of_an_fcfs_job_go_on_after_a_full_disk(void **state)
{
	struct bed *bed = running("worker=2", 0, 0);

	bed->job->mode = JOB_MODE_FCFS;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:1", &no_space);
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	assert_false(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	bed_destroy(bed);
}

/* promise: R59 */
static void a_full_store_fails_the_job_on_any_machine(void **state)
{
	const struct cause full = {.kind = CAUSE_STORE_FULL};
	struct bed *bed = running("worker=2", 3, 3);

	bed_submit(bed);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:0", &full);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_true(notes(bed, "worker:0 is not tried again: no other machine has more room"));
	bed_destroy(bed);
}

/* Somebody makes room, and says so beforehand. */
static void a_rule_of_the_users_tries_again_on_a_full_disk(void **state)
{
	struct bed *bed = running("worker=1", 3, 3);

	str_list_add(&bed_type(bed, "worker")->on_exit, "1->retry");
	bed_submit(bed);
	machine_set_one_host(bed->machine);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:0", &own_words);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	bed_destroy(bed);
}

/* promise: R5 R7 */
static void what_cannot_help_is_not_tried_again(void **state)
{
	struct bed *bed = running("worker=2", 3, 3);

	bed_type(bed, "worker")->max_restarts = 3;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 127);
	assert_true(notes(bed, "worker:0 is not tried again: the command is not there"));
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(bed).cause->exit_code, 127);
	bed_destroy(bed);
}

static const struct cause port_taken = {.kind = CAUSE_PORT_TAKEN, .exit_code = 1};

static const struct cause port_stolen = {.kind = CAUSE_PORT_STOLEN};

static void form_again(struct bed *bed, int workers, int64_t after_ms)
{
	for (int i = 0; i < workers; i++) {
		char *name cleanup_free = mem_printf("worker:%d", i);
		bed_register(bed, name);
	}
	bed_pass(bed, after_ms);
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
}

/* promise: S152 */
static void thefts_cost_no_retry_but_ever_longer_pauses(void **state)
{
	struct bed *bed = running("worker=2", 0, 0);
	int64_t waits[] = {0, 200, 400, 800, 1600};

	bed->job->retry_delay_ms = 200;
	bed_type(bed, "worker")->hold_port = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	for (size_t i = 0; i < array_length(waits); i++) {
		exit_with(bed, "worker:0", &port_stolen);
		assert_true(notes(bed, "the job re-forms (with other ports; no retry is spent)"));
		assert_false(bed_acted(bed, ACTION_AVOID, "worker:0"));
		assert_false(bed_acted(bed, ACTION_RELEASE, "worker:0"));
		assert_in_range(bed_status(bed).pause_ms, waits[i] * 3 / 4, waits[i] * 5 / 4);
		form_again(bed, 2, 2100);
	}
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).retries_used, 0);
	bed_destroy(bed);
}

/* promise: S152 */
static void so_does_a_held_port_that_the_program_cannot_bind(void **state)
{
	struct bed *bed = running("worker=2", 1, 3);

	bed_type(bed, "worker")->max_restarts = 3;
	bed_type(bed, "worker")->hold_port = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:0", &port_taken);
	assert_true(notes(bed, "the next one is kept in another way; the job re-forms "
			       "(with other ports; no retry is spent)"));
	form_again(bed, 2, 1000);
	exit_with(bed, "worker:1", &port_taken); /* nobody holds it any more */
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).retries_used, 1);
	bed_destroy(bed);
}

static bool has_open_port(struct bed *bed, const char *name)
{
	return machine_order(bed->machine, bed_task(bed, name)).port_open;
}

/* promise: S152 */
static void no_port_of_a_type_is_held_once_a_task_could_not_bind_its_own(void **state)
{
	struct bed *bed = running("worker=24 ps=1", 0, 0);

	bed_type(bed, "worker")->hold_port = bed_type(bed, "ps")->hold_port = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_bring_up(bed, "ps");
	assert_false(has_open_port(bed, "worker:7"));
	exit_with(bed, "worker:7", &port_taken);
	bed_register(bed, "ps:0");
	form_again(bed, 24, 1000);
	assert_int_equal(bed_status(bed).epoch, 2);
	for (int i = 0; i < 24; i++) {
		char *name cleanup_free = mem_printf("worker:%d", i);
		assert_true(has_open_port(bed, name));
	}
	assert_false(has_open_port(bed, "ps:0"));
	exit_with(bed, "ps:0", &port_taken);
	assert_true(notes(bed, "ps:0: failed: the next one is kept in another way"));
	bed_destroy(bed);
}

/* promise: S152 */
static void a_job_of_which_others_took_twenty_ports_fails_and_names_them(void **state)
{
	struct bed *bed = running("worker=6", 3, 3);
	const struct cause stolen = {.kind = CAUSE_PORT_STOLEN,
				     .text = (char *)"port 7 was taken by uid 1002"};

	bed_type(bed, "worker")->hold_port = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	for (int i = 0; i < 20; i++) {
		char *name cleanup_free = mem_printf("worker:%d", i % 6);
		exit_with(bed, name, &stolen);
		form_again(bed, 6, 1000);
	}
	exit_with(bed, "worker:5", &stolen);
	assert_true(notes(bed, "worker:5 is not tried again: other users took too many of the "
			       "job's ports"));
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_string_equal(bed_status(bed).cause->text, "port 7 was taken by uid 1002");
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).retries_used, 0);
	bed_destroy(bed);
}

static void tasks_without_a_gang_get_another_container_for_a_stolen_port(void **state)
{
	struct bed *bed = running("worker=2", 0, 1);

	bed->job->mode = JOB_MODE_FCFS;
	bed_type(bed, "worker")->hold_port = true;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:0", &port_stolen);
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_RUNNING);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	bed_destroy(bed);
}

static void only_a_watched_port_can_have_been_stolen(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct bed *bed = running("worker=1", 1, 3);
		bed_type(bed, "worker")->hold_port = i == 0;
		bed_type(bed, "worker")->strict_port = i == 0;
		bed_submit(bed);
		bed_bring_up(bed, "worker");
		exit_with(bed, "worker:0", &port_taken);
		assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
		assert_int_equal(bed_status(bed).retries_used, 1);
		bed_destroy(bed);
	}
}

/* Its executor is well, but on the wrong machine. */
/* promise: R3 R7 R15 */
static void with_the_machine_that_is_to_blame_goes_the_container(void **state)
{
	struct bed *bed = running("worker=2", 0, 1);

	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 128 + SIGILL);
	assert_true(bed_acted(bed, ACTION_AVOID, "worker:0"));
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	assert_true(notes(bed, "its machine's processor lacks an instruction; the job re-forms "
			       "(infrastructure retry 1 of 1)"));
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_LOST);
	assert_int_equal(bed_look(bed, "worker:1")->state, TASK_STOPPING);
	bed_gone(bed, "worker:0");
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_REQUESTED);
	assert_int_equal(bed_status(bed).retries_used, 0);
	bed_destroy(bed);
}

/* One after the other, on these hosts; in between the cluster forms anew. */
static struct bed *after_two_traps(const char *rule, const char *first, const char *second)
{
	struct bed *bed = running("worker=2", 0, 5);

	bed->host = first;
	bed->job->fail_fast = true;
	if (rule)
		str_list_add(&bed_type(bed, "worker")->on_exit, rule);
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 128 + SIGILL);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	bed_gone(bed, "worker:0");
	bed->host = second;
	bed_register(bed, "worker:1");
	bed_pass(bed, 1000);
	bed_come(bed, "worker:0");
	assert_int_equal(bed_status(bed).state, JOB_RUNNING);
	bed_exit(bed, "worker:1", 128 + SIGILL);
	return bed;
}

/* promise: R3 */
static void of_two_machines_neither_is_to_blame(void **state)
{
	struct bed *bed = after_two_traps(NULL, "a", "a");

	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 2);
	bed_destroy(bed);
	bed = after_two_traps(NULL, "a", "b");
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 1);
	assert_true(notes(bed, "worker:1 is not tried again: processors of two machines lack an "
			       "instruction of the program's"));
	bed_destroy(bed);
	bed = after_two_traps("SIGILL->retry", "a", "b");
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	bed_destroy(bed);
}

/* promise: R3 */
static void the_only_machine_is_not_to_blame(void **state)
{
	struct bed *bed = running("worker=1", 0, 5);

	bed_submit(bed);
	machine_set_one_host(bed->machine);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 128 + SIGILL);
	assert_int_equal(bed_status(bed).infrastructure_retries_used, 0);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	bed_destroy(bed);
}

static void a_machine_is_blamed_on_the_last_try_as_well(void **state)
{
	struct bed *bed = running("worker=1", 0, 0);

	bed_submit(bed);
	bed_bring_up(bed, "worker");
	bed_exit(bed, "worker:0", 128 + SIGILL);
	assert_true(bed_acted(bed, ACTION_RELEASE, "worker:0"));
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_FAILED);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	bed_gone(bed, "worker:0");
	assert_int_equal(bed_status(bed).state, JOB_FAILED);
	bed_destroy(bed);
}

/* ---- the same memory limit ---------------------------------------------------------------- */

static struct bed *short_of_memory(const char *rule, int64_t step)
{
	struct bed *bed = running("worker=2", 5, 3);
	const struct cause first = {.kind = CAUSE_OUT_OF_MEMORY, .step = step};

	bed->job->fail_fast = true;
	if (rule)
		str_list_add(&bed_type(bed, "worker")->on_exit, rule);
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:0", &first);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	form_again(bed, 2, 1000);
	return bed;
}

static void assert_second_end(struct bed *bed, const char *name, int64_t step, bool is_last)
{
	const struct cause second = {.kind = CAUSE_OUT_OF_MEMORY, .step = step};

	exit_with(bed, name, &second);
	assert_int_equal(bed_status(bed).state, is_last ? JOB_FINISHING : JOB_REFORMING);
	assert_int_equal(notes(bed, "is not tried again: it met the same memory limit before, and "
				    "has got no further since"),
			 is_last);
	bed_destroy(bed);
}

/* promise: R1 */
static void the_same_memory_limit_is_met_again_only_where_a_step_was_gained(void **state)
{
	assert_second_end(short_of_memory(NULL, 0), "worker:0", 0, true);
	assert_second_end(short_of_memory(NULL, 7), "worker:0", 7, true);
	assert_second_end(short_of_memory(NULL, 7), "worker:0", 8, false);
	assert_second_end(short_of_memory(NULL, 7), "worker:0", 0, true);
	/* It is the limit of all tasks of the type. */
	assert_second_end(short_of_memory(NULL, 7), "worker:1", 6, true);
	assert_second_end(short_of_memory(NULL, 7), "worker:1", 9, false);
	/* The user knows better. */
	assert_second_end(short_of_memory("*->retry", 7), "worker:0", 7, false);
}

static void a_program_that_tells_no_steps_may_have_gained_some_in_a_minute(void **state)
{
	struct bed *bed = short_of_memory(NULL, 0);

	bed_stand_still(bed, 58000);
	assert_second_end(bed, "worker:0", 0, true);
	bed = short_of_memory(NULL, 0);
	bed_stand_still(bed, 60000);
	assert_second_end(bed, "worker:0", 0, false);
}

/* promise: R1 */
static void nor_is_a_program_started_again_in_place_for_that(void **state)
{
	struct bed *bed = running("worker=2", 0, 0);
	const struct cause cause = {.kind = CAUSE_OUT_OF_MEMORY};

	bed_type(bed, "worker")->max_restarts = 5;
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	exit_with(bed, "worker:0", &cause);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	assert_second_end(bed, "worker:0", 0, true);
}

/* ---- tony.<type>.on-exit ------------------------------------------------------------------ */

static struct bed *ruled(const char *rule, int retries)
{
	struct bed *bed = running("worker=2", retries, 3);

	bed->job->fail_fast = true;
	str_list_add(&bed_type(bed, "worker")->on_exit, rule);
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	return bed;
}

/* promise: R11 */
static void a_rule_makes_a_retry_of_what_would_have_none(void **state)
{
	struct bed *bed = ruled("127->retry", 1);

	bed_exit(bed, "worker:0", 127);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(bed).retries_used, 1);
	bed_destroy(bed);
}

static void a_retry_by_rule_ends_with_the_budget(void **state)
{
	struct bed *bed = ruled("127->retry", 0);

	bed_exit(bed, "worker:0", 127);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	bed_destroy(bed);
}

/* promise: R11 */
static void a_rule_ends_what_would_be_tried_again(void **state)
{
	struct bed *bed = ruled("64-78->fail", 5);

	bed_type(bed, "worker")->max_restarts = 5;
	bed_exit(bed, "worker:0", 70);
	assert_true(notes(bed, "worker:0 is not tried again, as tony.worker.on-exit says"));
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	assert_int_equal(bed_status(bed).outcome, JOB_FAILED);
	bed_destroy(bed);
}

/* promise: R11 */
static void what_is_ignored_is_success(void **state)
{
	struct bed *bed = ruled("3->ignore", 5);

	bed_exit(bed, "worker:0", 3);
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_SUCCEEDED);
	assert_int_equal(bed_look(bed, "worker:0")->cause.kind, CAUSE_NONE);
	assert_true(notes(bed, "worker:0 exited, which counts as success (tony.worker.on-exit)"));
	bed_exit(bed, "worker:1", 0);
	assert_int_equal(bed_status(bed).outcome, JOB_SUCCEEDED);
	assert_int_equal(bed_status(bed).state, JOB_FINISHING);
	bed_destroy(bed);
}

/* promise: R12 */
static void a_lost_machine_is_no_rules_business(void **state)
{
	struct bed *bed = ruled("*->fail", 5);

	bed_lose(bed, "worker:0", CAUSE_NODE_LOST);
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	bed_destroy(bed);
}

/* ---- a container that is told to end ------------------------------------------------------ */

static struct bed *told_to_end(struct cause *why)
{
	struct bed *bed = running("worker=2", 0, 3);
	struct cause cause = {.kind = CAUSE_CONTAINER_STOPPED};
	struct machine_event event = {
		.kind = EVENT_EXITED, .attempt = 1, .epoch = 1, .cause = &cause};
	struct machine_event end = {.kind = EVENT_CONTAINER_ENDED, .attempt = 1, .cause = why};

	str_list_add(&cause.tail, "last words");
	bed_submit(bed);
	bed_bring_up(bed, "worker");
	assert_true(machine_handle(bed->machine, &event, bed->now, &bed->actions));
	assert_int_equal(bed_look(bed, "worker:0")->state, TASK_RUNNING);
	cause_finish(&cause);
	action_list_clear(&bed->actions);
	assert_true(machine_handle(bed->machine, &end, bed->now, &bed->actions));
	assert_int_equal(bed_status(bed).state, JOB_REFORMING);
	assert_int_equal(bed_status(bed).infrastructure_retries_used,
			 why->kind == CAUSE_PREEMPTED ? 0 : 1);
	return bed;
}

/* promise: R4 */
static void why_a_container_was_told_to_end_says_the_scheduler(void **state)
{
	struct cause why = {.kind = CAUSE_PREEMPTED};
	struct bed *bed = told_to_end(&why);

	assert_int_equal(bed_look(bed, "worker:0")->cause.kind, CAUSE_PREEMPTED);
	assert_string_equal(bed_look(bed, "worker:0")->cause.tail.items[0], "last words");
	bed_destroy(bed);
}

static void a_container_that_was_told_to_end_is_not_its_machines_fault(void **state)
{
	struct cause why = {.kind = CAUSE_EXECUTOR_LOST};
	struct bed *bed = told_to_end(&why);

	assert_int_equal(bed_look(bed, "worker:0")->cause.kind, CAUSE_CONTAINER_STOPPED);
	assert_false(bed_acted(bed, ACTION_AVOID, "worker:0"));
	assert_true(bed_allocate(bed, "worker:0"));
	assert_int_equal(bed_look(bed, "worker:0")->cause.kind, CAUSE_NONE);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_has_what_follows_from_it),
		cmocka_unit_test(every_row_has_a_case),
		cmocka_unit_test(a_full_disk_is_tried_on_another_machine_once),
		cmocka_unit_test(a_full_disk_of_the_only_machine_fails_the_job),
		cmocka_unit_test(a_read_only_file_system_of_the_only_machine_fails_the_job),
		cmocka_unit_test(an_elastic_job_goes_on_without_a_container_that_never_comes_up),
		cmocka_unit_test(an_elastic_job_goes_on_without_the_worker_of_a_full_disk),
		cmocka_unit_test(
			without_a_budget_the_others_of_an_fcfs_job_go_on_after_a_full_disk),
		cmocka_unit_test(a_full_store_fails_the_job_on_any_machine),
		cmocka_unit_test(a_rule_of_the_users_tries_again_on_a_full_disk),
		cmocka_unit_test(what_cannot_help_is_not_tried_again),
		cmocka_unit_test(thefts_cost_no_retry_but_ever_longer_pauses),
		cmocka_unit_test(so_does_a_held_port_that_the_program_cannot_bind),
		cmocka_unit_test(no_port_of_a_type_is_held_once_a_task_could_not_bind_its_own),
		cmocka_unit_test(a_job_of_which_others_took_twenty_ports_fails_and_names_them),
		cmocka_unit_test(tasks_without_a_gang_get_another_container_for_a_stolen_port),
		cmocka_unit_test(only_a_watched_port_can_have_been_stolen),
		cmocka_unit_test(with_the_machine_that_is_to_blame_goes_the_container),
		cmocka_unit_test(of_two_machines_neither_is_to_blame),
		cmocka_unit_test(the_only_machine_is_not_to_blame),
		cmocka_unit_test(a_machine_is_blamed_on_the_last_try_as_well),
		cmocka_unit_test(the_same_memory_limit_is_met_again_only_where_a_step_was_gained),
		cmocka_unit_test(a_program_that_tells_no_steps_may_have_gained_some_in_a_minute),
		cmocka_unit_test(nor_is_a_program_started_again_in_place_for_that),
		cmocka_unit_test(a_rule_makes_a_retry_of_what_would_have_none),
		cmocka_unit_test(a_retry_by_rule_ends_with_the_budget),
		cmocka_unit_test(a_rule_ends_what_would_be_tried_again),
		cmocka_unit_test(what_is_ignored_is_success),
		cmocka_unit_test(a_lost_machine_is_no_rules_business),
		cmocka_unit_test(why_a_container_was_told_to_end_says_the_scheduler),
		cmocka_unit_test(a_container_that_was_told_to_end_is_not_its_machines_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
