/* What portal/index.h promises: jobs found by what is known of them, only by those who may see
 * them, and a file that mends itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "../base/scratch.h"
#include "base/json.h"
#include "base/mem.h"
#include "portal/index.h"

static struct portal_index *open_index(void **state)
{
	struct err err cleanup_err = {0};
	struct portal_index *index = portal_index_open(scratch_path(state, "a/index.sqlite"), &err);

	assert_string_equal(err_message(&err), "no error");
	return index;
}

struct row {
	const char *id, *name, *user, *tag, *type, *acl;
	enum job_state state;
	int64_t submitted_ms, task_count, ended_ms;
};

static const struct row rows[] = {
	{"tony-1", "mnist", "alice", "nightly", "worker", NULL, JOB_SUCCEEDED, 1000, 2},
	{"tony-2", "MNIST-big", "bob", "weekly", "ps", "alice,carol staff", JOB_FAILED, 2000, 8},
	{"tony-3", "100%_sure", "carol", "", "worker", "*", JOB_SUCCEEDED, 3000, 1},
	{"tony-4", "bert", "bob", "nightly", "chief", NULL, JOB_KILLED, 4000, 4},
};

static void put(struct portal_index *index, const struct row *row, int64_t folder)
{
	struct history_type type = {.name = (char *)row->type};
	struct history_summary summary = {.id = (char *)row->id,
					  .name = (char *)row->name,
					  .user = (char *)row->user,
					  .framework = (char *)"generic",
					  .queue = (char *)"Default",
					  .state = row->state,
					  .submitted_ms = row->submitted_ms,
					  .ended_ms = row->ended_ms,
					  .task_count = row->task_count,
					  .types = &type,
					  .type_count = 1,
					  .view_acl = (char *)row->acl};

	str_list_add(&summary.tags, row->tag);
	assert_int_equal(portal_index_put(index, &summary, folder, 1, NULL), 0);
	str_list_finish(&summary.tags);
}

static struct portal_index *fill_index(void **state)
{
	struct portal_index *index = open_index(state);
	struct portal_folder folder;

	assert_int_equal(portal_index_folder(index, "/history", "1970/01/01", &folder, NULL), 0);
	for (size_t i = 0; i < array_length(rows); i++)
		put(index, &rows[i], folder.number);
	return index;
}

/* "4 2 1" are the jobs of the page, in order; *total is how many there are. */
static char *find(struct portal_index *index, struct portal_query query, int64_t *total)
{
	struct str text cleanup_str = {0}, ids = {0};
	const json_t *job;
	size_t i;

	if (query.limit == 0)
		query.limit = 100;
	assert_int_equal(portal_index_list(index, &query, &text, NULL), 0);
	json_t *answer cleanup_json = json_parse(text.text, text.length, NULL);
	assert_non_null(answer);
	*total = json_integer_value(json_object_get(answer, "total"));
	json_array_foreach(json_object_get(answer, "jobs"), i, job)
	{
		str_append_format(&ids, "%s%s", i > 0 ? " " : "",
				  json_string_value(json_object_get(job, "id")) + 5);
	}
	return str_steal(&ids);
}

static void expect(struct portal_index *index, struct portal_query query, const char *expected)
{
	int64_t total, count = 0;
	char *ids cleanup_free = find(index, query, &total);

	assert_string_equal(ids, expected);
	for (const char *c = expected; *c; c++)
		count += *c != ' ';
	assert_int_equal(total, count);
}

/* Borrows. A viewer of one group at most. */
static const struct portal_viewer *named(struct portal_viewer *viewer, const char *user,
					 const char *group)
{
	static char *groups[] = {NULL, NULL};

	groups[0] = (char *)group;
	*viewer = (struct portal_viewer){
		.user = {.name = user, .groups = {groups, *group ? 1 : 0}},
		.administrators = "root ops",
	};
	return viewer;
}

