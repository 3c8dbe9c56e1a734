/* The promises of store/file_server.h, with a NameNode by script. */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"

#include <event2/event.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/listen.h"
#include "store/access.h"
#include "store/file_server.h"

#define JSON(status, body)                                                                         \
	status " X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define EXCEPTION(status, class)                                                                   \
	JSON(status, "{\"RemoteException\":{\"exception\":\"" class "\",\"message\":\"no\"}}")
#define LOCATION JSON("200", "{\"Location\":\"http://@/data?op=X\"}")
#define STATUS(name, type, length)                                                                 \
	"{\"group\":\"g\",\"owner\":\"alice\",\"pathSuffix\":\"" name                              \
	"\",\"permission\":\"640\",\"type\":\"" type "\",\"length\":" length                       \
	",\"modificationTime\":1700000000000,\"accessTime\":1}"
#define BATCH(left, ...)                                                                           \
	JSON("200", "{\"DirectoryListing\":{\"partialListing\":{\"FileStatuses\":{\"FileStatus\":" \
		    "[" __VA_ARGS__ "]}},\"remainingEntries\":" left "}}")

struct bed {
	struct event_base *base;
	struct web_server name_node;
	char *path;
	struct file_server *server;
};

static void open_bed(struct bed *bed, void **state, const struct web_step *steps, size_t count)
{
	struct hdfs_access access = {.user = (char *)"alice",
				     .fs = (char *)"hdfs://cluster",
				     .connect_timeout_ms = PATIENCE_MS};
	/* Longer than the address of a socket. */
	char *folder cleanup_free = mem_printf("%s/%0*d", scratch_path(state, "."), 120, 0);
	json_t *stores cleanup_json = json_object();
	struct err err cleanup_err = {0};

	*bed = (struct bed){.base = event_base_new(), .path = fs_join(folder, "files.sock")};
	web_server_start(&bed->name_node, steps, count);
	str_list_add(&access.webhdfs, bed->name_node.url);
	hdfs_access_write(&access, stores);
	str_list_finish(&access.webhdfs);
	assert_int_equal(mkdir(folder, 0700), 0);
	bed->server = file_server_open(bed->base, bed->path, stores, &err);
	if (!bed->server)
		fail_msg("%s", err_message(&err));
}

#define OPEN(bed, state, ...)                                                                      \
	do {                                                                                       \
		static const struct web_step steps_[] = {__VA_ARGS__};                             \
		open_bed(bed, state, steps_, array_length(steps_));                                \
	} while (0)

static void close_bed(struct bed *bed)
{
	file_server_close(bed->server);
	assert_false(fs_exists(bed->path));
	web_server_stop(&bed->name_node);
	web_server_finish(&bed->name_node);
	event_base_loop(bed->base, EVLOOP_NONBLOCK);
	event_base_free(bed->base);
	free(bed->path);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	*(bool *)data = true;
}

/* The whole answer, without those of its headers that all have. */
static char *ask(struct bed *bed, const char *question)
{
	char *text cleanup_free =
		mem_printf("GET /v1/files/%s HTTP/1.0\r\nHost: any\r\n\r\n", question);
	struct str answer cleanup_str = {0};
	int fd cleanup_close = net_connect_path(bed->path);
	char bytes[4096];
	ssize_t got;

	assert_true(fd >= 0);
	assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
	do {
		bool is_readable = false;
		event_base_once(bed->base, fd, EV_READ, on_readable, &is_readable, NULL);
		while (!is_readable)
			event_base_loop(bed->base, EVLOOP_ONCE);
		got = recv(fd, bytes, sizeof(bytes), 0);
		str_append_bytes(&answer, bytes, got > 0 ? (size_t)got : 0);
	} while (got > 0);
	const char *body = strstr(str_text(&answer), "\r\n\r\n");
	return mem_printf("%.3s %s", str_text(&answer) + strlen("HTTP/1.1 "),
			  body ? body + 4 : "?");
}

