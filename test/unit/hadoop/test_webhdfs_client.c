/* The promises of webhdfs_async.h about files and names, and those of webhdfs_client.h, with
 * servers that answer as Hadoop 3.4.2 does. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "token_bed.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/token.h"
#include "hadoop/webhdfs_async.h"
#include "hadoop/webhdfs_client.h"
#include "web_server.h"

#define CLOSE		   "Connection: close\r\n"
#define JSON(status, body) status " X\r\n" CLOSE "Content-Type: application/json\r\n\r\n" body
#define EXCEPTION(status, class, message)                                                          \
	JSON(status,                                                                               \
	     "{\"RemoteException\":{\"exception\":\"" class "\",\"javaClassName\":"                \
							    "\"x." class "\",\"message\":"         \
									 "\"" message "\"}}")
#define STANDBY                                                                                    \
	EXCEPTION("403", "StandbyException",                                                       \
		  "Operation category READ is not supported in state standby")
#define TRUE	  JSON("200", "{\"boolean\":true}")
#define FALSE	  JSON("200", "{\"boolean\":false}")
#define NOT_FOUND EXCEPTION("404", "FileNotFoundException", "File does not exist: /a")
#define LOCATION  JSON("200", "{\"Location\":\"http://@/data?op=X\"}")
#define STATUS(length)                                                                             \
	JSON("200", "{\"FileStatus\":{\"group\":\"g\",\"length\":" length                          \
		    ",\"modificationTime\":5,\"owner\":\"o\",\"pathSuffix\":\"\","                 \
		    "\"permission\":\"644\",\"type\":\"FILE\"}}")

struct bed {
	struct web_server server;
	struct event_base *base;
	struct webhdfs_async *async;
	struct webhdfs_client *client;
	struct str bytes;
	struct err err;
};

static void connect_to(struct bed *bed, const char *const *urls, bool http_fs, int64_t max_wait_ms)
{
	struct webhdfs_options options = {
		.user = (char *)"alice", .http_fs = http_fs, .max_wait_ms = max_wait_ms};

	for (; *urls; urls++)
		str_list_add(&options.addresses, *urls);
	bed->base = event_base_new();
	bed->async = webhdfs_async_create(bed->base, &options, NULL);
	bed->client = webhdfs_client_create(&options, NULL);
	assert_true(bed->async && bed->client);
	str_list_finish(&options.addresses);
}

static void on_done(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct bed *bed = data;

	if (err)
		err_copy(&bed->err, err);
	if (result && result->bytes)
		str_append_bytes(&bed->bytes, result->bytes, result->length);
	event_base_loopbreak(bed->base);
}

/* Of a call that was started. */
static int wait_for(struct bed *bed)
{
	str_truncate(&bed->bytes, 0);
	err_finish(&bed->err);
	bed->err = (struct err){0};
	event_base_dispatch(bed->base);
	return bed->err.kind == ERR_NONE ? 0 : -1;
}

