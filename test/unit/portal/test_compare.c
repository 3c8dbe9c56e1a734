/* What portal/compare.h promises of configurations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "portal/compare.h"

static void expect(const char *a, const char *b, const char *expected)
{
	json_t *left cleanup_json = json_parse(a, strlen(a), NULL);
	json_t *right cleanup_json = json_parse(b, strlen(b), NULL);
	json_t *found cleanup_json = compare_configs(left, right);
	char *text cleanup_free = json_text(found);

	assert_string_equal(text, expected);
}

static void what_differs_is_told_by_key(void **state)
{
	expect("{}", "{}", "[]");
	expect("{\"k\":{\"value\":\"1\",\"origin\":\"default\"}}",
	       "{\"k\":{\"value\":\"1\",\"origin\":\"tony.xml\"}}", "[]");
	expect("{\"z\":{\"value\":\"1\"},\"k\":{\"value\":\"1\"}}",
	       "{\"k\":{\"value\":\"2\"},\"b\":{\"value\":\"3\"}}",
	       "[{\"key\":\"b\",\"a\":null,\"b\":\"3\"},{\"key\":\"k\",\"a\":\"1\",\"b\":\"2\"},"
	       "{\"key\":\"z\",\"a\":\"1\",\"b\":null}]");
	/* Of a reader, which may say anything. */
	expect("[1]", "{\"k\":7}", "[{\"key\":\"k\",\"a\":null,\"b\":null}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_differs_is_told_by_key)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
