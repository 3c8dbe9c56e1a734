/* How a program ended, in words. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <errno.h>
#include <signal.h>

#include "base/mem.h"
#include "executor/report.h"

#define EXITED(code)   ((code) << 8)
#define KILLED(number) (number)
#define DUMPED(number) ((number) | 0x80)

enum { GIB_IN_MIB = 1024 };
#define GIB ((uint64_t)1 << 30)

struct bed {
	struct report report;
	struct job_type type;
	struct memory memory;
	struct tail tail;
	struct cause cause;
};

static const char *work_dir = ".";

static void init(struct bed *bed, int status, const char *text)
{
	*bed = (struct bed){.type = {.hold_port = true}};
	memory_init(&bed->memory, NULL, 4 * GIB_IN_MIB, NULL, false);
	tail_init(&bed->tail, 10);
	tail_feed(&bed->tail, text, strlen(text));
	tail_end(&bed->tail);
	bed->report = (struct report){
		.status = status,
		.processes = 1,
		.memory = &bed->memory,
		.tail = &bed->tail,
		.type = &bed->type,
		.port = 40001,
		.work_dir = work_dir,
	};
}

static void finish(struct bed *bed)
{
	cause_finish(&bed->cause);
	tail_finish(&bed->tail);
}

static void assert_cause(int status, enum cause_kind kind, const char *text)
{
	struct bed bed;

	init(&bed, status, "");
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, kind);
	assert_string_equal(bed.cause.text, text);
	finish(&bed);
}

static void success_has_no_cause(void **state)
{
	struct bed bed;

	init(&bed, 0, "Traceback (most recent call last):\nWarning: never mind\n");
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, CAUSE_NONE);
	assert_null(bed.cause.text);
	assert_int_equal(bed.cause.tail.count, 0);
	finish(&bed);
}

static void codes_and_signals_are_put_in_words(void **state)
{
	assert_cause(EXITED(1), CAUSE_EXIT, "exited with code 1");
	assert_cause(EXITED(127), CAUSE_EXIT, "exited with code 127: the command was not found");
	assert_cause(EXITED(126), CAUSE_EXIT,
		     "exited with code 126: the command could not be executed");
	assert_cause(EXITED(137), CAUSE_EXIT,
		     "exited with code 137, as a shell does whose program was killed by signal 9 "
		     "(SIGKILL)");
	assert_cause(EXITED(255), CAUSE_EXIT, "exited with code 255");
	assert_cause(EXITED(254), CAUSE_EXIT, "exited with code 254");
	assert_cause(EXITED(245), CAUSE_EXIT,
		     "exited with code 245, as one does whose child was killed by signal 11 "
		     "(SIGSEGV)");
	assert_cause(KILLED(SIGKILL), CAUSE_SIGNAL, "killed by signal 9 (SIGKILL)");
	assert_cause(DUMPED(SIGSEGV), CAUSE_SIGNAL, "killed by signal 11 (SIGSEGV), core dumped");
}

static void numbers_go_with_the_words(void **state)
{
	struct bed bed;

	init(&bed, EXITED(3), "one\nValueError: no data\n");
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.exit_code, 3);
	assert_int_equal(bed.cause.signal, 0);
	assert_string_equal(bed.cause.headline, "ValueError: no data");
	assert_int_equal(bed.cause.tail.count, 2);
	finish(&bed);

	init(&bed, KILLED(SIGABRT), "");
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.signal, SIGABRT);
	assert_null(bed.cause.headline);
	finish(&bed);
}

static void one_of_several_is_named(void **state)
{
	struct bed bed;

	init(&bed, EXITED(1), "");
	bed.report.process = 2;
	bed.report.processes = 4;
	report_cause(&bed.report, &bed.cause);
	assert_string_equal(bed.cause.text, "process 2 of 4 exited with code 1");
	finish(&bed);
}

static void assert_memory(int status, uint64_t peak, enum cause_kind kind, const char *text)
{
	struct bed bed;

	init(&bed, status, "");
	memory_note(&bed.memory, peak, peak);
	memory_note(&bed.memory, 0, 0);
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, kind);
	assert_string_equal(bed.cause.text, text);
	finish(&bed);
}

/* promise: R6 */
static void sigkill_near_the_limit_is_likely_for_memory(void **state)
{
	assert_memory(KILLED(SIGKILL), GIB * 39 / 10, CAUSE_OUT_OF_MEMORY,
		      "killed by signal 9 (SIGKILL), likely out of memory: "
		      "the task used 3.9 of 4.0 GiB");
	assert_memory(EXITED(137), GIB * 39 / 10, CAUSE_OUT_OF_MEMORY,
		      "exited with code 137, as a shell does whose program was killed by signal 9 "
		      "(SIGKILL), "
		      "likely out of memory: the task used 3.9 of 4.0 GiB");
	assert_memory(EXITED(247), GIB * 39 / 10, CAUSE_OUT_OF_MEMORY,
		      "exited with code 247, as one does whose child was killed by signal 9 "
		      "(SIGKILL), likely out of memory: the task used 3.9 of 4.0 GiB");
	assert_memory(KILLED(SIGKILL), GIB * 2, CAUSE_SIGNAL, "killed by signal 9 (SIGKILL)");
	assert_memory(KILLED(SIGSEGV), GIB * 39 / 10, CAUSE_SIGNAL,
		      "killed by signal 11 (SIGSEGV)");
	assert_memory(EXITED(1), GIB * 39 / 10, CAUSE_EXIT, "exited with code 1");
}

