#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/user.h"
#include "history/store.h"

static struct history_store *open_store(void **state)
{
	struct err err cleanup_err = {0};
	struct history_store *store = history_store_open(scratch_path(state, "store"), NULL, &err);

	assert_string_equal(err_message(&err), "no error");
	return store;
}

/* A job with the least that makes one. */
static void add_job(void **state, const char *day, const char *id)
{
	struct history_summary summary = {.id = (char *)id,
					  .name = (char *)"n",
					  .user = (char *)"u",
					  .framework = (char *)"generic",
					  .state = JOB_SUCCEEDED};
	json_t *object cleanup_json = history_summary_to_json(&summary);
	char *text cleanup_free = json_text(object);
	char *path cleanup_free = mem_printf("store/%s/%s/summary.json", day, id);

	scratch_write(state, path, text, 0600);
}

/* The path of its record; NULL: there is none. */
static char *find(struct history_store *store, const char *id, const struct history_days *days,
		  struct err *err)
{
	struct history_record record cleanup_history_record = {0};

	return history_store_find(store, id, days, NULL, &record, err) < 0
		       ? NULL
		       : mem_steal(&record.path);
}

static void a_store_that_is_not_there_is_empty(void **state)
{
	struct history_store *store = open_store(state);
	struct history_folders folders cleanup_history_folders = {0};
	struct history_jobs jobs cleanup_history_jobs = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(history_store_folders(store, &folders, NULL), 0);
	assert_int_equal(folders.count, 0);
	assert_int_equal(history_store_jobs(store, "2026/11/21", &jobs, NULL), 0);
	assert_int_equal(jobs.count, 0);
	assert_null(find(store, "tony-20261121-061400-1f3a", NULL, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	history_store_close(store);
}

static void days_come_newest_first_and_only_days(void **state)
{
	struct history_folders folders cleanup_history_folders = {0};
	struct history_store *store = open_store(state);

	add_job(state, "2026/11/21", "a");
	add_job(state, "2025/12/31", "b");
	add_job(state, "finished/2026/01/08", "c");
	add_job(state, "intermediate", "d");
	add_job(state, "2026/13/01", "e");
	add_job(state, "lost+found/11/21", "f");
	scratch_write(state, "store/2026/11/30", "a file", 0600);
	assert_int_equal(history_store_folders(store, &folders, NULL), 0);
	assert_int_equal(folders.count, 4);
	assert_string_equal(folders.items[0].path, "2026/11/21");
	assert_string_equal(folders.items[1].path, "finished/2026/01/08");
	assert_string_equal(folders.items[2].path, "2025/12/31");
	assert_string_equal(folders.items[3].path, "intermediate");
	assert_int_equal(folders.items[0].day_ms, 1795219200000);
	assert_true(folders.items[0].modified_ms > 1700000000000);
	history_store_close(store);
}

static void a_day_has_its_whole_jobs_only(void **state)
{
	struct history_store *store = open_store(state);
	struct history_jobs jobs cleanup_history_jobs = {0};

	add_job(state, "2026/11/21", "older");
	add_job(state, "2026/11/21", "newer");
	add_job(state, "2026/11/21", ".newest.1"); /* is being written */
	scratch_write(state, "store/2026/11/21/file", "", 0600);
	assert_int_equal(symlink("..", scratch_path(state, "store/2026/11/21/link")), 0);
	const struct timespec times[] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
	utimensat(AT_FDCWD, scratch_path(state, "store/2026/11/21/older"), times, 0);
	assert_int_equal(history_store_jobs(store, "2026/11/21", &jobs, NULL), 0);
	assert_int_equal(jobs.count, 2);
	assert_string_equal(jobs.items[0].id, "newer");
	assert_string_equal(jobs.items[1].id, "older");
	assert_string_equal(jobs.items[1].path, "2026/11/21/older");
	assert_int_equal(jobs.items[1].modified_ms, 1700000000000);
	assert_int_equal(jobs.strays.count, 2);
	assert_true(str_list_has(&jobs.strays, "file") && str_list_has(&jobs.strays, "link"));
	history_store_close(store);
}

static void a_job_is_found_by_its_id(void **state)
{
	struct history_store *store = open_store(state);
	struct err err cleanup_err = {0};

	add_job(state, "2026/11/21", "tony-20261121-061400-1f3a");
	add_job(state, "2026/11/25", "application_1795241640000_0042");
	add_job(state, "finished/2026/11/25", "application_1795241640000_0001");
	char *local cleanup_free = find(store, "tony-20261121-061400-1f3a", NULL, &err);
	char *yarn cleanup_free = find(store, "application_1795241640000_0042", NULL, &err);
	char *java cleanup_free = find(store, "application_1795241640000_0001", NULL, &err);
	assert_string_equal(local, "2026/11/21/tony-20261121-061400-1f3a");
	assert_string_equal(yarn, "2026/11/25/application_1795241640000_0042");
	assert_string_equal(java, "finished/2026/11/25/application_1795241640000_0001");
	const struct history_days day = {1795219200000, 1795219200000},
				  later = {1795305600000, INT64_MAX};
	char *then cleanup_free = find(store, "tony-20261121-061400-1f3a", &day, &err);
	assert_string_equal(then, local);
	assert_null(find(store, "tony-20261121-061400-1f3a", &later, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	err_finish(&err);
	assert_null(find(store, "../2026", NULL, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	history_store_close(store);
}

static void files_of_a_job_are_read_with_a_cap(void **state)
{
	struct history_store *store = open_store(state);
	struct history_entries entries cleanup_history_entries = {0};
	struct history_record record cleanup_history_record = {0};
	struct err err cleanup_err = {0};
	size_t length;

	add_job(state, "2026/11/21", "job");
	scratch_write(state, "store/2026/11/21/job/logs/worker-0/stdout", "hello", 0600);
	assert_int_equal(history_store_record(store, "2026/11/21/job", NULL, &record, NULL), 0);
	char *text cleanup_free =
		history_store_read_file(store, &record, "logs/worker-0/stdout", 5, &length, &err);
	assert_string_equal(text, "hello");
	assert_int_equal(length, 5);
	assert_null(
		history_store_read_file(store, &record, "logs/worker-0/stdout", 4, &length, &err));
	assert_int_equal(err.kind, ERR_INPUT);
	err_finish(&err);
	assert_null(history_store_read_file(store, &record, "logs/worker-0", 4, &length, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(history_store_list(store, &record, "logs/worker-0", &entries, NULL), 0);
	assert_int_equal(entries.count, 1);
	assert_string_equal(entries.items[0].name, "stdout");
	assert_int_equal(entries.items[0].length, 5);
	history_store_close(store);
}

/* As when another user, whose day it is, has put an entry of his in its place. */
static void an_entry_in_the_place_of_a_record_is_not_read(void **state)
{
	struct history_store *store = open_store(state);
	struct history_record record cleanup_history_record = {0};
	struct history_entries entries cleanup_history_entries = {0};
	struct err err cleanup_err = {0};
	size_t length;

	add_job(state, "2026/11/21", "job");
	scratch_write(state, "store/2026/11/21/job/logs/worker-0/stdout", "hello", 0600);
	assert_int_equal(history_store_record(store, "2026/11/21/job", NULL, &record, NULL), 0);
	mem_replace(&record.owner, mem_strdup("alice"));
	assert_null(history_store_read_file(store, &record, "logs/worker-0/stdout", 100, &length,
					    &err));
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err.message, "has taken the place of alice's"));
	assert_int_equal(history_store_open_file(store, &record, "logs/worker-0/stdout", 100, NULL),
			 -1);
	assert_int_equal(history_store_list(store, &record, "logs", &entries, NULL), -1);
	history_store_close(store);
}

static void nothing_outside_of_the_store_is_read(void **state)
{
	static const char *const names[] = {
		"../../../../secret",
		"logs/../../job/../../../../secret",
		"/secret",
		"link",
		"logs/worker-0/stdout",
		"fifo",
		"",
		"logs//x",
	};
	const struct history_record record = {.path = (char *)"2026/11/21/job"};
	const struct history_record outside = {.path = (char *)"2026/11/../../.."};
	struct history_store *store = open_store(state);
	size_t length;

	scratch_write(state, "secret", "secret", 0600);
	scratch_write(state, "elsewhere/stdout", "secret", 0600);
	add_job(state, "2026/11/21", "job");
	scratch_write(state, "store/2026/11/21/job/logs/x", "", 0600);
	assert_int_equal(symlink(scratch_path(state, "secret"),
				 scratch_path(state, "store/2026/11/21/job/link")),
			 0);
	assert_int_equal(symlink(scratch_path(state, "elsewhere"),
				 scratch_path(state, "store/2026/11/21/job/logs/worker-0")),
			 0);
	assert_int_equal(mkfifo(scratch_path(state, "store/2026/11/21/job/fifo"), 0600), 0);
	for (size_t i = 0; i < array_length(names); i++) {
		struct err err cleanup_err = {0};
		assert_null(history_store_read_file(store, &record, names[i], 100, &length, &err));
		assert_int_equal(err.kind, ERR_NOT_FOUND);
	}
	assert_null(history_store_read_file(store, &outside, "secret", 100, &length, NULL));
	history_store_close(store);
}

static void a_summary_is_of_the_job_that_it_lies_in(void **state)
{
	struct history_store *store = open_store(state);
	struct history_summary summary cleanup_history_summary = {0};
	struct err err cleanup_err = {0};

	add_job(state, "2026/11/21", "job");
	add_job(state, "2026/11/21", "other");
	assert_int_equal(history_store_summary(store, "2026/11/21/job", &summary, NULL), 0);
	assert_string_equal(summary.id, "job");
	unlink(scratch_path(state, "store/2026/11/21/job/summary.json"));
	assert_int_equal(link(scratch_path(state, "store/2026/11/21/other/summary.json"),
			      scratch_path(state, "store/2026/11/21/job/summary.json")),
			 0);
	history_summary_finish(&summary);
	assert_int_equal(history_store_summary(store, "2026/11/21/job", &summary, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	unlink(scratch_path(state, "store/2026/11/21/job/summary.json"));
	err_finish(&err);
	assert_int_equal(history_store_summary(store, "2026/11/21/job", &summary, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	history_store_close(store);
}

static void set_mode(void **state, const char *path, mode_t mode)
{
	assert_int_equal(chmod(scratch_path(state, path), mode), 0);
}

static void expect_no_owner(struct history_store *store, const char *why)
{
	struct err err cleanup_err = {0};

	assert_null(history_store_owner(store, "2026/11/21/job", &err));
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err_message(&err), why));
}

static void an_entry_is_its_owners_where_nobody_else_can_put_one(void **state)
{
	static const char *const folders[] = {"store", "store/2026", "store/2026/11",
					      "store/2026/11/21"};
	struct history_store *store = open_store(state);
	char *me cleanup_free = user_name_of(geteuid());
	struct err err cleanup_err = {0};

	add_job(state, "2026/11/21", "job");
	set_mode(state, "store/2026/11/21/job", 0755);
	for (size_t i = 0; i < array_length(folders); i++) {
		char *remedy cleanup_free =
			mem_printf("chmod +t %s", scratch_path(state, folders[i]));
		set_mode(state, folders[i], 0777);
		expect_no_owner(store, remedy);
		set_mode(state, folders[i], 01777);
	}
	char *owner cleanup_free = history_store_owner(store, "2026/11/21/job", NULL);
	assert_string_equal(owner, me);
	set_mode(state, "store/2026/11/21/job", 01777);
	expect_no_owner(store, "can write to it");
	assert_null(history_store_owner(store, "2026/11/../job", NULL));
	assert_null(history_store_owner(store, "2026/11/21/other", &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	history_store_close(store);
}

/* As a umask of 002 makes them. */
static void an_entry_may_be_written_by_the_private_group_of_its_owner(void **state)
{
	static const char *const folders[] = {"store", "store/2026", "store/2026/11",
					      "store/2026/11/21", "store/2026/11/21/job"};
	struct history_store *store = open_store(state);
	struct stat status;

	add_job(state, "2026/11/21", "job");
	for (size_t i = 0; i < array_length(folders); i++)
		set_mode(state, folders[i], 0775);
	assert_int_equal(stat(scratch_path(state, "store"), &status), 0);
	char *owner cleanup_free = history_store_owner(store, "2026/11/21/job", NULL);
	assert_int_equal(!owner, user_write_remedy(scratch_path(state, "store"), &status) != NULL);
	if (geteuid() == 0) {
		char *remedy cleanup_free = mem_strdup("type \"chmod +t");
		assert_non_null(owner);
		for (size_t i = 0; i < 2; i++) {
			const char *folder = scratch_path(state, folders[i]);
			assert_int_equal(chown(folder, 0, 65533), 0);
			set_mode(state, folders[i], 0775);
			mem_replace(&remedy, mem_printf("%s %s", remedy, folder));
		}
		expect_no_owner(store, remedy);
	}
	history_store_close(store);
}

/* The day's owner has exchanged them. */
static void another_job_at_the_place_of_an_entry_is_not_removed(void **state)
{
	struct history_store *store = open_store(state);
	struct err err cleanup_err = {0};

	add_job(state, "2026/11/21", "keep");
	char *keep cleanup_free = mem_strdup(scratch_path(state, "store/2026/11/21/keep"));
	assert_int_equal(rename(keep, scratch_path(state, "store/2026/11/21/gone")), 0);
	assert_int_equal(history_store_remove(store, "2026/11/21/gone", NULL, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_true(fs_exists(scratch_path(state, "store/2026/11/21/gone/summary.json")));
	history_store_close(store);
}

static void a_job_is_removed_and_nothing_that_it_points_to(void **state)
{
	struct history_store *store = open_store(state);

	scratch_write(state, "elsewhere/kept", "kept", 0600);
	scratch_write(state, "elsewhere/11/21/kept", "kept", 0600);
	add_job(state, "2026/11/21", "job");
	assert_int_equal(symlink(scratch_path(state, "elsewhere"),
				 scratch_path(state, "store/2026/11/21/job/logs")),
			 0);
	assert_int_equal(
		symlink(scratch_path(state, "elsewhere"), scratch_path(state, "store/2025")), 0);
	assert_int_equal(history_store_remove(store, "2026/11/21/job", NULL, NULL), 0);
	assert_int_equal(history_store_remove(store, "2026/11/21/job", NULL, NULL), 0);
	assert_int_equal(history_store_remove(store, "2025/11/21", NULL, NULL), 0);
	assert_false(fs_exists(scratch_path(state, "store/2026/11/21/job")));
	assert_true(fs_exists(scratch_path(state, "elsewhere/kept")));
	assert_true(fs_exists(scratch_path(state, "elsewhere/11/21/kept")));
	history_store_close(store);
}

static void a_location_is_a_path_or_a_url(void **state)
{
	struct err err cleanup_err = {0};
	char *url cleanup_free = mem_printf("file://%s", scratch_path(state, "store"));
	struct history_store *store = history_store_open(url, NULL, NULL);
	struct history_summary summary cleanup_history_summary = {0};

	add_job(state, "2026/11/21", "job");
	assert_int_equal(history_store_summary(store, "2026/11/21/job", &summary, NULL), 0);
	history_store_close(store);
	assert_null(history_store_open("history", NULL, &err));
	assert_int_equal(err.kind, ERR_CONFIG);
	err_finish(&err);
	assert_null(history_store_open("hdfs://nn/history", NULL, &err));
	assert_non_null(strstr(err_message(&err), "HADOOP_CONF_DIR"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_store_that_is_not_there_is_empty),
		scratch_test(days_come_newest_first_and_only_days),
		scratch_test(a_day_has_its_whole_jobs_only),
		scratch_test(a_job_is_found_by_its_id),
		scratch_test(files_of_a_job_are_read_with_a_cap),
		scratch_test(an_entry_in_the_place_of_a_record_is_not_read),
		scratch_test(nothing_outside_of_the_store_is_read),
		scratch_test(a_summary_is_of_the_job_that_it_lies_in),
		scratch_test(an_entry_is_its_owners_where_nobody_else_can_put_one),
		scratch_test(an_entry_may_be_written_by_the_private_group_of_its_owner),
		scratch_test(another_job_at_the_place_of_an_entry_is_not_removed),
		scratch_test(a_job_is_removed_and_nothing_that_it_points_to),
		scratch_test(a_location_is_a_path_or_a_url),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
