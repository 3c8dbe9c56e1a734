/* The verbs that look at jobs and order them about: what they print, and how they exit. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "verb_bed.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/verbs.h"

static const char id[] = "tony-20261121-061400-1f3a";

#define assert_run(state, line, code)                                                              \
	do {                                                                                       \
		int code_ = bed_run(state, line);                                                  \
		if (code_ != (int)(code))                                                          \
			fail_msg("%s: exit %d\n%s%s", line, code_, bed_out(), bed_err());          \
	} while (0)

static json_t *run_json(void **state, const char *line)
{
	struct err err = {0};

	assert_run(state, line, EXIT_CODE_OK);
	json_t *value = json_parse(bed_out(), strlen(bed_out()), &err);
	if (!value)
		fail_msg("%s: %s", line, err_message(&err));
	return value;
}

static const char *text_in(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	assert_non_null(text);
	return text;
}

static void open_running(struct bed_job *bed)
{
	bed_job_open(bed, id);
	bed_job_state(bed, "running");
	bed_job_task(bed, "worker:0", "running", 1);
	bed_job_task(bed, "worker:1", "running", 2);
}

/* ---- a cluster that does not answer ------------------------------------------------------- */

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static void have_cluster_that_is_down(void **state)
{
	static const char site[] = "<configuration>" PROPERTY("fs.defaultFS", "hdfs://127.0.0.1:1")
		PROPERTY("yarn.resourcemanager.address", "127.0.0.1:1") PROPERTY(
			"yarn.resourcemanager.connect.retry-interval.ms", "1") "</configuration>";

	scratch_write(state, "yarn-site.xml", site, 0600);
	setenv("HADOOP_CONF_DIR", scratch_path(state, "."), 1);
}

/* Its jobs may be newer than those of this machine. */
static void which_job_is_the_newest_may_not_be_known(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	have_cluster_that_is_down(state);
	assert_run(state, "status", EXIT_CODE_UNREACHABLE);
	assert_text_has(bed_err(), "which job is the newest is not known; name one: ");
	assert_run(state, "status tony-20261121-061400-1f3a", EXIT_CODE_OK);
	setenv("HADOOP_CONF_DIR", "", 1);
	bed_job_close(&bed);
}

/* A script must not take what was not asked for "there is no job". */
static void a_list_without_a_clusters_jobs_ends_with_an_error(void **state)
{
	static const char warning[] = "jobs on yarn are not shown: ResourceManager at 127.0.0.1:1";
	struct bed_job bed;

	have_cluster_that_is_down(state);
	assert_run(state, "list", EXIT_CODE_UNREACHABLE);
	assert_text_has(bed_err(), warning);
	assert_null(strstr(bed_err(), "There is no job"));
	assert_null(strstr(bed_err(), "No job of yours runs"));
	open_running(&bed);
	assert_run(state, "list", EXIT_CODE_UNREACHABLE);
	assert_text_has(bed_out(), id);
	assert_run(state, "list --json", EXIT_CODE_UNREACHABLE);
	assert_text_has(bed_out(), id);
	assert_text_has(bed_err(), warning);
	assert_run(state, "list no-such", EXIT_CODE_UNREACHABLE);
	unsetenv("HADOOP_CONF_DIR");
	bed_job_close(&bed);
}

/* ---- list and history --------------------------------------------------------------------- */

static void without_jobs_a_friendly_line_is_said(void **state)
{
	assert_run(state, "list", EXIT_CODE_OK);
	assert_string_equal(bed_out(), "");
	assert_text_has(bed_err(), "tony submit");
	assert_run(state, "history", EXIT_CODE_OK);
	assert_string_equal(bed_out(), "");
	assert_text_has(bed_err(), "No job has ended");
	json_t *list cleanup_json = run_json(state, "list --json");
	assert_int_equal(json_array_size(list), 0);
	assert_string_equal(bed_err(), "");
}