/* Whether the machine is short of memory says its kernel, and nobody guesses. */
static void what_the_kernel_killed_elsewhere_on_the_machine_is_told_of_sigkill(void **state)
{
	const int statuses[] = {KILLED(SIGKILL), EXITED(137), KILLED(SIGSEGV)};

	for (size_t i = 0; i < array_length(statuses); i++) {
		struct bed bed;
		init(&bed, statuses[i], "");
		memory_begin(&bed.memory);
		bed.memory.machine_kills--;
		report_cause(&bed.report, &bed.cause);
		assert_int_equal(strstr(bed.cause.text,
					"; the kernel has killed 1 process of its "
					"machine for want of memory meanwhile") != NULL,
				 statuses[i] != KILLED(SIGSEGV));
		cause_finish(&bed.cause);
		bed.memory.machine_kills++;
		report_cause(&bed.report, &bed.cause);
		assert_null(strstr(bed.cause.text, "for want of memory"));
		finish(&bed);
	}
}

static void the_signal_of_a_launchers_child_decides(void **state)
{
	struct bed bed;

	init(&bed, EXITED(1),
	     "Traceback (most recent call last):\n  File \"a.py\", line 3\n"
	     "subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.\n");
	memory_note(&bed.memory, GIB * 39 / 10, GIB * 39 / 10);
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, CAUSE_OUT_OF_MEMORY);
	assert_int_equal(bed.cause.signal, SIGKILL);
	assert_string_equal(bed.cause.text,
			    "exited with code 1: a program it ran was killed by signal 9 "
			    "(SIGKILL), likely out of memory: the task used 3.9 of 4.0 GiB");
	finish(&bed);
}

static void the_kernel_is_asked_what_it_killed(void **state)
{
	struct bed bed;

	scratch_write(state, "memory.events", "low 0\noom 3\noom_kill 1\n", 0600);
	init(&bed, EXITED(1), "");
	memory_init(&bed.memory, NULL, 4 * GIB_IN_MIB, scratch_path(state, "."), false);
	memory_begin(&bed.memory);
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, CAUSE_EXIT); /* that was before this program */
	cause_finish(&bed.cause);
	scratch_write(state, "memory.events", "low 0\noom 9\noom_kill 2\n", 0600);
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, CAUSE_OUT_OF_MEMORY);
	assert_string_equal(bed.cause.text,
			    "exited with code 1, out of memory: "
			    "the kernel ended a process of it at its limit of 4.0 GiB");
	finish(&bed);
}

static void assert_after_kill(void **state, int status, const char *said, enum cause_kind kind,
			      const char *text)
{
	struct bed bed;

	scratch_write(state, "memory.events", "oom_kill 0\n", 0600);
	init(&bed, status, said);
	memory_init(&bed.memory, NULL, 4 * GIB_IN_MIB, scratch_path(state, "."), false);
	memory_begin(&bed.memory);
	scratch_write(state, "memory.events", "oom_kill 1\n", 0600);
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, kind);
	assert_string_equal(bed.cause.text, text);
	finish(&bed);
}

#define ENDED  ", out of memory: the kernel ended a process of it at its limit of 4.0 GiB"
#define BEFORE "; the kernel has killed a process of it at its memory limit of 4.0 GiB before"

