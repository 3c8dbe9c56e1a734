/* What every process of a job gets: for each golden/<framework>-<shape>.env, the framework's
 * environment in the shape of shapes/<shape>.json. To write the files anew after a change that is
 * meant, or an empty one: TONY_UPDATE_GOLDEN=1 */
#include "../base/test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "fixture.h"
#include "framework/definition.h"
#include "framework/environment.h"

static void append_process(const struct framework_task *task, struct str *out)
{
	struct environment environment cleanup_environment = {0};
	struct err err cleanup_err = {0};

	if (framework_environment(task, &environment, &err) < 0)
		fail_msg("%s", err_message(&err));
	str_append_format(out, "# %s:%d process %d\n", task->job->types[task->type].name,
			  task->slot, task->process);
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
			for (; task.process < framework_process_count(job, &job->types[type]);
			     task.process++)
				append_process(&task, out);
		}
	}
}

static void check_golden(void **state)
{
	const char *name = *state;
	const char *dash = strchr(name, '-');
	struct err err cleanup_err = {0};
	struct str text cleanup_str = {0};
	char *framework cleanup_free = mem_strndup(name, (size_t)(dash - name));
	char *shape cleanup_free = mem_strndup(dash + 1, strcspn(dash + 1, "."));
	struct job *job = fixture_job(framework, shape);
	struct cluster *cluster = fixture_cluster(job, shape);
	char *path cleanup_free = fs_join(GOLDEN_DIR, name);

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

static void list_identity(const struct framework_ops *ops, struct str_list *names)
{
	struct definition *definition cleanup_definition =
		ops->definition ? definition_parse(ops->definition, ops->name, NULL) : NULL;

	for (size_t i = 0; definition && i < definition->variable_count; i++)
		if (definition->variables[i].is_identity && definition->variables[i].name)
			str_list_add(names, definition->variables[i].name);
	for (size_t i = 0; ops->identity && ops->identity[i]; i++)
		str_list_add(names, ops->identity[i]);
}

/* A misspelt name there would let the user's value through. The manual lists them for users. */
static void check_identity(void **state)
{
	const struct str_list *files = *state;
	struct str_list names cleanup_str_list = {0};

	framework_names(&names);
	char *manual cleanup_free =
		fs_read_file(GOLDEN_DIR "/../../../../man/tony-env.7.scd", 1 << 20, NULL, NULL);
	assert_non_null(manual);
	const char *section = strstr(manual, "# IDENTITY");
	assert_non_null(section);
	for (size_t i = 0; i < names.count; i++) {
		struct str_list identity cleanup_str_list = {0};
		list_identity(framework_find(names.items[i]), &identity);
		struct str all cleanup_str = {0};
		for (size_t k = 0; k < files->count; k++) {
			char *path cleanup_free = fs_join(GOLDEN_DIR, files->items[k]);
			char *text cleanup_free = fs_read_file(path, 1 << 20, NULL, NULL);
			char *prefix cleanup_free = mem_printf("%s-", names.items[i]);
			if (str_starts_with(files->items[k], prefix))
				str_append(&all, text);
		}
		for (size_t k = 0; k < identity.count; k++) {
			char *line cleanup_free = mem_printf("\n%s=", identity.items[k]);
			if (!strstr(str_text(&all), line))
				fail_msg("%s never sets %s", names.items[i], identity.items[k]);
			if (!strstr(section, identity.items[k]))
				fail_msg("tony-env(7) does not name %s", identity.items[k]);
		}
	}
}

static void list_golden(struct str_list *names)
{
	DIR *directory = opendir(GOLDEN_DIR);

	if (!directory)
		BUG("no " GOLDEN_DIR);
	for (const struct dirent *entry; (entry = readdir(directory));)
		if (str_ends_with(entry->d_name, ".env"))
			str_list_add(names, entry->d_name);
	closedir(directory);
	str_list_sort(names);
}

int main(void)
{
	struct str_list names cleanup_str_list = {0};

	list_golden(&names);
	struct CMUnitTest *tests cleanup_free = mem_alloc_array(names.count + 1, sizeof(*tests));
	for (size_t i = 0; i < names.count; i++)
		tests[i] = (struct CMUnitTest){.name = names.items[i],
					       .test_func = check_golden,
					       .initial_state = names.items[i]};
	tests[names.count] = (struct CMUnitTest){
		.name = "identity variables", .test_func = check_identity, .initial_state = &names};
	return _cmocka_run_group_tests("golden", tests, names.count + 1, NULL, NULL);
}
