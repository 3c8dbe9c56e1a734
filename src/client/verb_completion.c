#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/report.h"
#include "client/verbs.h"

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

/* Verbs whose operand is a job. */
static bool takes_job(const struct opt_table *verb)
{
	return strstr(verb->usage, "JOB") != NULL;
}

/* ---- bash --------------------------------------------------------------------------------- */

static void print_bash_option_values(const struct opt_table *verb)
{
	for (size_t i = 0; i < verb->option_count; i++) {
		const struct opt *opt = &verb->options[i];
		if (!opt->choices && opt->completion == OPT_COMPLETE_NONE)
			continue;
		printf("\t\t%s:--%s) ", verb->verb, opt->name);
		if (opt->choices) {
			fputs("words='", stdout);
			for (size_t k = 0; opt->choices[k]; k++)
				printf("%s%s", k ? " " : "", opt->choices[k]);
			puts("' ;;");
			continue;
		}
		static const char *const sources[] = {
			[OPT_COMPLETE_FILE] = "compopt -o default; return",
			[OPT_COMPLETE_DIRECTORY] = "compopt -o dirnames; return",
			[OPT_COMPLETE_JOB] = "words=$(_tony_jobs)",
			[OPT_COMPLETE_KEY] = "compopt -o nospace; words=$(_tony_keys)",
		};
		printf("%s ;;\n", sources[opt->completion]);
	}
}

static void print_bash_options(const struct opt_table *verb)
{
	printf("\t\t%s) words='--help", verb->verb);
	for (size_t i = 0; i < verb->option_count; i++)
		printf(" --%s", verb->options[i].name);
	fputs("'", stdout);
	if (takes_job(verb))
		fputs("; [[ $word == -* ]] || words=$(_tony_jobs)", stdout);
	if (verb == &verb_completion_options)
		fputs("; [[ $word == -* ]] || words='bash zsh'", stdout);
	if (verb == &verb_config_options)
		fputs("; [[ $word == -* ]] || words='show keys'", stdout);
	puts(" ;;");
}

static void print_bash(void)
{
	puts("# bash completion for tony; made by `tony completion bash`\n"
	     "_tony_jobs() { tony list --all 2>/dev/null | awk 'NR > 1 { print $1 }'; }\n"
	     "_tony_keys() { tony config keys 2>/dev/null | awk '/^tony\\./ { print $1 \"=\" }'; "
	     "}\n"
	     "_tony() {\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
	     "\tlocal verb=${COMP_WORDS[1]}\n"
	     "\tCOMPREPLY=()\n"
	     "\tif ((COMP_CWORD == 1)); then");
	fputs("\t\twords='", stdout);
	for (size_t i = 0; i < array_length(verbs); i++)
		printf("%s ", verbs[i]->verb);
	puts("help --help --version'\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tcase $verb:$before in");
	for (size_t i = 0; i < array_length(verbs); i++)
		print_bash_option_values(verbs[i]);
	puts("\t\t*) case $verb in");
	for (size_t i = 0; i < array_length(verbs); i++)
		print_bash_options(verbs[i]);
	puts("\t\tesac ;;\n"
	     "\tesac\n"
	     "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	     "}\n"
	     "complete -F _tony tony");
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

static void print_zsh_option(const struct opt *opt)
{
	static const char *const actions[] = {
		[OPT_COMPLETE_NONE] = " ",
		[OPT_COMPLETE_FILE] = "_files",
		[OPT_COMPLETE_DIRECTORY] = "_files -/",
		[OPT_COMPLETE_JOB] = "_tony_jobs",
		[OPT_COMPLETE_KEY] = "_tony_keys",
	};
	printf("\t\t\t'%s--%s%s[", opt->kind == OPT_LIST ? "*" : "", opt->name,
	       opt->kind == OPT_FLAG ? "" : "=");
	print_zsh_text(opt->help);
	putchar(']');
	if (opt->kind != OPT_FLAG) {
		putchar(':');
		print_zsh_text(opt->argument ? opt->argument : "value");
		putchar(':');
		if (opt->choices) {
			putchar('(');
			for (size_t k = 0; opt->choices[k]; k++)
				printf("%s%s", k ? " " : "", opt->choices[k]);
			putchar(')');
		} else {
			fputs(actions[opt->completion], stdout);
		}
	}
	puts("' \\");
}

static void print_zsh_verb(const struct opt_table *verb)
{
	printf("\t\t%s) _arguments \\\n", verb->verb);
	for (size_t i = 0; i < verb->option_count; i++)
		print_zsh_option(&verb->options[i]);
	const char *operand = takes_job(verb)			 ? "job:_tony_jobs"
			      : verb == &verb_completion_options ? "shell:(bash zsh)"
			      : verb == &verb_config_options	 ? "action:(show keys)"
								 : NULL;
	if (operand)
		printf("\t\t\t'*:%s' \\\n", operand);
	puts("\t\t\t'--help[show help]' ;;");
}

static void print_zsh(void)
{
	puts("#compdef tony\n"
	     "# zsh completion for tony; made by `tony completion zsh`\n"
	     "_tony_jobs() { compadd -- ${(f)\"$(tony list --all 2>/dev/null | awk 'NR > 1 { print "
	     "$1 }')\"} }\n"
	     "_tony_keys() { compadd -S '=' -- ${(f)\"$(tony config keys 2>/dev/null | awk "
	     "'/^tony\\./ { print $1 }')\"} }\n"
	     "_tony() {\n"
	     "\tif ((CURRENT == 2)); then\n"
	     "\t\tlocal -a verbs=(");
	for (size_t i = 0; i < array_length(verbs); i++) {
		printf("\t\t\t'%s:", verbs[i]->verb);
		print_zsh_text(verbs[i]->summary);
		puts("'");
	}
	puts("\t\t)\n"
	     "\t\t_describe verb verbs\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tlocal verb=$words[2]\n"
	     "\tshift words\n"
	     "\t((CURRENT--))\n"
	     "\tcase $verb in");
	for (size_t i = 0; i < array_length(verbs); i++)
		print_zsh_verb(verbs[i]);
	puts("\tesac\n"
	     "}\n"
	     "_tony \"$@\"");
}

/* ------------------------------------------------------------------------------------------- */

static int print_for(const struct str_list *operands, struct err *err)
{
	if (operands->count == 1 && str_equal(operands->items[0], "bash"))
		print_bash();
	else if (operands->count == 1 && str_equal(operands->items[0], "zsh"))
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
