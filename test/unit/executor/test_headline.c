/* The line of stderr that says most about the end of a program. */
#include "../base/test.h"

#include "base/mem.h"
#include "executor/aside.h"
#include "executor/headline.h"
#include "executor/launcher.h"

static void split(const char *text, struct str_list *lines)
{
	const char *next;

	for (; *text; text = *next ? next + 1 : next) {
		next = strchrnul(text, '\n');
		str_list_take(lines, mem_strndup(text, (size_t)(next - text)));
	}
}

static void assert_exit(int code, const char *text, const char *expected)
{
	struct str_list lines = {0};
	struct headline headline;

	split(text, &lines);
	headline_find(&lines, &lines, code, &headline);
	if (expected)
		assert_string_equal(headline.text ? headline.text : "(none)", expected);
	else
		assert_null(headline.text);
	headline_finish(&headline);
	str_list_finish(&lines);
}

static void assert_headline(const char *text, const char *expected)
{
	assert_exit(1, text, expected);
}

static void a_traceback_ends_in_the_headline(void **state)
{
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"    main()\n"
			"ValueError: no data\n",
			"ValueError: no data");
	/* Something may be printed behind it. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"KeyboardInterrupt\n"
			"closing files\nerror: could not flush\n",
			"KeyboardInterrupt");
	/* Of a chain the last one is what reached the top. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"a.py\", line 1\n"
			"KeyError: 'x'\n\n"
			"During handling of the above exception, another exception occurred:\n\n"
			"Traceback (most recent call last):\n"
			"  File \"a.py\", line 2\n"
			"RuntimeError: cannot load x\n",
			"RuntimeError: cannot load x");
	/* torchrun and loggers put a prefix before each line. */
	assert_headline("[rank1]: Traceback (most recent call last):\n"
			"[rank1]:   File \"a.py\", line 2\n"
			"[rank1]: RuntimeError: boom\n",
			"[rank1]: RuntimeError: boom");
	/* A progress bar was left where it was. */
	assert_headline(" 50%|####    | 5/10Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"Missing: no step 7\n"
			"bye\n",
			"Missing: no step 7");
	/* rich puts a frame around it. */
	assert_headline("\u256d\u2500 Traceback (most recent call last) \u2500\u256e\n"
			"\u2502 train.py:16 in <module> \u2502\n\u2570\u2500\u256f\n"
			"Missing: no step 7\n"
			"bye\n",
			"Missing: no step 7");
	/* The traceback's head has scrolled away. */
	assert_headline("    main()\n"
			"torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
			"bye\n",
			"torch.cuda.OutOfMemoryError: CUDA out of memory.");
	/* The program printed the rest later, about something else. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"ValueError: no data\n\nSaved 3 checkpoints\nbye\n",
			"ValueError: no data");
	assert_headline("Process 0: loading data\nTraceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"ValueError: no data\nError: telemetry is off\n",
			"ValueError: no data");
	/* Cut off in the middle. */
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3\n",
			"File \"train.py\", line 3");
}

static void other_errors_are_found(void **state)
{
	assert_headline("loading\nterminate called after throwing an instance of 'E'\n"
			"  what():  bad news\n\n",
			"what():  bad news");
	assert_headline("Segmentation fault (core dumped)\nbye\n",
			"Segmentation fault (core dumped)");
	assert_headline("bash: line 1: traim: command not found\n",
			"bash: line 1: traim: command not found");
	assert_headline("error: no such option: --epcohs\nsee --help\n",
			"error: no such option: --epcohs");
}

static void errors_of_other_languages_are_found(void **state)
{
	static const char java[] = "Exception in thread \"main\" java.lang.RuntimeException: boom\n"
				   "\tat Main.main(Main.java:1)\n";
	char *caused cleanup_free = mem_printf(
		"%sCaused by: java.lang.IllegalStateException: inner\n\tat M.f(M.java:2)\n", java);

	assert_headline(java, "Exception in thread \"main\" java.lang.RuntimeException: boom");
	assert_headline(caused, "Caused by: java.lang.IllegalStateException: inner");
	assert_headline("Caused by: java.lang.X: y\nno data\n", "no data");
	assert_headline("Error in f(x) : no data\nCalls: f\nExecution halted\n",
			"Error in f(x) : no data");
	assert_headline("Error in f(x) : \n  no data\nCalls: f\nExecution halted\n",
			"Error in f(x) : no data");
	assert_headline("\nthread 'main' (26253) panicked at p.rs:1:65:\n"
			"loading shard: \"no data\"\nstack backtrace:\n   0: p::main\n"
			"note: run with `RUST_BACKTRACE=1` environment variable\n",
			"thread 'main' (26253) panicked at p.rs:1:65: loading shard: \"no data\"");
}

