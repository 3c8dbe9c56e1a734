/* Aggregated logs: files of a real cluster (Hadoop 3.4.2), laid out as each version does. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/aggregated.h"
#include "hadoop/java_object.h"
#include "tfile_maker.h"

#define APPLICATION "application_1795269657940_0001"
#define CONTAINER   "container_1795269657940_0001_01_00000"
#define NEW_PLACE   "app-logs/root/bucket-logs-tfile/0001/" APPLICATION "/"

/* ---- what the tests say ------------------------------------------------------------------- */

static void write_bytes(void **state, const char *name, const struct str *bytes, time_t time)
{
	struct err err cleanup_err = {0};
	const char *path = scratch_path(state, name);
	char *directory cleanup_free = fs_dirname(path);
	const struct timespec times[2] = {{.tv_sec = time}, {.tv_sec = time}};

	assert_success(fs_make_directories(directory, 0700, &err), &err);
	assert_success(fs_write_file(path, bytes->text, bytes->length, 0600, &err), &err);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Puts a file of the cluster somewhere. */
static void put(void **state, const char *data, const char *name)
{
	struct err err cleanup_err = {0};
	size_t length = 0;
	char *path cleanup_free = fs_join(TEST_DATA, data);
	char *bytes = fs_read_file(path, 1 << 20, &length, &err);
	struct str text cleanup_str = {.text = bytes, .length = length};

	assert_non_null(bytes);
	write_bytes(state, name, &text, 1000);
}

static struct aggregated *open_as(void **state, struct log_store *store, const char *application)
{
	struct err err cleanup_err = {0};
	struct aggregated *logs =
		aggregated_open(store, scratch_path(state, "app-logs"), "root", application, &err);

	if (!logs)
		fail_msg("%s", err_message(&err));
	return logs;
}

static const struct aggregated_container *find(struct aggregated *logs, const char *container,
					       const char *host)
{
	struct err err cleanup_err = {0};
	const struct aggregated_container *found = aggregated_find(logs, container, host, &err);

	if (!found)
		fail_msg("%s", err_message(&err));
	return found;
}

/* A file's content from `offset` on; the caller frees. */
static char *read_from(const struct container_log_files *upload, const char *name, int64_t offset)
{
	struct err err cleanup_err = {0};
	struct str text = {0};
	char part[700];
	ssize_t got;
	const struct container_log_file *file = container_log_find(upload, name);

	assert_non_null(file);
	struct container_log *log = container_log_open(file, offset, &err);
	assert_non_null(log);
	while ((got = container_log_read(log, part, sizeof(part), &err)) > 0)
		str_append_bytes(&text, part, (size_t)got);
	assert_success((int)got, &err);
	container_log_close(log);
	return str_steal(&text);
}

static char *file_names(const struct container_log_files *upload)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < upload->count; i++)
		str_list_add(&names, upload->items[i].name);
	return str_list_join(&names, " ");
}

/* The container is there, with all of its files. */
static void assert_is_whole(struct aggregated *logs, const char *id, const char *host)
{
	const struct aggregated_container *found = find(logs, id, host);
	char *hello cleanup_free = mem_printf("hello from %s\nline 1\nline 2\n", id);

	assert_int_equal(found->count, 1);
	assert_false(found->uploads[0].is_cut);
	assert_text_freed(file_names(&found->uploads[0]),
			  "empty prelaunch.err prelaunch.out stderr stdout stdout.1 stdout.times "
			  "tail");
	char *text cleanup_free = read_from(&found->uploads[0], "stdout", 0);
	assert_true(str_starts_with(text, hello));
	assert_true(str_ends_with(text, "line 19\nline 20\n"));
	assert_text_freed(read_from(&found->uploads[0], "stdout", (int64_t)strlen(text) - 8),
			  "line 20\n");
	assert_text_freed(read_from(&found->uploads[0], "stdout", 1000000), "");
	assert_text_freed(read_from(&found->uploads[0], "empty", 0), "");
	assert_text_freed(read_from(&found->uploads[0], "stderr", 0), "a warning\n");
	assert_text_freed(read_from(&found->uploads[0], "tail", 3), "newline at the end");
}

/* ---- places ------------------------------------------------------------------------------- */

