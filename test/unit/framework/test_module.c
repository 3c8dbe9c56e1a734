/* Python programs that cannot import their framework. */
#include "../base/patience.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "framework/module.h"

enum { LONG_MS = 180000 };

static char *base;

static char *write_file(const char *name, const char *text)
{
	char *path = fs_join(base, name);

	assert_int_equal(fs_write_file(path, text, strlen(text), 0755, NULL), 0);
	return path;
}

static int open_base(void **state)
{
	char template[] = "/tmp/tony-module-XXXXXX";

	assert_non_null(mkdtemp(template));
	base = mem_strdup(template);
	return 0;
}

static int close_base(void **state)
{
	fs_remove_tree(base, NULL);
	free(base);
	return 0;
}

static void python_programs_are_told_from_others(void **state)
{
	static const struct {
		const char *command, *interpreter, *script;
	} rows[] = {
		{"python3 train.py --epochs 3", "python3", "train.py"},
		{"exec venv/bin/python3.11 -u -OO 'my train.py'", "venv/bin/python3.11",
		 "my train.py"},
		{"python3 -m trainer", NULL, NULL},
		{"python3 -c 'import torch'", NULL, NULL},
		{"python3 $SCRIPT.py", NULL, NULL},
		{"A=1 python3 train.py", NULL, NULL},
		{"pythonic train.py", NULL, NULL},
		{"torchrun train.py", NULL, NULL},
		{"python3 - x.py", NULL, NULL},
		{"python3 -u - x.py", NULL, NULL},
		{"python3", NULL, NULL},
		{"", NULL, NULL},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct module_program found cleanup_module_program = {0};
		bool is_found = module_find_program(rows[i].command, &found);
		if (is_found != (rows[i].script != NULL))
			fail_msg("%s", rows[i].command);
		if (is_found) {
			assert_string_equal(found.interpreter, rows[i].interpreter);
			assert_string_equal(found.script, rows[i].script);
		}
	}
}

static void an_import_counts_when_the_script_cannot_do_without(void **state)
{
	static const struct {
		const char *text;
		bool imports;
	} rows[] = {
		{"import torch\n", true},
		{"\n# a comment\nimport os, torch as t", true},
		{"import torch.nn as nn\n", true},
		{"import torch\r\n", true},
		{"from torch import nn\n", true},
		{"from torch.nn import Linear\n", true},
		{"import torchvision\n", false},
		{"from torchvision import torch\n", false},
		{"import os # torch\n", false},
		{"try:\n    import torch\nexcept ImportError:\n    pass\n", false},
		{"imports = 'torch'\n", false},
		{"import sys\nsys.path.insert(0, '/opt')\nimport torch\n", false},
		{"import sys; sys.path.insert(0, '/opt')\nimport torch\n", false},
		{"import site\nsite.addsitedir('/opt')\nimport torch\n", false},
		{"import os\nos.system('pip install torch')\nimport torch\n", false},
		{"import os\nos.execv('/opt/bin/python', ['x'])\nimport torch\n", false},
		{"import paths\nimport torch\n", false},
		{"import os, paths\nimport torch\n", false},
		{"from paths import x\nimport torch\n", false},
		{"import torch\nimport paths\n", true},
		{"from os import (\n    path,\n    sep,\n)\nimport torch\n", true},
		{"\"\"\"A test\nfrom torch import nn\nimport torch\n\"\"\"\n", false},
		{"\"\"\"A \\\"\"\" test\nimport jax\n\"\"\"\nimport torch\n", true},
		{"r'''A\ntest''' # of\nimport torch", true},
		{"'A test'\nimport torch\n", true},
		{"'''A test'''.strip()\nimport torch\n", false},
		{"'''unclosed\nimport torch\n", false},
		{"", false},
	};
	free(write_file("paths.py", "")); /* a file beside the scripts */

	for (size_t i = 0; i < array_length(rows); i++) {
		char *path cleanup_free = write_file("train.py", rows[i].text);
		if (module_is_imported(path, "torch") != rows[i].imports)
			fail_msg("%s", rows[i].text);
	}
	assert_false(module_is_imported("/no/such/train.py", "torch"));
}