#define CALL(bed, name, ...)                                                                       \
	(webhdfs_async_##name((bed)->async, __VA_ARGS__, on_done, bed), wait_for(bed))

#define OPEN(bed, ...)                                                                             \
	do {                                                                                       \
		static const struct web_step steps_[] = {__VA_ARGS__};                             \
		memset(bed, 0, sizeof(*(bed)));                                                    \
		web_server_start(&(bed)->server, steps_, array_length(steps_));                    \
		connect_to(bed, (const char *[]){(bed)->server.url, NULL}, false, PATIENCE_MS);    \
	} while (0)

static void disconnect(struct bed *bed)
{
	webhdfs_client_destroy(bed->client);
	webhdfs_async_destroy(bed->async);
	event_base_loop(bed->base, EVLOOP_NONBLOCK);
	event_base_free(bed->base);
	str_finish(&bed->bytes);
	err_finish(&bed->err);
}

static void close_bed(struct bed *bed)
{
	web_server_stop(&bed->server);
	web_server_finish(&bed->server);
	disconnect(bed);
}

static const struct webhdfs_create replace = {.permission = 0600, .overwrite = true};

static void test_metadata(void **state)
{
	struct webhdfs_file file;
	struct bed bed;

	OPEN(&bed, {"PUT /webhdfs/v1/a%20b?op=MKDIRS&user.name=alice&permission=700 ", TRUE},
	     {"GET /webhdfs/v1/a?op=GETFILESTATUS&user.name=alice ", STATUS("7")},
	     {"op=SETTIMES&user.name=alice&modificationtime=5&accesstime=-1 ", JSON("200", "")},
	     {"DELETE /webhdfs/v1/a?op=DELETE&user.name=alice&recursive=true ", TRUE},
	     {"DELETE /webhdfs/v1/a?op=DELETE", FALSE}, {"op=DELETE", NOT_FOUND},
	     {"op=GETFILESTATUS", NOT_FOUND});
	assert_int_equal(CALL(&bed, make_directories, "/a b", 0700), 0);
	assert_int_equal(webhdfs_stat(bed.client, "/a", &file, &bed.err), 0);
	assert_int_equal(file.length, 7);
	assert_int_equal(file.modified_ms, 5);
	webhdfs_file_finish(&file);
	assert_int_equal(CALL(&bed, set_times, "/a", 5, -1), 0);
	/* There, gone, and gone as a gateway says it. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(CALL(&bed, remove, "/a"), 0);
	assert_int_equal(webhdfs_stat(bed.client, "/a", &file, &bed.err), -1);
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err_message(&bed.err), bed.server.url));
	assert_non_null(strstr(err_message(&bed.err), "GETFILESTATUS /a: FileNotFoundException"));
	close_bed(&bed);
}

#define BEAN(left, nodes)                                                                          \
	JSON("200", "{\"beans\":[{\"name\":\"Hadoop:service=NameNode,name=FSNamesystemState\","    \
		    "\"CapacityTotal\":2147483648,\"CapacityRemaining\":" left                     \
		    ",\"NumLiveDataNodes\":" nodes "}]}")
#define JMX "GET /jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState "

/* promise: R60 */
static void test_full_is_told_with_what_is_free(void **state)
{
	struct bed bed;

	OPEN(&bed,
	     {"op=CREATE", EXCEPTION("403", "IOException",
				     "Failed to find datanode, suggest to check cluster health. "
				     "excludeDatanodes=null")},
	     {JMX, BEAN("0", "3")});
	assert_int_equal(CALL(&bed, write, "/a", &replace, "1", 1), -1);
	assert_int_equal(bed.err.kind, ERR_STORE_FULL);
	assert_non_null(strstr(err_message(&bed.err), "CREATE /a: IOException: Failed to find"));
	assert_non_null(strstr(err_message(&bed.err),
			       "; HDFS has 0 B of 2.0 GiB free, on 3 DataNodes (each keeps"));
	close_bed(&bed);
}

static void test_a_quota_keeps_its_words(void **state)
{
	struct bed bed;

	OPEN(&bed, {"op=MKDIRS", EXCEPTION("403", "NSQuotaExceededException", "quota: 5")},
	     {"op=MKDIRS", NOT_FOUND});
	assert_int_equal(CALL(&bed, make_directories, "/a", 0700), -1);
	assert_int_equal(bed.err.kind, ERR_STORE_FULL);
	assert_non_null(
		strstr(err_message(&bed.err), "NSQuotaExceededException: quota: 5; remove"));
	err_finish(&bed.err);
	/* Other failures ask nothing. */
	assert_int_equal(CALL(&bed, make_directories, "/a", 0700), -1);
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	close_bed(&bed);
}

static void test_create_in_two_steps(void **state)
{
	struct bed bed;

	OPEN(&bed,
	     {"PUT /webhdfs/v1/a?op=CREATE&user.name=alice&overwrite=true&permission=600"
	      "&noredirect=true ",
	      LOCATION},
	     {"PUT /data?op=X ", JSON("201", "")},
	     /* A NameNode that does not know noredirect. */
	     {"op=CREATE",
	      "307 X\r\n" CLOSE "Location: http://@/there?x=y\r\nContent-Length: 0\r\n\r\n"},
	     {"PUT /there?x=y ", JSON("201", "")},
	     /* A router, that knows of noredirect, but not where the content is. */
	     {"op=CREATE&user.name=alice&overwrite=true&permission=600&noredirect=true ",
	      JSON("200", "{\"Location\":null}")},
	     {"op=CREATE&user.name=alice&overwrite=true&permission=600 ",
	      "307 X\r\n" CLOSE "Location: http://@/data\r\nContent-Length: 0\r\n\r\n"},
	     {"PUT /data", JSON("201", "")});
	assert_int_equal(CALL(&bed, write, "/a", &replace, "hello", 5), 0);
	assert_int_equal(CALL(&bed, write, "/a", &replace, " you", 4), 0);
	assert_int_equal(CALL(&bed, write, "/a", &replace, NULL, 0), 0);
	close_bed(&bed);
}

struct told {
	int64_t bytes, stop_at;
};

static bool tell(void *data, int64_t bytes)
{
	struct told *told = data;

	told->bytes = bytes;
	return told->stop_at < 0 || bytes < told->stop_at;
}

static int file_of(size_t size)
{
	int fd = memfd_create("content", MFD_CLOEXEC);
	char *bytes cleanup_free = mem_alloc(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)('a' + i % 26);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

enum { LARGE = 3 << 20 };

static void test_create_from_a_file_is_repeated_from_its_start(void **state)
{
	struct told told = {.stop_at = -1};
	const struct webhdfs_progress progress = {tell, &told};
	int fd cleanup_close = file_of(LARGE);
	struct bed bed;

	OPEN(&bed, {"op=CREATE", LOCATION}, {"PUT /data", NULL},
	     {"op=CREATE", EXCEPTION("403", "RetriableException", "later")},
	     {"op=CREATE", LOCATION}, {"PUT /data", JSON("201", "")});
	assert_int_equal(CALL(&bed, upload, "/a", &replace, fd, LARGE, &progress), 0);
	assert_int_equal(told.bytes, LARGE);
	web_server_stop(&bed.server);
	assert_int_equal(bed.server.bodies.length, 2 * LARGE);
	assert_memory_equal(bed.server.bodies.text, bed.server.bodies.text + LARGE, LARGE);
	assert_int_equal(bed.server.bodies.text[LARGE - 1], 'a' + (LARGE - 1) % 26);
	web_server_finish(&bed.server);
	disconnect(&bed);
}

static void test_create_that_may_not_replace_is_not_repeated(void **state)
{
	const struct webhdfs_create keep = {.permission = 0644};
	struct bed bed;

	OPEN(&bed, {"overwrite=false&permission=644", LOCATION}, {"PUT /data", NULL});
	assert_int_equal(CALL(&bed, write, "/a", &keep, "x", 1), -1);
	assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(err_message(&bed.err), "DataNode"));
	close_bed(&bed);
}

static void test_create_is_refused(void **state)
{
	struct bed bed;

	OPEN(&bed,
	     {"op=CREATE", EXCEPTION("403", "AccessControlException",
				     "Permission denied: user=alice, access=WRITE\\n\\tat org.x")},
	     {"op=CREATE", LOCATION},
	     {"PUT /data", EXCEPTION("403", "DSQuotaExceededException", "The quota is exceeded")});
	assert_int_equal(CALL(&bed, write, "/a", &replace, "x", 1), -1);
	assert_int_equal(bed.err.kind, ERR_DENIED);
	assert_true(str_ends_with(err_message(&bed.err), "user=alice, access=WRITE"));
	err_finish(&bed.err);
	assert_int_equal(CALL(&bed, write, "/a", &replace, "x", 1), -1);
	assert_true(str_ends_with(err_message(&bed.err),
				  "CREATE /a: DSQuotaExceededException: The quota is exceeded; "
				  "remove files in HDFS, or ask for more room"));
	close_bed(&bed);
}

static void test_create_is_interrupted(void **state)
{
	struct told told = {.stop_at = 1};
	const struct webhdfs_progress progress = {tell, &told};
	int fd cleanup_close = file_of(LARGE);
	struct bed bed;

	/* The DataNode's request is never whole, so it is no step. */
	OPEN(&bed, {"op=CREATE", LOCATION});
	assert_int_equal(CALL(&bed, upload, "/a", &replace, fd, LARGE, &progress), -1);
	assert_non_null(strstr(err_message(&bed.err), "interrupted"));
	close_bed(&bed);
}

static void test_download_is_watched_and_interrupted(void **state)
{
	struct told told = {.stop_at = 6};
	const struct webhdfs_progress progress = {tell, &told};
	int fd cleanup_close = file_of(0);
	struct bed bed;

	OPEN(&bed, {"op=OPEN", LOCATION}, {"GET /data", JSON("200", "12345")},
	     {"op=OPEN", LOCATION}, {"GET /data", JSON("200", "123456")});
	assert_int_equal(CALL(&bed, download, "/a", fd, 0, 5, &progress), 0);
	assert_int_equal(told.bytes, 5);
	assert_int_equal(CALL(&bed, download, "/a", fd, 0, 7, &progress), -1);
	assert_true(str_ends_with(err_message(&bed.err), ": OPEN /a: interrupted"));
	close_bed(&bed);
}

/* Nothing moves any more. */
static bool tell_twice(void *data, int64_t bytes)
{
	struct told *told = data;
	bool is_same = bytes > 0 && bytes == told->bytes;

	told->bytes = bytes;
	return !is_same;
}

static void test_create_is_interrupted_while_it_is_stuck(void **state)
{
	char *stuck cleanup_free = NULL;
	int listener cleanup_close = web_silent(&stuck);
	char *location cleanup_free =
		mem_printf("200 X\r\n" CLOSE "\r\n{\"Location\":\"http://%s/x\"}", stuck);
	const struct web_step steps[] = {{"op=CREATE", location}};
	struct told told = {0};
	const struct webhdfs_progress progress = {tell_twice, &told};
	int fd cleanup_close = file_of(LARGE * 4);
	struct bed bed = {0};

	assert_true(listener >= 0);
	web_server_start(&bed.server, steps, array_length(steps));
	connect_to(&bed, (const char *[]){bed.server.url, NULL}, false, PATIENCE_MS);
	assert_int_equal(CALL(&bed, upload, "/a", &replace, fd, LARGE * 4, &progress), -1);
	assert_true(str_ends_with(err_message(&bed.err), ": CREATE /a: interrupted"));
	close_bed(&bed);
}

static void test_file_that_becomes_shorter(void **state)
{
	int fd cleanup_close = file_of(100);
	struct bed bed;

	OPEN(&bed, {"op=CREATE", LOCATION});
	assert_int_equal(CALL(&bed, upload, "/a", &replace, fd, 200, NULL), -1);
	assert_int_equal(bed.err.kind, ERR_IO);
	assert_non_null(strstr(err_message(&bed.err), "became shorter"));
	close_bed(&bed);
}

static bool take(void *data, const char *bytes, size_t length)
{
	str_append_bytes(data, bytes, length);
	return true;
}

static bool take_once(void *data, const char *bytes, size_t length)
{
	str_append_bytes(data, bytes, length);
	return false;
}

static void test_read(void **state)
{
	struct str got cleanup_str = {0};
	struct bed bed;

	OPEN(&bed,
	     {"GET /webhdfs/v1/a?op=OPEN&user.name=alice&offset=3&length=4&noredirect=true ",
	      LOCATION},
	     {"GET /data", JSON("200", "3456 and more than was asked for")},
	     {"offset=0&length=6&noredirect=true", LOCATION},
	     {"GET /data", "200 X\r\nContent-Length: 6\r\n\r\nab"},
	     {"op=GET_BLOCK_LOCATIONS&user.name=alice&offset=2&length=1 ", NOT_FOUND},
	     {"offset=2&length=4", LOCATION}, {"GET /data", JSON("200", "cdef")},
	     {"op=OPEN", LOCATION}, {"GET /data", JSON("200", "xyz")}, {"op=OPEN", NOT_FOUND});
	assert_int_equal(webhdfs_read(bed.client, "/a", 3, 4, take, &got, &bed.err), 0);
	assert_string_equal(got.text, "3456");
	str_truncate(&got, 0);
	/* Broken in the middle. */
	assert_int_equal(webhdfs_read(bed.client, "/a", 0, 6, take, &got, &bed.err), 0);
	assert_string_equal(got.text, "abcdef");
	str_truncate(&got, 0);
	assert_int_equal(webhdfs_read(bed.client, "/a", 0, 0, take, &got, &bed.err), 0);
	assert_int_equal(got.length, 0);
	assert_int_equal(webhdfs_read(bed.client, "/a", 0, 3, take_once, &got, &bed.err), 0);
	assert_int_equal(got.length, 3);
	assert_int_equal(webhdfs_read(bed.client, "/a", 0, 3, take, &got, &bed.err), -1);
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	close_bed(&bed);
}

static void test_rename(void **state)
{
	struct bed bed;

	OPEN(&bed,
	     {"PUT "
	      "/webhdfs/v1/a?op=RENAME&user.name=alice&destination=%2Fb%20c&renameoptions=NONE ",
	      JSON("200", "")},
	     {"renameoptions=OVERWRITE ", JSON("200", "")},
	     {"renameoptions=NONE ",
	      EXCEPTION("403", "FileAlreadyExistsException", "rename destination /b exists")},
	     /* Lost after it was done; lost before. */
	     {"op=RENAME", NULL}, {"op=RENAME", NOT_FOUND}, {"/b?op=GETFILESTATUS", STATUS("1")},
	     {"op=RENAME", NULL}, {"op=RENAME", JSON("200", "")});
	assert_int_equal(CALL(&bed, rename, "/a", "/b c", false), 0);
	assert_int_equal(CALL(&bed, rename, "/a", "/b", true), 0);
	assert_int_equal(CALL(&bed, rename, "/a", "/b", false), -1);
	assert_int_equal(bed.err.kind, ERR_FAILED);
	err_finish(&bed.err);
	assert_int_equal(CALL(&bed, rename, "/a", "/b", false), 0);
	assert_int_equal(CALL(&bed, rename, "/a", "/b", false), 0);
	close_bed(&bed);
}

static void test_gateway(void **state)
{
	static const struct web_step steps[] = {
		{"PUT /gate/webhdfs/v1/a?op=CREATE&user.name=alice&overwrite=true&permission=600"
		 "&data=true ",
		 JSON("201", "")},
		{"GET /gate/webhdfs/v1/a?op=OPEN&user.name=alice&offset=0&length=5 ",
		 JSON("200", "hello")},
		{"/a?op=GETFILESTATUS", STATUS("1")},
		{"/b?op=GETFILESTATUS", NOT_FOUND},
		{"op=RENAME&user.name=alice&destination=%2Fb ", TRUE},
		{"/a?op=GETFILESTATUS", STATUS("1")},
		{"/b?op=GETFILESTATUS", STATUS("1")},
		{"/a?op=GETFILESTATUS", NOT_FOUND},
		{"/a?op=GETFILESTATUS", STATUS("1")},
		{"/b?op=GETFILESTATUS", STATUS("1")},
		{"DELETE /gate/webhdfs/v1/b?op=DELETE&user.name=alice ", TRUE},
		{"op=RENAME", TRUE},
		{"op=OPEN", "502 Bad Gateway\r\n" CLOSE "\r\n<html>"},
		{"op=OPEN", JSON("200", "again")},
	};
	struct str got cleanup_str = {0};
	struct bed bed = {0};

	web_server_start(&bed.server, steps, array_length(steps));
	char *url cleanup_free = mem_printf("%s/gate/", bed.server.url);
	connect_to(&bed, (const char *[]){url, NULL}, true, PATIENCE_MS);
	assert_int_equal(CALL(&bed, write, "/a", &replace, "hello", 5), 0);
	assert_int_equal(webhdfs_read(bed.client, "/a", 0, 5, take, &got, &bed.err), 0);
	assert_string_equal(got.text, "hello");
	assert_int_equal(CALL(&bed, rename, "/a", "/b", true), 0);
	assert_int_equal(CALL(&bed, rename, "/a", "/b", false), -1);
	assert_non_null(strstr(err_message(&bed.err), "/b exists"));
	err_finish(&bed.err);
	assert_int_equal(CALL(&bed, rename, "/a", "/b", true), -1);
	assert_int_equal(bed.err.kind, ERR_NOT_FOUND);
	assert_int_equal(CALL(&bed, rename, "/a", "/b", true), 0);
	assert_int_equal(webhdfs_read(bed.client, "/a", 0, 5, take, &got, &bed.err), 0);
	web_server_stop(&bed.server);
	assert_non_null(strstr(bed.server.heads.text, "Content-Type: application/octet-stream"));
	assert_string_equal(bed.server.bodies.text, "hello");
	web_server_finish(&bed.server);
	disconnect(&bed);
}

static void test_pair_of_name_nodes(void **state)
{
	static const struct web_step standby_steps[] = {{"MKDIRS", STANDBY}, {"MKDIRS", TRUE}};
	static const struct web_step active_steps[] = {
		{"MKDIRS", TRUE}, {"SETTIMES", JSON("200", "")}, {"MKDIRS", STANDBY}};
	struct web_server standby, active;
	struct bed bed = {0};
	char *dead cleanup_free = web_nobody();
	char *dead_url cleanup_free = mem_printf("http://%s", dead);

	web_server_start(&standby, standby_steps, array_length(standby_steps));
	web_server_start(&active, active_steps, array_length(active_steps));
	connect_to(&bed, (const char *[]){dead_url, standby.url, active.url, NULL}, false,
		   PATIENCE_MS);
	assert_int_equal(CALL(&bed, make_directories, "/a", 0755), 0);
	/* Stays with the active one, until that is not active any more. */
	assert_int_equal(CALL(&bed, set_times, "/a", 5, -1), 0);
	assert_int_equal(CALL(&bed, make_directories, "/a", 0755), 0);
	disconnect(&bed);
	web_server_stop(&standby);
	web_server_stop(&active);
	web_server_finish(&standby);
	web_server_finish(&active);
}

static void test_nobody_serves(void **state)
{
	static const struct web_step steps[] = {{"MKDIRS", STANDBY}};
	struct web_server standby;
	struct bed bed = {0};
	char *dead cleanup_free = web_nobody();
	char *dead_url cleanup_free = mem_printf("http://%s", dead);

	web_server_start(&standby, steps, array_length(steps));
	connect_to(&bed, (const char *[]){dead_url, standby.url, NULL}, false, -1);
	assert_int_equal(CALL(&bed, make_directories, "/a", 0755), -1);
	assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
	/* Both say what was wrong with them. */
	assert_non_null(strstr(err_message(&bed.err), dead_url));
	assert_non_null(strstr(err_message(&bed.err), "onnect"));
	assert_non_null(strstr(err_message(&bed.err), "StandbyException"));
	disconnect(&bed);
	web_server_stop(&standby);
	web_server_finish(&standby);
}

static void test_data_node_without_a_name(void **state)
{
	struct bed bed;

	OPEN(&bed, {"op=CREATE", JSON("200", "{\"Location\":\"http://dn.invalid:9864/x\"}")},
	     {"op=CREATE", JSON("200", "{\"Location\":\"ftp://dn/x\"}")},
	     {"op=CREATE", JSON("200", "<html>")});
	assert_int_equal(CALL(&bed, write, "/a", &replace, "x", 1), -1);
	assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(err_message(&bed.err), "DataNode dn.invalid:9864"));
	assert_non_null(strstr(err_message(&bed.err), "HttpFS"));
	err_finish(&bed.err);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(CALL(&bed, write, "/a", &replace, "x", 1), -1);
		assert_int_equal(bed.err.kind, ERR_INPUT);
		err_finish(&bed.err);
	}
	close_bed(&bed);
}

