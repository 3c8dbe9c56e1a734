/* job.json: every member there and back, and nothing else gets in. */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

/* ---- there and back ----------------------------------------------------------------------- */

static void every_member_survives(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = sample_job();
	char *text cleanup_free = job_to_text(job);
	struct job *read = job_from_text(text, strlen(text), &err);

	assert_string_equal(err_message(&err), "no error");
	assert_non_null(read);
	char *again cleanup_free = job_to_text(read);
	assert_string_equal(again, text);
	job_destroy(read);
	job_destroy(job);
}

/* The round trip alone would not notice a member that is never written. */
static void the_members_hold_what_was_meant(void **state)
{
	struct job *job = sample_job();
	char *text cleanup_free = job_to_text(job);
	struct job *read = job_from_text(text, strlen(text), NULL);
	const struct job_type *worker = &read->types[1];

	assert_string_equal(read->id, "tony-20261121-061400-1f3a");
	assert_int_equal(read->mode, JOB_MODE_FCFS);
	assert_int_equal(read->submitted_ms, 1795241640000);
	assert_true(read->fail_fast && read->stop_after_chief && read->gpu_metrics);
	assert_int_equal(read->application_timeout_ms, 1);
	assert_int_equal(read->allocation_timeout_ms, 2);
	assert_int_equal(read->registration_timeout_ms, 3);
	assert_int_equal(read->execution_timeout_ms, 4);
	assert_int_equal(read->log_rotate_bytes, 64 << 20);
	assert_string_equal(read->tensorboard_log_dir, "/jobs/tb");
	assert_string_equal(read->tags.items[0], "nightly");
	assert_int_equal(worker->isolation, JOB_ISOLATION_PID_NAMESPACE);
	assert_int_equal(worker->memory, 2048);
	assert_int_equal(worker->files.count, 3);
	assert_int_equal(worker->files.items[2].kind, JOB_FILE_LINK);
	assert_string_equal(worker->environment.items[1], "GREETING=grüß dich = hallo");
	assert_int_equal(worker->dependencies[0].type, 0);
	assert_false(worker->dependencies[0].on_start);
	assert_int_equal(read->types[3].role, JOB_ROLE_SIDECAR);
	assert_int_equal(read->group_timeouts[0].members[1], 2);
	assert_true(read->group_timeouts[0].ignored);
	assert_true(json_equal(read->config, job->config));
	assert_string_equal(read->scheduler, "yarn");
	assert_true(json_equal(read->engine, job->engine));
	assert_true(json_equal(read->stores, job->stores));
	job_destroy(read);
	job_destroy(job);
}

/* A later version may add members to the same format. */
static void unknown_members_are_passed_over(void **state)
{
	struct job *job = sample_job();
	json_t *root cleanup_json = job_to_json(job);

	json_object_set_new(root, "colour", json_string("blue"));
	json_object_set_new(json_array_get(json_object_get(root, "types"), 1), "shape",
			    json_integer(3));
	char *text cleanup_free = json_text(root);
	struct job *read = job_from_text(text, strlen(text), NULL);
	assert_non_null(read);
	job_destroy(read);
	job_destroy(job);
}

static void optional_members_may_be_absent(void **state)
{
	static const char *const optional[] = {"queue",		 "tags",      "gpu_command",
					       "checkpoint_dir", "config",    "tensorboard_log_dir",
					       "group_timeouts", "scheduler", "engine",
					       "stores",	 "work_dir"};
	struct job *job = sample_job();
	json_t *root cleanup_json = job_to_json(job);

	for (size_t i = 0; i < array_length(optional); i++)
		assert_int_equal(json_object_del(root, optional[i]), 0);
	char *text cleanup_free = json_text(root);
	struct job *read = job_from_text(text, strlen(text), NULL);
	assert_non_null(read);
	assert_null(read->queue);
	assert_null(read->config);
	job_destroy(read);
	job_destroy(job);
}

