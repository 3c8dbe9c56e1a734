/* Values mean more than is written: the home of the user, a comma, a name without its "tony.". */
#include "fixture.h"

#include "base/mem.h"

static void test_an_unknown_prefix_may_be_allowed(void **state)
{
	struct conf *conf cleanup_conf = fixture_load();
	struct str_list pairs cleanup_str_list = {0};

	str_list_add(&pairs, "worker.instances=1");
	conf_load_pairs(conf, &pairs);
	conf_resolve(conf, true);
	assert_no_lines(&conf_problems(conf)->errors);
	assert_line_has(&conf_problems(conf)->warnings, "--conf: worker.instances: does not begin");
}

static void test_home(void **state)
{
	char *home cleanup_free = mem_strdup(getenv("HOME"));

	setenv("HOME", "/home/ada", 1);
	fixture_write("tony.xml",
		      XML(PROPERTY("tony.application.checkpoint-dir", "~/ck")
				  PROPERTY("tony.application.src-dir", "${HOME}/src")
					  PROPERTY("tony.containers.resources",
						   "$HOME/a::b, ~/c.zip#archive,d/~/e")
						  PROPERTY("tony.containers.command", "~/run")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, "tony.application.checkpoint-dir"), "/home/ada/ck");
	assert_string_equal(conf_text(conf, "tony.application.src-dir"), "/home/ada/src");
	assert_string_equal(conf_text(conf, "tony.containers.resources"),
			    "/home/ada/a::b,/home/ada/c.zip#archive,d/~/e");
	assert_string_equal(conf_text(conf, "tony.containers.command"), "~/run");
	assert_no_lines(&conf_problems(conf)->errors);
	unsetenv("HOME");
	struct conf *homeless cleanup_conf = fixture_load();
	conf_resolve(homeless, false);
	assert_line_has(&conf_problems(homeless)->errors,
			"tony.application.checkpoint-dir: HOME is not set; write the whole path");
	setenv("HOME", home, 1);
}

static void test_commas_of_variables_in_an_environment(void **state)
{
	setenv("TONY_TEST_LIST", "1,2", 1);
	fixture_write(
		"tony.xml",
		XML(PROPERTY("tony.containers.envs",
			     "A=${env.TONY_TEST_LIST},B=x") PROPERTY("tony.application.name", "a,b")
			    PROPERTY("tony.worker.envs",
				     "${tony.containers.envs},N=[${tony.application.name}],"
				     "D=${env.TONY_TEST_NONE:-3,4},E=5\\,6${env.TONY_TEST_LIST}")));
	struct conf *conf cleanup_conf = fixture_load();
	struct str_list worker cleanup_str_list = {0};
	conf_resolve(conf, false);
	conf_list(conf, &worker, "tony.worker.envs");
	char *joined cleanup_free = str_list_join(&worker, "|");
	assert_string_equal(joined, "A=1,2|B=x|N=[a,b]|D=3,4|E=5,61,2");
	assert_no_lines(&conf_problems(conf)->errors);
	unsetenv("TONY_TEST_LIST");
}

