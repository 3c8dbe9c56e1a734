/* Why a container ended, in words. */
#include "../base/test.h"

#include "base/mem.h"
#include "scheduler/yarn_diagnostics.h"
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
		{28, CAUSE_NO_SPACE, "", "could not run: a disk of its machine is full"},
		{122, CAUSE_STORE_FULL, "", "could not run: a quota on its machine is used up"},
		{5, CAUSE_EXECUTOR_LOST, "", "it left with exit code 5"},
		{7, CAUSE_LAUNCH_FAILED,
		 "Exception from container-launch.\nContainer id: container_1\nExit code: "
		 "7\nException "
		 "message: Launch container failed\nShell error output: docker: Error response "
		 "from "
		 "daemon: manifest for debian:13x not found: manifest unknown.\n",
		 "could not be started by its node: Shell error output: docker: Error response "
		 "from "
		 "daemon: manifest for debian:13x"},
		{1, CAUSE_LAUNCH_FAILED,
		 "Exit code: 1\nLast 4096 bytes of stderr :\nError response from daemon: hello\n",
		 "its executor left with exit code 1"},
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

/* ---- of an AM ----------------------------------------------------------------------------- */

#define FAILED(code)                                                                               \
	"Application application_1_0004 failed 2 times due to AM Container for "                   \
	"appattempt_1_0004_000002 exited with  exitCode: " code "\n"                               \
	"Failing this attempt.Diagnostics: [2026-11-23 14:54:28.261]"
#define LAUNCH                                                                                     \
	"Exception from container-launch.\nContainer id: container_e17_1_0004_02_000001\n"         \
	"Exit code: 1\n\n"
#define EXITED                                                                                     \
	"[2026-11-23 14:54:28.264]Container exited with a non-zero exit code 1. Error file: "      \
	"prelaunch.err.\nLast 4096 bytes of prelaunch.err :\nLast 4096 bytes of am.stderr :\n"
#define LOG                                                                                        \
	"2026-11-23T14:54:28.219Z info am: up\n2026-11-23T14:54:28.219Z error am: no moon: try "   \
	"Mars\n"                                                                                   \
	"2026-11-23T14:54:28.220Z warning am: leaving\n\n\n"
#define SEE                                                                                        \
	"For more detailed output, check the application tracking page: http://rm/cluster/app/a "  \
	"Then click on links to logs of each attempt.\n. Failing the application."

static void assert_judged(const char *diagnostics, bool has_begun, const char *sentence,
			  size_t lines)
{
	struct cause cause = {0};

	yarn_diagnostics_judge_am(diagnostics, has_begun, &cause);
	char *told cleanup_free = cause_sentence(&cause);
	assert_string_equal(told, sentence);
	assert_int_equal(cause.kind, CAUSE_AM_FAILED);
	assert_int_equal(cause.tail.count, lines);
	cause_finish(&cause);
}

static void an_am_that_failed_is_told_in_its_own_words(void **state)
{
	assert_judged(FAILED("1") LAUNCH EXITED LOG EXITED LOG SEE, false,
		      "failed to start: the application master exited with code 1 (2 attempts): no "
		      "moon: try "
		      "Mars",
		      3);
	assert_judged(FAILED("1") LAUNCH EXITED LOG EXITED LOG SEE, true,
		      "the application master exited with code 1 (2 attempts): no moon: try Mars",
		      3);
	/* The shell's words, where there is no agent. */
	assert_judged(
		FAILED("127") LAUNCH EXITED "bash: ./tony-agent: No such file\n", false,
		"failed to start: the application master exited with code 127 (2 attempts): bash: "
		"./tony-agent: No such file",
		1);
}

static void an_am_that_said_nothing_is_told_in_its_nodes_words(void **state)
{
	assert_judged(
		FAILED("-104") "Container [pid=1] is running 1B beyond the limit.\nmore\n" SEE,
		true,
		"the application master went over its memory (2 attempts): Container [pid=1] is "
		"running "
		"1B beyond the limit.",
		3);
	assert_judged(FAILED("-1000") "File does not exist: hdfs://nn/x\n", false,
		      "failed to start: the application master could not be started by its node (2 "
		      "attempts): "
		      "File does not exist: hdfs://nn/x",
		      2);
	assert_judged(FAILED("1") LAUNCH EXITED, false,
		      "failed to start: the application master exited with code 1 (2 attempts): "
		      "Exception from "
		      "container-launch.",
		      7);
	assert_judged(FAILED("-1000") "ava:43)\n\tat a.B.c(B.java:1)\nCaused by: java.io.E: x\n"
				      "\tat a.B.d(B.java:2)\n\t... 30 more\nCaused by: "
				      "Permission denied: user=ada\n\tat a.B.e(B.java:3)\n",
		      false,
		      "failed to start: the application master could not be started by its node (2 "
		      "attempts): "
		      "Permission denied: user=ada",
		      4);
	assert_judged(FAILED("-101") "1/1 local-dirs are bad\n", true,
		      "the application master: its node's disks failed (2 attempts): 1/1 "
		      "local-dirs are bad",
		      2);
	assert_judged(FAILED("137") "Container killed on request. Exit code is 137\n", true,
		      "the application master was killed by SIGKILL (2 attempts): Container killed "
		      "on request. "
		      "Exit code is 137",
		      2);
	/* YARN explains no exit with code 0. */
	assert_judged(FAILED("0") "\n" SEE, true,
		      "the application master exited with code 0 (2 attempts)", 2);
	assert_judged("", true, "YARN says no more", 0);
	assert_judged("strange exitCode: x", true, "strange exitCode: x", 1);
}

