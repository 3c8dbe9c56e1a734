/* What is promised by webhdfs.h: what is asked, and what the answers mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../base/scratch.h"
#include "base/mem.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/token.h"
#include "hadoop/webhdfs.h"
#include "token_bed.h"

static const struct webhdfs_question question = {WEBHDFS_MKDIRS, "http://nn:9870", "/user/a"};

static void expect_target(const struct webhdfs_options *options, const char *server,
			  const char *path, const char *target)
{
	struct str text cleanup_str = {0};

	webhdfs_target(&text, options, &(struct webhdfs_question){WEBHDFS_OPEN, server, path});
	assert_string_equal(text.text, target);
}

static void test_target(void **state)
{
	const struct webhdfs_options plain = {.user = "al ice"};
	static const char *const tokens[][2] = {{TOKEN_KIND_HDFS, "ha-hdfs:ns"}};
	char *url cleanup_free = token_bed_url(tokens[0][0], tokens[0][1]);
	char *root cleanup_free = mem_printf("/one/two/webhdfs/v1/?op=OPEN&delegation=%s", url);
	char *odd cleanup_free = mem_printf(
		"/webhdfs/v1/%%20%%25%%2B%%3F%%23%%3B%%26%%3D%%3A%%40%%27%%22%%5C%%C3%%A4"
		"~.-_/z?op=OPEN&delegation=%s",
		url);
	struct str_list services cleanup_str_list = {0}, none = {0};

	token_bed_write(scratch_path(state, "tokens"), tokens, 1);
	str_list_add(&services, "ha-hdfs:ns");
	const struct webhdfs_options token = {
		.user = "alice",
		.token = hdfs_token_of(&(struct hdfs_token_server){.name = "hdfs://ns",
								   .services = &services,
								   .name_nodes = &none,
								   .web = &none,
								   .is_encrypted = true}),
	};
	assert_int_equal(hdfs_token_get(token.token, 0, NULL), 0);

	expect_target(&plain, "http://nn:9870", "/a/b",
		      "/webhdfs/v1/a/b?op=OPEN&user.name=al%20ice");
	expect_target(&token, "https://gate/one/two/", "/", root);
	expect_target(&token, "http://nn:9870", "/ %+?#;&=:@'\"\\\xc3\xa4~.-_/z", odd);
	hdfs_tokens_finish();
}

static void test_added_parameters_are_encoded(void **state)
{
	struct str target cleanup_str = {0};

	webhdfs_target_add(&target, "destination", "/a b&c=d");
	assert_string_equal(target.text, "&destination=%2Fa%20b%26c%3Dd");
}

static void test_paths(void **state)
{
	static const char *const good[] = {"/", "/a", "/a/b/", "/...", "/.tony/..a", "//a"};
	static const char *const bad[] = {"", "a", "a/b", "/.", "/..", "/a/../b", "/a/.", "/\xff"};
	char *large cleanup_free = mem_alloc(WEBHDFS_PATH_CAP + 2);

	for (size_t i = 0; i < array_length(good); i++)
		assert_int_equal(webhdfs_path_check(good[i], NULL), 0);
	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		assert_int_equal(webhdfs_path_check(bad[i], &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
	}
	memset(large, '/', WEBHDFS_PATH_CAP + 1);
	assert_int_equal(webhdfs_path_check(large, NULL), -1);
}

static void test_options(void **state)
{
	static const char *const bad[] = {"nn:9870", "hdfs://nn:9870", "http://nn:9870/?op=x",
					  "http://u:p@nn:9870", "http://:9870"};
	struct webhdfs_options options = {.user = "alice"}, copy;
	struct err err cleanup_err = {0};

	assert_int_equal(webhdfs_options_check(&options, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	str_list_add(&options.addresses, "http://nn:9870");
	assert_int_equal(webhdfs_options_check(&options, NULL), 0);
	assert_int_equal(options.max_wait_ms, WEBHDFS_MAX_WAIT_MS);
	webhdfs_options_copy(&copy, &options);
	webhdfs_options_finish(&copy);
	str_list_finish(&options.addresses);
	for (size_t i = 0; i < array_length(bad); i++) {
		struct err each cleanup_err = {0};
		struct webhdfs_options one = {.user = "alice"};
		str_list_add(&one.addresses, bad[i]);
		assert_int_equal(webhdfs_options_check(&one, &each), -1);
		assert_int_equal(each.kind, ERR_CONFIG);
		assert_non_null(strstr(err_message(&each), bad[i]));
		str_list_finish(&one.addresses);
	}
	str_list_add(&options.addresses, "http://nn:9870");
	options.user = NULL;
	assert_int_equal(webhdfs_options_check(&options, NULL), -1);
	str_list_finish(&options.addresses);
}

#define EXCEPTION(class, message)                                                                  \
	"{\"RemoteException\":{\"exception\":\"" class "\",\"javaClassName\":\"x.y." class         \
		"\",\"message\":\"" message "\"}}"

static void test_verdicts(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum webhdfs_verdict verdict;
		enum err_kind kind;
		const char *text;
	} rows[] = {
		{200, "", WEBHDFS_DONE, ERR_NONE, ""},
		{201, "", WEBHDFS_DONE, ERR_NONE, ""},
		{403,
		 EXCEPTION("StandbyException", "Operation category READ is not supported in state "
					       "standby\\n\\tat org.apache"),
		 WEBHDFS_NOT_HERE, ERR_UNREACHABLE,
		 "http://nn:9870: MKDIRS /user/a: StandbyException: Operation category READ is not "
		 "supported in state standby"},
		{403, EXCEPTION("RetriableException", "x"), WEBHDFS_NOT_NOW, ERR_UNREACHABLE,
		 "RetriableException: x"},
		{403, EXCEPTION("SafeModeException", "x"), WEBHDFS_NOT_NOW, ERR_UNREACHABLE, "x"},
		{500, EXCEPTION("ConnectException", "x"), WEBHDFS_BROKEN, ERR_UNREACHABLE, "x"},
		{404, EXCEPTION("FileNotFoundException", "x"), WEBHDFS_REFUSED, ERR_NOT_FOUND, "x"},
		{403, EXCEPTION("AccessControlException", "Permission denied: user=bob"),
		 WEBHDFS_REFUSED, ERR_DENIED,
		 "AccessControlException: Permission denied: user=bob"},
		{403, EXCEPTION("ParentNotDirectoryException", "/f (is not a directory)"),
		 WEBHDFS_REFUSED, ERR_DENIED, "/f (is not a directory)"},
		{401, EXCEPTION("SecurityException", "x"), WEBHDFS_REFUSED, ERR_DENIED, "x"},
		{403, EXCEPTION("NSQuotaExceededException", "quota"), WEBHDFS_REFUSED,
		 ERR_STORE_FULL, "NSQuotaExceededException: quota"},
		{500, EXCEPTION("IOException", ""), WEBHDFS_REFUSED, ERR_FAILED, "IOException"},
		/* What HDFS did not write. */
		{401, "<html>", WEBHDFS_REFUSED, ERR_DENIED, "401"},
		{403, "", WEBHDFS_REFUSED, ERR_DENIED, "403"},
		{404, "<html>", WEBHDFS_REFUSED, ERR_FAILED, "dfs.webhdfs.enabled"},
		{429, "", WEBHDFS_NOT_NOW, ERR_UNREACHABLE, "429"},
		{502, "<html>", WEBHDFS_BROKEN, ERR_UNREACHABLE, "502"},
		{501, "", WEBHDFS_REFUSED, ERR_FAILED, "501"},
		{302, "", WEBHDFS_REFUSED, ERR_FAILED, "302"},
		{500, "{\"RemoteException\":7}", WEBHDFS_BROKEN, ERR_UNREACHABLE, "500"},
		{500, "{\"RemoteException\":{\"exception\":\"\"}}", WEBHDFS_BROKEN, ERR_UNREACHABLE,
		 "500"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct err err cleanup_err = {0};
		enum webhdfs_verdict verdict = webhdfs_judge(
			&question, rows[i].status, rows[i].body, strlen(rows[i].body), &err);
		if (verdict != rows[i].verdict || err.kind != rows[i].kind ||
		    (err.message && !strstr(err.message, rows[i].text)))
			fail_msg("%d %s: %d, %d: %s", rows[i].status, rows[i].body, verdict,
				 err.kind, err_message(&err));
		assert_null(err.message ? strchr(err.message, '\n') : NULL);
	}
}

