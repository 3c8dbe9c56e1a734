#include "../base/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/shell.h"
#include "client/program.h"

static char *base;

static int open_base(void **state)
{
	char template[] = "/tmp/tony-program-XXXXXX";

	assert_non_null(mkdtemp(template));
	base = mem_strdup(template);
	char *bin cleanup_free = fs_join(base, "bin");
	char *python cleanup_free = fs_join(bin, "python3");
	char *text cleanup_free = fs_join(bin, "no-program");
	char *script cleanup_free = fs_join(base, "train.py");
	assert_int_equal(mkdir(bin, 0755), 0);
	assert_int_equal(fs_write_file(python, "", 0, 0755, NULL), 0);
	assert_int_equal(fs_write_file(text, "", 0, 0644, NULL), 0);
	assert_int_equal(fs_write_file(script, "", 0, 0644, NULL), 0);
	return 0;
}

static int close_base(void **state)
{
	fs_remove_tree(base, NULL);
	free(base);
	return 0;
}

static enum program_verdict find(const char *command, enum stage_kind source_kind)
{
	char *path cleanup_free = fs_join(base, "bin");
	char *text cleanup_free = NULL;
	struct stage_file items[] = {{source_kind, base, "."}, {STAGE_LINK, path, "tools"}};
	const struct stage_files files = {items, 2};
	enum program_verdict verdict = program_find(command, NULL, &files, path, &text);

	if (verdict == PROGRAM_MISSING)
		assert_non_null(text);
	return verdict;
}

static void programs_are_found_where_the_shell_would(void **state)
{
	static const struct {
		const char *command;
		enum program_verdict verdict;
	} rows[] = {
		{"python3", PROGRAM_FOUND},
		{"python3 -m trainer", PROGRAM_FOUND},
		{"python3 train.py --epochs 3", PROGRAM_FOUND},
		{"python3 ./train.py", PROGRAM_FOUND},
		{"python3 other.py", PROGRAM_UNSTAGED},
		{"exec python3 -u other.py", PROGRAM_UNSTAGED},
		{"A=1 python3 -Xdev other.py", PROGRAM_FOUND},
		{"  'python3' x", PROGRAM_FOUND},
		{"A=1 B='x y' python3", PROGRAM_FOUND},
		{"exec python3", PROGRAM_FOUND},
		{"A=1 no-such", PROGRAM_MISSING},
		{"no-program", PROGRAM_MISSING},
		{"no-such; python3", PROGRAM_MISSING},
		{"cd x && python3", PROGRAM_FOUND},
		{"if true; then x; fi", PROGRAM_FOUND},
		{"pushd x && python3", PROGRAM_FOUND},
		{"popd", PROGRAM_FOUND},
		{"dirs", PROGRAM_FOUND},
		{"typeset -x A=1", PROGRAM_FOUND},
		{"mapfile -t lines < x", PROGRAM_FOUND},
		{"readarray lines < x", PROGRAM_FOUND},
		{"coproc x", PROGRAM_FOUND},
		{"unalias -a", PROGRAM_FOUND},
		{"disown", PROGRAM_FOUND},
		{"./train.py", PROGRAM_FOUND},
		{"train.py", PROGRAM_MISSING},
		{"./absent.sh", PROGRAM_UNSTAGED},
		{"tools/python3", PROGRAM_FOUND},
		{"tools/absent", PROGRAM_UNSTAGED},
		{"toolsX/python3", PROGRAM_UNSTAGED},
		{"/bin/sh -c x", PROGRAM_FOUND},
		{"/no/such/python", PROGRAM_MISSING},
		{"$PYTHON train.py", PROGRAM_UNKNOWN},
		{"(python3)", PROGRAM_UNKNOWN},
		{"~/bin/x", PROGRAM_UNKNOWN},
		{"{{job.name}}", PROGRAM_UNKNOWN},
		{"PATH=/x y", PROGRAM_UNKNOWN},
		{"env A=1 x", PROGRAM_UNKNOWN},
		{"", PROGRAM_UNKNOWN},
		{"'unclosed", PROGRAM_MISSING},
	};

	for (size_t i = 0; i < array_length(rows); i++)
		if (find(rows[i].command, STAGE_SOURCE) != rows[i].verdict)
			fail_msg("%s: %d", rows[i].command,
				 (int)find(rows[i].command, STAGE_SOURCE));
}

