/* The promises of store/store.h: each test over a directory, and over HDFS and S3 with scripts. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"

#include <event2/event.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "store/access.h"
#include "store/location.h"
#include "store/store.h"

#define JSON(status, body)                                                                         \
	status " X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define EXCEPTION(status, class)                                                                   \
	JSON(status, "{\"RemoteException\":{\"exception\":\"" class "\",\"javaClassName\":"        \
								    "\"x." class "\",\"message\":" \
										 "\"no\"}}")
#define NOT_FOUND    EXCEPTION("404", "FileNotFoundException")
#define TRUE	     JSON("200", "{\"boolean\":true}")
#define LOCATION     JSON("200", "{\"Location\":\"http://@/data?op=X\"}")
#define BYTES(bytes) "200 X\r\nConnection: close\r\n\r\n" bytes
#define CONTENT(bytes)                                                                             \
	{                                                                                          \
		"GET /data?op=X", BYTES(bytes)                                                     \
	}
#define STATUS(name, type, length)                                                                 \
	"{\"group\":\"g\",\"owner\":\"alice\",\"pathSuffix\":\"" name                              \
	"\",\"permission\":\"640\",\"type\":\"" type "\",\"length\":" length                       \
	",\"modificationTime\":1700000000000,\"accessTime\":1600000000000}"
#define FILE_OF(length) JSON("200", "{\"FileStatus\":" STATUS("", "FILE", length) "}")
#define PATH(path)	"/webhdfs/v1/files/" path

struct bed {
	void **scratch;
	struct event_base *base;
	struct store *store;
	const char *user; /* whose all is; NULL: nobody's */
	/* The end of the last call: */
	int told;
	struct err err;
	struct store_item item;
	struct str bytes, seen;
	bool closes;
};

static void on_done(void *data, const struct store_answer *answer, const struct err *err)
{
	struct bed *bed = data;

	assert_true((answer == NULL) != (err == NULL));
	bed->told++;
	if (err)
		err_set(&bed->err, err->kind, "%s", err_message(err));
	if (answer && answer->item) {
		bed->item = *answer->item;
		bed->item.name = NULL;
		bed->item.owner = mem_strdup(answer->item->owner);
	}
	if (answer && answer->bytes)
		str_append(&bed->bytes, answer->bytes);
	if (bed->closes)
		store_close(mem_steal(&bed->store));
}

static void forget(struct bed *bed)
{
	err_finish(&bed->err);
	bed->err = (struct err){0};
	store_item_finish(&bed->item);
	str_truncate(&bed->bytes, 0);
	str_truncate(&bed->seen, 0);
}

static void call(struct bed *bed, struct store_request request)
{
	int before = bed->told;

	forget(bed);
	assert_non_null(store_start(bed->store, request, on_done, bed));
	assert_int_equal(bed->told, before); /* not from within */
	while (bed->told == before)
		event_base_loop(bed->base, EVLOOP_ONCE);
}

static void succeed(struct bed *bed, struct store_request request)
{
	call(bed, request);
	if (bed->err.kind != ERR_NONE)
		fail_msg("%s", err_message(&bed->err));
}

static void fail_with(struct bed *bed, struct store_request request, enum err_kind kind)
{
	call(bed, request);
	assert_int_equal(bed->err.kind, kind);
}

/* Sorted, as "a:5 b/". */
static void on_item(void *data, const struct store_item *item)
{
	struct bed *bed = data;
	char *text cleanup_free = item->is_directory
					  ? mem_printf("%s/ ", item->name)
					  : mem_printf("%s:%d ", item->name, (int)item->length);
	bool is_first = bed->seen.length == 0 || strcmp(text, bed->seen.text) > 0;
	char *all cleanup_free = is_first ? mem_printf("%s%s", str_text(&bed->seen), text)
					  : mem_printf("%s%s", text, str_text(&bed->seen));

	assert_true(str_equal(item->owner, bed->user));
	str_truncate(&bed->seen, 0);
	str_append(&bed->seen, all);
}

static void on_note(void *data, const char *name, const char *bytes, size_t length)
{
	struct bed *bed = data;

	str_append_format(&bed->seen, "%s=%.*s ", name, (int)length, bytes);
}

