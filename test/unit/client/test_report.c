/* Tables: aligned, folded to the terminal, safe to look at. */
#include "../base/test.h"

#include "client/report.h"

static void fill(struct report_table *table, const char *last)
{
	static const char *const headings[] = {"TASK", "STATE", "CAUSE"};

	report_table_begin(table, headings, 3);
	report_table_add(table, "worker:0");
	report_table_add(table, "failed");
	report_table_add(table, last);
}

static void assert_table(const char *last, size_t width, const char *expected)
{
	struct report_table table = {0};
	struct str out = {0};

	fill(&table, last);
	report_table_format(&table, width, &out);
	assert_string_equal(str_text(&out), expected);
	str_finish(&out);
	report_table_finish(&table);
}

static void columns_are_aligned(void **state)
{
	assert_table("exit 1", 80,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  exit 1\n");
	assert_table("", 80,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  -\n");
}

static void without_a_width_a_row_is_a_line(void **state)
{
	assert_table("a long tale of many words that no terminal could ever hold in a single line",
		     0,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  a long tale of many words that no terminal could ever hold "
		     "in a single line\n");
}

static void a_long_last_cell_is_folded_in_its_column(void **state)
{
	assert_table("the task used 3.9 of 4.0 GiB", 40,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  the task used 3.9 of\n"
		     "                  4.0 GiB\n");
}

static void a_last_cell_without_room_goes_below(void **state)
{
	assert_table("the task used 3.9 of 4.0 GiB", 30,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed\n"
		     "    the task used 3.9 of 4.0\n"
		     "    GiB\n");
}

static void a_word_longer_than_the_line_is_broken(void **state)
{
	assert_table("/a/path/that/is/longer/than/the/line", 40,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  /a/path/that/is/longer\n"
		     "                  /than/the/line\n");
}

static void what_fits_exactly_is_not_folded(void **state)
{
	assert_table("1234567890 1234567890 ", 40,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  1234567890 1234567890 \n");
}

static void assert_narrow(const char *state, const char *expected)
{
	static const char *const headings[] = {"JOB", "STATE", "STEP", "FRAMEWORK", "NAME"};
	struct report_table table = {0};
	struct str out = {0};

	report_table_begin(&table, headings, 5);
	report_table_add(&table, "tony-20261123-211633-32dc28bc");
	report_table_add(&table, state);
	report_table_add(&table, NULL);
	report_table_add(&table, "pytorch");
	report_table_add(&table, "a name of some more words");
	report_table_format(&table, 60, &out);
	assert_string_equal(str_text(&out), expected);
	str_finish(&out);
	report_table_finish(&table);
}

static void where_it_is_narrow_empty_columns_are_left_out(void **state)
{
	assert_narrow("running", "JOB                            STATE    FRAMEWORK  NAME\n"
				 "tony-20261123-211633-32dc28bc  running  pytorch\n"
				 "    a name of some more words\n");
}

static void where_it_is_too_narrow_rows_are_paragraphs(void **state)
{
	assert_narrow("running, straggler", "tony-20261123-211633-32dc28bc\n"
					    "    STATE running, straggler  FRAMEWORK pytorch\n"
					    "    NAME a name of some more words\n");
}

static void letters_count_not_bytes(void **state)
{
	static const char *const headings[] = {"NAME", "X"};
	struct report_table table = {0};
	struct str out = {0};

	report_table_begin(&table, headings, 2);
	report_table_add(&table, "größe");
	report_table_add(&table, "y");
	report_table_format(&table, 0, &out);
	assert_string_equal(str_text(&out), "NAME   X\ngröße  y\n");
	str_finish(&out);
	report_table_finish(&table);
}

static void a_wide_cell_is_cut_where_width_is_scarce(void **state)
{
	static const char *const headings[] = {"JOB", "NAME", "X"};
	const char *name = "a-name-of-more-than-forty-letters-that-fills-all";
	struct report_table table = {0};
	struct str out = {0};

	report_table_begin(&table, headings, 3);
	report_table_add(&table, name); /* the first cell is never cut */
	report_table_add(&table, name);
	report_table_add(&table, "y");
	report_table_format(&table, 100, &out);
	assert_text_has(str_text(&out), "a-name-of-more-than-forty-letters-that-fills-all  "
					"a-name-of-more-than-forty-letters-that-f  y\n");
	str_finish(&out);
	report_table_format(&table, 0, &out);
	assert_text_has(str_text(&out), name);
	str_finish(&out);
	report_table_finish(&table);
}

/* What a program wrote last is shown as a cause: it must not move the cursor or break the row. */
static void control_characters_are_not_shown(void **state)
{
	assert_table("\033[2Jgone\nnext\tline\a", 0,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  ?[2Jgone next line?\n");
}

static void a_width_that_nothing_fits_in_is_no_limit(void **state)
{
	assert_table("exit 1", 3,
		     "TASK      STATE   CAUSE\n"
		     "worker:0  failed  exit 1\n");
}

static void no_operand_means_none(void **state)
{
	const struct opt_table table = {.usage = "tony list [OPTIONS]"};
	struct str_list operands = {0};
	struct err err = {0};
	const char *operand = "before";

	assert_success(report_no_operand(&table, &operands, &err), &err);
	assert_success(report_one_operand(&table, &operands, &operand, &err), &err);
	assert_null(operand);
	str_list_add(&operands, "job");
	assert_success(report_one_operand(&table, &operands, &operand, &err), &err);
	assert_string_equal(operand, "job");
	assert_int_equal(report_no_operand(&table, &operands, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_message_has(&err, "\"job\"");
	assert_message_has(&err, "tony list [OPTIONS]");
	err_finish(&err);
	str_list_add(&operands, "more");
	assert_int_equal(report_one_operand(&table, &operands, &operand, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_message_has(&err, "\"more\"");
	err_finish(&err);
	str_list_finish(&operands);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_aligned),
		cmocka_unit_test(without_a_width_a_row_is_a_line),
		cmocka_unit_test(a_long_last_cell_is_folded_in_its_column),
		cmocka_unit_test(a_last_cell_without_room_goes_below),
		cmocka_unit_test(a_word_longer_than_the_line_is_broken),
		cmocka_unit_test(what_fits_exactly_is_not_folded),
		cmocka_unit_test(letters_count_not_bytes),
		cmocka_unit_test(where_it_is_narrow_empty_columns_are_left_out),
		cmocka_unit_test(where_it_is_too_narrow_rows_are_paragraphs),
		cmocka_unit_test(a_wide_cell_is_cut_where_width_is_scarce),
		cmocka_unit_test(control_characters_are_not_shown),
		cmocka_unit_test(a_width_that_nothing_fits_in_is_no_limit),
		cmocka_unit_test(no_operand_means_none),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
