/* What every process of a job gets, compared with golden/<framework>-<shape>.env. To write the
 * files anew after a change that is meant: TONY_UPDATE_GOLDEN=1 */
#include "../base/test.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "fixture.h"
#include "framework/environment.h"

struct golden {
	const char *framework;
	const char *shape_name;
	enum shape shape;
};

static void append_process(const struct framework_task *task, struct str *out)
{
	struct environment environment cleanup_environment = {0};
	struct err err cleanup_err = {0};

	if (framework_environment(task, &environment, &err) < 0)
		fail_msg("%s", err_message(&err));
	str_append_format(out, "# %s:%d process %d\n", task->job->types[task->type].name,
			  task->index, task->process);
	for (size_t i = 0; i < environment.entries.count; i++)
		str_append_format(out, "%s\n", environment.entries.items[i]);
	str_append(out, "\n");
}

static void append_job(const struct job *job, const struct cluster *cluster, struct str *out)
{
	for (size_t type = 0; type < job->type_count; type++) {
		for (size_t i = 0; i < cluster->types[type].count; i++) {
			struct framework_task task;
			fixture_task(job, cluster, job->types[type].name, (int)i, &task);
			task.restart = cluster->epoch == 3 && i == 1;
			for (; task.process < job->types[type].processes; task.process++)
				append_process(&task, out);
		}
	}
}

static void check_golden(void **state)
{
	const struct golden *golden = *state;
	struct err err cleanup_err = {0};
	struct str text cleanup_str = {0};
	struct job *job = fixture_job(golden->framework, golden->shape);
	struct cluster *cluster = fixture_cluster(job, golden->shape);
	char *path cleanup_free =
		mem_printf(GOLDEN_DIR "/%s-%s.env", golden->framework, golden->shape_name);

	append_job(job, cluster, &text);
	if (getenv("TONY_UPDATE_GOLDEN"))
		assert_int_equal(fs_write_file(path, text.text, text.length, 0644, &err), 0);
	char *want cleanup_free = fs_read_file(path, 1 << 20, NULL, &err);
	if (!want)
		fail_msg("%s", err_message(&err));
	assert_string_equal(text.text, want);
	cluster_destroy(cluster);
	job_destroy(job);
}

#define GOLDEN(framework_, name_, shape_)                                                          \
	{                                                                                          \
		.name = framework_ "-" name_, .test_func = check_golden,                           \
		.initial_state = &(struct golden)                                                  \
		{                                                                                  \
			framework_, name_, shape_                                                  \
		}                                                                                  \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GOLDEN("tensorflow", "workers", SHAPE_WORKERS),
		GOLDEN("tensorflow", "roles", SHAPE_ROLES),
		GOLDEN("tensorflow", "single", SHAPE_SINGLE),
		GOLDEN("pytorch", "workers", SHAPE_WORKERS),
		GOLDEN("pytorch", "roles", SHAPE_ROLES),
		GOLDEN("pytorch", "dense", SHAPE_DENSE),
		GOLDEN("generic", "workers", SHAPE_WORKERS),
		GOLDEN("generic", "roles", SHAPE_ROLES),
		GOLDEN("generic", "dense", SHAPE_DENSE),
		GOLDEN("standalone", "single", SHAPE_SINGLE),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