/* As a TaskGroup of Python 3.11 prints it: the others were canceled. */
static void of_an_exception_group_the_first_is_told(void **state)
{
	assert_headline(
		"  + Exception Group Traceback (most recent call last):\n"
		"  |   File \"g.py\", line 9, in <module>\n"
		"  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n"
		"  +-+---------------- 1 ----------------\n"
		"    | Traceback (most recent call last):\n"
		"    |   File \"g.py\", line 2, in a\n"
		"    | ValueError: first\n"
		"    +---------------- 2 ----------------\n"
		"    | Traceback (most recent call last):\n"
		"    |   File \"g.py\", line 4, in b\n"
		"    | asyncio.exceptions.CancelledError\n"
		"    | \n"
		"    | During handling of the above exception, another exception occurred:\n"
		"    | \n"
		"    | Traceback (most recent call last):\n"
		"    |   File \"g.py\", line 5, in b\n"
		"    | RuntimeError: second\n"
		"    +------------------------------------\n",
		"ValueError: first");
}

static void a_framed_paragraph_begins_with_what_it_is_about(void **state)
{
	assert_headline("-----\nelse\n-----\n-----\n"
			"mpirun noticed that rank 1 exited on signal 9 (Killed).\n"
			"It says more.\n-----\n\n",
			"mpirun noticed that rank 1 exited on signal 9 (Killed).");
	assert_headline("-----\nabout\n-----\nbye\n", "bye");
	assert_headline("more\n-----\n", "more");
}

static void else_it_is_the_last_line_that_says_anything(void **state)
{
	assert_headline("one\ntwo\n\n  \n", "two");
	assert_headline("lost the connection {\n  }\n^^^^\n", "lost the connection {");
	assert_headline("", NULL);
	assert_headline("\n \n", NULL);
}

static void what_is_told_all_along_is_no_headline(void **state)
{
	static const char told[] =
		"E0000 00:00:1795255217.362980   32320 server.cc:1061] Could not start\n"
		"I0000 00:00:1795255901.215822   11536 port.cc:153] oneDNN: see https://x\n"
		"W0000 00:00:1795255933.264338   12928 dataset.cc:997] ERROR messages are on\n";

	assert_headline(told,
			"E0000 00:00:1795255217.362980   32320 server.cc:1061] Could not start");
	assert_headline(strchr(told, '\n') + 1, NULL);
	assert_headline("Windows 2000 is] gone\n", "Windows 2000 is] gone");
	static const char *const lines[] = {"INFO:root:epoch 3 done, loss 0.31\n",
					    "2026-11-29 11:59:12,074 INFO epoch 3 done\n",
					    "[DEBUG] epoch 3\n",
					    "11:59:12 - train.main - INFO - epoch 3\n"};
	for (size_t i = 0; i < array_length(lines); i++) {
		char *behind cleanup_free = mem_printf("the data is gone\n%s", lines[i]);
		assert_headline(lines[i], NULL);
		assert_headline(behind, "the data is gone");
	}
	static const char *const causes[] = {
		"the INFO file is gone",     "INFORMATION_SCHEMA is gone",
		"DEBUG_TOKEN must be set",   "INFO.json: cannot be read",
		"DEBUG=1 is not allowed",    "NO GPU INFO AVAILABLE, GIVING UP",
		"E: DEBUG build cannot run",
	};
	for (size_t i = 0; i < array_length(causes); i++)
		assert_headline(causes[i], causes[i]);
}

static void a_warning_is_no_headline(void **state)
{
	assert_headline("no data, giving up\n"
			"/x/train.py:3: DeprecationWarning: the old API is deprecated\n"
			"  warnings.warn(\"the old API is deprecated\", DeprecationWarning)\n",
			"no data, giving up");
	assert_headline("train.py:7: UserWarning: ERROR handling is old\n  api.call(x)\n"
			"WARNING:root:file not found\n",
			NULL);
	assert_headline("ValueError: no data\nUserWarning: 3 leaked semaphores\n",
			"ValueError: no data");
}

static void an_error_that_speaks_of_a_warning_is_one(void **state)
{
	static const char *const lines[] = {
		"error: cannot parse WARNING_LEVEL",
		"RuntimeError: Warning: level too high",
		"FATAL: 100%| disk full",
	};

	for (size_t i = 0; i < array_length(lines); i++)
		assert_headline(lines[i], lines[i]);
	assert_headline("no data\n10%|# | step: error: 3\n", "no data");
}

