#include "client/results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/keeper.h"
#include "base/mem.h"
#include "base/user.h"
#include "client/bar.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "net/interrupt.h"
#include "scheduler/fetch.h"

enum {
	TICK_MS = 1000,	    /* of the coarsest clock of a file system */
	COUNT_CAP = 200000, /* counting more files would be a wait of its own */
};

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

bool results_are_stored(const char *place)
{
	return fetch_is_needed(place);
}

static bool is_users(uid_t owner, const char *user)
{
	uid_t uid;

	return user_is_trusted(owner) || (user && user_find(user, &uid) == 0 && uid == owner);
}

/* Results that their user has moved elsewhere, as a link in their place says. */
static int open_linked(const char *directory, const char *owner, struct err *err)
{
	int fd cleanup_close = fs_open_own(directory, NULL);
	struct stat info;

	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
		return mem_steal_fd(&fd);
	return err_set(
		err, ERR_DENIED,
		"%s is a symbolic link of %s, and does not lead to a directory that only you "
		"and root can replace: no results are read there; remove the link, and move "
		"the results back",
		directory, owner);
}

int results_open(const char *directory, const char *user, struct err *err)
{
	int held cleanup_close = open(directory, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (held < 0 || fstat(held, &info) < 0)
		return err_set_errno(err, "%s", directory);
	char *owner cleanup_free = user_name_of(info.st_uid);
	if (S_ISLNK(info.st_mode))
		return open_linked(directory, owner, err);
	if (!is_users(info.st_uid, user))
		return err_set(err, ERR_DENIED,
			       "%s belongs to %s, who is not the job's user: no results are read "
			       "there",
			       directory, owner);
	if (!S_ISDIR(info.st_mode))
		return err_set(err, ERR_DENIED,
			       "%s, which belongs to %s, is no directory any more: no results are "
			       "read there",
			       directory, owner);
	int fd = openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set_errno(err, "%s", directory) : fd;
}

/* However its path leads by now. The caller frees. */
static char *path_of(int directory)
{
	return mem_printf("/proc/self/fd/%d/.", directory);
}

static bool has_files(int directory)
{
	char *path cleanup_free = path_of(directory);
	struct fs_tree_size size = {0};

	fs_measure_tree(path, 1, &size);
	return size.files > 0;
}

bool results_are_in(const char *directory, const char *user)
{
	int fd cleanup_close = results_open(directory, user, NULL);

	return fd >= 0 && has_files(fd);
}

const char *results_user(const struct opened *opened)
{
	return opened_is_others(opened) ? opened->door.user : NULL;
}

/* ---- putting in place --------------------------------------------------------------------- */

/* Root may do to a directory what its owner may. */
static int check_owner(const char *path, const struct stat *info, struct err *err)
{
	char *owner cleanup_free = user_name_of(info->st_uid);

	if (user_is_trusted(info->st_uid))
		return 0;
	return err_set(err, ERR_DENIED,
		       "%s belongs to %s, who could read and replace the results; remove it, or "
		       "name another place",
		       path, owner);
}

/* Directory `name` below an open one, by no symbolic link; its descriptor. */
static int open_own(int at, const char *name, const char *path, struct err *err)
{
	int fd cleanup_close = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return err_set(err, ERR_IO,
			       "%s is a file or a link, but the results need a directory there; "
			       "remove it, or name another place",
			       path);
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set_errno(err, "%s", path);
	return check_owner(path, &info, err) < 0 ? -1 : mem_steal_fd(&fd);
}

static int move_all(int from, int to, const char *path, struct err *err);

/* Both are held open on the way, so whatever another user puts in their place gets nothing. */
static int move_directory(int from_at, const char *from_name, int to_at, const char *to_name,
			  const char *path, struct err *err)
{
	if (mkdirat(to_at, to_name, 0700) < 0 && errno != EEXIST)
		return err_set_errno(err, "%s", path);
	int from cleanup_close = open_own(from_at, from_name, path, err);
	int to cleanup_close = from < 0 ? -1 : open_own(to_at, to_name, path, err);
	return to < 0 ? -1 : move_all(from, to, path, err);
}

static int move_one(int from, int to, const char *name, const char *path, struct err *err)
{
	struct stat info;

	if (fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set_errno(err, "%s", path);
	if (S_ISDIR(info.st_mode))
		return move_directory(from, name, to, name, path, err);
	return renameat(from, name, to, name) < 0 ? err_set_errno(err, "%s", path) : 0;
}

static int move_all(int from, int to, const char *path, struct err *err)
{
	int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory cleanup_dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;
	int result = 0;

	if (!directory)
		return err_set_errno(err, "%s", path);
	while (result == 0 && (entry = readdir(directory))) {
		char *target cleanup_free = fs_join(path, entry->d_name);
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			result = move_one(from, to, entry->d_name, target, err);
	}
	return result;
}

/* ---- bringing ----------------------------------------------------------------------------- */

/* The first part of a path that is there, without links. */
static char *find_real(const char *path)
{
	char *at cleanup_free = mem_strdup(path), *real;

	while (!(real = realpath(at, NULL)) && !str_equal(at, "/"))
		mem_replace(&at, fs_dirname(at));
	return real ? real : mem_strdup("/");
}

static bool is_same(const char *path, const struct stat *directory)
{
	struct stat info;

	return stat(path, &info) == 0 && info.st_dev == directory->st_dev &&
	       info.st_ino == directory->st_ino;
}

/* However the two are spelled. A part that is not there would be made. */
static bool is_within(const char *path, const char *directory)
{
	char *at cleanup_free = find_real(path);
	struct stat info;

	if (stat(directory, &info) < 0)
		return false;
	while (!is_same(at, &info)) {
		if (str_equal(at, "/"))
			return false;
		mem_replace(&at, fs_dirname(at));
	}
	return true;
}

/* 1: the results are there already. A program may have its files open: they are not to be
 * replaced by a copy. */
static int compare_places(const char *source, const char *target, struct err *err)
{
	struct stat info;

	if (results_are_stored(source))
		return 0;
	if (str_equal(source, target) || (stat(source, &info) == 0 && is_same(target, &info)))
		return 1;
	if (!is_within(target, source) && !is_within(source, target))
		return 0;
	return err_set(err, ERR_USAGE,
		       "%s and %s, where the results are, lie one in the other; name a directory "
		       "beside them",
		       target, source);
}

struct copying {
	const char *source, *target;
	const char *shown; /* what messages call the source */
	const char *id;	   /* of the job */
	int64_t length;	   /* of all files; 0: not known */
	struct bar bar;
};

static void tell_left_out(struct copying *copying, const char *path, const char *why)
{
	char *shown cleanup_free = fs_join(copying->shown, path + strlen(copying->source) + 1);

	bar_clear(&copying->bar);
	report_note("left out: %s: %s", shown, why);
}

static void on_passed_over(void *data, const char *path)
{
	tell_left_out(data, path, "is neither a file, a directory nor a symbolic link");
}

static void on_vanished(void *data, const char *path)
{
	tell_left_out(data, path, "was removed or renamed meanwhile; the same command looks again");
}

/* As it was brought before: of the same length and time. Right after it was written, its program
 * may have written to it again within the tick of a clock. */
static bool is_brought(const struct copying *copying, const char *name, int64_t length,
		       int64_t modified_ms)
{
	char *path cleanup_free = fs_join(copying->target, name);
	struct stat info;

	if (lstat(path, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size != length)
		return false;
	int64_t brought_ms = (int64_t)info.st_ctim.tv_sec * 1000;
	return fs_modified_ms(&info) == modified_ms && brought_ms > modified_ms + TICK_MS;
}

static bool is_stored_brought(void *data, const char *name, int64_t length, int64_t modified_ms)
{
	return is_brought(data, name, length, modified_ms);
}

static bool is_file_brought(void *data, const char *path, const struct stat *info)
{
	const struct copying *copying = data;
	const char *name = path + strlen(copying->source) + 1;

	return is_brought(copying, name, info->st_size, fs_modified_ms(info));
}

static bool on_progress(void *data, int64_t bytes, int64_t total)
{
	struct copying *copying = data;

	return bar_show(&copying->bar, copying->id, bytes, total);
}

static bool on_copied(void *data, int64_t bytes)
{
	const struct copying *copying = data;

	return on_progress(data, bytes, copying->length);
}

static int copy_here(struct copying *copying, const char *part, struct err *err)
{
	const struct fs_clone_watch watch = {.progress = on_copied,
					     .passed_over = on_passed_over,
					     .vanished = on_vanished,
					     .is_there = is_file_brought,
					     .data = copying};
	struct fs_tree_size size;

	fs_measure_tree(copying->source, COUNT_CAP, &size);
	copying->length = size.is_more ? 0 : size.bytes;
	int result = fs_clone_tree_watched(copying->source, part, FS_CLONE_NO_SET_ID, &watch, err);
	return result < 0 ? err_rename(err, copying->source, copying->shown) : result;
}

/* `source`: the directory that is open; -1: the results are stored. 1: nothing is there. */
static int copy(const struct opened *opened, int source, const char *part, const char *target,
		struct err *err)
{
	const struct job *job = job_of(opened);
	char *path cleanup_free = path_of(source);
	struct copying copying = {
		.source = path, .target = target, .shown = job->output_dir, .id = opened->id};
	const struct fetch_results_watch watch = {is_stored_brought, on_progress, &copying,
						  results_user(opened)};
	bool is_stored = source < 0;

	if (!is_stored && !has_files(source))
		return 1;
	bar_begin(&copying.bar, "fetching", interrupt_is_pending);
	int result =
		is_stored ? fetch_results(job, part, &watch, err) : copy_here(&copying, part, err);
	bar_clear(&copying.bar);
	return result;
}

/* Through a directory beside it, of which nothing is left whatever happens. `shown`: the target in
 * messages. */
static int bring_through(const struct opened *opened, int source, const char *target,
			 const char *shown, struct err *err)
{
	struct keeper keeper cleanup_keeper = {0};

	if (keeper_make_beside(&keeper, target, err) < 0)
		return -1;
	int held cleanup_close = keeper_open(&keeper, err);
	if (held < 0)
		return -1;
	char *part cleanup_free = mem_printf("/proc/self/fd/%d/results", held);
	int result = copy(opened, source, part, target, err);
	if (result < 0)
		err_rename(err, part, shown);
	return result == 0 ? move_directory(held, "results", AT_FDCWD, target, shown, err) : result;
}

int results_bring(const struct opened *opened, const char *directory, struct err *err)
{
	const struct job *job = job_of(opened);
	char *target cleanup_free = target_of(opened, directory);

	if (!job->output_dir)
		return err_set(err, ERR_NOT_FOUND,
			       "%s has no directory for results: another version of tony "
			       "submitted it",
			       opened->id);
	int source cleanup_close = -1;
	if (!results_are_stored(job->output_dir)) {
		source = results_open(job->output_dir, results_user(opened), err);
		if (source < 0)
			return err && err->kind == ERR_NOT_FOUND ? 1 : -1;
	}
	struct stat info;
	if (lstat(target, &info) == 0 && check_owner(target, &info, err) < 0)
		return -1;
	int compared = compare_places(job->output_dir, target, err);
	if (compared != 0)
		return compared < 0 ? -1 : has_files(source) ? 0 : 1;
	struct fs_named place cleanup_named = {0};
	if (fs_name_in(&place, directory, opened->id, 0700, err) < 0)
		return -1;
	int result = bring_through(opened, source, place.path, target, err);
	if (result < 0)
		err_rename(err, place.path, target);
	if (result < 0)
		err_wrap(err, "the results of %s are not all in %s", opened->id, target);
	return result;
}

/* Results that are to be kept in a store stay there; the user is told if there are any. */
static bool is_at_home(const struct job *job)
{
	if (!results_are_stored(job->results_dir))
		return false;
	if (fetch_keep(job, job->output_dir, NULL) == 0)
		report_note("results: %s", job->output_dir);
	return true;
}

int results_conclude(const struct opened *opened, int code)
{
	const struct job *job = job_of(opened);
	struct err err cleanup_err = {0};

	/* To which place files go here another user does not say. */
	if (!opened->view->is_final || !job->results_dir || is_at_home(job) || opened->door.doubt ||
	    opened_is_others(opened))
		return code;
	char *target cleanup_free = target_of(opened, job->results_dir);
	int result = str_equal(job->output_dir, target) /* nothing is to be brought */
			     ? !results_are_in(target, NULL)
			     : results_bring(opened, job->results_dir, &err);
	if (result == 0)
		report_note("results: %s", target);
	if (result >= 0)
		return code;
	err_wrap(&err, "tony results %s --output DIR tries again", opened->id);
	int failure = report_error(&err);
	return code == EXIT_CODE_OK ? failure : code;
}
