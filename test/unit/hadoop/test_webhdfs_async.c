/* What is promised by webhdfs_async.h, with servers that answer as Hadoop 3.4.2 does. */
#include "../base/patience.h"

#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../net/tls_door.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/webhdfs_async.h"
#include "hadoop/webhdfs_call.h"
#include "web_server.h"

#define JSON(status, body)                                                                         \
	status " X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define EXCEPTION(status, class, message)                                                          \
	JSON(status,                                                                               \
	     "{\"RemoteException\":{\"exception\":\"" class "\",\"javaClassName\":"                \
							    "\"x." class "\",\"message\":"         \
									 "\"" message "\"}}")
#define STANDBY	    EXCEPTION("403", "StandbyException", "state standby")
#define TRUE	    JSON("200", "{\"boolean\":true}")
#define NOT_FOUND   EXCEPTION("404", "FileNotFoundException", "File does not exist: /a")
#define LOCATION    JSON("200", "{\"Location\":\"http://@/data?op=X\"}")
#define BLOCKS(...) JSON("200", "{\"LocatedBlocks\":{\"locatedBlocks\":[" __VA_ARGS__ "]}}")
#define STATUS                                                                                     \
	JSON("200", "{\"FileStatus\":{\"group\":\"g\",\"length\":7,\"modificationTime\":5,"        \
		    "\"owner\":\"o\",\"pathSuffix\":\"\",\"permission\":\"644\","                  \
		    "\"type\":\"FILE\"}}")

struct bed {
	struct event_base *base;
	struct web_server server;
	struct webhdfs_async *client;
	/* What the last call came to. */
	int told;
	struct str bytes, entries;
	int64_t length; /* of a file; -1: none */
	struct err err;
	bool destroys;
	struct webhdfs_call *pauses; /* at an entry; NULL: none */
};

static struct webhdfs_async *connect_to(struct event_base *base, const char *const *urls,
					bool http_fs, int64_t max_wait_ms)
{
	struct webhdfs_options options = {
		.user = (char *)"alice", .http_fs = http_fs, .max_wait_ms = max_wait_ms};

	for (; *urls; urls++)
		str_list_add(&options.addresses, *urls);
	struct webhdfs_async *client = webhdfs_async_create(base, &options, NULL);
	assert_non_null(client);
	str_list_finish(&options.addresses);
	return client;
}

static void open_bed(struct bed *bed, bool http_fs, const struct web_step *steps, size_t count)
{
	memset(bed, 0, sizeof(*bed));
	bed->base = event_base_new();
	web_server_start(&bed->server, steps, count);
	bed->client = connect_to(bed->base, (const char *[]){bed->server.url, NULL}, http_fs,
				 PATIENCE_MS);
}

#define OPEN(bed, http_fs, ...)                                                                    \
	do {                                                                                       \
		static const struct web_step steps_[] = {__VA_ARGS__};                             \
		open_bed(bed, http_fs, steps_, array_length(steps_));                              \
	} while (0)

static void close_bed(struct bed *bed)
{
	webhdfs_async_destroy(bed->client);
	web_server_stop(&bed->server);
	web_server_finish(&bed->server);
	event_base_loop(bed->base, EVLOOP_NONBLOCK);
	event_base_free(bed->base);
	err_finish(&bed->err);
	str_finish(&bed->bytes);
}

static void on_done(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct bed *bed = data;

	assert_true((result == NULL) != (err == NULL));
	bed->told++;
	str_truncate(&bed->bytes, 0);
	bed->length = -1;
	err_finish(&bed->err);
	if (err)
		err_set(&bed->err, err->kind, "%s", err_message(err));
	if (result && result->bytes)
		str_append_bytes(&bed->bytes, result->bytes, result->length);
	if (result && result->file)
		bed->length = result->file->length;
	if (bed->destroys) {
		webhdfs_async_destroy(bed->client);
		bed->client = NULL;
	}
}

