#include "../base/patience.h"
#include "../base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/journal.h"
#include "job/record.h"
#include "job/view.h"
#include "scheduler/local_job.h"
#include "scheduler/removal.h"
#include "scheduler/scheduler.h"
#include "scheduler/share.h"
#include "scheduler/state_dir.h"

/* Stands for tony-agent: an AM that comes up as the real one does, or not, as STAND_IN says. */
static const char agent[] =
	"#!/bin/sh\n"
	"test \"$1 $2 $4 $5\" = 'am --job-dir --ready-fd 3' || exit 64\n"
	"case $STAND_IN in die) echo one >&2; echo 'no such moon' >&2; exit 7;; esac\n"
	"test $STAND_IN = deaf && trap '' TERM\n"
	"sleep 1000 & echo $! > below\n" /* before there is a lock: it must not have that, too */
	"exec 9> \"$3/am.lock\"\n"
	"flock 9\n"
	"start=$(cut -d' ' -f22 /proc/$$/stat)\n"
	"echo \"{\\\"address\\\":\\\"127.0.0.1:4000\\\",\\\"pid\\\":$$,"
	"\\\"start_time\\\":$start,\\\"am_attempt\\\":1}\" > am.tmp\n"
	"pwd > where\n"
	"mv am.tmp \"$3/am.json\" 9>&-\n" /* it may outlive the AM for a moment */
	"printf '\\1\\0\\0\\0\\0\\0\\0\\0' >&3\n"
	"wait; wait; sleep 1000 9>&-\n";

static bool exec_hangs;

/* In place of the C library's. */
int execv(const char *path, char *const arguments[])
{
	if (exec_hangs)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (exec_hangs)
		pause();
	return execve(path, arguments, environ);
}

/* Jobs of this process alone: those of a name are told by it on the whole machine. */
static char one[32], two[32];

static const struct scheduler_client_ops *client(void)
{
	return scheduler_client_find("local");
}

static int set_up(void **state)
{
	if (scratch_create(state) != 0)
		return -1;
	snprintf(one, sizeof(one), "tony-%d-1", (int)getpid());
	snprintf(two, sizeof(two), "tony-%d-2", (int)getpid());
	scratch_write(state, "bin/tony-agent", agent, 0700);
	char *path cleanup_free = mem_printf("%s:/usr/bin:/bin", scratch_path(state, "bin"));
	setenv("PATH", path, 1);
	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	setenv("STAND_IN", "up", 1);
	return 0;
}

static void write_in(void **state, const char *id, const char *name, const char *text,
		     unsigned mode)
{
	char *path cleanup_free = mem_printf("state/jobs/%s/%s", id, name);

	scratch_write(state, path, text, mode);
}

/* Everything that a test started carries its state directory in the environment. */
static int tear_down(void **state)
{
	char *mark cleanup_free = mem_printf("TONY_STATE_DIR=%s", scratch_path(state, "state"));

	proc_end_all(0, mark, NULL, 0, SIGKILL, 0);
	return scratch_remove(state);
}

/* ---- ids ---------------------------------------------------------------------------------- */

static void an_id_tells_the_days_to_look_at(void **state)
{
	struct history_days days;

	assert_ptr_equal(scheduler_client_of_id("tony-20261121-061400-1f3a09c4", &days),
			 scheduler_client_find("local"));
	assert_true(days.first_ms <= 1795241640000 && days.last_ms >= 1795241640000);
	assert_true(days.last_ms - days.first_ms <= 2 * HISTORY_DAY_MS);
	assert_ptr_equal(scheduler_client_of_id("application_1795241640000_0042", &days),
			 scheduler_client_find("yarn"));
	assert_true(days.first_ms <= 1795241640000 && days.last_ms == INT64_MAX);
	assert_null(scheduler_client_of_id("application_x_0042", &days));
	assert_null(scheduler_client_of_id("tony-yesterday", &days));
	assert_null(scheduler_client_of_id("other", NULL));
}