static void test_data_node_that_is_down_is_replaced(void **state)
{
	char *dead cleanup_free = web_nobody();
	char *first cleanup_free =
		mem_printf("200 X\r\n" CLOSE "\r\n{\"Location\":\"http://%s/x\"}", dead);
	const struct web_step steps[] = {
		{"op=CREATE", first}, {"op=CREATE", LOCATION}, {"PUT /data", JSON("201", "")}};
	struct bed bed = {0};

	web_server_start(&bed.server, steps, array_length(steps));
	connect_to(&bed, (const char *[]){bed.server.url, NULL}, false, PATIENCE_MS);
	assert_int_equal(CALL(&bed, write, "/a", &replace, "x", 1), 0);
	close_bed(&bed);
}

static void test_trouble_that_passes(void **state)
{
	struct bed bed;

	OPEN(&bed, {"MKDIRS", EXCEPTION("403", "SafeModeException", "Name node is in safe mode")},
	     {"MKDIRS", NULL}, {"MKDIRS", "503 X\r\n" CLOSE "\r\n"}, {"MKDIRS", TRUE});
	assert_int_equal(CALL(&bed, make_directories, "/a", 0755), 0);
	close_bed(&bed);
}

#define EXPIRED                                                                                    \
	EXCEPTION("403", "SecurityException",                                                      \
		  "Failed to obtain user group information: x.SecretManager$InvalidToken: Token "  \
		  "has expired")