static void wait_for(struct bed *bed, struct webhdfs_call *call)
{
	int before = bed->told;

	assert_non_null(call);
	while (bed->told == before)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static const struct webhdfs_create replace = {.permission = 0600, .overwrite = true};

static void test_calls(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"PUT /webhdfs/v1/a%20b?op=MKDIRS&user.name=alice&permission=700 ", TRUE},
	     {"GET /webhdfs/v1/a?op=GETFILESTATUS&user.name=alice ", STATUS},
	     {"PUT /webhdfs/v1/a?op=CREATE&user.name=alice&overwrite=true&permission=600"
	      "&noredirect=true ",
	      LOCATION},
	     {"PUT /data?op=X ", JSON("201", "")},
	     {"GET /webhdfs/v1/a?op=OPEN&user.name=alice&noredirect=true ",
	      "307 X\r\nConnection: close\r\nLocation: http://@/there\r\n\r\n"},
	     {"GET /there ", JSON("200", "content")},
	     {"op=RENAME&user.name=alice&destination=%2Fb&renameoptions=OVERWRITE ",
	      JSON("200", "")},
	     {"DELETE /webhdfs/v1/a?op=DELETE&user.name=alice&recursive=true ",
	      JSON("200", "{\"boolean\":false}")},
	     {"op=DELETE", NOT_FOUND}, {"op=GETFILESTATUS", NOT_FOUND});
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a b", 0700, on_done, &bed));
	assert_null(bed.err.message);
	wait_for(&bed, webhdfs_async_stat(bed.client, "/a", on_done, &bed));
	assert_int_equal(bed.length, 7);
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &replace, "hel\0o", 5, on_done, &bed));
	assert_null(bed.err.message);
	wait_for(&bed, webhdfs_async_read(bed.client, "/a", on_done, &bed));
	assert_string_equal(bed.bytes.text, "content");
	wait_for(&bed, webhdfs_async_rename(bed.client, "/a", "/b", true, on_done, &bed));
	assert_null(bed.err.message);
	for (int i = 0; i < 2; i++) {
		wait_for(&bed, webhdfs_async_remove(bed.client, "/a", on_done, &bed));
		assert_null(bed.err.message);
	}
	wait_for(&bed, webhdfs_async_stat(bed.client, "/a", on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(bed.err.message, "GETFILESTATUS /a: FileNotFoundException"));
	web_server_stop(&bed.server);
	assert_int_equal(bed.server.bodies.length, 5);
	assert_memory_equal(bed.server.bodies.text, "hel\0o", 5);
	web_server_finish(&bed.server);
	webhdfs_async_destroy(bed.client);
	event_base_free(bed.base);
	err_finish(&bed.err);
	str_finish(&bed.bytes);
}

static void on_entry(void *data, const struct webhdfs_file *file)
{
	struct bed *bed = data;

	str_append_format(&bed->entries, "%s %lld %lld%s;", file->name, (long long)file->length,
			  (long long)file->modified_ms, file->is_directory ? " d" : "");
	if (bed->pauses)
		webhdfs_call_pause(bed->pauses);
}

#define ENTRY(name, type)                                                                          \
	"{\"group\":\"g\",\"length\":7,\"modificationTime\":5,\"owner\":\"o\","                    \
	"\"pathSuffix\":\"" name "\",\"permission\":\"644\",\"type\":\"" type "\"}"