static void functions_of_the_environment_are_left_to_the_shell(void **state)
{
	assert_int_equal(find("module load cuda && python3 train.py", STAGE_SOURCE),
			 PROGRAM_MISSING);
	setenv("BASH_FUNC_module%%", "() {  true\n}", 1);
	assert_int_equal(find("module load cuda && python3 train.py", STAGE_SOURCE),
			 PROGRAM_UNKNOWN);
	assert_int_equal(find("modules load cuda", STAGE_SOURCE), PROGRAM_MISSING);
	unsetenv("BASH_FUNC_module%%");
}

static void an_unreadable_archive_is_left_to_those_that_unpack_it(void **state)
{
	assert_int_equal(find("./absent.sh", STAGE_SOURCE_ARCHIVE), PROGRAM_UNKNOWN);
	assert_int_equal(find("python3 absent.py", STAGE_SOURCE_ARCHIVE), PROGRAM_FOUND);
	assert_int_equal(find("/no/such", STAGE_SOURCE_ARCHIVE), PROGRAM_MISSING);
}

static void a_program_beside_the_path_is_hinted_at(void **state)
{
	struct stage_file items[] = {{STAGE_SOURCE, base, "."}};
	const struct stage_files files = {items, 1};
	char *text cleanup_free = NULL;

	assert_int_equal(program_find("train.py", NULL, &files, "/nowhere", &text),
			 PROGRAM_MISSING);
	assert_text_has(text, "write python3 train.py");
}

static void a_file_without_permission_is_told_with_what_runs_it(void **state)
{
	static const struct {
		const char *command, *bytes, *remedy;
		mode_t mode;
	} rows[] = {
		{"ok.py", "print()", "; write python3 ok.py", 0644},
		{"ok.py", "print()", "; write python3 ok.py", 0755},
		{"./ok.py", "print()", "permission to be executed; write python3 ./ok.py", 0644},
		{"./ok.py", "print()",
		 "has no #! line, so the shell would read it as its own; write python3 ./ok.py",
		 0755},
		{"ok.py", "#!/bin/x", "; write python3 ok.py, or chmod +x ok.py and ./ok.py", 0644},
		{"ok.py", "#!/bin/x", "; write ./ok.py", 0755},
		{"ok.sh", "true", "; write bash ok.sh", 0644},
		{"run", "#!/bin/x", "; chmod +x run, and write ./run", 0644},
		{"'a b'", "", "; chmod +x 'a b', and write './a b'", 0644},
		{"./bin", NULL, "\"./bin\" is a directory", 0},
		{"bin", NULL, "\"bin\" is not in PATH; install it", 0},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		const char *command = rows[i].command;
		bool plain = true;
		char *word cleanup_free = shell_next_word(&command, &plain);
		char *path cleanup_free = fs_join(base, word);
		char *text cleanup_free = NULL;
		if (rows[i].bytes)
			assert_int_equal(fs_write_file(path, rows[i].bytes, strlen(rows[i].bytes),
						       rows[i].mode, NULL),
					 0);
		assert_int_equal(program_find(rows[i].command, base, &(struct stage_files){0},
					      "/nowhere", &text),
				 PROGRAM_MISSING);
		assert_text_has(text, rows[i].remedy);
		if (rows[i].bytes)
			unlink(path);
	}
}

