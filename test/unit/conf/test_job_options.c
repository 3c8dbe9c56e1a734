/* TonY's options and the short ways. */
#include "describe_bed.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"

static void check_command(const char *venv, const char *python, const char *executes,
			  const char *params, const char *expected)
{
	char *command cleanup_free = job_options_build_command(venv, python, executes, params);

	if (!str_equal(command, expected))
		fail_msg("%s instead of %s", command ? command : "NULL", expected);
}

static void test_task_command(void **state)
{
	check_command("hello", "Python/bin/python", "s", "p", "venv/Python/bin/python s p");
	check_command("hello", "/usr/bin/python", "s", "p", "/usr/bin/python s p");
	check_command(NULL, "bin/python", "s", NULL, "bin/python s");
	check_command(NULL, NULL, "sleep 5", NULL, "sleep 5");
	check_command("hello", NULL, "s", "", "s");
	check_command(NULL, "python", NULL, "p", NULL);
}

static void words(struct bed *bed, const char *const *list)
{
	for (; *list; list++)
		str_list_add(&bed->command, *list);
}
#define WORDS(bed, ...) words(bed, (const char *const[]){__VA_ARGS__, NULL})

static void test_short_ways(void **state)
{
	struct bed *bed = *state;

	bed->options.framework = mem_strdup("pytorch");
	bed->options.workers = mem_strdup("4");
	bed->options.gpus = mem_strdup("1");
	bed->options.memory = mem_strdup("1.5g");
	bed->options.vcores = mem_strdup("2");
	bed->options.processes = mem_strdup("2");
	bed->options.max_restarts = mem_strdup("3");
	bed->options.timeout = mem_strdup("10m");
	bed->options.retries = mem_strdup("5");
	str_list_add(&bed->options.env, "A=1,2");
	WORDS(bed, "python", "train it.py", "--epochs", "3", "${HOME}");
	const struct job *job = bed_describe(bed);
	const struct job_type *worker = bed_type(bed, "worker");
	assert_int_equal(job->type_count, 1);
	assert_string_equal(job->framework, "pytorch");
	assert_string_equal(job->name, "train it.py");
	assert_int_equal(job->application_timeout_ms, 600000);
	assert_int_equal(job->retry_count, 5);
	assert_int_equal(worker->instances, 4);
	assert_int_equal(worker->gpus, 1);
	assert_int_equal(worker->memory, 1536);
	assert_int_equal(worker->vcores, 2);
	assert_int_equal(worker->processes, 2);
	assert_int_equal(worker->max_restarts, 3);
	assert_string_equal(worker->command, "python 'train it.py' --epochs 3 '${HOME}'");
	assert_string_equal(worker->environment.items[0], "A=1,2");
	assert_no_lines(bed_warnings(bed));
}

static void test_other_types(void **state)
{
	struct bed *bed = *state;

	str_list_add(&bed->options.type, "trainer=2");
	bed->options.ps = mem_strdup("1");
	bed->options.gpus = mem_strdup("3");
	WORDS(bed, "./run");
	const struct job *job = bed_describe(bed);
	assert_string_equal(job->framework, "generic");
	assert_string_equal(job->name, "run");
	assert_int_equal(bed_type(bed, "trainer")->instances, 2);
	assert_int_equal(bed_type(bed, "trainer")->gpus, 3);
	assert_int_equal(bed_type(bed, "ps")->gpus, 0);
}

static void test_one_task(void **state)
{
	struct bed *bed = *state;

	bed->options.memory = mem_strdup("512m");
	bed->options.processes = mem_strdup("2");
	bed->options.max_restarts = mem_strdup("1");
	bed->options.name = mem_strdup("mine");
	WORDS(bed, "sleep", "1");
	const struct job *job = bed_describe(bed);
	assert_string_equal(job->name, "mine");
	assert_int_equal(bed_type(bed, "driver")->memory, 512);
	assert_int_equal(bed_type(bed, "driver")->processes, 2);
	assert_int_equal(bed_type(bed, "driver")->max_restarts, 1);
	assert_no_lines(bed_warnings(bed));
}