static void test_directory_and_time(void **state)
{
	struct bed bed;

	OPEN(&bed, false,
	     {"GET /webhdfs/v1/d?op=LISTSTATUS&user.name=alice ",
	      JSON("200", "{\"FileStatuses\":{\"FileStatus\":[" ENTRY("a b", "FILE") "," ENTRY(
				  "sub", "DIRECTORY") "]}}")},
	     {"op=LISTSTATUS", NOT_FOUND},
	     {"PUT /webhdfs/v1/a?op=SETTIMES&user.name=alice&modificationtime=1700000000123"
	      "&accesstime=-1 ",
	      JSON("200", "")});
	wait_for(&bed, webhdfs_async_list(bed.client, "/d", on_entry, on_done, &bed));
	assert_null(bed.err.message);
	assert_string_equal(str_text(&bed.entries), "a b 7 5;sub 7 5 d;");
	wait_for(&bed, webhdfs_async_list(bed.client, "/d", on_entry, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	wait_for(&bed, webhdfs_async_set_times(bed.client, "/a", 1700000000123, -1, on_done, &bed));
	assert_null(bed.err.message);
	str_finish(&bed.entries);
	close_bed(&bed);
}

#define BATCH(left, ...)                                                                           \
	JSON("200", "{\"DirectoryListing\":{\"partialListing\":{\"FileStatuses\":{\"FileStatus\":" \
		    "[" __VA_ARGS__ "]}},\"remainingEntries\":" left "}}")

static void test_long_list_comes_in_parts_as_there_is_room(void **state)
{
	struct bed bed;

	OPEN(&bed, false,
	     {"GET /webhdfs/v1/d?op=LISTSTATUS_BATCH&user.name=alice ",
	      BATCH("1", ENTRY("a", "FILE") "," ENTRY("b c", "FILE"))},
	     {"GET /webhdfs/v1/d?op=LISTSTATUS_BATCH&user.name=alice&startAfter=b%20c ",
	      BATCH("0", ENTRY("d", "DIRECTORY"))},
	     {"op=LISTSTATUS_BATCH&user.name=alice ", BATCH("1", )});
	bed.pauses = webhdfs_async_list_long(bed.client, "/d", on_entry, on_done, &bed);
	while (bed.entries.length == 0)
		event_base_loop(bed.base, EVLOOP_ONCE);
	assert_int_equal(event_base_loop(bed.base, EVLOOP_NONBLOCK), 1); /* nothing is asked */
	assert_string_equal(str_text(&bed.entries), "a 7 5;b c 7 5;");
	webhdfs_call_resume(bed.pauses);
	wait_for(&bed, mem_steal(&bed.pauses));
	assert_null(bed.err.message);
	assert_string_equal(str_text(&bed.entries), "a 7 5;b c 7 5;d 7 5 d;");
	/* A server that promises more and has none is not asked for ever. */
	wait_for(&bed, webhdfs_async_list_long(bed.client, "/d", on_entry, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_INPUT);
	str_finish(&bed.entries);
	close_bed(&bed);
}

static void test_long_list_of_a_router_comes_at_once(void **state)
{
	struct bed bed;

	OPEN(&bed, false,
	     {"op=LISTSTATUS_BATCH",
	      EXCEPTION("400", "UnsupportedOperationException", "not supported")},
	     {"op=LISTSTATUS&",
	      JSON("200", "{\"FileStatuses\":{\"FileStatus\":[" ENTRY("a", "FILE") "]}}")},
	     {"op=LISTSTATUS&", JSON("200", "{\"FileStatuses\":{\"FileStatus\":[]}}")});
	for (int i = 0; i < 2; i++) {
		wait_for(&bed, webhdfs_async_list_long(bed.client, "/d", on_entry, on_done, &bed));
		assert_null(bed.err.message);
	}
	assert_string_equal(str_text(&bed.entries), "a 7 5;");
	str_finish(&bed.entries);
	close_bed(&bed);
}

/* A file of this process's own, standing at its end. */
static int make_file(const char *text)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void test_file_goes_up_whole_whatever_happens(void **state)
{
	struct bed bed;
	int fd = make_file("all of it");

	OPEN(&bed, false, {"PUT /webhdfs/v1/a?op=CREATE", LOCATION}, {"PUT /data?op=X ", NULL},
	     {"PUT /webhdfs/v1/a?op=CREATE", LOCATION}, {"PUT /data?op=X ", JSON("201", "")});
	wait_for(&bed,
		 webhdfs_async_upload(bed.client, "/a", &replace, fd, 9, NULL, on_done, &bed));
	assert_null(bed.err.message);
	web_server_stop(&bed.server);
	/* The second try begins at its beginning, too. */
	assert_string_equal(str_text(&bed.server.bodies), "all of itall of it");
	close(fd);
	webhdfs_async_destroy(bed.client);
	web_server_finish(&bed.server);
	event_base_free(bed.base);
	err_finish(&bed.err);
	str_finish(&bed.bytes);
}

#define NO_DATA_NODE EXCEPTION("403", "IOException", "Failed to find datanode, suggest to check")
#define BEAN(nodes)                                                                                \
	JSON("200", "{\"beans\":[{\"CapacityTotal\":2147483648,\"CapacityRemaining\":0,"           \
		    "\"NumLiveDataNodes\":" nodes "}]}")

/* promise: R5 */
static void test_full_is_told_once_with_what_is_free(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"op=CREATE", NO_DATA_NODE},
	     {"GET /jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState ", BEAN("3")},
	     {"op=CREATE", NO_DATA_NODE}, {"GET /jmx", BEAN("0")}, {"op=CREATE", NO_DATA_NODE},
	     {"GET /jmx", NULL});
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &replace, "1", 1, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_STORE_FULL);
	assert_text_has(err_message(&bed.err), "CREATE /a: IOException: Failed to find datanode");
	assert_text_has(err_message(&bed.err), "; HDFS has 0 B of 2.0 GiB free, on 3 DataNodes (");
	/* Without DataNodes it is not full, and one that does not say may be anything. */
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &replace, "1", 1, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
	assert_text_has(err_message(&bed.err), "; HDFS has no DataNode at the moment: start them");
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &replace, "1", 1, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_FAILED);
	assert_text_has(err_message(&bed.err), "Failed to find datanode");
	close_bed(&bed);
}

