/* What is promised: src/executor/metrics.h. */
#include "../base/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/metrics.h"

static bool take(struct memory *memory, struct metrics *metrics)
{
	struct network *network = network_create();
	bool is_taken = metrics_take(memory, network, NULL, metrics);

	network_destroy(network);
	return is_taken;
}

static void test_only_of_what_lives(void **state)
{
	struct proc_tree *tree = proc_tree_create(getpid());
	struct memory memory;
	struct metrics metrics = {0};

	memory_init(&memory, tree, 0, NULL, false);
	assert_false(take(&memory, &metrics));
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(take(&memory, &metrics));
	assert_int_equal(metrics.processes, 1);
	assert_true(metrics.rss_bytes > 0);
	/* Nobody has waited for it yet. */
	siginfo_t info;
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_false(take(&memory, &metrics));
	waitpid(child, NULL, 0);
	assert_false(take(&memory, &metrics));
	proc_tree_destroy(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_of_what_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
