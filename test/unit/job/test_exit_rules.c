#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "job/exit_rules.h"

static enum exit_action find(const char *rules, enum cause_kind kind, int code, int number)
{
	struct str_list list cleanup_str_list = {0};
	const struct cause cause = {.kind = kind, .exit_code = code, .signal = number};

	str_split(&list, rules, ',');
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(exit_rule_check(list.items[i], NULL), 0);
	return exit_rules_find(&list, &cause);
}

/* promise: R11 */
static void the_first_rule_that_fits_decides(void **state)
{
	const char *rules = "3->retry, 64-78->fail, sigterm -> Ignore, *->retry";

	assert_int_equal(find(rules, CAUSE_EXIT, 3, 0), EXIT_RETRY);
	assert_int_equal(find(rules, CAUSE_EXIT, 64, 0), EXIT_FAIL);
	assert_int_equal(find(rules, CAUSE_EXIT, 78, 0), EXIT_FAIL);
	assert_int_equal(find(rules, CAUSE_EXIT, 79, 0), EXIT_RETRY);
	assert_int_equal(find(rules, CAUSE_SIGNAL, 0, SIGTERM), EXIT_IGNORE);
	assert_int_equal(find("*->fail, 3->retry", CAUSE_EXIT, 3, 0), EXIT_FAIL);
	assert_int_equal(find("3->retry", CAUSE_EXIT, 4, 0), EXIT_DEFAULT);
	assert_int_equal(find("", CAUSE_EXIT, 4, 0), EXIT_DEFAULT);
}

/* bash tells 128 + 15 of a program that SIGTERM ended; without bash it is the signal itself. */
/* promise: R6 */
static void a_signal_and_the_code_that_a_shell_makes_of_it_are_one(void **state)
{
	assert_int_equal(find("SIGTERM->ignore", CAUSE_EXIT, 128 + SIGTERM, 0), EXIT_IGNORE);
	assert_int_equal(find("143->ignore", CAUSE_SIGNAL, 0, SIGTERM), EXIT_IGNORE);
	assert_int_equal(find("SIGTERM->ignore", CAUSE_EXIT, SIGTERM, 0), EXIT_DEFAULT);
}

/* promise: R12 */
static void what_is_not_the_programs_doing_is_no_rules_business(void **state)
{
	assert_int_equal(find("*->fail", CAUSE_HUNG, 0, 0), EXIT_FAIL);
	assert_int_equal(find("*->fail", CAUSE_OUT_OF_MEMORY, 0, SIGKILL), EXIT_FAIL);
	assert_int_equal(find("SIGKILL->retry", CAUSE_OUT_OF_MEMORY, 137, 0), EXIT_RETRY);
	assert_int_equal(find("*->fail", CAUSE_NODE_LOST, 0, 0), EXIT_DEFAULT);
	assert_int_equal(find("*->ignore", CAUSE_PREEMPTED, 0, 0), EXIT_DEFAULT);
	assert_int_equal(find("*->ignore", CAUSE_KILLED_BY_USER, 0, 0), EXIT_DEFAULT);
}

static void refuse(const char *rule, const char *message)
{
	struct err err cleanup_err = {0};

	assert_int_equal(exit_rule_check(rule, &err), -1);
	assert_string_equal(err_message(&err), message);
}

static void a_rule_that_is_none_is_told_with_what_to_write(void **state)
{
	refuse("3=retry", "\"3=retry\" is not a rule; write CODE->ACTION, such as 3->retry");
	refuse("", "\"\" is not a rule; write CODE->ACTION, such as 3->retry");
	refuse("0->fail", "\"0->fail\": 0 is success, which needs no rule; take it out");
	refuse("256->fail", "\"256->fail\": \"256\" is no end of a program; write a code from 1 to "
			    "255, two of them as 64-78, a signal such as SIGTERM, or *");
	refuse("9-3->fail", "\"9-3->fail\": \"9-3\" is no end of a program; write a code from 1 to "
			    "255, two of them as 64-78, a signal such as SIGTERM, or *");
	refuse("TERM->fail",
	       "\"TERM->fail\": \"TERM\" is no end of a program; write a code from 1 to "
	       "255, two of them as 64-78, a signal such as SIGTERM, or *");
	refuse("->fail", "\"->fail\": \"\" is no end of a program; write a code from 1 to "
			 "255, two of them as 64-78, a signal such as SIGTERM, or *");
	refuse("3->restart", "\"3->restart\": \"restart\" is not known; write retry, fail or "
			     "ignore");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rule_that_fits_decides),
		cmocka_unit_test(a_signal_and_the_code_that_a_shell_makes_of_it_are_one),
		cmocka_unit_test(what_is_not_the_programs_doing_is_no_rules_business),
		cmocka_unit_test(a_rule_that_is_none_is_told_with_what_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
