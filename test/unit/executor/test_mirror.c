/* The mirror over a store in a second directory: what the store has at any moment is what a
 * container that comes next would fetch. */
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
#include "../hadoop/web_server.h"
#include "base/fs.h"
#include "base/mem.h"
#include "executor/mirror_look.h"
#include "executor/mirror_store.h"
#include "store/access.h"
#include "store/store.h"

enum { INTERVAL_MS = 20, PATIENT_MS = 60000 };

struct bed {
	void *scratch;
	const char *here, *there;
	struct event_base *base;
	struct mirror *mirror;
	struct mirror_files seen_here, seen_there; /* by the last step */
	struct str_list log;			   /* what the mirror has changed since */
	bool follow;
	int64_t patience_ms;
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

/* ---- what the mirror changes -------------------------------------------------------------- */

static void look_at(const char *directory, struct mirror_files *files)
{
	struct err err cleanup_err = {0};

	mirror_files_finish(files);
	if (fs_exists(directory))
		assert_int_equal(mirror_look(directory, files, &err), 0);
}

static const struct mirror_file *find(const struct mirror_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (str_equal(files->items[i].path, path))
			return &files->items[i];
	return NULL;
}

static void note(struct bed *bed, const char *directory, struct mirror_files *seen,
		 const char *verb)
{
	struct mirror_files now cleanup_mirror_files = {0};

	look_at(directory, &now);
	for (size_t i = 0; i < now.count; i++) {
		const struct mirror_file *before = find(seen, now.items[i].path);
		if ((!before || !mirror_file_same(before, &now.items[i])) &&
		    !str_starts_with(now.items[i].path, MIRROR_STORE_PARTS "/"))
			str_list_add_format(&bed->log, "%s %s", verb, now.items[i].path);
	}
	for (size_t i = 0; i < seen->count; i++)
		if (seen == &bed->seen_there && !find(&now, seen->items[i].path) &&
		    !str_starts_with(seen->items[i].path, MIRROR_STORE_PARTS "/"))
			str_list_add_format(&bed->log, "remove %s", seen->items[i].path);
	mirror_files_finish(seen);
	*seen = now;
	now = (struct mirror_files){0};
}

/* The test's own changes are not the mirror's. */
static void forget_own(struct bed *bed)
{
	look_at(bed->here, &bed->seen_here);
	look_at(bed->there, &bed->seen_there);
}

/* One turn of the loop: of the store's calls one at most. */
static void step(struct bed *bed)
{
	event_base_loop(bed->base, EVLOOP_ONCE);
	note(bed, bed->here, &bed->seen_here, "fetch");
	note(bed, bed->there, &bed->seen_there, "store");
}

/* ---- the bed ------------------------------------------------------------------------------ */

static void open_mirror_of(struct bed *bed, const char *location, const struct store_access *access)
{
	struct err err cleanup_err = {0};
	const struct mirror_options options = {
		.directory = bed->here,
		.scratch = scratch_path(&bed->scratch, "scratch"),
		.store = store_open(location, access, -1, bed->base, &err),
		.path = "",
		.writer = "job/container",
		.interval_ms = INTERVAL_MS,
		.patience_ms = bed->patience_ms,
		.follow = bed->follow,
	};

	bed->mirror = mirror_create(&options, &err);
	assert_non_null(bed->mirror);
}

static void open_mirror(struct bed *bed)
{
	open_mirror_of(bed, bed->there, NULL);
}

static int set_up(void **state)
{
	struct bed *bed = mem_alloc(sizeof(*bed));

	scratch_create(&bed->scratch);
	bed->here = scratch_path(&bed->scratch, "here");
	bed->there = scratch_path(&bed->scratch, "there");
	bed->base = event_base_new();
	open_mirror(bed);
	*state = bed;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *bed = *state;

	mirror_destroy(bed->mirror);
	event_base_free(bed->base);
	str_list_finish(&bed->log);
	mirror_files_finish(&bed->seen_here);
	mirror_files_finish(&bed->seen_there);
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
}

static void fetch(struct bed *bed)
{
	bed->told = false;
	forget_own(bed);
	mirror_fetch(bed->mirror, on_told, bed);
	assert_false(bed->told);
	while (!bed->told)
		step(bed);
}

static void flush(struct bed *bed)
{
	bed->told = false;
	forget_own(bed);
	mirror_flush(bed->mirror, on_told, bed);
	assert_false(bed->told);
	while (!bed->told)
		step(bed);
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

/* Runs the loop until the mirror has done `text`. */
static void wait_log(struct bed *bed, const char *text)
{
	forget_own(bed);
	while (!str_list_has(&bed->log, text))
		step(bed);
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

/* A file stands where those on their way are to go. */
static void block(const struct bed *bed)
{
	char *parts cleanup_free = fs_join(bed->there, MIRROR_STORE_PARTS);

	fs_remove_tree(parts, NULL);
	put(bed->there, MIRROR_STORE_PARTS, "");
}

static void test_a_failing_store(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	put(bed->here, "weights", "w");
	block(bed);
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err_message(&bed->told_err), bed->there));
	drop(bed->there, MIRROR_STORE_PARTS);
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_true(has(bed->there, "weights", "w"));

	/* While it watches, it tries again by itself. */
	block(bed);
	mirror_watch(bed->mirror);
	put(bed->here, "more", "m");
	while (!mirror_trouble(bed->mirror))
		event_base_loop(bed->base, EVLOOP_ONCE);
	assert_non_null(strstr(mirror_trouble(bed->mirror), bed->there));
	drop(bed->there, MIRROR_STORE_PARTS);
	while (!has(bed->there, "more", "m") || mirror_trouble(bed->mirror))
		event_base_loop(bed->base, EVLOOP_ONCE);
}

/* It is tried now and then: in between nothing shows that the store is in order again. */
static void test_a_file_that_is_always_written_to_takes_no_trouble_back(void **state)
{
	struct bed *bed = *state;
	struct mirror_backlog backlog;

	fetch(bed);
	block(bed);
	mirror_watch(bed->mirror);
	put(bed->here, "log", "line");
	for (int second = 1000; second < 1050; second++) {
		bool was_troubled = mirror_trouble(bed->mirror);
		set_time(bed->here, "log", second);
		step(bed);
		assert_true(!was_troubled || mirror_trouble(bed->mirror));
	}
	assert_non_null(mirror_trouble(bed->mirror));
	mirror_measure(bed->mirror, &backlog);
	assert_int_equal(backlog.files, 1);
	assert_int_equal(backlog.bytes, strlen("line"));
	drop(bed->there, MIRROR_STORE_PARTS);
	while (mirror_trouble(bed->mirror))
		step(bed);
	assert_true(has(bed->there, "log", "line"));
	mirror_measure(bed->mirror, &backlog);
	assert_int_equal(backlog.files + backlog.bytes + backlog.wait_ms + backlog.trouble_ms, 0);
}

static void test_a_file_that_is_written_to_while_it_is_stored(void **state)
{
	struct bed *bed = *state;

	fetch(bed);
	put(bed->here, "log", "l");
	put(bed->here, "weights", "w");
	set_time(bed->here, "log", 1000);
	mirror_watch(bed->mirror);
	while (!has(bed->there, MIRROR_STORE_PARTS "/container", "l"))
		step(bed);
	set_time(bed->here, "log", 1001);
	/* The others do not wait for it, and it has its turn again. */
	forget_log(bed);
	wait_log(bed, "store log");
	assert_string_equal(bed->log.items[0], "store weights");
	assert_true(has(bed->there, "log", "l"));
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
	mirror_fetch(bed->mirror, on_told, bed);
	step(bed); /* it is listed */
	put(bed->there, "weights", "second, and longer");
	while (!bed->told)
		step(bed);
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

/* ---- over objects ------------------------------------------------------------------------- */

#define ANSWER(rest) "200 OK\r\nConnection: close\r\n" rest
#define LIST(rest)   ANSWER("\r\n") "<ListBucketResult>" rest "</ListBucketResult>"
#define OBJECT(time)                                                                               \
	"<Contents><Key>files/weights</Key><LastModified>2026-01-02T03:04:" time                   \
	"Z</LastModified><Size>4</Size></Contents>"

static void open_bucket(struct bed *bed, struct web_server *server, const struct web_step *steps,
			size_t count)
{
	web_server_start(server, steps, count);
	const struct store_access access = {
		.has_s3 = true,
		.s3 = {server->url, (char *)"here", (char *)"id", (char *)"secret", NULL}};
	mirror_destroy(bed->mirror);
	open_mirror_of(bed, "s3://bucket/files", &access);
}

static void test_an_object_is_known_by_the_time_the_bucket_gave_it(void **state)
{
	struct bed *bed = *state;
	static const struct web_step steps[] = {
		{"GET /bucket/?", LIST("")},
		{"PUT /bucket/files/weights HTTP", ANSWER("ETag: \"e\"\r\n\r\n")},
		{"GET /bucket/?", LIST(OBJECT("05"))},
		/* It was stored from here, and is neither fetched nor stored again ... */
		{"GET /bucket/?", LIST(OBJECT("05.678"))},
		/* ... but it is fetched when another one has stored it. */
		{"GET /bucket/?", LIST(OBJECT("06"))},
		{"GET /bucket/files/weights HTTP", ANSWER("Content-Length: 4\r\n\r\nnews")},
	};
	struct web_server server;

	open_bucket(bed, &server, steps, array_length(steps));
	fetch(bed);
	put(bed->here, "weights", "mine");
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	fetch(bed);
	flush(bed);
	assert_true(has(bed->here, "weights", "mine"));
	fetch(bed);
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_true(has(bed->here, "weights", "news"));
	web_server_stop(&server);
	assert_string_equal(server.bodies.text, "mine");
	web_server_finish(&server);
}

static void test_a_bucket_that_is_away_for_a_moment(void **state)
{
	struct bed *bed = *state;
	static const struct web_step steps[] = {
		{"GET /bucket/?", NULL},
		{"GET /bucket/?", "503 Slow Down\r\nConnection: close\r\n\r\n"},
		{"GET /bucket/?", LIST(OBJECT("05"))},
		{"GET /bucket/files/weights HTTP", NULL},
		{"GET /bucket/?", LIST(OBJECT("05"))},
		{"GET /bucket/files/weights HTTP", ANSWER("Content-Length: 4\r\n\r\nkept")},
		{"PUT /bucket/files/weights HTTP", NULL},
		{"PUT /bucket/files/weights HTTP", ANSWER("ETag: \"e\"\r\n\r\n")},
		{"GET /bucket/?", LIST(OBJECT("06"))},
	};
	struct web_server server;

	bed->patience_ms = PATIENT_MS;
	open_bucket(bed, &server, steps, array_length(steps));
	mirror_fetch(bed->mirror, on_told, bed);
	while (!mirror_trouble(bed->mirror))
		step(bed);
	while (!bed->told)
		step(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	assert_null(mirror_trouble(bed->mirror));
	assert_true(has(bed->here, "weights", "kept"));
	put(bed->here, "weights", "mine");
	flush(bed);
	assert_int_equal(bed->told_err.kind, ERR_NONE);
	web_server_stop(&server);
	assert_non_null(strstr(server.bodies.text, "mine"));
	web_server_finish(&server);
}

/* As in a bucket that names another directory for ever. */
static void test_a_tree_without_an_end_is_told(void **state)
{
	struct bed *bed = *state;
	struct str deep cleanup_str = {0};

	for (int i = 0; i < 101; i++)
		str_append(&deep, "d/");
	str_append(&deep, "file");
	put(bed->there, deep.text, "x");
	fetch(bed);
	assert_int_equal(bed->told_err.kind, ERR_INPUT);
	assert_non_null(
		strstr(err_message(&bed->told_err), "more than 100 directories within each other"));
}

static void test_a_bucket_that_stays_away_or_refuses(void **state)
{
	struct bed *bed = *state;
	static const struct web_step steps[] = {
		{"GET /bucket/?", NULL},
		{"GET /bucket/?", "403 Forbidden\r\nConnection: close\r\n\r\n"},
	};
	struct web_server server;

	open_bucket(bed, &server, steps, 1);
	fetch(bed);
	assert_int_equal(bed->told_err.kind, ERR_UNREACHABLE);
	mirror_destroy(mem_steal(&bed->mirror));
	web_server_stop(&server);
	web_server_finish(&server);

	bed->patience_ms = PATIENT_MS;
	open_bucket(bed, &server, steps + 1, 1);
	fetch(bed);
	assert_int_equal(bed->told_err.kind, ERR_DENIED);
	web_server_stop(&server);
	web_server_finish(&server);
}

static void test_a_bucket_that_refuses_is_told_until_it_does_not(void **state)
{
	struct bed *bed = *state;
	static const struct web_step steps[] = {
		{"GET /bucket/?", LIST("")},
		{"PUT /bucket/files/weights HTTP", "403 Forbidden\r\nConnection: close\r\n\r\n"},
		{"PUT /bucket/files/weights HTTP", ANSWER("ETag: \"e\"\r\n\r\n")},
		{"GET /bucket/?", LIST(OBJECT("05"))},
	};
	struct web_server server;

	open_bucket(bed, &server, steps, array_length(steps));
	fetch(bed);
	put(bed->here, "weights", "mine");
	mirror_watch(bed->mirror);
	while (!mirror_trouble(bed->mirror))
		step(bed);
	assert_non_null(strstr(mirror_trouble(bed->mirror), "s3://bucket/files/weights"));
	while (mirror_trouble(bed->mirror))
		step(bed);
	web_server_stop(&server);
	web_server_finish(&server);
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
		TEST(test_a_file_that_is_always_written_to_takes_no_trouble_back),
		TEST(test_a_file_that_is_written_to_while_it_is_stored),
		TEST(test_a_list_that_leads_out_is_refused),
		TEST(test_a_file_that_changes_while_it_is_fetched),
		TEST(test_who_follows_sees_what_others_write),
		TEST(test_destroyed_in_the_middle),
		TEST(test_an_object_is_known_by_the_time_the_bucket_gave_it),
		TEST(test_a_bucket_that_is_away_for_a_moment),
		TEST(test_a_tree_without_an_end_is_told),
		TEST(test_a_bucket_that_stays_away_or_refuses),
		TEST(test_a_bucket_that_refuses_is_told_until_it_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
