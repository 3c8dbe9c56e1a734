/* The completion scripts, run by the shells that they are for. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/exit_code.h"
#include "client/verbs.h"

static const struct opt_table *const verbs[] = {
#define VERB_TABLE(name) &verb_##name.options,
	VERBS(VERB_TABLE)
#undef VERB_TABLE
};

/* Runs `tony completion` with standard output in the file `name`. */
static int run_completion(void **state, const char *shell, const char *name)
{
	char *argv[] = {"completion", (char *)shell, NULL};
	int file = open(scratch_path(state, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int saved = dup(STDOUT_FILENO);

	assert_true(file >= 0 && saved >= 0);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	int code = verbs_run(&verb_completion, shell ? 2 : 1, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(file);
	return code;
}

enum { NOT_FOUND = 127 }; /* what sh exits with when it does not find the program */

/* What a shell command prints, which must succeed. */
static char *run_shell(const char *format, const char *shell, const char *script,
		       const char *argument)
{
	struct str command cleanup_str = {0};
	struct str output = {0};
	char buffer[4096];
	size_t got;

	str_append_format(&command, format, shell, script, argument);
	FILE *pipe = popen(command.text, "re");
	assert_non_null(pipe);
	while ((got = fread(buffer, 1, sizeof(buffer), pipe)) > 0)
		str_append_bytes(&output, buffer, got);
	int status = pclose(pipe);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		fail_msg("%s is not installed: run ./dev deps", shell);
	assert_int_equal(status, 0);
	return str_steal(&output);
}

static void assert_parses(void **state, const char *shell)
{
	assert_int_equal(run_completion(state, shell, "script"), 0);
	free(run_shell("%s -n %s%s 2>&1", shell, scratch_path(state, "script"), ""));
}

static void scripts_parse(void **state)
{
	assert_parses(state, "bash");
	assert_parses(state, "zsh");
	assert_parses(state, "fish");
}

static void an_unknown_shell_is_an_error(void **state)
{
	assert_int_equal(run_completion(state, "tcsh", "script"), EXIT_CODE_USAGE);
	assert_int_equal(run_completion(state, NULL, "script"), EXIT_CODE_USAGE);
	assert_text_freed(scratch_read(state, "script"), "");
}

/* ---- bash --------------------------------------------------------------------------------- */

/* The completions of a command line given as bash words, one a line, each ended by a newline. A
 * stand-in for tony knows a live job and an ended one, and two keys. */
static char *complete_bash(void **state, const char *words)
{
	return run_shell(
		"%s -c '. %s; "
		"tony() { case $1 in "
		"completion) case $2:$3 in "
		"jobs:live) printf \"%%s\\n\" tony-1 fox ;; "
		"jobs:ended) printf \"%%s\\n\" tony-2 hen ;; "
		"jobs:all) printf \"%%s\\n\" tony-1 fox tony-2 hen ;; "
		"tags:*) printf \"%%s\\n\" of-$3 ;; "
		"tasks:*) printf \"%%s\\n\" worker:0 worker:10 ${3:-ps}:0 ;; "
		"types:*) printf \"%%s\\n\" worker ${3:-ps} ;; "
		"queues:all) printf \"%%s\\n\" default ml ;; "
		"nodes:all) printf \"%%s\\n\" n1 n2 ;; esac ;; "
		"config) printf \"GROUP\\n  tony.am.memory = 2g\\n  tony.<type>.gpus = 0\\n"
		"      text\\n\" ;; esac; }; "
		"compopt() { echo \"compopt $*\"; }; "
		"COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tony; "
		"((${#COMPREPLY[@]})) && printf \"%%s\\n\" \"${COMPREPLY[@]}\"; exit 0'",
		"bash", scratch_path(state, "script"), words);
}

static void assert_bash(void **state, const char *words, const char *expected)
{
	assert_text_freed(complete_bash(state, words), expected);
}

static bool has_line(const char *text, const char *line)
{
	char *wanted cleanup_free = mem_printf("\n%s\n", line);
	char *framed cleanup_free = mem_printf("\n%s", text);

	return strstr(framed, wanted) != NULL;
}

static void bash_completes_verbs(void **state)
{
	run_completion(state, "bash", "script");
	assert_bash(state, "tony sub", "submit\n");
	assert_bash(state, "tony re", "rerun\nrestart\nresults\nrelease\nrenew\nrender\n");
	assert_bash(state, "tony --h", "--help\n");
	assert_bash(state, "tony help ver", "version\n");
	char *all cleanup_free = complete_bash(state, "tony \"\"");
	for (size_t i = 0; i < array_length(verbs); i++)
		assert_true(has_line(all, verbs[i]->verb));
}

static void bash_completes_every_option_of_every_verb(void **state)
{
	run_completion(state, "bash", "script");
	for (size_t i = 0; i < array_length(verbs); i++) {
		char *words cleanup_free = mem_printf("tony %s --", verbs[i]->verb);
		char *all cleanup_free = complete_bash(state, words);
		assert_true(has_line(all, "--help"));
		for (size_t k = 0; k < verbs[i]->option_count; k++) {
			char *option cleanup_free = mem_printf("--%s", verbs[i]->options[k].name);
			if (!has_line(all, option))
				fail_msg("tony %s %s is not completed", verbs[i]->verb, option);
		}
	}
}

static void bash_completes_values(void **state)
{
	run_completion(state, "bash", "script");
	assert_bash(state, "tony logs --stream std", "stdout\nstderr\n");
	/* As bash splits --stream=stdo */
	assert_bash(state, "tony logs --stream = stdo", "stdout\n");
	assert_bash(state, "tony list --state = ki", "killed\n");
	assert_bash(state, "tony list --tag \"\"", "of-all\n");
	assert_bash(state, "tony kill --tag o", "of-live\n");
	assert_bash(state, "tony rm --tag = o", "of-ended\n");
	assert_bash(state, "tony history --state =", "succeeded\nfailed\nkilled\nrunning\n");
	assert_bash(state, "tony submit --conf \"\"", "compopt -o nospace\ntony.am.memory=\n");
	assert_bash(state, "tony submit --conf_file \"\"", "compopt -o default\n");
	/* Nothing can be said of these values; jobs and options they are not. */
	assert_bash(state, "tony logs --grep \"\"", "");
	assert_bash(state, "tony submit --framework pyt", "pytorch\n");
	assert_bash(state, "tony check --scheduler = \"\"", "local\nyarn\n");
	assert_bash(state, "tony submit --queue m", "ml\n");
}

static void bash_completes_tasks(void **state)
{
	run_completion(state, "bash", "script");
	assert_bash(state, "tony logs -t \"\"", "worker:0\nworker:10\nps:0\n");
	assert_bash(state, "tony logs tony-b -t tony", "tony-b:0\n");
	assert_bash(state, "tony logs --tail 5 --stream = both hen -t he", "hen:0\n");
	assert_bash(state, "tony logs -t work", "worker:0\nworker:10\n");
	/* As bash splits worker:, worker:1 and --task=worker:1 */
	assert_bash(state, "tony logs -t worker :", "0\n10\n");
	assert_bash(state, "tony logs -t worker : 1", "10\n");
	assert_bash(state, "tony logs --task = worker : 1", "10\n");
	assert_bash(state, "tony logs --task = wor", "worker:0\nworker:10\n");
}

static void bash_completes_operands(void **state)
{
	run_completion(state, "bash", "script");
	assert_bash(state, "tony status \"\"", "tony-1\nfox\ntony-2\nhen\n");
	assert_bash(state, "tony logs --follow tony-2", "tony-2\n");
	assert_bash(state, "tony kill \"\"", "tony-1\nfox\n");
	assert_bash(state, "tony rm \"\"", "tony-2\nhen\n");
	assert_bash(state, "tony restart f", "fox\n");
	assert_bash(state, "tony restart fox fox", "fox:0\n");
	assert_bash(state, "tony restart fox worker : 1", "10\n");
	assert_bash(state, "tony scale fox wo", "compopt -o nospace\nworker=\n");
	/* Several for those that take several, one for the others. */
	assert_bash(state, "tony kill tony-1 f", "fox\n");
	assert_bash(state, "tony attach fox f", "");
	assert_bash(state, "tony attach --tail 5 f", "fox\n");
	assert_bash(state, "tony completion \"\"", "bash\nzsh\nfish\n");
	assert_bash(state, "tony config k", "keys\n");
	assert_bash(state, "tony submit --json -- pyt", "compopt -o default\n");
	assert_bash(state, "tony queues \"\"", "default\nml\n");
	assert_bash(state, "tony nodes n1 --free n", "n1\nn2\n");
	assert_bash(state, "tony init quick", "quickstart\n");
	assert_bash(state, "tony init quickstart \"\"", "compopt -o dirnames\n");
}

/* ---- zsh ---------------------------------------------------------------------------------- */

/* What the script hands to zsh's own functions. */
static char *complete_zsh(void **state, const char *words)
{
	return run_shell("%s -f -c '_arguments() { print -l -- \"$@\"; }; "
			 "_describe() { print -l -- \"${(@P)2}\"; }; "
			 "script=%s; words=(%s); CURRENT=$#words; . $script'",
			 "zsh", scratch_path(state, "script"), words);
}

static void assert_zsh_has_options(void **state, const struct opt_table *verb)
{
	char *words cleanup_free = mem_printf("tony %s -", verb->verb);
	char *all cleanup_free = complete_zsh(state, words);

	for (size_t k = 0; k < verb->option_count; k++) {
		const struct opt *opt = &verb->options[k];
		char *option cleanup_free =
			mem_printf("--%s%s[", opt->name, opt->kind == OPT_FLAG ? "" : "=");
		if (!strstr(all, option))
			fail_msg("tony %s %s is not completed", verb->verb, option);
	}
}

static void zsh_completes_verbs_and_options(void **state)
{
	run_completion(state, "zsh", "script");
	char *all cleanup_free = complete_zsh(state, "tony \"\"");
	for (size_t i = 0; i < array_length(verbs); i++) {
		char *verb cleanup_free = mem_printf("%s:", verbs[i]->verb);
		assert_text_has(all, verb);
		assert_zsh_has_options(state, verbs[i]);
	}
}

static void zsh_completes_values_and_operands(void **state)
{
	run_completion(state, "zsh", "script");
	char *logs cleanup_free = complete_zsh(state, "tony logs \"\"");
	assert_text_has(logs, "--stream=[only standard output or only standard error]:NAME:"
			      "(stdout stderr both)");
	assert_text_has(logs, "*:job:_tony_words jobs all");
	assert_text_has(logs, ":TASK:_tony_behind tasks");
	char *kill cleanup_free = complete_zsh(state, "tony kill \"\"");
	assert_text_has(kill, "*:job:_tony_words jobs live\n");
	char *restart cleanup_free = complete_zsh(state, "tony restart fox \"\"");
	assert_text_has(restart, "*:tasks:_tony_behind tasks\n");
	char *submit cleanup_free = complete_zsh(state, "tony submit \"\"");
	assert_text_has(submit, "*:::command:_normal");
	assert_text_has(submit, ":KEY=VALUE:_tony_keys");
	assert_text_has(submit, ":NAME:(local yarn)");
	assert_text_has(submit, ":NAME:_tony_words queues all");
	char *nodes cleanup_free = complete_zsh(state, "tony nodes \"\"");
	assert_text_has(nodes, "*:nodes:_tony_words nodes all");
	char *completion cleanup_free = complete_zsh(state, "tony completion \"\"");
	assert_text_has(completion, "1:word:(bash zsh fish)");
	char *init cleanup_free = complete_zsh(state, "tony init \"\"");
	assert_text_has(init, "1:word:(quickstart ");
	assert_text_has(init, "2:directory:_files -/");
}

/* The script asks tony for this, of the words behind the verb. */
static void assert_zsh_asks(void **state, const char *words, const char *function,
			    const char *expected)
{
	char *call cleanup_free = mem_printf("words=(%s); CURRENT=$#words; %s", words, function);
	char *asked = run_shell("%s -f -c '_arguments() { }; tony() { print -- \"$@\"; }; "
				"compadd() { shift; print -- \"$@\" }; words=(tony x \"\"); "
				"CURRENT=3; . %s; %s' 2>&1",
				"zsh", scratch_path(state, "script"), call);
	assert_text_freed(asked, expected);
}

static void zsh_asks_for_what_the_verb_takes(void **state)
{
	run_completion(state, "zsh", "script");
	assert_zsh_asks(state, "kill x", "_tony_words -J group jobs live",
			"completion jobs live\n");
	assert_zsh_asks(state, "logs -t \"\"", "_tony_behind -X x tasks", "completion tasks\n");
	assert_zsh_asks(state, "restart fox \"\"", "_tony_behind -X x tasks",
			"completion tasks fox\n");
	assert_zsh_asks(state, "logs -n 5 tony-1 -t x", "_tony_behind tasks",
			"completion tasks tony-1\n");
}

/* ---- fish --------------------------------------------------------------------------------- */

/* The completions of a command line, without their descriptions. The stand-in for tony is that of
 * complete_bash(). */
static char *complete_fish(void **state, const char *line)
{
	return run_shell("%s --no-config -c 'set fish_complete_path; source %s; "
			 "function tony; switch \"$argv[1..3]\"; "
			 "case \"completion jobs live\"; printf \"%%s\\n\" tony-1 fox; "
			 "case \"completion jobs ended\"; printf \"%%s\\n\" tony-2 hen; "
			 "case \"completion jobs all\"; printf \"%%s\\n\" tony-1 fox tony-2 hen; "
			 "case \"completion tags *\"; echo of-$argv[3]; "
			 "case \"completion tasks*\"; "
			 "printf \"%%s\\n\" worker:0 worker:10 $argv[3]:0; "
			 "case \"completion types*\"; printf \"%%s\\n\" worker $argv[3]; "
			 "case \"config keys\"; "
			 "printf \"GROUP\\n  tony.am.memory = 2g\\n  tony.<type>.gpus = 0\\n"
			 "      text\\n\"; end; end; "
			 "complete -C \"%s\" | string replace -r \"\\t.*\" \"\"; true'",
			 "fish", scratch_path(state, "script"), line);
}

static void assert_fish(void **state, const char *line, const char *expected)
{
	assert_text_freed(complete_fish(state, line), expected);
}

static void assert_fish_has_options(void **state, const struct opt_table *verb)
{
	char *line cleanup_free = mem_printf("tony %s --", verb->verb);
	char *all cleanup_free = complete_fish(state, line);

	assert_true(has_line(all, "--help"));
	for (size_t k = 0; k < verb->option_count; k++) {
		char *option cleanup_free = mem_printf("--%s", verb->options[k].name);
		if (!has_line(all, option))
			fail_msg("tony %s %s is not completed", verb->verb, option);
	}
}

static void fish_completes_verbs_and_options(void **state)
{
	run_completion(state, "fish", "script");
	char *all cleanup_free = complete_fish(state, "tony ");
	for (size_t i = 0; i < array_length(verbs); i++) {
		assert_true(has_line(all, verbs[i]->verb));
		assert_fish_has_options(state, verbs[i]);
	}
	assert_fish(state, "tony sub", "submit\n");
	assert_fish(state, "tony --v", "--version\n");
	assert_fish(state, "tony help ver", "version\n");
}

static void fish_completes_values(void **state)
{
	run_completion(state, "fish", "script");
	assert_fish(state, "tony logs --stream std", "stderr\nstdout\n");
	assert_fish(state, "tony logs --stream=stdo", "--stream=stdout\n");
	assert_fish(state, "tony list -s ki", "killed\n");
	assert_fish(state, "tony list --tag ", "of-all\n");
	assert_fish(state, "tony kill --tag o", "of-live\n");
	assert_fish(state, "tony rm --tag o", "of-ended\n");
	assert_fish(state, "tony submit --conf ", "tony.am.memory=\n");
	assert_fish(state, "tony logs --grep ", "");
	assert_fish(state, "tony submit --framework pyt", "pytorch\n");
	assert_fish(state, "tony check --scheduler ", "local\nyarn\n");
	assert_fish(state, "tony logs hen -t he", "hen:0\n");
	assert_fish(state, "tony logs --tail 5 --stream=both hen -t he", "hen:0\n");
}

static void fish_completes_operands(void **state)
{
	run_completion(state, "fish", "script");
	assert_fish(state, "tony status ", "tony-1\nfox\ntony-2\nhen\n");
	assert_fish(state, "tony logs --follow tony-2", "tony-2\n");
	assert_fish(state, "tony kill ", "tony-1\nfox\n");
	assert_fish(state, "tony rm ", "tony-2\nhen\n");
	assert_fish(state, "tony restart f", "fox\n");
	assert_fish(state, "tony restart fox fox", "fox:0\n");
	assert_fish(state, "tony restart fox worker:1", "worker:10\n");
	assert_fish(state, "tony scale fox wo", "worker=\n");
	assert_fish(state, "tony kill tony-1 f", "fox\n");
	assert_fish(state, "tony attach fox f", "");
	assert_fish(state, "tony attach --tail 5 f", "fox\n");
	assert_fish(state, "tony completion ", "bash\nfish\nzsh\n");
	assert_fish(state, "tony config k", "keys\n");
	assert_fish(state, "tony init quick", "quickstart\n");
	/* Files: those of the command's, where no job and no option is. */
	assert_fish(state, "tony submit --json -- /proc/self/statu", "/proc/self/status\n");
	assert_fish(state, "tony submit --conf_file /proc/self/statu", "/proc/self/status\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(scripts_parse),
		scratch_test(an_unknown_shell_is_an_error),
		scratch_test(bash_completes_verbs),
		scratch_test(bash_completes_every_option_of_every_verb),
		scratch_test(bash_completes_values),
		scratch_test(bash_completes_tasks),
		scratch_test(bash_completes_operands),
		scratch_test(zsh_completes_verbs_and_options),
		scratch_test(zsh_completes_values_and_operands),
		scratch_test(zsh_asks_for_what_the_verb_takes),
		scratch_test(fish_completes_verbs_and_options),
		scratch_test(fish_completes_values),
		scratch_test(fish_completes_operands),
	};

	return cmocka_run_group_tests_name("completion", tests, NULL, NULL);
}
