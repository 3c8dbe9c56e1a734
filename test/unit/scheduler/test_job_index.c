#include "../base/scratch.h"
#include "../base/test.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/job_index.h"

static void make_job(struct job_summary *job, const char *id, const char *message)
{
	*job = (struct job_summary){.id = mem_strdup(id),
				    .name = mem_strdup("a\tname of 100%\n"),
				    .user = mem_strdup("ada"),
				    .owner = mem_strdup("tony"),
				    .framework = mem_strdup("pytorch"),
				    .queue = mem_strdup("sciences"),
				    .task_count = 3,
				    .state = JOB_FAILED,
				    .submitted_ms = 1795241640000,
				    .ended_ms = 1795241650000,
				    .message = mem_strdup(message)};
	str_list_add(&job->tags, "night");
	str_list_add(&job->tags, "sweep");
}

static void write_index(const char *place)
{
	struct job_index index cleanup_job_index = {0};
	struct job_index_section *day = job_index_add(&index, "2026/11/21", 17);
	struct job_summary job;

	make_job(&job, "tony-20261121-061400-aaaaaaaa", "exited with code 1: \xc3\xa9\xc3\xa0");
	job_index_add_job(day, &job, 18);
	make_job(&job, "tony-20261121-061401-bbbbbbbb", NULL);
	job_index_add_job(day, &job, 19);
	job_index_add(&index, "2026/11/22", 0);
	job_index_write(place, &index);
}

static void assert_known(const char *place, size_t sections)
{
	struct job_index index cleanup_job_index = {0};

	job_index_read(place, &index);
	assert_int_equal(index.count, sections);
}

/* The only file in it. The caller frees. */
static char *find_file(const char *state)
{
	char *command cleanup_free = mem_printf("ls %s/index/*", state);
	FILE *list = popen(command, "r");
	char line[4096] = "";

	assert_non_null(fgets(line, sizeof(line), list));
	pclose(list);
	return mem_strndup(line, strcspn(line, "\n"));
}

static void what_was_written_is_read(void **state)
{
	struct job_index index cleanup_job_index = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	write_index("hdfs://a/history");
	assert_known("hdfs://b/history", 0);
	job_index_read("hdfs://a/history", &index);
	assert_int_equal(index.count, 2);
	assert_int_equal(job_index_count(&index), 2);
	assert_null(job_index_find(&index, "2026/11/20"));
	const struct job_index_section *day = job_index_find(&index, "2026/11/21");
	assert_int_equal(day->stamp, 17);
	assert_int_equal(day->count, 2);
	const struct job_summary *job = &day->items[0].job;
	assert_int_equal(day->items[0].stamp, 18);
	assert_string_equal(job->id, "tony-20261121-061400-aaaaaaaa");
	assert_string_equal(job->name, "a\tname of 100%\n");
	assert_string_equal(job->message, "exited with code 1: \xc3\xa9\xc3\xa0");
	assert_string_equal(job->queue, "sciences");
	assert_string_equal(job->owner, "tony");
	assert_null(job->scheduler);
	assert_null(day->items[1].job.message);
	assert_int_equal(job->state, JOB_FAILED);
	assert_int_equal(job->task_count, 3);
	assert_int_equal(job->submitted_ms, 1795241640000);
	assert_int_equal(job->ended_ms, 1795241650000);
	assert_int_equal(job->tags.count, 2);
	assert_string_equal(job->tags.items[1], "sweep");
}

static void add_live(struct job_index *index, const char *section, enum job_state state)
{
	struct job_summary job;

	make_job(&job, "tony-20261121-061400-aaaaaaaa", NULL);
	job.state = state;
	job.waiting = mem_strdup("waits for 16 MiB: none free");
	job_index_add_job(job_index_add(index, section, 0), &job, 18);
}

/* In a section of their own: elsewhere a job that lives is a damage, and one that has ended there.
 */
static void live_jobs_are_told_with_what_they_wait_for(void **state)
{
	struct job_index live cleanup_job_index = {0}, ended cleanup_job_index = {0},
			      wrong cleanup_job_index = {0}, found cleanup_job_index = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	add_live(&live, JOB_INDEX_LIVE, JOB_FORMING);
	job_index_write("live jobs", &live);
	job_index_read("live jobs", &found);
	assert_int_equal(job_index_count(&found), 1);
	assert_int_equal(found.sections[0].items[0].job.state, JOB_FORMING);
	assert_string_equal(found.sections[0].items[0].job.waiting, "waits for 16 MiB: none free");
	assert_null(found.sections[0].items[0].job.message);
	add_live(&ended, JOB_INDEX_LIVE, JOB_FAILED);
	job_index_write("live jobs", &ended);
	assert_known("live jobs", 0);
	add_live(&wrong, "jobs", JOB_RUNNING);
	job_index_write("jobs", &wrong);
	assert_known("jobs", 0);
}

/* Cut at any byte, or with any byte another one. */
static void a_damaged_index_is_taken_for_none_or_read_in_full(void **state)
{
	size_t length;

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	write_index("here");
	char *path cleanup_free = find_file(scratch_path(state, "state"));
	char *text cleanup_free = fs_read_file(path, 1 << 20, &length, NULL);
	for (size_t i = 0; i < length; i++) {
		assert_int_equal(fs_write_file(path, text, i, 0600, NULL), 0);
		assert_known("here", 0);
	}
	for (size_t i = 0; i < length; i++) {
		struct job_index index cleanup_job_index = {0};
		char byte = text[i];
		text[i] = '\t';
		assert_int_equal(fs_write_file(path, text, length, 0600, NULL), 0);
		job_index_read("here", &index);
		assert_true(index.count == 0 || index.count == 2);
		text[i] = byte;
	}
	assert_int_equal(fs_write_file(path, text, length, 0600, NULL), 0);
	assert_known("here", 2);
}

static void an_index_is_written_when_much_is_new(void **state)
{
	assert_false(job_index_is_stale(5000, 0));
	assert_false(job_index_is_stale(5000, 20));
	assert_true(job_index_is_stale(5000, 100));
	assert_true(job_index_is_stale(100, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_was_written_is_read),
		scratch_test(live_jobs_are_told_with_what_they_wait_for),
		scratch_test(a_damaged_index_is_taken_for_none_or_read_in_full),
		cmocka_unit_test(an_index_is_written_when_much_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
