#include "executor/localize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/copies.h"

/* job.json was checked when it was read; but this is where a bad name would do harm. */
static int check_name(const char *name, struct err *err)
{
	struct str_list parts cleanup_str_list = {0};

	str_split(&parts, name, '/');
	if (!*name || *name == '/' || str_list_has(&parts, ".."))
		return err_set(err, ERR_CONFIG, "\"%s\" leads out of the working directory", name);
	return 0;
}

/* The directory that is to hold `name`, made where it is missing. A link on the way would lead
 * elsewhere. */
static int make_parents(const char *work_dir, const char *name, struct err *err)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		char *part cleanup_free = mem_strndup(name, (size_t)(slash - name));
		char *path cleanup_free = fs_join(work_dir, part);
		struct stat info;
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return err_set_errno(err, "cannot make %s", path);
		if (lstat(path, &info) < 0)
			return err_set_errno(err, "cannot use %s", path);
		if (!S_ISDIR(info.st_mode))
			return err_set(err, ERR_CONFIG, "\"%s\" leads through %s, no directory",
				       name, path);
	}
	return 0;
}

static int lay_link(const char *source, const char *path, struct err *err)
{
	if (!fs_exists(source))
		return err_set(err, ERR_NOT_FOUND, "%s: no such file", source);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set_errno(err, "cannot replace %s", path);
	if (symlink(source, path) < 0)
		return err_set_errno(err, "cannot link %s to %s", path, source);
	return 0;
}

static int copy_content(const char *source, const char *path, unsigned how, struct err *err)
{
	struct stat info;

	if (!fs_is_directory(source))
		return err_set(err, ERR_NOT_FOUND, "%s: no such directory", source);
	if (lstat(path, &info) == 0 && !S_ISDIR(info.st_mode))
		return err_set(err, ERR_CONFIG, "%s is in the way of a directory", path);
	/* No hard links: a program may write into its copy. */
	return fs_clone_tree(source, path, how, err);
}

char *localize_find(const char *source, const char *work_dir, struct err *err)
{
	static const char container[] = "container:";

	if (source[0] == '/')
		return mem_strdup(source);
	if (!str_starts_with(source, container))
		return NULL;
	const char *name = source + strlen(container);
	if (check_name(name, err) < 0)
		return NULL;
	char *path = fs_join(work_dir, name);
	char *real = realpath(path, NULL); /* the scheduler may lay links */
	if (!real)
		return path;
	free(path);
	return real;
}

/* Of another machine's files, the scheduler has put into the directory what is needed. */
static int check_presence(const struct job_file *file, const char *path, struct err *err)
{
	if (fs_exists(path))
		return 0;
	return err_set(err, ERR_CONFIG, "%s is not on this machine", file->source);
}

static int localize_file(const struct job_file *file, const char *work_dir, struct err *err)
{
	char *path cleanup_free =
		str_equal(file->name, ".") ? mem_strdup(work_dir) : fs_join(work_dir, file->name);

	if (check_name(file->name, err) < 0 || make_parents(work_dir, file->name, err) < 0)
		return -1;
	char *source cleanup_free = localize_find(file->source, work_dir, err);
	if (!source)
		return err->message ? -1 : check_presence(file, path, err);
	switch (file->kind) {
	case JOB_FILE_LINK:
		return lay_link(source, path, err);
	case JOB_FILE_CONTENT:
		/* A file that the scheduler fetched may not be writable. */
		return copy_content(source, path, file->source[0] == '/' ? 0 : FS_CLONE_WRITABLE,
				    err);
	case JOB_FILE_ARCHIVE:
		break;
	}
	return err_set(err, ERR_CONFIG, "%s was not unpacked", file->source);
}

int localize_files(const struct job_files *files, const char *work_dir, struct err *err)
{
	int mark cleanup_close = copies_begin(files, work_dir);

	for (size_t i = 0; i < files->count; i++) {
		if (localize_file(&files->items[i], work_dir, err) < 0)
			return err_wrap(err, "cannot put \"%s\" into the working directory",
					files->items[i].name);
	}
	return copies_end(mark, err);
}
