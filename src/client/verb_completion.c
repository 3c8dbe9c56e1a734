/* tony completion bash | zsh: scripts made from the option tables. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/examples.h"
#include "client/report.h"
#include "client/verbs.h"
#include "conf/keys.h"
#include "framework/framework.h"

const struct opt_table verb_completion_options = {
	.verb = "completion",
	.usage = "tony completion bash|zsh",
	.summary = "print a script that completes tony's command line",
	.description = "For bash: source <(tony completion bash). For zsh: put the output of "
		       "`tony completion zsh` into a file named _tony on $fpath.",
};

static const struct opt_table *const verbs[] = {
#define VERB_TABLE(name) &verb_##name##_options,
	VERBS(VERB_TABLE)
#undef VERB_TABLE
};

/* ---- operands: the usage line tells ------------------------------------------------------- */

static bool takes_job(const struct opt_table *verb)
{
	return strstr(verb->usage, "JOB") != NULL;
}

static bool takes_command(const struct opt_table *verb)
{
	return strstr(verb->usage, "COMMAND") != NULL;
}

static bool takes_example(const struct opt_table *verb)
{
	return strstr(verb->usage, "EXAMPLE") != NULL;
}

/* "tony completion bash|zsh": the words of a first operand that is one of a few. */
static void list_words(const struct opt_table *verb, struct str_list *words)
{
	struct str_list usage cleanup_str_list = {0};

	for (size_t i = 0; takes_example(verb) && i < example_count; i++)
		str_list_add(words, examples[i].name);
	str_split(&usage, verb->usage, ' ');
	if (usage.count > 2 && usage.items[2][0] != '[' && strchr(usage.items[2], '|'))
		str_split(words, usage.items[2], '|');
}

/* The values of an option that has a few, with blanks between; NULL: it has not. The caller frees.
 */
static char *join_values(const struct opt *opt)
{
	struct str_list list cleanup_str_list = {0};
	const char *const *choices = opt->choices;

	if (opt->completion == OPT_COMPLETE_SCHEDULER)
		choices = key_find("tony.application.scheduler", NULL)->choices;
	for (size_t i = 0; choices && choices[i]; i++)
		str_list_add(&list, choices[i]);
	if (opt->completion == OPT_COMPLETE_FRAMEWORK)
		framework_names(&list);
	return list.count > 0 ? str_list_join(&list, " ") : NULL;
}

static char *join_verbs(void)
{
	struct str_list list cleanup_str_list = {0};

	for (size_t i = 0; i < array_length(verbs); i++)
		str_list_add(&list, verbs[i]->verb);
	return str_list_join(&list, " ");
}

/* ---- bash --------------------------------------------------------------------------------- */

static void print_bash_value(const struct opt_table *verb, const struct opt *opt)
{
	static const char *const sources[] = {
		[OPT_COMPLETE_NONE] = "return",
		[OPT_COMPLETE_FILE] = "compopt -o default; return",
		[OPT_COMPLETE_DIRECTORY] = "compopt -o dirnames; return",
		[OPT_COMPLETE_JOB] = "words=$(_tony_jobs)",
		[OPT_COMPLETE_KEY] = "compopt -o nospace; words=$(_tony_keys)",
		[OPT_COMPLETE_TASK] = "words=$(_tony_tasks)",
		[OPT_COMPLETE_TAG] = "return",
	};
	char *values cleanup_free = join_values(opt);

	printf("\t%s:--%s", verb->verb, opt->name);
	if (opt->letter)
		printf(" | %s:-%c", verb->verb, opt->letter);
	if (values)
		printf(") words='%s' ;;\n", values);
	else
		printf(") %s ;;\n", sources[opt->completion]);
}