static void test_options_over_a_file(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml",
		      XML(PROPERTY("tony.worker.instances", "1") PROPERTY("tony.worker.gpus", "7")
				  PROPERTY("tony.containers.command", "old")));
	bed->options.gpus = mem_strdup("2");
	WORDS(bed, "new");
	const struct job *job = bed_describe(bed);
	assert_string_equal(job->framework, "tensorflow");
	assert_string_equal(job->name, "TensorFlowApplication");
	assert_int_equal(bed_type(bed, "worker")->gpus, 2);
	assert_string_equal(bed_type(bed, "worker")->command, "new");
	assert_string_equal(conf_find(bed->conf, "tony.worker.gpus")->origin, "--gpus");
}

static void test_a_command_over_the_only_types_own(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml",
		      XML(PROPERTY("tony.worker.instances", "1") PROPERTY("tony.ps.instances", "0")
				  PROPERTY("tony.worker.command", "old")
					  PROPERTY("tony.containers.command", "older")));
	WORDS(bed, "new");
	bed_describe(bed);
	assert_string_equal(bed_type(bed, "worker")->command, "new");
	assert_no_lines(bed_warnings(bed));
}

static void test_a_command_over_that_of_the_one_task(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml", XML(PROPERTY("tony.am.command", "old")));
	WORDS(bed, "new");
	bed_describe(bed);
	assert_string_equal(bed_type(bed, "driver")->command, "new");
	assert_no_lines(bed_warnings(bed));
}

static void test_a_command_for_the_types_without_one(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml",
		      XML(PROPERTY("tony.worker.instances", "1") PROPERTY("tony.ps.instances", "1")
				  PROPERTY("tony.ps.command", "serve")));
	WORDS(bed, "new");
	bed_describe(bed);
	assert_string_equal(bed_type(bed, "worker")->command, "new");
	assert_string_equal(bed_type(bed, "ps")->command, "serve");
}

static void test_a_command_for_no_type(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml",
		      XML(PROPERTY("tony.worker.instances", "1") PROPERTY("tony.ps.instances", "1")
				  PROPERTY("tony.worker.command", "train")
					  PROPERTY("tony.ps.command", "serve")));
	WORDS(bed, "new");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 1);
	assert_line_has(bed_errors(bed),
			"command line: every task type has a command of its own: ");
	assert_line_has(bed_errors(bed), "worker (tony.xml:3)");
	assert_line_has(bed_errors(bed), "ps (tony.xml:4)");
	assert_line_has(bed_errors(bed), "write --conf tony.<type>.command=COMMAND");
}

static void test_no_task_asked_for(void **state)
{
	struct bed *bed = *state;

	bed->options.workers = mem_strdup("0");
	WORDS(bed, "x");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--workers: \"0\" asks for no task; write --workers 1, or leave "
		    "it out for a job of one task");
}

static void test_no_task_of_any_type(void **state)
{
	struct bed *bed = *state;

	str_list_add(&bed->options.type, "trainer=0");
	WORDS(bed, "x");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--type: the job has no task; write --workers 1, or leave it out "
		    "for a job of one task");
}

static void test_executes_is_a_tony_user(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	assert_string_equal(bed_describe(bed)->framework, "tensorflow");
}

static void test_what_does_not_fit(void **state)
{
	struct bed *bed = *state;

	bed->options.workers = mem_strdup("four");
	bed->options.memory = mem_strdup("2q");
	str_list_add(&bed->options.type, "Bad=1");
	str_list_add(&bed->options.type, "noequals");
	str_list_add(&bed->options.type, "am=1");
	WORDS(bed, "x");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 5);
	assert_line(bed_errors(bed), "--workers: \"four\" is not a whole number; write "
				     "digits only, such as 1");
	assert_line(bed_errors(bed), "--memory: \"2q\" is not a size; write 2g or 2048m");
	assert_line(bed_errors(bed),
		    "--type: \"Bad\" is not a task type's name; write a lower-case letter, then "
		    "lower-case letters, digits, - and _");
	assert_line(bed_errors(bed), "--type: \"am\" is not a task type's name: the keys tony.am.* "
				     "are of something else; choose another name");
	assert_line(bed_errors(bed), "--type: \"noequals\" is not NAME=N; write --type noequals=1");
}