static void a_message_of_several_lines_is_told_whole(void **state)
{
	assert_headline("Traceback (most recent call last):\n"
			"  File \"train.py\", line 3, in <module>\n"
			"ValueError: Exception encountered when calling Dense.call().\n"
			"\n"
			"Input has shape (2, 3).\n"
			"\n"
			"Arguments received by Dense.call():\n"
			"  \u2022 inputs=tf.Tensor(shape=(2, 3))\n"
			"/x.py:9: UserWarning: 3 leaked semaphores\n"
			"  warn(x)\n",
			"ValueError: Exception encountered when calling Dense.call(). "
			"Input has shape (2, 3). Arguments received by Dense.call(): "
			"\u2022 inputs=tf.Tensor(shape=(2, 3))");
	assert_headline("ValueError: Exception encountered when calling Dense.call().\n\n"
			"Arguments received by Dense.call():\n  x=1\nepoch 3 done\n",
			"ValueError: Exception encountered when calling Dense.call(). "
			"Arguments received by Dense.call(): x=1");
	assert_headline("[rank0]: Traceback (most recent call last):\n"
			"[rank0]:   File \"a.py\", line 2\n"
			"[rank0]: RuntimeError: Error(s) in loading state_dict for Net:\n"
			"[rank1]: bye\n"
			"[rank0]: \tMissing key(s) in state_dict: \"fc.bias\".\n",
			"[rank0]: RuntimeError: Error(s) in loading state_dict for Net: "
			"Missing key(s) in state_dict: \"fc.bias\".");
}

/* TensorFlow says last what was wrong, so the middle is left out. */
static void a_long_message_keeps_its_beginning_and_its_end(void **state)
{
	struct str text cleanup_str = {0};
	struct str_list lines cleanup_str_list = {0};

	str_append(&text, "Traceback (most recent call last):\n  File \"a.py\", line 2\n"
			  "InvalidArgumentError: Graph execution error:\n\n");
	for (int i = 0; i < 200; i++)
		str_append_format(&text, "node %d\n", i);
	str_append(&text, "logits and labels must have the same first dimension\n");
	split(text.text, &lines);
	char *line cleanup_free = headline_of_signal(&lines, &lines);
	assert_true(strlen(line) < 2 * HEADLINE_CAP);
	assert_true(
		str_starts_with(line, "InvalidArgumentError: Graph execution error: ... node "));
	assert_true(str_ends_with(line, "node 199 logits and labels must have the same first "
					"dimension"));
}

/* ---- what stands behind the reason -------------------------------------------------------- */

#define FRAMES "  File \"a.py\", line 3, in f\n    g()\n"
#define KEY_ERROR                                                                                  \
	"Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n"           \
	"KeyError: 'lr'\n"

static void assert_behind(const char *noise)
{
	char *text cleanup_free = mem_printf(KEY_ERROR "%s", noise);

	assert_headline(text, "KeyError: 'lr'");
}

/* As Python 3.11 prints it. */
static void what_nobody_can_catch_is_not_told_for_what_ended_the_program(void **state)
{
	assert_behind("Exception ignored in: <function Pool.__del__ at 0x7f3a>\n"
		      "Traceback (most recent call last):\n" FRAMES
		      "OSError: [Errno 9] Bad file descriptor\n");
	assert_behind("--- Logging error ---\nTraceback (most recent call last):\n" FRAMES
		      "ValueError: I/O operation on closed file.\n"
		      "Call stack:\n  File \"a.py\", line 9, in <module>\n    main()\n"
		      "Message: 'the last %s'\nArguments: ('word',)\n");
	assert_behind("Error in atexit._run_exitfuncs:\nTraceback (most recent call last):\n" FRAMES
		      "RuntimeError: cannot schedule new futures after shutdown\n");
	assert_behind("Exception in thread QueueFeederThread:\nTraceback (most recent call "
		      "last):\n" FRAMES "BrokenPipeError: [Errno 32] Broken pipe\n\n"
		      "During handling of the above exception, another exception occurred:\n\n"
		      "Traceback (most recent call last):\n" FRAMES "OSError: handle is closed\n");
	assert_behind("Exception in thread Thread-1 (beat):\n"
		      "Traceback (most recent call last):\n" FRAMES "ConnectionError: bye\n");
	assert_behind("Task exception was never retrieved\n"
		      "future: <Task finished name='Task-2' coro=<f() done> exception=OSError()>\n"
		      "Traceback (most recent call last):\n" FRAMES "OSError: closed\n");
	assert_behind("ERROR:asyncio:Exception in callback f()\nhandle: <Handle f()>\n"
		      "Traceback (most recent call last):\n" FRAMES "OSError: closed\n");
	assert_behind("Process SpawnProcess-1:\nTraceback (most recent call last):\n" FRAMES
		      "KeyboardInterrupt\n");
	assert_behind(
		"Traceback (most recent call last):\n"
		"  File \"/usr/lib/python3.11/multiprocessing/resource_tracker.py\", line 239, "
		"in main\n    cache[rtype].remove(name)\n    ~~~~~^^^\nKeyError: '/psm_1'\n");
	/* The program's own stands below that of its excepthook. */
	assert_headline("Error in sys.excepthook:\nTraceback (most recent call last):\n" FRAMES
			"NameError: name 'x' is not defined\n\nOriginal exception was:\n" KEY_ERROR,
			"KeyError: 'lr'");
}