/* First somebody has replaced it since the client was opened, then nobody has. */
static void a_token_that_has_ended_is_replaced(void **state)
{
	static const char *const tokens[][2] = {{TOKEN_KIND_HDFS, "ha-hdfs:a"},
						{TOKEN_KIND_HDFS, "127.0.0.1:8020"}};
	char *old cleanup_free = token_bed_url(tokens[0][0], tokens[0][1]);
	char *new cleanup_free = token_bed_url(tokens[1][0], tokens[1][1]);
	const struct web_step steps[] = {{old, EXPIRED}, {new, STATUS("7")}, {new, EXPIRED}};
	struct str_list services cleanup_str_list = {0}, none = {0};
	const struct hdfs_token_server server = {.name = "hdfs://a",
						 .services = &services,
						 .name_nodes = &none,
						 .web = &none,
						 .is_encrypted = true};
	struct webhdfs_options options = {.user = (char *)"alice", .max_wait_ms = PATIENCE_MS};
	struct webhdfs_file file cleanup_webhdfs_file = {0};
	struct err err cleanup_err = {0};
	struct web_server web;

	str_list_add(&services, "ha-hdfs:a");
	str_list_add(&services, "127.0.0.1:8020");
	token_bed_write(scratch_path(state, "tokens"), tokens, 1);
	options.token = hdfs_token_of(&server);
	assert_int_equal(hdfs_token_get(options.token, 0, NULL), 0);
	token_bed_write(scratch_path(state, "tokens"), tokens + 1, 1);
	web_server_start(&web, steps, array_length(steps));
	str_list_add(&options.addresses, web.url);
	struct webhdfs_client *client = webhdfs_client_create(&options, NULL);
	assert_int_equal(webhdfs_stat(client, "/a", &file, &err), 0);
	assert_int_equal(file.length, 7);
	assert_int_equal(webhdfs_stat(client, "/a", &file, &err), -1);
	assert_int_equal(err.kind, ERR_EXPIRED);
	assert_non_null(strstr(err_message(&err), "Token has expired"));
	assert_non_null(strstr(err_message(&err), "tony renew"));
	webhdfs_client_destroy(client);
	str_list_finish(&options.addresses);
	web_server_stop(&web);
	web_server_finish(&web);
	hdfs_tokens_finish();
}