static int file_of(const char *text)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void put(struct bed *bed, const char *path, const char *text)
{
	int fd cleanup_close = file_of(text);

	succeed(bed, store_upload(path, 0640, fd, (int64_t)strlen(text)));
}

/* ---- of every kind ------------------------------------------------------------------------ */

#define PUT(path, bytes)                                                                           \
	{"PUT " PATH(path) "?op=CREATE&user.name=alice&overwrite=true&permission=640", LOCATION},  \
	{                                                                                          \
		"PUT /data?op=X", JSON("201", "")                                                  \
	}

static const struct web_step reads_steps[] = {
	PUT("d/a", "12345"),
	{"GET " PATH("d/a") "?op=GETFILESTATUS", FILE_OF("5")},
	{"GET " PATH("d/a") "?op=OPEN", LOCATION},
	CONTENT("12345"),
	{"GET " PATH("d/a") "?op=OPEN", LOCATION},
	CONTENT("12345"),
	{"GET " PATH("d/a") "?op=OPEN&user.name=alice&offset=1&length=3", LOCATION},
	CONTENT("234"),
	{"GET " PATH("d/b") "?op=GETFILESTATUS", NOT_FOUND},
	{"GET " PATH("d/b") "?op=OPEN", NOT_FOUND},
};

#define XML(status, body) status " X\r\nConnection: close\r\n\r\n<?xml version=\"1.0\"?>" body
#define PAGE(body)                                                                                 \
	XML("200", "<ListBucketResult xmlns='http://s3'><EncodingType>url</EncodingType>" body     \
		   "</ListBucketResult>")
#define KEY(key, size)                                                                             \
	"<Contents><Key>" key "</Key><Size>" size                                                  \
	"</Size><LastModified>2023-11-14T22:13:20.000Z</LastModified></Contents>"
#define PREFIX(prefix) "<CommonPrefixes><Prefix>" prefix "</Prefix></CommonPrefixes>"
#define DONE	       "200 X\r\nConnection: close\r\n\r\n"
#define STORED	       "200 X\r\nConnection: close\r\nETag: \"1\"\r\n\r\n"
#define NO_KEY	       XML("404", "<Error><Code>NoSuchKey</Code></Error>")
#define LIST(prefix)   "GET /bucket/?list-type=2&encoding-type=url&prefix=" prefix

static const struct web_step reads_from_s3[] = {
	{"PUT /bucket/files/d/a HTTP", STORED},
	{LIST("files%2Fd%2Fa&max-keys=1 "), PAGE(KEY("files%2Fd%2Fa", "5"))},
	{"GET /bucket/files/d/a HTTP", DONE "12345"},
	{"GET /bucket/files/d/a HTTP", DONE "12345"},
	{"range: bytes=1-3\r\n", "206 X\r\nConnection: close\r\n\r\n234"},
	{LIST("files%2Fd%2Fb&max-keys=1 "), PAGE(KEY("files/d/b-not", "5"))},
	{LIST("files%2Fd%2Fb%2F&max-keys=1 "), PAGE("")},
	{"GET /bucket/files/d/b HTTP", NO_KEY},
};

static void reads_what_was_uploaded(struct bed *bed)
{
	char got[8] = "";
	int fd cleanup_close = file_of("xyz...");

	put(bed, "d/a", "12345");
	succeed(bed, store_stat("d/a"));
	assert_true(bed->item.is_file && !bed->item.is_directory);
	assert_int_equal(bed->item.length, 5);
	assert_int_equal(bed->item.permission, bed->user ? 0640 : 0600);
	assert_true(str_equal(bed->item.owner, bed->user));
	succeed(bed, store_read("d/a", 5));
	assert_string_equal(str_text(&bed->bytes), "12345");
	fail_with(bed, store_read("d/a", 4), ERR_INPUT);
	succeed(bed, store_download("d/a", NULL, fd, 1, 3));
	assert_int_equal(pread(fd, got, sizeof(got) - 1, 0), 4);
	assert_string_equal(got, "x234");
	fail_with(bed, store_stat("d/b"), ERR_NOT_FOUND);
	fail_with(bed, store_read("d/b", 5), ERR_NOT_FOUND);
}