static void a_program_that_survived_the_kernels_kill_has_another_reason(void **state)
{
	assert_after_kill(state, EXITED(1), "KeyError: 'lr'\n", CAUSE_EXIT,
			  "exited with code 1" BEFORE);
	assert_after_kill(state, EXITED(1), "[rank0]: KeyError: 'lr'\n", CAUSE_EXIT,
			  "exited with code 1" BEFORE);
	assert_after_kill(state, KILLED(SIGSEGV), "", CAUSE_SIGNAL,
			  "killed by signal 11 (SIGSEGV)" BEFORE);
	assert_after_kill(
		state, EXITED(139), "", CAUSE_EXIT,
		"exited with code 139, as a shell does whose program was killed by signal 11 "
		"(SIGSEGV)" BEFORE);
	/* These are its words. */
	assert_after_kill(state, EXITED(1),
			  "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.\n",
			  CAUSE_OUT_OF_MEMORY, "exited with code 1" ENDED);
	assert_after_kill(state, EXITED(1),
			  "concurrent.futures.process.BrokenProcessPool: A process in the process "
			  "pool was terminated abruptly\n",
			  CAUSE_OUT_OF_MEMORY, "exited with code 1" ENDED);
	assert_after_kill(state, EXITED(1), "_queue.Empty\nEOFError\n", CAUSE_OUT_OF_MEMORY,
			  "exited with code 1" ENDED);
	assert_after_kill(state, KILLED(SIGKILL), "KeyError: 'lr'\n", CAUSE_OUT_OF_MEMORY,
			  "killed by signal 9 (SIGKILL)"
			  ", out of memory: the kernel ended it at its limit of 4.0 GiB");
}

static void what_we_ended_says_why(void **state)
{
	struct bed bed;

	init(&bed, KILLED(SIGKILL), "");
	memory_note(&bed.memory, GIB * 41 / 10, GIB * 41 / 10);
	bed.report.ended_for = CAUSE_OUT_OF_MEMORY;
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, CAUSE_OUT_OF_MEMORY);
	assert_string_equal(bed.cause.text, "ended, out of memory: the task used 4.1 of 4.0 GiB");
	finish(&bed);

	/* Also when it then managed to leave with code 0. */
	init(&bed, EXITED(0), "");
	bed.report.ended_for = CAUSE_EXECUTION_TIMEOUT;
	bed.report.timeout_ms = 5000;
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, CAUSE_EXECUTION_TIMEOUT);
	assert_text_has(bed.cause.text, "ended after its execution timeout of 5");
	finish(&bed);
}

static void assert_headline(int status, enum cause_kind ended_for, const char *said,
			    const char *expected)
{
	struct bed bed;

	init(&bed, status, said);
	bed.report.ended_for = ended_for;
	report_cause(&bed.report, &bed.cause);
	assert_string_equal(bed.cause.headline ? bed.cause.headline : "(none)", expected);
	finish(&bed);
}

static void a_signal_is_not_explained_by_what_was_said_before(void **state)
{
	assert_headline(KILLED(SIGKILL), CAUSE_NONE, "warn 10\n", "(none)");
	assert_headline(KILLED(SIGKILL), CAUSE_NONE, "ERROR: no cache\nstep 3\n", "(none)");
	assert_headline(KILLED(SIGTERM), CAUSE_NONE, "step 3\n", "(none)");
	assert_headline(EXITED(139), CAUSE_NONE, "step 3\n", "(none)");
	assert_headline(EXITED(0), CAUSE_EXECUTION_TIMEOUT, "step 3\n", "(none)");
	assert_headline(KILLED(SIGABRT), CAUSE_NONE, "what():  bad news\nstep 3\n",
			"what():  bad news");
	assert_headline(EXITED(1), CAUSE_NONE, "step 3\n", "step 3");
}

static void assert_text(const char *said, const char *expected)
{
	struct bed bed;

	init(&bed, EXITED(127), said);
	report_cause(&bed.report, &bed.cause);
	assert_string_equal(bed.cause.text, expected);
	finish(&bed);
}

static void a_missing_interpreter_is_named(void **state)
{
	scratch_write(state, "crlf", "#!/usr/bin/python3\r\nprint(1)\r\n", 0755);
	scratch_write(state, "none", "#! /no/such/interpreter -u\n", 0755);
	scratch_write(state, "elf", "\177ELF", 0755);
	work_dir = scratch_path(state, ".");
	assert_text(
		"bash: line 1: ./crlf: cannot execute: required file not found\n",
		"exited with code 127: the #! line of ./crlf ends in a carriage return; convert "
		"it with sed -i 's/\\r$//' ./crlf");
	assert_text(
		"bash: line 1: ./none: cannot execute: required file not found\n",
		"exited with code 127: ./none asks for /no/such/interpreter in its #! line, which "
		"is not there");
	assert_text("bash: line 1: ./elf: cannot execute: required file not found\n",
		    "exited with code 127: the loader that ./elf was linked for is not on this "
		    "machine");
	assert_text("/usr/bin/env: \u2018python3\\r\u2019: No such file or directory\n"
		    "/usr/bin/env: use -[v]S to pass options in shebang lines\n",
		    "exited with code 127: the #! line of its script ends in a carriage return; "
		    "convert it with sed -i 's/\\r$//' SCRIPT");
	assert_text("bash: line 1: traim: command not found\n",
		    "exited with code 127: the command was not found");
}

