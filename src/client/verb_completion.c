/* tony completion bash | zsh | fish: scripts made from the option tables. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/completion_words.h"
#include "client/examples.h"
#include "client/report.h"
#include "client/verbs.h"
#include "conf/keys.h"
#include "framework/framework.h"
#include "scheduler/scheduler.h"

static const struct opt_table *const verbs[] = {
#define VERB_TABLE(name) &verb_##name.options,
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

static bool takes_jobs(const struct opt_table *verb)
{
	return strstr(verb->usage, "JOB...") != NULL;
}

/* The kind of completion_words() of operands that are no jobs, or "". */
static const char *kind_of_operands(const struct opt_table *verb)
{
	return strstr(verb->usage, "QUEUE") ? "queues" : strstr(verb->usage, "NODE") ? "nodes" : "";
}

/* The kind of completion_words() that stands behind a JOB, or "". */
static const char *behind_job(const struct opt_table *verb)
{
	return strstr(verb->usage, "TASK") ? "tasks" : strstr(verb->usage, "TYPE=N") ? "types" : "";
}

/* "tony completion bash|zsh|fish": the words of a first operand that is one of a few. */
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

static void print_bash_option(const struct opt_table *verb, const struct opt *opt)
{
	printf("\t%s:--%s", verb->verb, opt->name);
	if (opt->letter)
		printf(" | %s:-%c", verb->verb, opt->letter);
}

static void print_bash_value(const struct opt_table *verb, const struct opt *opt)
{
	static const char *const sources[] = {
		[OPT_COMPLETE_NONE] = "return",
		[OPT_COMPLETE_FILE] = "compopt -o default; return",
		[OPT_COMPLETE_DIRECTORY] = "compopt -o dirnames; return",
		[OPT_COMPLETE_JOB] = "words=$(_tony_words jobs all)",
		[OPT_COMPLETE_KEY] = "compopt -o nospace; words=$(_tony_keys)",
		[OPT_COMPLETE_TASK] = "words=$(_tony_words tasks $(_tony_job))",
		[OPT_COMPLETE_QUEUE] = "words=$(_tony_words queues all)",
		/* A tag is one of the jobs that the verb takes; the others have their values. */
		[OPT_COMPLETE_TAG... OPT_COMPLETE_SCHEDULER] = NULL,
	};
	const char *source = sources[opt->completion];
	char *values cleanup_free = join_values(opt);

	print_bash_option(verb, opt);
	if (values)
		printf(") words='%s' ;;\n", values);
	else if (source)
		printf(") %s ;;\n", source);
	else
		printf(") words=$(_tony_words tags %s) ;;\n", completion_jobs_of(verb));
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
		printf("; [[ $word == -* ]] || _tony_operand %s %s", completion_jobs_of(verb),
		       takes_jobs(verb) ? "jobs" : behind_job(verb));
	if (*kind_of_operands(verb))
		printf("; [[ $word == -* ]] || words=$(_tony_words %s all)",
		       kind_of_operands(verb));
	puts(" ;;");
}

/* bash hands "--name=value" over as three words, and "worker:1", too. */
static const char bash_head[] =
	"_tony_words() { tony completion \"$@\" 2>/dev/null; }\n"
	"# The first JOB that was typed before the cursor.\n"
	"_tony_job() {\n"
	"\tlocal i word\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $word != -* ]]; then\n"
	"\t\t\techo \"$word\"\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\t[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))\n"
	"\t\t_tony_takes_value \"${COMP_WORDS[1]}:$word\" && ((i++))\n"
	"\tdone\n"
	"}\n"
	"# Which jobs the verb takes, and what stands behind the first one.\n"
	"_tony_operand() {\n"
	"\tlocal job\n"
	"\tjob=$(_tony_job)\n"
	"\tif [[ ! $job || $2 == jobs ]]; then\n"
	"\t\twords=$(_tony_words jobs \"$1\")\n"
	"\telif [[ $2 == types ]]; then\n"
	"\t\tcompopt -o nospace\n"
	"\t\twords=$(_tony_words types \"$job\" | sed 's/$/=/')\n"
	"\telif [[ $2 ]]; then\n"
	"\t\twords=$(_tony_words \"$2\" \"$job\")\n"
	"\tfi\n"
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

static void print_bash_takes_value(void)
{
	puts("_tony_takes_value() {\n\tcase $1 in");
	for (size_t i = 0; i < array_length(verbs); i++)
		for (size_t k = 0; k < verbs[i]->option_count; k++) {
			if (verbs[i]->options[k].kind == OPT_FLAG)
				continue;
			print_bash_option(verbs[i], &verbs[i]->options[k]);
			puts(") return 0 ;;");
		}
	puts("\tesac\n\treturn 1\n}");
}