#define SAFE_MODE EXCEPTION("403", "SafeModeException", "Name node is in safe mode")

static void take_warning(void *data, const char *text)
{
	str_append_format(data, "%s\n", text);
}

static void test_a_wait_is_told_with_its_reason(void **state)
{
	struct str told cleanup_str = {0};
	struct bed bed;

	OPEN(&bed, false, {"op=MKDIRS", SAFE_MODE}, {"op=MKDIRS", SAFE_MODE},
	     {"op=MKDIRS", SAFE_MODE}, {"op=MKDIRS", SAFE_MODE}, {"op=MKDIRS", SAFE_MODE},
	     {"op=MKDIRS", TRUE});
	bed.client->options.tells_waits = true;
	log_divert(take_warning, &told);
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
	log_divert(NULL, NULL);
	assert_null(bed.err.message);
	/* Once, and that it is over. */
	char *wait cleanup_free = mem_printf(
		"%s: MKDIRS /a: SafeModeException: Name node is in safe mode; trying again for",
		bed.server.url);
	char *end cleanup_free = mem_printf("\n%s answers again\n", bed.server.url);
	assert_true(str_starts_with(str_text(&told), wait));
	assert_string_equal(strchr(str_text(&told), '\n'), end);
	close_bed(&bed);
}

/* Either of a pair may be the one that answers again. */
static void test_a_wait_for_a_pair_names_both(void **state)
{
	struct str told cleanup_str = {0};
	struct bed bed;

	OPEN(&bed, false, {"op=MKDIRS", SAFE_MODE}, {"op=MKDIRS", SAFE_MODE},
	     {"op=MKDIRS", SAFE_MODE}, {"op=MKDIRS", SAFE_MODE}, {"op=MKDIRS", SAFE_MODE},
	     {"op=MKDIRS", TRUE});
	bed.client->options.tells_waits = true;
	str_list_add(&bed.client->options.addresses, "http://127.0.0.1:1");
	log_divert(take_warning, &told);
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
	log_divert(NULL, NULL);
	assert_null(bed.err.message);
	char *pair cleanup_free = mem_printf("HDFS at %s, http://127.0.0.1:1", bed.server.url);
	char *end cleanup_free = mem_printf("\n%s answers again\n", pair);
	assert_true(str_starts_with(str_text(&told), pair));
	assert_string_equal(strchr(str_text(&told), '\n'), end);
	close_bed(&bed);
}

static void test_a_silence_is_told_with_its_limit(void **state)
{
	struct str told cleanup_str = {0};
	char *address = NULL;
	int silent = web_silent(&address);
	char *url cleanup_free = mem_printf("http://%s", address);
	struct webhdfs_options options = {.user = (char *)"alice",
					  .silence_timeout_ms = WEBHDFS_TOLD_MS + 500,
					  .max_wait_ms = -1,
					  .tells_waits = true};
	struct bed bed = {.base = event_base_new()};

	str_list_add(&options.addresses, url);
	str_list_add(&options.addresses, url);
	bed.client = webhdfs_async_create(bed.base, &options, NULL);
	log_divert(take_warning, &told);
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
	log_divert(NULL, NULL);
	assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
	char *expected cleanup_free = mem_printf(
		"HDFS at %s, %s: MKDIRS /a: no answer yet from %s; waiting for up to 4.0 s\n", url,
		url, url);
	assert_string_equal(str_text(&told), expected);
	webhdfs_async_destroy(bed.client);
	str_list_finish(&options.addresses);
	event_base_free(bed.base);
	err_finish(&bed.err);
	close(silent);
	free(address);
}

/* Some of it may be there already. */
static void test_bytes_are_appended_once(void **state)
{
	struct bed bed;

	OPEN(&bed, false,
	     {"POST /webhdfs/v1/a?op=APPEND&user.name=alice&noredirect=true ", LOCATION},
	     {"POST /data?op=X ", JSON("200", "")}, {"POST /webhdfs/v1/a?op=APPEND", NULL},
	     {"POST /webhdfs/v1/a?op=APPEND", LOCATION}, {"POST /data?op=X ", NULL});
	for (int i = 0; i < 2; i++) {
		wait_for(&bed, webhdfs_async_append(bed.client, "/a", "more", 4, on_done, &bed));
		assert_int_equal(bed.err.message != NULL, i == 1);
	}
	web_server_stop(&bed.server);
	assert_string_equal(str_text(&bed.server.bodies), "moremore");
	webhdfs_async_destroy(bed.client);
	web_server_finish(&bed.server);
	event_base_free(bed.base);
	err_finish(&bed.err);
	str_finish(&bed.bytes);
}