/* promise: S46 */
static void list_and_check_tell_once_why_the_state_directory_is_refused(void **state)
{
	static const char told[] = "chmod go-w ";
	struct bed_job bed;

	open_running(&bed);
	bed_run(state, "check -- true");
	assert_text_has(bed_out(), "ok       state directory: ");
	assert_text_has(bed_out(), " free)");
	assert_int_equal(chmod(scratch_path(state, "state"), 0777), 0);
	assert_run(state, "list", EXIT_CODE_CONFIG);
	const char *first = strstr(bed_err(), told);
	assert_non_null(first);
	assert_null(strstr(first + 1, told));
	bed_run(state, "check -- true");
	assert_text_has(bed_err(), "problem  state directory: ");
	assert_text_has(bed_err(), told);
	assert_int_equal(chmod(scratch_path(state, "state"), 0700), 0);
	bed_job_close(&bed);
}

static void list_shows_what_runs_and_history_what_has_ended(void **state)
{
	struct bed_job live, done;

	bed_job_open(&done, "tony-20261121-061300-0001");
	bed_job_end(&done, "failed", "worker:1 on node7: exited with code 3");
	bed_job_close(&done);
	assert_run(state, "list", EXIT_CODE_OK);
	assert_string_equal(bed_out(), "");
	assert_text_has(bed_err(), "tony history");
	open_running(&live);
	assert_run(state, "list", EXIT_CODE_OK);
	assert_text_has(bed_out(), id);
	assert_null(strstr(bed_out(), done.id));
	assert_run(state, "list --all", EXIT_CODE_OK);
	assert_text_has(bed_out(), done.id);
	json_t *list cleanup_json = run_json(state, "list --json");
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(text_in(json_array_get(list, 0), "state"), "running");
	assert_run(state, "history", EXIT_CODE_OK);
	assert_null(strstr(bed_out(), id));
	assert_text_has(bed_out(), "digits: worker:1 on node7: exited with code 3");
	json_t *history cleanup_json = run_json(state, "history --json");
	assert_string_equal(text_in(json_array_get(history, 0), "id"), done.id);
	bed_job_close(&live);
}

static void history_is_chosen_by_state_and_number(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct bed_job bed;
		char *name cleanup_free = mem_printf("tony-20261121-061300-000%d", i);
		bed_job_open(&bed, name);
		bed_job_end(&bed, i % 2 ? "failed" : "succeeded", "so it went");
		bed_job_close(&bed);
	}
	json_t *some cleanup_json = run_json(state, "history --json -n 4");
	assert_int_equal(json_array_size(some), 4);
	json_t *failed cleanup_json = run_json(state, "history --json --state failed -n 2");
	assert_int_equal(json_array_size(failed), 2);
	assert_string_equal(text_in(json_array_get(failed, 1), "state"), "failed");
	assert_run(state, "history --state killed", EXIT_CODE_OK);
	assert_text_has(bed_err(), "No job has ended so");
}

/* ---- status ------------------------------------------------------------------------------- */

static void status_shows_tasks_and_last_failures(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s}}", "ev", "task", "task",
				 "worker:1", "from", "running", "to", "failed", "cause", "kind",
				 "exit", "text", "exited with code 3"),
		       4000);
	bed_job_record(&bed, json_pack("{s:s, s:s}", "ev", "waiting", "text", "waits for 8.0 GiB"),
		       5000);
	assert_run(state, "status", EXIT_CODE_OK);
	assert_text_has(bed_out(), id);
	assert_text_has(bed_out(), "digits  running");
	assert_text_has(bed_out(), "waiting: waits for 8.0 GiB\n");
	assert_text_has(bed_out(), "worker:0  running");
	assert_text_has(bed_out(), "127.0.0.1:4000");
	assert_text_has(bed_out(), "exited with code 3\n");
	assert_text_has(bed_out(), "chief:0");
	bed_job_close(&bed);
}

static void status_asks_the_am_page_by_page_and_the_journal_for_the_rest(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_start_am(&bed, 200);
	json_t *status cleanup_json = run_json(state, "status --json digits");
	assert_text_has(text_in(status, "am_url"), "http://127.0.0.1:");
	assert_string_equal(text_in(status, "job_dir"), bed.door.job_dir);
	const json_t *tasks = json_object_get(status, "tasks");
	assert_int_equal(json_array_size(tasks), 3);
	for (size_t i = 0; i < 2; i++) {
		const json_t *task = json_array_get(tasks, i);
		const json_t *pids = json_object_get(task, "pids");
		assert_int_equal(json_integer_value(json_array_get(pids, 0)), 100 + i);
		assert_int_equal(json_integer_value(json_object_get(task, "executor_pid")), 50);
	}
	assert_string_equal(text_in(json_array_get(tasks, 2), "task"), "chief:0");
	assert_non_null(json_object_get(json_array_get(tasks, 1), "straggler"));
	const json_t *work = json_object_get(status, "work");
	assert_int_equal(json_integer_value(json_object_get(work, "most_step")), 400);
	bed_job_close(&bed);
}

