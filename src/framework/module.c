#include "framework/module.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/helper.h"
#include "base/mem.h"
#include "base/shell.h"
#include "framework/framework.h"

enum {
	SCRIPT_CAP = 1 << 20,
	POLL_MS = 2,
	ANSWER_MISSING = 7, /* no code that an interpreter has of its own */
};

/* Nothing is imported from the script's directory, in which others may write: neither what this
 * needs itself nor the packages around the module. */
static const char question[] =
	"import sys\n"
	"saved = sys.path[:]\n"
	"sys.path[:] = [place for place in saved if place not in ('', '.', sys.argv[2])]\n"
	"from importlib.machinery import PathFinder\n"
	"from importlib.util import find_spec\n"
	"sys.path[:] = saved\n"
	"name, *rest = sys.argv[1].split('.')\n"
	"spec = find_spec(name)\n"
	"for part in rest:\n"
	"    name += '.' + part\n"
	"    spec = spec and PathFinder.find_spec(name, spec.submodule_search_locations or [])\n"
	"sys.exit(0 if spec else 7)\n";

/* ---- the program -------------------------------------------------------------------------- */

static bool is_python(const char *word)
{
	const char *name = fs_basename(word);

	return str_starts_with(name, "python") &&
	       name[strlen("python") + strspn(name + strlen("python"), "0123456789.")] == '\0';
}

/* The first word that is neither an option without a value, such as -u, nor "exec"; "-" is no
 * option but standard input. */
static char *next_plain(const char **command, bool is_first)
{
	bool plain = true;

	for (;;) {
		char *word cleanup_free = shell_next_word(command, &plain);
		if (!word || !plain)
			return NULL;
		if (is_first ? str_equal(word, "exec")
			     : word[0] == '-' && word[1] &&
				       word[strspn(word, "-bBdEiIOqsSuvx")] == '\0')
			continue;
		return mem_steal(&word);
	}
}

bool module_find_program(const char *command, struct module_program *program)
{
	program->interpreter = next_plain(&command, true);
	if (!program->interpreter || !is_python(program->interpreter))
		return false;
	program->script = next_plain(&command, false);
	return program->script && str_ends_with(program->script, ".py");
}

void module_program_finish(struct module_program *program)
{
	free(program->interpreter);
	free(program->script);
	*program = (struct module_program){0};
}

/* ---- the script --------------------------------------------------------------------------- */

/* "torch", "torch.nn" and "torch as t" are of torch, "torchvision" is not. */
static bool is_of(const char *name, const char *module)
{
	size_t length = strlen(module);

	return strncmp(name, module, length) == 0 && strchr(". ,\t\r\n;", name[length]);
}

/* A file of the job's, which may do anything: change sys.path, install a package. */
static bool is_beside(const char *name, const char *directory)
{
	char *folder cleanup_free =
		mem_printf("%s/%.*s", directory, (int)strcspn(name, ". ,\t\r\n;#"), name);
	char *file cleanup_free = mem_printf("%s.py", folder);

	return fs_exists(folder) || fs_exists(file);
}

/* The verdict on a line of the script. */
enum line { LINE_IMPORTS, LINE_NEUTRAL, LINE_UNKNOWN };

/* `names`: "os, torch as t", or what stands behind "from". */
static enum line judge_names(const char *names, const char *ends, const char *directory,
			     const char *module)
{
	for (;;) {
		names += strspn(names, " \t");
		if (is_of(names, module))
			return LINE_IMPORTS;
		if (is_beside(names, directory))
			return LINE_UNKNOWN;
		names += strcspn(names, ends);
		if (*names != ',')
			return *names == ';' ? LINE_UNKNOWN : LINE_NEUTRAL;
		names++;
	}
}

/* Only imports precede it, so an indented line or ")" goes on with one of them. */
static enum line judge_line(const char *line, const char *directory, const char *module)
{
	if (str_starts_with(line, "from "))
		return judge_names(line + strlen("from "), ";#\n", directory, module);
	if (str_starts_with(line, "import "))
		return judge_names(line + strlen("import "), ",;#\n", directory, module);
	return strchr("# \t\r\n)", *line) ? LINE_NEUTRAL : LINE_UNKNOWN;
}

/* Behind a string that begins the line, as a docstring does; NULL: none does. */
static const char *skip_string(const char *line)
{
	line += *line && strchr("rRuU", *line);
	const char mark[] = {line[0], line[0], line[0]};
	if (*line != '"' && *line != '\'')
		return NULL;
	size_t length = strncmp(line, mark, sizeof(mark)) == 0 ? sizeof(mark) : 1;
	for (line += length; *line && strncmp(line, mark, length) != 0; line++)
		line += line[0] == '\\' && line[1];
	return *line ? line + length : line;
}

char *module_directory(const char *script)
{
	char *real cleanup_free = realpath(script, NULL);

	return fs_dirname(real ? real : script);
}

bool module_is_imported(const char *script, const char *module)
{
	size_t length;
	char *text cleanup_free = fs_read_file(script, SCRIPT_CAP, &length, NULL);
	char *directory cleanup_free = module_directory(script);
	enum line verdict = LINE_NEUTRAL;

	for (const char *line = text; line && *line && verdict == LINE_NEUTRAL;) {
		const char *behind = skip_string(line);
		line = behind ? behind + strspn(behind, " \t") : line;
		verdict = behind && !strchr("#\r\n", *line) ? LINE_UNKNOWN
							    : judge_line(line, directory, module);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return verdict == LINE_IMPORTS;
}

/* ---- the interpreter ---------------------------------------------------------------------- */

void module_add_environment(const struct job_type *type, struct environment *environment)
{
	for (size_t i = 0; i < type->environment.count; i++) {
		const char *pair = type->environment.items[i];
		if (strchr(pair, '='))
			environment_set_pair(environment, pair);
		else
			environment_remove(environment, pair);
	}
}

/* False: it had to be killed. */
static bool await_end(pid_t pid, int64_t patience_ms, int *status)
{
	int64_t deadline = clock_monotonic_ms() + patience_ms;
	pid_t ended;

	while ((ended = waitpid(pid, status, WNOHANG)) == 0 && clock_monotonic_ms() < deadline)
		poll(NULL, 0, POLL_MS);
	if (ended != 0)
		return ended == pid;
	/* The session, since an interpreter may be a script that starts another one. */
	kill(-pid, SIGKILL);
	waitpid(pid, status, 0);
	return false;
}

enum module_verdict module_ask(const char *interpreter, const char *directory, const char *module,
			       const struct environment *environment, int64_t patience_ms)
{
	char *const arguments[] = {(char *)interpreter, "-c", (char *)question, (char *)module,
				   (char *)directory,	NULL};
	int status = 0, nowhere cleanup_close = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere < 0)
		return MODULE_UNKNOWN;
	pid_t pid = helper_start(arguments, directory, environment->entries.items, nowhere);
	if (pid < 0 || !await_end(pid, patience_ms, &status) || !WIFEXITED(status))
		return MODULE_UNKNOWN;
	if (WEXITSTATUS(status) == ANSWER_MISSING)
		return MODULE_MISSING;
	return WEXITSTATUS(status) == 0 ? MODULE_FOUND : MODULE_UNKNOWN;
}