static void expect(struct bed *bed, const char *question, const char *answer)
{
	char *got cleanup_free = ask(bed, question);

	assert_string_equal(got, answer);
}

static void expect_part(struct bed *bed, const char *question, const char *status, const char *part)
{
	char *got cleanup_free = ask(bed, question);

	if (!str_starts_with(got, status) || !strstr(got, part))
		fail_msg("%s: %s", question, got);
}

static void test_what_is_there(void **state)
{
	struct bed bed;

	OPEN(&bed, state,
	     {"GET /webhdfs/v1/d/a%20b?op=GETFILESTATUS&user.name=alice ",
	      JSON("200", "{\"FileStatus\":" STATUS("", "FILE", "7") "}")},
	     {"GET /webhdfs/v1/d/a?op=GET_BLOCK_LOCATIONS&user.name=alice ",
	      JSON("200", "{\"LocatedBlocks\":{\"locatedBlocks\":[{\"startOffset\":0,\"block\":{"
			  "\"numBytes\":4},\"locations\":[{\"hostName\":\"n1\"},{\"hostName\":"
			  "\"n2\"}]},{\"startOffset\":4,\"block\":{\"numBytes\":3},\"locations\":"
			  "[]}]}}")},
	     {"GET /webhdfs/v1/d?op=LISTSTATUS_BATCH&user.name=alice ",
	      BATCH("1", STATUS("a", "FILE", "7"))},
	     {"startAfter=a ", BATCH("0", STATUS("s", "DIRECTORY", "0"))},
	     {"GET /webhdfs/v1/?op=GETFILESTATUS",
	      JSON("200", "{\"FileStatus\":" STATUS("", "DIRECTORY", "0") "}")},
	     {"GET /webhdfs/v1/?op=LISTSTATUS_BATCH", BATCH("0", STATUS("d", "DIRECTORY", "0"))},
	     {"GET /webhdfs/v1/d?op=LISTSTATUS_BATCH", BATCH("0", )});
	expect(&bed, "stat?path=hdfs://cluster/d/a%20b",
	       "200 {\"path\":\"hdfs://cluster/d/a b\",\"length\":7,\"modified_ms\":1700000000000,"
	       "\"directory\":false}");
	expect(&bed, "blocks?path=/d/a",
	       "200 [{\"offset\":0,\"length\":4,\"hosts\":[\"n1\",\"n2\"]},{\"offset\":4,"
	       "\"length\":3,\"hosts\":[]}]");
	expect(&bed, "list?path=hdfs:///d/",
	       "200 {\"path\":\"hdfs:///d/a\",\"length\":7,\"modified_ms\":1700000000000,"
	       "\"directory\":false}\n{\"path\":\"hdfs:///d/s\",\"length\":0,"
	       "\"modified_ms\":1700000000000,\"directory\":true}\n");
	expect_part(&bed, "stat?path=hdfs:///", "200", "{\"path\":\"hdfs:///\",");
	expect_part(&bed, "list?path=/&recursive=1", "200", "{\"path\":\"/d\",");
	close_bed(&bed);
}

static void test_a_tree_is_listed_by_one_question(void **state)
{
	struct bed bed;

	OPEN(&bed, state,
	     {"GET /webhdfs/v1/d?op=LISTSTATUS_BATCH",
	      BATCH("0", STATUS("s", "DIRECTORY", "0") "," STATUS("t", "DIRECTORY", "0"))},
	     /* Somebody removes it meanwhile. */
	     {"GET /webhdfs/v1/d/t?op=LISTSTATUS_BATCH", EXCEPTION("404", "FileNotFoundException")},
	     {"GET /webhdfs/v1/d/s?op=LISTSTATUS_BATCH", BATCH("0", STATUS("u", "DIRECTORY", "0"))},
	     {"GET /webhdfs/v1/d/s/u?op=LISTSTATUS_BATCH",
	      EXCEPTION("403", "AccessControlException")});
	expect_part(&bed, "list?path=/d&recursive=1", "200",
		    "{\"path\":\"/d/s/u\",\"length\":0,\"modified_ms\":1700000000000,\"directory\":"
		    "true}\n{\"error\":\"http://127.0.0.1:");
	close_bed(&bed);
}

