/* Addresses of key management servers (hadoop/kms.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/kms.h"

static void expect(const char *uri, const char *urls, const char *path)
{
	struct err err cleanup_err = {0};
	struct kms kms;

	assert_int_equal(kms_parse(uri, &kms, &err), 0);
	char *told cleanup_free = str_list_join(&kms.urls, " ");
	assert_string_equal(told, urls);
	assert_string_equal(kms.path, path);
	kms_finish(&kms);
}

static void servers_are_found_in_a_uri(void **state)
{
	expect("kms://https@kms1.example:9600/kms", "https://kms1.example:9600", "/kms/v1");
	expect("kms://http@kms1;kms2;kms3:9600/kms",
	       "http://kms1:9600 http://kms2:9600 http://kms3:9600", "/kms/v1");
	expect("kms://https@[::1]:9600/a/b", "https://[::1]:9600", "/a/b/v1");
}

static void what_is_none_is_told(void **state)
{
	static const char *const bad[] = {"",
					  "jceks://file@localhost/keys",
					  "kms://https@host:9600",
					  "kms://host:9600/kms",
					  "kms://ftp@host:9600/kms",
					  "kms://https@host/kms",
					  "kms://https@a;b/kms",
					  "kms://https@:9600/kms",
					  "kms://https@/kms",
					  "kms://https@;/kms",
					  "kms://https@host:99999/kms"};

	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		struct kms kms;
		if (kms_parse(bad[i], &kms, &err) == 0)
			fail_msg("%s", bad[i]);
		assert_int_equal(err.kind, ERR_CONFIG);
		assert_null(kms.path);
		assert_int_equal(kms.urls.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_found_in_a_uri),
		cmocka_unit_test(what_is_none_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