#define client_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* ---- jobs --------------------------------------------------------------------------------- */

static char worker[] = "worker", user[] = "tester", framework[] = "generic";

struct sample {
	struct job_type type;
	struct job job;
};

static const struct job *sample_job(struct sample *sample, const char *id, const char *name)
{
	static char command[] = "true";

	sample->type = (struct job_type){
		.name = worker, .instances = 1, .processes = 1, .memory = 64, .command = command};
	sample->job = (struct job){.id = (char *)id,
				   .name = (char *)name,
				   .user = user,
				   .framework = framework,
				   .submitted_ms = 1000,
				   .types = &sample->type,
				   .type_count = 1,
				   .heartbeat_interval_ms = 1000,
				   .max_missed_heartbeats = 1};
	return &sample->job;
}

static struct job_door prepare(const char *id, const char *name)
{
	struct sample sample;
	struct job_door door = {0};
	struct err err = {0};
	const struct job *job = sample_job(&sample, id, name);

	assert_success(client()->prepare(job, &door, &err), &err);
	return door;
}

static struct job_door submit(const char *id, const char *name)
{
	struct sample sample;
	struct err err = {0};
	struct job_door door = prepare(id, name);

	assert_success(client()->start(sample_job(&sample, id, name), &door, &err), &err);
	return door;
}

static int64_t read_number(const struct job_door *door, const char *name)
{
	struct err err = {0};
	char *path cleanup_free = fs_join(door->job_dir, name);
	char *text cleanup_free = fs_read_file(path, 1000, NULL, &err);

	if (!text)
		fail_msg("%s", err_message(&err));
	return atoll(text);
}

static pid_t am_of(const struct job_door *door)
{
	char *path cleanup_free = fs_join(door->job_dir, "am.json");
	char *text cleanup_free = fs_read_file(path, 1000, NULL, NULL);
	json_t *object cleanup_json = json_parse(text, strlen(text), NULL);

	return (pid_t)json_integer_value(json_object_get(object, "pid"));
}

static bool is_running(pid_t pid)
{
	struct proc_id id;

	return proc_identify(pid, &id) && proc_is_alive(&id);
}

/* How often "final" is in the journal: must never be more than once. */
static int count_final(const struct job_door *door, const char *message)
{
	char *path cleanup_free = fs_join(door->job_dir, "journal.jsonl");
	char *text cleanup_free = fs_read_file(path, 1 << 20, NULL, NULL);
	int count = 0;

	for (const char *at = text; at && (at = strstr(at, "\"final\"")); at++)
		count++;
	if (count > 0)
		assert_text_has(text, message);
	return count;
}

/* The state of a job as list() tells it. */
static const char *listed(const char *id)
{
	struct job_summary *jobs;
	struct err err = {0};
	size_t count;
	const char *state = "(not there)";

	assert_success(scheduler_list_jobs(client(), NULL, 0, &jobs, &count, &err), &err);
	for (size_t i = 0; i < count; i++)
		if (strcmp(jobs[i].id, id) == 0)
			state = job_state_name(jobs[i].state);
	job_summaries_free(jobs, count);
	return state;
}

static void assert_found(const char *id, const char *expected)
{
	struct job_door door = {0};
	struct err err = {0};
	char *full = NULL;

	assert_success(scheduler_find_job(client(), id, &door, &full, &err), &err);
	assert_string_equal(full, expected);
	assert_string_equal(fs_basename(door.job_dir), expected);
	assert_int_equal(strlen(door.token), 64);
	job_door_finish(&door);
	free(full);
}

static void assert_not_found(const char *id, const char *part)
{
	struct job_door door = {0};
	struct err err = {0};
	char *full = NULL;

	assert_int_equal(scheduler_find_job(client(), id, &door, &full, &err), -1);
	assert_null(full);
	assert_null(door.job_dir);
	assert_message_has(&err, part);
	err_finish(&err);
}

/* ---- the state directory ------------------------------------------------------------------ */

