/* The environment of a job's programs. */
#include "describe_bed.h"

#include <string.h>

#include "base/fs.h"
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

static const struct job_secret *secret_of(const struct job *job, const char *name)
{
	const struct job_secret *secret = job_secrets_find(&job->secrets, name);

	assert_non_null(secret);
	return secret;
}

/* promise: S80 */
static void test_secrets_out_of_files(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	fixture_write("token", "canary-1 = ${env.HOME}\r\n");
	fs_write_file("key", "canary-2\0\xff\n", 11, 0600, NULL);
	setenv("HOME", ".", 1);
	str_list_add(&bed->options.secret, "TOKEN=~/token");
	str_list_add(&bed->options.secret_file, "KEY=key");
	const struct job *job = bed_describe(bed);
	const struct job_secret *token = secret_of(job, "TOKEN"), *key = secret_of(job, "KEY");
	assert_string_equal(token->value, "canary-1 = ${env.HOME}");
	assert_false(token->is_file);
	assert_true(key->is_file);
	assert_int_equal(key->length, 11);
	assert_memory_equal(key->value, "canary-2\0\xff\n", 11);
	json_t *shown cleanup_json = job_environment_to_json(job, 0, false);
	char *text cleanup_free = json_text(shown);
	assert_string_equal(text, "{\"TOKEN\":\"***\",\"KEY\":\"***\"}");
	char *config cleanup_free = json_text(job->config);
	assert_null(strstr(config, "canary"));
}

/* The caller frees. */
static char *mark_key(struct job *job, const char *key)
{
	job_mark_secrets(job, key);
	json_t *shown cleanup_json = job_environment_to_json(job, 0, true);
	return mem_strdup(json_string_value(json_object_get(shown, "KEY")));
}

static void test_marks_tell_whether_secrets_are_the_same(void **state)
{
	static const char *const values[] = {"same\0one", "same\0one", "same\0two"};
	struct bed *bed = *state;
	char *marks[4];

	BED_TYPES(bed, "worker=1");
	fs_write_file("key", "x", 1, 0600, NULL);
	str_list_add(&bed->options.secret_file, "KEY=key");
	bed_describe(bed);
	struct job *job = bed->description.job;
	assert_true(job_has_secrets(job));
	for (size_t i = 0; i < array_length(values); i++) {
		struct job_secret *secret = &job->secrets.items[0];
		mem_replace(&secret->value, mem_strndup("        ", 8));
		memcpy(secret->value, values[i], 8);
		secret->length = 8;
		marks[i] = mark_key(job, "a key");
		assert_true(job_is_hidden(marks[i]));
	}
	marks[3] = mark_key(job, "another key");
	assert_int_equal(job_compare_hidden(marks[0], marks[1]), 0);
	assert_int_equal(job_compare_hidden(marks[0], marks[2]), 1);
	assert_int_equal(job_compare_hidden(marks[2], marks[3]), -1);
	assert_int_equal(job_compare_hidden(marks[2], "***"), -1);
	for (size_t i = 0; i < array_length(marks); i++)
		free(marks[i]);
}

static void test_a_flaw_of_a_secret_is_told_without_its_value(void **state)
{
	struct bed *bed = *state;
	char large[JOB_SECRET_CAP + 1];

	memset(large, 'x', sizeof(large));
	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.application.framework=pytorch");
	fixture_write("token", "canary\n");
	fixture_write("empty", "\n");
	fs_write_file("key", "canary\0", 7, 0600, NULL);
	fs_write_file("large", large, sizeof(large), 0600, NULL);
	static const char *const pairs[] = {
		"A",	   "B=",	 "1C=token",	      "D=not-there", "E=key",  "F=large",
		"G=empty", "RANK=token", "TONY_JOB_ID=token", "H=token",     "H=token"};
	for (size_t i = 0; i < array_length(pairs); i++)
		str_list_add(&bed->options.secret, pairs[i]);
	bed_refuse(bed);
	static const char *const told[] = {
		"--secret: \"A\" names no file; write --secret A=FILE, or --env A for",
		"--secret: \"B=\" names no file; write --secret B=FILE",
		"--secret: \"1C\" is not a variable's name; write NAME=FILE",
		"--secret: D: \"not-there\": No such file or directory; write the path",
		"--secret: E: \"key\": holds a NUL, which no variable can hold; give",
		"--secret: F: \"large\": is larger than 64 KiB; store it",
		"--secret: G: \"empty\": is empty; write the value into it",
		"--secret: \"RANK\": the framework pytorch gives each process its own; leave",
		"--secret: \"TONY_JOB_ID\": tony gives each process its own",
		"--secret: \"H\": is given twice; give one",
	};
	assert_int_equal(bed_errors(bed)->count, array_length(told));
	for (size_t i = 0; i < array_length(told); i++)
		assert_line_has(bed_errors(bed), told[i]);
	assert_null(strstr(err_message(&bed->err), "canary"));
}

/* A history has no values, so that of another job is asked for by name. */
static void test_secrets_of_the_job_that_is_repeated(void **state)
{
	struct bed *bed = *state;
	struct job_secret items[] = {
		{"KEPT", false, "old", 3}, {"NEW", false, "old", 3}, {"LOST", true, NULL, 0}};
	const struct job_secrets earlier = {items, array_length(items)};

	BED_TYPES(bed, "worker=1");
	fixture_write("new", "new");
	bed->options.earlier_secrets = &earlier;
	bed->options.earlier_name = "tony-1";
	str_list_add(&bed->options.secret, "NEW=new");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 1);
	assert_line(bed_errors(bed), "tony-1: the value of LOST was not kept; give it again with "
				     "--secret-file LOST=FILE");
	err_finish(&bed->err);
	conf_destroy(bed->conf);
	str_list_add(&bed->options.secret_file, "LOST=new");
	const struct job *job = bed_describe(bed);
	assert_string_equal(secret_of(job, "KEPT")->value, "old");
	assert_string_equal(secret_of(job, "NEW")->value, "new");
	assert_string_equal(secret_of(job, "LOST")->value, "new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_environment),
		BED_TEST(test_config_hides_values_of_others),
		BED_TEST(test_identity_cannot_be_set),
		BED_TEST(test_identity_of_another_framework),
		BED_TEST(test_secrets_out_of_files),
		BED_TEST(test_marks_tell_whether_secrets_are_the_same),
		BED_TEST(test_a_flaw_of_a_secret_is_told_without_its_value),
		BED_TEST(test_secrets_of_the_job_that_is_repeated),
	};

	return cmocka_run_group_tests_name("describe environment", tests, NULL, NULL);
}