/* `init` lists ten lines. */
static void an_exception_is_found_above_many_warnings(void **state)
{
	struct str text cleanup_str = {0};

	str_append(&text, "Traceback (most recent call last):\n  File \"a.py\", line 2\n"
			  "ValueError: no data\n");
	for (int i = 0; i < 30; i++)
		str_append_format(&text, "/x.py:%d: UserWarning: leaked\n", i);
	assert_headline(EXITED(1), CAUSE_NONE, text.text, "ValueError: no data");
}

static enum cause_kind kind_for(int status, bool held, const char *text)
{
	struct bed bed;

	init(&bed, status, text);
	bed.report.port_guard = held ? PORT_SHARED : PORT_OPEN;
	report_cause(&bed.report, &bed.cause);
	enum cause_kind kind = bed.cause.kind;
	if (kind == CAUSE_PORT_TAKEN) {
		assert_text_has(bed.cause.text, "could not bind its port 40001");
		assert_int_equal(strstr(bed.cause.text, "SO_REUSEADDR") != NULL, held);
	}
	finish(&bed);
	return kind;
}

static void a_taken_port_is_recognised(void **state)
{
	static const char python[] = "Traceback (most recent call last):\n  File \"a.py\"\n"
				     "OSError: [Errno 98] Address already in use\n";

	assert_int_equal(kind_for(EXITED(1), true, python), CAUSE_PORT_TAKEN);
	assert_int_equal(kind_for(EXITED(1), false, python), CAUSE_PORT_TAKEN);
	assert_int_equal(
		kind_for(EXITED(1), false,
			 "cannot listen on 127.0.0.1:40001: EADDRINUSE\nRuntimeError: x\n"),
		CAUSE_PORT_TAKEN);
	assert_int_equal(
		kind_for(EXITED(1), true,
			 "E0000 00:00:1795260884.145859   25948 add_port.cc:83] Failed to "
			 "add port to server: No address added out of total 1 resolved for "
			 "'0.0.0.0:40001'\n"
			 "UnknownError: Could not start gRPC server\n"),
		CAUSE_PORT_TAKEN);
	assert_int_equal(kind_for(EXITED(1), true,
				  "[LightGBM] [Fatal] Binding port 40001 failed\n"
				  "lightgbm.basic.LightGBMError: Binding port 40001 failed\n"),
			 CAUSE_PORT_TAKEN);
	assert_int_equal(
		kind_for(EXITED(1), true, "[LightGBM] [Fatal] Binding port 12400 failed\n"),
		CAUSE_EXIT);
	/* Another port, and not what it died of. */
	assert_int_equal(kind_for(EXITED(1), false,
				  "port 8265: address already in use, taking the next\n"
				  "ValueError: no data\n"),
			 CAUSE_EXIT);
	assert_int_equal(kind_for(EXITED(0), false, python), CAUSE_NONE);
}

static void assert_port_advice(bool is_strict, enum port_guard guard, const char *theft,
			       enum cause_kind kind, const char *advice, const char *no_advice)
{
	struct bed bed;

	init(&bed, EXITED(1), "OSError: [Errno 98] Address already in use\n");
	bed.type.strict_port = is_strict;
	bed.report.port_guard = guard;
	bed.report.theft = theft;
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, kind);
	assert_text_has(bed.cause.text, advice);
	assert_null(strstr(bed.cause.text, no_advice));
	finish(&bed);
}

static void the_advice_for_a_taken_port_is_the_right_one(void **state)
{
	/* Whether it sets no option, or was too late, is not known. */
	assert_port_advice(false, PORT_SHARED, NULL, CAUSE_PORT_TAKEN, "nobody else has it now",
			   "-port=");
	assert_port_advice(true, PORT_STRICT, NULL, CAUSE_PORT_TAKEN, "strict-port=false",
			   "hold-port");
	assert_port_advice(false, PORT_STRICT, NULL, CAUSE_PORT_TAKEN, "the next one is not held",
			   "-port=");
	assert_port_advice(false, PORT_SHARED, "port 40001 was taken by uid 1002",
			   CAUSE_PORT_STOLEN,
			   "exited with code 1; port 40001 was taken by uid 1002", "-port=");
}

