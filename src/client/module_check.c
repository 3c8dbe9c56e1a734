#include "client/module_check.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/secret.h"
#include "client/program.h"
#include "framework/framework.h"
#include "scheduler/state_dir.h"

#define REMEMBERED_MS 86400000

struct question {
	const char *module, *directory;
	const struct environment *environment;
	int64_t patience_ms;
};

static enum module_verdict ask(const struct question *question, const char *interpreter)
{
	/* The interpreter is started in another directory. */
	char *path cleanup_free = interpreter[0] == '/'
					  ? mem_strdup(interpreter)
					  : mem_printf("/proc/%d/cwd/%s", getpid(), interpreter);

	return module_ask(path, question->directory, question->module, question->environment,
			  question->patience_ms);
}

/* ---- answers from before ------------------------------------------------------------------ */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* An empty file of the cache, which ages as the locks of archives there do. */
static char *remembered_path(const struct question *question, const char *interpreter)
{
	char *state cleanup_free = state_dir_find(NULL);
	char *key cleanup_free =
		mem_printf("%s\n%s\n%s\n%s\n%s", interpreter, question->module, question->directory,
			   or_empty(environment_get(question->environment, "PYTHONPATH")),
			   or_empty(environment_get(question->environment, "HOME")));
	char *hash cleanup_free = secret_hash(key);

	return state ? mem_printf("%s/cache/%s" STATE_DIR_CACHE_LOCK, state, hash) : NULL;
}

static bool is_remembered(const char *path)
{
	struct stat info;

	return path && stat(path, &info) == 0 &&
	       clock_wall_ms() - fs_modified_ms(&info) < REMEMBERED_MS;
}

/* A submission shall wait for an interpreter to say so once a day, not each time. */
static void remember(const char *path)
{
	char *cache cleanup_free = path ? fs_dirname(path) : NULL;

	if (!cache || state_dir_make(cache, NULL) < 0)
		return;
	int fd cleanup_close = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		futimens(fd, NULL);
}

static enum module_verdict find(const struct question *question, const char *interpreter)
{
	char *path cleanup_free = remembered_path(question, interpreter);

	if (is_remembered(path))
		return MODULE_FOUND;
	enum module_verdict verdict = ask(question, interpreter);
	if (verdict == MODULE_FOUND)
		remember(path);
	return verdict;
}

/* ---- another interpreter ------------------------------------------------------------------ */

static void add_matches(const char *directory, const char *pattern, struct str_list *paths)
{
	char *whole cleanup_free = mem_printf("%s/%s", directory, pattern);
	glob_t found = {0};

	if (glob(whole, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			str_list_add(paths, found.gl_pathv[i]);
	globfree(&found);
}

/* No user has named it, and it is run: each part of the way to it is the user's own. Relative: the
 * owner of a directory above this one can put another one at its path in between. */
static void add_environment_here(const char *name, struct str_list *paths)
{
	char *programs cleanup_free = fs_join(name, "bin");
	char *python cleanup_free = fs_join(programs, "python3");

	if (fs_is_own(name) && fs_is_own(programs) && fs_is_own(python))
		str_list_add(paths, python);
}

static void add_environments(struct str_list *paths)
{
	static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};

	for (size_t i = 0; i < array_length(names); i++)
		if (getenv(names[i]))
			add_matches(getenv(names[i]), "bin/python3", paths);
	add_environment_here("venv", paths);
	add_environment_here(".venv", paths);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat info_a, info_b;

	return stat(a, &info_a) == 0 && stat(b, &info_b) == 0 && info_a.st_dev == info_b.st_dev &&
	       info_a.st_ino == info_b.st_ino;
}

/* A virtual environment's link in another directory is another interpreter. */
static bool is_same_interpreter(const char *a, const char *b)
{
	char *directory_a cleanup_free = fs_dirname(a), *directory_b cleanup_free = fs_dirname(b);

	return is_same_file(a, b) && is_same_file(directory_a, directory_b);
}

static bool is_asked(const struct str_list *paths, size_t count, const char *interpreter)
{
	for (size_t i = 0; i < count; i++)
		if (is_same_interpreter(paths->items[i], interpreter))
			return true;
	return false;
}

static char *find_other(const struct question *question, const char *refused, const char *path)
{
	struct str_list directories cleanup_str_list = {0}, paths cleanup_str_list = {0};

	str_list_add(&paths, refused);
	add_environments(&paths);
	str_split(&directories, path ? path : "", ':');
	for (size_t i = 0; i < directories.count; i++) {
		add_matches(directories.items[i], "python3", &paths);
		add_matches(directories.items[i], "python3.[0-9]", &paths);
		add_matches(directories.items[i], "python3.[0-9][0-9]", &paths);
	}
	for (size_t i = 1; i < paths.count; i++)
		if (!is_asked(&paths, i, paths.items[i]) &&
		    ask(question, paths.items[i]) == MODULE_FOUND)
			return fs_absolute(paths.items[i], NULL);
	return NULL;
}

/* ---- the check ---------------------------------------------------------------------------- */

static bool has_venv(const struct stage_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (str_equal(files->items[i].name, "venv"))
			return true;
	return false;
}

/* `words`: the program as the command has it. */
static char *find_remedy(const struct question *question, const struct module_program *words,
			 const char *interpreter, const struct stage_files *files, const char *path)
{
	if (str_starts_with(words->interpreter, "venv/"))
		return mem_strdup("install it there");
	if (has_venv(files))
		return mem_printf(
			"write venv/bin/python3 %s, and the one of --python_venv is taken",
			words->script);
	char *other cleanup_free = find_other(question, interpreter, path);
	return other ? mem_printf("%s has it: write %s %s", other, other, words->script)
		     : mem_printf("install it there, or give --python_venv and write "
				  "venv/bin/python3 %s",
				  words->script);
}

static char *tell_missing(const struct question *question, const struct module_program *words,
			  const char *interpreter, const struct stage_files *files,
			  const char *path)
{
	char *remedy cleanup_free = find_remedy(question, words, interpreter, files, path);

	return mem_printf("%s imports %s, which %s does not have; %s", fs_basename(words->script),
			  question->module, interpreter, remedy);
}

bool module_check(const struct job *job, size_t type, const struct stage_files *files,
		  const char *path, int64_t patience_ms, char **text)
{
	struct module_program program cleanup_module_program = {0};
	struct module_program words cleanup_module_program = {0};
	struct environment environment cleanup_environment = {0};
	char *module cleanup_free = framework_module(job);

	*text = NULL;
	if (!module ||
	    !program_find_python(job->types[type].command, job->work_dir, files, path, &program) ||
	    !module_is_imported(program.script, module))
		return true;
	environment_inherit(&environment);
	module_add_environment(&job->types[type], &environment);
	char *directory cleanup_free = module_directory(program.script);
	const struct question question = {module, directory, &environment, patience_ms};
	switch (find(&question, program.interpreter)) {
	case MODULE_FOUND:
		*text = mem_printf("%s, of %s", module, program.interpreter);
		break;
	case MODULE_MISSING:
		module_find_program(job->types[type].command, &words);
		*text = tell_missing(&question, &words, program.interpreter, files, path);
		return false;
	case MODULE_UNKNOWN:
		break;
	}
	return true;
}
