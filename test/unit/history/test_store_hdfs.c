/* Whose a record in HDFS is, against a NameNode with a script: between two answers the owner of the
 * day puts an entry in the place of another. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"

#include "base/mem.h"
#include "history/store.h"
#include "store/access.h"

#define JSON(status, body)                                                                         \
	status " X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define NOT_FOUND                                                                                  \
	JSON("404", "{\"RemoteException\":{\"exception\":\"FileNotFoundException\","               \
		    "\"javaClassName\":\"x.FileNotFoundException\",\"message\":\"no\"}}")
#define LOCATION JSON("200", "{\"Location\":\"http://@/data?op=X\"}")
#define STATUS(name, type, owner, inode, length)                                                   \
	"{\"group\":\"g\",\"owner\":\"" owner "\",\"pathSuffix\":\"" name                          \
	"\",\"permission\":\"755\",\"type\":\"" type "\",\"length\":" length                       \
	",\"modificationTime\":1" inode "}"
#define INODE(number) ",\"fileId\":" number
#define FOLDER(owner, inode)                                                                       \
	JSON("200", "{\"FileStatus\":" STATUS("", "DIRECTORY", owner, inode, "0") "}")
#define LIST(...) JSON("200", "{\"FileStatuses\":{\"FileStatus\":[" __VA_ARGS__ "]}}")
#define SUMMARY                                                                                    \
	"{\"format\":1,\"id\":\"j\",\"name\":\"n\",\"user\":\"alice\",\"framework\":\"generic\","  \
	"\"scheduler\":\"yarn\",\"tags\":[],\"submitted_ms\":1,\"begun_ms\":1,\"running_ms\":1,"   \
	"\"ended_ms\":2,\"state\":\"succeeded\",\"epoch\":1,\"retries\":0,"                        \
	"\"infrastructure_retries\":0,\"am_attempt\":1,\"tasks\":0,\"bytes\":0,\"types\":[]}"
#define SUMMARY_LENGTH "271"
#define AT(path)       "/webhdfs/v1" path "?op="
#define DAY	       "2023/11/14"
#define ENTRY	       "/history/" DAY "/j"
#define HELD	       "/.reserved/.inodes/7"
/* The NameNode has paths of inodes. */
#define LEADS                                                                                      \
	{"GET " AT("/history") "GETFILESTATUS", FOLDER("hdfs", INODE("5"))},                       \
	{                                                                                          \
		"GET " AT("/.reserved/.inodes/5") "GETFILESTATUS", FOLDER("hdfs", INODE("5"))      \
	}
#define LOOK(owner, inode)                                                                         \
	{                                                                                          \
		"GET " AT(ENTRY) "GETFILESTATUS", FOLDER(owner, inode)                             \
	}
#define READ(directory)                                                                            \
	{"GET " AT(directory "/summary.json") "GETFILESTATUS",                                     \
	 JSON("200",                                                                               \
	      "{\"FileStatus\":" STATUS("", "FILE", "mallory", INODE("8"), SUMMARY_LENGTH) "}")},  \
		{"GET " AT(directory "/summary.json") "OPEN", LOCATION},                           \
	{                                                                                          \
		"GET /data?op=X", "200 X\r\nConnection: close\r\n\r\n" SUMMARY                     \
	}

struct bed {
	struct web_server server;
	struct history_store *store;
};

static void open_bed(struct bed *bed, const struct web_step *steps, size_t count)
{
	struct store_access access = {true, {.user = (char *)"alice", .fs = (char *)"hdfs://nn"}};
	struct err err cleanup_err = {0};

	web_server_start(&bed->server, steps, count);
	str_list_add(&access.hdfs.webhdfs, bed->server.url);
	bed->store = history_store_open("hdfs://nn/history", &access, &err);
	str_list_finish(&access.hdfs.webhdfs);
	if (!bed->store)
		fail_msg("%s", err_message(&err));
}

#define OPEN(bed, ...)                                                                             \
	do {                                                                                       \
		static const struct web_step steps_[] = {__VA_ARGS__};                             \
		open_bed(bed, steps_, array_length(steps_));                                       \
	} while (0)

static void close_bed(struct bed *bed)
{
	history_store_close(bed->store);
	web_server_stop(&bed->server);
	web_server_finish(&bed->server);
}

static const struct history_record alices = {
	.path = (char *)DAY "/j", .owner = (char *)"alice", .user = (char *)"alice"};

/* promise: S131 */
static void a_summary_is_of_the_owner_whose_directory_was_read(void **state)
{
	struct history_summary summary cleanup_history_summary = {0};
	struct err err cleanup_err = {0};
	struct bed bed;

	/* mallory's is there when it is read, and alice's would be again behind that. */
	OPEN(&bed, LEADS, LOOK("mallory", INODE("7")), READ(HELD),
	     {"GET " AT("/history") "GETFILESTATUS", FOLDER("hdfs", INODE("5"))});
	assert_success(history_store_summary(bed.store, alices.path, &summary, &err), &err);
	assert_string_equal(summary.owner, "mallory");
	assert_string_equal(summary.user, "mallory");
	close_bed(&bed);
}

