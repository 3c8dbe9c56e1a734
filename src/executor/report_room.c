#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "executor/report.h"
#include "executor/traceback.h"
#include "job/policy.h"

/* The text in quotes, or else the first word that begins as an absolute path does:
 * "dd: error writing 'out': No space ...", "tar: /data/out: Cannot write: No space ...". */
static char *find_named(const char *line)
{
	const char *quote = strpbrk(line, "'\"");
	const char *slash = strchr(line, '/');

	if (quote && strchr(quote + 1, *quote))
		return mem_strndup(quote + 1, strcspn(quote + 1, (char[]){*quote, '\0'}));
	while (slash && slash > line && slash[-1] != ' ')
		slash = strchr(slash + 1, '/');
	return slash ? mem_strndup(slash, strcspn(slash, " :;,)")) : NULL;
}

/* The file or directory that is called so; NULL: none is known here. The caller frees. */
static char *find_path(const char *named, const char *work_dir)
{
	struct stat info;

	if (!named || !*named)
		return NULL;
	char *path cleanup_free = *named == '/' ? mem_strdup(named) : fs_join(work_dir, named);
	if (stat(path, &info) == 0)
		return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ? mem_steal(&path) : NULL;
	/* A file that could not be written may be gone again. */
	char *parent cleanup_free = fs_dirname(path);
	return *named == '/' && fs_exists(parent) ? mem_steal(&path) : NULL;
}

/* Of the places where programs write: one without any room; NULL: each has some. Borrowed. */
static const char *find_full(const struct report *report)
{
	const char *const places[] = {report->work_dir, report->checkpoint_dir};

	for (size_t i = 0; i < array_length(places); i++) {
		struct err err cleanup_err = {0};
		if (places[i] && fs_check_room(places[i], &err) < 0 && err.kind == ERR_NO_SPACE)
			return places[i];
	}
	return NULL;
}

/* NULL: which disk it was is not known. */
static char *describe_room(const struct report *report, const char *line, int error)
{
	char *named cleanup_free = find_named(line);
	char *path cleanup_free = find_path(named, report->work_dir);
	const char *full = !named && error == ENOSPC ? find_full(report) : path;

	return full ? fs_describe_errno(full, error) : NULL;
}

/* An exception was the end of the program, whatever it had met and logged before; unless that was
 * an exception as well, which led to this one. */
static bool is_the_reason(const struct cause *cause, const char *line)
{
	return !cause->headline || !traceback_is_exception(cause->headline) ||
	       traceback_is_exception(line);
}

void report_judge_room(const struct report *report, struct str *text, struct cause *cause)
{
	for (size_t i = cause->tail.count; i-- > 0;) {
		const char *line = cause->tail.items[i];
		int error = policy_errno_of_room(line);
		if (error == 0 || !is_the_reason(cause, line))
			continue;
		char *room cleanup_free = describe_room(report, line, error);
		if (room)
			str_append_format(text, "; %s", room);
		if (policy_errno_of_room(cause->headline) == 0)
			mem_replace(&cause->headline, mem_strdup(line + strspn(line, " \t")));
		return;
	}
}