static void test_gpus_of_whom(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "trainer=1");
	bed->options.gpus = mem_strdup("1");
	bed_refuse(bed);
	assert_line(bed_errors(bed), "--gpus: \"1\" is for workers, and the job has none; write "
				     "--conf tony.<type>.gpus=1");
}

static void test_hdfs_classpath_drops_what_is_not_there(void **state)
{
	struct bed *bed = *state;

	fixture_write("yarn/lib/a.jar", "");
	BED_TYPES(bed, "worker=1");
	bed->options.hdfs_classpath = mem_strdup("random/path,yarn/lib");
	bed_describe(bed);
	assert_int_equal(bed->description.resources[0].count, 1);
	assert_string_equal(bed->description.resources[0].items[0].source, "yarn/lib");
	assert_line(bed_warnings(bed),
		    "--hdfs_classpath: \"random/path\" is not on this machine "
		    "and is left out: no cluster is configured that may have it");
}

static void test_contradictions(void **state)
{
	struct bed *bed = *state;

	bed->options.executes = mem_strdup("a");
	WORDS(bed, "b");
	assert_int_equal(job_options_load(&bed->options, &bed->command, &bed->conf, &bed->err), -1);
	assert_int_equal(bed->err.kind, ERR_USAGE);
	err_finish(&bed->err);
	mem_replace(&bed->options.executes, NULL);
	bed->options.task_params = mem_strdup("p");
	assert_int_equal(job_options_load(&bed->options, NULL, &bed->conf, &bed->err), -1);
	assert_message(&bed->err, "--task_params needs --executes");
}

static void test_two_commands_typed(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.worker.instances=1");
	bed_conf(bed, "tony.worker.command=a");
	WORDS(bed, "b");
	assert_int_equal(job_options_load(&bed->options, &bed->command, &bed->conf, &bed->err), -1);
	assert_int_equal(bed->err.kind, ERR_USAGE);
	assert_message(&bed->err, "--conf tony.worker.command and a command after -- say the same "
				  "thing; give one");
}

static void test_a_bare_timeout_counts_seconds(void **state)
{
	struct bed *bed = *state;

	bed->options.timeout = mem_strdup("5");
	bed->options.executes = mem_strdup("run");
	assert_int_equal(bed_describe(bed)->application_timeout_ms, 5000);
	assert_line(bed_warnings(bed),
		    "--timeout: \"5\" has no unit and counts seconds; write 5s, or "
		    "5m for minutes");
}

static void test_site_files_that_are_not_there(void **state)
{
	struct bed *bed = *state;

	setenv("HADOOP_CONF_DIR", "/nowhere", 1);
	WORDS(bed, "true");
	bed_describe(bed);
	setenv("HADOOP_CONF_DIR", "", 1);
	assert_string_equal(bed->description.scheduler, "local");
	assert_line(bed_warnings(bed), "HADOOP_CONF_DIR: there is no yarn-site.xml in "
				       "\"/nowhere\": the job runs on this machine");
}

static void test_site_files_that_are_not_asked(void **state)
{
	struct bed *bed = *state;

	setenv("HADOOP_CONF_DIR", "/nowhere", 1);
	bed->options.scheduler = mem_strdup("local");
	WORDS(bed, "true");
	bed_describe(bed);
	setenv("HADOOP_CONF_DIR", "", 1);
	assert_no_lines(bed_warnings(bed));
}

static void test_unreadable_file(void **state)
{
	struct bed *bed = *state;

	bed->options.conf_file = mem_strdup("missing.xml");
	assert_int_equal(job_options_load(&bed->options, NULL, &bed->conf, &bed->err), -1);
	assert_int_equal(bed->err.kind, ERR_CONFIG);
	assert_int_equal(exit_code_of(bed->err.kind), EXIT_CODE_CONFIG);
	assert_non_null(strstr(err_message(&bed->err), "missing.xml"));
}

static void test_wrong_words_are_of_usage_and_missing_files_of_the_configuration(void **state)
{
	struct bed *bed = *state;

	WORDS(bed, "true");
	bed->options.memory = mem_strdup("far");
	bed_refuse(bed);
	assert_int_equal(bed->err.kind, ERR_USAGE);
	err_finish(&bed->err);
	conf_destroy(bed->conf);
	bed->options.src_dir = mem_strdup("missing");
	bed_refuse(bed);
	assert_int_equal(bed->err.kind, ERR_CONFIG);
	assert_int_equal(bed_errors(bed)->count, 2);
}

