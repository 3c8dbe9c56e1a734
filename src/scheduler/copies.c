#include "scheduler/copies.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"

#define MARK ".copied"

enum { COPYING = 0200, COPIED = 0600 }; /* modes of the mark */

static bool is_copy(const struct job_file *file)
{
	return file->kind == JOB_FILE_CONTENT && file->source[0] == '/';
}

static bool has_copies(const struct job_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (is_copy(&files->items[i]))
			return true;
	return false;
}

/* A file beside the working directory, so that its times are of the same clock as the copies':
 * written when the first copy begins, its status changed when the last one is there. */
static char *mark_path(const char *work_dir)
{
	char *container cleanup_free = fs_dirname(work_dir);

	return fs_join(container, MARK);
}

int copies_begin(const struct job_files *files, const char *work_dir)
{
	char *path cleanup_free = mark_path(work_dir);
	int fd = !has_copies(files) ? -1
				    : open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && (fchmod(fd, COPYING) < 0 || futimens(fd, NULL) < 0))
		mem_cleanup_close(&fd);
	return fd;
}

int copies_end(int mark, struct err *err)
{
	return mark >= 0 && fchmod(mark, COPIED) < 0 ? err_set_errno(err, MARK) : 0;
}

/* A copy that was broken off lasts until now, by the clock of its file system: no program runs
 * before it is complete. False: it is not known, and nothing is taken back. */
static bool read_mark(const char *path, struct fs_copy *copy)
{
	struct stat info;

	if (lstat(path, &info) < 0 || !S_ISREG(info.st_mode))
		return false;
	copy->is_partial = (info.st_mode & 07777) == COPYING;
	if (copy->is_partial && (chmod(path, COPYING) < 0 || lstat(path, &info) < 0))
		return false;
	copy->laid = (struct fs_span){info.st_mtim, info.st_ctim};
	return true;
}

/* A copy that failed has not got to all of them. */
static int take_file_back(const struct job_file *file, const char *work_dir,
			  const struct fs_copy *copy, struct err *err)
{
	char *path cleanup_free = fs_join(work_dir, file->name);

	if (!is_copy(file) || (copy->is_partial && !fs_exists(path)))
		return 0;
	return fs_remove_same(file->source, work_dir, file->name, copy, err);
}

/* The mark goes with the last copy. */
void copies_take_back(const struct job_files *files, const char *work_dir)
{
	char *mark cleanup_free = mark_path(work_dir);
	struct fs_copy copy;
	bool has_failed = false;

	if (!has_copies(files) || !read_mark(mark, &copy))
		return;
	for (size_t i = 0; i < files->count; i++) {
		struct err err cleanup_err = {0};
		if (take_file_back(&files->items[i], work_dir, &copy, &err) == 0)
			continue;
		log_warning("copies of sources stay: %s", err_message(&err));
		has_failed = true;
	}
	if (!has_failed)
		unlink(mark);
}

/* ---- the job has ended -------------------------------------------------------------------- */

/* Of a container's name, "worker-0-1"; NULL: there is none. */
static const struct job_type *find_type(const struct job *job, const char *container)
{
	for (size_t i = 0; i < job->type_count; i++) {
		const char *name = job->types[i].name;
		size_t length = strlen(name);
		if (str_starts_with(container, name) && container[length] == '-' &&
		    !container[length + strspn(container + length, "-0123456789")])
			return &job->types[i];
	}
	return NULL;
}

/* Of an executor that still leaves, or of what it started. */
static bool has_processes(const struct job *job, const char *container)
{
	char *mark cleanup_free = mem_printf("TONY_CONTAINER=%s/%s", job->id, container);
	struct proc_list list;

	proc_find_marked(mark, 0, &list);
	bool found = list.count > 0;
	proc_list_finish(&list);
	return found;
}

static bool is_left_behind(const struct job *job, const char *container, const char *work_dir)
{
	char *mark cleanup_free = mark_path(work_dir);

	return fs_exists(mark) && !has_processes(job, container);
}

void copies_take_back_all(const struct job *job, const char *job_dir)
{
	char *containers cleanup_free = fs_join(job_dir, "containers");
	DIR *directory cleanup_dir = opendir(containers);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		const struct job_type *type = find_type(job, entry->d_name);
		char *container cleanup_free = fs_join(containers, entry->d_name);
		char *work_dir cleanup_free = fs_join(container, "work");
		struct stat info;
		/* A program may have put a link to another job's there. */
		if (type && lstat(container, &info) == 0 && S_ISDIR(info.st_mode) &&
		    is_left_behind(job, entry->d_name, work_dir))
			copies_take_back(&type->files, work_dir);
	}
}
