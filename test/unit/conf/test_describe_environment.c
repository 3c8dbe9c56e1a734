/* The environment of a job's programs. */
#include "describe_bed.h"

#include "base/json.h"
#include "base/mem.h"

static void test_environment(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "ps=1");
	bed_conf(bed, "tony.containers.envs=A=1,B=1");
	bed_conf(bed, "tony.execution.envs=B=2,BARE");
	bed_conf(bed, "tony.worker.envs=C=x\\,y");
	str_list_add(&bed->options.shell_env, "D=a,b=c");
	str_list_add(&bed->options.container_env, "E=");
	str_list_add(&bed->options.env, "F=");
	str_list_add(&bed->options.env, "G=");
	str_list_add(&bed->options.env, "G=2");
	bed_describe(bed);
	char *worker cleanup_free = str_list_join(&bed_type(bed, "worker")->environment, "|");
	char *ps cleanup_free = str_list_join(&bed_type(bed, "ps")->environment, "|");
	assert_string_equal(worker, "A=1|B=1|E=|B=2|BARE=|D=a,b=c|G=2|F|C=x,y");
	assert_string_equal(ps, "A=1|B=1|E=|B=2|BARE=|D=a,b=c|G=2|F");
}

/* promise: S26 */
static void test_config_hides_values_of_others(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.containers.envs=TOKEN=hush\\,hush,B=2");
	bed_conf(bed, "tony.worker.envs=C=secret");
	bed_conf(bed, "tony.secret.key=secret");
	const struct job *job = bed_describe(bed);
	char *text cleanup_free = json_text(job->config);
	assert_null(strstr(text, "hush"));
	assert_null(strstr(text, "secret\""));
	const json_t *row = json_object_get(job->config, "tony.containers.envs");
	assert_string_equal(json_string_value(json_object_get(row, "value")), "TOKEN=***,B=***");
	assert_string_equal(json_string_value(json_object_get(row, "origin")), "--conf");
	row = json_object_get(job->config, "tony.worker.memory");
	assert_string_equal(json_string_value(json_object_get(row, "value")), "2g");
	assert_string_equal(json_string_value(json_object_get(row, "origin")), "default");
	assert_null(json_object_get(job->config, "tony.ps.memory"));
	json_t *own cleanup_json = describe_config(bed->conf, false);
	row = json_object_get(own, "tony.worker.envs");
	assert_string_equal(json_string_value(json_object_get(row, "value")), "C=secret");
	row = json_object_get(own, "tony.secret.key");
	assert_string_equal(json_string_value(json_object_get(row, "value")), "***");
}

static void test_identity_cannot_be_set(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2", "board=1");
	fixture_write("env", "MASTER_ADDR=node\n");
	bed_conf(bed, "tony.application.framework=pytorch");
	bed_conf(bed, "tony.application.sidecar.jobtypes=board");
	bed_conf(bed, "tony.worker.envs=LOCAL_RANK=0");
	bed_conf(bed, "tony.board.envs=GROUP_RANK=0");
	str_list_add(&bed->options.env, "RANK=7");
	str_list_add(&bed->options.env, "WORLD_SIZE=");
	str_list_add(&bed->options.env_file, "env");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 4);
	assert_line(bed_errors(bed),
		    "--env, --env-file: \"RANK\": the framework pytorch gives each "
		    "process its own; leave it out, or use the framework generic");
	assert_line_has(bed_errors(bed), "--env: \"WORLD_SIZE\": the framework");
	assert_line_has(bed_errors(bed), "--env, --env-file: \"MASTER_ADDR\": the framework");
	assert_line_has(bed_errors(bed), "--conf: tony.worker.envs: \"LOCAL_RANK\": the framework");
}

static void test_identity_of_another_framework(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.application.framework=generic");
	str_list_add(&bed->options.env, "RANK=7");
	bed_describe(bed);
	assert_string_equal(bed_type(bed, "worker")->environment.items[0], "RANK=7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_environment),
		BED_TEST(test_config_hides_values_of_others),
		BED_TEST(test_identity_cannot_be_set),
		BED_TEST(test_identity_of_another_framework),
	};

	return cmocka_run_group_tests_name("describe environment", tests, NULL, NULL);
}