/* A launcher that fails because its child did says less than the child. */
static void a_wrapper_is_not_told_for_its_child(void **state)
{
	static const char wrapper[] =
		"Traceback (most recent call last):\n  File \"bin/accelerate\", line 8\n"
		"subprocess.CalledProcessError: Command '['python3', 'train.py']' returned "
		"non-zero exit status 1.\n";

	assert_behind(wrapper);
	assert_behind("\nERROR conda.cli.main_run:execute(49): `conda run python3 train.py` "
		      "failed. (See above for error)\n");
	assert_behind("make: *** [Makefile:3: train] Error 1\n");
	assert_behind("srun: error: n1: task 0: Exited with exit code 1\n");
	assert_behind("Traceback (most recent call last):\n" FRAMES
		      "concurrent.futures.process.BrokenProcessPool: A process in the process "
		      "pool was terminated abruptly\n\n"
		      "The above exception was the direct cause of the following exception:\n\n"
		      "Traceback (most recent call last):\n" FRAMES
		      "RuntimeError: preprocessing failed\n");
	assert_headline("x.c:3: error: expected ';'\n"
			"Traceback (most recent call last):\n" FRAMES
			"subprocess.CalledProcessError: Command 'cc x.c' returned non-zero exit "
			"status 1.\n",
			"x.c:3: error: expected ';'");
	/* Of a child that said nothing it is all there is. */
	assert_headline(wrapper, "subprocess.CalledProcessError: Command '['python3', 'train.py']' "
				 "returned non-zero exit status 1.");
}

/* Where nothing else is there, it may be the reason. */
static void an_exception_of_a_thread_is_better_than_none(void **state)
{
	static const char thread[] =
		"Exception in thread Thread-1:\n"
		"Traceback (most recent call last):\n" FRAMES "ValueError: no data\n";
	char *text cleanup_free = mem_printf("%sbye\n", thread);

	char *words cleanup_free = mem_printf("%scould not load epoch 3\n", thread);

	assert_headline(text, "ValueError: no data");
	assert_headline(words, "could not load epoch 3");
	assert_headline("the goal was missed\nException ignored in: <f>\n"
			"Traceback (most recent call last):\n" FRAMES "OSError: closed\n",
			"the goal was missed");
	assert_headline("Exception ignored in: <f>\nTraceback (most recent call last):\n" FRAMES
			"OSError: closed\n",
			"OSError: closed");
}

static void the_reason_is_found_above_more_than_is_listed(void **state)
{
	struct str_list all cleanup_str_list = {0}, listed cleanup_str_list = {0};
	struct headline headline;

	split(KEY_ERROR, &all);
	for (int i = 0; i < 9; i++)
		split("Exception ignored in: <f>\nTraceback (most recent call last):\n" FRAMES
		      "OSError: closed\n",
		      &listed);
	str_list_copy(&all, &listed);
	headline_find(&listed, &all, 1, &headline);
	assert_string_equal(headline.text, "KeyError: 'lr'");
	headline_finish(&headline);
}

static void what_follows_is_not_glued_on(void **state)
{
	assert_behind("\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack "
		      "trace.\n");
	assert_behind("\nEpoch 0:   3%|3         | 1/30 [00:00<00:07,  3.9it/s]\n");
	assert_behind("\nINFO:root:bye\n");
	assert_behind("\n2026-11-28 20:38:21,123 INFO bye\n");
	assert_behind("\nwandb: Find logs at: ./wandb/run-1/logs\n");
	assert_behind("  \n    \n");
	assert_headline("  + Exception Group Traceback (most recent call last):\n"
			"  |   File \"a.py\", line 3, in <module>\n"
			"  | ExceptionGroup: shards (1 sub-exception)\n"
			"  +-+---------------- 1 ----------------\n"
			"    | Traceback (most recent call last):\n"
			"    |   File \"a.py\", line 2, in read\n"
			"    | ValueError: bad shard 7\n"
			"    +------------------------------------\n",
			"ValueError: bad shard 7");
	assert_headline("  | ExceptionGroup: shards (1 sub-exception)\n"
			"  +-+---------------- 1 ----------------\n"
			"    | ValueError: bad shard 7\n"
			"    +------------------------------------\n",
			"ValueError: bad shard 7");
}