static void the_state_directory_is_where_the_environment_says(void **state)
{
	struct err err = {0};

	setenv("TONY_STATE_DIR", "/a/b", 1);
	setenv("XDG_STATE_HOME", "/x", 1);
	setenv("HOME", "/home/me", 1);
	assert_text_freed(state_dir_find(&err), "/a/b");
	unsetenv("TONY_STATE_DIR");
	assert_text_freed(state_dir_find(&err), "/x/tony");
	setenv("XDG_STATE_HOME", "relative", 1);
	assert_text_freed(state_dir_find(&err), "/home/me/.local/state/tony");
	unsetenv("XDG_STATE_HOME");
	setenv("TONY_STATE_DIR", "", 1);
	assert_text_freed(state_dir_find(&err), "/home/me/.local/state/tony");
	unsetenv("HOME");
	assert_null(state_dir_find(&err));
	assert_message_has(&err, "TONY_STATE_DIR");
	err_finish(&err);
}

/* promise: S57 */
static void a_directory_that_appears_before_ours_is_made_is_checked(void **state)
{
	char *above cleanup_free = mem_strdup(scratch_path(state, "sticky/x"));
	char *jobs cleanup_free = mem_strdup(scratch_path(state, "sticky/x/state/jobs"));
	char *own cleanup_free = mem_strdup(scratch_path(state, "sticky/x/state"));
	struct err err = {0};

	umask(0);
	mkdir(scratch_path(state, "sticky"), 01777);
	setenv("TONY_STATE_DIR", own, 1);
	assert_text_freed(state_dir_find(&err), own);
	mkdir(above, 0777);
	assert_int_equal(state_dir_make(jobs, &err), -1);
	assert_message_has(&err, "sticky/x: has mode 0777");
	err_finish(&err);
	chmod(above, 0755);
	assert_success(state_dir_make(jobs, &err), &err);
}

static void remedies_can_be_typed_as_they_stand(void **state)
{
	char *jobs cleanup_free = mem_strdup(scratch_path(state, "my jobs"));
	char *left cleanup_free = mem_strdup(scratch_path(state, "my jobs/.x.0.removed"));
	char *removal cleanup_free = mem_printf("; sudo rm -rf --one-file-system '%s'", left);
	char *opening cleanup_free = mem_printf("; chmod go-w '%s'", jobs);
	struct err err = {0};

	umask(0);
	mkdir(jobs, 0777);
	mkdir(left, 0700);
	mkdir(scratch_path(state, "other"), 0700);
	scratch_bind(state, "my jobs/.x.0.removed/data", "other");
	assert_int_equal(removal_sweep(jobs, false, &err), 1);
	assert_message_has(&err, removal);
	err_finish(&err);
	setenv("TONY_STATE_DIR", jobs, 1);
	assert_null(state_dir_find(&err));
	assert_message_has(&err, opening);
	err_finish(&err);
}

static void a_job_id_is_safe_in_a_path(void **state)
{
	assert_true(state_dir_is_job_id("tony-20261121-061411-1f3a09c4"));
	assert_false(state_dir_is_job_id(""));
	assert_false(state_dir_is_job_id(".."));
	assert_false(state_dir_is_job_id("a/b"));
}

static void the_tail_of_a_log_is_short_and_printable(void **state)
{
	struct str_list lines = {0};
	struct str text cleanup_str = {0};

	for (int i = 0; i < 5000; i++)
		str_append_format(&text, "line %d\n", i);
	str_append(&text, "the \033[31mend");
	scratch_write(state, "log", str_text(&text), 0600);
	state_dir_tail(scratch_path(state, "log"), 2, &lines);
	assert_int_equal(lines.count, 2);
	assert_string_equal(lines.items[0], "line 4999");
	assert_string_equal(lines.items[1], "the ?[31mend");
	str_list_finish(&lines);
	state_dir_tail(scratch_path(state, "log"), 1000000, &lines);
	assert_true(lines.count < 5000);
	assert_true(str_starts_with(lines.items[0], "line "));
	str_list_finish(&lines);
	state_dir_tail(scratch_path(state, "none"), 2, &lines);
	state_dir_tail(scratch_path(state, ""), 2, &lines);
	assert_int_equal(lines.count, 0);
}