static const struct web_step lists_steps[] = {
	PUT("a", "12345"),
	{"PUT " PATH("d/e") "?op=MKDIRS&user.name=alice&permission=750", TRUE},
	{"GET /webhdfs/v1/files?op=LISTSTATUS",
	 JSON("200", "{\"FileStatuses\":{\"FileStatus\":[" STATUS("a", "FILE", "5") "," STATUS(
			     "d", "DIRECTORY", "0") "]}}")},
	{"GET " PATH("no") "?op=LISTSTATUS", NOT_FOUND},
};

/* There is nothing to make. */
static const struct web_step lists_from_s3[] = {
	{"PUT /bucket/files/a HTTP", STORED},
	{LIST("files%2F&delimiter=%2F "), PAGE(KEY("files%2Fa", "5") PREFIX("files%2Fd%2F"))},
	{LIST("files%2Fno%2F&delimiter=%2F "), PAGE("")},
};

static void lists_a_directory(struct bed *bed)
{
	put(bed, "a", "12345");
	succeed(bed, store_make_directories("d/e", 0750));
	succeed(bed, store_list("", bed->user, on_item, bed));
	assert_string_equal(str_text(&bed->seen), "a:5 d/ ");
	fail_with(bed, store_list("no", NULL, on_item, bed), ERR_NOT_FOUND);
}

static const struct web_step changes_steps[] = {
	PUT("a", "12"),
	{"POST " PATH("a") "?op=APPEND", LOCATION},
	{"POST /data?op=X", JSON("200", "")},
	{"PUT " PATH("a") "?op=SETTIMES&user.name=alice&modificationtime=1700000000000"
			  "&accesstime=-1 ",
	 JSON("200", "")},
	{"PUT " PATH("a") "?op=SETTIMES&user.name=alice&modificationtime=-1"
			  "&accesstime=1600000000000 ",
	 JSON("200", "")},
	PUT("b", "x"),
	{"PUT " PATH("a") "?op=RENAME&user.name=alice&destination=%2Ffiles%2Fb&renameoptions=NONE",
	 EXCEPTION("403", "FileAlreadyExistsException")},
	{"PUT " PATH("a") "?op=RENAME&user.name=alice&destination=%2Ffiles%2Fb"
			  "&renameoptions=OVERWRITE",
	 JSON("200", "")},
	{"GET " PATH("b") "?op=GETFILESTATUS", FILE_OF("4")},
	{"DELETE " PATH("b") "?op=DELETE&user.name=alice&recursive=true", TRUE},
	{"DELETE " PATH("b") "?op=DELETE&user.name=alice&recursive=true",
	 JSON("200", "{\"boolean\":false}")},
	{"POST " PATH("b") "?op=APPEND", NOT_FOUND},
};

static void changes_what_is_there(struct bed *bed)
{
	put(bed, "a", "12");
	succeed(bed, store_append("a", "34", 2));
	succeed(bed, store_set_time("a", 1700000000000));
	succeed(bed, store_set_accessed("a", 1600000000000));
	put(bed, "b", "x");
	fail_with(bed, store_rename_keeping("a", "b"), ERR_FAILED);
	succeed(bed, store_rename("a", "b"));
	succeed(bed, store_stat("b"));
	assert_int_equal(bed->item.length, 4);
	assert_int_equal(bed->item.modified_ms, 1700000000000);
	assert_int_equal(bed->item.accessed_ms, 1600000000000);
	succeed(bed, store_remove("b"));
	succeed(bed, store_remove("b"));
	fail_with(bed, store_append("b", "5", 1), ERR_NOT_FOUND);
}

static void on_never(void *data, const struct store_answer *answer, const struct err *err)
{
	fail_msg("a cancelled call is told");
}

static const struct web_step ends_steps[] = {{"GET " PATH("a") "?op=GETFILESTATUS", NOT_FOUND}};
static const struct web_step ends_with_s3[] = {{LIST("files%2Fa&"), PAGE("")},
					       {LIST("files%2Fa%2F&"), PAGE("")}};

static void is_closed_by_its_own_answer(struct bed *bed)
{
	store_cancel(store_start(bed->store, store_stat("a"), on_never, NULL));
	bed->closes = true;
	fail_with(bed, store_stat("a"), ERR_NOT_FOUND);
	assert_null(bed->store);
}

