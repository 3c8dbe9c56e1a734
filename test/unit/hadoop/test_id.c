#include "hadoop/id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "hadoop/message.h"

static void test_application(void **state)
{
	Hadoop__ApplicationIdProto id = HADOOP__APPLICATION_ID_PROTO__INIT;
	struct err err = {0};

	assert_int_equal(hadoop_application_id_parse("application_1700000000123_0042", &id, &err),
			 0);
	assert_int_equal(id.cluster_timestamp, 1700000000123);
	assert_int_equal(id.id, 42);
	char *text cleanup_free = hadoop_application_id_text(&id);
	assert_string_equal(text, "application_1700000000123_0042");

	id.id = 123456;
	char *large cleanup_free = hadoop_application_id_text(&id);
	assert_string_equal(large, "application_1700000000123_123456");
	assert_int_equal(hadoop_application_id_parse(large, &id, &err), 0);
}

static void test_not_an_application(void **state)
{
	static const char *const texts[] = {
		"",
		"application_",
		"application_17",
		"application_17_",
		"application_17_x",
		"application_17_-1",
		"application_17_0001_02",
		"application__1",
		"job_17_0001",
		"application_17_99999999999999999999",
	};

	for (size_t i = 0; i < array_length(texts); i++) {
		Hadoop__ApplicationIdProto id = HADOOP__APPLICATION_ID_PROTO__INIT;
		struct err err cleanup_err = {0};

		assert_int_equal(hadoop_application_id_parse(texts[i], &id, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_false(id.has_id);
	}
}

static void test_container(void **state)
{
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__ApplicationAttemptIdProto attempt = HADOOP__APPLICATION_ATTEMPT_ID_PROTO__INIT;
	Hadoop__ContainerIdProto container = HADOOP__CONTAINER_ID_PROTO__INIT;

	application.cluster_timestamp = 1700000000123;
	application.id = 7;
	attempt.application_id = &application;
	attempt.attemptid = 2;
	container.app_attempt_id = &attempt;
	container.id = 15;
	char *attempt_text cleanup_free = hadoop_attempt_id_text(&attempt);
	assert_string_equal(attempt_text, "appattempt_1700000000123_0007_000002");
	char *first cleanup_free = hadoop_container_id_text(&container);
	assert_string_equal(first, "container_1700000000123_0007_02_000015");

	/* After the ResourceManager's third restart. */
	container.id |= INT64_C(3) << 40;
	char *later cleanup_free = hadoop_container_id_text(&container);
	assert_string_equal(later, "container_e03_1700000000123_0007_02_000015");
}

static void test_container_there_and_back(void **state)
{
	static const char *const texts[] = {
		"container_1700000000123_0007_02_000015",
		"container_e03_1700000000123_0007_02_000015",
		"container_e117_1700000000123_12345_102_2000015",
	};
	static const char *const others[] = {
		"",
		"container_",
		"container_e_1700000000123_0007_02_000015",
		"container_e0_1700000000123_0007_02_000015",
		"container_ex3_1700000000123_0007_02_000015",
		"container_1700000000123_0007_02",
		"container_1700000000123_0007_02_000015_1",
		"container_1700000000123_0007_-2_000015",
		"container_1700000000123_0007_02_99999999999",
		"application_1700000000123_0007",
	};

	for (size_t i = 0; i < array_length(texts); i++) {
		Hadoop__ContainerIdProto *id = hadoop_container_id_parse(texts[i]);
		assert_non_null(id);
		char *text cleanup_free = hadoop_container_id_text(id);
		assert_string_equal(text, texts[i]);
		message_free(id);
	}
	for (size_t i = 0; i < array_length(others); i++)
		assert_null(hadoop_container_id_parse(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_application),
		cmocka_unit_test(test_not_an_application),
		cmocka_unit_test(test_container),
		cmocka_unit_test(test_container_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