static void assert_room(void **state, const char *lines, const char *headline, const char *text)
{
	struct bed bed;

	init(&bed, EXITED(1), lines);
	bed.report.work_dir = scratch_path(state, "disk");
	report_cause(&bed.report, &bed.cause);
	assert_int_equal(bed.cause.kind, CAUSE_EXIT);
	assert_string_equal(bed.cause.headline, headline);
	if (text)
		assert_text_has(bed.cause.text, text);
	else
		assert_string_equal(bed.cause.text, "exited with code 1");
	finish(&bed);
}

/* promise: R59 */
static void a_full_disk_is_found_above_the_last_line(void **state)
{
	char *where cleanup_free = NULL, *python cleanup_free = NULL;
	const char *dd = "dd: error writing 'out': No space left on device";
	const char *other = "dd: error writing 'elsewhere': No space left on device";

	scratch_mount(state, "disk", 128);
	scratch_fill(state, "disk/out");
	where = mem_printf("exited with code 1; no space left on %s (tmpfs: 0 B of 128 KiB free)",
			   scratch_path(state, "disk"));
	char *lines cleanup_free = mem_printf("%s\n1+0 records in\n64 kB copied\n", dd);
	assert_room(state, lines, dd, where);
	mem_replace(&lines, mem_printf("%s\n0+0 records out\n", other));
	assert_room(state, lines, other, NULL);
	/* Of two exceptions the first led to the second; of a warning nobody knows. */
	python = mem_printf("OSError: [Errno 28] No space left on device: '%s/new'",
			    scratch_path(state, "disk"));
	mem_replace(&lines, mem_printf("%s\nRuntimeError: not saved\n", python));
	assert_room(state, lines, python, where);
	assert_room(state, "warning: no cache: No space left on device\nValueError: no data\n",
		    "ValueError: no data", NULL);
	assert_room(state, "cat: write error: Disk quota exceeded\nmake: *** [all] Error 1\n",
		    "cat: write error: Disk quota exceeded", NULL);
	assert_room(state, "sh: /dev/full: No space left on device\n",
		    "sh: /dev/full: No space left on device", NULL);
}

/* promise: R59 */
static void a_full_disk_without_a_file_is_that_of_the_checkpoints(void **state)
{
	const char *line = "OSError: [Errno 28] No space left on device";
	char *where cleanup_free = NULL;
	struct bed bed;

	scratch_mount(state, "checkpoints", 128);
	scratch_fill(state, "checkpoints/old");
	init(&bed, EXITED(1), "OSError: [Errno 28] No space left on device\n");
	bed.report.work_dir = scratch_path(state, "");
	bed.report.checkpoint_dir = scratch_path(state, "checkpoints");
	report_cause(&bed.report, &bed.cause);
	assert_string_equal(bed.cause.headline, line);
	where = mem_printf("no space left on %s (tmpfs: 0 B of 128 KiB free)",
			   bed.report.checkpoint_dir);
	assert_text_has(bed.cause.text, where);
	finish(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(success_has_no_cause),
		cmocka_unit_test(codes_and_signals_are_put_in_words),
		cmocka_unit_test(numbers_go_with_the_words),
		cmocka_unit_test(one_of_several_is_named),
		cmocka_unit_test(sigkill_near_the_limit_is_likely_for_memory),
		cmocka_unit_test(
			what_the_kernel_killed_elsewhere_on_the_machine_is_told_of_sigkill),
		cmocka_unit_test(the_signal_of_a_launchers_child_decides),
		scratch_test(the_kernel_is_asked_what_it_killed),
		scratch_test(a_program_that_survived_the_kernels_kill_has_another_reason),
		cmocka_unit_test(what_we_ended_says_why),
		cmocka_unit_test(a_signal_is_not_explained_by_what_was_said_before),
		cmocka_unit_test(an_exception_is_found_above_many_warnings),
		scratch_test(a_missing_interpreter_is_named),
		cmocka_unit_test(a_taken_port_is_recognised),
		cmocka_unit_test(the_advice_for_a_taken_port_is_the_right_one),
		scratch_test(a_full_disk_is_found_above_the_last_line),
		scratch_test(a_full_disk_without_a_file_is_that_of_the_checkpoints),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