static void print_bash(void)
{
	char *names cleanup_free = join_verbs();

	puts("# bash completion for tony; made by `tony completion bash`");
	print_bash_takes_value();
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
		[OPT_COMPLETE_JOB] = "_tony_words jobs all",
		[OPT_COMPLETE_KEY] = "_tony_keys",
		[OPT_COMPLETE_TASK] = "_tony_behind tasks",
		[OPT_COMPLETE_QUEUE] = "_tony_words queues all",
		[OPT_COMPLETE_TAG] = "_tony_words tags all",
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
		printf("\t\t\t'%s:job:_tony_words jobs %s' \\\n", takes_jobs(verb) ? "*" : "1",
		       completion_jobs_of(verb));
	if (*behind_job(verb))
		printf("\t\t\t'*:%s:_tony_behind %s' \\\n", behind_job(verb), behind_job(verb));
	if (*kind_of_operands(verb))
		printf("\t\t\t'*:%s:_tony_words %s all' \\\n", kind_of_operands(verb),
		       kind_of_operands(verb));
	if (takes_command(verb))
		puts("\t\t\t'*:::command:_normal' \\");
	puts("\t\t\t'--help[show help]' ;;");
}

static const char zsh_head[] =
	"#compdef tony\n"
	"# zsh completion for tony; made by `tony completion zsh`\n"
	"_tony_add() { compadd -- ${(f)\"$(tony completion $@ 2>/dev/null)\"} }\n"
	"_tony_words() { _tony_add $@[-2,-1] }\n"
	"# Of the first JOB that was typed: an id if there is one, else the first operand.\n"
	"_tony_behind() {\n"
	"\tlocal job=${${(M)words[2,CURRENT-1]:#(";

static const char zsh_behind_id[] =
	")*}[1]}\n"
	"\t_tony_add $@[-1] ${job:-${${words[2,CURRENT-1]:#-*}[1]}}\n"
	"}\n"
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
	const struct scheduler_client_ops *engine;

	fputs(zsh_head, stdout);
	for (size_t i = 0; (engine = scheduler_client_at(i)); i++)
		printf("%s%s", i > 0 ? "|" : "", engine->id_beginning);
	fputs(zsh_behind_id, stdout);
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

/* ---- fish --------------------------------------------------------------------------------- */

/* Inside single quotes. */
static void print_fish_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

/* Begins a line of the script: what is completed there, for this verb alone. */
static void print_fish_rule(const struct opt_table *verb, const char *also)
{
	printf("complete -c tony -n '__tony_is %s%s'", verb->verb, also);
}

static const char *fish_source(enum opt_completion completion)
{
	switch (completion) {
	case OPT_COMPLETE_FILE:
		return "-r -F";
	case OPT_COMPLETE_DIRECTORY:
		return "-x -a '(__fish_complete_directories)'";
	case OPT_COMPLETE_JOB:
		return "-x -k -a '(__tony_words jobs all)'";
	case OPT_COMPLETE_KEY:
		return "-x -a '(__tony_keys)'";
	case OPT_COMPLETE_TASK:
		return "-x -a '(__tony_words tasks (__tony_operand))'";
	case OPT_COMPLETE_QUEUE:
		return "-x -a '(__tony_words queues all)'";
	default:
		return "-x";
	}
}

static void print_fish_value(const struct opt_table *verb, const struct opt *opt)
{
	char *values cleanup_free = join_values(opt);

	if (values)
		printf(" -x -a '%s'", values);
	else if (opt->completion == OPT_COMPLETE_TAG)
		printf(" -x -a '(__tony_words tags %s)'", completion_jobs_of(verb));
	else
		printf(" %s", fish_source(opt->completion));
}

static void print_fish_option(const struct opt_table *verb, const struct opt *opt)
{
	print_fish_rule(verb, "");
	if (opt->letter)
		printf(" -s %c", opt->letter);
	printf(" -l %s", opt->name);
	if (opt->kind != OPT_FLAG)
		print_fish_value(verb, opt);
	fputs(" -d '", stdout);
	print_fish_text(opt->help);
	puts("'");
}

static void print_fish_job(const struct opt_table *verb)
{
	const char *behind = behind_job(verb);

	print_fish_rule(verb, takes_jobs(verb) ? "" : "; and not __tony_has_operand");
	printf(" -k -a '(__tony_words jobs %s)'\n", completion_jobs_of(verb));
	if (!*behind)
		return;
	print_fish_rule(verb, "; and __tony_has_operand");
	printf(" -a '(__tony_words %s (__tony_operand)%s)'\n", behind,
	       str_equal(behind, "types") ? " | string replace -r \\$ =" : "");
}