static void test_file_comes_down_whole_whatever_happens(void **state)
{
	struct bed bed;
	char got[32] = {0};
	int fd = make_file("what was there before, and is longer");

	OPEN(&bed, false, {"GET /webhdfs/v1/a?op=OPEN", LOCATION},
	     {"GET /data?op=X ", "200 X\r\nConnection: close\r\nContent-Length: 9\r\n\r\nall"},
	     {"GET /webhdfs/v1/a?op=GET_BLOCK_LOCATIONS", BLOCKS()},
	     {"GET /webhdfs/v1/a?op=OPEN", LOCATION}, {"GET /data?op=X ", JSON("200", "all of it")},
	     {"GET /webhdfs/v1/a?op=OPEN&user.name=alice&offset=4&length=3", LOCATION},
	     {"GET /data?op=X ", JSON("200", "newest")}, {"GET /webhdfs/v1/a?op=OPEN", NOT_FOUND});
	wait_for(&bed, webhdfs_async_download(bed.client, "/a", fd, 0, 9, NULL, on_done, &bed));
	assert_null(bed.err.message);
	assert_int_equal(pread(fd, got, sizeof(got) - 1, 0), 9);
	assert_string_equal(got, "all of it");
	/* From an offset on, and no more than was asked for. */
	wait_for(&bed, webhdfs_async_download(bed.client, "/a", fd, 4, 3, NULL, on_done, &bed));
	assert_null(bed.err.message);
	memset(got, 0, sizeof(got));
	assert_int_equal(pread(fd, got, sizeof(got) - 1, 0), 7);
	assert_string_equal(got, "all new");
	wait_for(&bed, webhdfs_async_download(bed.client, "/a", fd, 0, 9, NULL, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	close(fd);
	close_bed(&bed);
}

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct bed *bed = data;

	str_append_bytes(&bed->entries, bytes, length);
	return true;
}

#define PLACE(host, ports)                                                                         \
	"{\"hostName\":\"" host "\",\"ipAddr\":\"10.0.0.1\",\"xferPort\":9866," ports "}"
#define BLOCK(offset, ...)                                                                         \
	"{\"startOffset\":" offset ",\"block\":{\"numBytes\":9},\"locations\":[" __VA_ARGS__ "]}"

static void test_another_data_node_sends_what_one_fails_to(void **state)
{
	struct bed bed;

	OPEN(&bed, false,
	     {"GET /webhdfs/v1/a?op=OPEN&user.name=alice&offset=3&length=6&noredirect=true ",
	      JSON("200", "{\"Location\":\"http://127.0.0.1:1/nobody\"}")},
	     {"GET /webhdfs/v1/a?op=GET_BLOCK_LOCATIONS&user.name=alice&offset=3&length=1 ",
	      BLOCKS(BLOCK("0", PLACE("127.0.0.1",
				      "\"infoPort\":1") "," PLACE("dn2", "\"infoSecurePort\":1")))},
	     {"op=OPEN&user.name=alice&offset=3&length=6&excludedatanodes=10.0.0.1:9866&",
	      LOCATION},
	     {"GET /data?op=X ", "200 X\r\nConnection: close\r\nContent-Length: 6\r\n\r\nab"},
	     /* None is known to have the rest: whichever the NameNode names is tried again. */
	     {"op=GET_BLOCK_LOCATIONS&user.name=alice&offset=5&length=1 ",
	      BLOCKS(BLOCK("0", PLACE("dn2", "\"infoPort\":1")))},
	     {"op=OPEN&user.name=alice&offset=5&length=4&noredirect=true ", LOCATION},
	     {"GET /data?op=X ", JSON("200", "cdef")});
	wait_for(&bed, webhdfs_async_stream(bed.client, "/a", 3, 6, on_bytes, on_done, &bed));
	assert_null(bed.err.message);
	assert_string_equal(str_text(&bed.entries), "abcdef");
	str_finish(&bed.entries);
	close_bed(&bed);
}

static void on_block(void *data, const struct webhdfs_block *block)
{
	struct bed *bed = data;

	str_append_format(&bed->entries, "%lld+%lld", (long long)block->offset,
			  (long long)block->length);
	for (size_t i = 0; i < block->place_count; i++)
		str_append_format(&bed->entries, " %s", block->places[i].host);
	str_append(&bed->entries, ";");
}

static void test_blocks(void **state)
{
	struct bed bed;

	OPEN(&bed, false,
	     {"GET /webhdfs/v1/a?op=GET_BLOCK_LOCATIONS&user.name=alice ",
	      BLOCKS(BLOCK("0", PLACE("dn1", "\"infoPort\":1") "," PLACE(
					"dn2", "\"infoPort\":2")) "," BLOCK("9", ))},
	     {"op=GET_BLOCK_LOCATIONS", NOT_FOUND});
	wait_for(&bed, webhdfs_async_blocks(bed.client, "/a", on_block, on_done, &bed));
	assert_null(bed.err.message);
	assert_string_equal(str_text(&bed.entries), "0+9 dn1 dn2;9+9;");
	wait_for(&bed, webhdfs_async_blocks(bed.client, "/a", on_block, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	str_finish(&bed.entries);
	close_bed(&bed);
}

static void test_file_that_cannot_be_written(void **state)
{
	struct bed bed;
	int fd = memfd_create("full", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	OPEN(&bed, true, {"GET /webhdfs/v1/a?op=OPEN", JSON("200", "all of it")});
	wait_for(&bed, webhdfs_async_download(bed.client, "/a", fd, 0, 9, NULL, on_done, &bed));
	assert_non_null(bed.err.message);
	close(fd);
	close_bed(&bed);
}

static void test_gateway(void **state)
{
	struct bed bed;

	OPEN(&bed, true,
	     {"op=CREATE&user.name=alice&overwrite=true&permission=600&data=true ", NULL},
	     {"Content-Type: application/octet-stream", JSON("201", "")},
	     {"GET /webhdfs/v1/a?op=OPEN&user.name=alice ", JSON("200", "content")},
	     {"GET /webhdfs/v1/a?op=GETFILESTATUS&user.name=alice ", STATUS},
	     {"GET /webhdfs/v1/b?op=GETFILESTATUS&user.name=alice ", NOT_FOUND},
	     {"PUT /webhdfs/v1/a?op=RENAME&user.name=alice&destination=%2Fb ", TRUE},
	     {"/a?op=GETFILESTATUS", STATUS}, {"/b?op=GETFILESTATUS", NOT_FOUND},
	     {"PUT /webhdfs/v1/a?op=RENAME&user.name=alice&destination=%2Fb ",
	      JSON("200", "{\"boolean\":false}")});
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &replace, "x", 1, on_done, &bed));
	assert_null(bed.err.message);
	wait_for(&bed, webhdfs_async_read(bed.client, "/a", on_done, &bed));
	assert_string_equal(bed.bytes.text, "content");
	wait_for(&bed, webhdfs_async_rename(bed.client, "/a", "/b", true, on_done, &bed));
	assert_null(bed.err.message);
	wait_for(&bed, webhdfs_async_rename(bed.client, "/a", "/b", false, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_FAILED);
	close_bed(&bed);
}

static void test_pair_of_name_nodes(void **state)
{
	static const struct web_step steps[] = {{"MKDIRS", STANDBY}};
	struct web_server standby;
	struct bed bed;
	char *dead cleanup_free = web_nobody();
	char *dead_url cleanup_free = mem_printf("http://%s", dead);

	OPEN(&bed, false, {"MKDIRS", TRUE}, {"MKDIRS", TRUE});
	web_server_start(&standby, steps, array_length(steps));
	webhdfs_async_destroy(bed.client);
	bed.client =
		connect_to(bed.base, (const char *[]){dead_url, standby.url, bed.server.url, NULL},
			   false, PATIENCE_MS);
	for (int i = 0; i < 2; i++) {
		wait_for(&bed,
			 webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
		assert_null(bed.err.message);
	}
	web_server_stop(&standby);
	web_server_finish(&standby);
	close_bed(&bed);
}

#define KEPT(status, body, length)                                                                 \
	status " X\r\nContent-Length: " length "\r\nContent-Type: application/json\r\n\r\n" body

/* A connection that ends while it is not used, or by the next question, is no failure. */
static void test_connection_is_kept(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"op=MKDIRS", KEPT("200", "{\"boolean\":true}", "16"), true},
	     {"op=CREATE", KEPT("404", "", "0"), true}, {"op=SETTIMES", KEPT("200", "", "0")},
	     {"op=MKDIRS", KEPT("200", "{\"boolean\":true}", "16"), true}, {"op=MKDIRS", NULL},
	     {"op=MKDIRS", TRUE});
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &replace, "x", 1, on_done, &bed));
	assert_non_null(bed.err.message);
	wait_for(&bed, webhdfs_async_set_times(bed.client, "/a", 5, -1, on_done, &bed));
	assert_null(bed.err.message);
	for (int i = 0; i < 2; i++) {
		wait_for(&bed,
			 webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
		assert_null(bed.err.message);
	}
	close_bed(&bed);
}

static void test_nobody_serves(void **state)
{
	struct bed bed;
	char *dead cleanup_free = web_nobody();
	char *dead_url cleanup_free = mem_printf("http://%s", dead);

	OPEN(&bed, false, {"MKDIRS", STANDBY});
	webhdfs_async_destroy(bed.client);
	bed.client =
		connect_to(bed.base, (const char *[]){dead_url, bed.server.url, NULL}, false, -1);
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(bed.err.message, dead));
	assert_non_null(strstr(bed.err.message, "StandbyException"));
	close_bed(&bed);
}

