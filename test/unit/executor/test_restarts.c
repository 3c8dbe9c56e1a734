/* Launchers inside of a task start things again by themselves. */
#include "../base/test.h"

#include "base/mem.h"
#include "executor/restarts.h"

static void assert_restarts(const char *text, int64_t count, const char *last)
{
	struct restarts restarts = {0};
	struct restarts_reader reader = {.restarts = &restarts};

	for (const char *byte = text; *byte; byte++)
		restarts_read(&reader, byte, 1);
	assert_int_equal(restarts.count, count);
	assert_string_equal(restarts.text ? restarts.text : "(none)", last);
	restarts_finish(&restarts);
	restarts_reader_finish(&reader);
}

#define KILLED                                                                                     \
	"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 1 " \
	"(pid: 31224) of binary: /usr/bin/python3\n"
#define FAILED                                                                                     \
	"E1121 11:50:35.388000 14130 api.py:1002] failed (exitcode: 3) local_rank: 0 (pid: 7) of " \
	"binary: /usr/bin/python3\n"

/* The last one is the end: the report follows. */
static void torchrun_starts_its_ranks_again(void **state)
{
	assert_restarts("rank 1\n", 0, "(none)");
	assert_restarts("rank 1\n" KILLED "rank 1\n", 1,
			"torchrun: rank 1 here was killed by signal 9 (SIGKILL)");
	assert_restarts(KILLED FAILED "rank 1\n", 2, "torchrun: rank 0 here exited with code 3");
	assert_restarts(KILLED "rank 1\n" KILLED "Traceback (most recent call last):\n"
			       "  File \"bin/torchrun\", line 8\n",
			1, "torchrun: rank 1 here was killed by signal 9 (SIGKILL)");
}

/* torchrun's default level tells nothing between one run and the next. */
static void a_crash_loop_of_exceptions_is_counted(void **state)
{
	static const char traceback[] = "Traceback (most recent call last):\n"
					"  File \"x.py\", line 1\nValueError: no data\n";
	char *loop cleanup_free = mem_printf("%s" FAILED "%s" FAILED "%s" FAILED "%s", traceback,
					     traceback, traceback, traceback /* torchrun's */);

	assert_restarts(loop, 2, "torchrun: rank 0 here exited with code 3");
}

static void so_do_dask_and_ray(void **state)
{
	assert_restarts("2026-11-28 19:55:46,101 - distributed.nanny - WARNING - Restarting worker "
			"(status=Status.running)\n",
			1,
			"Dask: distributed.nanny - WARNING - Restarting worker "
			"(status=Status.running)");
	assert_restarts(
		"\x1b[33m(raylet)\x1b[0m A worker died or was killed while executing a task "
		"by an unexpected system error. To troubleshoot\n",
		1,
		"Ray: A worker died or was killed while executing a task by an unexpected "
		"system error. To troubleshoot");
	assert_restarts("\x1b[36m(TrainController pid=2124)\x1b[0m [FailurePolicy] RETRY\n", 1,
			"Ray Train: [FailurePolicy] RETRY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(torchrun_starts_its_ranks_again),
		cmocka_unit_test(a_crash_loop_of_exceptions_is_counted),
		cmocka_unit_test(so_do_dask_and_ray),
	};

	return cmocka_run_group_tests_name("restarts", tests, NULL, NULL);
}
