#include "client/stage_clone.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/bar.h"
#include "client/report.h"

enum {
	MUCH_MIB = 64,
	MANY_FILES = 5000,
	COUNT_CAP = 200000, /* counting more of them would be a wait of its own */
};

struct copying {
	struct bar bar;
	const char *name;
	const struct str_list *left_out;
	int64_t bytes; /* in all */
};

static bool on_progress(void *data, int64_t bytes)
{
	struct copying *copying = data;

	return bar_show(&copying->bar, copying->name, bytes, copying->bytes);
}

static void tell_left_out(struct copying *copying, const char *path, const char *why)
{
	bar_clear(&copying->bar);
	report_note("src_dir: left out: %s: %s", path, why);
}

/* An editor's file, say. */
static void on_vanished(void *data, const char *path)
{
	tell_left_out(data, path, "was removed or renamed meanwhile");
}

/* Whatever name it goes by here: a link to it would have its content, too. */
static bool is_secret(void *data, const char *path, const struct stat *info)
{
	struct copying *copying = data;
	struct stat secret;

	for (size_t i = 0; i < copying->left_out->count; i++) {
		if (stat(copying->left_out->items[i], &secret) < 0 ||
		    secret.st_dev != info->st_dev || secret.st_ino != info->st_ino)
			continue;
		tell_left_out(copying, path, "is a secret of the job (--secret, --secret-file)");
		return true;
	}
	return false;
}

/* As with the root of all files, and with a home directory in which the jobs are kept. */
static int check_outside(const char *source, const char *target, struct err *err)
{
	char *parent cleanup_free = fs_dirname(target);
	char *inner cleanup_free = realpath(parent, NULL),
		    *outer cleanup_free = realpath(source, NULL);
	size_t length = outer ? strlen(outer) : 0;

	if (!inner || !outer || !str_starts_with(inner, outer) ||
	    (length > 1 && inner[length] != '/' && inner[length] != '\0'))
		return 0;
	return err_set(err, ERR_CONFIG,
		       "\"%s\" would be copied into itself, for the copy is kept in %s; put the "
		       "program into a directory of its own, and name that",
		       source, parent);
}

static void tell_size(const char *source, const struct fs_tree_size *size)
{
	char *bytes cleanup_free = str_format_bytes(size->bytes);

	if (size->bytes < ((int64_t)MUCH_MIB << 20) && size->files < MANY_FILES)
		return;
	report_note("src_dir: copying %s%s in %" PRId64
		    " files from %s; name a smaller folder to copy less",
		    size->is_more ? "more than " : "", bytes, size->files, source);
}

int stage_clone(const char *source, const char *target, const struct str_list *left_out,
		bool (*interrupted)(void), struct err *err)
{
	struct copying copying = {.name = fs_basename(source), .left_out = left_out};
	const struct fs_clone_watch watch = {.progress = on_progress,
					     .vanished = on_vanished,
					     .is_there = is_secret,
					     .data = &copying};
	struct fs_tree_size size;

	if (check_outside(source, target, err) < 0)
		return -1;
	fs_measure_tree(source, COUNT_CAP, &size);
	tell_size(source, &size);
	copying.bytes = size.bytes;
	bar_begin(&copying.bar, "copying", interrupted);
	/* Not by hard links: the user goes on editing these files. */
	int result = fs_clone_tree_watched(source, target, FS_CLONE_FROM_OUTSIDE, &watch, err);
	bar_clear(&copying.bar);
	return result;
}
