#include "../base/patience.h"
#include "../base/scratch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/allotment.h"

static struct ledger *open_ledger(void **state, const char *job)
{
	struct err err = {0};
	const char *directory = scratch_path(state, "ledger");
	int held = ledger_hold(directory, job, &err);
	struct ledger *ledger = held < 0 ? NULL : ledger_open(directory, job, held, &err);

	if (!ledger)
		fail_msg("%s", err_message(&err));
	return ledger;
}

static void close_ledger(void **state, struct ledger *ledger)
{
	int held = ledger_descriptor(ledger);

	ledger_close(ledger);
	close(held);
	ledger_clean(scratch_path(state, "ledger"));
}

/* Another process may be at it. */
static void begin(struct ledger *ledger)
{
	struct err err = {0};
	int result;

	wait_until((result = ledger_begin(ledger, &err)) != 1);
	assert_success(result, &err);
}

static void commit(struct ledger *ledger)
{
	struct err err = {0};

	assert_success(ledger_commit(ledger, &err), &err);
}

static void hold(struct ledger *ledger, int64_t memory)
{
	begin(ledger);
	ledger_own(ledger)->containers = 1;
	ledger_own(ledger)->holds.memory = memory;
	commit(ledger);
}

/* "b:100 c:200": the jobs that others see, and what they hold. */
static void assert_others(struct ledger *ledger, const char *expected)
{
	struct str text cleanup_str = {0};
	size_t count;

	begin(ledger);
	const struct ledger_entry *others = ledger_others(ledger, &count);
	for (size_t i = 0; i < count; i++)
		str_append_format(&text, "%s%s:%d", i ? " " : "", others[i].job,
				  (int)others[i].holds.memory);
	commit(ledger);
	assert_string_equal(str_text(&text), expected);
}

static void jobs_see_each_other(void **state)
{
	struct ledger *a = open_ledger(state, "a"), *b = open_ledger(state, "b");

	assert_others(a, "");
	hold(b, 100);
	hold(a, 7);
	assert_others(a, "b:100");
	assert_others(b, "a:7");
	hold(b, 9); /* a shorter entry over a longer one */
	assert_others(a, "b:9");
	close_ledger(state, b);
	assert_others(a, "");
	close_ledger(state, a);
}

/* ---- processes that die ------------------------------------------------------------------- */

struct crew {
	pid_t am, executor;
	int ready;
};

static void wait_for_byte(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
}

/* An AM that holds something, and an executor of its that inherits the hold. */
static struct crew start_crew(void **state, const char *job, int64_t memory)
{
	struct crew crew;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	crew.am = fork();
	if (crew.am == 0) {
		hold(open_ledger(state, job), memory);
		pid_t executor = fork();
		if (executor == 0)
			pause();
		if (write(pipes[1], &executor, sizeof(executor)) < 0)
			_exit(1);
		pause();
	}
	close(pipes[1]);
	crew.ready = pipes[0];
	assert_int_equal(read(pipes[0], &crew.executor, sizeof(crew.executor)),
			 sizeof(crew.executor));
	return crew;
}

/* The pipe ends when the last of the crew has gone, which is when its files are closed. */
static void wait_for_end(const struct crew *crew)
{
	char byte;

	assert_int_equal(read(crew->ready, &byte, 1), 0);
	close(crew->ready);
	waitpid(crew->am, NULL, 0);
}

static bool is_free(struct ledger *ledger)
{
	size_t count;

	begin(ledger);
	ledger_others(ledger, &count);
	commit(ledger);
	return count == 0;
}

/* The files of a dying process are closed one after the other. */
static void await_free(struct ledger *ledger)
{
	wait_until(is_free(ledger));
}

static void a_killed_am_holds_as_long_as_an_executor_lives(void **state)
{
	struct ledger *own = open_ledger(state, "own");
	struct crew crew = start_crew(state, "other", 4096);

	kill(crew.am, SIGKILL);
	waitpid(crew.am, NULL, 0);
	assert_others(own, "other:4096");

	struct err err = {0};
	assert_int_equal(ledger_hold(scratch_path(state, "ledger"), "other", &err), -1);
	assert_message_has(&err, "earlier start of job other");
	err_finish(&err);

	kill(crew.executor, SIGKILL);
	wait_for_end(&crew);
	await_free(own);
	assert_false(fs_exists(scratch_path(state, "ledger/other.job")));
	close_ledger(state, own);
}