static void test_errors_of_typed_keys_are_of_usage(void **state)
{
	struct bed *bed = *state;

	WORDS(bed, "true");
	bed_conf(bed, "tony.am.gpus=many");
	bed_conf(bed, "tony.am.gpu=1");
	bed_conf(bed, "X");
	bed_conf(bed, "tony.am.vcores=${tony.am.vcores}");
	bed_refuse(bed);
	assert_int_equal(bed->err.kind, ERR_USAGE);
	assert_int_equal(bed_errors(bed)->count, 4);
}

static void test_errors_of_a_value_from_both_are_of_the_file(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml", XML(PROPERTY("tony.execution.envs", "A B=1")));
	WORDS(bed, "true");
	bed_conf(bed, "tony.execution.envs=C=1");
	bed_refuse(bed);
	assert_int_equal(bed->err.kind, ERR_CONFIG);
	assert_non_null(strstr(err_message(&bed->err), "tony.xml:1, --conf: tony.execution.envs"));
}

static void test_what_a_job_lacks_is_of_its_file(void **state)
{
	struct bed *bed = *state;

	bed_refuse(bed);
	assert_int_equal(bed->err.kind, ERR_USAGE);
	err_finish(&bed->err);
	conf_destroy(bed->conf);
	fixture_write("tony.xml", XML(PROPERTY("tony.worker.instances", "1")));
	bed_refuse(bed);
	assert_int_equal(bed->err.kind, ERR_CONFIG);
}

