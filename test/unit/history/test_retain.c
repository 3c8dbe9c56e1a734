#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/retain.h"

#define NOW_MS 1795241640000 /* 2026-11-21 */

static void add_job(void **state, const char *day, const char *id, int64_t bytes)
{
	struct history_summary summary = {.id = (char *)id,
					  .name = (char *)"n",
					  .user = (char *)"u",
					  .framework = (char *)"generic",
					  .state = JOB_SUCCEEDED,
					  .bytes = bytes};
	json_t *object cleanup_json = history_summary_to_json(&summary);
	char *text cleanup_free = json_text(object);
	char *path cleanup_free = mem_printf("store/%s/%s/summary.json", day, id);

	scratch_write(state, path, text, 0600);
}

static struct history_retained retain(void **state, const struct history_retention *retention)
{
	struct history_store *store = history_store_open(scratch_path(state, "store"), NULL, NULL);
	struct history_retained retained;

	assert_int_equal(history_retain(store, retention, NOW_MS, &retained, NULL), 0);
	history_store_close(store);
	return retained;
}

static bool is_there(void **state, const char *name)
{
	char *path cleanup_free = mem_printf("store/%s", name);

	return fs_exists(scratch_path(state, path));
}

static void what_is_too_old_goes_by_whole_days(void **state)
{
	const struct history_retention retention = {.age_ms = 3 * HISTORY_DAY_MS};

	add_job(state, "2026/11/21", "today", 0);
	add_job(state, "2026/11/18", "in-time", 0);
	add_job(state, "2026/11/17", "too-old", 0);
	scratch_write(state, "store/2026/11/17/.killed.1/job.json", "{}", 0600);
	scratch_write(state, "store/finished/2020/01/01/application_1_1/x.jhist", "", 0600);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.kept, 2);
	assert_int_equal(retained.removed, 2);
	assert_int_equal(retained.failed, 0);
	assert_true(is_there(state, "2026/11/18/in-time"));
	assert_false(is_there(state, "2026/11/17"));
	assert_false(is_there(state, "finished/2020/01/01"));
}

static void what_is_nobodys_job_stays(void **state)
{
	const struct history_retention retention = {.age_ms = HISTORY_DAY_MS, .bytes = 1};

	scratch_write(state, "store/2020/01/01/photos/cat.jpg", "meow", 0600);
	scratch_write(state, "store/2020/01/01/list.txt", "", 0600);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.removed, 0);
	assert_true(is_there(state, "2020/01/01/photos/cat.jpg"));
	assert_true(is_there(state, "2020/01/01/list.txt"));
}

static void what_is_too_much_goes_oldest_first(void **state)
{
	const struct history_retention retention = {.bytes = 250};

	add_job(state, "2026/11/21", "newest", 100);
	add_job(state, "2026/11/20", "newer", 100);
	add_job(state, "2026/11/19", "large", 100);
	add_job(state, "2026/11/18", "small", 10);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.kept, 2);
	assert_int_equal(retained.bytes_kept, 200);
	assert_int_equal(retained.removed, 2);
	assert_int_equal(retained.bytes_removed, 110);
	assert_true(is_there(state, "2026/11/20/newer"));
	assert_false(is_there(state, "2026/11/19/large"));
	assert_false(is_there(state, "2026/11/18/small"));
}

static void a_foreign_job_is_measured(void **state)
{
	const struct history_retention retention = {.bytes = 100};
	char text[90];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	add_job(state, "2026/11/21", "newest", 50);
	scratch_write(state, "store/finished/2026/11/20/application_1_1/x.jhist", text, 0600);
	struct history_retained retained = retain(state, &retention);
	assert_int_equal(retained.kept, 1);
	assert_int_equal(retained.removed, 1);
	assert_int_equal(retained.bytes_removed, 89);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_is_too_old_goes_by_whole_days),
		scratch_test(what_is_nobodys_job_stays),
		scratch_test(what_is_too_much_goes_oldest_first),
		scratch_test(a_foreign_job_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