static void closing_leaves_what_executors_hold(void **state)
{
	struct ledger *own = open_ledger(state, "own"), *other = open_ledger(state, "other");
	int pipes[2];

	hold(other, 512);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid_t executor = fork();
	if (executor == 0) {
		if (write(pipes[1], "x", 1) < 0)
			_exit(1);
		pause();
	}
	wait_for_byte(pipes[0]);
	close_ledger(state, other);
	assert_others(own, "other:512");
	kill(executor, SIGKILL);
	waitpid(executor, NULL, 0);
	await_free(own);
	close(pipes[0]);
	close(pipes[1]);
	close_ledger(state, own);
}

static void the_end_of_a_killed_job_wakes_those_who_wait(void **state)
{
	struct ledger *own = open_ledger(state, "own");
	struct crew crew = start_crew(state, "other", 4096);
	struct pollfd poll_fd = {.events = POLLIN};

	poll_fd.fd = ledger_watch(own, NULL);
	assert_true(poll_fd.fd >= 0);
	assert_others(own, "other:4096");
	ledger_drain(own);
	assert_int_equal(poll(&poll_fd, 1, 0), 0); /* looking wakes nobody */
	kill(crew.am, SIGKILL);
	kill(crew.executor, SIGKILL);
	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
	wait_for_end(&crew);
	await_free(own);
	close_ledger(state, own);
}

static void a_change_wakes_those_who_wait(void **state)
{
	struct ledger *a = open_ledger(state, "a"), *b = open_ledger(state, "b");
	struct pollfd poll_fd = {.fd = ledger_watch(a, NULL), .events = POLLIN};

	hold(b, 1);
	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
	ledger_drain(a);
	hold(b, 1); /* nothing new */
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	close_ledger(state, a);
	close_ledger(state, b);
}

/* As a job does that waits behind it. */
static void a_change_of_one_job_alone_wakes_and_is_seen(void **state)
{
	struct ledger *a = open_ledger(state, "a"), *b = open_ledger(state, "b"),
		      *c = open_ledger(state, "c");
	struct pollfd poll_fd = {.fd = ledger_watch(a, "b"), .events = POLLIN};
	struct err err = {0};

	hold(c, 1);
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	assert_int_equal(ledger_begin(b, &err), 0);
	ledger_own(b)->ticket = 7;
	assert_success(ledger_commit(b, &err), &err);
	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
	assert_true(ledger_waits(a, "b", 7));
	assert_false(ledger_waits(a, "b", 8));
	assert_false(ledger_waits(a, "c", 7));
	close_ledger(state, b);
	assert_false(ledger_waits(a, "b", 7));
	assert_int_equal(ledger_watch(a, "b") >= 0, true); /* of a job that is gone: all */
	poll_fd.fd = ledger_watch(a, "nobody");
	hold(c, 2);
	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
	close_ledger(state, a);
	close_ledger(state, c);
}

/* ---- the lock over all -------------------------------------------------------------------- */

static void the_lock_is_tried_and_not_waited_for(void **state)
{
	struct ledger *a = open_ledger(state, "a"), *b = open_ledger(state, "b");
	struct err err = {0};

	begin(a);
	assert_int_equal(ledger_begin(b, &err), 1);
	commit(a);
	assert_int_equal(ledger_begin(b, &err), 0);
	commit(b);
	close_ledger(state, a);
	close_ledger(state, b);
}

static void tickets_grow(void **state)
{
	struct ledger *a = open_ledger(state, "a"), *b = open_ledger(state, "b");

	begin(a);
	assert_int_equal(ledger_next_ticket(a), 1);
	ledger_own(a)->ticket = 41;
	commit(a);
	begin(b);
	assert_int_equal(ledger_next_ticket(b), 42);
	commit(b);
	close_ledger(state, a);
	close_ledger(state, b);
}

enum { CONTENDERS = 8, ROUNDS = 40, UNIT = 100, FIT = 3 };

static int64_t sum_of_others(struct ledger *ledger)
{
	size_t count;
	const struct ledger_entry *others = ledger_others(ledger, &count);
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += others[i].holds.memory;
	return sum;
}