static void an_application_that_waits_for_its_am_says_why(void **state)
{
	static const struct {
		const char *diagnostics, *told;
	} rows[] = {
		{"[Thu Nov 26 09:05:29 +0000 2026] Application is added to the scheduler and is "
		 "not yet "
		 "activated. Queue's AM resource limit exceeded.  Details : AM Partition = "
		 "<DEFAULT_PARTITION>; AM Resource Request = <memory:512, vCores:1>; Queue "
		 "Resource Limit "
		 "for AM = <memory:128, vCores:1>; ",
		 "waits for a container in queue ml: Queue's AM resource limit exceeded: AM "
		 "Resource "
		 "Request = <memory:512, vCores:1>; Queue Resource Limit for AM = <memory:128, "
		 "vCores:1>"},
		{"[Thu Nov 26 09:05:29 +0000 2026] Application is Activated, waiting for resources "
		 "to be "
		 "assigned for AM.  Details : AM Partition = fast ; Partition Resource = "
		 "<memory:0>",
		 "waits for a container in queue ml: AM Partition = fast ; Partition Resource = "
		 "<memory:0>"},
		{"The queue \"root.one\" has reached the maximum limit of runnable applications.",
		 "waits for a container in queue ml: The queue \"root.one\" has reached the "
		 "maximum limit "
		 "of runnable applications"},
		{"Attempt 1 failed\n[Thu Nov 26 09:05:29 +0000 2026] AM container is launched, "
		 "waiting for "
		 "AM container to Register with RM",
		 "has a container, and has not registered yet"},
		{"", "waits for a container in queue ml"},
		{NULL, "waits for a container in queue ml"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *told cleanup_free = yarn_diagnostics_waiting(rows[i].diagnostics, "ml");
		char *whole cleanup_free = mem_printf("the application master %s", rows[i].told);
		assert_string_equal(told, whole);
	}
}

static void the_end_of_an_am_before_is_told(void **state)
{
	static const struct {
		const char *diagnostics, *told;
	} rows[] = {
		{"AM Container for appattempt_1_0004_000001 exited with  exitCode: -102\n"
		 "Failing this attempt.Diagnostics: [2026-11-26 12:50:01.000]Container preempted "
		 "by scheduler\n" SEE,
		 "the application master was preempted: YARN took its container back for others"},
		{"AM Container for appattempt_1_0004_000001 exited with  exitCode: 137\n",
		 "the application master was killed by SIGKILL"},
		{"ApplicationMaster for attempt appattempt_1_0004_000001 timed out",
		 "ApplicationMaster for attempt appattempt_1_0004_000001 timed out"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *told cleanup_free = yarn_diagnostics_am_end(rows[i].diagnostics);
		assert_string_equal(told, rows[i].told);
	}
	assert_null(yarn_diagnostics_am_end("N/A"));
	assert_null(yarn_diagnostics_am_end(NULL));
}

/* A ResourceManager that has recovered an application says so: its AM may run. */
static void a_first_am_is_known_to_be_waited_for(void **state)
{
	static const struct {
		const char *diagnostics;
		bool awaits;
	} rows[] = {
		{"[Thu Nov 26 09:05:29 +0000 2026] Application is added to the scheduler and is "
		 "not yet activated. Queue's AM resource limit exceeded.",
		 true},
		{"[Thu Nov 26 09:05:29 +0000 2026] AM container is launched, waiting for AM "
		 "container to Register with RM",
		 true},
		{"Attempt recovered after RM restart", false},
		{"", false},
		{NULL, false},
	};

	for (size_t i = 0; i < array_length(rows); i++)
		assert_int_equal(yarn_diagnostics_await_am(rows[i].diagnostics), rows[i].awaits);
}

static void the_container_of_an_am_that_failed_is_known(void **state)
{
	char *id cleanup_free = yarn_diagnostics_container(FAILED("1") LAUNCH SEE);

	assert_string_equal(id, "container_e17_1_0004_02_000001");
	assert_null(yarn_diagnostics_container("N/A"));
	assert_null(yarn_diagnostics_container(NULL));
}

static void an_application_is_named_once(void **state)
{
	static const struct {
		const char *said, *told;
	} rows[] = {
		{"Application application_1_0004 was killed by user root at 127.0.0.1",
		 "the application was killed by user root at 127.0.0.1"},
		{"bob cannot submit application_1_0004 to queue ml",
		 "bob cannot submit it to queue ml"},
		{"application_1_0004 and application_1_00041", "it and application_1_00041"},
		{"see http://rm:8088/cluster/app/application_1_0004",
		 "see http://rm:8088/cluster/app/application_1_0004"},
		{"", ""},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *told cleanup_free = yarn_diagnostics_of("application_1_0004", rows[i].said);
		assert_string_equal(told, rows[i].told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_am_that_failed_is_told_in_its_own_words),
		cmocka_unit_test(an_am_that_said_nothing_is_told_in_its_nodes_words),
		cmocka_unit_test(an_application_that_waits_for_its_am_says_why),
		cmocka_unit_test(the_end_of_an_am_before_is_told),
		cmocka_unit_test(a_first_am_is_known_to_be_waited_for),
		cmocka_unit_test(the_container_of_an_am_that_failed_is_known),
		cmocka_unit_test(an_application_is_named_once),
		cmocka_unit_test(ends_are_told_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
