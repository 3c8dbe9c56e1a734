/* What is promised by portal/event_files.h, with a server that answers as HDFS does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../base/scratch.h"
#include "../hadoop/web_server.h"
#include "base/fs.h"
#include "base/mem.h"
#include "portal/event_files.h"
#include "store/access.h"

#define HEAD "200 X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"
#define MEMBERS(n, o, t)                                                                           \
	"{\"group\":\"g\",\"owner\":\"" o "\",\"pathSuffix\":\"" n                                 \
	"\",\"permission\":\"644\",\"type\":\"" t "\","
#define DIRECTORY(n, o)	 MEMBERS(n, o, "DIRECTORY") "\"length\":0,\"modificationTime\":1}"
#define FILE(n, o, l, m) MEMBERS(n, o, "FILE") "\"length\":" l ",\"modificationTime\":" m "}"
#define STATUS(file)	 HEAD "{\"FileStatus\":" file "}"
#define LIST(files)	 HEAD "{\"FileStatuses\":{\"FileStatus\":[" files "]}}"
#define TOP                                                                                        \
	{                                                                                          \
		"/logs?op=GETFILESTATUS", STATUS(DIRECTORY("", "alice"))                           \
	}
#define LISTING(files)                                                                             \
	{                                                                                          \
		"/logs?op=LISTSTATUS", LIST(files)                                                 \
	}
/* The store is asked once whether paths of inodes lead to its files. */
#define WITHOUT_INODES TOP
#define NUMBERED(number, n, o, t)                                                                  \
	STATUS(MEMBERS(n, o, t) "\"length\":3,\"modificationTime\":1,\"fileId\":" number "}")
#define WITH_INODES                                                                                \
	{"/logs?op=GETFILESTATUS", NUMBERED("5", "", "alice", "DIRECTORY")},                       \
	{                                                                                          \
		"/.reserved/.inodes/5?op=GETFILESTATUS", NUMBERED("5", "", "alice", "DIRECTORY")   \
	}
#define LOCATION HEAD "{\"Location\":\"http://@/data?op=OPEN\"}"
#define BYTES(bytes)                                                                               \
	{                                                                                          \
		"/data", "200 X\r\nConnection: close\r\n\r\n" bytes                                \
	}

struct bed {
	struct web_server server;
	void *scratch;
	const char *target;
	char *left_out;
	struct err err;
	int result;
};

static int set_up(void **state)
{
	struct bed *bed = mem_alloc(sizeof(*bed));

	*state = bed;
	if (scratch_create(&bed->scratch) < 0)
		return -1;
	bed->target = scratch_path(&bed->scratch, ".");
	return 0;
}

static int tear_down(void **state)
{
	struct bed *bed = *state;

	scratch_remove(&bed->scratch);
	free(bed->left_out);
	err_finish(&bed->err);
	free(bed);
	return 0;
}

static void copy(struct bed *bed, int64_t cap, const struct web_step *steps, size_t count)
{
	struct store_access access = {true, {.user = (char *)"portal", .fs = (char *)"hdfs://nn"}};
	struct event_files files = {.owner = "alice", .cap = cap};

	web_server_start(&bed->server, steps, count);
	str_list_add(&access.hdfs.webhdfs, bed->server.url);
	files.store = store_open("hdfs://nn/logs", &access, -1, NULL, NULL);
	str_list_finish(&access.hdfs.webhdfs);
	mem_replace(&bed->left_out, NULL);
	err_finish(&bed->err);
	bed->err = (struct err){0};
	bed->result = event_files_copy(&files, bed->target, &bed->left_out, &bed->err);
	web_server_stop(&bed->server);
	web_server_finish(&bed->server);
	store_close(files.store);
}

#define COPY(bed, cap, ...)                                                                        \
	do {                                                                                       \
		static const struct web_step steps_[] = {__VA_ARGS__};                             \
		copy(bed, cap, steps_, array_length(steps_));                                      \
	} while (0)

static void assert_is(const struct bed *bed, const char *name, const char *expected)
{
	char *path cleanup_free = fs_join(bed->target, name);
	char *bytes cleanup_free = fs_read_file(path, 1000, NULL, NULL);

	if (!expected) {
		assert_false(fs_exists(path));
		return;
	}
	assert_non_null(bytes);
	assert_string_equal(bytes, expected);
}

static void assert_denied(const struct bed *bed, const char *words)
{
	assert_int_equal(bed->result, -1);
	assert_int_equal(bed->err.kind, ERR_DENIED);
	assert_non_null(strstr(err_message(&bed->err), words));
}

#define A(length, time) FILE("a.tfevents.1", "alice", length, time)