static void status_shows_how_far_the_programs_are_and_who_is_behind(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_task(&bed, "worker:1", "running", 1);
	assert_run(state, "status", EXIT_CODE_OK);
	assert_null(strstr(bed_out(), "progress: "));
	bed_job_start_am(&bed, 200);
	assert_run(state, "status", EXIT_CODE_OK);
	assert_text_has(bed_out(),
			"\nprogress: [#####...............] 26%, steps 120 to 400 of 1000\n"
			"straggler: worker:1 is at step 120, its siblings at 400\n");
	assert_text_has(bed_out(), "worker:0  running  ");
	assert_text_has(bed_out(), "worker:1  running, straggler  ");
	assert_text_has(bed_out(), "  STEP      LAST FAILURE\n");
	assert_text_has(bed_out(), "  400/1000  -\n");
	bed_job_close(&bed);
}

static void without_an_am_the_journal_tells(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	json_t *status cleanup_json = run_json(state, "status --json");
	const json_t *tasks = json_object_get(status, "tasks");
	assert_int_equal(json_array_size(tasks), 3);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(tasks, 1), "attempt")),
			 2);
	assert_int_equal(json_array_size(json_object_get(json_array_get(tasks, 0), "pids")), 0);
	bed_job_close(&bed);
}

/* ---- exit codes --------------------------------------------------------------------------- */

static void what_is_not_there_exits_4(void **state)
{
	struct bed_job bed;

	assert_run(state, "status", EXIT_CODE_NOT_FOUND);
	open_running(&bed);
	assert_run(state, "status nothing", EXIT_CODE_NOT_FOUND);
	assert_run(state, "logs nothing", EXIT_CODE_NOT_FOUND);
	assert_run(state, "events nothing", EXIT_CODE_NOT_FOUND);
	assert_run(state, "wait nothing", EXIT_CODE_NOT_FOUND);
	assert_run(state, "kill nothing", EXIT_CODE_NOT_FOUND);
	assert_run(state, "restart nothing worker:0", EXIT_CODE_NOT_FOUND);
	assert_run(state, "restart digits worker:2", EXIT_CODE_NOT_FOUND);
	assert_run(state, "restart digits worker:00", EXIT_CODE_NOT_FOUND);
	assert_run(state, "restart digits worker:0/../../job/kill", EXIT_CODE_NOT_FOUND);
	assert_run(state, "logs digits --task ps:0", EXIT_CODE_NOT_FOUND);
	assert_text_has(bed_err(), "ps:0");
	bed_job_end(&bed, "succeeded", "all tasks succeeded");
	assert_run(state, "kill tony-2026", EXIT_CODE_NOT_FOUND);
	assert_text_has(bed_err(), "has already ended: succeeded");
	assert_run(state, "restart tony-2026 worker:0", EXIT_CODE_NOT_FOUND);
	assert_text_has(bed_err(), "has already ended: succeeded");
	assert_run(state, "scale tony-2026 worker=4", EXIT_CODE_NOT_FOUND);
	assert_text_has(bed_err(), "has already ended: succeeded");
	bed_job_close(&bed);
}