static void print_bash_verb(const struct opt_table *verb)
{
	struct str_list words cleanup_str_list = {0};

	for (size_t i = 0; i < verb->option_count; i++)
		if (verb->options[i].kind != OPT_FLAG)
			print_bash_value(verb, &verb->options[i]);
	printf("\t%s:*) options='--help", verb->verb);
	for (size_t i = 0; i < verb->option_count; i++)
		printf(" --%s", verb->options[i].name);
	putchar('\'');
	list_words(verb, &words);
	if (words.count > 0) {
		char *text cleanup_free = str_list_join(&words, " ");
		printf("; words='%s'", text);
	}
	if (takes_example(verb))
		fputs("; ((COMP_CWORD == 2)) || { compopt -o dirnames; return; }", stdout);
	if (takes_job(verb))
		printf("; [[ $word == -* ]] || words=$(_tony_jobs%s)",
		       verb->of_running_jobs ? "" : " --all");
	puts(" ;;");
}

/* bash hands "--name=value" over as three words, and "worker:1", too. */
static const char bash_head[] =
	"# bash completion for tony; made by `tony completion bash`\n"
	"_tony_jobs() { tony list \"$@\" 2>/dev/null | awk 'NR > 1 { print $1 }'; }\n"
	"_tony_tasks() {\n"
	"\tlocal word job=''\n"
	"\tfor word in \"${COMP_WORDS[@]:2}\"; do\n"
	"\t\t[[ $word != tony-* ]] || job=$word\n"
	"\tdone\n"
	"\ttony status $job 2>/dev/null | awk '$1 ~ /^[a-z][a-z0-9_-]*:[0-9]+$/ { print $1 }'\n"
	"}\n"
	"_tony_keys() { tony config keys 2>/dev/null | awk '$1 ~ /^tony[.][^<]*$/ { print $1 \"=\" "
	"}'; }\n"
	"_tony() {\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal verb=${COMP_WORDS[1]} words='' options='' head='' at=$((COMP_CWORD - 1)) i\n"
	"\tCOMPREPLY=()\n"
	"\tif [[ $word == : ]]; then\n"
	"\t\tword='' before=: at=$COMP_CWORD\n"
	"\tfi\n"
	"\tif [[ $before == : ]] && ((at > 2)); then\n"
	"\t\thead=${COMP_WORDS[at-1]}: at=$((at - 2)) before=${COMP_WORDS[at]}\n"
	"\tfi\n"
	"\tif [[ $word == = ]]; then\n"
	"\t\tword=''\n"
	"\telif [[ $before == = ]] && ((at > 1)); then\n"
	"\t\tbefore=${COMP_WORDS[at-1]}\n"
	"\tfi\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	"\t\t\tcompopt -o default\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t((COMP_CWORD > 1)) || verb=''\n"
	"\tcase $verb:$before in\n";

static const char bash_tail[] =
	"\tesac\n"
	"\t[[ $word == -* ]] && words=$options\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"${words:-$options}\" -- \"$head$word\")\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]#\"$head\"}\")\n"
	"}\n"
	"complete -F _tony tony\n";

static void print_bash(void)
{
	char *names cleanup_free = join_verbs();

	fputs(bash_head, stdout);
	printf("\t:*) words='%s help'; options='--help --version' ;;\n", names);
	printf("\thelp:*) words='%s' ;;\n", names);
	for (size_t i = 0; i < array_length(verbs); i++)
		print_bash_verb(verbs[i]);
	fputs(bash_tail, stdout);
}

/* ---- zsh ---------------------------------------------------------------------------------- */