static void jobs_are_found_by_what_is_known_of_them(void **state)
{
	struct portal_index *index = fill_index(state);

	expect(index, (struct portal_query){0}, "4 3 2 1");
	expect(index, (struct portal_query){.anything = "Mnist"}, "2 1");
	expect(index, (struct portal_query){.anything = "bob"}, "4 2");
	expect(index, (struct portal_query){.name = "mnist"}, "2 1");
	expect(index, (struct portal_query){.name = "%"}, "3");
	expect(index, (struct portal_query){.name = "0_s"}, "");
	expect(index, (struct portal_query){.user = "BO"}, "4 2");
	expect(index, (struct portal_query){.queue = "default"}, "4 3 2 1");
	expect(index, (struct portal_query){.type = "work"}, "3 1");
	expect(index, (struct portal_query){.tag = "night"}, "4 1");
	expect(index, (struct portal_query){.state = "failed"}, "2");
	expect(index, (struct portal_query){.state = "fail"}, "");
	expect(index, (struct portal_query){.from_ms = 2000, .to_ms = 3000}, "3 2");
	expect(index, (struct portal_query){.user = "bob", .tag = "nightly"}, "4");
	portal_index_close(index);
}

/* "My jobs" of bob are not bobby's. */
static void a_text_in_quotes_is_all_of_it(void **state)
{
	struct portal_index *index = fill_index(state);
	struct row row = rows[3];

	row.id = "tony-5";
	row.user = "bobby";
	row.tag = "nightly-2 small";
	put(index, &row, 1);
	expect(index, (struct portal_query){.user = "bob"}, "4 5 2");
	expect(index, (struct portal_query){.user = "\"bob\""}, "4 2");
	expect(index, (struct portal_query){.user = "\"BOB\""}, "4 2");
	expect(index, (struct portal_query){.user = "\"b_b\""}, "");
	expect(index, (struct portal_query){.user = "\""}, "");
	expect(index, (struct portal_query){.tag = "nightly"}, "4 5 1");
	expect(index, (struct portal_query){.tag = "\"nightly\""}, "4 1");
	expect(index, (struct portal_query){.tag = "\"small\""}, "5");
	expect(index, (struct portal_query){.name = "\"mnist\""}, "1");
	portal_index_close(index);
}

static json_t *list(struct portal_index *index, struct portal_query query)
{
	struct str text cleanup_str = {0};

	query.limit = query.limit > 0 ? query.limit : 100;
	assert_int_equal(portal_index_list(index, &query, &text, NULL), 0);
	json_t *answer = json_parse(text.text, text.length, NULL);
	assert_non_null(answer);
	return answer;
}