/* ---- prepare and start -------------------------------------------------------------------- */

static void assert_mode(const struct job_door *door, const char *name, unsigned mode)
{
	char *path cleanup_free = fs_join(door->job_dir, name);
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, mode);
}

/* promise: S1 S23 */
static void a_prepared_job_is_the_users_alone(void **state)
{
	struct sample sample;
	struct err err = {0};

	umask(0);
	struct job_door door = prepare(one, "one"), second = {0};
	assert_mode(&door, ".", 0700);
	assert_mode(&door, "..", 0700);
	assert_mode(&door, "token", 0600);
	assert_mode(&door, "job.json", 0600);
	assert_int_equal(strlen(door.token), 64);
	assert_int_equal(strspn(door.token, "0123456789abcdef"), 64);
	assert_null(door.address);

	struct job_door other = prepare(two, "two");
	assert_string_not_equal(door.token, other.token);
	assert_int_equal(client()->prepare(sample_job(&sample, one, "x"), &second, &err), -1);
	assert_message_has(&err, one);
	err_finish(&err);
	assert_int_equal(client()->prepare(sample_job(&sample, "../x", "x"), &second, &err), -1);
	assert_message_has(&err, "../x");
	err_finish(&err);
	job_door_finish(&door);
	job_door_finish(&other);
}

static void start_returns_when_the_am_is_up(void **state)
{
	struct job_door door = submit(one, "one");
	char *where cleanup_free = fs_join(door.job_dir, "where");
	char *cwd cleanup_free = fs_read_file(where, 4096, NULL, NULL);
	struct proc_list marked;
	pid_t am = am_of(&door);

	assert_string_equal(door.address, "127.0.0.1:4000");
	assert_int_equal(door.claim, 0);
	assert_true(is_running(am));
	assert_int_equal(getsid(am), am);
	cwd[strcspn(cwd, "\n")] = '\0';
	assert_string_equal(cwd, door.job_dir);
	char *mark cleanup_free = mem_printf("TONY_JOB_ID=%s", one);
	proc_find_marked(mark, 0, &marked);
	assert_true(marked.count >= 2);
	proc_list_finish(&marked);
	job_door_finish(&door);
}

static void a_job_whose_am_exits_at_once_is_kept_and_has_failed_to_start(void **state)
{
	struct sample sample;
	struct err err = {0};
	struct job_door door = prepare(one, "one");
	struct job_view *view;
	struct job *job;

	setenv("STAND_IN", "die", 1);
	assert_success(client()->start(sample_job(&sample, one, "one"), &door, &err), &err);
	assert_string_equal(listed(one), "failed");
	assert_success(local_job_read(door.job_dir, &job, &view, &err), &err);
	assert_string_equal(
		view->message,
		"failed to start: the application master exited with code 7: no such moon");
	assert_int_equal(view->cause.kind, CAUSE_AM_FAILED);
	assert_string_equal(view->cause.headline, "no such moon");
	assert_true(view->cause.tail.count > 0);
	char *log cleanup_free = fs_join(door.job_dir, "am.log");
	assert_true(fs_exists(log));
	job_view_destroy(view);
	job_destroy(job);
	job_door_finish(&door);
}

/* Its environment has no mark yet. */
static void a_start_that_is_interrupted_before_the_exec_leaves_no_process(void **state)
{
	struct sample sample;
	struct err err = {0};
	struct job_door door = prepare(one, "one");
	sigset_t interrupt, before;
	int number;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &before);
	raise(SIGINT);
	exec_hangs = true;
	int result = client()->start(sample_job(&sample, one, "one"), &door, &err);
	exec_hangs = false;
	sigwait(&interrupt, &number);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(result, -1);
	assert_message_has(&err, " failed to start: the submission was interrupted");
	err_finish(&err);
	assert_string_equal(listed(one), "failed");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	job_door_finish(&door);
}