/* Python takes the directory behind the link for that of the program. */
static void a_link_to_a_script_is_followed(void **state)
{
	free(write_file("train.py", "import paths\nimport torch\n"));
	char *beside cleanup_free = write_file("paths.py", "");
	char *folder cleanup_free = fs_join(base, "bin"), *link cleanup_free = NULL;

	assert_int_equal(fs_make_directories(folder, 0755, NULL), 0);
	link = fs_join(folder, "train.py");
	assert_int_equal(symlink("../train.py", link), 0);
	assert_false(module_is_imported(link, "torch"));
	assert_int_equal(unlink(beside), 0);
	assert_true(module_is_imported(link, "torch"));
	char *directory cleanup_free = module_directory(link);
	char *real cleanup_free = realpath(base, NULL);
	assert_string_equal(directory, real);
}

static void an_interpreter_is_asked_in_the_programs_environment(void **state)
{
	struct environment environment cleanup_environment = {0};
	char *has cleanup_free = write_file(
		"has", "#!/bin/sh\n[ \"$3 $NAME $(pwd)\" = \"torch x $BASE\" ] || exit 7\n");
	char *old cleanup_free = write_file("old", "#!/bin/sh\nexit 1\n");
	char *none cleanup_free = fs_join(base, "none");

	environment_inherit(&environment);
	environment_set(&environment, "BASE", base);
	environment_set(&environment, "NAME", "x");
	assert_int_equal(module_ask(has, base, "torch", &environment, LONG_MS), MODULE_FOUND);
	assert_int_equal(module_ask(has, base, "jax", &environment, LONG_MS), MODULE_MISSING);
	environment_remove(&environment, "NAME");
	assert_int_equal(module_ask(has, base, "torch", &environment, LONG_MS), MODULE_MISSING);
	assert_int_equal(module_ask(old, base, "torch", &environment, LONG_MS), MODULE_UNKNOWN);
	assert_int_equal(module_ask(none, base, "torch", &environment, LONG_MS), MODULE_UNKNOWN);
}

/* promise: S183 */
static void a_module_within_a_package_is_found_without_an_import(void **state)
{
	struct environment environment cleanup_environment = {0};
	char *folder cleanup_free = fs_join(base, "pack");
	char *ran cleanup_free = fs_join(base, "ran");

	assert_int_equal(fs_make_directories(folder, 0755, NULL), 0);
	free(write_file("pack/__init__.py", "open('ran', 'w')\n"));
	free(write_file("pack/part.py", ""));
	environment_inherit(&environment);
	const char *python = "/usr/bin/python3";
	assert_int_equal(module_ask(python, base, "pack.part", &environment, LONG_MS),
			 MODULE_FOUND);
	assert_int_equal(module_ask(python, base, "pack.other", &environment, LONG_MS),
			 MODULE_MISSING);
	assert_int_equal(module_ask(python, base, "pack.part.x", &environment, LONG_MS),
			 MODULE_MISSING);
	assert_false(fs_exists(ran));
}

/* As a wrapper does, which starts another interpreter. */
static void an_interpreter_that_does_not_answer_is_killed_with_what_it_started(void **state)
{
	struct environment environment cleanup_environment = {0};
	char *silent cleanup_free = write_file(
		"silent", "#!/bin/sh\nsleep 1000 &\necho $! >new && mv new below; wait\n");
	char *told cleanup_free = fs_join(base, "below");

	environment_inherit(&environment);
	for (int64_t ms = 64; !fs_exists(told); ms *= 2)
		assert_int_equal(module_ask(silent, base, "torch", &environment, ms),
				 MODULE_UNKNOWN);
	char *text cleanup_free = fs_read_file(told, 64, NULL, NULL);
	struct proc_id below;
	if (proc_identify(atoi(text), &below))
		wait_until(!proc_is_alive(&below));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_programs_are_told_from_others),
		cmocka_unit_test(an_import_counts_when_the_script_cannot_do_without),
		cmocka_unit_test(a_link_to_a_script_is_followed),
		cmocka_unit_test(an_interpreter_is_asked_in_the_programs_environment),
		cmocka_unit_test(a_module_within_a_package_is_found_without_an_import),
		cmocka_unit_test(
			an_interpreter_that_does_not_answer_is_killed_with_what_it_started),
	};

	return cmocka_run_group_tests_name("module", tests, open_base, close_base);
}