/* One for each row of the table. */
static void every_row_of_the_table_fits_something(void **state)
{
	static const char *const lines[] = {
		"Exception ignored in: <function Pool.__del__ at 0x7f3a>",
		"--- Logging error ---",
		"Error in atexit._run_exitfuncs:",
		"Error in sys.excepthook:",
		"Exception in threading.excepthook:",
		"Exception in thread QueueFeederThread:",
		"unhandled exception during asyncio.run() shutdown",
		"an error occurred during closing of asynchronous generator <f>",
		"Fatal error on SSL transport",
		"Fatal error on transport TCPTransport",
		"Call stack:",
		"Message: 'the last %s'",
		"Arguments: ('word',)",
		"Exception in thread Thread-1 (beat):",
		"Process SpawnProcess-1:",
		"Exception in callback f()",
		"Task exception was never retrieved",
		"Future exception was never retrieved",
		"future: <Task finished name='Task-2'>",
		"handle: <Handle f()>",
		"task: <Task pending name='Task-2'>",
		"protocol: <asyncio.sslproto.SSLProtocol object at 0x7f3a>",
		"transport: <_SelectorSocketTransport fd=7>",
		"During handling of the above exception, another exception occurred:",
		"The above exception was the direct cause of the following exception:",
		"E1121 11:50:35.388000 14130 api.py:1002] failed (exitcode: 1) local_rank: 0",
		"Sending process 14170 closing signal SIGTERM",
		"Setting OMP_NUM_THREADS environment variable for each process to be 1",
		"[2026-11-28 20:38:21,123] [INFO] [launch.py:319:sigkill_handler] Killing 12",
		"srun: error: n1: task 0: Exited with exit code 1",
		"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-28T20:38:21 ***",
		"make: *** [Makefile:3: train] Error 1",
		"make[1]: *** [Makefile:3: train] Error 1",
		"error: Recipe `train` failed on line 3 with exit code 1",
		"ERROR conda.cli.main_run:execute(49): `conda run python3 a.py` failed.",
		"Command exited with non-zero status 1",
		"npm ERR! Exit status 1",
		"train.py:3: DeprecationWarning: the old API",
		"warning: the old API",
		"WARNING:root:file not found",
		"  warnings.warn(\"the old API\")",
		"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96",
		"Exception raised from checkTimeout at ProcessGroupNCCL.cpp:632",
		"Thread 0x00007f3a (most recent call first):",
		"Current thread 0x00007f3a (most recent call first):",
		"Extension modules: numpy.core (total: 1)",
		"Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
		"note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
		"Execution halted",
		"Calls: f -> g",
		"wandb: Find logs at: ./wandb/run-1/logs",
		" 50%|####    | 5/10",
	};

	assert_int_equal(array_length(lines), aside_count());
	for (size_t i = 0; i < array_length(lines); i++) {
		const struct aside *row = aside_find(lines[i]);
		assert_non_null(row);
		assert_int_equal(aside_number(row), i);
		if (row->kind == ASIDE_LINE)
			assert_headline(lines[i], NULL);
	}
	assert_null(aside_find("wandb: ERROR no API key"));
	assert_null(aside_find("srun: error: Unable to allocate resources"));
}

/* ---- native code -------------------------------------------------------------------------- */

#define WATCHDOG                                                                                   \
	"[rank1]:[E1128 12:00:00.000 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught "          \
	"collective "                                                                              \
	"operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, Timeout(ms)=600000) ran for "   \
	"600001 milliseconds before timing out."
#define WHAT                                                                                       \
	"  what():  [PG ID 0 Rank 1] Process group watchdog thread terminated with exception: "    \
	"[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812)\n"

static const char watchdog_ends[] = WATCHDOG
	"\n"
	"[rank1]:[E1128 12:00:00.001 ProcessGroupNCCL.cpp:684] [Rank 1] Some NCCL operations have "
	"failed or timed out.\n"
	"[rank1]:[E1128 12:00:00.002 ProcessGroupNCCL.cpp:698] [Rank 1] To avoid data "
	"inconsistency, we are taking the entire process down.\n"
	"terminate called after throwing an instance of 'c10::DistBackendError'\n" WHAT
	"Exception raised from checkTimeout at ProcessGroupNCCL.cpp:632 (most recent call first):\n"
	"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f83 in "
	"libc10.so)\n"
	"frame #1: <unknown function> + 0xdc253 (0x7f84 in libstdc++.so.6)\n\n";

