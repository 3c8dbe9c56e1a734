/* Audit lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "web/audit.h"

static char *tell(struct audit_refusals *refusals, const struct audit_line *line, int64_t now_ms)
{
	struct str text = {0};

	if (audit_tell_refusal(refusals, line, now_ms, &text))
		return str_steal(&text);
	str_finish(&text);
	return NULL;
}

static void expect(struct audit_refusals *refusals, const struct audit_line *line, int64_t now_ms,
		   const char *expected)
{
	char *text cleanup_free = tell(refusals, line, now_ms);

	if (!expected)
		assert_null(text);
	else
		assert_string_equal(text, expected);
}

/* promise: S76 */
static void a_line_says_who_did_what(void **state)
{
	struct audit_refusals *refusals = audit_refusals_create();

	expect(refusals,
	       &(struct audit_line){"bob", "10.0.0.7", "proxy", "view", "application_1_0001",
				    "refused", "GET /v1/job"},
	       0,
	       "user=bob address=10.0.0.7 proof=proxy action=view job=application_1_0001 "
	       "outcome=refused detail=\"GET /v1/job\"");
	expect(refusals, &(struct audit_line){.address = "::1", .outcome = "refused"}, 0,
	       "user=- address=::1 outcome=refused");
	audit_refusals_destroy(refusals);
}

/* promise: S76 */
static void a_stranger_forges_no_member(void **state)
{
	struct audit_refusals *refusals = audit_refusals_create();
	char *name cleanup_free = mem_alloc(5001);

	expect(refusals, &(struct audit_line){.user = "bob outcome=done", .outcome = "refused"}, 0,
	       "user=\"bob outcome=done\" outcome=refused");
	expect(refusals, &(struct audit_line){.user = "a\" x=\"\\", .outcome = "refused"}, 0,
	       "user=\"a\\\" x=\\\"\\\\\" outcome=refused");
	expect(refusals, &(struct audit_line){.user = "", .outcome = "refused"}, 0,
	       "user=\"\" outcome=refused");
	memset(name, 'x', 5000);
	char *cut cleanup_free = tell(refusals, &(struct audit_line){.user = name}, 0);
	assert_true(strlen(cut) < 300);
	audit_refusals_destroy(refusals);
}

/* promise: S76 */
static void refusals_fill_no_disk(void **state)
{
	struct audit_refusals *refusals = audit_refusals_create();
	const struct audit_line bob = {.user = "bob", .outcome = "refused", .detail = "a"};
	const struct audit_line same = {.user = "bob", .outcome = "refused", .detail = "b"};
	int told = 0;

	expect(refusals, &bob, 1000, "user=bob outcome=refused detail=a");
	for (int i = 0; i < 5; i++)
		expect(refusals, &same, 1000 + i, NULL);
	expect(refusals, &same, 1000 + AUDIT_WINDOW_MS,
	       "user=bob outcome=refused detail=b repeated=5");
	for (int i = 0; i < 1000; i++) {
		char *user cleanup_free = mem_printf("user%d", i);
		char *text cleanup_free =
			tell(refusals, &(struct audit_line){.user = user}, 1001 + AUDIT_WINDOW_MS);
		told += text != NULL;
	}
	assert_int_equal(told, AUDIT_REFUSALS_MAX - 1);
	char *later cleanup_free =
		tell(refusals, &(struct audit_line){.user = "carol"}, 1000 + 2 * AUDIT_WINDOW_MS);
	char *counted cleanup_free =
		mem_printf("user=carol others-untold=%d", 1000 - (AUDIT_REFUSALS_MAX - 1));
	assert_string_equal(later, counted);
	audit_refusals_destroy(refusals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_who_did_what),
		cmocka_unit_test(a_stranger_forges_no_member),
		cmocka_unit_test(refusals_fill_no_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