static void a_wrong_command_line_exits_2(void **state)
{
	static const char *const lines[] = {
		"list --state odd",
		"list --json -o wide",
		"list --watch --json",
		"history digits",
		"version digits",
		"status --watch a b",
		"wait --timeout x",
		"wait --timeout",
		"kill",
		"kill --tag",
		"restart digits",
		"scale digits",
		"scale digits worker",
		"scale digits worker=",
		"scale digits worker=x",
		"scale digits =4",
		"scale digits worker=4 ps",
		"events a b",
		"logs --since x",
		"logs --grep [",
		"logs --stream x",
		"logs --tail -1",
		"events --since 0",
		"status --bogus",
		"history --state ok",
		"logs --since 2026-11-21T06:14:11+01:00",
	};
	struct bed_job bed;

	open_running(&bed);
	for (size_t i = 0; i < array_length(lines); i++) {
		assert_run(state, lines[i], EXIT_CODE_USAGE);
		assert_string_equal(bed_out(), "");
		assert_text_has(bed_err(), "tony: ");
	}
	assert_run(state, "restart digits worker", EXIT_CODE_USAGE);
	assert_text_has(bed_err(), "worker:0");
	bed_job_close(&bed);
}

static void an_am_that_is_not_there_exits_5(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	assert_run(state, "restart digits worker:0", EXIT_CODE_UNREACHABLE);
	assert_run(state, "kill digits", EXIT_CODE_UNREACHABLE);
	assert_text_has(bed_err(), "--force");
	bed_job_close(&bed);
}

/* ---- kill and restart --------------------------------------------------------------------- */

static void kill_returns_when_the_job_has_ended(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_start_am(&bed, 200);
	assert_run(state, "kill digits --reason enough", EXIT_CODE_OK);
	assert_text_has(bed_out(), "killed");
	bed_job_close(&bed);
}

static void a_job_that_is_ending_is_only_waited_for(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_start_am(&bed, 409);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:i, s:s}", "ev", "job", "from", "running", "to",
				 "finishing", "epoch", 1, "outcome", "failed"),
		       4000);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		bed_job_await_kill(&bed);
		bed_job_end(&bed, "failed", "worker:0 failed");
		_exit(0);
	}
	assert_run(state, "kill digits", EXIT_CODE_OK);
	assert_text_has(bed_out(), "failed");
	assert_int_equal(waitpid(child, NULL, 0), child);
	bed_job_close(&bed);
}

static void an_am_that_refuses_is_quoted(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_start_am(&bed, 409);
	assert_run(state, "restart digits worker:0", EXIT_CODE_INTERNAL);
	assert_text_has(bed_err(), "this cannot be done now");
	assert_run(state, "kill digits", EXIT_CODE_INTERNAL);
	assert_text_has(bed_err(), "this cannot be done now");
	assert_run(state, "scale digits worker=4", EXIT_CODE_INTERNAL);
	assert_text_has(bed_err(), "this cannot be done now");
	bed_job_close(&bed);
}

static void restart_asks_the_am(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_start_am(&bed, 200);
	assert_run(state, "restart digits worker:1", EXIT_CODE_OK);
	assert_text_has(bed_out(), "worker:1");
	bed_job_close(&bed);
}

static void scale_asks_the_am(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_start_am(&bed, 200);
	assert_run(state, "scale digits worker=5", EXIT_CODE_OK);
	assert_text_has(bed_out(), "5 wanted, 3 more");
	assert_run(state, "scale digits worker=1", EXIT_CODE_OK);
	assert_text_has(bed_out(), "1 wanted, 1 fewer");
	assert_run(state, "scale digits worker=2", EXIT_CODE_OK);
	assert_text_has(bed_out(), "2 wanted, as before");
	bed_job_close(&bed);
}

/* ---- wait --------------------------------------------------------------------------------- */

static void wait_exits_as_the_job_did(void **state)
{
	static const struct {
		const char *outcome;
		enum exit_code code;
	} rows[] = {{"succeeded", EXIT_CODE_OK},
		    {"failed", EXIT_CODE_JOB_FAILED},
		    {"killed", EXIT_CODE_JOB_KILLED}};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct bed_job bed;
		char *name cleanup_free = mem_printf("tony-20261121-061300-000%zu", i);
		bed_job_open(&bed, name);
		bed_job_end(&bed, rows[i].outcome, "so it went");
		char *line cleanup_free = mem_printf("wait %s", name);
		assert_run(state, line, rows[i].code);
		assert_text_has(bed_out(), rows[i].outcome);
		bed_job_close(&bed);
	}
}

static void wait_gives_up_in_time(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	assert_run(state, "wait --timeout 10ms", EXIT_CODE_TIMEOUT);
	assert_run(state, "wait --timeout 0", EXIT_CODE_TIMEOUT);
	assert_text_has(bed_err(), "still runs");
	bed_job_close(&bed);
}