static void a_missing_agent_is_told_with_the_places(void **state)
{
	struct sample sample;
	struct err err = {0};
	struct job_door door = prepare(one, "one");

	setenv("PATH", "/nowhere:.", 1);
	assert_success(client()->start(sample_job(&sample, one, "one"), &door, &err), &err);
	assert_string_equal(listed(one), "failed");
	/* Usually it is missed before there is a job. */
	struct job *job = (struct job *)sample_job(&sample, one, "one");
	assert_int_equal(client()->preflight(job, &(struct share){0}, &err), -1);
	assert_message_has(&err, "libexec/tony");
	setenv("PATH", "/usr/bin:/bin", 1);
	err_finish(&err);
	job_door_finish(&door);
}

static void a_job_too_large_is_refused_before_anything_starts(void **state)
{
	struct sample sample;
	struct job *job = (struct job *)sample_job(&sample, one, "one");
	struct err err = {0};

	assert_success(client()->preflight(job, &(struct share){0}, &err), &err);
	job->types[0].memory = (int64_t)1 << 40;
	assert_int_equal(client()->preflight(job, &(struct share){0}, &err), -1);
	assert_int_equal(err.kind, ERR_CAPACITY);
	assert_message_has(&err, "worker:0 needs ");
	assert_message_has(&err, "tony.local.memory");
	err_finish(&err);
}

/* ---- find and list ------------------------------------------------------------------------ */

static void without_jobs_nothing_is_found(void **state)
{
	struct job_summary *jobs;
	struct err err = {0};
	size_t count = 7;

	assert_not_found(NULL, "no job yet");
	assert_not_found("x", "\"x\"");
	assert_success(scheduler_list_jobs(client(), NULL, 0, &jobs, &count, &err), &err);
	assert_int_equal(count, 0);
	free(jobs);
}

static void jobs_are_found_by_id_prefix_name_and_age(void **state)
{
	struct job_door a = submit("tony-20261121-061400-aaaa", "mnist");
	struct job_door b = submit("tony-20261121-061401-bbbb", "mnist");
	struct job_door c = submit("tony-20261121-061300-cccc", "other");

	assert_found(NULL, "tony-20261121-061300-cccc"); /* by time of submission, not by name */
	assert_found("tony-20261121-061400-aaaa", "tony-20261121-061400-aaaa");
	assert_found("tony-20261121-061401", "tony-20261121-061401-bbbb");
	assert_found("other", "tony-20261121-061300-cccc");
	assert_not_found("tony-20261121", "3 jobs (tony-20261121-061300-cccc, ");
	assert_found("mnist", "tony-20261121-061401-bbbb");
	assert_not_found("", "\"\"");
	assert_not_found("../state", "no job");
	job_door_finish(&a);
	job_door_finish(&b);
	job_door_finish(&c);
}

static void kill_job(const struct job_door *door)
{
	struct err err = {0};

	assert_success(client()->kill(door, NULL, &err), &err);
}

static void an_ended_job_is_found_by_name_unless_one_lives(void **state)
{
	struct job_door first = submit("tony-20261121-061400-aaaa", "mnist");
	struct job_door second = submit("tony-20261121-061401-bbbb", "mnist");
	struct job_door third = submit("tony-20261121-061402-cccc", "mnist");

	assert_found("mnist", "tony-20261121-061402-cccc");
	kill_job(&first);
	kill_job(&third);
	assert_found("mnist", "tony-20261121-061401-bbbb");
	kill_job(&second);
	assert_found("mnist", "tony-20261121-061402-cccc");
	char *link cleanup_free = fs_join(third.job_dir, "name");
	assert_int_equal(unlink(link), 0); /* as a job of an earlier tony */
	assert_found("mnist", "tony-20261121-061402-cccc");
	assert_not_found("mnis", "no job");
	job_door_finish(&first);
	job_door_finish(&second);
	job_door_finish(&third);
}

