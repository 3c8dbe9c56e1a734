/* Why a container ended, in words. */
#include "../base/test.h"

#include "base/mem.h"
#include "scheduler/yarn_internal.h"

static void ends_are_told_in_words(void **state)
{
	static const struct {
		int status;
		enum cause_kind kind;
		const char *said, *part;
	} rows[] = {
		{-100, CAUSE_NODE_LOST, "Container released on a *lost* node", "lost its node"},
		{-102, CAUSE_PREEMPTED, "Container preempted by scheduler", "was preempted"},
		{-104, CAUSE_OUT_OF_MEMORY,
		 "[2026-11-21 14:00:00.000]Container [pid=1] is running 1B beyond the limit.\nmore",
		 "of 128 MiB (tony.worker.memory): Container [pid=1] is running 1B beyond"},
		{-1000, CAUSE_LAUNCH_FAILED, "File does not exist: hdfs://nn/x",
		 "could not be started by its node: File does not exist"},
		/* Nothing of these is its machine's fault. */
		{-106, CAUSE_CONTAINER_STOPPED, "Container killed by the ResourceManager",
		 "killed by the ResourceManager"},
		{-107, CAUSE_CONTAINER_STOPPED, "Container killed on app-finish event",
		 "application had ended"},
		{137, CAUSE_EXECUTOR_LOST, "", "killed by signal 9 (SIGKILL)"},
		{127, CAUSE_LAUNCH_FAILED, "", "exit code 127"},
		{5, CAUSE_EXECUTOR_LOST, "", "it left with exit code 5"},
		{-31000, CAUSE_EXECUTOR_LOST, "strange", "exit status -31000: strange"},
	};
	struct cause cause = {0};
	const struct job_type type = {.name = (char *)"worker", .memory = 128};

	for (size_t i = 0; i < array_length(rows); i++) {
		Hadoop__ContainerStatusProto status = HADOOP__CONTAINER_STATUS_PROTO__INIT;
		status.has_exit_status = true;
		status.exit_status = rows[i].status;
		status.diagnostics = (char *)rows[i].said;
		yarn_judge(&cause, &type, &status, NULL);
		assert_int_equal(cause.kind, rows[i].kind);
		assert_non_null(strstr(cause.text, rows[i].part));
	}
	cause_finish(&cause);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_told_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