static void logs_of_two_nodes(void **state)
{
	struct log_store *store = log_store_local();

	put(state, "aggregated.none", NEW_PLACE "127.0.0.2_28941");
	put(state, "aggregated.gz", NEW_PLACE "127.0.0.3_28941");
	struct aggregated *logs = open_as(state, store, APPLICATION);
	assert_is_whole(logs, CONTAINER "4", "127.0.0.2");
	assert_is_whole(logs, CONTAINER "7", NULL);
	assert_is_whole(logs, CONTAINER "6", "127.0.0.3");
	assert_is_whole(logs, CONTAINER "3", "another.name.of.127.0.0.3");
	assert_ptr_equal(find(logs, CONTAINER "3", NULL), find(logs, CONTAINER "3", NULL));
	aggregated_close(logs);
	log_store_destroy(store);
}

static void a_place_of_each_version(void **state)
{
	static const char *const places[] = {"app-logs/root/logs/", "app-logs/root/logs-tfile/",
					     "app-logs/root/bucket-logs-tfile/0001/",
					     "app-logs/root/bucket-own/0001/"};
	struct log_store *store = log_store_local();

	for (size_t i = 0; i < array_length(places); i++) {
		char *name cleanup_free =
			mem_printf("%s" APPLICATION "/127.0.0.2_28941", places[i]);
		put(state, "aggregated.none", name);
		struct aggregated *logs = open_as(state, store, APPLICATION);
		assert_is_whole(logs, CONTAINER "4", NULL);
		aggregated_close(logs);
		assert_int_equal(remove(scratch_path(state, name)), 0);
	}
	log_store_destroy(store);
}

/* Buckets are 0000 to 9999; numbers of applications go on. */
static void the_bucket_is_the_number_modulo_ten_thousand(void **state)
{
	struct log_store *store = log_store_local();

	put(state, "aggregated.none",
	    "app-logs/root/bucket-logs-tfile/0042/application_1_120042/n_1");
	struct aggregated *logs = open_as(state, store, "application_1_120042");
	aggregated_close(logs);
	log_store_destroy(store);
}

static void assert_not_open(void **state, const char *user, const char *application,
			    enum err_kind kind, const char *why)
{
	struct err err cleanup_err = {0};
	struct log_store *store = log_store_local();

	assert_null(
		aggregated_open(store, scratch_path(state, "app-logs"), user, application, &err));
	assert_int_equal(err.kind, kind);
	assert_message_has(&err, why);
	log_store_destroy(store);
}

static void what_is_not_there_is_not_found(void **state)
{
	assert_not_open(state, "root", APPLICATION, ERR_NOT_FOUND, "there are no logs of");
	put(state, "aggregated.none", NEW_PLACE "127.0.0.2_28941.tmp");
	assert_not_open(state, "root", APPLICATION, ERR_NOT_FOUND,
			"yet: the NodeManagers are writing them");
	assert_not_open(state, "alice", APPLICATION, ERR_NOT_FOUND, "app-logs/alice");
	assert_not_open(state, "root", "job", ERR_INPUT, "\"job\" is no application's id");
}

