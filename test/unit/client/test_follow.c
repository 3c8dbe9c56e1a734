/* Waiting for files to grow. */
#include "../base/test.h"

#include <dirent.h>
#include <sys/resource.h>

#include "../base/scratch.h"
#include "base/mem.h"
#include "client/follow.h"

#define ADDED	100 /* more than it has descriptors for */
#define LONG_MS 600000

static int count_descriptors(void)
{
	DIR *dir cleanup_dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	return count;
}

static void a_directory_takes_one_descriptor_however_often_it_is_added(void **state)
{
	struct follow *follow = follow_create();
	int before = count_descriptors(), patience_ms = follow_limit_ms(follow, LONG_MS);

	for (int i = 0; i < ADDED; i++)
		follow_add(follow, scratch_path(state, "."));
	assert_int_equal(count_descriptors(), before + 1);
	assert_int_equal(follow_limit_ms(follow, LONG_MS), patience_ms);
	follow_destroy(follow);
}

/* Descriptors are short, or the directory is not this user's. */
static void changes_that_cannot_be_told_are_looked_for_more_often(void **state)
{
	struct follow *follow = follow_create();
	struct rlimit files;
	int patience_ms = follow_limit_ms(follow, LONG_MS);

	follow_add(follow, scratch_path(state, "not there"));
	assert_int_equal(follow_limit_ms(follow, LONG_MS), patience_ms);
	getrlimit(RLIMIT_NOFILE, &files);
	const struct rlimit few = {.rlim_cur = 0, .rlim_max = files.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	follow_add(follow, scratch_path(state, "."));
	setrlimit(RLIMIT_NOFILE, &files);
	assert_in_range(follow_limit_ms(follow, LONG_MS), 0, patience_ms - 1);
	follow_destroy(follow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_directory_takes_one_descriptor_however_often_it_is_added),
		scratch_test(changes_that_cannot_be_told_are_looked_for_more_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
