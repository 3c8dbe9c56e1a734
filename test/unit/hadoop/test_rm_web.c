/* The CapacityScheduler's queues, as a ResourceManager's web service tells of them. */
#include "../base/test.h"

#include <string.h>

#include "hadoop/rm_web.h"

#define QUEUES(list)                                                                               \
	"{\"scheduler\":{\"schedulerInfo\":{\"type\":\"capacityScheduler\","                       \
	"\"queueName\":\"root\",\"queues\":{\"queue\":" list "}}}}"

static json_t *parse(const char *text)
{
	json_t *scheduler = json_loads(text, 0, NULL);

	assert_non_null(scheduler);
	return scheduler;
}

/* As Hadoop 3.4 tells it. */
static void queues_are_found_by_their_path(void **state)
{
	json_t *scheduler = parse(QUEUES(
		"[{\"queueName\":\"ml\",\"userLimitFactor\":0.5},"
		"{\"queueName\":\"teams\",\"autoCreateChildQueueEnabled\":true,"
		"\"autoCreationEligibility\":\"legacy\"},"
		"{\"queueName\":\"users\",\"autoCreationEligibility\":\"flexible\",\"queues\":"
		"{\"queue\":[{\"queueName\":\"ml\",\"userLimitFactor\":-1}]}}]"));
	struct rm_web_queue queue;

	(void)state;
	assert_false(rm_web_is_fair(scheduler));
	assert_true(rm_web_find_queue(scheduler, "root.ml", &queue));
	assert_false(queue.is_parent);
	assert_true(queue.user_limit_factor == 0.5);
	assert_int_equal(queue.makes, RM_WEB_MAKES_NONE);
	assert_true(rm_web_find_queue(scheduler, "root.users.ml", &queue));
	assert_true(queue.user_limit_factor < 0);
	assert_true(rm_web_find_queue(scheduler, "root.teams", &queue));
	assert_true(queue.is_parent);
	assert_int_equal(queue.makes, RM_WEB_MAKES_MAPPED);
	assert_true(rm_web_find_queue(scheduler, "root.users", &queue));
	assert_int_equal(queue.makes, RM_WEB_MAKES_ANY);
	assert_false(rm_web_find_queue(scheduler, "root.m", &queue));
	assert_false(rm_web_find_queue(scheduler, "ml", &queue));
	assert_false(rm_web_find_queue(NULL, "root", &queue));
	json_decref(scheduler);
}

/* As Hadoop 2.10 tells of an only queue. */
static void an_only_queue_is_no_list(void **state)
{
	json_t *scheduler = parse(QUEUES("{\"queueName\":\"default\",\"userLimitFactor\":1}"));
	struct rm_web_queue queue;

	(void)state;
	assert_true(rm_web_find_queue(scheduler, "root.default", &queue));
	assert_true(queue.user_limit_factor == 1);
	json_decref(scheduler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_found_by_their_path),
		cmocka_unit_test(an_only_queue_is_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