/* As Hadoop 3.4.2 sends it. */
#define MEMBERS(name, type)                                                                        \
	"{\"accessTime\":1700000000456,\"blockSize\":134217728,\"childrenNum\":0,\"fileId\":"      \
	"16390,"                                                                                   \
	"\"group\":\"supergroup\",\"length\":24,\"modificationTime\":1700000000123,"               \
	"\"owner\":\"alice\",\"pathSuffix\":\"" name "\",\"permission\":\"1644\","                 \
	"\"replication\":1,\"storagePolicy\":0,\"type\":\"" type "\"}"

static void test_file(void **state)
{
	static const char body[] = "{\"FileStatus\":" MEMBERS("", "FILE") "}";
	struct webhdfs_file file;

	assert_int_equal(webhdfs_answer_file(&question, body, strlen(body), &file, NULL), 0);
	assert_string_equal(file.name, "");
	assert_false(file.is_directory);
	assert_int_equal(file.length, 24);
	assert_int_equal(file.modified_ms, 1700000000123);
	assert_int_equal(file.accessed_ms, 1700000000456);
	assert_int_equal(file.permission, 01644);
	assert_string_equal(file.owner, "alice");
	assert_string_equal(file.group, "supergroup");
	webhdfs_file_finish(&file);
}

static void count(void *data, const struct webhdfs_file *file)
{
	struct str *names = data;

	str_append_format(names, "%s%s;", file->name, file->is_directory ? "/" : "");
}