static void test_operands(void **state)
{
	struct str_list operands cleanup_str_list = {0}, command cleanup_str_list = {0};
	struct err err cleanup_err = {0};

	str_list_add(&operands, "python");
	str_list_add(&operands, "x.py");
	assert_int_equal(job_options_command(&operands, 0, &command, &err), 0);
	assert_int_equal(command.count, 2);
	assert_int_equal(job_options_command(&operands, 1, &command, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_message(&err, "unexpected \"python\"; the program and its arguments stand after --");
}

static void test_exit_codes(void **state)
{
	assert_int_equal(exit_code_of(ERR_NONE), 0);
	assert_int_equal(exit_code_of(ERR_USAGE), 2);
	assert_int_equal(exit_code_of(ERR_CONFIG), 3);
	assert_int_equal(exit_code_of(ERR_NOT_FOUND), 4);
	assert_int_equal(exit_code_of(ERR_UNREACHABLE), 5);
	assert_int_equal(exit_code_of(ERR_DENIED), 6);
	assert_int_equal(exit_code_of(ERR_CAPACITY), 7);
	assert_int_equal(exit_code_of(ERR_IO), 70);
	for (size_t i = 0; i < exit_code_count; i++)
		for (size_t j = i + 1; j < exit_code_count; j++)
			assert_int_not_equal(exit_code_table[i].code, exit_code_table[j].code);
}

/* promise: S54 */
static void test_environment_that_stands_in_no_argument_list(void **state)
{
	struct bed *bed = *state;

	fixture_write("first.env", "# of the team\n\nA=1,\\2 ${env.HOME}\nTAKEN\n  B=file\nD=\n");
	fixture_write("second.env", "\xef\xbb\xbf"
				    "E='x' \r\nR=a\rb\nexport Q=a\\\n"
				    "W=\"a 'b'\"\nX='a b'\nY='a' 'b'\nZ=\"");
	setenv("TAKEN", "from outside, ${B}", 1);
	setenv("HOME", "/nowhere", 1);
	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.execution.envs=A=0,C=${env.HOME}");
	str_list_add(&bed->options.env_file, "first.env");
	str_list_add(&bed->options.env_file, "second.env");
	str_list_add(&bed->options.env, "B=option");
	str_list_add(&bed->options.env, "HOME");
	const struct job *job = bed_describe(bed);
	char *worker cleanup_free = str_list_join(&bed_type(bed, "worker")->environment, "|");
	assert_string_equal(worker,
			    "A=0|C=/nowhere|B=option|A=1,\\2 ${env.HOME}|TAKEN=from outside, "
			    "${B}|D=|E='x' |R=a\rb|Q=a\\|W=a 'b'|X=a b|Y='a' 'b'|Z=\"|"
			    "HOME=/nowhere");
	char *config cleanup_free = json_text(job->config);
	assert_null(strstr(config, "outside"));
}

static void check_refused(struct bed *bed, const char *part)
{
	assert_int_equal(job_options_load(&bed->options, &bed->command, &bed->conf, &bed->err), -1);
	if (!strstr(err_message(&bed->err), part))
		fail_msg("%s", err_message(&bed->err));
	err_finish(&bed->err);
	str_list_finish(&bed->options.env_file);
	str_list_finish(&bed->options.env);
}

static void test_a_flaw_of_an_env_file_is_told_without_its_line(void **state)
{
	struct bed *bed = *state;

	fixture_write("bad.env", "A=1\nmy secret\n");
	fixture_write("unset.env", "NOBODY_SETS_THIS\n");
	str_list_add(&bed->options.env_file, "bad.env");
	check_refused(bed, ".env:2: not NAME=VALUE");
	str_list_add(&bed->options.env_file, "unset.env");
	check_refused(bed, ".env:1: NOBODY_SETS_THIS is not set");
	str_list_add(&bed->options.env_file, "not-there.env");
	check_refused(bed, "\"not-there.env\": No such file or directory; write the path");
	str_list_add(&bed->options.env_file, "/dev/zero");
	check_refused(bed, "/dev/zero is larger than 1 MiB");
	fs_write_file("nul.env", "GOOD=1\nNAME=a\0b\n", 16, 0600, NULL);
	str_list_add(&bed->options.env_file, "nul.env");
	check_refused(bed, "nul.env:2: holds a NUL");
	fs_write_file("nul-at-the-end.env", "NAME=a\0b", 8, 0600, NULL);
	str_list_add(&bed->options.env_file, "nul-at-the-end.env");
	check_refused(bed, "nul-at-the-end.env:1: holds a NUL");
	fixture_write("latin.env", "GOOD=1\nNAME=\xe9t\xe9\n");
	str_list_add(&bed->options.env_file, "latin.env");
	check_refused(bed, "latin.env:2: the value of NAME is not UTF-8 text");
	setenv("LATIN", "\xe9", 1);
	str_list_add(&bed->options.env, "LATIN");
	check_refused(bed, "--env: the value of LATIN is not UTF-8 text");
	str_list_add(&bed->options.env, "NOBODY_SETS_THIS");
	check_refused(bed, "--env: NOBODY_SETS_THIS is not set");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task_command),
		BED_TEST(test_short_ways),
		BED_TEST(test_environment_that_stands_in_no_argument_list),
		BED_TEST(test_a_flaw_of_an_env_file_is_told_without_its_line),
		BED_TEST(test_other_types),
		BED_TEST(test_one_task),
		BED_TEST(test_options_over_a_file),
		BED_TEST(test_a_command_over_the_only_types_own),
		BED_TEST(test_a_command_over_that_of_the_one_task),
		BED_TEST(test_a_command_for_the_types_without_one),
		BED_TEST(test_a_command_for_no_type),
		BED_TEST(test_no_task_asked_for),
		BED_TEST(test_no_task_of_any_type),
		BED_TEST(test_executes_is_a_tony_user),
		BED_TEST(test_what_does_not_fit),
		BED_TEST(test_gpus_of_whom),
		BED_TEST(test_hdfs_classpath_drops_what_is_not_there),
		BED_TEST(test_contradictions),
		BED_TEST(test_two_commands_typed),
		BED_TEST(test_a_bare_timeout_counts_seconds),
		BED_TEST(test_site_files_that_are_not_there),
		BED_TEST(test_site_files_that_are_not_asked),
		BED_TEST(test_unreadable_file),
		BED_TEST(test_wrong_words_are_of_usage_and_missing_files_of_the_configuration),
		BED_TEST(test_errors_of_typed_keys_are_of_usage),
		BED_TEST(test_errors_of_a_value_from_both_are_of_the_file),
		BED_TEST(test_what_a_job_lacks_is_of_its_file),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_exit_codes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