/* Its last record is written by whoever looks at it. */
static void a_job_whose_am_is_gone_has_ended(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	bed_job_close(&bed);
	assert_run(state, "wait", EXIT_CODE_JOB_KILLED);
}

static void an_am_that_goes_while_it_is_waited_for_is_missed(void **state)
{
	struct bed_job bed;

	open_running(&bed);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		let_pass(300);
		_exit(0); /* it had the claim, too */
	}
	close(bed.door.claim);
	bed.door.claim = 0;
	assert_run(state, "wait", EXIT_CODE_JOB_KILLED);
	assert_int_equal(waitpid(child, NULL, 0), child);
	bed_job_close(&bed);
}

/* ---- events ------------------------------------------------------------------------------- */

static void events_that_change_no_state_say_what_changed(void **state)
{
	struct bed_job bed;

	bed_job_open(&bed, id);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:i, s:i}", "ev", "job", "from", "running", "to",
				 "running", "retries", 1, "infrastructure_retries", 2),
		       2000);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:s, s:b}", "ev", "task", "task", "worker:0",
				 "from", "lost", "to", "lost", "rejoin", 1),
		       3000);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:s, s:b}", "ev", "task", "task", "worker:0",
				 "from", "running", "to", "running", "blames_peer", 1),
		       4000);
	assert_run(state, "events", EXIT_CODE_OK);
	assert_string_equal(
		bed_out(),
		"1970-01-01T00:00:02.000Z  job running, retries 1, infrastructure retries 2\n"
		"1970-01-01T00:00:03.000Z  worker:0 is to be started anew\n"
		"1970-01-01T00:00:04.000Z  worker:0 waits for word of its peers\n");
	bed_job_close(&bed);
}

static void events_tell_of_which_life_they_are(void **state)
{
	struct bed_job bed;

	bed_job_open(&bed, id);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:{s:s, s:s, s:s}}", "ev",
				 "task", "task", "worker:0", "from", "running", "to", "failed",
				 "attempt", 1, "epoch", 2, "restart", 1, "cause", "kind", "exit",
				 "text", "exited with code 1", "headline", "ValueError: no data"),
		       2000);
	/* Ended by us: what ended its life before is no cause of that. */
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:{s:s, s:s}}", "ev", "task",
				 "task", "worker:1", "from", "running", "to", "stopped", "attempt",
				 2, "epoch", 1, "cause", "kind", "exit", "text",
				 "exited with code 1"),
		       3000);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s, s:i, s:s, s:{s:s, s:s, s:s}}", "ev", "job",
				 "from", "running", "to", "reforming", "epoch", 2, "cause_task",
				 "worker:0", "cause", "kind", "exit", "text", "exited with code 1",
				 "headline", "ValueError: no data"),
		       4000);
	assert_run(state, "events", EXIT_CODE_OK);
	assert_string_equal(bed_out(), "1970-01-01T00:00:02.000Z  worker:0 failed (cluster start "
				       "2, restart 1): exited with code "
				       "1: ValueError: no data\n"
				       "1970-01-01T00:00:03.000Z  worker:1 stopped (attempt 2)\n"
				       "1970-01-01T00:00:04.000Z  job reforming (cluster start 2): "
				       "worker:0 exited with code 1: "
				       "ValueError: no data\n");
	bed_job_close(&bed);
}