static void test_a_backslash_before_a_comma_of_an_environment(void **state)
{
	setenv("TONY_TEST_PATH", "c:\\", 1);
	fixture_write("tony.xml", XML(PROPERTY("tony.ps.envs", "A=${env.TONY_TEST_PATH}") PROPERTY(
					  "tony.worker.envs", "A=${env.TONY_TEST_PATH},B=1")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_int_equal(conf_problems(conf)->errors.count, 1);
	assert_line_has(&conf_problems(conf)->errors,
			"tony.worker.envs: the value of a variable ends in \"\\\", which would "
			"escape the comma behind it; give it with --env");
	unsetenv("TONY_TEST_PATH");
}

static void test_commas_of_an_environment(void **state)
{
	fixture_write("tony.xml", XML(PROPERTY("tony.worker.envs", "LIST=1\\,2,B=x")
					      PROPERTY("tony.ps.envs", "LIST=a,b")
						      PROPERTY("tony.db.envs", "LIST=1,2")));
	struct conf *conf cleanup_conf = fixture_load();
	struct str_list worker cleanup_str_list = {0};
	conf_resolve(conf, false);
	conf_list(conf, &worker, "tony.worker.envs");
	char *joined cleanup_free = str_list_join(&worker, "|");
	assert_string_equal(joined, "LIST=1,2|B=x");
	assert_line_has(
		&conf_problems(conf)->warnings,
		"tony.ps.envs: b is a variable without a value; if it belongs to LIST, write "
		"\"\\,\" for the comma");
	assert_line_has(&conf_problems(conf)->errors, "tony.db.envs: \"2\" is not KEY=VALUE; write "
						      "\"\\,\" for a comma within a value");
}

#define RECORDED(name, value, source)                                                              \
	"<property><name>" name "</name><value>" value "</value><source>" source                   \
	"</source></property>"

/* Nothing is substituted a second time, and a default of that job is one again. */
static void test_the_configuration_of_a_job_is_taken_as_it_stands(void **state)
{
	fixture_write("tony.xml",
		      "<configuration job=\"tony-1\">" PROPERTY("tony.ps.vcores", "2") RECORDED(
			      "team", "blue", "tony.xml:1") RECORDED("tony.containers.command",
								     "echo ${team}", "command line")
			      RECORDED("tony.application.framework", "pytorch", "default") RECORDED(
				      "tony.worker.max-restarts", "3", "framework pytorch")
				      RECORDED("tony.ps.max-restarts", "4", "framework ray")
					      RECORDED("tony.secret.key", "***", "tony-site.xml:1")
						      RECORDED("tony.am.retry-count", "0",
							       "default") "</configuration>");
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, "tony.containers.command"), "echo ${team}");
	assert_string_equal(conf_text(conf, "tony.application.framework"), "pytorch");
	assert_int_equal(conf_find(conf, "tony.application.framework")->layer, CONF_LAYER_DEFAULT);
	assert_int_equal(conf_int(conf, "tony.worker.max-restarts"), 3);
	assert_string_equal(conf_find(conf, "tony.worker.max-restarts")->origin,
			    "framework pytorch");
	assert_null(conf_find(conf, "tony.ps.max-restarts"));
	assert_null(conf_find(conf, "tony.secret.key"));
	assert_null(conf_find(conf, "tony.am.retry-count"));
	assert_no_lines(&conf_problems(conf)->errors);
	assert_no_lines(&conf_problems(conf)->warnings);
}

/* The comma between two --conf is tony's own: nothing that a user writes may escape it. */
static void test_appended_pairs_stay_apart(void **state)
{
	struct conf *conf cleanup_conf = fixture_load();
	struct str_list pairs cleanup_str_list = {0};

	str_list_add(&pairs, "tony.worker.envs=A=C:\\");
	str_list_add(&pairs, "tony.worker.envs=B=2");
	str_list_add(&pairs, "tony.ps.envs=A=C:\\");
	conf_load_pairs(conf, &pairs);
	conf_resolve(conf, false);
	assert_int_equal(conf_problems(conf)->errors.count, 1);
	assert_line(&conf_problems(conf)->errors,
		    "--conf: tony.worker.envs: ends in \"\\\", which would escape "
		    "the comma behind it; give its last variable with --env");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_unknown_prefix_may_be_allowed,
						fixture_enter, fixture_leave),
		cmocka_unit_test_setup_teardown(
			test_the_configuration_of_a_job_is_taken_as_it_stands, fixture_enter,
			fixture_leave),
		cmocka_unit_test_setup_teardown(test_home, fixture_enter, fixture_leave),
		cmocka_unit_test_setup_teardown(test_commas_of_variables_in_an_environment,
						fixture_enter, fixture_leave),
		cmocka_unit_test_setup_teardown(test_a_backslash_before_a_comma_of_an_environment,
						fixture_enter, fixture_leave),
		cmocka_unit_test_setup_teardown(test_commas_of_an_environment, fixture_enter,
						fixture_leave),
		cmocka_unit_test_setup_teardown(test_appended_pairs_stay_apart, fixture_enter,
						fixture_leave),
	};

	return cmocka_run_group_tests_name("conf values", tests, NULL, NULL);
}