static void test_trouble_that_passes(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"op=CREATE", NULL}, {"op=CREATE", LOCATION}, {"PUT /data", NULL},
	     {"op=CREATE", EXCEPTION("403", "SafeModeException", "Name node is in safe mode")},
	     {"op=CREATE", LOCATION}, {"PUT /data", JSON("201", "")});
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &replace, "x", 1, on_done, &bed));
	assert_null(bed.err.message);
	close_bed(&bed);
}

static void test_create_that_may_not_replace_is_not_repeated(void **state)
{
	const struct webhdfs_create keep = {.permission = 0644};
	struct bed bed;

	OPEN(&bed, false, {"overwrite=false", LOCATION}, {"PUT /data", NULL});
	wait_for(&bed, webhdfs_async_write(bed.client, "/a", &keep, "x", 1, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(bed.err.message, "DataNode"));
	close_bed(&bed);
}

static void test_rename_that_was_done_though_it_broke_off(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"op=RENAME", NULL}, {"op=RENAME", NOT_FOUND},
	     {"/b?op=GETFILESTATUS", STATUS}, {"op=RENAME", NULL}, {"op=RENAME", NOT_FOUND},
	     {"/b?op=GETFILESTATUS", NOT_FOUND}, {"op=RENAME", NOT_FOUND});
	wait_for(&bed, webhdfs_async_rename(bed.client, "/a", "/b", false, on_done, &bed));
	assert_null(bed.err.message);
	/* It never was; and it was not asked for in vain. */
	for (int i = 0; i < 2; i++) {
		wait_for(&bed, webhdfs_async_rename(bed.client, "/a", "/b", false, on_done, &bed));
		assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	}
	close_bed(&bed);
}