/* Tasks of an elastic type have names up to the most there can be. */
static void elastic_types_survive(void **state)
{
	struct job *job = sample_job();
	job->mode = JOB_MODE_GANG;
	job->live_elastic = true;
	job->tls = true;
	job->elastic_settle_ms = 7000;
	job->types[1].min_instances = 1;
	job->types[1].max_instances = job->types[1].instances + 3;
	size_t before = job_task_count(job);
	char *text cleanup_free = job_to_text(job);
	struct job *read = job_from_text(text, strlen(text), NULL);

	assert_non_null(read);
	assert_true(read->live_elastic && read->tls);
	assert_int_equal(read->elastic_settle_ms, 7000);
	assert_int_equal(job_type_minimum(&read->types[1]), 1);
	assert_int_equal(job_task_count(read), before);
	char *last cleanup_free = job_task_name(read, 1, job_type_slots(&read->types[1]) - 1);
	char *beyond cleanup_free = job_task_name(read, 1, job_type_slots(&read->types[1]));
	assert_true(job_find_task(read, last) >= 0);
	assert_int_equal(job_find_task(read, beyond), -1);
	job_destroy(read);
	job_destroy(job);
}

/* As every job was written before there were any. */
static void without_them_nothing_is_said(void **state)
{
	struct job *job = sample_job();
	char *text cleanup_free = job_to_text(job);

	assert_null(strstr(text, "elastic"));
	assert_null(strstr(text, "min_instances"));
	assert_null(strstr(text, "max_instances"));
	job_destroy(job);
}

static void secrets_survive(void **state)
{
	struct job *job = sample_job();

	job_secrets_add(&job->secrets,
			(struct job_secret){mem_strdup("TOKEN"), false, mem_strdup("grüß"), 6});
	job_secrets_add(&job->secrets, (struct job_secret){mem_strdup("KEY_1"), true,
							   memcpy(mem_alloc(4), "a\0\xff", 3), 3});
	json_t *root cleanup_json = job_to_json(job);
	char *text cleanup_free = json_text(root);
	struct job *read = job_from_text(text, strlen(text), NULL);
	assert_non_null(read);
	assert_int_equal(read->secrets.count, 2);
	assert_string_equal(read->secrets.items[0].value, "grüß");
	assert_false(read->secrets.items[0].is_file);
	assert_true(read->secrets.items[1].is_file);
	assert_int_equal(read->secrets.items[1].length, 3);
	assert_memory_equal(read->secrets.items[1].value, "a\0\xff", 4);
	job_destroy(read);

	job_secrets_hide(root);
	char *hidden cleanup_free = json_text(root);
	read = job_from_text(hidden, strlen(hidden), NULL);
	assert_non_null(read);
	assert_string_equal(read->secrets.items[1].name, "KEY_1");
	assert_null(read->secrets.items[0].value);
	assert_null(read->secrets.items[1].value);
	job_destroy(read);
	job_destroy(job);
}

/* ---- hostile ------------------------------------------------------------------------------ */

/* What `value` (JSON) at `path` ("types.1.name"; "-" for value: removed) makes of the sample. */
static char *message_for(const char *path, const char *value)
{
	struct err err cleanup_err = {0};
	struct job *job = sample_job();
	json_t *root cleanup_json = job_to_json(job), *at = root;
	struct str_list parts cleanup_str_list = {0};

	str_split(&parts, path, '.');
	for (size_t i = 0; i + 1 < parts.count; i++)
		at = json_is_array(at) ? json_array_get(at, (size_t)atoi(parts.items[i]))
				       : json_object_get(at, parts.items[i]);
	assert_non_null(at);
	const char *last = parts.items[parts.count - 1];
	json_t *changed = json_loads(value, JSON_DECODE_ANY, NULL);
	if (!changed)
		json_object_del(at, last);
	else if (json_is_array(at))
		json_array_set_new(at, (size_t)atoi(last), changed);
	else
		json_object_set_new(at, last, changed);
	char *text cleanup_free = json_text(root);
	struct job *read = job_from_text(text, strlen(text), &err);
	assert_true((read == NULL) == (err.kind != ERR_NONE));
	job_destroy(read);
	job_destroy(job);
	return mem_strdup(err_message(&err));
}

