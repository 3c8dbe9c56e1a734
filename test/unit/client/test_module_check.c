/* Programs whose interpreter lacks the module of their framework. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/module_check.h"

#define HAS_IT	 "#!/bin/sh\nexit 0\n"
#define LACKS_IT "#!/bin/sh\nexit 7\n" /* as tony's question ends there */

enum { ANSWER_MS = 60000 };

/* A directory for programs, one for the job, and a state directory without earlier answers. */
static void lay_out(void **state, const char *script)
{
	assert_int_equal(mkdir(scratch_path(state, "bin"), 0755), 0);
	assert_int_equal(mkdir(scratch_path(state, "job"), 0755), 0);
	scratch_write(state, "job/train.py", script, 0644);
	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	unsetenv("VIRTUAL_ENV");
	unsetenv("CONDA_PREFIX");
}

/* Checks "python3 train.py"; the text has "@" in place of the scratch directory. */
static bool check(void **state, const struct stage_files *files, char **text)
{
	char *path cleanup_free = mem_strdup(scratch_path(state, "bin"));
	char *job_dir cleanup_free = mem_strdup(scratch_path(state, "job"));
	char framework[] = "pytorch", name[] = "worker", command[] = "python3 train.py";
	struct job_type type = {.name = name, .command = command, .instances = 1};
	struct job job = {
		.framework = framework, .work_dir = job_dir, .types = &type, .type_count = 1};

	return module_check(&job, 0, files, path, ANSWER_MS, text);
}

static void assert_refused(void **state, const struct stage_files *files, const char *remedy)
{
	char *text cleanup_free = NULL;
	char *expected cleanup_free = mem_printf("train.py imports torch, which %s does not have; ",
						 scratch_path(state, "bin/python3"));

	assert_false(check(state, files, &text));
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	assert_string_equal(text + strlen(expected), remedy);
}

static void a_module_that_was_found_is_not_asked_for_again(void **state)
{
	const struct stage_files none = {0};
	char *text cleanup_free = NULL, *again cleanup_free = NULL;
	char *expected cleanup_free =
		mem_printf("torch, of %s", scratch_path(state, "bin/python3"));

	lay_out(state, "import torch\n");
	scratch_write(state, "bin/python3", HAS_IT, 0755);
	assert_true(check(state, &none, &text));
	assert_string_equal(text, expected);
	scratch_write(state, "bin/python3", LACKS_IT, 0755);
	assert_true(check(state, &none, &again));
	assert_string_equal(again, expected);
}

static void another_interpreter_that_has_the_module_is_named(void **state)
{
	const struct stage_files none = {0};
	char *other cleanup_free = mem_strdup(scratch_path(state, "bin/python3.11"));
	char *remedy cleanup_free = mem_printf("%s has it: write %s train.py", other, other);

	lay_out(state, "import torch\n");
	scratch_write(state, "bin/python3", LACKS_IT, 0755);
	scratch_write(state, "bin/python3.9", LACKS_IT, 0755);
	scratch_write(state, "bin/python3.11", HAS_IT, 0755);
	assert_refused(state, &none, remedy);
}

static void without_one_the_remedy_is_an_installation_or_an_environment(void **state)
{
	const struct stage_files none = {0};
	struct stage_file venv = {STAGE_LINK, "/nowhere", "venv"};
	const struct stage_files with_venv = {&venv, 1};

	lay_out(state, "import torch\n");
	scratch_write(state, "bin/python3", LACKS_IT, 0755);
	assert_refused(state, &none,
		       "install it there, or give --python_venv and write venv/bin/python3 "
		       "train.py");
	assert_refused(state, &with_venv,
		       "write venv/bin/python3 train.py, and the one of --python_venv is taken");
}

static void nothing_is_said_of_a_script_that_may_do_without(void **state)
{
	const struct stage_files none = {0};
	char *text cleanup_free = NULL;

	lay_out(state, "print('none')\nimport torch\n");
	scratch_write(state, "bin/python3", LACKS_IT, 0755);
	assert_true(check(state, &none, &text));
	assert_null(text);
}

static void an_interpreter_that_says_something_else_refuses_nothing(void **state)
{
	const struct stage_files none = {0};
	char *text cleanup_free = NULL;

	lay_out(state, "import torch\n");
	scratch_write(state, "bin/python3", "#!/bin/sh\nexit 77\n", 0755);
	assert_true(check(state, &none, &text));
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_module_that_was_found_is_not_asked_for_again),
		scratch_test(another_interpreter_that_has_the_module_is_named),
		scratch_test(without_one_the_remedy_is_an_installation_or_an_environment),
		scratch_test(nothing_is_said_of_a_script_that_may_do_without),
		scratch_test(an_interpreter_that_says_something_else_refuses_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