/* promise: S130 */
static void a_file_of_another_owners_directory_is_not_the_records(void **state)
{
	struct err err cleanup_err = {0};
	struct bed bed;
	size_t length;

	OPEN(&bed, LEADS, LOOK("mallory", INODE("7")), READ(HELD),
	     /* The inode is read wherever it was moved to. */
	     LOOK("alice", INODE("7")), READ(HELD));
	assert_null(
		history_store_read_file(bed.store, &alices, "summary.json", 4096, &length, &err));
	assert_int_equal(err.kind, ERR_DENIED);
	assert_message_has(&err, "an entry of mallory's has taken the place of alice's");
	assert_text_freed(
		history_store_read_file(bed.store, &alices, "summary.json", 4096, &length, NULL),
		SUMMARY);
	close_bed(&bed);
}

static void a_list_is_of_the_directory_that_was_looked_at(void **state)
{
	struct history_entries entries cleanup_history_entries = {0};
	struct err err cleanup_err = {0};
	struct bed bed;

	OPEN(&bed, LEADS, {"GET " AT(ENTRY "/logs") "GETFILESTATUS", FOLDER("mallory", INODE("7"))},
	     {"GET " AT(HELD) "LISTSTATUS", LIST(STATUS("x", "FILE", "mallory", "", "1"))});
	assert_int_equal(history_store_list(bed.store, &alices, "logs", &entries, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	close_bed(&bed);
}

/* promise: S142 */
static void what_was_looked_at_is_removed_and_nothing_in_its_place(void **state)
{
	struct err err cleanup_err = {0};
	struct bed bed;

	OPEN(&bed, LEADS, LOOK("alice", INODE("7")),
	     {"GET " AT(HELD) "LISTSTATUS", LIST(STATUS("logs", "DIRECTORY", "alice", "", "0"))},
	     {"GET " AT(HELD "/logs") "LISTSTATUS", LIST()},
	     {"DELETE " AT(HELD) "DELETE", JSON("200", "{\"boolean\":true}")},
	     LOOK("bob", INODE("9")), LOOK("alice", INODE("7")),
	     {"GET " AT(HELD) "LISTSTATUS", LIST(STATUS("logs", "DIRECTORY", "bob", "", "0"))});
	assert_success(history_store_remove(bed.store, alices.path, "alice", &err), &err);
	assert_int_equal(history_store_remove(bed.store, alices.path, "alice", &err), -1);
	assert_message_has(&err, "an entry of bob's has taken the place of alice's");
	err_finish(&err);
	assert_int_equal(history_store_remove(bed.store, alices.path, "alice", &err), 1);
	assert_message_has(&err, DAY "/j: logs in it is bob's, so all of it stays");
	close_bed(&bed);
}

/* Then the owner is looked at once more, behind the reading. */
static void a_gateway_and_a_router_are_asked_by_path(void **state)
{
	static const struct web_step gateway[] = {
		{"GET " AT("/history") "GETFILESTATUS", FOLDER("hdfs", "")},
		READ(ENTRY),
		LOOK("alice", ""),
	};
	static const struct web_step router[] = {
		{"GET " AT("/history") "GETFILESTATUS", FOLDER("hdfs", INODE("5"))},
		{"GET " AT("/.reserved/.inodes/5") "GETFILESTATUS", NOT_FOUND},
		READ(ENTRY),
		LOOK("alice", INODE("7")),
	};
	static const struct web_step other[] = {
		{"GET " AT("/history") "GETFILESTATUS", FOLDER("hdfs", INODE("5"))},
		{"GET " AT("/.reserved/.inodes/5") "GETFILESTATUS", FOLDER("carol", INODE("5"))},
		READ(ENTRY),
		LOOK("mallory", INODE("7")),
	};
	struct bed bed;
	size_t length;

	open_bed(&bed, gateway, array_length(gateway));
	assert_text_freed(
		history_store_read_file(bed.store, &alices, "summary.json", 4096, &length, NULL),
		SUMMARY);
	close_bed(&bed);
	open_bed(&bed, router, array_length(router));
	assert_text_freed(
		history_store_read_file(bed.store, &alices, "summary.json", 4096, &length, NULL),
		SUMMARY);
	close_bed(&bed);
	open_bed(&bed, other, array_length(other));
	assert_null(
		history_store_read_file(bed.store, &alices, "summary.json", 4096, &length, NULL));
	close_bed(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_summary_is_of_the_owner_whose_directory_was_read),
		cmocka_unit_test(a_file_of_another_owners_directory_is_not_the_records),
		cmocka_unit_test(a_list_is_of_the_directory_that_was_looked_at),
		cmocka_unit_test(what_was_looked_at_is_removed_and_nothing_in_its_place),
		cmocka_unit_test(a_gateway_and_a_router_are_asked_by_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
