/* What is promised: src/executor/metrics.h. */
#include "../base/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "executor/metrics.h"

static json_t *take(struct memory *memory)
{
	struct network *network = network_create();
	json_t *metrics = metrics_take(memory, network, NULL);

	network_destroy(network);
	return metrics;
}

static void test_only_of_what_lives(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	struct memory memory;

	memory_init(&memory, tree, 0, NULL, false);
	assert_null(take(&memory));
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	json_t *metrics cleanup_json = take(&memory);
	assert_non_null(metrics);
	assert_int_equal(json_integer_value(json_object_get(metrics, "processes")), 1);
	assert_true(json_integer_value(json_object_get(metrics, "rss_bytes")) > 0);
	/* Nobody has waited for it yet. */
	siginfo_t info;
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_null(take(&memory));
	waitpid(child, NULL, 0);
	assert_null(take(&memory));
	proc_tree_destroy(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_of_what_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