static void test_strange_answers(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"op=OPEN", JSON("200", "<html>")},
	     {"op=OPEN", "307 X\r\nConnection: close\r\n\r\n"},
	     {"op=OPEN", "200\r\nBad: \x01\r\n\r\n"});
	for (int i = 0; i < 3; i++) {
		wait_for(&bed, webhdfs_async_read(bed.client, "/a", on_done, &bed));
		assert_int_equal(bed.err.kind, ERR_INPUT);
	}
	close_bed(&bed);
}

static void test_refused_before_anything_is_sent(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"MKDIRS", TRUE});
	wait_for(&bed, webhdfs_async_stat(bed.client, "/a/../b", on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_INPUT);
	wait_for(&bed, webhdfs_async_rename(bed.client, "/a", "b", true, on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_INPUT);
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
	close_bed(&bed);
}

/* ---- https -------------------------------------------------------------------------------- */

/* The bed's client asks through a door, of which it knows the authority or not. */
static struct tls_door *put_behind_tls(struct bed *bed, bool is_trusted)
{
	struct tls_door *door = tls_door_open(bed->server.address, NULL);
	struct webhdfs_options options = {.user = (char *)"alice", .max_wait_ms = 60000};

	bed->server.outside = tls_door_address(door);
	options.authorities = is_trusted ? (char *)tls_door_authority(door) : NULL;
	str_list_add_format(&options.addresses, "https://%s", tls_door_address(door));
	webhdfs_async_destroy(bed->client);
	bed->client = webhdfs_async_create(bed->base, &options, NULL);
	assert_non_null(bed->client);
	str_list_finish(&options.addresses);
	return door;
}

#define SECURE_LOCATION JSON("200", "{\"Location\":\"https://@/data\"}")

static void test_https(void **state)
{
	enum { LENGTH = 2000000 };
	struct bed bed;
	int fd cleanup_close = memfd_create("body", MFD_CLOEXEC);

	OPEN(&bed, false, {"op=MKDIRS", TRUE}, {"op=CREATE", SECURE_LOCATION},
	     {"PUT /data ", JSON("201", "")}, {"op=OPEN", SECURE_LOCATION},
	     {"GET /data ", JSON("200", "content")}, {"op=OPEN", LOCATION});
	struct tls_door *door = put_behind_tls(&bed, true);
	wait_for(&bed, webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed));
	assert_null(bed.err.message);
	assert_int_equal(ftruncate(fd, LENGTH), 0);
	wait_for(&bed,
		 webhdfs_async_upload(bed.client, "/a", &replace, fd, LENGTH, NULL, on_done, &bed));
	assert_null(bed.err.message);
	wait_for(&bed, webhdfs_async_read(bed.client, "/a", on_done, &bed));
	assert_string_equal(str_text(&bed.bytes), "content");
	/* Content does not leave TLS. */
	wait_for(&bed, webhdfs_async_read(bed.client, "/a", on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_INPUT);
	assert_non_null(strstr(bed.err.message, "dfs.http.policy"));
	tls_door_close(door);
	close_bed(&bed);
}

/* At once: to ask again is no use. */
static void test_https_of_a_stranger(void **state)
{
	struct bed bed;

	memset(&bed, 0, sizeof(bed));
	bed.base = event_base_new();
	web_server_start(&bed.server, NULL, 0);
	struct tls_door *door = put_behind_tls(&bed, false);
	wait_for(&bed, webhdfs_async_stat(bed.client, "/a", on_done, &bed));
	assert_int_equal(bed.err.kind, ERR_DENIED);
	assert_non_null(strstr(bed.err.message, "GETFILESTATUS /a: "));
	assert_non_null(strstr(bed.err.message, tls_door_address(door)));
	assert_non_null(strstr(bed.err.message, "is not trusted"));
	assert_non_null(strstr(bed.err.message, "tony.hdfs.ca-file"));
	tls_door_close(door);
	close_bed(&bed);
}

static void test_cancel_and_destroy(void **state)
{
	struct bed bed;

	OPEN(&bed, false, {"op=MKDIRS", TRUE});
	webhdfs_call_cancel(webhdfs_async_stat(bed.client, "/never", on_done, &bed));
	bed.destroys = true;
	struct webhdfs_call *call =
		webhdfs_async_make_directories(bed.client, "/a", 0700, on_done, &bed);
	wait_for(&bed, call);
	assert_int_equal(bed.told, 1);
	close_bed(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_directory_and_time),
		cmocka_unit_test(test_long_list_comes_in_parts_as_there_is_room),
		cmocka_unit_test(test_long_list_of_a_router_comes_at_once),
		cmocka_unit_test(test_file_goes_up_whole_whatever_happens),
		cmocka_unit_test(test_full_is_told_once_with_what_is_free),
		cmocka_unit_test(test_a_wait_is_told_with_its_reason),
		cmocka_unit_test(test_a_wait_for_a_pair_names_both),
		cmocka_unit_test(test_a_silence_is_told_with_its_limit),
		cmocka_unit_test(test_bytes_are_appended_once),
		cmocka_unit_test(test_file_comes_down_whole_whatever_happens),
		cmocka_unit_test(test_another_data_node_sends_what_one_fails_to),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_file_that_cannot_be_written),
		cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_pair_of_name_nodes),
		cmocka_unit_test(test_connection_is_kept),
		cmocka_unit_test(test_nobody_serves),
		cmocka_unit_test(test_trouble_that_passes),
		cmocka_unit_test(test_create_that_may_not_replace_is_not_repeated),
		cmocka_unit_test(test_rename_that_was_done_though_it_broke_off),
		cmocka_unit_test(test_strange_answers),
		cmocka_unit_test(test_refused_before_anything_is_sent),
		cmocka_unit_test(test_https),
		cmocka_unit_test(test_https_of_a_stranger),
		cmocka_unit_test(test_cancel_and_destroy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