/* Directories that were listed take no memory: what is below one comes before the next one. */
static void test_a_tree_is_listed_depth_first(void **state)
{
	struct bed bed;

	OPEN(&bed, state,
	     {"GET /webhdfs/v1/d?op=LISTSTATUS_BATCH",
	      BATCH("0", STATUS("s", "DIRECTORY", "0") "," STATUS("t", "DIRECTORY", "0"))},
	     {"GET /webhdfs/v1/d/t?op=LISTSTATUS_BATCH", BATCH("0", STATUS("u", "DIRECTORY", "0"))},
	     {"GET /webhdfs/v1/d/t/u?op=LISTSTATUS_BATCH", BATCH("0", STATUS("v", "FILE", "1"))},
	     {"GET /webhdfs/v1/d/s?op=LISTSTATUS_BATCH", BATCH("0", STATUS("w", "FILE", "1"))});
	expect_part(&bed, "list?path=/d&recursive=1", "200", "{\"path\":\"/d/s/w\",");
	close_bed(&bed);
}

static void test_bytes_come_though_a_connection_breaks(void **state)
{
	struct bed bed;

	OPEN(&bed, state,
	     {"GET /webhdfs/v1/a?op=OPEN&user.name=alice&offset=2&length=6&noredirect=true ",
	      LOCATION},
	     {"GET /data?op=X ", "200 X\r\nConnection: close\r\nContent-Length: 6\r\n\r\ncd"},
	     {"op=GET_BLOCK_LOCATIONS", EXCEPTION("403", "SafeModeException")},
	     {"op=OPEN&user.name=alice&offset=4&length=4&", LOCATION},
	     {"GET /data?op=X ", JSON("200", "efgh")});
	expect(&bed, "read?path=hdfs:///a&offset=2&length=6", "200 cdefgh");
	expect(&bed, "read?path=hdfs:///a&offset=2&length=0", "200 ");
	close_bed(&bed);
}

/* promise: S120 */
static void test_refused(void **state)
{
	struct bed bed;
	struct stat file;

	OPEN(&bed, state, {"op=OPEN", EXCEPTION("404", "FileNotFoundException")},
	     {"op=LISTSTATUS_BATCH", EXCEPTION("403", "AccessControlException")},
	     {"op=GETFILESTATUS", EXCEPTION("400", "IllegalArgumentException")});
	assert_int_equal(stat(bed.path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	expect_part(&bed, "read?path=/a", "404", "{\"error\":\"");
	expect_part(&bed, "list?path=/a", "403", "AccessControlException: no\"}");
	expect_part(&bed, "stat?path=/a", "502", "IllegalArgumentException");
	expect_part(&bed, "stat?path=hdfs://elsewhere/a", "403",
		    "hdfs://elsewhere/a is in none of the job's file systems, which are "
		    "hdfs://cluster");
	expect_part(&bed, "stat?path=file:///etc/passwd", "403", "in none of the job's");
	expect_part(&bed, "stat?path=s3://bucket/a", "403", "in none of the job's");
	expect_part(&bed, "stat?path=/a/../b", "400", "no names in HDFS");
	expect_part(&bed, "stat", "400", "path: is missing");
	expect_part(&bed, "read?path=/a&offset=-1", "400", "offset: is not a whole number");
	expect_part(&bed, "remove?path=/a", "404", "{\"error\":\"");
	close_bed(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_what_is_there),
		scratch_test(test_a_tree_is_listed_by_one_question),
		scratch_test(test_a_tree_is_listed_depth_first),
		scratch_test(test_bytes_come_though_a_connection_breaks),
		scratch_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
