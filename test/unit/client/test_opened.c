/* A job whose journal another AM goes on with (client/opened.h). */
#include "../base/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/opened.h"
#include "job/journal.h"
#include "job/record.h"

static int attempt; /* of the AM that is found */

static int find(const char *id, struct job_door *door, char **full_id, struct err *err)
{
	*door = (struct job_door){.am_attempt = attempt};
	return 0;
}

static int pull(const struct job_door *door, int64_t hold_ms, struct pull_aside *aside,
		struct err *err)
{
	return 0;
}

static const struct scheduler_traits traits = {.name = "elsewhere", .remote_am = true};
static const struct scheduler_client_ops elsewhere = {
	.traits = &traits, .find = find, .pull = pull};

struct scene {
	void **state;
	struct job *job;
	struct opened opened;
	struct str told; /* the times of the lines, which are letters */
};

static void open_scene(struct scene *scene, void **state)
{
	attempt = 1;
	*scene = (struct scene){.state = state, .job = mem_alloc(sizeof(*scene->job))};
	scene->job->id = mem_strdup("job-1");
	scene->opened = (struct opened){
		.ops = &elsewhere,
		.id = mem_strdup("job-1"),
		.job = scene->job,
		.view = job_view_create(scene->job),
		.journal_path = mem_strdup(scratch_path(state, "journal.jsonl")),
		.door = {.am_attempt = 1},
	};
}

static void close_scene(struct scene *scene)
{
	opened_finish(&scene->opened);
	str_finish(&scene->told);
}

/* The journal, from now on in another file: a line for each letter; with "." the job's end. */
static void write_journal(const struct scene *scene, const char *letters)
{
	struct err err cleanup_err = {0};
	const struct cause cause = {0};

	unlink(scene->opened.journal_path);
	struct journal *journal = journal_open(scene->opened.journal_path, &err);
	assert_non_null(journal);
	for (const char *letter = letters; *letter; letter++) {
		char text[] = {*letter, '\0'};
		json_t *record = *letter == '.' ? record_final(JOB_SUCCEEDED, NULL, &cause)
						: record_waiting(text);
		assert_success(journal_append(journal, record, *letter, false, &err), &err);
	}
	journal_close(journal);
}

static int on_line(void *data, const struct journal_line *line, struct err *err)
{
	str_append_char(data, (char)line->time_ms);
	return 0;
}

static void expect(struct scene *scene, const char *letters)
{
	struct err err cleanup_err = {0};

	str_truncate(&scene->told, 0);
	assert_success(opened_read(&scene->opened, on_line, &scene->told, &err), &err);
	assert_string_equal(str_text(&scene->told), letters);
}

static void follow_am(struct scene *scene, int number, const char *letters)
{
	struct err err cleanup_err = {0};

	attempt = number;
	write_journal(scene, letters);
	assert_success(opened_find_am(&scene->opened, &err), &err);
}

static void the_next_am_goes_on_where_the_last_one_was(void **state)
{
	struct scene scene;

	open_scene(&scene, state);
	write_journal(&scene, "abc");
	expect(&scene, "abc");
	follow_am(&scene, 2, "abcde");
	expect(&scene, "de");
	assert_string_equal(scene.opened.view->waiting, "e");
	close_scene(&scene);
}

/* promise: R37 */
static void lines_that_took_the_place_of_lost_ones_are_told(void **state)
{
	struct scene scene;

	open_scene(&scene, state);
	write_journal(&scene, "abcdef");
	expect(&scene, "abcdef");
	follow_am(&scene, 2, "abx.");
	expect(&scene, "x.");
	assert_true(scene.opened.view->is_final);
	assert_string_equal(scene.opened.view->waiting, "x");
	assert_int_equal(scene.opened.view->sequence, 4);
	close_scene(&scene);
}

/* The new journal comes line by line, and one AM follows the other meanwhile. */
static void what_is_not_there_yet_is_compared_later(void **state)
{
	struct scene scene;

	open_scene(&scene, state);
	write_journal(&scene, "abcdef");
	expect(&scene, "abcdef");
	follow_am(&scene, 2, "ab");
	expect(&scene, "");
	follow_am(&scene, 3, "abc");
	expect(&scene, "");
	follow_am(&scene, 4, "abcy");
	expect(&scene, "y");
	close_scene(&scene);
}

static void what_was_not_asked_for_is_not_told_then_either(void **state)
{
	struct scene scene;

	open_scene(&scene, state);
	write_journal(&scene, "abcdef");
	expect(&scene, "abcdef");
	assert_int_equal(opened_rewind(&scene.opened, 5, NULL), 0);
	expect(&scene, "ef");
	follow_am(&scene, 2, "abxyzw");
	expect(&scene, "zw");
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(the_next_am_goes_on_where_the_last_one_was),
		scratch_test(lines_that_took_the_place_of_lost_ones_are_told),
		scratch_test(what_is_not_there_yet_is_compared_later),
		scratch_test(what_was_not_asked_for_is_not_told_then_either),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
