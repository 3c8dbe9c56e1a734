#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "protocol/am_call.h"

static const struct am_call_to worker = {
	.token = "secret", .job = "application_1_0001", .task = "worker:0", .attempt = 1};
static const struct am_call second = {.am_attempt = 2, .address = (char *)"node-7:4000"};

static enum err_kind parse(const struct am_call_to *to, const char *text)
{
	struct am_call call cleanup_am_call = {0};
	struct err err cleanup_err = {0};
	int result = am_call_parse(to, text, strlen(text), &call, &err);

	assert_int_equal(result, err.kind == ERR_NONE ? 0 : -1);
	if (result == 0) {
		assert_int_equal(call.am_attempt, 2);
		assert_string_equal(call.address, "node-7:4000");
	}
	return err.kind;
}

/* promise: S55 */
static void it_is_believed_by_whom_it_is_meant_for(void **state)
{
	char *text cleanup_free = am_call_text(&worker, &second);
	struct am_call_to other = worker;

	assert_int_equal(parse(&worker, text), ERR_NONE);
	assert_null(strstr(text, "secret"));
	other.token = "another";
	assert_int_equal(parse(&other, text), ERR_DENIED);
	other = worker;
	other.job = "application_1_0002";
	assert_int_equal(parse(&other, text), ERR_DENIED);
	other = worker;
	other.task = "worker:1";
	assert_int_equal(parse(&other, text), ERR_DENIED);
	other = worker;
	other.attempt = 2;
	assert_int_equal(parse(&other, text), ERR_DENIED);
}

/* promise: S55 */
static void what_was_changed_on_the_way_is_not_believed(void **state)
{
	char *text cleanup_free = am_call_text(&worker, &second);
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++) {
		char before = text[i];
		text[i] = before == '7' ? '8' : '7';
		struct am_call call cleanup_am_call = {0};
		assert_int_equal(am_call_parse(&worker, text, length, &call, NULL), -1);
		text[i] = before;
	}
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"am_attempt\": 0, \"address\": \"a:1\", \"proof\": \"\"}",
		"{\"am_attempt\": \"2\", \"address\": \"a:1\", \"proof\": \"\"}",
		"{\"am_attempt\": 2, \"address\": \"a:1\\nb:2\", \"proof\": \"\"}",
		"{\"am_attempt\": 2, \"address\": \"a:1\"}",
	};
	char *large cleanup_free = mem_printf("%*s", (int)AM_CALL_CAP + 1, "{}");

	for (size_t i = 0; i < array_length(bad); i++)
		assert_int_equal(parse(&worker, bad[i]), ERR_INPUT);
	assert_int_equal(parse(&worker, large), ERR_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_believed_by_whom_it_is_meant_for),
		cmocka_unit_test(what_was_changed_on_the_way_is_not_believed),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