static void a_container_that_is_not_there(void **state)
{
	struct err err cleanup_err = {0};
	struct log_store *store = log_store_local();

	put(state, "aggregated.none", NEW_PLACE "127.0.0.2_28941");
	struct aggregated *logs = open_as(state, store, APPLICATION);
	assert_null(aggregated_find(logs, CONTAINER "9", "127.0.0.2", &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_message_has(&err, CONTAINER "9");
	aggregated_close(logs);
	log_store_destroy(store);
}

/* ---- files -------------------------------------------------------------------------------- */

/* "mark 1000" is every thousandth line: 60000 lines, in several chunks, by two containers. */
static void a_large_packed_file(void **state)
{
	struct log_store *store = log_store_local();

	put(state, "aggregated-large.gz",
	    "app-logs/root/logs/application_1795269657940_0002/127.0.0.3_28941");
	struct aggregated *logs = open_as(state, store, "application_1795269657940_0002");
	const struct aggregated_container *found =
		find(logs, "container_1795269657940_0002_01_000007", NULL);
	const struct container_log_files *upload = &found->uploads[0];
	char *text cleanup_free = read_from(upload, "stdout", 0);
	char mark[16];
	const char *at = text;
	assert_int_equal(strlen(text), 2638011);
	for (int i = 1000; i <= 60000; i += 1000) {
		snprintf(mark, sizeof(mark), "\nmark %d\n", i);
		at = strstr(at, mark);
		assert_non_null(at);
	}
	for (int64_t offset = 100000; offset < 2638011; offset += 500001)
		assert_text_freed(read_from(upload, "stdout", offset), text + offset);
	assert_text_freed(read_from(upload, "stderr", 0), "end of stderr\n");
	aggregated_close(logs);
	log_store_destroy(store);
}

/* What YARN uploaded of a container piece by piece comes in the order of the uploads. */
static void uploads_come_in_order(void **state)
{
	static const char *const names[] = {"n_1_30", "n_1_10", "n_1_20"};
	struct log_store *store = log_store_local();

	for (size_t i = 0; i < array_length(names); i++) {
		struct tfile_maker maker = {0};
		struct str value cleanup_str = {0};
		char *name cleanup_free = mem_printf(NEW_PLACE "%s", names[i]);
		tfile_maker_log(&value, "stdout", names[i], strlen(names[i]));
		tfile_maker_begin(&maker);
		tfile_maker_add(&maker, CONTAINER "1", value.text, value.length, 5);
		tfile_maker_end(&maker);
		write_bytes(state, name, &maker.file, atoi(names[i] + 4));
		tfile_maker_finish(&maker);
	}
	struct aggregated *logs = open_as(state, store, APPLICATION);
	const struct aggregated_container *found = find(logs, CONTAINER "1", "n");
	assert_int_equal(found->count, 3);
	assert_text_freed(read_from(&found->uploads[0], "stdout", 0), "n_1_10");
	assert_text_freed(read_from(&found->uploads[1], "stdout", 4), "20");
	assert_text_freed(read_from(&found->uploads[2], "stdout", 0), "n_1_30");
	aggregated_close(logs);
	log_store_destroy(store);
}

/* A file that became shorter while it was read makes what follows it unreadable, not what stands
 * before it. */
static void what_stands_before_a_damaged_file_is_read(void **state)
{
	struct tfile_maker maker = {0};
	struct tfile_memory memory;
	struct str value cleanup_str = {0};
	struct container_log_files files cleanup_container_log_files = {0};

	tfile_maker_log(&value, "stderr", "good", 4);
	tfile_maker_utf(&value, "stdout");
	tfile_maker_utf(&value, "1000");
	str_append(&value, "not so much");
	tfile_maker_begin(&maker);
	tfile_maker_add(&maker, "container_1", value.text, value.length, 100);
	tfile_maker_end(&maker);
	tfile_memory_init(&memory, maker.file.text, maker.file.length);
	struct tfile *file = tfile_open(&memory.input, NULL);
	assert_int_equal(container_log_list(file, "container_1", &files, NULL), 1);
	assert_true(files.is_cut);
	assert_int_equal(files.count, 2);
	assert_text_freed(read_from(&files, "stderr", 0), "good");
	assert_text_freed(read_from(&files, "stdout", 0), "not so much");
	assert_null(container_log_find(&files, "container.log"));
	tfile_close(file);
	tfile_maker_finish(&maker);
}

static void assert_not_found(void **state, const char *container, enum err_kind kind,
			     const char *why)
{
	struct err err cleanup_err = {0};
	struct log_store *store = log_store_local();
	struct aggregated *logs = open_as(state, store, APPLICATION);

	assert_null(aggregated_find(logs, container, NULL, &err));
	assert_int_equal(err.kind, kind);
	assert_message_has(&err, why);
	aggregated_close(logs);
	log_store_destroy(store);
}

#define INDEXED                                                                                    \
	"app-logs/root/bucket-logs-ifile/0003/application_1795269657940_0003/127.0.0.4_28941"
#define IN_INDEXED(n) "container_1795269657940_0003_01_00000" n

static void an_indexed_file(void **state)
{
	struct log_store *store = log_store_local();

	put(state, "aggregated.indexed", INDEXED);
	struct aggregated *logs = open_as(state, store, "application_1795269657940_0003");
	assert_is_whole(logs, IN_INDEXED("4"), "127.0.0.4");
	assert_is_whole(logs, IN_INDEXED("7"), NULL);
	assert_null(aggregated_find(logs, IN_INDEXED("5"), NULL, NULL));
	aggregated_close(logs);
	log_store_destroy(store);
}

/* Its NAME-checksum says where the last whole upload ended. */
static void an_indexed_file_that_is_added_to(void **state)
{
	struct err err cleanup_err = {0};
	struct log_store *store = log_store_local();
	struct str bytes cleanup_str = {0};
	size_t length;

	put(state, "aggregated.indexed", INDEXED);
	char *whole cleanup_free =
		fs_read_file(scratch_path(state, INDEXED), 1 << 20, &length, &err);
	assert_non_null(whole);
	str_append_bytes(&bytes, whole, length);
	str_append(&bytes, "\nthe beginning of another upload");
	write_bytes(state, INDEXED, &bytes, 1000);
	struct aggregated *logs = open_as(state, store, "application_1795269657940_0003");
	assert_null(aggregated_find(logs, IN_INDEXED("4"), NULL, NULL));
	aggregated_close(logs);
	struct str end cleanup_str = {0};
	str_append_bytes(&end, (const char[]){0, 0, 0, 0, 0, 0, (char)(length >> 8), (char)length},
			 8);
	write_bytes(state, INDEXED "-checksum", &end, 1000);
	logs = open_as(state, store, "application_1795269657940_0003");
	assert_is_whole(logs, IN_INDEXED("4"), NULL);
	aggregated_close(logs);
	log_store_destroy(store);
}

/* Whichever byte of its list is not as YARN wrote it: read as far as it goes, or refused. */
static void a_damaged_list_does_no_harm(void **state)
{
	struct err err cleanup_err = {0};
	struct log_store *store = log_store_local();
	size_t length;

	put(state, "aggregated.indexed", INDEXED);
	char *whole cleanup_free =
		fs_read_file(scratch_path(state, INDEXED), 1 << 20, &length, &err);
	for (size_t at = length - 1889 - 36; at < length; at++) {
		struct str bytes cleanup_str = {0};
		str_append_bytes(&bytes, whole, length);
		bytes.text[at] ^= 0x55;
		write_bytes(state, INDEXED, &bytes, 1000);
		struct aggregated *logs = open_as(state, store, "application_1795269657940_0003");
		const struct aggregated_container *found =
			aggregated_find(logs, IN_INDEXED("4"), NULL, NULL);
		for (size_t i = 0; found && i < found->uploads[0].count; i++) {
			char byte;
			struct container_log *log =
				container_log_open(&found->uploads[0].items[i], 0, NULL);
			if (log)
				container_log_read(log, &byte, 1, NULL);
			container_log_close(log);
		}
		aggregated_close(logs);
	}
	log_store_destroy(store);
}

/* Classes within what a class writes of itself, and objects likewise. */
static void objects_within_objects_have_an_end(void **state)
{
	static const char class[] = "\x72\0\1a\0\0\0\0\0\0\0\0\3\0\0";

	for (int objects = 0; objects < 2; objects++) {
		struct str bytes cleanup_str = {0};
		struct err err cleanup_err = {0};
		str_append_bytes(&bytes, "\xac\xed\0\5\x73", 5);
		for (int i = 0; i < 100000; i++) {
			str_append_bytes(&bytes, class, sizeof(class) - 1);
			if (objects)
				str_append_bytes(&bytes, "\x78\x70\x73", 3);
		}
		assert_null(java_stream_read(bytes.text, bytes.length, &err));
		assert_int_equal(err.kind, ERR_INPUT);
	}
}

static void another_file_does_no_harm(void **state)
{
	struct str text cleanup_str = {0};

	str_append(&text, "neither of both formats, or one of them that is being written");
	write_bytes(state, NEW_PLACE "127.0.0.4_28941", &text, 1000);
	assert_not_found(state, CONTAINER "2", ERR_NOT_FOUND, "127.0.0.4_28941 is no TFile");
	put(state, "aggregated.none", NEW_PLACE "127.0.0.2_28941");
	struct log_store *store = log_store_local();
	struct aggregated *logs = open_as(state, store, APPLICATION);
	assert_is_whole(logs, CONTAINER "4", NULL);
	aggregated_close(logs);
	log_store_destroy(store);
}

static void archives_are_named(void **state)
{
	struct str part cleanup_str = {0};

	str_append(&part, "x");
	write_bytes(state, NEW_PLACE APPLICATION ".har/part-0", &part, 1000);
	assert_not_found(state, CONTAINER "2", ERR_INPUT, "in a Hadoop archive");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(logs_of_two_nodes),
		scratch_test(a_place_of_each_version),
		scratch_test(the_bucket_is_the_number_modulo_ten_thousand),
		scratch_test(what_is_not_there_is_not_found),
		scratch_test(a_container_that_is_not_there),
		scratch_test(a_large_packed_file),
		scratch_test(uploads_come_in_order),
		scratch_test(what_stands_before_a_damaged_file_is_read),
		scratch_test(an_indexed_file),
		scratch_test(an_indexed_file_that_is_added_to),
		scratch_test(a_damaged_list_does_no_harm),
		scratch_test(objects_within_objects_have_an_end),
		scratch_test(another_file_does_no_harm),
		scratch_test(archives_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