static void print_fish_verb(const struct opt_table *verb)
{
	struct str_list words cleanup_str_list = {0};

	fputs("complete -c tony -n __tony_needs_verb -a ", stdout);
	printf("%s -d '", verb->verb);
	print_fish_text(verb->summary);
	puts("'");
	for (size_t i = 0; i < verb->option_count; i++)
		print_fish_option(verb, &verb->options[i]);
	print_fish_rule(verb, "");
	puts(" -l help -d 'show help'");
	list_words(verb, &words);
	if (words.count > 0) {
		char *text cleanup_free = str_list_join(&words, " ");
		print_fish_rule(verb, "; and not __tony_has_operand");
		printf(" -a '%s'\n", text);
	}
	if (takes_example(verb)) {
		print_fish_rule(verb, "; and __tony_has_operand");
		puts(" -a '(__fish_complete_directories)'");
	}
	if (takes_job(verb))
		print_fish_job(verb);
	if (*kind_of_operands(verb)) {
		print_fish_rule(verb, "");
		printf(" -a '(__tony_words %s all)'\n", kind_of_operands(verb));
	}
}

static const char fish_head[] =
	"function __tony_words\n"
	"\ttony completion $argv 2>/dev/null\n"
	"end\n"
	"function __tony_needs_verb\n"
	"\ttest (count (commandline -opc)) -eq 1\n"
	"end\n"
	"# Is the cursor behind this verb, and not behind the -- of a command?\n"
	"function __tony_is\n"
	"\tset -l typed (commandline -opc)\n"
	"\ttest (count $typed) -gt 1; and test \"$typed[2]\" = $argv[1]; and not contains -- -- "
	"$typed\n"
	"end\n"
	"function __tony_is_command\n"
	"\tcontains -- -- (commandline -opc)\n"
	"end\n"
	"# The first operand of the verb that was typed before the cursor: its JOB, if it takes "
	"one.\n"
	"function __tony_operand\n"
	"\tset -l typed (commandline -opc)\n"
	"\tset -l is_value no\n"
	"\tfor word in $typed[3..-1]\n"
	"\t\tif test $is_value = yes\n"
	"\t\t\tset is_value no\n"
	"\t\telse if not string match -q -- '-*' $word\n"
	"\t\t\techo $word\n"
	"\t\t\treturn 0\n"
	"\t\telse if __tony_takes_value \"$typed[2]:$word\"\n"
	"\t\t\tset is_value yes\n"
	"\t\tend\n"
	"\tend\n"
	"\treturn 1\n"
	"end\n"
	"function __tony_has_operand\n"
	"\t__tony_operand >/dev/null\n"
	"end\n"
	"function __tony_keys\n"
	"\ttony config keys 2>/dev/null | string replace -rf '^ *(tony[.][^< ]*)( .*)?$' '$1='\n"
	"end\n"
	"complete -c tony -e\n"
	"complete -c tony -f\n"
	"complete -c tony -n __tony_is_command -F\n"
	"complete -c tony -n __tony_needs_verb -l help -d 'show help'\n"
	"complete -c tony -n __tony_needs_verb -l version -d 'show the version'\n"
	"complete -c tony -n __tony_needs_verb -a help -d 'show help'\n";

static void print_fish_takes_value(void)
{
	puts("function __tony_takes_value\n\tswitch $argv[1]");
	for (size_t i = 0; i < array_length(verbs); i++)
		for (size_t k = 0; k < verbs[i]->option_count; k++) {
			const struct opt *opt = &verbs[i]->options[k];
			if (opt->kind == OPT_FLAG)
				continue;
			printf("\tcase %s:--%s", verbs[i]->verb, opt->name);
			if (opt->letter)
				printf(" %s:-%c", verbs[i]->verb, opt->letter);
			puts("\n\t\treturn 0");
		}
	puts("\tend\n\treturn 1\nend");
}

static void print_fish(void)
{
	char *names cleanup_free = join_verbs();

	puts("# fish completion for tony; made by `tony completion fish`");
	print_fish_takes_value();
	fputs(fish_head, stdout);
	printf("complete -c tony -n '__tony_is help' -a '%s'\n", names);
	for (size_t i = 0; i < array_length(verbs); i++)
		print_fish_verb(verbs[i]);
}

/* ------------------------------------------------------------------------------------------- */

static int print_for(void *data, const struct verb_call *call, struct err *err)
{
	const char *shell = call->operands->count == 1 ? call->operands->items[0] : NULL;
	const char *of = call->operands->count == 2 ? call->operands->items[1] : NULL;
	struct err none cleanup_err = {0};

	/* A script has nobody to tell of a failure. */
	if ((call->operands->count == 1 || of) &&
	    completion_words(call->operands->items[0], of, &none))
		return 0;
	if (str_equal(shell, "bash"))
		print_bash();
	else if (str_equal(shell, "zsh"))
		print_zsh();
	else if (str_equal(shell, "fish"))
		print_fish();
	else
		return err_set(err, ERR_USAGE, "usage: %s", verb_completion.options.usage);
	return 0;
}

const struct verb verb_completion = {
	.options =
		{
			.verb = "completion",
			.usage = "tony completion bash|zsh|fish",
			.summary = "print a script that completes tony's command line",
			.description = "For bash: source <(tony completion bash). For zsh: put the "
				       "output of "
				       "`tony completion zsh` into a file named _tony on $fpath. "
				       "For fish: "
				       "tony completion fish | source.",
		},
	.run = print_for,
};
