/* The mirror against a store that is a second directory here: what the store has at any moment is
 * what a container that comes next would fetch. */
#include "executor/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/fs.h"
#include "base/mem.h"
#include "executor/mirror_look.h"

enum { INTERVAL_MS = 20 };

struct bed {
	void *scratch;
	const char *here, *there;
	struct event_base *base;
	struct mirror *mirror;
	/* The store. */
	struct event *answer;
	mirror_done *done;
	void *done_data;
	struct err fault; /* of the next call, once; ERR_NONE: none */
	struct str_list log;
	const char *replacement; /* of the file fetched next, once it is listed; NULL: none */
	bool follow;
	/* What the mirror told last. */
	bool told;
	struct err told_err;
};

static void put(const char *directory, const char *name, const char *text)
{
	char *path cleanup_free = fs_join(directory, name);
	char *parent cleanup_free = fs_dirname(path);

	assert_int_equal(fs_make_directories(parent, 0700, NULL), 0);
	assert_int_equal(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
}

/* ---- the store ---------------------------------------------------------------------------- */

static void on_answer(evutil_socket_t fd, short what, void *data)
{
	struct bed *bed = data;
	struct err err cleanup_err = bed->fault;

	bed->fault = (struct err){0};
	bed->done(bed->done_data, err.kind == ERR_NONE ? NULL : &err);
}

static void answer(struct bed *bed, mirror_done *done, void *done_data)
{
	bed->done = done;
	bed->done_data = done_data;
	event_active(bed->answer, EV_TIMEOUT, 0);
}

static void store_list(void *data, struct mirror_files *files, mirror_done *done, void *done_data)
{
	struct bed *bed = data;
	struct err err cleanup_err = {0};

	if (fs_exists(bed->there))
		assert_int_equal(mirror_look(bed->there, files, &err), 0);
	answer(bed, done, done_data);
}

static void copy(int from, int to)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)got), got);
}

static void store_fetch(void *data, const struct mirror_file *file, int fd, mirror_done *done,
			void *done_data)
{
	struct bed *bed = data;
	char *from cleanup_free = fs_join(bed->there, file->path);

	if (bed->replacement)
		put(bed->there, file->path, bed->replacement);
	bed->replacement = NULL;
	int source cleanup_close = open(from, O_RDONLY);
	str_list_add_format(&bed->log, "fetch %s", file->path);
	copy(source, fd);
	answer(bed, done, done_data);
}

static void store_store(void *data, const struct mirror_file *file, int fd, mirror_done *done,
			void *done_data)
{
	struct bed *bed = data;
	char *path cleanup_free = fs_join(bed->there, file->path);
	char *parent cleanup_free = fs_dirname(path);
	struct timespec time = {.tv_sec = file->modified / 1000000000,
				.tv_nsec = file->modified % 1000000000 / 1000000 * 1000000};
	const struct timespec times[] = {time, time};

	str_list_add_format(&bed->log, "store %s", file->path);
	if (bed->fault.kind == ERR_NONE) {
		assert_int_equal(fs_make_directories(parent, 0700, NULL), 0);
		int target cleanup_close = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		copy(fd, target);
		assert_int_equal(futimens(target, times), 0);
	}
	answer(bed, done, done_data);
}

static void store_remove(void *data, const char *path, mirror_done *done, void *done_data)
{
	struct bed *bed = data;
	char *there cleanup_free = fs_join(bed->there, path);

	str_list_add_format(&bed->log, "remove %s", path);
	unlink(there);
	answer(bed, done, done_data);
}

static void store_close(void *data)
{
	struct bed *bed = data;

	event_del(bed->answer);
}

/* ---- the bed ------------------------------------------------------------------------------ */

static void open_mirror(struct bed *bed)
{
	struct err err cleanup_err = {0};
	const struct mirror_options options = {
		.base = bed->base,
		.directory = bed->here,
		.scratch = scratch_path(&bed->scratch, "scratch"),
		.store = {bed, store_list, store_fetch, store_store, store_remove, store_close},
		.interval_ms = INTERVAL_MS,
		.follow = bed->follow,
	};

	bed->mirror = mirror_create(&options, &err);
	assert_non_null(bed->mirror);
}

static int set_up(void **state)
{
	struct bed *bed = mem_alloc(sizeof(*bed));

	scratch_create(&bed->scratch);
	bed->here = scratch_path(&bed->scratch, "here");
	bed->there = scratch_path(&bed->scratch, "there");
	bed->base = event_base_new();
	bed->answer = evtimer_new(bed->base, on_answer, bed);
	open_mirror(bed);
	*state = bed;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *bed = *state;

	mirror_destroy(bed->mirror);
	event_free(bed->answer);
	event_base_free(bed->base);
	str_list_finish(&bed->log);
	err_finish(&bed->told_err);
	scratch_remove(&bed->scratch);
	free(bed);
	return 0;
}