static void test_list(void **state)
{
	struct bed bed;
	struct err err cleanup_err = {0};

	OPEN(&bed, {"GET /webhdfs/v1/a?op=LISTSTATUS", NOT_FOUND});
	assert_int_equal(webhdfs_list(bed.client, "/a", NULL, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	close_bed(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_full_is_told_with_what_is_free),
		cmocka_unit_test(test_a_quota_keeps_its_words),
		cmocka_unit_test(test_create_in_two_steps),
		cmocka_unit_test(test_create_from_a_file_is_repeated_from_its_start),
		cmocka_unit_test(test_create_that_may_not_replace_is_not_repeated),
		cmocka_unit_test(test_create_is_refused),
		cmocka_unit_test(test_create_is_interrupted),
		cmocka_unit_test(test_create_is_interrupted_while_it_is_stuck),
		cmocka_unit_test(test_download_is_watched_and_interrupted),
		cmocka_unit_test(test_file_that_becomes_shorter),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_pair_of_name_nodes),
		cmocka_unit_test(test_nobody_serves),
		cmocka_unit_test(test_data_node_without_a_name),
		cmocka_unit_test(test_data_node_that_is_down_is_replaced),
		cmocka_unit_test(test_trouble_that_passes),
		scratch_test(a_token_that_has_ended_is_replaced),
		cmocka_unit_test(test_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