static void test_list(void **state)
{
	static const char body[] = "{\"FileStatuses\":{\"FileStatus\":[" MEMBERS(
		"a b", "FILE") "," MEMBERS("c", "DIRECTORY") "," MEMBERS("l", "SYMLINK") "]}}";
	static const char none[] = "{\"FileStatuses\":{\"FileStatus\":[]}}";
	struct str names cleanup_str = {0};

	assert_int_equal(webhdfs_answer_list(&question, none, strlen(none), count, &names, NULL),
			 0);
	assert_int_equal(webhdfs_answer_list(&question, body, strlen(body), count, &names, NULL),
			 0);
	assert_string_equal(names.text, "a b;c/;l;");
}

static void test_malformed_answers(void **state)
{
	static const char *const files[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"FileStatus\":[]}",
		"{\"FileStatus\":{\"type\":\"FILE\"}}",
		"{\"FileStatus\":" MEMBERS("", "DEVICE") "}",
	};
	static const char *const lists[] = {
		"{}",
		"{\"FileStatuses\":{\"FileStatus\":{}}}",
		"{\"FileStatuses\":{\"FileStatus\":[7]}}",
		"{\"FileStatuses\":{\"FileStatus\":[" MEMBERS("..", "FILE") "]}}",
		"{\"FileStatuses\":{\"FileStatus\":[" MEMBERS("a/b", "FILE") "]}}",
		"{\"FileStatuses\":{\"FileStatus\":[" MEMBERS("", "FILE") "," MEMBERS("",
										      "FILE") "]}}",
	};
	struct str names cleanup_str = {0};
	struct webhdfs_file file;
	bool value;

	for (size_t i = 0; i < array_length(files); i++) {
		struct err err cleanup_err = {0};
		assert_int_equal(
			webhdfs_answer_file(&question, files[i], strlen(files[i]), &file, &err),
			-1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_non_null(strstr(err_message(&err), "http://nn:9870: MKDIRS /user/a"));
	}
	for (size_t i = 0; i < array_length(lists); i++)
		assert_int_equal(webhdfs_answer_list(&question, lists[i], strlen(lists[i]), count,
						     &names, NULL),
				 -1);
	assert_int_equal(webhdfs_answer_boolean(&question, "{\"boolean\":1}", 13, &value, NULL),
			 -1);
	assert_null(webhdfs_answer_location(&question, "{}", 2, NULL));
}

static void test_boolean_and_location(void **state)
{
	static const char body[] = "{\"Location\":\"http://dn:9864/x\"}";
	bool value = false;

	assert_int_equal(webhdfs_answer_boolean(&question, "{\"boolean\":true}", 16, &value, NULL),
			 0);
	assert_true(value);
	char *location cleanup_free = webhdfs_answer_location(&question, body, strlen(body), NULL);
	assert_string_equal(location, "http://dn:9864/x");
}

static void test_urls(void **state)
{
	static const struct {
		const char *text, *host, *address, *target;
		bool is_tls;
	} good[] = {
		{"http://dn-1.x:9864/webhdfs/v1/a%20b?op=CREATE&x=y", "dn-1.x", "dn-1.x:9864",
		 "/webhdfs/v1/a%20b?op=CREATE&x=y", false},
		{"HTTPS://dn", "dn", "dn:443", "", true},
		{"http://10.0.0.1?a=b", "10.0.0.1", "10.0.0.1:80", "/?a=b", false},
		{"http://[::1]:9864/", "::1", "[::1]:9864", "/", false},
		{"http://[::1]", "::1", "[::1]:80", "", false},
		{"http://dn/%20\xc3\xa4?x", "dn", "dn:80", "/%20%C3%A4?x", false},
	};
	static const char *const bad[] = {
		"",
		"dn:1",
		"ftp://dn/",
		"http://",
		"http://dn:/",
		"http://dn:0",
		"http://dn:70000",
		"http://a@dn:1/",
		"http://dn/#x",
		"http://d n/",
		"http://dn/\r\nX: y",
		"http://dn/\xc3",
		"http://::1/",
	};

	for (size_t i = 0; i < array_length(good); i++) {
		struct net_url url cleanup_net_url = {0};
		assert_int_equal(webhdfs_url_parse(good[i].text, &url, NULL), 0);
		assert_string_equal(url.host, good[i].host);
		assert_string_equal(url.address, good[i].address);
		assert_string_equal(url.target, good[i].target);
		assert_int_equal(url.is_tls, good[i].is_tls);
	}
	for (size_t i = 0; i < array_length(bad); i++) {
		struct net_url url;
		struct err err cleanup_err = {0};
		if (webhdfs_url_parse(bad[i], &url, &err) == 0)
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(err.kind, ERR_INPUT);
	}
}

static void test_content_never_leaves_tls(void **state)
{
	const struct webhdfs_question secure = {WEBHDFS_CREATE, "https://nn:9871", "/a"};
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(webhdfs_location_parse(&secure, "http://dn:1/", &url, &err), -1);
	assert_non_null(strstr(err_message(&err), "dfs.http.policy"));
	assert_int_equal(webhdfs_location_parse(&secure, "https://dn:1/", &url, NULL), 0);
}

static void test_no_token_is_quoted(void **state)
{
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(
		webhdfs_location_parse(&question, "http://dn 1/x?delegation=sesame", &url, &err),
		-1);
	assert_non_null(strstr(err_message(&err), "dn 1/x"));
	assert_null(strstr(err_message(&err), "sesame"));
}

static void test_data_node_that_cannot_be_reached(void **state)
{
	const struct webhdfs_question create = {WEBHDFS_CREATE, "http://nn:9870", "/a"};
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(webhdfs_url_parse("http://dn1.inside:9864/x", &url, NULL), 0);
	assert_int_equal(webhdfs_err_data_node(&create, &url, "no such host", &err), -1);
	assert_int_equal(err.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(err_message(&err), "CREATE /a: DataNode dn1.inside:9864"));
	assert_non_null(strstr(err_message(&err), "no such host"));
	assert_non_null(strstr(err_message(&err), "HttpFS"));
	err_finish(&err);
	webhdfs_err_data_node(&create, &url, "Connection refused", &err);
	assert_null(strstr(err_message(&err), "HttpFS"));
	assert_non_null(strstr(err_message(&err),
			       "refused; nothing listens there: \"hdfs dfsadmin -report\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_target),
		cmocka_unit_test(test_added_parameters_are_encoded),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_malformed_answers),
		cmocka_unit_test(test_boolean_and_location),
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_content_never_leaves_tls),
		cmocka_unit_test(test_no_token_is_quoted),
		cmocka_unit_test(test_data_node_that_cannot_be_reached),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