static void assert_of_signal(const char *text, const char *expected)
{
	struct str_list lines cleanup_str_list = {0};

	split(text, &lines);
	char *line cleanup_free = headline_of_signal(&lines, &lines);
	assert_string_equal(line ? line : "(none)", expected);
}

static void native_code_says_why_it_ends_its_process(void **state)
{
	assert_of_signal(watchdog_ends, WATCHDOG);
	assert_headline(watchdog_ends, WATCHDOG);
	assert_of_signal("[rank0]:[E1128 ProcessGroupNCCL.cpp:1895] [Rank 0] Process group "
			 "watchdog thread terminated with exception: CUDA error: an illegal memory "
			 "access was encountered\nframe #0: c10::Error::Error()\n",
			 "[rank0]:[E1128 ProcessGroupNCCL.cpp:1895] [Rank 0] Process group "
			 "watchdog thread terminated with exception: CUDA error: an illegal memory "
			 "access was encountered");
	assert_of_signal("CUDA error: device-side assert triggered\nAborted (core dumped)\n",
			 "CUDA error: device-side assert triggered");
	assert_of_signal("ERROR: cache is cold\n"
			 "terminate called after throwing an instance of 'E'\n  what():  bad news\n"
			 "Aborted\n",
			 "what():  bad news");
	assert_of_signal("Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call "
			 "first):\n  File \"a.py\", line 3 in <module>\n",
			 "Fatal Python error: Aborted");
	assert_of_signal("thread 'main' panicked at src/main.rs:3:5:\nnote: run with "
			 "`RUST_BACKTRACE=1` environment variable\n",
			 "thread 'main' panicked at src/main.rs:3:5:");
	assert_of_signal("double free or corruption (!prev)\n",
			 "double free or corruption (!prev)");
	assert_of_signal("free(): invalid pointer\nbye\n", "free(): invalid pointer");
	assert_of_signal(KEY_ERROR "*** stack smashing detected ***: terminated\n",
			 "*** stack smashing detected ***: terminated");
	/* It was on its way out. */
	assert_of_signal(KEY_ERROR "terminate called without an active exception\n",
			 "KeyError: 'lr'");
	assert_of_signal("step 3\n", "(none)");
}

/* ---- exceptions that the program caught --------------------------------------------------- */

#define NO_MODULE                                                                                  \
	"Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n"           \
	"ModuleNotFoundError: No module named 'flash_attn'\n"
#define LOGGED "ERROR:root:no flash_attn, going on without\n"

static void a_traceback_that_was_logged_is_not_told_for_a_later_end(void **state)
{
	assert_headline(LOGGED NO_MODULE "master not reachable yet\n", "master not reachable yet");
	assert_headline(NO_MODULE "master not reachable yet\n", "master not reachable yet");
	assert_headline("ERROR:root:no cache\n" KEY_ERROR
			"INFO:root:going on\nmaster not reachable yet\n",
			"master not reachable yet");
	assert_headline("2026-11-28 20:38:21,123 ERROR no cache\n" KEY_ERROR
			"2026-11-28 20:38:22,123 CRITICAL master not reachable yet\n",
			"2026-11-28 20:38:22,123 CRITICAL master not reachable yet");
	assert_exit(2, KEY_ERROR "usage: train.py [-h]\ntrain.py: error: no such option: --lr\n",
		    "train.py: error: no such option: --lr");
	/* Much later. */
	assert_headline(KEY_ERROR "1\n2\n3\n4\n5\nmaster not reachable yet\n",
			"master not reachable yet");
	assert_headline(NO_MODULE "1\n2\n3\n4\n5\nmaster not reachable yet\n",
			"master not reachable yet");
	assert_of_signal(LOGGED NO_MODULE "1\n2\n3\n4\n5\n6\n7\n8\n", "(none)");
}

/* Also where wrappers, loggers and other ranks speak behind it. */
static void a_traceback_that_nothing_else_explains_is_told(void **state)
{
	const char *module = "ModuleNotFoundError: No module named 'flash_attn'";

	assert_headline(LOGGED NO_MODULE, module);
	assert_headline(NO_MODULE "train.sh: done with code 1\n", module);
	assert_headline(KEY_ERROR "1\n2\n3\n4\n5\n6\nsrun: error: node1: task 0: Exited with exit "
				  "code 1\n",
			"KeyError: 'lr'");
	assert_headline(NO_MODULE "training failed\n", module);
	assert_headline(NO_MODULE "\nreal\t0m0.1s\nuser\t0m0.1s\nsys\t0m0.0s\n", module);
	assert_headline(NO_MODULE "+ echo bye\nbye\n+ cleanup\n", module);
	assert_headline(NO_MODULE "-----\nPrimary job terminated normally, but 1 process returned\n"
				  "a non-zero exit code.\n-----\n",
			module);
	assert_headline(NO_MODULE "[rank1]: waiting\n 3%|3    | 1/30\n", module);
	assert_headline(LOGGED KEY_ERROR "INFO:root:closing the files\n", "KeyError: 'lr'");
	assert_headline(LOGGED "Traceback (most recent call last):\n" FRAMES
			       "RuntimeError: CUDA error: device-side assert triggered\n"
			       "Compile with `TORCH_USE_CUDA_DSA` to enable assertions.\n",
			"RuntimeError: CUDA error: device-side assert triggered");
	assert_exit(3, KEY_ERROR "bye\n", "KeyError: 'lr'");
	assert_of_signal(KEY_ERROR "closing the files\nbye\n", "KeyError: 'lr'");
}