static void test_only_what_is_new_is_read(void **state)
{
	struct bed *bed = *state;

	COPY(bed, 100, TOP,
	     LISTING(A("3", "1001") "," DIRECTORY("run", "alice") "," FILE("notes", "bob", "9",
									   "1")),
	     {"/logs/run?op=LISTSTATUS", LIST(FILE("b.tfevents.2", "alice", "2", "1000"))},
	     WITHOUT_INODES, {"/logs/a.tfevents.1?op=OPEN", LOCATION}, BYTES("abc"),
	     {"/logs/a.tfevents.1?op=GETFILESTATUS", STATUS(A("3", "1001"))},
	     {"/logs/run/b.tfevents.2?op=OPEN", LOCATION}, BYTES("xy"),
	     {"/logs/run/b.tfevents.2?op=GETFILESTATUS", STATUS(FILE("", "alice", "2", "1000"))});
	assert_int_equal(bed->result, 0);
	assert_null(bed->left_out);
	assert_is(bed, "a.tfevents.1", "abc");
	assert_is(bed, "run/b.tfevents.2", "xy");
	assert_is(bed, "notes", NULL);
	COPY(bed, 100, TOP, LISTING(A("3", "1001")));
	assert_int_equal(bed->result, 0);
	assert_is(bed, "run/b.tfevents.2", NULL); /* it is gone */
	COPY(bed, 100, TOP, LISTING(A("5", "1002")), WITHOUT_INODES,
	     {"/logs/a.tfevents.1?op=OPEN&user.name=portal&offset=3&length=2", LOCATION},
	     BYTES("de"), {"op=GETFILESTATUS", STATUS(A("5", "1002"))});
	assert_is(bed, "a.tfevents.1", "abcde");
	COPY(bed, 100, TOP, LISTING(A("5", "1003")), WITHOUT_INODES, {"op=OPEN", LOCATION},
	     BYTES("fghij"), {"op=GETFILESTATUS", STATUS(A("5", "1003"))});
	assert_is(bed, "a.tfevents.1", "fghij"); /* it was written anew */
}

static void test_of_too_much_the_newest_is_copied(void **state)
{
	struct bed *bed = *state;

	COPY(bed, 5, TOP, LISTING(A("3", "1000")), WITHOUT_INODES, {"op=OPEN", LOCATION},
	     BYTES("old"), {"op=GETFILESTATUS", STATUS(A("3", "1000"))});
	assert_is(bed, "a.tfevents.1", "old");
	COPY(bed, 5, TOP, LISTING(A("3", "1000") "," FILE("z.tfevents.9", "alice", "4", "2000")),
	     WITHOUT_INODES, {"/logs/z.tfevents.9?op=OPEN", LOCATION}, BYTES("4444"),
	     {"op=GETFILESTATUS", STATUS(FILE("", "alice", "4", "2000"))});
	assert_int_equal(bed->result, 0);
	assert_is(bed, "a.tfevents.1", NULL);
	assert_is(bed, "z.tfevents.9", "4444");
	assert_non_null(strstr(bed->left_out, "the oldest 1 of 2 event files"));
}

static void test_what_is_somebody_elses_is_not_read(void **state)
{
	struct bed *bed = *state;

	COPY(bed, 100, {"/logs?op=GETFILESTATUS", STATUS(DIRECTORY("", "bob"))});
	assert_denied(bed, "/logs: is bob's");
	COPY(bed, 100, TOP, LISTING(DIRECTORY("run", "bob")));
	assert_denied(bed, "/logs/run: is bob's");
	COPY(bed, 100, TOP, LISTING(A("3", "1") "," FILE("b.tfevents.2", "bob", "2", "1")));
	assert_denied(bed, "/logs/b.tfevents.2: is bob's");
	assert_is(bed, "a.tfevents.1", NULL);
}

static void test_what_was_put_in_its_place_is_removed(void **state)
{
	struct bed *bed = *state;

	COPY(bed, 100, TOP, LISTING(A("3", "1")), WITHOUT_INODES, {"op=OPEN", LOCATION},
	     BYTES("key"), {"op=GETFILESTATUS", STATUS(FILE("", "bob", "3", "1"))});
	assert_denied(bed, "/logs/a.tfevents.1: is bob's");
	assert_is(bed, "a.tfevents.1", NULL);
}

/* Whatever lies there meanwhile, the bytes are those of the file whose owner was looked at. */
static void test_a_file_that_is_exchanged_is_read_by_its_inode(void **state)
{
	struct bed *bed = *state;

	COPY(bed, 100, TOP, LISTING(A("3", "1")), WITH_INODES,
	     {"/logs/a.tfevents.1?op=GETFILESTATUS", NUMBERED("7", "", "bob", "FILE")});
	assert_denied(bed, "/logs/a.tfevents.1: is bob's");
	assert_is(bed, "a.tfevents.1", NULL);
	COPY(bed, 100, TOP, LISTING(A("3", "1")), WITH_INODES,
	     {"/logs/a.tfevents.1?op=GETFILESTATUS", NUMBERED("7", "", "alice", "FILE")},
	     {"/.reserved/.inodes/7?op=OPEN", LOCATION}, BYTES("abc"));
	assert_int_equal(bed->result, 0);
	assert_is(bed, "a.tfevents.1", "abc");
}

static void test_a_file_is_no_directory(void **state)
{
	struct bed *bed = *state;

	COPY(bed, 100, {"/logs?op=GETFILESTATUS", STATUS(A("3", "1"))});
	assert_int_equal(bed->err.kind, ERR_NOT_FOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(only_what_is_new_is_read),
		TEST(of_too_much_the_newest_is_copied),
		TEST(what_is_somebody_elses_is_not_read),
		TEST(what_was_put_in_its_place_is_removed),
		TEST(a_file_that_is_exchanged_is_read_by_its_inode),
		TEST(a_file_is_no_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