static void events_are_told_in_order(void **state)
{
	struct bed_job bed;

	bed_job_open(&bed, id);
	assert_run(state, "events", EXIT_CODE_OK); /* no journal yet */
	assert_string_equal(bed_out(), "");
	bed_job_state(&bed, "running");
	bed_job_task(&bed, "worker:0", "running", 1);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:s}", "ev", "note", "text", "it \033[2Jgrows", "task",
				 "worker:0"),
		       4000);
	bed_job_end(&bed, "succeeded", "all tasks succeeded");
	assert_run(state, "events", EXIT_CODE_OK);
	assert_string_equal(bed_out(), "1970-01-01T00:00:02.000Z  job running\n"
				       "1970-01-01T00:00:03.000Z  worker:0 running\n"
				       "1970-01-01T00:00:04.000Z  note of worker:0: it ?[2Jgrows\n"
				       "1970-01-01T00:01:01.000Z  end: succeeded: all tasks "
				       "succeeded\n");
	assert_run(state, "events --since 4", EXIT_CODE_OK);
	assert_string_equal(bed_out(),
			    "1970-01-01T00:01:01.000Z  end: succeeded: all tasks succeeded\n");
	assert_run(state, "events -f --since 4", EXIT_CODE_OK);
	assert_text_has(bed_out(), "end: succeeded");
	char *path cleanup_free = fs_join(bed.door.job_dir, "journal.jsonl");
	char *journal cleanup_free = fs_read_file(path, 100000, NULL, NULL);
	assert_run(state, "events --json", EXIT_CODE_OK);
	assert_string_equal(bed_out(), journal);
	assert_run(state, "events --json --follow", EXIT_CODE_OK);
	assert_string_equal(bed_out(), journal);
	bed_job_close(&bed);
}

/* ---- any verb ----------------------------------------------------------------------------- */

static int refuse(const void *chosen, struct err *err)
{
	(void)chosen;
	return err_set(err, ERR_USAGE, "not these options");
}

static int succeed(void *chosen, const struct verb_call *call, struct err *err)
{
	(void)chosen, (void)call, (void)err;
	return EXIT_CODE_OK;
}

static void the_options_of_each_verb_are_checked_before_it_runs(void **state)
{
	char *arguments[] = {"any", NULL};

	(void)state;
	for (int operands = VERB_OPERANDS; operands <= VERB_JOB; operands++) {
		struct verb verb = {.options = {.verb = "any", .usage = "tony any"},
				    .check = refuse,
				    .run = succeed};
		verb.operands = operands;
		assert_int_equal(verbs_run(&verb, 1, arguments), EXIT_CODE_USAGE);
	}
}

/* ---- more jobs than files may be open ----------------------------------------------------- */

static void more_jobs_are_shown_than_files_may_be_open(void **state)
{
	struct bed_crowd crowd;

	bed_crowd_open(&crowd);
	char *status cleanup_free = mem_printf("status --json%s", crowd.words);
	char *wait cleanup_free = mem_printf("wait --timeout 1ms%s", crowd.words);
	json_t *shown cleanup_json = run_json(state, status);
	assert_int_equal(json_array_size(shown), BED_CROWD);
	assert_run(state, wait, EXIT_CODE_TIMEOUT);
	bed_crowd_close(&crowd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		verb_test(which_job_is_the_newest_may_not_be_known),
		verb_test(a_list_without_a_clusters_jobs_ends_with_an_error),
		verb_test(the_options_of_each_verb_are_checked_before_it_runs),
		verb_test(without_jobs_a_friendly_line_is_said),
		verb_test(list_and_check_tell_once_why_the_state_directory_is_refused),
		verb_test(list_shows_what_runs_and_history_what_has_ended),
		verb_test(history_is_chosen_by_state_and_number),
		verb_test(status_shows_tasks_and_last_failures),
		verb_test(status_asks_the_am_page_by_page_and_the_journal_for_the_rest),
		verb_test(status_shows_how_far_the_programs_are_and_who_is_behind),
		verb_test(without_an_am_the_journal_tells),
		verb_test(what_is_not_there_exits_4),
		verb_test(a_wrong_command_line_exits_2),
		verb_test(an_am_that_is_not_there_exits_5),
		verb_test(kill_returns_when_the_job_has_ended),
		verb_test(a_job_that_is_ending_is_only_waited_for),
		verb_test(an_am_that_refuses_is_quoted),
		verb_test(restart_asks_the_am),
		verb_test(scale_asks_the_am),
		verb_test(wait_exits_as_the_job_did),
		verb_test(wait_gives_up_in_time),
		verb_test(a_job_whose_am_is_gone_has_ended),
		verb_test(an_am_that_goes_while_it_is_waited_for_is_missed),
		verb_test(events_tell_of_which_life_they_are),
		verb_test(events_are_told_in_order),
		verb_test(events_that_change_no_state_say_what_changed),
		verb_test(more_jobs_are_shown_than_files_may_be_open),
	};

	return cmocka_run_group_tests_name("verbs", tests, NULL, NULL);
}