/* Takes and gives back; exits 1 when more was ever taken than there is. */
static _Noreturn void contend(void **state, int number)
{
	char *job cleanup_free = mem_printf("job-%d", number);
	struct ledger *ledger = open_ledger(state, job);

	for (int round = 0; round < ROUNDS;) {
		begin(ledger);
		struct ledger_entry *own = ledger_own(ledger);
		if (own->holds.memory > 0) {
			own->holds.memory = 0;
			round++;
		} else if (sum_of_others(ledger) + UNIT <= FIT * UNIT) {
			own->holds.memory = UNIT;
		}
		bool broken = sum_of_others(ledger) + own->holds.memory > FIT * UNIT;
		commit(ledger);
		if (broken)
			_exit(1);
	}
	if (number % 2)
		kill(getpid(), SIGKILL);
	_exit(0);
}

static void many_processes_never_take_more_than_there_is(void **state)
{
	struct ledger *own = open_ledger(state, "own");
	int status;

	for (int i = 0; i < CONTENDERS; i++) {
		if (fork() == 0)
			contend(state, i);
	}
	for (int i = 0; i < CONTENDERS; i++) {
		assert_true(wait(&status) > 0);
		assert_false(WIFEXITED(status) && WEXITSTATUS(status) != 0);
	}
	await_free(own);
	close_ledger(state, own);
}

/* ---- entries ------------------------------------------------------------------------------ */

static void entries_come_back_as_written(void **state)
{
	struct err err = {0};
	struct ledger_entry entry = {.containers = 3,
				     .holds = {6144, 3, 2},
				     .ticket = 9,
				     .wants = {2048, 1, 1}},
			    read = {0};

	entry.job = mem_strdup("tony-20261121-061400-1f3a");
	str_list_add(&entry.gpus, "0");
	str_list_add(&entry.gpus, "MIG-7");
	char *text cleanup_free = ledger_format(&entry);
	assert_success(ledger_parse(text, strlen(text), &read, &err), &err);
	assert_text_freed(ledger_format(&read), text);
	assert_string_equal(read.gpus.items[1], "MIG-7");
	ledger_entry_finish(&entry);
	ledger_entry_finish(&read);
}

static void hostile_entries_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[1]",
		"{\"job\":7}",
		"{\"job\":\"a\",\"containers\":-1,\"holds\":{},\"gpus\":[],\"ticket\":0}",
		"{\"job\":\"a\",\"containers\":1,\"holds\":{\"memory\":-5,\"vcores\":0,\"gpus\":0},"
		"\"gpus\":[],\"ticket\":0,\"wants\":{\"memory\":0,\"vcores\":0,\"gpus\":0}}",
		"{\"job\":\"a\",\"containers\":1,\"holds\":{\"memory\":5,\"vcores\":0,\"gpus\":0},"
		"\"gpus\":[{}],\"ticket\":0,\"wants\":{\"memory\":0,\"vcores\":0,\"gpus\":0}}",
		"{\"job\":\"a\",\"containers\":1,\"holds\":{\"memory\":9e99,\"vcores\":0,"
		"\"gpus\":0},\"gpus\":[],\"ticket\":0,\"wants\":7}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err err = {0};
		struct ledger_entry entry = {0};
		assert_int_equal(ledger_parse(texts[i], strlen(texts[i]), &entry, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_null(entry.job);
		err_finish(&err);
	}
}

static void foreign_files_do_no_harm(void **state)
{
	struct ledger *own = open_ledger(state, "own");

	scratch_write(state, "ledger/dead.job", "{\"job\":\"dead\"}\n", 0600);
	scratch_write(state, "ledger/README", "hello\n", 0600);
	assert_int_equal(mkfifo(scratch_path(state, "ledger/pipe.job"), 0600), 0);
	assert_int_equal(symlink("own.job", scratch_path(state, "ledger/link.job")), 0);
	assert_others(own, "");
	assert_false(fs_exists(scratch_path(state, "ledger/dead.job")));
	assert_true(fs_exists(scratch_path(state, "ledger/README")));
	close_ledger(state, own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(jobs_see_each_other),
		scratch_test(a_killed_am_holds_as_long_as_an_executor_lives),
		scratch_test(closing_leaves_what_executors_hold),
		scratch_test(the_end_of_a_killed_job_wakes_those_who_wait),
		scratch_test(a_change_wakes_those_who_wait),
		scratch_test(a_change_of_one_job_alone_wakes_and_is_seen),
		scratch_test(the_lock_is_tried_and_not_waited_for),
		scratch_test(tickets_grow),
		scratch_test(many_processes_never_take_more_than_there_is),
		cmocka_unit_test(entries_come_back_as_written),
		cmocka_unit_test(hostile_entries_are_refused),
		scratch_test(foreign_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
