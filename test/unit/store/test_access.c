#include "store/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"

static const char sample[] =
	"{\"hdfs\":{\"user\":\"alice\",\"fs\":\"hdfs://big\",\"name_nodes\":[\"nn1:8020\"],"
	"\"webhdfs\":[\"https://nn1:9871\",\"https://nn2:9871\"],\"http_fs\":false,"
	"\"authorities\":\"-----BEGIN\\nX\\n\",\"connect_timeout_ms\":20000,"
	"\"needs_token\":true,\"tokens_in_clear\":false,\"token_services\":[\"ha-hdfs:big\",\"10.0."
	"0.1:8020\"]}}";

static void access_survives_json(void **state)
{
	struct store_access access cleanup_store_access = {0};
	struct err err cleanup_err = {0};
	json_t *stores cleanup_json = json_parse(sample, strlen(sample), &err);

	assert_int_equal(store_access_from_json(stores, &access, &err), 0);
	assert_true(access.has_hdfs);
	assert_string_equal(access.hdfs.user, "alice");
	assert_string_equal(access.hdfs.webhdfs.items[1], "https://nn2:9871");
	assert_string_equal(access.hdfs.authorities, "-----BEGIN\nX\n");
	assert_int_equal(access.hdfs.connect_timeout_ms, 20000);
	json_t *written cleanup_json = json_object();
	hdfs_access_write(&access.hdfs, written);
	assert_true(json_equal(written, stores));
}