/* Wherever it runs. */
static void a_python_program_without_interpreter_line_is_refused(void **state)
{
	char *bare cleanup_free = fs_join(base, "bare.py"),
		   *whole cleanup_free = fs_join(base, "whole.py");
	static const char code[] = "import os\n", script[] = "#!/usr/bin/env python3\nimport os\n";

	assert_int_equal(fs_write_file(bare, code, strlen(code), 0755, NULL), 0);
	assert_int_equal(fs_write_file(whole, script, strlen(script), 0755, NULL), 0);
	assert_int_equal(find("./bare.py --epochs 3", STAGE_SOURCE), PROGRAM_UNSTAGED);
	assert_int_equal(find(bare, STAGE_SOURCE), PROGRAM_MISSING);
	assert_int_equal(find("./whole.py", STAGE_SOURCE), PROGRAM_FOUND);
	assert_int_equal(find(whole, STAGE_SOURCE), PROGRAM_FOUND);
	assert_int_equal(find("python3 bare.py", STAGE_SOURCE), PROGRAM_FOUND);
	unlink(bare);
	unlink(whole);
}

static void an_absolute_script_is_looked_for_on_this_machine(void **state)
{
	const struct stage_files files = {0};
	char *path cleanup_free = fs_join(base, "bin");
	char *apart cleanup_free = NULL, *shared cleanup_free = NULL;

	assert_int_equal(program_find("python3 /no/such/train.py", NULL, &files, path, &apart),
			 PROGRAM_MISSING);
	assert_string_equal(apart, "\"/no/such/train.py\" is not on this machine");
	assert_int_equal(program_find("python3 /no/such/train.py", base, &files, path, &shared),
			 PROGRAM_MISSING);
	assert_string_equal(shared, "\"/no/such/train.py\" is not on this machine");
}

static void in_a_directory_that_all_share_its_files_are_found(void **state)
{
	const struct stage_files files = {0};
	char *path cleanup_free = fs_join(base, "bin");
	char *text cleanup_free = NULL, *missing cleanup_free = NULL;

	assert_int_equal(program_find("python3 train.py", base, &files, path, &text),
			 PROGRAM_FOUND);
	assert_int_equal(program_find("python3 other.py", base, &files, path, &missing),
			 PROGRAM_MISSING);
	assert_text_has(missing, "\"other.py\" is not in the working directory");
}

static void assert_words(const char *command, const char *expected, const char *expected_others)
{
	struct str_list words cleanup_str_list = {0}, others cleanup_str_list = {0};

	program_words(command, &words, &others);
	char *found cleanup_free = str_list_join(&words, "|");
	char *found_others cleanup_free = str_list_join(&others, "|");
	if (!str_equal(found, expected) || !str_equal(found_others, expected_others))
		fail_msg("%s: %s and %s", command, found, found_others);
}

static void words_that_name_programs_are_told_from_others(void **state)
{
	assert_words("python3 train.py --lr 0.1 --mode train", "train.py", "0.1");
	assert_words("A=b C='d e' bin/run 'x y' c.yaml", "bin/run", "c.yaml");
	assert_words("cd src && make -j; ./run <in >out | sort -u 2> err keys", "./run", "");
	assert_words("python3 $HOME/x.py \"$DATA\" *.csv train.py", "train.py", "");
	assert_words("python3.11 -u train data", "train", "");
	assert_words("bash -eu run.sh; bash -ec run; python3 -m train", "run.sh", "");
	assert_words("Rscript fit; java -jar app.jar; torchrun --nproc 2 train.py",
		     "fit|app.jar|train.py", "");
	assert_words("pythonic train; train.sh", "", "");
	assert_words("mpirun -n 2 bin/solver", "", "bin/solver");
	assert_words("  ", "", "");
	assert_words("'unclosed x", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_found_where_the_shell_would),
		cmocka_unit_test(functions_of_the_environment_are_left_to_the_shell),
		cmocka_unit_test(an_unreadable_archive_is_left_to_those_that_unpack_it),
		cmocka_unit_test(a_program_beside_the_path_is_hinted_at),
		cmocka_unit_test(a_file_without_permission_is_told_with_what_runs_it),
		cmocka_unit_test(a_python_program_without_interpreter_line_is_refused),
		cmocka_unit_test(an_absolute_script_is_looked_for_on_this_machine),
		cmocka_unit_test(in_a_directory_that_all_share_its_files_are_found),
		cmocka_unit_test(words_that_name_programs_are_told_from_others),
	};
	return cmocka_run_group_tests(tests, open_base, close_base);
}
