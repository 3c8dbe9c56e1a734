/* What frameworks add to the configuration. */
#include "describe_bed.h"

#include <string.h>

#include "base/mem.h"
#include "framework/framework.h"

static const char fail_fast[] = "tony.application.fail-on-worker-failure-enabled";

static const char *origin_of(const struct bed *bed, const char *key)
{
	const struct conf_entry *entry = conf_find(bed->conf, "%s", key);

	return entry ? entry->origin : NULL;
}

static void test_the_origin_is_the_framework(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.application.framework=PyTorch");
	assert_true(bed_describe(bed)->fail_fast);
	assert_string_equal(origin_of(bed, fail_fast), "framework pytorch");
	const json_t *shown = json_object_get(bed->description.job->config, fail_fast);
	assert_string_equal(json_string_value(json_object_get(shown, "value")), "true");
	assert_string_equal(json_string_value(json_object_get(shown, "origin")),
			    "framework pytorch");
	assert_int_equal(bed_warnings(bed)->count, 0);
}

static void test_the_user_wins(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.application.framework=pytorch");
	bed_conf(bed, "tony.application.fail-on-worker-failure-enabled=false");
	assert_false(bed_describe(bed)->fail_fast);
	assert_string_equal(origin_of(bed, fail_fast), "--conf");
}

static void test_the_site_wins(void **state)
{
	struct bed *bed = *state;

	fixture_write("site/tony-site.xml", XML(PROPERTY("tony.application.fail-on-worker-failure-"
							 "enabled",
							 "false")));
	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.application.framework=pytorch");
	assert_false(bed_describe(bed)->fail_fast);
	assert_string_equal(origin_of(bed, fail_fast), "site/tony-site.xml:1");
}

/* One line makes a Dask job: what is added is there, and the user's program is the driver's. */
static void test_a_framework_adds_tasks(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.application.framework=dask");
	bed_conf(bed, "tony.driver.memory=8g");
	bed_describe(bed);
	assert_int_equal(bed_type(bed, "scheduler")->role, JOB_ROLE_UNTRACKED);
	assert_non_null(strstr(bed_type(bed, "scheduler")->command, "dask_scheduler"));
	assert_int_equal(bed_type(bed, "worker")->role, JOB_ROLE_UNTRACKED);
	assert_int_equal(bed_type(bed, "worker")->max_restarts, 10);
	assert_non_null(strstr(bed_type(bed, "worker")->command, "dask_worker"));
	assert_int_equal(bed_type(bed, "driver")->role, JOB_ROLE_TRACKED);
	assert_int_equal(bed_type(bed, "driver")->memory, 8192);
	assert_string_equal(bed_type(bed, "driver")->command, "true"); /* the command for all */
	assert_int_equal(bed_warnings(bed)->count, 0);
}

static void test_an_unknown_framework_adds_nothing(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.application.framework=pytroch");
	bed_refuse(bed);
	assert_null(origin_of(bed, fail_fast));
}

/* Each pair is a known key with a value that the key's own check takes, whatever types there are:
 * nobody else looks at it. */
static void test_every_default_is_valid(void **state)
{
	static const char *const shapes[] = {
		"",
		"worker",
		"ps,worker",
		"chief,ps,worker,evaluator",
		"chief,worker,tensorboard",
		"scheduler,server,worker",
		"tracker,worker",
		"launcher,worker",
		"head,worker,driver",
		"worker,gpuworker",
	};
	struct str_list names cleanup_str_list = {0};

	framework_names(&names);
	for (size_t i = 0; i < names.count; i++) {
		for (size_t k = 0; k < array_length(shapes); k++) {
			struct str_list types cleanup_str_list = {0}, pairs cleanup_str_list = {0};
			struct str_list timed cleanup_str_list = {0};
			str_split(&types, shapes[k], ',');
			const struct framework_shape shape = {
				.types = &types,
				.python = "'my python'",
				.worker_command = "python3 train.py",
				.timed = &timed,
			};
			framework_defaults(framework_find(names.items[i]), NULL, &shape, &pairs);
			for (size_t p = 0; p < pairs.count; p++) {
				struct err err cleanup_err = {0};
				const char *equals = strchr(pairs.items[p], '=');
				assert_non_null(equals);
				char *key cleanup_free = mem_strndup(
					pairs.items[p], (size_t)(equals - pairs.items[p]));
				if (!key_find(key, NULL) ||
				    key_check(key_find(key, NULL), equals + 1, &err) < 0)
					fail_msg("%s, types \"%s\": %s: %s", names.items[i],
						 shapes[k], pairs.items[p], err_message(&err));
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_the_origin_is_the_framework),
		BED_TEST(test_the_user_wins),
		BED_TEST(test_the_site_wins),
		BED_TEST(test_a_framework_adds_tasks),
		BED_TEST(test_an_unknown_framework_adds_nothing),
		BED_TEST(test_every_default_is_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
