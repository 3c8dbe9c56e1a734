#include "client/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/program.h"
#include "client/report.h"
#include "conf/problems.h"

static bool names_files(const struct description *description)
{
	if (description->src_dir || description->python_venv)
		return true;
	for (size_t i = 0; i < description->job->type_count; i++)
		if (description->resources[i].count > 0)
			return true;
	return false;
}

/* ---- in the current directory ------------------------------------------------------------- */

static const char *find_flaw(const char *directory)
{
	if (!directory || access(directory, X_OK) < 0)
		return strerror(errno);
	if (strlen(directory) > JOB_TEXT_CAP)
		return "its path is too long";
	if (!str_is_utf8(directory, strlen(directory)))
		return "its path is not UTF-8";
	return NULL;
}

static char *find_current(void)
{
	char *directory cleanup_free = getcwd(NULL, 0);
	const char *flaw = find_flaw(directory);

	if (!flaw)
		return mem_steal(&directory);
	report_note("warning: the current directory: %s; each task runs in a directory of its "
		    "own",
		    flaw);
	return NULL;
}

/* A directory that the user, or the job that this one repeats, has named. */
static int check_named(const char *directory, struct err *err)
{
	bool is_other = fs_exists(directory) && !fs_is_directory(directory);
	const char *flaw = is_other ? strerror(ENOTDIR) : find_flaw(directory);

	return flaw ? err_set(err, ERR_CONFIG,
			      "the job's directory, \"%s\": %s; put it there again, or name its "
			      "files with --src_dir (tony.application.work-dir)",
			      directory, flaw)
		    : 0;
}

static int place_in_directory(const struct description *description, struct err *err)
{
	struct job *job = description->job;

	if (description->work_dir && check_named(description->work_dir, err) < 0)
		return -1;
	job->work_dir = description->work_dir ? mem_strdup(description->work_dir) : find_current();
	if (job->work_dir)
		describe_record_place(job);
	return 0;
}

/* ---- elsewhere ---------------------------------------------------------------------------- */

static bool is_staged(const char *word, const char *name)
{
	size_t length = strlen(name);

	return str_starts_with(word, name) && (word[length] == '\0' || word[length] == '/');
}

/* Is it below the current directory, and not among what the tasks are given? */
static bool is_left_behind(const struct description *description, size_t type, const char *word)
{
	const struct resource_list *resources = &description->resources[type];

	while (str_starts_with(word, "./"))
		word += 2;
	if (!*word || *word == '/' || is_staged(word, ".") || is_staged(word, "..") ||
	    !fs_exists(word) || (description->python_venv && is_staged(word, "venv")))
		return false;
	for (size_t i = 0; i < resources->count; i++)
		if (is_staged(word, resources->items[i].name))
			return false;
	return true;
}

static bool is_regular_file(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* "mpirun ./solver" */
static bool is_program(const char *word)
{
	return strchr(word, '/') && access(word, X_OK) == 0;
}

static void refuse_word(const char *scheduler, const char *word, struct problems *problems)
{
	char *text cleanup_free = mem_printf(
		"the command names \"%s\" of the current directory, which tasks of the "
		"scheduler %s do not see; add --src_dir ., or write its whole path where "
		"the nodes have it",
		word, scheduler);

	if (!str_list_has(&problems->errors, text))
		problems_error(problems, PROBLEM_FILE, "%s", text);
}

/* A program may well make the file anew: nothing but a warning. */
static void doubt_word(const char *scheduler, const char *word, struct problems *problems)
{
	char *text cleanup_free = mem_printf("tasks of the scheduler %s do not see \"%s\" of the "
					     "current directory; if they read it, add --src_dir .",
					     scheduler, word);

	if (!str_list_has(&problems->warnings, text))
		problems_warning(problems, "%s", text);
}

static void check_words(const struct description *description, size_t type,
			struct problems *problems)
{
	struct str_list programs cleanup_str_list = {0}, arguments cleanup_str_list = {0};

	program_words(description->job->types[type].command, &programs, &arguments);
	for (size_t i = 0; i < programs.count; i++)
		if (is_left_behind(description, type, programs.items[i]))
			refuse_word(description->scheduler, programs.items[i], problems);
	for (size_t i = 0; i < arguments.count; i++) {
		const char *word = arguments.items[i];
		if (!is_left_behind(description, type, word) || !is_regular_file(word))
			continue;
		if (is_program(word))
			refuse_word(description->scheduler, word, problems);
		else
			doubt_word(description->scheduler, word, problems);
	}
}

static int check_commands(const struct description *description, struct err *err)
{
	struct problems problems = {0};

	for (size_t i = 0; i < description->job->type_count; i++)
		if (description->job->types[i].instances > 0)
			check_words(description, i, &problems);
	for (size_t i = 0; i < problems.warnings.count; i++)
		report_note("warning: %s", problems.warnings.items[i]);
	int result = problems_to_err(&problems, err);
	problems_finish(&problems);
	return result;
}

int place_tasks(const struct description *description, const struct scheduler_client_ops *ops,
		struct err *err)
{
	if (ops->traits->shares_files && !names_files(description))
		return place_in_directory(description, err);
	if (ops->traits->shares_files || description->src_dir)
		return 0;
	return check_commands(description, err);
}

/* ---- afterwards --------------------------------------------------------------------------- */

char *place_work(const struct opened *opened)
{
	const char *shared = opened->view->job->work_dir;
	char *containers cleanup_free = fs_join(opened->door.job_dir, "containers");

	if (shared)
		return mem_strdup(shared);
	if (!opened->ops->traits->shares_files || !fs_is_directory(containers))
		return NULL;
	if (opened->view->task_count > 1 || opened->view->tasks->attempt == 0)
		return fs_join(containers, "*/work");
	const struct task_view *task = opened->view->tasks;
	return mem_printf("%s/%s-%d-%d/work", containers, opened->view->job->types[task->type].name,
			  task->index, task->attempt);
}