static void every_flaw_is_named(void **state)
{
	static const struct {
		const char *path, *value, *message;
	} flaws[] = {
		{"format", "-", "job.json: format: is missing"},
		{"format", "0", "job.json: format: 0 is not between 1 and 2147483647"},
		{"format", "3",
		 "job.json: format: 3 is of a newer version of tony than " TONY_VERSION
		 "; upgrade it"},
		{"id", "\"../etc\"", "job.json: id: is not of letters, digits, '.', '_' and '-'"},
		{"id", "\"\"", "job.json: id: is empty"},
		{"id", "\"a/b\"", "job.json: id: is not of letters, digits, '.', '_' and '-'"},
		{"work_dir", "\"home/ada\"", "job.json: work_dir: is not an absolute path"},
		{"work_dir", "\"\"", "job.json: work_dir: is empty"},
		{"types.0.stdin_file", "\"data\"",
		 "job.json: types[0]: stdin_file: is neither an absolute path nor a URI"},
		{"user", "-", "job.json: user: is missing"},
		{"mode", "\"herd\"", "job.json: mode: \"herd\" is none of its values"},
		{"fail_fast", "1", "job.json: fail_fast: is neither true nor false"},
		{"fail_fast", "-", "job.json: fail_fast: is missing"},
		{"retry_count", "-1", "job.json: retry_count: -1 is not between 0 and 1000000"},
		{"retry_count", "1.5", "job.json: retry_count: is not a whole number"},
		{"retry_count", "4294967296",
		 "job.json: retry_count: 4294967296 is not between 0 and 1000000"},
		{"heartbeat_interval_ms", "0",
		 "job.json: heartbeat_interval_ms: 0 is not between 1 and 316224000000"},
		{"application_timeout_ms", "9223372036854775807",
		 "job.json: application_timeout_ms: 9223372036854775807 is not between 0 and "
		 "316224000000"},
		{"types", "[]", "job.json: types: 0 is not between 1 and 1000"},
		{"types", "{}", "job.json: types: is not a list"},
		{"types", "-", "job.json: types: 0 is not between 1 and 1000"},
		{"types.0", "7", "job.json: types[0]: name: looked for in what is not an object"},
		{"types.0.name", "\"Worker\"",
		 "job.json: types[0]: name: is not of the form [a-z][a-z0-9_-]*"},
		{"types.2.name", "\"worker\"",
		 "job.json: types[2]: name: \"worker\" is there twice"},
		{"types.0.instances", "100001",
		 "job.json: types[0]: instances: 100001 is not between 0 and 100000"},
		{"types.0.instances", "99999",
		 "job.json: types: 100003 tasks are not between 1 and 100000"},
		{"types.0.min_instances", "-1",
		 "job.json: types[0]: min_instances: -1 is not between 0 and 100000"},
		{"types.0.max_instances", "7",
		 "job.json: types[0]: min_instances: 0, instances: 1 and max_instances: 7 do not "
		 "follow each other"},
		{"types.0.min_instances", "1",
		 "job.json: types[0]: min_instances: 1, instances: 1 and max_instances: 0 do not "
		 "follow each other"},
		{"types.0.processes", "0",
		 "job.json: types[0]: processes: 0 is not between 1 and 1024"},
		{"types.0.memory", "-1",
		 "job.json: types[0]: memory: -1 is not between 0 and 1099511627776"},
		{"types.0.command", "-", "job.json: types[0]: command: is missing"},
		{"types.0.role", "\"boss\"",
		 "job.json: types[0]: role: \"boss\" is none of its values"},
		{"types.1.environment.0", "\"\"",
		 "job.json: types[1]: environment[0]: has no name"},
		{"types.1.environment.1", "\"=1\"",
		 "job.json: types[1]: environment[1]: has no name"},
		{"types.1.files.2.name", "\"a/../../b\"",
		 "job.json: types[1]: files[2]: name: \"a/../../b\" leads out of the working "
		 "directory"},
		{"types.1.files.2.name", "\"/etc/passwd\"",
		 "job.json: types[1]: files[2]: name: \"/etc/passwd\" leads out of the working "
		 "directory"},
		{"types.1.files.2.name", "\"..\"",
		 "job.json: types[1]: files[2]: name: \"..\" leads out of the working directory"},
		{"types.1.files.2.name", "\"\"",
		 "job.json: types[1]: files[2]: name: \"\" leads out of the working directory"},
		{"types.1.files.2.name", "\".\"",
		 "job.json: types[1]: files[2]: name: a link cannot be the working directory"},
		{"types.1.files.0.source", "\"src\"",
		 "job.json: types[1]: files[0]: source: is neither an absolute path nor a URI"},
		{"types.1.files.0.kind", "-", "job.json: types[1]: files[0]: kind: is missing"},
		{"types.1.depends_on.0.type", "\"chief\"",
		 "job.json: types[1]: depends_on[0]: type: there is no type \"chief\""},
		{"types.1.depends_on.0.type", "\"worker\"",
		 "job.json: depends_on: worker waits for itself in a circle"},
		{"types.0.depends_on", "[{\"type\": \"worker\"}]",
		 "job.json: depends_on: prepare waits for itself in a circle"},
		{"group_timeouts.0.members.1", "\"nobody\"",
		 "job.json: group_timeouts[0]: members[1]: type: there is no type \"nobody\""},
		{"group_timeouts.0.timeout_ms", "-1",
		 "job.json: group_timeouts[0]: timeout_ms: -1 is not between 0 and "
		 "2305843009213693951"},
		{"config", "[]", "job.json: config: is not an object"},
		{"engine", "[]", "job.json: engine: is not an object"},
		{"stores", "[]", "job.json: stores: is not an object"},
		{"provenance", "3", "job.json: provenance: is not an object"},
		{"config", "{\"tony.x\": {\"value\": \"1\"}}",
		 "job.json: config: \"tony.x\" lacks a value or an origin"},
	};

	for (size_t i = 0; i < array_length(flaws); i++) {
		char *message cleanup_free = message_for(flaws[i].path, flaws[i].value);
		assert_string_equal(message, flaws[i].message);
	}
}