static void on_told(void *data, const struct err *err)
{
	struct bed *bed = data;

	bed->told = true;
	err_finish(&bed->told_err);
	if (err)
		err_set(&bed->told_err, err->kind, "%s", err_message(err));
	event_base_loopbreak(bed->base);
}

static void fetch(struct bed *bed)
{
	bed->told = false;
	mirror_fetch(bed->mirror, on_told, bed);
	assert_false(bed->told);
	event_base_dispatch(bed->base);
	assert_true(bed->told);
}

static void flush(struct bed *bed)
{
	bed->told = false;
	mirror_flush(bed->mirror, on_told, bed);
	assert_false(bed->told);
	event_base_dispatch(bed->base);
	assert_true(bed->told);
}

static void set_time(const char *directory, const char *name, int64_t seconds)
{
	char *path cleanup_free = fs_join(directory, name);
	const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool has(const char *directory, const char *name, const char *text)
{
	char *path cleanup_free = fs_join(directory, name);
	char *found cleanup_free = fs_read_file(path, 1 << 20, NULL, NULL);

	return str_equal(found, text);
}

static void drop(const char *directory, const char *name)
{
	char *path cleanup_free = fs_join(directory, name);

	assert_int_equal(unlink(path), 0);
}

/* Runs the loop until the store has been asked `text`. */
static void wait_log(struct bed *bed, const char *text)
{
	while (!str_list_has(&bed->log, text))
		event_base_loop(bed->base, EVLOOP_ONCE);
	event_base_loop(bed->base, EVLOOP_NONBLOCK);
}

static void forget_log(struct bed *bed)
{
	str_list_finish(&bed->log);
	bed->log = (struct str_list){0};
}

/* ---- what is promised --------------------------------------------------------------------- */

static void test_nothing_there(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_true(fs_is_directory(bed->here));
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_int_equal(bed->log.count, 0);
}

static void test_flush_stores_all_oldest_first(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	put(bed->here, "a-list", "part");
	put(bed->here, "deep/er/part", "weights");
	put(bed->here, "z", "");
	set_time(bed->here, "deep/er/part", 1000);
	set_time(bed->here, "a-list", 1001);
	set_time(bed->here, "z", 1002);
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	char *log cleanup_free = str_list_join(&bed->log, ", ");
	assert_string_equal(log, "store deep/er/part, store a-list, store z");
	assert_true(has(bed->there, "deep/er/part", "weights"));

	/* Nothing is stored twice. */
	flush(bed);
	assert_int_equal(bed->log.count, 3);
}

static void test_fetch_makes_it_equal(void **state)
{
	struct bed *bed = *state;

	put(bed->there, "epoch-1/weights", "one");
	put(bed->there, "latest", "epoch-1");
	put(bed->here, "stale", "of a former attempt");
	fetch(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_true(has(bed->here, "epoch-1/weights", "one"));
	assert_true(has(bed->here, "latest", "epoch-1"));
	assert_true(has(bed->here, "stale", NULL));
	forget_log(bed);

	/* What is here already is not fetched again; what another task has changed is. */
	put(bed->there, "latest", "epoch-2");
	set_time(bed->there, "latest", 2000); /* of the same length: its time tells */
	put(bed->there, "epoch-2/weights", "two");
	drop(bed->there, "epoch-1/weights");
	fetch(bed);
	str_list_sort(&bed->log);
	char *log cleanup_free = str_list_join(&bed->log, ", ");
	assert_string_equal(log, "fetch epoch-2/weights, fetch latest");
	assert_true(has(bed->here, "epoch-1/weights", NULL));

	/* And nothing of that is news to be stored. */
	forget_log(bed);
	flush(bed);
	assert_int_equal(bed->log.count, 0);
}

static void test_own_files_are_not_fetched_back(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	put(bed->here, "weights", "mine");
	flush(bed);
	forget_log(bed);
	fetch(bed);
	assert_int_equal(bed->log.count, 0);
	assert_true(has(bed->here, "weights", "mine"));
}

static void test_watching_stores_what_settled(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	mirror_watch(bed->mirror);
	put(bed->here, "weights", "first");
	wait_log(bed, "store weights");
	assert_true(has(bed->there, "weights", "first"));
	put(bed->here, "more", "m");
	drop(bed->here, "weights");
	wait_log(bed, "remove weights");
	assert_true(has(bed->there, "weights", NULL));
	flush(bed);
	assert_true(has(bed->there, "more", "m"));
}

static void test_another_tasks_files_are_left_alone(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	put(bed->there, "of-another", "o");
	put(bed->here, "mine", "m");
	flush(bed);
	assert_true(has(bed->there, "of-another", "o"));
	assert_true(has(bed->there, "mine", "m"));
}

static void test_a_failing_store(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	put(bed->here, "weights", "w");
	err_set(&bed->fault, ERR_UNREACHABLE, "no such host");
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_UNREACHABLE);
	assert_string_equal(err_message(&bed->told_err), "no such host");
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_true(has(bed->there, "weights", "w"));

	/* While it watches, it tries again by itself. */
	forget_log(bed);
	err_set(&bed->fault, ERR_UNREACHABLE, "no such host");
	mirror_watch(bed->mirror);
	put(bed->here, "more", "m");
	while (!mirror_trouble(bed->mirror))
		event_base_loop(bed->base, EVLOOP_ONCE);
	assert_string_equal(mirror_trouble(bed->mirror), "no such host");
	while (!has(bed->there, "more", "m") || mirror_trouble(bed->mirror))
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void test_a_file_that_is_written_to_while_it_is_stored(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	put(bed->here, "log", "l");
	put(bed->here, "weights", "w");
	set_time(bed->here, "log", 1000);
	err_set(&bed->fault, ERR_STALE, "it was written to");
	mirror_watch(bed->mirror);
	/* The others do not wait for it, and it has its turn again. */
	while (!has(bed->there, "log", "l"))
		event_base_loop(bed->base, EVLOOP_ONCE);
	assert_true(has(bed->there, "weights", "w"));
	assert_string_equal(bed->log.items[0], "store log");
	assert_string_equal(bed->log.items[1], "store weights");
}

static void test_a_list_that_leads_out_is_refused(void **state)
{
	struct bed *bed = *state;
	static const char *const paths[] = {"../x", "/etc/x", "a/../../x", "a//x", "", "a/.", "a/"};

	for (size_t i = 0; i < array_length(paths); i++)
		assert_false(mirror_path_is_safe(paths[i]));
	assert_true(mirror_path_is_safe("a/b..c/.hidden"));
	assert_non_null(bed);
}

static void test_a_file_that_changes_while_it_is_fetched(void **state)
{
	struct bed *bed = *state;

	put(bed->there, "weights", "first");
	bed->replacement = "second, and longer";
	fetch(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_true(has(bed->here, "weights", "second, and longer"));
}

static void test_who_follows_sees_what_others_write(void **state)
{
	struct bed *bed = *state;

	mirror_destroy(bed->mirror);
	bed->follow = true;
	open_mirror(bed);
	put(bed->there, "epoch-1", "one");
	fetch(bed);
	mirror_watch(bed->mirror);
	put(bed->here, "events", "its own");
	put(bed->there, "epoch-2", "two");
	drop(bed->there, "epoch-1");
	while (!has(bed->here, "epoch-2", "two") || has(bed->here, "epoch-1", "one"))
		event_base_loop(bed->base, EVLOOP_ONCE);
	flush(bed);
	assert_true(has(bed->here, "events", "its own"));
	assert_true(has(bed->there, "events", "its own"));
	assert_true(has(bed->there, "epoch-2", "two"));
}

static void test_destroyed_in_the_middle(void **state)
{
	struct bed *bed = *state;

	put(bed->there, "weights", "w");
	mirror_fetch(bed->mirror, on_told, bed);
	mirror_destroy(bed->mirror);
	bed->mirror = NULL;
	event_base_loop(bed->base, EVLOOP_NONBLOCK);
	assert_false(bed->told);

	open_mirror(bed);
	mirror_watch(bed->mirror);
	put(bed->here, "more", "m");
	mirror_flush(bed->mirror, on_told, bed);
	mirror_destroy(bed->mirror);
	bed->mirror = NULL;
	event_base_loop(bed->base, EVLOOP_NONBLOCK);
	assert_false(bed->told);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_there),
		TEST(test_flush_stores_all_oldest_first),
		TEST(test_fetch_makes_it_equal),
		TEST(test_own_files_are_not_fetched_back),
		TEST(test_watching_stores_what_settled),
		TEST(test_another_tasks_files_are_left_alone),
		TEST(test_a_failing_store),
		TEST(test_a_file_that_is_written_to_while_it_is_stored),
		TEST(test_a_list_that_leads_out_is_refused),
		TEST(test_a_file_that_changes_while_it_is_fetched),
		TEST(test_who_follows_sees_what_others_write),
		TEST(test_destroyed_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