static size_t count_since(int64_t ended_since_ms)
{
	struct job_summary *jobs;
	size_t count = 0;

	assert_int_equal(scheduler_list_jobs(client(), NULL, ended_since_ms, &jobs, &count, NULL),
			 0);
	job_summaries_free(jobs, count);
	return count;
}

static void what_ended_long_ago_may_be_left_out(void **state)
{
	static const int64_t ended_ms = 1795241650000;
	struct job_door live = submit(one, "one"), ended = submit(two, "two");
	char *path cleanup_free = mem_printf("%s/journal.jsonl", ended.job_dir);
	struct journal *journal = journal_open(path, NULL);

	journal_append(journal, record_note(NULL, NULL, "\"ev\":\"final\""), 1, false, NULL);
	assert_int_equal(count_since(INT64_MAX), 2);
	journal_append(journal, record_final(JOB_SUCCEEDED, "it is over", NULL), ended_ms, false,
		       NULL);
	journal_close(journal);
	assert_int_equal(count_since(0), 2);
	assert_int_equal(count_since(ended_ms), 2);
	assert_int_equal(count_since(ended_ms + 1), 1);
	job_door_finish(&live);
	job_door_finish(&ended);
}

/* It is not read: an AM that has ended removed am.json. */
static void a_journal_of_long_ago_without_an_am_has_ended(void **state)
{
	const struct timespec times[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	const char *dir = scratch_path(state, "job");
	char *path cleanup_free = fs_join(dir, "journal.jsonl");

	scratch_write(state, "job/journal.jsonl", "x", 0600);
	assert_false(local_job_ended_before(dir, INT64_MAX));
	utimensat(AT_FDCWD, path, times, 0);
	assert_true(local_job_ended_before(dir, INT64_MAX));
	assert_true(local_job_ended_before(dir, 1000001));
	assert_false(local_job_ended_before(dir, 1000000));
	scratch_write(state, "job/am.json", "{}", 0600);
	assert_false(local_job_ended_before(dir, INT64_MAX));
}

static void broken_jobs_do_not_hide_others(void **state)
{
	struct job_door door = submit(one, "one");

	write_in(state, two, "job.json", "{", 0600);
	scratch_write(state, "state/jobs/.hidden/job.json", "{", 0600);
	scratch_write(state, "state/jobs/empty/token", "x", 0600);
	assert_string_equal(listed(one), "submitted");
	assert_string_equal(listed(two), "(not there)");
	assert_string_equal(listed("empty"), "(not there)");
	job_door_finish(&door);
}

/* ---- jobs without an AM ------------------------------------------------------------------- */

static void what_a_dead_am_left_is_ended_once(void **state)
{
	struct job_door door = submit(one, "one");
	pid_t below = (pid_t)read_number(&door, "below");

	kill(am_of(&door), SIGKILL);
	wait_until(!is_running(am_of(&door)));
	assert_true(is_running(below));
	assert_string_equal(listed(one), "failed");
	assert_false(is_running(below));
	assert_string_equal(listed(one), "failed");
	assert_int_equal(count_final(&door, "failed to start: "), 1);

	struct job_door found = {0};
	struct err err = {0};
	assert_success(scheduler_find_job(client(), one, &found, NULL, &err), &err);
	assert_true(found.ended);
	assert_null(found.address);
	job_door_finish(&found);
	job_door_finish(&door);
}

static void a_job_being_submitted_is_left_alone(void **state)
{
	struct job_door door = prepare(one, "one");

	assert_string_equal(listed(one), "submitted");
	assert_int_equal(count_final(&door, ""), 0);
	close(door.claim); /* as when the client is killed */
	door.claim = 0;
	assert_string_equal(listed(one), "killed");
	assert_int_equal(count_final(&door, "its submission was given up"), 1);
	job_door_finish(&door);
}

/* A client that lists jobs may have read it just before. */
static void a_job_whose_submission_was_broken_off_is_nobodys_trouble(void **state)
{
	struct job_door door = prepare(one, "one");
	FILE *said = tmpfile();
	int stderr_before = dup(STDERR_FILENO);
	struct job_view *view;
	struct job *job;

	assert_int_equal(local_job_read(door.job_dir, &job, &view, NULL), 0);
	state_dir_remove_job(door.job_dir);
	assert_false(local_job_is_there(door.job_dir));
	assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
	bool has_ended_it = local_job_settle(&local_engine, door.job_dir, view);
	dup2(stderr_before, STDERR_FILENO);
	close(stderr_before);
	assert_false(has_ended_it);
	assert_int_equal(lseek(fileno(said), 0, SEEK_END), 0);
	fclose(said);
	job_view_destroy(view);
	job_destroy(job);
	job_door_finish(&door);
}

static void a_job_of_another_host_is_left_alone(void **state)
{
	struct job_door door = submit(one, "one");
	struct err err = {0};

	write_in(state, one, "origin", "elsewhere\nboot\n", 0600);
	kill(am_of(&door), SIGKILL);
	wait_until(!is_running(am_of(&door)));
	assert_string_equal(listed(one), "submitted");
	assert_int_equal(client()->kill(&door, NULL, &err), -1);
	assert_message_has(&err, "elsewhere");
	err_finish(&err);
	job_door_finish(&door);
}

static void a_job_from_before_a_reboot_is_over(void **state)
{
	struct job_door door = submit(one, "one");
	char host[256];

	/* Its AM's process id is somebody else's by now. */
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	char *origin cleanup_free = mem_printf("%s\nanother-boot\n", host);
	write_in(state, one, "origin", origin, 0600);
	assert_string_equal(listed(one), "failed");
	job_door_finish(&door);
}

static void a_deaf_am_is_killed(void **state)
{
	struct err err = {0};

	setenv("STAND_IN", "deaf", 1);
	struct job_door door = submit(one, "one");
	pid_t am = am_of(&door), below = (pid_t)read_number(&door, "below");
	assert_success(client()->kill(&door, NULL, &err), &err);
	assert_false(is_running(am));
	assert_false(is_running(below));
	assert_int_equal(count_final(&door, "killed by the user"), 1);
	assert_string_equal(listed(one), "killed");
	job_door_finish(&door);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_tells_the_days_to_look_at),
		client_test(the_state_directory_is_where_the_environment_says),
		client_test(a_directory_that_appears_before_ours_is_made_is_checked),
		client_test(remedies_can_be_typed_as_they_stand),
		client_test(a_job_id_is_safe_in_a_path),
		client_test(the_tail_of_a_log_is_short_and_printable),
		client_test(a_prepared_job_is_the_users_alone),
		client_test(start_returns_when_the_am_is_up),
		client_test(a_job_whose_am_exits_at_once_is_kept_and_has_failed_to_start),
		client_test(a_start_that_is_interrupted_before_the_exec_leaves_no_process),
		client_test(a_missing_agent_is_told_with_the_places),
		client_test(a_job_too_large_is_refused_before_anything_starts),
		client_test(without_jobs_nothing_is_found),
		client_test(jobs_are_found_by_id_prefix_name_and_age),
		client_test(an_ended_job_is_found_by_name_unless_one_lives),
		client_test(what_ended_long_ago_may_be_left_out),
		client_test(a_journal_of_long_ago_without_an_am_has_ended),
		client_test(broken_jobs_do_not_hide_others),
		client_test(what_a_dead_am_left_is_ended_once),
		client_test(a_job_being_submitted_is_left_alone),
		client_test(a_job_whose_submission_was_broken_off_is_nobodys_trouble),
		client_test(a_job_of_another_host_is_left_alone),
		client_test(a_job_from_before_a_reboot_is_over),
		client_test(a_deaf_am_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