static void every_flaw_of_a_secret_is_named(void **state)
{
	static const struct {
		const char *value, *message;
	} flaws[] = {
		{"{}", "job.json: secrets: is not a list"},
		{"[1]", "job.json: secrets[0]: name: looked for in what is not an object"},
		{"[{\"name\": \"A\", \"kind\": \"key\"}]",
		 "job.json: secrets[0]: kind: \"key\" is none of its values"},
		{"[{\"name\": \"../A\", \"kind\": \"file\"}]",
		 "job.json: secrets[0]: name: is not of the form [A-Za-z_][A-Za-z0-9_]*"},
		{"[{\"name\": \"A\", \"kind\": \"file\"}, {\"name\": \"A\", \"kind\": \"file\"}]",
		 "job.json: secrets[1]: name: \"A\" is there twice"},
		{"[{\"name\": \"A\", \"kind\": \"file\", \"value\": \"x\"}]",
		 "job.json: secrets[0]: value: is not base64"},
		{"[{\"name\": \"A\", \"kind\": \"variable\", \"value\": \"AAAA\"}]",
		 "job.json: secrets[0]: value: holds a NUL"},
	};

	for (size_t i = 0; i < array_length(flaws); i++) {
		char *message cleanup_free = message_for("secrets", flaws[i].value);
		assert_string_equal(message, flaws[i].message);
	}
}

static void names_with_dots_are_no_way_out(void **state)
{
	static const char *const fine[] = {"\"..data\"", "\"a..b/c\"", "\"./a\"", "\"...\""};

	for (size_t i = 0; i < array_length(fine); i++) {
		char *message cleanup_free = message_for("types.1.files.2.name", fine[i]);
		assert_string_equal(message, "no error");
	}
}

static void a_type_without_tasks_needs_no_command(void **state)
{
	struct job *job = sample_job();

	job->types[2].instances = 0;
	mem_replace(&job->types[2].command, NULL);
	char *text cleanup_free = job_to_text(job);
	struct job *read = job_from_text(text, strlen(text), NULL);
	assert_non_null(read);
	assert_null(read->types[2].command);
	job_destroy(read);
	job_destroy(job);
}