static int64_t member(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

static void states_are_counted_whichever_is_shown(void **state)
{
	struct portal_index *index = fill_index(state);
	struct portal_viewer viewer;
	json_t *all cleanup_json =
		list(index, (struct portal_query){.state = "failed", .counts = true});
	json_t *own cleanup_json =
		list(index, (struct portal_query){.user = "bob",
						  .counts = true,
						  .viewer = named(&viewer, "alice", "")});
	const json_t *states = json_object_get(all, "states");

	assert_int_equal(member(all, "total"), 1);
	assert_int_equal(member(states, "succeeded"), 2);
	assert_int_equal(member(states, "failed"), 1);
	assert_int_equal(member(states, "killed"), 1);
	assert_int_equal(json_object_size(json_object_get(own, "states")), 1);
	assert_int_equal(member(json_object_get(own, "states"), "failed"), 1);
	portal_index_close(index);
}

static void of_runs_of_one_name_the_newest_is_shown(void **state)
{
	struct portal_index *index = fill_index(state);
	struct row run = rows[0];

	run.id = "tony-5";
	run.submitted_ms = 5000;
	put(index, &run, 1);
	run.id = "tony-6";
	run.submitted_ms = 500;
	run.state = JOB_FAILED;
	put(index, &run, 1);
	run.id = "tony-7";
	run.user = "bob";
	put(index, &run, 1);
	expect(index, (struct portal_query){.groups = true}, "5 4 3 2 7");
	expect(index, (struct portal_query){.groups = true, .ascending = true}, "7 2 3 4 5");
	json_t *page cleanup_json = list(index, (struct portal_query){.groups = true, .limit = 1});
	const json_t *runs = json_array_get(json_object_get(page, "runs"), 0);
	assert_int_equal(member(page, "total"), 5);
	assert_int_equal(member(runs, "count"), 3);
	assert_int_equal(member(runs, "failed"), 1);
	portal_index_close(index);
}

static void put_family(struct portal_index *index)
{
	static const struct row family[] = {
		{"tony-5", "tune", "bob", "", "driver", NULL, JOB_SUCCEEDED, 5000, 1, 9000},
		{"tony-6", "tune_0", "bob", "sweep=tony-5", "driver", NULL, JOB_KILLED, 6000, 1,
		 7000},
		{"tony-7", "tune_1", "bob", "sweep=tony-5", "driver", NULL, JOB_SUCCEEDED, 6500, 1,
		 8000},
		{"tony-8", "digits.a", "bob", "pipeline-20260101-000000-00000000", "driver", "*",
		 JOB_FAILED, 8000, 1, 8500},
		{"tony-9", "digits.b", "bob", "pipeline-20260101-000000-00000000", "driver", NULL,
		 JOB_KILLED, 8100, 1, 8600},
	};

	for (size_t i = 0; i < array_length(family); i++)
		put(index, &family[i], 1);
}

static void a_sweep_and_a_pipeline_are_one_row_each(void **state)
{
	struct portal_index *index = fill_index(state);
	struct portal_viewer viewer;

	put_family(index);
	expect(index, (struct portal_query){0}, "9 8 7 6 5 4 3 2 1");
	expect(index, (struct portal_query){.folds = true}, "9 5 4 3 2 1");
	json_t *page cleanup_json = list(index, (struct portal_query){.folds = true});
	const json_t *families = json_object_get(page, "families");
	const json_t *pipeline = json_array_get(families, 0), *sweep = json_array_get(families, 1);
	assert_int_equal(member(pipeline, "count"), 2);
	assert_int_equal(member(pipeline, "submitted_ms"), 8000);
	assert_int_equal(member(pipeline, "ended_ms"), 8600);
	const json_t *foremost = json_object_get(pipeline, "foremost");
	assert_string_equal(json_string_value(json_object_get(foremost, "id")), "tony-8");
	assert_null(json_object_get(sweep, "foremost"));
	assert_string_equal(json_string_value(json_object_get(sweep, "id")), "tony-5");
	assert_int_equal(member(json_object_get(sweep, "states"), "killed"), 1);
	assert_int_equal(member(json_object_get(sweep, "states"), "succeeded"), 1);
	assert_true(json_is_null(json_array_get(families, 2)));
	/* A job that the viewer may not see hides none that he may. */
	expect(index, (struct portal_query){.folds = true, .viewer = named(&viewer, "alice", "")},
	       "8 3 2 1");
	portal_index_close(index);
}

static void jobs_are_sorted_by_how_long_they_last(void **state)
{
	struct portal_index *index = open_index(state);
	struct row row = rows[0];

	row.ended_ms = row.submitted_ms + 500;
	put(index, &row, 1);
	row.id = "tony-2";
	row.ended_ms = row.submitted_ms + 700;
	put(index, &row, 1);
	row.id = "tony-3";
	row.ended_ms = 0; /* it has, nobody knows when */
	put(index, &row, 1);
	row.id = "tony-4";
	row.state = JOB_RUNNING;
	put(index, &row, 0);
	expect(index, (struct portal_query){.sort = "duration", .now_ms = 1600}, "2 4 1 3");
	expect(index, (struct portal_query){.sort = "duration", .ascending = true, .now_ms = 9000},
	       "3 1 2 4");
	assert_true(portal_is_sort("duration"));
	portal_index_close(index);
}

static void expect_words(struct portal_index *index, struct portal_query query, const char *of,
			 const char *part, size_t most, const char *expected)
{
	struct str_list values cleanup_str_list = {0};

	assert_int_equal(portal_index_words(index, &query, of, part, most, &values, NULL), 0);
	char *joined cleanup_free = str_list_join(&values, " ");
	assert_string_equal(joined, expected);
}

/* promise: S75 */
static void words_are_those_of_jobs_that_may_be_seen(void **state)
{
	struct portal_index *index = fill_index(state);
	struct portal_viewer viewer;
	struct row row = rows[3];

	row.id = "tony-5";
	row.tag = "small nightly";
	put(index, &row, 1);
	expect_words(index, (struct portal_query){0}, "user", "", 20, "alice bob carol");
	expect_words(index, (struct portal_query){0}, "user", "O", 20, "bob carol");
	expect_words(index, (struct portal_query){0}, "user", "", 2, "alice bob");
	expect_words(index, (struct portal_query){0}, "tag", "l", 20, "nightly small weekly");
	expect_words(index, (struct portal_query){0}, "name", "%", 20, "100%_sure");
	expect_words(index, (struct portal_query){.viewer = named(&viewer, "alice", "")}, "tag", "",
		     20, "nightly weekly");
	assert_true(portal_index_is_word("type"));
	assert_false(portal_index_is_word("view_acl"));
	portal_index_close(index);
}

static void how_far_a_live_job_is_becomes_a_part_of_its_summary(void **state)
{
	struct portal_index *index = fill_index(state);
	struct str_list running cleanup_str_list = {0};
	struct row live = rows[0];

	live.id = "tony-5";
	live.state = JOB_RUNNING;
	put(index, &live, 0);
	assert_int_equal(portal_index_running(index, &running, NULL), 0);
	assert_int_equal(running.count, 1);
	assert_string_equal(running.items[0], "tony-5");
	assert_int_equal(portal_index_set_work(index, "tony-5", "{\"done\":0.5}", NULL), 0);
	assert_int_equal(portal_index_set_work(index, "tony-1", "{\"done\":0.5}", NULL), 0);
	json_t *page cleanup_json = list(index, (struct portal_query){.name = "mnist"});
	const json_t *jobs = json_object_get(page, "jobs"), *job;
	size_t i;
	json_array_foreach(jobs, i, job)
	{
		bool is_live = str_equal(json_string_value(json_object_get(job, "id")), "tony-5");
		const json_t *work = json_object_get(job, "work");
		assert_true(is_live == (json_real_value(json_object_get(work, "done")) > 0.4));
	}
	portal_index_close(index);
}

static void jobs_come_in_the_order_that_is_asked_for(void **state)
{
	struct portal_index *index = fill_index(state);

	expect(index, (struct portal_query){.ascending = true}, "1 2 3 4");
	expect(index, (struct portal_query){.sort = "user"}, "3 4 2 1");
	expect(index, (struct portal_query){.sort = "user", .ascending = true}, "1 4 2 3");
	expect(index, (struct portal_query){.sort = "id", .ascending = true}, "1 2 3 4");
	expect(index, (struct portal_query){.sort = "task_count"}, "2 4 1 3");
	expect(index, (struct portal_query){.sort = "tasks"}, "2 4 1 3");
	assert_true(portal_is_sort("task_count"));
	assert_true(portal_is_sort("tasks"));
	assert_false(portal_is_sort("1; DROP TABLE jobs"));
	portal_index_close(index);
}

static void a_page_tells_how_many_there_are(void **state)
{
	struct portal_index *index = fill_index(state);
	int64_t total;

	for (int64_t offset = 0; offset <= 6; offset += 2) {
		static const char *const pages[] = {"4 3", "2 1", "", ""};
		char *ids cleanup_free =
			find(index, (struct portal_query){.offset = offset, .limit = 2}, &total);
		assert_string_equal(ids, pages[offset / 2]);
		assert_int_equal(total, 4);
	}
	portal_index_close(index);
}

/* promise: S75 */
static void what_may_not_be_seen_is_not_there(void **state)
{
	struct portal_index *index = fill_index(state);
	struct portal_job job cleanup_portal_job = {0};
	struct portal_viewer viewer;
	struct err err cleanup_err = {0};

	expect(index, (struct portal_query){.viewer = named(&viewer, "alice", "")}, "3 2 1");
	expect(index, (struct portal_query){.viewer = named(&viewer, "bob", "")}, "4 3 2");
	expect(index, (struct portal_query){.viewer = named(&viewer, "staff", "")}, "3");
	expect(index, (struct portal_query){.viewer = named(&viewer, "", ""), .name = "mnist"}, "");
	expect(index, (struct portal_query){.viewer = named(&viewer, "alice", ""), .user = "bob"},
	       "2");
	expect(index, (struct portal_query){.viewer = named(&viewer, "dave", "staff")}, "3 2");
	expect(index, (struct portal_query){.viewer = named(&viewer, "root", "")}, "4 3 2 1");
	expect(index, (struct portal_query){.viewer = named(&viewer, "carol", "ops")}, "4 3 2 1");
	assert_int_equal(
		portal_index_find(index, "tony-4", named(&viewer, "alice", ""), &job, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(
		portal_index_find(index, "tony-2", named(&viewer, "alice", ""), &job, NULL), 0);
	assert_string_equal(job.location, "/history");
	assert_string_equal(job.path, "1970/01/01/tony-2");
	portal_index_close(index);
}

/* promise: S75 */
static void a_live_job_is_its_users_until_its_acl_is_told(void **state)
{
	struct portal_index *index = fill_index(state);
	struct str_list unknown cleanup_str_list = {0}, none cleanup_str_list = {0};
	struct row live = rows[1];
	struct portal_viewer viewer;

	live.id = "tony-5";
	live.state = JOB_FORMING;
	live.name = "live";
	put(index, &live, 0);
	expect(index, (struct portal_query){.viewer = named(&viewer, "carol", ""), .name = "live"},
	       "");
	expect(index, (struct portal_query){.viewer = named(&viewer, "bob", ""), .name = "live"},
	       "5");
	assert_int_equal(portal_index_without_acls(index, &unknown, NULL), 0);
	assert_int_equal(unknown.count, 1);
	assert_string_equal(unknown.items[0], "tony-5");
	assert_int_equal(portal_index_set_acls(index, "tony-5", "carol", "dave", NULL), 0);
	live.state = JOB_RUNNING;
	put(index, &live, 0);
	expect(index, (struct portal_query){.viewer = named(&viewer, "carol", ""), .name = "live"},
	       "5");
	expect(index,
	       (struct portal_query){.viewer = named(&viewer, "dave", "staff"), .name = "live"},
	       "");
	assert_int_equal(portal_index_set_acls(index, "tony-5", NULL, NULL, NULL), 0);
	assert_int_equal(portal_index_without_acls(index, &none, NULL), 0);
	assert_int_equal(none.count, 0);
	expect(index, (struct portal_query){.viewer = named(&viewer, "carol", ""), .name = "live"},
	       "");
	portal_index_close(index);
}

static void what_a_store_has_is_the_last_word(void **state)
{
	struct portal_index *index = fill_index(state);
	struct portal_job job cleanup_portal_job = {0};
	struct row live = rows[0];

	live.state = JOB_RUNNING;
	put(index, &live, 0);
	expect(index, (struct portal_query){.state = "running"}, "");
	live.id = "tony-5";
	put(index, &live, 0);
	expect(index, (struct portal_query){.state = "running"}, "5");
	assert_int_equal(portal_index_find(index, "tony-5", NULL, &job, NULL), 0);
	assert_null(job.location);
	live.state = JOB_FAILED;
	put(index, &live, 1);
	expect(index, (struct portal_query){.state = "running"}, "");
	expect(index, (struct portal_query){.state = "failed"}, "2 5");
	portal_index_close(index);
}

static void places_that_are_gone_are_forgotten(void **state)
{
	struct portal_index *index = fill_index(state);
	struct str_list none = {0};

	assert_int_equal(portal_index_keep_folders(index, "/elsewhere", &none, NULL), 0);
	expect(index, (struct portal_query){0}, "4 3 2 1");
	assert_int_equal(portal_index_keep_locations(index, &none, NULL), 0);
	expect(index, (struct portal_query){0}, "");
	portal_index_close(index);
}

static void a_flawed_index_is_made_anew(void **state)
{
	struct portal_index *index = fill_index(state);

	portal_index_close(index);
	index = open_index(state);
	expect(index, (struct portal_query){0}, "4 3 2 1");
	portal_index_close(index);
	scratch_write(state, "a/index.sqlite", "this is no SQLite file, and was never one", 0600);
	index = open_index(state);
	expect(index, (struct portal_query){0}, "");
	portal_index_close(index);
}

/* Whichever of them is read first. */
static void another_user_takes_no_place_of_a_job(void **state)
{
	struct portal_index *index = fill_index(state);
	struct portal_viewer viewer;
	struct history_type type = {.name = (char *)"worker"};
	const struct history_summary summary = {.id = (char *)"tony-1",
						.name = (char *)"forged",
						.user = (char *)"mallory",
						.framework = (char *)"generic",
						.state = JOB_FAILED,
						.types = &type,
						.type_count = 1};

	assert_int_equal(portal_index_put(index, &summary, 77, 1, NULL), 0);
	expect(index, (struct portal_query){.name = "forged"}, "1");
	expect(index, (struct portal_query){.user = "alice"}, "1");
	put(index, &rows[0], 78);
	for (size_t i = 0; i < 2; i++) {
		struct portal_job job cleanup_portal_job = {0};
		const char *user = i == 0 ? "alice" : "mallory";
		expect(index,
		       (struct portal_query){.viewer = named(&viewer, user, ""), .user = user},
		       "1");
		assert_int_equal(
			portal_index_find(index, "tony-1", named(&viewer, user, ""), &job, NULL),
			0);
		assert_string_equal(job.user, user);
	}
	struct row taken = rows[1];
	taken.id = "tony-1";
	put(index, &taken, 78); /* the folder's entry has another owner now */
	expect(index, (struct portal_query){.user = "alice"}, "");
	put(index, &rows[0], 78);
	expect(index, (struct portal_query){.user = "bob"}, "4 2");
	assert_int_equal(portal_index_remove(index, "tony-1", 77, NULL), 0);
	expect(index, (struct portal_query){.name = "forged"}, "");
	expect(index, (struct portal_query){.user = "alice"}, "1");
	portal_index_close(index);
}

/* promise: S23 */
static void nobody_else_may_read_an_index(void **state)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	scratch_write(state, "portal/index.sqlite", "", 0644);
	assert_int_equal(chmod(scratch_path(state, "portal"), 0755), 0);
	struct portal_index *index =
		portal_index_open(scratch_path(state, "portal/index.sqlite"), NULL);
	assert_non_null(index);
	put(index, &rows[0], 0);
	for (size_t i = 0; i < array_length(ends); i++) {
		char *name cleanup_free = mem_printf("portal/index.sqlite%s", ends[i]);
		struct stat status;
		assert_int_equal(stat(scratch_path(state, name), &status), 0);
		assert_int_equal(status.st_mode & 0777, 0600);
	}
	portal_index_close(index);
}

static void add_live(void *data, const char *state, const char *user, const char *queue,
		     int64_t jobs)
{
	str_append_format(data, "%s %s %s %d; ", state, user, queue, (int)jobs);
}

static void live_jobs_are_counted_by_user_and_queue(void **state)
{
	static const struct row live[] = {
		{"tony-5", "a", "bob", "", "worker", NULL, JOB_RUNNING, 5000, 1},
		{"tony-6", "b", "bob", "", "worker", NULL, JOB_RUNNING, 6000, 1},
		{"tony-7", "c", "bob", "", "worker", NULL, JOB_FORMING, 7000, 1},
		{"tony-8", "d", "alice", "", "worker", NULL, JOB_RUNNING, 8000, 1},
	};
	struct portal_index *index = fill_index(state);
	struct str text cleanup_str = {0}, cut cleanup_str = {0};

	assert_int_equal(portal_index_live(index, 10, add_live, &text, NULL), 0);
	assert_int_equal(text.length, 0);
	for (size_t i = 0; i < array_length(live); i++)
		put(index, &live[i], 0);
	assert_int_equal(portal_index_live(index, 10, add_live, &text, NULL), 0);
	assert_string_equal(text.text, "running bob Default 2; forming bob Default 1; "
				       "running alice Default 1; ");
	assert_int_equal(portal_index_live(index, 1, add_live, &cut, NULL), 0);
	assert_string_equal(cut.text, "running bob Default 2; ");
	portal_index_close(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(jobs_are_found_by_what_is_known_of_them),
		scratch_test(a_text_in_quotes_is_all_of_it),
		scratch_test(states_are_counted_whichever_is_shown),
		scratch_test(live_jobs_are_counted_by_user_and_queue),
		scratch_test(of_runs_of_one_name_the_newest_is_shown),
		scratch_test(a_sweep_and_a_pipeline_are_one_row_each),
		scratch_test(jobs_are_sorted_by_how_long_they_last),
		scratch_test(words_are_those_of_jobs_that_may_be_seen),
		scratch_test(how_far_a_live_job_is_becomes_a_part_of_its_summary),
		scratch_test(jobs_come_in_the_order_that_is_asked_for),
		scratch_test(a_page_tells_how_many_there_are),
		scratch_test(what_may_not_be_seen_is_not_there),
		scratch_test(a_live_job_is_its_users_until_its_acl_is_told),
		scratch_test(what_a_store_has_is_the_last_word),
		scratch_test(places_that_are_gone_are_forgotten),
		scratch_test(a_flawed_index_is_made_anew),
		scratch_test(another_user_takes_no_place_of_a_job),
		scratch_test(nobody_else_may_read_an_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