/* Inside single quotes and an _arguments specification. */
static void print_zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr("[]:\\", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void print_zsh_value(const struct opt *opt)
{
	/* Frameworks and schedulers have values. */
	static const char *const actions[OPT_COMPLETE_SCHEDULER + 1] = {
		[OPT_COMPLETE_NONE] = " ",
		[OPT_COMPLETE_FILE] = "_files",
		[OPT_COMPLETE_DIRECTORY] = "_files -/",
		[OPT_COMPLETE_JOB] = "_tony_jobs",
		[OPT_COMPLETE_KEY] = "_tony_keys",
		[OPT_COMPLETE_TASK] = "_tony_tasks",
		[OPT_COMPLETE_TAG] = " ",
	};
	char *values cleanup_free = join_values(opt);

	putchar(':');
	print_zsh_text(opt->argument ? opt->argument : "value");
	if (values)
		printf(":(%s)", values);
	else
		printf(":%s", actions[opt->completion]);
}

static void print_zsh_spelling(const struct opt *opt, const char *dashes, const char *name,
			       const char *joint)
{
	printf("\t\t\t'%s%s%s%s[", opt->kind == OPT_LIST ? "*" : "", dashes, name,
	       opt->kind == OPT_FLAG ? "" : joint);
	print_zsh_text(opt->help);
	putchar(']');
	if (opt->kind != OPT_FLAG)
		print_zsh_value(opt);
	puts("' \\");
}

static void print_zsh_option(const struct opt *opt)
{
	const char letter[] = {opt->letter, '\0'};

	if (opt->letter)
		print_zsh_spelling(opt, "-", letter, "");
	print_zsh_spelling(opt, "--", opt->name, "=");
}

static void print_zsh_verb(const struct opt_table *verb)
{
	struct str_list words cleanup_str_list = {0};

	printf("\t\t%s) _arguments \\\n", verb->verb);
	for (size_t i = 0; i < verb->option_count; i++)
		print_zsh_option(&verb->options[i]);
	list_words(verb, &words);
	if (words.count > 0) {
		char *text cleanup_free = str_list_join(&words, " ");
		printf("\t\t\t'1:word:(%s)' \\\n", text);
	}
	if (takes_example(verb))
		puts("\t\t\t'2:directory:_files -/' \\");
	if (takes_job(verb))
		printf("\t\t\t'1:job:_tony_jobs%s' \\\n", verb->of_running_jobs ? "" : " --all");
	if (takes_command(verb))
		puts("\t\t\t'*:::command:_normal' \\");
	puts("\t\t\t'--help[show help]' ;;");
}

static const char zsh_head[] =
	"#compdef tony\n"
	"# zsh completion for tony; made by `tony completion zsh`\n"
	"_tony_jobs() { compadd -- ${(f)\"$(tony list ${(M)@:#--all} 2>/dev/null | awk 'NR > 1 { "
	"print $1 }')\"} }\n"
	"_tony_tasks() { compadd -- ${(f)\"$(tony status ${${(M)words:#tony-*}[1]} 2>/dev/null | "
	"awk "
	"'$1 ~ /^[a-z][a-z0-9_-]*:[0-9]+$/ { print $1 }')\"} }\n"
	"_tony_keys() { compadd -S '=' -- ${(f)\"$(tony config keys 2>/dev/null | awk '$1 ~ "
	"/^tony[.][^<]*$/ { print $1 }')\"} }\n"
	"_tony() {\n"
	"\tlocal -a verbs=(\n";

static const char zsh_middle[] = "\t)\n"
				 "\tif ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
				 "\t\t_describe verb verbs\n"
				 "\t\treturn\n"
				 "\tfi\n"
				 "\tlocal verb=$words[2]\n"
				 "\tshift words\n"
				 "\t((CURRENT--))\n"
				 "\tcase $verb in\n";

static void print_zsh(void)
{
	fputs(zsh_head, stdout);
	for (size_t i = 0; i < array_length(verbs); i++) {
		printf("\t\t'%s:", verbs[i]->verb);
		print_zsh_text(verbs[i]->summary);
		puts("'");
	}
	fputs(zsh_middle, stdout);
	for (size_t i = 0; i < array_length(verbs); i++)
		print_zsh_verb(verbs[i]);
	puts("\tesac\n"
	     "}\n"
	     "_tony \"$@\"");
}

/* ------------------------------------------------------------------------------------------- */

static int print_for(const struct str_list *operands, struct err *err)
{
	const char *shell = operands->count == 1 ? operands->items[0] : NULL;

	if (str_equal(shell, "bash"))
		print_bash();
	else if (str_equal(shell, "zsh"))
		print_zsh();
	else
		return err_set(err, ERR_USAGE, "usage: %s", verb_completion_options.usage);
	return 0;
}

int verb_completion(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct str_list operands cleanup_str_list = {0};
	int code = 0;

	if (report_parse(&verb_completion_options, argc, argv, NULL, &operands, &code) &&
	    print_for(&operands, &err) < 0)
		code = report_error(&err);
	return code;
}