static const struct {
	const char *name;
	void (*body)(struct bed *bed);
	const struct web_step *steps;
	size_t count;
	const struct web_step *s3_steps; /* NULL: objects cannot */
	size_t s3_count;
} tests[] = {
	{"reads", reads_what_was_uploaded, reads_steps, array_length(reads_steps), reads_from_s3,
	 array_length(reads_from_s3)},
	{"lists", lists_a_directory, lists_steps, array_length(lists_steps), lists_from_s3,
	 array_length(lists_from_s3)},
	{"changes", changes_what_is_there, changes_steps, array_length(changes_steps), NULL, 0},
	{"ends", is_closed_by_its_own_answer, ends_steps, array_length(ends_steps), ends_with_s3,
	 array_length(ends_with_s3)},
};

static void open_bed(struct bed *bed, void **state)
{
	*bed = (struct bed){.scratch = state, .base = event_base_new(), .user = "alice"};
}

static void close_bed(struct bed *bed)
{
	store_close(bed->store);
	forget(bed);
	str_finish(&bed->bytes);
	str_finish(&bed->seen);
	event_base_free(bed->base);
}

static void directory_keeps_the_promises(void **state)
{
	char *me cleanup_free = user_name_of(geteuid());

	for (size_t i = 0; i < array_length(tests); i++) {
		struct bed bed;
		open_bed(&bed, state);
		bed.user = me;
		bed.store = store_open(scratch_path(state, tests[i].name), NULL, 0, bed.base, NULL);
		assert_true(store_traits(bed.store)->is_at_once);
		tests[i].body(&bed);
		close_bed(&bed);
	}
}

static struct store_access access_of(const struct web_server *server)
{
	struct store_access access = {true,
				      {.user = (char *)"alice", .fs = (char *)"hdfs://cluster"}};

	str_list_add(&access.hdfs.webhdfs, server->url);
	return access;
}

static void hdfs_keeps_the_promises(void **state)
{
	for (size_t i = 0; i < array_length(tests); i++) {
		struct web_server server;
		struct bed bed;
		open_bed(&bed, state);
		web_server_start(&server, tests[i].steps, tests[i].count);
		struct store_access access = access_of(&server);
		bed.store = store_open("hdfs://cluster/files", &access, -1, bed.base, NULL);
		str_list_finish(&access.hdfs.webhdfs);
		tests[i].body(&bed);
		close_bed(&bed);
		web_server_stop(&server);
		web_server_finish(&server);
	}
}

static void s3_keeps_the_promises(void **state)
{
	for (size_t i = 0; i < array_length(tests); i++) {
		struct web_server server;
		struct bed bed;
		if (!tests[i].s3_steps)
			continue;
		open_bed(&bed, state);
		bed.user = NULL;
		web_server_start(&server, tests[i].s3_steps, tests[i].s3_count);
		const struct store_access access = {
			.has_s3 = true,
			.s3 = {server.url, (char *)"here", (char *)"id", (char *)"secret", NULL}};
		bed.store = store_open("s3://bucket/files", &access, -1, bed.base, NULL);
		assert_true(store_traits(bed.store)->holds_objects);
		tests[i].body(&bed);
		close_bed(&bed);
		web_server_stop(&server);
		web_server_finish(&server);
	}
}

/* ---- waiting ------------------------------------------------------------------------------ */