static void a_job_without_tasks_is_refused(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = sample_job();

	for (size_t i = 0; i < job->type_count; i++)
		job->types[i].instances = 0;
	char *text cleanup_free = job_to_text(job);
	assert_null(job_from_text(text, strlen(text), &err));
	assert_string_equal(err.message, "job.json: types: 0 tasks are not between 1 and 100000");
	job_destroy(job);
}

static void a_huge_file_is_refused_unread(void **state)
{
	struct err err cleanup_err = {0};
	size_t length = JOB_JSON_CAP + 1;
	char *text cleanup_free = mem_alloc(length);

	memset(text, ' ', length);
	assert_null(job_from_text(text, length, &err));
	assert_string_equal(err.message, "job.json: is larger than 16 MiB");
}

/* Half a file is no file. */
static void every_cut_is_refused(void **state)
{
	struct job *job = sample_job();
	char *text cleanup_free = job_to_text(job);

	for (size_t length = 0; length < strlen(text); length++) {
		struct err err cleanup_err = {0};
		assert_null(job_from_text(text, length, &err));
		assert_int_equal(err.kind, ERR_INPUT);
	}
	job_destroy(job);
}

/* ---- questions ---------------------------------------------------------------------------- */

static void tasks_are_found_by_name(void **state)
{
	struct job *job = sample_job();

	assert_int_equal(job_task_count(job), 5);
	assert_int_equal(job_find_type(job, "ps"), 2);
	assert_int_equal(job_find_type(job, "p"), -1);
	assert_int_equal(job_find_task(job, "prepare:0"), 0);
	assert_int_equal(job_find_task(job, "worker:1"), 2);
	assert_int_equal(job_find_task(job, "tensorboard:0"), 4);
	assert_int_equal(job_find_task(job, "worker:2"), -1);
	assert_int_equal(job_find_task(job, "worker:-1"), -1);
	assert_int_equal(job_find_task(job, "worker:"), -1);
	assert_int_equal(job_find_task(job, "worker"), -1);
	assert_int_equal(job_find_task(job, "work:1"), -1);
	assert_int_equal(job_find_task(job, ":0"), -1);
	job_destroy(job);
}

static void the_chief_is_chief_else_the_first_worker(void **state)
{
	struct job *job = sample_job();

	assert_true(job_is_chief(job, 1, 0));
	assert_false(job_is_chief(job, 1, 1));
	assert_false(job_is_chief(job, 0, 0));
	mem_replace(&job->types[2].name, mem_strdup("chief"));
	assert_true(job_is_chief(job, 2, 0));
	assert_false(job_is_chief(job, 1, 0));
	job->types[2].instances = 0; /* then there is none */
	assert_true(job_is_chief(job, 1, 0));
	job_destroy(job);
}

static void a_lone_type_has_its_first_task_as_chief(void **state)
{
	struct job *job = sample_job();

	mem_replace(&job->types[1].name, mem_strdup("trainer"));
	assert_false(job_is_chief(job, 1, 0));
	job->types[0].instances = job->types[2].instances = job->types[3].instances = 0;
	assert_true(job_is_chief(job, 1, 0));
	assert_false(job_is_chief(job, 1, 1));
	job_destroy(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_survives),
		cmocka_unit_test(the_members_hold_what_was_meant),
		cmocka_unit_test(unknown_members_are_passed_over),
		cmocka_unit_test(optional_members_may_be_absent),
		cmocka_unit_test(elastic_types_survive),
		cmocka_unit_test(secrets_survive),
		cmocka_unit_test(without_them_nothing_is_said),
		cmocka_unit_test(every_flaw_is_named),
		cmocka_unit_test(every_flaw_of_a_secret_is_named),
		cmocka_unit_test(names_with_dots_are_no_way_out),
		cmocka_unit_test(a_type_without_tasks_needs_no_command),
		cmocka_unit_test(a_job_without_tasks_is_refused),
		cmocka_unit_test(a_huge_file_is_refused_unread),
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(tasks_are_found_by_name),
		cmocka_unit_test(the_chief_is_chief_else_the_first_worker),
		cmocka_unit_test(a_lone_type_has_its_first_task_as_chief),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
