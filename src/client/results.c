#include "client/results.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "scheduler/yarn_fetch.h"

static const struct job *job_of(const struct opened *opened)
{
	return opened->view->job;
}

/* Where they are brought to, below `directory`. */
static char *target_of(const struct opened *opened, const char *directory)
{
	return fs_join(directory, opened->id);
}

char *results_place(const struct opened *opened)
{
	const struct job *job = job_of(opened);
	char *brought cleanup_free = job->results_dir ? target_of(opened, job->results_dir) : NULL;

	if (brought && fs_is_directory(brought))
		return mem_steal(&brought);
	return mem_strdup(job->output_dir);
}

bool results_are_in(const char *directory)
{
	struct fs_tree_size size = {0};

	if (fs_is_directory(directory))
		fs_measure_tree(directory, 1, &size);
	return size.files > 0;
}

/* ---- putting in place --------------------------------------------------------------------- */

static int move_all(const char *from, const char *to, struct err *err);

/* Nothing is written through a symbolic link. */
static int move_directory(const char *from, const char *to, struct err *err)
{
	struct stat info;

	if (mkdir(to, 0777) < 0 && errno != EEXIST)
		return err_set_errno(err, "%s", to);
	if (lstat(to, &info) < 0)
		return err_set_errno(err, "%s", to);
	if (!S_ISDIR(info.st_mode))
		return err_set(err, ERR_IO,
			       "%s is no directory, and the results have one of that name; remove "
			       "it, or name another place",
			       to);
	return move_all(from, to, err);
}

static int move_one(const char *from, const char *to, struct err *err)
{
	struct stat info;

	if (lstat(from, &info) < 0)
		return err_set_errno(err, "%s", from);
	if (S_ISDIR(info.st_mode))
		return move_directory(from, to, err);
	return rename(from, to) < 0 ? err_set_errno(err, "%s", to) : 0;
}

static int move_all(const char *from, const char *to, struct err *err)
{
	DIR *directory cleanup_dir = opendir(from);
	const struct dirent *entry;
	int result = 0;

	if (!directory)
		return err_set_errno(err, "%s", from);
	while (result == 0 && (entry = readdir(directory))) {
		char *source cleanup_free = fs_join(from, entry->d_name);
		char *target cleanup_free = fs_join(to, entry->d_name);
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			result = move_one(source, target, err);
	}
	return result;
}

/* ---- bringing ----------------------------------------------------------------------------- */

/* 1: nothing is there. */
static int copy(const struct opened *opened, const char *part, struct err *err)
{
	const struct job *job = job_of(opened);

	if (str_starts_with(job->output_dir, "hdfs://"))
		return yarn_fetch_results(job, part, err);
	if (!results_are_in(job->output_dir))
		return 1;
	return fs_clone_tree(job->output_dir, part, 0, err);
}

static int bring_through(const struct opened *opened, const char *part, const char *target,
			 struct err *err)
{
	int result = copy(opened, part, err);

	if (result == 0)
		result = move_directory(part, target, err);
	fs_remove_tree(part, NULL);
	return result;
}

int results_bring(const struct opened *opened, const char *directory, struct err *err)
{
	const struct job *job = job_of(opened);
	char *target cleanup_free = target_of(opened, directory);
	char *part cleanup_free = mem_printf("%s.part.%d", target, getpid());

	if (!job->output_dir)
		return err_set(err, ERR_NOT_FOUND,
			       "%s has no directory for results: another version of tony "
			       "submitted it",
			       opened->id);
	if (str_equal(target, job->output_dir))
		return results_are_in(target) ? 0 : 1;
	if (fs_make_directories(directory, 0777, err) < 0)
		return -1;
	int result = bring_through(opened, part, target, err);
	if (result < 0)
		err_wrap(err, "the results of %s are not all in %s", opened->id, target);
	return result;
}

int results_conclude(const struct opened *opened, int code)
{
	const struct job *job = job_of(opened);
	struct err err cleanup_err = {0};

	if (!opened->view->is_final || !job->results_dir)
		return code;
	int result = results_bring(opened, job->results_dir, &err);
	if (result == 0) {
		char *target cleanup_free = target_of(opened, job->results_dir);
		fprintf(stderr, "tony: output: %s\n", target);
	}
	if (result >= 0)
		return code;
	err_wrap(&err, "tony results %s --output DIR tries again", opened->id);
	int failure = report_error(&err);
	return code == EXIT_CODE_OK ? failure : code;
}