/* ---- launchers ---------------------------------------------------------------------------- */

static void find_of_torchrun(const char *before, const char *code, const char *recorded,
			     struct headline *headline)
{
	struct str_list lines cleanup_str_list = {0};
	char *text cleanup_free = mem_printf(
		"%sE1121 11:50:35.388000 14130 api.py:1002] failed (exitcode: %s) local_rank: 0\n"
		"Traceback (most recent call last):\n"
		"  File \"bin/torchrun\", line 8, in <module>\n"
		"    raise ChildFailedError(\n"
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
		"====\ntrain.py FAILED\n----\n"
		"Failures:\n[1]:\n  exitcode  : -15 (pid: 14170)\n----\n"
		"Root Cause (first observed failure):\n[0]:\n"
		"  rank      : 2 (local_rank: 0)\n"
		"  exitcode  : %s (pid: 14169)\n"
		"  error_file: <N/A>\n"
		"  traceback : %s\n"
		"====\n",
		before, code, code, recorded);

	split(text, &lines);
	headline_find(&lines, &lines, 1, headline);
}

static void assert_of_torchrun(const char *before, const char *code, const char *text,
			       const char *child, int signal)
{
	struct headline headline;

	find_of_torchrun(before, code, "To enable traceback see: https://x/errors.html", &headline);
	assert_string_equal(headline.text ? headline.text : "(none)", text);
	assert_string_equal(headline.child ? headline.child : "(none)", child);
	assert_int_equal(headline.signal, signal);
	headline_finish(&headline);
}

static void a_rank_says_more_than_the_torchrun_that_started_it(void **state)
{
	/* Rank 2 is 0 here: the others failed later. */
	assert_of_torchrun("[worker0]:Traceback (most recent call last):\n"
			   "[worker1]:Traceback (most recent call last):\n"
			   "[worker0]:  File \"train.py\", line 3\n"
			   "[worker0]:ValueError: no data\n"
			   "[worker1]:  File \"train.py\", line 3\n"
			   "[worker1]:DistBackendError: Connection closed by peer\n",
			   "1", "[worker0]:ValueError: no data", "(none)", 0);
	assert_of_torchrun("[rank2]: Traceback (most recent call last):\n"
			   "[rank2]:   File \"train.py\", line 3\n"
			   "[rank2]: ValueError: no data\n"
			   "[rank3]: Traceback (most recent call last):\n"
			   "[rank3]:   File \"train.py\", line 3\n"
			   "[rank3]: RuntimeError: Connection closed by peer\n",
			   "1", "[rank2]: ValueError: no data", "(none)", 0);
	assert_of_torchrun("the goal was missed\n", "1", "the goal was missed", "(none)", 0);
	assert_of_torchrun("", "3", "(none)", "its rank 2 exited with code 3", 0);
	/* Before it was started again, it had another end. */
	assert_of_torchrun("E1121 11:50:30.388000 14130 api.py:1002] failed (exitcode: -9) "
			   "local_rank: 0\nERROR: no data\n",
			   "3", "ERROR: no data", "(none)", 0);
}

static void of_a_rank_that_a_signal_ended_the_report_tells(void **state)
{
	const char *killed = "its rank 2 was killed by signal 9 (SIGKILL)";

	/* Nothing that was said before is about it. */
	assert_of_torchrun("KeyError: 'x'\n", "-9", "(none)", killed, 9);
	assert_of_torchrun("step 3\n", "-11", "(none)",
			   "its rank 2 was killed by signal 11 (SIGSEGV)", 11);
	assert_of_torchrun("[rank2]:[E1128 ProcessGroupNCCL.cpp:632] [Rank 2] Watchdog caught "
			   "collective operation timeout: WorkNCCL(SeqNum=812)\n"
			   "[rank3]: ConnectionResetError: [Errno 104] Connection reset by peer\n",
			   "-6",
			   "[rank2]:[E1128 ProcessGroupNCCL.cpp:632] [Rank 2] Watchdog caught "
			   "collective operation timeout: WorkNCCL(SeqNum=812)",
			   "its rank 2 was killed by signal 6 (SIGABRT)", 6);
}

