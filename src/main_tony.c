/* tony: the verbs of users. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "client/exit_code.h"
#include "client/other_tools.h"
#include "client/report.h"
#include "client/sweep_control.h"
#include "client/sweep_run.h"
#include "client/verbs.h"

enum { SUMMARY_COLUMN = 14 };

#define VERB_ROW(name) &verb_##name,
static const struct verb *const verbs[] = {VERBS(VERB_ROW)};

static void print_help(FILE *stream)
{
	struct str text cleanup_str = {0};
	size_t width = report_width(stream);

	opt_help_text("tony - run distributed machine-learning jobs", width, &text);
	str_append(&text, "\nUsage: tony VERB [OPTIONS] [ARGUMENTS]\n\n");
	for (size_t i = 0; i < array_length(verbs); i++) {
		char *head cleanup_free = mem_printf("  %s", verbs[i]->options.verb);
		opt_help_line(head, verbs[i]->options.summary, SUMMARY_COLUMN, width, &text);
	}
	str_append_char(&text, '\n');
	opt_help_text(
		"tony VERB --help tells more about a verb; so does tony-VERB(1). The keys of a "
		"job are in tony-conf(5).\n"
		"To begin with: tony submit -- python3 train.py",
		width, &text);
	fputs(str_text(&text), stream);
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < array_length(verbs); i++)
		if (strcmp(verbs[i]->options.verb, name) == 0)
			return verbs[i];
	return NULL;
}

static int unknown_verb(const char *name)
{
	const char *names[array_length(verbs)];

	for (size_t i = 0; i < array_length(verbs); i++)
		names[i] = verbs[i]->options.verb;
	const char *meant = other_tools_verb(name);
	const char *nearest = meant ? meant : str_nearest(name, names, array_length(names));
	if (nearest)
		report_note("unknown verb \"%s\"; did you mean %s%s? see tony --help", name,
			    meant ? "" : "tony ", nearest);
	else
		report_note("unknown verb \"%s\"; see tony --help", name);
	return EXIT_CODE_USAGE;
}

/* tony help [VERB] */
static int help(int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;
	char *help_argv[] = {argc > 1 ? argv[1] : NULL, "--help", NULL};

	if (argc > 1)
		return verb ? verbs_run(verb, 2, help_argv) : unknown_verb(argv[1]);
	print_help(stdout);
	return EXIT_CODE_OK;
}

static int run(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : NULL;

	if (!first) {
		print_help(stderr);
		return EXIT_CODE_USAGE;
	}
	if (opt_is_help(first) || strcmp(first, "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(first, SWEEP_RUN_VERB) == 0)
		return verbs_run(&verb_run_sweep, argc - 1, argv + 1);
	if (strcmp(first, "--version") == 0)
		return verbs_run(&verb_version, 1, argv);
	/* As TonY is called: options, and no verb. argv[0] stands where the verb would. */
	if (first[0] == '-')
		return verbs_run(&verb_submit, argc, argv);
	const struct verb *verb = find_verb(first);
	return verb ? verbs_run(verb, argc - 1, argv + 1) : unknown_verb(first);
}

/* Else a file of ours would become standard output, and what is printed would go there. Reading
 * from and writing to these fails. */
static void hold_closed_streams(void)
{
	static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};

	for (int fd = 0; fd < (int)array_length(modes); fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) < 0)
			return;
}

int main(int argc, char **argv)
{
	hold_closed_streams();
	limits_take();
	json_overwrite_freed();
	/* As in main_agent.c: no machine's openssl.cnf. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	log_open("tony", LOG_LEVEL_WARNING);
	int code = run(argc, argv);
	errno = 0; /* it is of another call where an earlier flush failed */
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno == 0)
		(void)!write(STDOUT_FILENO, "", 0);
	report_note("standard output: %s",
		    errno ? strerror(errno) : "not all of it could be written");
	return code == EXIT_CODE_OK ? EXIT_CODE_INTERNAL : code;
}