static void a_gateway_localizes_by_its_own_token(void **state)
{
	static const struct {
		const char *gateway;
		bool needs_token;
		const char *url;
	} cases[] = {
		{"https://gw:14000", true, "swebhdfs://gw:14000/a/b"},
		{"http://gw:14000/", true, "webhdfs://gw:14000/a/b"},
		{"https://gw:14000", false, "hdfs://big/a/b"},
		{"https://gw:14000/behind", true, "hdfs://big/a/b"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct hdfs_access access cleanup_hdfs_access = {
			.fs = mem_strdup("hdfs://big"),
			.http_fs = true,
			.needs_token = cases[i].needs_token,
		};
		str_list_add(&access.webhdfs, cases[i].gateway);
		char *url cleanup_free = hdfs_access_localized(&access, "hdfs://big/a/b");
		assert_string_equal(url, cases[i].url);
		char *other cleanup_free = hdfs_access_localized(&access, "hdfs://other/a");
		assert_string_equal(other, "hdfs://other/a");
		access.http_fs = false;
		char *same cleanup_free = hdfs_access_localized(&access, "hdfs://big/a/b");
		assert_string_equal(same, "hdfs://big/a/b");
	}
}

static void access_to_a_bucket_survives_json(void **state)
{
	static const char text[] =
		"{\"s3\":{\"endpoint\":\"https://minio:9000\",\"region\":\"r\",\"key_id\":\"k\","
		"\"secret_key\":\"s\",\"authorities\":\"-----BEGIN\\nX\\n\"}}";
	struct store_access access cleanup_store_access = {0};
	struct err err cleanup_err = {0};
	json_t *stores cleanup_json = json_parse(text, strlen(text), &err);

	if (store_access_from_json(stores, &access, &err) < 0)
		fail_msg("%s", err_message(&err));
	assert_true(access.has_s3);
	assert_string_equal(access.s3.authorities, "-----BEGIN\nX\n");
	json_t *written cleanup_json = json_object();
	s3_access_write(&access.s3, written);
	assert_true(json_equal(written, stores));
}

static void job_without_remote_stores_has_no_access(void **state)
{
	struct store_access access cleanup_store_access = {0};
	struct err err cleanup_err = {0};
	json_t *other cleanup_json = json_pack("{s:{}}", "later");

	assert_int_equal(store_access_from_json(NULL, &access, &err), 0);
	assert_false(access.has_hdfs);
	assert_int_equal(store_access_from_json(other, &access, &err), 0);
	assert_false(access.has_hdfs);
}

static void hostile_access_is_refused(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{"\"https://nn1:9871\",\"https://nn2:9871\"", "", "webhdfs: has no address"},
		{"hdfs://big", "hdfs://big\\n", "fs: is longer than 4096 bytes, or has a newline"},
		{"\"alice\"", "7", "user: is not a text"},
		{"20000", "-2", "connect_timeout_ms: -2 is not between"},
		{"false", "0", "http_fs: "},
		{"{\"user\"", "[{\"user\"", NULL},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct store_access access cleanup_store_access = {0};
		struct err err cleanup_err = {0};
		const char *at = strstr(sample, cases[i].from);
		char *changed cleanup_free = mem_printf("%.*s%s%s", (int)(at - sample), sample,
							cases[i].to, at + strlen(cases[i].from));
		json_t *stores cleanup_json = json_parse(changed, strlen(changed), NULL);
		if (!cases[i].message) {
			assert_null(stores);
			stores = json_pack("{s:[s]}", "hdfs", "hdfs://big");
		}
		assert_int_equal(store_access_from_json(stores, &access, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		if (cases[i].message && !strstr(err_message(&err), cases[i].message))
			fail_msg("%s", err_message(&err));
		assert_false(access.has_hdfs);
		assert_null(access.hdfs.user);
	}
}

static void path_is_within_the_file_system(void **state)
{
	static const struct {
		const char *url, *path;
	} cases[] = {
		{"hdfs:///a/b", "/a/b"},      {"hdfs:/a", "/a"},    {"hdfs://big/a", "/a"},
		{"hdfs://bigger/a", NULL},    {"hdfs://big", NULL}, {"file:///a", NULL},
		{"hdfs://other:1/a/b", NULL},
	};
	const struct hdfs_access access = {.fs = (char *)"hdfs://big"};

	for (size_t i = 0; i < array_length(cases); i++) {
		char *path cleanup_free = hdfs_access_path(&access, cases[i].url);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
	}
}

static const char view[] =
	"{\"hdfs\":{\"user\":\"alice\",\"fs\":\"hdfs://ns1\",\"name_nodes\":[\"one:8020\"],"
	"\"webhdfs\":[\"http://one:9870\"],\"http_fs\":false,\"connect_timeout_ms\":20000,"
	"\"needs_token\":false,\"tokens_in_clear\":false,\"token_services\":[],"
	"\"view\":\"viewfs://cl\",\"others\":[{\"fs\":\"hdfs://ns2\",\"webhdfs\":[\"http://"
	"two:9870\","
	"\"http://three:9870\"]}],\"links\":[{\"path\":\"/user\",\"to\":\"hdfs://ns1/homes/\"},"
	"{\"path\":\"/user/shared\",\"to\":\"hdfs://ns2/shared\"},{\"path\":\"/"
	"data\",\"to\":\"hdfs://ns2\"},"
	"{\"path\":\"/s3\",\"to\":\"s3a://bucket/\"}]}}";

static void paths_follow_the_links_of_a_view(void **state)
{
	static const struct {
		const char *url, *full;
	} cases[] = {
		{"viewfs://cl/user/alice/x", "hdfs://ns1/homes/alice/x"},
		{"viewfs:///user", "hdfs://ns1/homes/"},
		{"viewfs:/user/alice", "hdfs://ns1/homes/alice"},
		{"hdfs:///user/shared/a", "hdfs://ns2/shared/a"},
		{"hdfs:///user/sharedother", "hdfs://ns1/homes/sharedother"},
		{"viewfs://cl/data", "hdfs://ns2/"},
		{"viewfs://cl/data/a", "hdfs://ns2/a"},
		{"hdfs://ns2/as/it/is", "hdfs://ns2/as/it/is"},
		{"hdfs://ns1/user/a", "hdfs://ns1/user/a"},
		{"hdfs://ns3/a", NULL},
		{"viewfs://other/user/a", NULL},
		{"viewfs://cl/nothing", NULL},
		{"viewfs://cl/s3/a", NULL},
		{"viewfs://cl", NULL},
		{"/user/alice", NULL},
	};
	struct store_access access cleanup_store_access = {0};
	struct err err cleanup_err = {0};
	json_t *stores cleanup_json = json_parse(view, strlen(view), &err);
	json_t *written cleanup_json = json_object();

	if (store_access_from_json(stores, &access, &err) < 0)
		fail_msg("%s", err_message(&err));
	for (size_t i = 0; i < array_length(cases); i++) {
		char *full cleanup_free = hdfs_access_resolve(&access.hdfs, cases[i].url);
		if (!str_equal(full, cases[i].full))
			fail_msg("%s: %s", cases[i].url, full ? full : "none");
	}
	assert_string_equal(hdfs_access_webhdfs_of(&access.hdfs, "hdfs://ns2/x").addresses.items[1],
			    "http://three:9870");
	assert_string_equal(hdfs_access_webhdfs_of(&access.hdfs, "hdfs://ns1/x").addresses.items[0],
			    "http://one:9870");
	hdfs_access_write(&access.hdfs, written);
	assert_true(json_equal(written, stores));
}

static void hostile_views_are_refused(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{"[\"http://two:9870\",\"http://three:9870\"]", "[]", "others[0]: webhdfs: has no"},
		{"\"hdfs://ns2\",\"webhdfs\"", "7,\"webhdfs\"", "others[0]: fs: "},
		{"\"/data\"", "\"data\"", "links[2]: path: is not absolute"},
		{"\"hdfs://ns2\"}", "null}", "links[2]: to: "},
		{"\"viewfs://cl\"", "7", "view: "},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct store_access access cleanup_store_access = {0};
		struct err err cleanup_err = {0};
		const char *at = strstr(view, cases[i].from);
		assert_non_null(at);
		char *changed cleanup_free = mem_printf("%.*s%s%s", (int)(at - view), view,
							cases[i].to, at + strlen(cases[i].from));
		json_t *stores cleanup_json = json_parse(changed, strlen(changed), &err);
		assert_int_equal(store_access_from_json(stores, &access, &err), -1);
		if (!strstr(err_message(&err), cases[i].message))
			fail_msg("%s", err_message(&err));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(access_survives_json),
		cmocka_unit_test(a_gateway_localizes_by_its_own_token),
		cmocka_unit_test(access_to_a_bucket_survives_json),
		cmocka_unit_test(job_without_remote_stores_has_no_access),
		cmocka_unit_test(hostile_access_is_refused),
		cmocka_unit_test(path_is_within_the_file_system),
		cmocka_unit_test(paths_follow_the_links_of_a_view),
		cmocka_unit_test(hostile_views_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
