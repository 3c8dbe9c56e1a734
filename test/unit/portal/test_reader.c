/* What a reader tells of a job whose AM is not there. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "../history/job_bed.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "portal/index.h"
#include "portal/reader.h"
#include "scheduler/scheduler.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static const char *job_dir;
static bool has_ended;
static const char *held_back; /* NULL: it is not told why */

static char *page(const struct job *job)
{
	return mem_printf("http://rm:8088/proxy/%s/", job->id);
}

static const struct scheduler_client_ops *find_job(const char *id, struct job_door *door,
						   char **full_id, struct err *err)
{
	static const struct scheduler_client_ops ops = {.traits = &yarn_traits, .page = page};

	*door = (struct job_door){.job_dir = mem_strdup(job_dir),
				  .ended = has_ended,
				  .waiting = mem_strdup(held_back)};
	*full_id = mem_strdup(id);
	return &ops;
}

struct asked {
	pid_t pid;
	char *address;
};

static struct asked start(void **state, bool ended)
{
	static const struct reader_setup setup = {.find_job = find_job, .token = TOKEN};
	struct job *job = bed_job();
	char *text cleanup_free = job_to_text(job);

	scratch_write(state, "job.json", text, 0600);
	job_destroy(job);
	job_dir = scratch_path(state, ".");
	has_ended = ended;
	struct reader *reader = reader_create(&setup, BED_ID, &(struct portal_job){0}, NULL);
	assert_non_null(reader);
	struct asked asked = {.address = mem_strdup(reader_address(reader)), .pid = fork()};
	if (asked.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		reader_run(reader);
	}
	reader_destroy(reader);
	return asked;
}

static void stop(struct asked *asked)
{
	kill(asked->pid, SIGTERM);
	waitpid(asked->pid, NULL, 0);
	free(asked->address);
}

static int ask(const struct asked *asked, const char *path, struct str *answer)
{
	struct err err cleanup_err = {0};
	int status = 0;

	str_finish(answer);
	http_call(&(struct http_target){asked->address, TOKEN, geteuid()}, "GET", path, NULL,
		  PATIENCE_MS, &status, answer, &err);
	assert_string_equal(err_message(&err), "no error");
	return status;
}

static void expect_member(const struct asked *asked, const char *path, const char *name,
			  const char *expected)
{
	struct str answer cleanup_str = {0};

	assert_int_equal(ask(asked, path, &answer), 200);
	json_t *object cleanup_json = json_parse(answer.text, answer.length, NULL);
	const char *text = json_string_value(json_object_get(object, name));
	assert_string_equal(text ? text : "nothing", expected);
}

static void what_is_known_is_told_while_the_am_is_away(void **state)
{
	struct job *job = bed_job();
	struct str answer cleanup_str = {0};
	struct asked asked = start(state, false);

	expect_member(&asked, "/v1/job", "state", "submitted");
	expect_member(&asked, "/v1/job", "waiting",
		      "its application master is not there; yarn tells more: "
		      "http://rm:8088/proxy/" BED_ID "/");
	assert_int_equal(ask(&asked, "/v1/events", &answer), 200);
	assert_int_equal(answer.length, 0);
	bed_journal(state, job, false);
	expect_member(&asked, "/v1/job", "waiting",
		      "its application master has not been heard since 2026-11-21T06:14:03.000Z; "
		      "yarn tells more: http://rm:8088/proxy/" BED_ID "/");
	expect_member(&asked, "/v1/tasks/worker:1", "state", "failed");
	assert_int_equal(ask(&asked, "/v1/tasks", &answer), 200);
	assert_non_null(strstr(answer.text, "\"total\":2"));
	assert_int_equal(ask(&asked, "/v1/tasks/worker:1/attempts", &answer), 200);
	assert_int_equal(ask(&asked, "/v1/tasks/worker:7", &answer), 404);
	assert_int_equal(ask(&asked, "/v1/config", &answer), 200);
	assert_int_equal(ask(&asked, "/v1/cluster", &answer), 200);
	assert_int_equal(ask(&asked, "/v1/environment?type=worker", &answer), 200);
	assert_int_equal(ask(&asked, "/v1/diff", &answer), 404);
	assert_int_equal(ask(&asked, "/v1/events", &answer), 200);
	assert_non_null(strstr(answer.text, "\"ev\":\"am\""));
	assert_int_equal(ask(&asked, "/v1/tasks/worker:1/logs/stdout", &answer), 503);
	stop(&asked);
	job_destroy(job);
}

static void why_the_am_is_held_back_is_told(void **state)
{
	held_back = "the application master waits for a container in queue ml";
	struct asked asked = start(state, false);
	held_back = NULL;

	expect_member(&asked, "/v1/job", "waiting",
		      "the application master waits for a container in queue ml; yarn tells more: "
		      "http://rm:8088/proxy/" BED_ID "/");
	stop(&asked);
}

static void one_that_has_ended_waits_for_nobody(void **state)
{
	struct job *job = bed_job();
	struct asked asked = start(state, true);

	bed_journal(state, job, true);
	expect_member(&asked, "/v1/job", "state", "failed");
	expect_member(&asked, "/v1/job", "waiting", "nothing");
	stop(&asked);
	job_destroy(job);
}

static void files_that_cannot_be_read_are_said_so(void **state)
{
	struct str answer cleanup_str = {0};
	struct asked asked = start(state, false);

	scratch_write(state, "job.json", "{", 0600);
	assert_int_equal(ask(&asked, "/v1/job", &answer), 500);
	unlink(scratch_path(state, "job.json"));
	assert_int_equal(ask(&asked, "/v1/job", &answer), 404);
	stop(&asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_is_known_is_told_while_the_am_is_away),
		scratch_test(why_the_am_is_held_back_is_told),
		scratch_test(one_that_has_ended_waits_for_nobody),
		scratch_test(files_that_cannot_be_read_are_said_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