static void waits_for(struct store *store, const char *user)
{
	struct store_item item cleanup_store_item = {0};
	struct err err cleanup_err = {0};
	char *keeper cleanup_free = NULL;
	struct str bytes cleanup_str = {0};
	char got[8] = "";
	int source cleanup_close = file_of("12345");

	assert_success(store_run(store, store_upload("a", 0640, source, 5), &err), &err);
	assert_success(store_look(store, "a", &item, &err), &err);
	assert_int_equal(item.length, 5);
	assert_string_equal(item.owner, user);
	int fd cleanup_close = store_open_file(store, "a", 5, &keeper, &err);
	assert_int_equal(read(fd, got, sizeof(got) - 1), 5);
	assert_string_equal(got, "12345");
	/* Both at once, or not at all. */
	assert_true(store_traits(store)->is_at_once ? str_equal(keeper, user) : !keeper);
	assert_int_equal(store_open_file(store, "a", 4, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	err_finish(&err);
	err = (struct err){0};
	assert_int_equal(store_open_file(store, "b", 4, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	err_finish(&err);
	err = (struct err){0};
	str_append(&bytes, "0");
	assert_success(store_read_bytes(store, "a", 5, &bytes, &err), &err);
	assert_string_equal(str_text(&bytes), "012345");
	assert_int_equal(store_read_bytes(store, "a", 4, &bytes, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
}

static void a_process_without_a_loop_waits(void **state)
{
	static const struct web_step steps[] = {
		PUT("a", "12345"),
		{"op=GETFILESTATUS", FILE_OF("5")},
		{"GET /webhdfs/v1/files?op=GETFILESTATUS", FILE_OF("0")}, /* as of a gateway */
		{"op=GETFILESTATUS", FILE_OF("5")},
		{"GET " PATH("a") "?op=OPEN&user.name=alice&offset=0&length=5", LOCATION},
		CONTENT("12345"),
		{"op=GETFILESTATUS", FILE_OF("5")},
		{"op=GETFILESTATUS", NOT_FOUND},
		{"GET " PATH("a") "?op=OPEN", LOCATION},
		CONTENT("12345"),
		{"GET " PATH("a") "?op=OPEN", LOCATION},
		CONTENT("12345"),
	};
	char *me cleanup_free = user_name_of(geteuid());
	struct web_server server;
	struct store *store = store_open(scratch_path(state, "files"), NULL, 0, NULL, NULL);

	waits_for(store, me);
	store_close(store);
	web_server_start(&server, steps, array_length(steps));
	struct store_access access = access_of(&server);
	store = store_open("hdfs://cluster/files", &access, -1, NULL, NULL);
	str_list_finish(&access.hdfs.webhdfs);
	waits_for(store, "alice");
	store_close(store);
	web_server_stop(&server);
	web_server_finish(&server);
}

static bool is_no_skip(void *data, const char *name, const struct store_item *item)
{
	assert_true(item->is_directory == str_equal(name, "d"));
	return !str_equal(name, "skip");
}

struct told {
	int64_t bytes, stop_at;
};

static bool tell(void *data, int64_t bytes)
{
	struct told *told = data;

	told->bytes = bytes;
	return bytes < told->stop_at;
}

static void fetches(struct store *store, void **state, const char *to)
{
	struct told told = {.stop_at = INT64_MAX};
	const struct store_choice choice = {is_no_skip, NULL};
	const struct store_progress progress = {tell, &told};
	char *tree cleanup_free = mem_printf("%s/tree", to), *file cleanup_free = NULL;
	char *a cleanup_free = mem_strdup(scratch_path(state, tree));
	struct err err cleanup_err = {0};
	struct stat status;

	assert_int_equal(mkdir(scratch_path(state, to), 0700), 0);
	assert_success(store_fetch(store, "t", a, &choice, &progress, &err), &err);
	assert_int_equal(told.bytes, 6);
	file = fs_join(a, "a");
	assert_text_freed(fs_read_file(file, 9, &(size_t){0}, NULL), "12345");
	assert_int_equal(stat(file, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_int_equal(fs_modified_ms(&status), 1700000000000);
	mem_replace(&file, fs_join(a, "d/b"));
	assert_text_freed(fs_read_file(file, 9, &(size_t){0}, NULL), "x");
	mem_replace(&file, fs_join(a, "skip"));
	assert_false(fs_exists(file));
	/* One file, and nobody who wants it any more. */
	told.stop_at = 1;
	assert_int_equal(store_fetch(store, "t/a", file, NULL, &progress, &err), -1);
	assert_int_equal(err.kind, ERR_FAILED);
	assert_message_has(&err, "interrupted");
}

static void trees_are_fetched(void **state)
{
#define LIST_OF(entries) JSON("200", "{\"FileStatuses\":{\"FileStatus\":[" entries "]}}")
	static const struct web_step steps[] = {
		{"GET " PATH("t") "?op=GETFILESTATUS",
		 JSON("200", "{\"FileStatus\":" STATUS("", "DIRECTORY", "0") "}")},
		{"GET " PATH("t") "?op=LISTSTATUS",
		 LIST_OF(STATUS("a", "FILE", "5") "," STATUS("d", "DIRECTORY",
							     "0") "," STATUS("skip", "FILE", "7"))},
		{"GET " PATH("t/d") "?op=LISTSTATUS", LIST_OF(STATUS("b", "FILE", "1"))},
		{"GET " PATH("t/a") "?op=OPEN&user.name=alice&offset=0&length=5", LOCATION},
		CONTENT("12345"),
		{"GET " PATH("t/d/b") "?op=OPEN&user.name=alice&offset=0&length=1", LOCATION},
		CONTENT("x"),
		{"GET " PATH("t/a") "?op=GETFILESTATUS", FILE_OF("5")},
		{"GET " PATH("t/a") "?op=OPEN", LOCATION},
		CONTENT("12345"),
	};
	struct web_server server;
	struct store *store = store_open(scratch_path(state, "files"), NULL, 0, NULL, NULL);

	scratch_write(state, "files/t/a", "12345", 0640);
	scratch_write(state, "files/t/d/b", "x", 0600);
	scratch_write(state, "files/t/skip", "longer.", 0600);
	assert_int_equal(symlink("a", scratch_path(state, "files/t/link")), 0);
	assert_int_equal(store_run(store, store_set_time("t/a", 1700000000000), NULL), 0);
	fetches(store, state, "directory");
	store_close(store);
	/* A location may be a file. */
	store = store_open(scratch_path(state, "files/t/a"), NULL, 0, NULL, NULL);
	assert_int_equal(store_fetch(store, "", scratch_path(state, "one"), NULL, NULL, NULL), 0);
	assert_text_freed(scratch_read(state, "one"), "12345");
	assert_int_equal(store_run(store, store_list("", NULL, on_item, NULL), NULL), -1);
	store_close(store);
	web_server_start(&server, steps, array_length(steps));
	struct store_access access = access_of(&server);
	store = store_open("hdfs://cluster/files", &access, -1, NULL, NULL);
	str_list_finish(&access.hdfs.webhdfs);
	fetches(store, state, "hdfs");
	store_close(store);
	web_server_stop(&server);
	web_server_finish(&server);
}

/* ---- of one kind -------------------------------------------------------------------------- */

static void directory_leads_nowhere_else(void **state)
{
	struct bed bed;
	int fd cleanup_close = file_of("x");

	open_bed(&bed, state);
	scratch_write(state, "outside/secret", "x", 0600);
	scratch_write(state, "files/a", "x", 0600);
	assert_int_equal(symlink("../outside", scratch_path(state, "files/link")), 0);
	assert_int_equal(symlink("../outside/secret", scratch_path(state, "files/file")), 0);
	assert_int_equal(mkfifo(scratch_path(state, "files/fifo"), 0600), 0);
	assert_int_equal(symlink("files", scratch_path(state, "entry")), 0);
	bed.store = store_open(scratch_path(state, "entry"), NULL, 0, bed.base, NULL);
	succeed(&bed, store_read("a", 1)); /* the location itself may be a link */
	fail_with(&bed, store_read("link/secret", 1), ERR_NOT_FOUND);
	fail_with(&bed, store_read("file", 1), ERR_NOT_FOUND);
	fail_with(&bed, store_read("fifo", 1), ERR_NOT_FOUND);
	fail_with(&bed, store_list("link", NULL, on_item, &bed), ERR_NOT_FOUND);
	fail_with(&bed, store_stat("link"), ERR_NOT_FOUND);
	fail_with(&bed, store_append("file", "y", 1), ERR_NOT_FOUND);
	fail_with(&bed, store_upload("file", 0600, fd, 1), ERR_NOT_FOUND);
	fail_with(&bed, store_upload("link/new", 0600, fd, 1), ERR_NOT_FOUND);
	fail_with(&bed, store_make_directories("link/new", 0700), ERR_NOT_FOUND);
	succeed(&bed, store_remove("link")); /* the link itself */
	assert_text_freed(scratch_read(state, "outside/secret"), "x");
	assert_false(fs_exists(scratch_path(state, "outside/new")));
	close_bed(&bed);
}

static void directory_tells_another_owner(void **state)
{
	struct bed bed;
	int fd cleanup_close = file_of("");

	open_bed(&bed, state);
	scratch_write(state, "files/a", "x", 0600);
	bed.store = store_open(scratch_path(state, "files"), NULL, 0, bed.base, NULL);
	fail_with(&bed, store_list("", "somebody", on_item, &bed), ERR_DENIED);
	fail_with(&bed, store_download("a", "somebody", fd, 0, 1), ERR_DENIED);
	assert_message_has(&bed.err, "has taken its place");
	succeed(&bed, store_remove("")); /* the location itself */
	assert_false(fs_exists(scratch_path(state, "files")));
	close_bed(&bed);
}

/* promise: S142 */
static void tree_with_a_directory_of_another_owner_is_told(void **state)
{
	struct err err cleanup_err = {0};
	char *me cleanup_free = user_name_of(geteuid()), *name, *whose;

	scratch_write(state, "files/entry/logs/worker-0/stdout", "x", 0600);
	struct store *store = store_open(scratch_path(state, "files"), NULL, 0, NULL, NULL);
	assert_success(store_find_foreign(store, "entry", me, &name, &whose, &err), &err);
	assert_null(name);
	assert_success(
		store_find_foreign(store, "entry/logs/worker-0", "alice", &name, &whose, &err),
		&err);
	assert_null(name);
	assert_success(store_find_foreign(store, "entry", "alice", &name, &whose, &err), &err);
	assert_text_freed(name, "logs");
	assert_text_freed(whose, me);
	store_close(store);
}

static void hdfs_keeps_notes(void **state)
{
	static const struct web_step steps[] = {
		{"PUT " PATH("d") "?op=SETXATTR&user.name=alice&xattr.name=user.tony.n"
				  "&xattr.value=0x6F6E65",
		 JSON("200", "")},
		{"GET " PATH("d") "?op=GETXATTRS",
		 JSON("200", "{\"XAttrs\":[{\"name\":\"user.tony.n\",\"value\":\"0x6f6e65\"},"
			     "{\"name\":\"user.other\",\"value\":\"0x6f6e65\"},"
			     "{\"name\":\"user.tony.bad\",\"value\":\"0x6f6\"}]}")},
	};
	struct web_server server;
	struct bed bed;

	open_bed(&bed, state);
	web_server_start(&server, steps, array_length(steps));
	struct store_access access = access_of(&server);
	bed.store = store_open("hdfs://cluster/files", &access, -1, bed.base, NULL);
	str_list_finish(&access.hdfs.webhdfs);
	assert_true(store_traits(bed.store)->has_notes);
	succeed(&bed, store_set_note("d", "n", "one", 3));
	succeed(&bed, store_notes("d", on_note, &bed));
	assert_string_equal(str_text(&bed.seen), "n=one ");
	close_bed(&bed);
	web_server_stop(&server);
	web_server_finish(&server);
}

/* Credentials and addresses are those of one cluster. */
static void another_hdfs_than_the_jobs_is_refused(void **state)
{
	static const char *const own[] = {"hdfs://cluster", "hdfs:///a", "hdfs://cluster/a"};
	static const char *const others[] = {"hdfs://cluster:8020/a", "hdfs://clust",
					     "hdfs://other/a"};
	struct store_access access = {true,
				      {.user = (char *)"alice", .fs = (char *)"hdfs://cluster"}};
	struct err err cleanup_err = {0};

	str_list_add(&access.hdfs.webhdfs, "http://127.0.0.1:1");
	for (size_t i = 0; i < array_length(own); i++) {
		struct store *store = store_open(own[i], &access, -1, NULL, NULL);
		assert_non_null(store);
		store_close(store);
	}
	for (size_t i = 0; i < array_length(others); i++) {
		assert_null(store_open(others[i], &access, -1, NULL, &err));
		assert_int_equal(err.kind, ERR_CONFIG);
		assert_message_has(&err, "is not in this cluster's file system, hdfs://cluster");
		err_finish(&err);
		err = (struct err){0};
	}
	str_list_finish(&access.hdfs.webhdfs);
}

/* Each file system is asked at its own servers, whatever the user calls it. */
static void other_file_systems_of_the_site_are_reached(void **state)
{
#define STAT(path)                                                                                 \
	{                                                                                          \
		"GET /webhdfs/v1" path "?op=GETFILESTATUS",                                        \
			"200 "                                                                     \
			"OK\r\n\r\n{\"FileStatus\":{\"pathSuffix\":\"\",\"type\":\"FILE\","        \
			"\"length\":1,"                                                            \
			"\"modificationTime\":2,\"accessTime\":3,\"permission\":\"644\","          \
			"\"owner\":\"alice\","                                                     \
			"\"group\":\"g\"}}"                                                        \
	}
	static const struct web_step steps[] = {STAT("/x"), STAT("/shared/a/x"), STAT("/shared/x")};
	static const char *const locations[] = {"hdfs://ns2/", "viewfs://cl/data/a",
						"viewfs:///data/"};
	struct hdfs_link link = {(char *)"/data", (char *)"hdfs://ns2/shared"};
	struct hdfs_other other = {(char *)"hdfs://ns2", {0}};
	struct store_access access = {true,
				      {.user = (char *)"alice",
				       .fs = (char *)"hdfs://cluster",
				       .view = (char *)"viewfs://cl",
				       .links = &link,
				       .link_count = 1,
				       .others = &other,
				       .other_count = 1}};
	struct web_server server;

	web_server_start(&server, steps, array_length(steps));
	str_list_add(&access.hdfs.webhdfs, "http://127.0.0.1:1");
	str_list_add(&other.webhdfs, server.url);
	for (size_t i = 0; i < array_length(locations); i++) {
		struct store_item item cleanup_store_item = {0};
		struct err err cleanup_err = {0};
		struct store *store = store_open(locations[i], &access, -1, NULL, &err);
		if (!store || store_look(store, "x", &item, &err) < 0)
			fail_msg("%s", err_message(&err));
		store_close(store);
	}
	web_server_stop(&server);
	web_server_finish(&server);
	str_list_finish(&access.hdfs.webhdfs);
	str_list_finish(&other.webhdfs);
}

/* Else a bucket that names another directory for ever would keep whoever looks through it. */
static void directories_without_an_end_are_told(void **state)
{
	struct err err cleanup_err = {0};
	struct str path cleanup_str = {0};

	str_append(&path, "d");
	for (int i = 1; i < 100; i++)
		str_append(&path, "/d");
	assert_int_equal(store_check_depth("", &err), 0);
	assert_int_equal(store_check_depth(path.text, &err), 0);
	str_append(&path, "/d");
	assert_int_equal(store_check_depth(path.text, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
}

static void location_is_one_of_four(void **state)
{
	static const char *const flaws[] = {"relative", "s3://b/a",	   "s3://Bucket/a",
					    "s3:///a",	"s3://a..b/c",	   "file://host",
					    "",		"s3://K:pw@b-1/c", "s3a://K:pw@b-1/c"};
	struct err err cleanup_err = {0};

	for (size_t i = 0; i < array_length(flaws); i++) {
		assert_null(store_open(flaws[i], NULL, 0, NULL, &err));
		assert_int_equal(err.kind, ERR_CONFIG);
		assert_null(strstr(err_message(&err), "pw"));
		err_finish(&err);
		err = (struct err){0};
	}
	assert_null(store_open("hdfs://cluster/a", NULL, 0, NULL, &err));
	assert_message_has(&err, "set HADOOP_CONF_DIR");
	err_finish(&err);
	err = (struct err){0};
	assert_null(store_open("s3://bucket", NULL, 0, NULL, &err));
	assert_int_equal(err.kind, ERR_CONFIG);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		scratch_test(directory_keeps_the_promises),
		scratch_test(hdfs_keeps_the_promises),
		scratch_test(s3_keeps_the_promises),
		scratch_test(a_process_without_a_loop_waits),
		scratch_test(trees_are_fetched),
		scratch_test(directory_leads_nowhere_else),
		scratch_test(directory_tells_another_owner),
		scratch_test(tree_with_a_directory_of_another_owner_is_told),
		scratch_test(hdfs_keeps_notes),
		scratch_test(another_hdfs_than_the_jobs_is_refused),
		scratch_test(other_file_systems_of_the_site_are_reached),
		cmocka_unit_test(directories_without_an_end_are_told),
		scratch_test(location_is_one_of_four),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
