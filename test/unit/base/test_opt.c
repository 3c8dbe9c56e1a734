/* Options: all accepted forms, refusals in words, help. */
#include "test.h"

#include "base/mem.h"
#include "base/opt.h"

struct options {
	bool detach, json;
	char *src_dir, *framework, *name, *file;
	struct str_list conf;
	int64_t workers;
};

static const char *const frameworks[] = {"tensorflow", "pytorch", "generic", NULL};

static const struct opt options[] = {
	{"detach", 'd', OPT_FLAG, offsetof(struct options, detach), NULL, "Return at once", 0, 0, 0,
	 NULL},
	{"json", 0, OPT_FLAG, offsetof(struct options, json), NULL, "Print JSON", 0, 0, 0, NULL},
	{"src_dir", 's', OPT_TEXT, offsetof(struct options, src_dir), "DIR",
	 "Directory whose content every task finds where it starts, cloned or unpacked", 0, 0,
	 OPT_COMPLETE_DIRECTORY, NULL},
	{"framework", 0, OPT_TEXT, offsetof(struct options, framework), "NAME", "What to set up", 0,
	 0, 0, frameworks},
	{"conf", 'c', OPT_LIST, offsetof(struct options, conf), "KEY=VALUE", "Set a *key*", 0, 0,
	 OPT_COMPLETE_KEY, NULL},
	{"workers", 'n', OPT_NUMBER, offsetof(struct options, workers), "N", "Number of workers", 1,
	 1000, 0, NULL},
	{"name", 0, OPT_TEXT, offsetof(struct options, name), "NAME", "The job's name", 0, 0, 0,
	 NULL, .may_be_empty = true},
	{"file", 0, OPT_TEXT, offsetof(struct options, file), "FILE", "What to read", 0, 0,
	 OPT_COMPLETE_FILE, NULL},
};

static const struct opt_table table = {
	.verb = "submit",
	.usage = "tony submit [OPTIONS] [-- COMMAND ARG...]",
	.summary = "Run a job",
	.description =
		"First paragraph, which is long enough that it has to be broken into several "
		"lines to fit.\n\n  kept   as it is\n",
	.options = options,
	.option_count = array_length(options),
};

struct parsed {
	struct options options;
	struct str_list operands;
	size_t dashdash;
	struct err err;
};

static int parse_with(const struct opt_table *with, struct parsed *parsed,
		      const char *const *arguments)
{
	char *argv[32] = {(char *)"submit"};
	int argc = 1;

	*parsed = (struct parsed){0};
	for (; arguments[argc - 1]; argc++)
		argv[argc] = (char *)arguments[argc - 1];
	return opt_parse(with, argc, argv, &parsed->options, &parsed->operands, &parsed->dashdash,
			 &parsed->err);
}

static void finish(struct parsed *parsed)
{
	opt_finish(&table, &parsed->options);
	assert_null(parsed->options.src_dir);
	assert_null(parsed->options.conf.items);
	str_list_finish(&parsed->operands);
	err_finish(&parsed->err);
}

#define parse(parsed, ...) parse_with(&table, parsed, (const char *const[]){__VA_ARGS__, NULL})

static void every_way_to_give_a_value(void **state)
{
	static const char *const ways[][3] = {
		{"--src_dir", "x"}, {"--src-dir", "x"}, {"--src_dir=x"}, {"--src-dir=x"},
		{"-src_dir", "x"},  {"-src-dir", "x"},	{"-src_dir=x"},	 {"-s", "x"},
	};

	for (size_t i = 0; i < array_length(ways); i++) {
		struct parsed parsed;
		assert_success(parse_with(&table, &parsed, ways[i]), &parsed.err);
		assert_string_equal(parsed.options.src_dir, "x");
		assert_int_equal(parsed.operands.count, 0);
		finish(&parsed);
	}
}

