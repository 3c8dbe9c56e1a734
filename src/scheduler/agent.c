#include "scheduler/agent.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

/* The path if it is an executable file; else NULL, and freed. Nobody wants another agent in place
 * of one that lacks a permission: then `err` says so. */
static char *if_executable(char *path, struct err *err)
{
	if (!fs_is_directory(path) && access(path, X_OK) == 0)
		return path;
	char *quoted cleanup_free = str_shell_quote(path);
	if (!fs_is_directory(path) && fs_exists(path))
		err_set(err, ERR_DENIED, "%s cannot be executed; chmod a+rx %s", path, quoted);
	free(path);
	return NULL;
}

static char *find_in_path(struct err *err)
{
	struct str_list directories cleanup_str_list = {0};
	const char *path = getenv("PATH");

	str_split(&directories, path ? path : "", ':');
	for (size_t i = 0; i < directories.count && err->kind == ERR_NONE; i++) {
		if (directories.items[i][0] != '/')
			continue; /* the AM starts in another directory */
		char *found = if_executable(fs_join(directories.items[i], AGENT_PROGRAM), err);
		if (found)
			return found;
	}
	return NULL;
}

char *agent_find(struct err *err)
{
	struct err denied cleanup_err = {0};
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = '\0';
	char *directory cleanup_free = fs_dirname(self);
	char *found = if_executable(fs_join(directory, AGENT_PROGRAM), &denied);
	if (!found && denied.kind == ERR_NONE)
		found = if_executable(fs_join(directory, "../libexec/tony/" AGENT_PROGRAM),
				      &denied);
	if (!found && denied.kind == ERR_NONE)
		found = find_in_path(&denied);
	if (!found && denied.kind != ERR_NONE)
		err_copy(err, &denied);
	else if (!found)
		err_set(err, ERR_NOT_FOUND,
			"tony-agent is neither in %s, nor in %s/../libexec/tony, nor in PATH; "
			"install it beside tony",
			directory, directory);
	return found;
}