/* Of many failed ranks the tail of the log has the last ones. */
static void a_report_whose_beginning_is_cut_off_tells_the_rank(void **state)
{
	struct str_list lines cleanup_str_list = {0};
	struct headline headline;

	split("  exitcode  : -15 (pid: 14170)\n----\nRoot Cause (first observed failure):\n[0]:\n"
	      "  rank      : 2 (local_rank: 0)\n  exitcode  : -9 (pid: 14169)\n"
	      "  error_file: <N/A>\n====\n",
	      &lines);
	headline_find(&lines, &lines, 1, &headline);
	assert_string_equal(headline.child, "its rank 2 was killed by signal 9 (SIGKILL)");
	assert_int_equal(headline.signal, 9);
	headline_finish(&headline);
}

static void what_the_rank_has_recorded_is_told_where_its_output_is_elsewhere(void **state)
{
	struct headline headline;

	find_of_torchrun("", "1",
			 "Traceback (most recent call last):\n"
			 "    File \"train.py\", line 3, in main\n"
			 "      raise ValueError(\"no data\")\n"
			 "  ValueError: no data\n  ",
			 &headline);
	assert_string_equal(headline.text, "ValueError: no data");
	assert_null(headline.child);
	headline_finish(&headline);
}

static void assert_signal(const char *line, int signal)
{
	struct str_list lines cleanup_str_list = {0};
	char *text cleanup_free = mem_printf(
		"ERROR: cache is cold\nTraceback (most recent call last):\n" FRAMES "%s\n", line);
	struct headline headline;

	split(text, &lines);
	headline_find(&lines, &lines, 1, &headline);
	assert_int_equal(headline.signal, signal);
	if (signal > 0)
		assert_string_equal(headline.text, line);
	headline_finish(&headline);
}

static void the_signal_that_ended_a_child_is_read(void **state)
{
	assert_signal("subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.",
		      9);
	assert_signal("subprocess.CalledProcessError: Command 'x' returned non-zero exit status "
		      "137.",
		      9);
	assert_signal("subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.",
		      0);
	assert_signal("torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated "
		      "with signal SIGSEGV",
		      11);
	assert_int_equal(launcher_signal_in("[ERROR] [launch.py:325] ['x'] exits with return code "
					    "= -6"),
			 6);
	assert_int_equal(launcher_signal_in("KeyError: 'lr'"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_traceback_ends_in_the_headline),
		cmocka_unit_test(other_errors_are_found),
		cmocka_unit_test(errors_of_other_languages_are_found),
		cmocka_unit_test(of_an_exception_group_the_first_is_told),
		cmocka_unit_test(a_framed_paragraph_begins_with_what_it_is_about),
		cmocka_unit_test(else_it_is_the_last_line_that_says_anything),
		cmocka_unit_test(what_is_told_all_along_is_no_headline),
		cmocka_unit_test(a_warning_is_no_headline),
		cmocka_unit_test(an_error_that_speaks_of_a_warning_is_one),
		cmocka_unit_test(a_message_of_several_lines_is_told_whole),
		cmocka_unit_test(a_long_message_keeps_its_beginning_and_its_end),
		cmocka_unit_test(what_nobody_can_catch_is_not_told_for_what_ended_the_program),
		cmocka_unit_test(a_wrapper_is_not_told_for_its_child),
		cmocka_unit_test(an_exception_of_a_thread_is_better_than_none),
		cmocka_unit_test(the_reason_is_found_above_more_than_is_listed),
		cmocka_unit_test(what_follows_is_not_glued_on),
		cmocka_unit_test(every_row_of_the_table_fits_something),
		cmocka_unit_test(native_code_says_why_it_ends_its_process),
		cmocka_unit_test(a_traceback_that_was_logged_is_not_told_for_a_later_end),
		cmocka_unit_test(a_traceback_that_nothing_else_explains_is_told),
		cmocka_unit_test(a_rank_says_more_than_the_torchrun_that_started_it),
		cmocka_unit_test(of_a_rank_that_a_signal_ended_the_report_tells),
		cmocka_unit_test(a_report_whose_beginning_is_cut_off_tells_the_rank),
		cmocka_unit_test(what_the_rank_has_recorded_is_told_where_its_output_is_elsewhere),
		cmocka_unit_test(the_signal_that_ended_a_child_is_read),
	};

	return cmocka_run_group_tests_name("headline", tests, NULL, NULL);
}