static void values_may_look_like_anything(void **state)
{
	struct parsed parsed;

	assert_success(parse(&parsed, "--conf", "--epochs 3", "-c", "--other", "--conf=a=b=c",
			     "--conf=--", "-s", "-n", "--name="),
		       &parsed.err);
	assert_text_freed(str_list_join(&parsed.options.conf, "|"), "--epochs 3|--other|a=b=c|--");
	assert_string_equal(parsed.options.src_dir, "-n");
	assert_string_equal(parsed.options.name, "");
	finish(&parsed);
}

/* "--conf $PAIR -- true": the shell leaves nothing of a variable that is not set. */
static void what_comes_next_is_no_value(void **state)
{
	static const char *const next[] = {"--", "--name", "--name=x"};

	for (size_t i = 0; i < array_length(next); i++) {
		struct parsed parsed;
		assert_int_equal(parse(&parsed, "--conf", next[i], "true"), -1);
		assert_text_has(err_message(&parsed.err), "option --conf needs a value");
		assert_text_has(err_message(&parsed.err), "is a variable of the shell not set?");
		finish(&parsed);
	}
}

static void a_path_may_begin_with_the_home(void **state)
{
	static const struct {
		const char *written, *read;
	} cases[] = {
		{"~", "/home/ada"},	  {"~/x", "/home/ada/x"}, {"$HOME/x", "/home/ada/x"},
		{"${HOME}", "/home/ada"}, {"~ada/x", "~ada/x"},	  {"./~", "./~"},
		{"$HOMES/x", "$HOMES/x"}, {"a/~/x", "a/~/x"},	  {"/x", "/x"},
	};
	char *home cleanup_free = mem_strdup(getenv("HOME"));
	struct parsed parsed;

	setenv("HOME", "/home/ada", 1);
	for (size_t i = 0; i < array_length(cases); i++) {
		assert_success(parse(&parsed, "--file", cases[i].written), &parsed.err);
		assert_string_equal(parsed.options.file, cases[i].read);
		finish(&parsed);
	}
	assert_success(parse(&parsed, "--name", "~/x"), &parsed.err);
	assert_string_equal(parsed.options.name, "~/x");
	finish(&parsed);
	unsetenv("HOME");
	assert_int_equal(parse(&parsed, "--file=~/x"), -1);
	assert_string_equal(err_message(&parsed.err),
			    "option --file: \"~/x\": HOME is not set; write the whole path");
	finish(&parsed);
	setenv("HOME", home, 1);
}

static void repeated_options_replace_or_append(void **state)
{
	struct parsed parsed;

	assert_success(parse(&parsed, "-s", "a", "-s", "b", "-c", "x=1", "-c", "y=2", "-n", "1",
			     "-n", "1000"),
		       &parsed.err);
	assert_string_equal(parsed.options.src_dir, "b");
	assert_text_freed(str_list_join(&parsed.options.conf, "|"), "x=1|y=2");
	assert_int_equal(parsed.options.workers, 1000);
	finish(&parsed);
}

static void flags_can_be_taken_back(void **state)
{
	struct parsed parsed;

	assert_success(parse(&parsed, "-d", "--json", "-json", "--no-detach"), &parsed.err);
	assert_false(parsed.options.detach);
	assert_true(parsed.options.json);
	finish(&parsed);
	assert_success(parse(&parsed, "-detach"), &parsed.err);
	assert_true(parsed.options.detach);
	finish(&parsed);
}

static void options_and_operands_mix(void **state)
{
	struct parsed parsed;

	assert_success(parse(&parsed, "one", "--json", "-", "two", "-d"), &parsed.err);
	assert_text_freed(str_list_join(&parsed.operands, "|"), "one|-|two");
	assert_true(parsed.options.json && parsed.options.detach);
	assert_int_equal(parsed.dashdash, 3);
	finish(&parsed);
}

static void two_dashes_end_the_options(void **state)
{
	struct parsed parsed;

	assert_success(parse(&parsed, "one", "--", "python", "--json", "--", "-x"), &parsed.err);
	assert_text_freed(str_list_join(&parsed.operands, "|"), "one|python|--json|--|-x");
	assert_int_equal(parsed.dashdash, 1);
	assert_false(parsed.options.json);
	finish(&parsed);
	assert_success(parse(&parsed, "--"), &parsed.err);
	assert_int_equal(parsed.operands.count, 0);
	assert_int_equal(parsed.dashdash, 0);
	finish(&parsed);
}

static void the_first_operand_may_end_the_options(void **state)
{
	struct opt_table stopping = table;
	struct parsed parsed;

	stopping.stop_at_operand = true;
	assert_success(parse_with(&stopping, &parsed,
				  (const char *const[]){"--json", "submit", "--what", "-d", NULL}),
		       &parsed.err);
	assert_text_freed(str_list_join(&parsed.operands, "|"), "submit|--what|-d");
	assert_true(parsed.options.json);
	assert_false(parsed.options.detach);
	assert_int_equal(parsed.dashdash, 3);
	finish(&parsed);
}

static void refusals_are_worded(void **state)
{
	static const struct {
		const char *arguments[3];
		const char *message;
	} cases[] = {
		{{"--framewrok", "x"},
		 "unknown option --framewrok; did you mean --framework? see tony submit --help"},
		{{"--src_dri=x"},
		 "unknown option --src_dri; did you mean --src_dir? see tony submit --help"},
		{{"--scr-dir=x"},
		 "unknown option --scr-dir; did you mean --src_dir? see tony submit --help"},
		{{"-worker", "x"},
		 "unknown option -worker; did you mean --workers? see tony submit --help"},
		{{"--zzzzzz"}, "unknown option --zzzzzz; see tony submit --help"},
		{{"-x"}, "unknown option -x; see tony submit --help"},
		{{"--d"}, "unknown option --d; see tony submit --help"},
		{{"-dn"}, "unknown option -dn; see tony submit --help"},
		{{"--no-conf"}, "unknown option --no-conf; see tony submit --help"},
		{{"--=x"}, "unknown option --; see tony submit --help"},
		{{"-=x"}, "unknown option -; see tony submit --help"},
		{{"--\033[2J"}, "unknown option --?[2J; see tony submit --help"},
		{{"--json=1"}, "option --json takes no value"},
		{{"--no-json=1"}, "option --no-json takes no value"},
		{{"--src_dir"}, "option --src_dir needs a value (DIR); see tony submit --help"},
		{{"-n", "0"}, "option --workers: \"0\" is not a whole number from 1 to 1000"},
		{{"-n", "x"}, "option --workers: \"x\" is not a whole number from 1 to 1000"},
		{{"--framework", "pytroch"},
		 "option --framework: \"pytroch\" is not one of tensorflow, pytorch, generic; did "
		 "you "
		 "mean pytorch?"},
		{{"--framework="},
		 "option --framework: the value is empty; write one (NAME), or leave the option "
		 "out"},
		{{"-n", ""},
		 "option --workers: the value is empty; write one (N), or leave the option out"},
		{{"--conf="},
		 "option --conf: the value is empty; write one (KEY=VALUE), or leave the option "
		 "out"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct parsed parsed;
		assert_int_equal(parse_with(&table, &parsed, cases[i].arguments), -1);
		assert_string_equal(err_message(&parsed.err), cases[i].message);
		assert_int_equal(parsed.err.kind, ERR_USAGE);
		finish(&parsed);
	}
}

static void the_program_itself_has_no_verb(void **state)
{
	struct opt_table program = table;
	struct parsed parsed;

	program.verb = "";
	program.usage = "tony-agent VERB";
	assert_int_equal(parse_with(&program, &parsed, (const char *const[]){"--zzzzz", NULL}), -1);
	assert_string_equal(err_message(&parsed.err),
			    "unknown option --zzzzz; see tony-agent --help");
	finish(&parsed);
}

static void help_fits_the_terminal(void **state)
{
	struct str help cleanup_str = {0};

	opt_help(&table, 0, &help);
	assert_string_equal(
		help.text,
		"Usage: tony submit [OPTIONS] [-- COMMAND ARG...]\n"
		"\n"
		"Run a job\n"
		"\n"
		"First paragraph, which is long enough that it has to be broken into several\n"
		"lines to fit.\n"
		"\n"
		"  kept   as it is\n"
		"\n"
		"Options:\n"
		"  -d, --detach                Return at once\n"
		"      --json                  Print JSON\n"
		"  -s, --src_dir DIR           Directory whose content every task finds where it\n"
		"                              starts, cloned or unpacked\n"
		"      --framework NAME        What to set up (one of tensorflow, pytorch,\n"
		"                              generic)\n"
		"  -c, --conf KEY=VALUE        Set a *key*\n"
		"  -n, --workers N             Number of workers\n"
		"      --name NAME             The job's name\n"
		"      --file FILE             What to read\n");
}

static void help_is_wrapped_in_a_narrow_terminal(void **state)
{
	struct str help cleanup_str = {0};

	opt_help(&table, 40, &help);
	assert_text_has(help.text, "Usage: tony submit [OPTIONS] [-- COMMAND\n"
				   "       ARG...]\n"
				   "\n"
				   "Run a job\n"
				   "\n"
				   "First paragraph, which is long enough\n"
				   "that it has to be broken into several\n"
				   "lines to fit.\n");
	assert_text_has(help.text, "  -s, --src_dir DIR\n"
				   "        Directory whose content every\n"
				   "        task finds where it starts,\n"
				   "        cloned or unpacked\n");
}

static void long_options_push_their_help_down(void **state)
{
	static const struct opt wide[] = {{"sidecar_tensorboard_log_dir", 0, OPT_TEXT, 0, "DIR",
					   "Log directory", 0, 0, 0, NULL}};
	const struct opt_table one = {
		.verb = "x", .usage = "tony x", .options = wide, .option_count = 1};
	struct str help cleanup_str = {0};

	opt_help(&one, 0, &help);
	assert_string_equal(help.text, "Usage: tony x\n\nOptions:\n"
				       "      --sidecar_tensorboard_log_dir DIR\n"
				       "                              Log directory\n");
}

static void man_entries_are_escaped(void **state)
{
	struct str man cleanup_str = {0};

	opt_man_options(&table, &man);
	assert_text_has(man.text, "*-s*, *--src\\_dir* _DIR_\n\tDirectory whose");
	assert_text_has(man.text, "*-c*, *--conf* _KEY=VALUE_\n\tSet a \\*key\\*.\n\n");
	assert_text_has(man.text, "*--json*\n\tPrint JSON.\n\n");
}

static void letters_may_stand_together(void **state)
{
	struct parsed parsed;

	(void)state;
	assert_success(parse(&parsed, "-dn5"), &parsed.err);
	assert_true(parsed.options.detach);
	assert_int_equal(parsed.options.workers, 5);
	finish(&parsed);
	assert_success(parse(&parsed, "-n7"), &parsed.err);
	assert_int_equal(parsed.options.workers, 7);
	finish(&parsed);
	static const char *const misspelt[] = {"-dx", "-dn", "-sd", "-dd=1"};
	for (size_t i = 0; i < array_length(misspelt); i++) {
		assert_int_equal(parse(&parsed, misspelt[i]), -1);
		assert_message_has(&parsed.err, "unknown option -");
		assert_false(parsed.options.detach);
		finish(&parsed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_may_stand_together),
		cmocka_unit_test(every_way_to_give_a_value),
		cmocka_unit_test(values_may_look_like_anything),
		cmocka_unit_test(what_comes_next_is_no_value),
		cmocka_unit_test(a_path_may_begin_with_the_home),
		cmocka_unit_test(repeated_options_replace_or_append),
		cmocka_unit_test(flags_can_be_taken_back),
		cmocka_unit_test(options_and_operands_mix),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(the_first_operand_may_end_the_options),
		cmocka_unit_test(refusals_are_worded),
		cmocka_unit_test(the_program_itself_has_no_verb),
		cmocka_unit_test(help_fits_the_terminal),
		cmocka_unit_test(help_is_wrapped_in_a_narrow_terminal),
		cmocka_unit_test(long_options_push_their_help_down),
		cmocka_unit_test(man_entries_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
