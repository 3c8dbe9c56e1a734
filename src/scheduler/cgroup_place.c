#include "scheduler/cgroup_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* A mounted hierarchy, as a line of /proc/self/mountinfo tells it. */
struct mounted {
	enum cgroup_version version;
	char *root; /* which group is visible at `point` */
	char *point;
};

static void mounted_finish(struct mounted *mounted)
{
	free(mounted->root);
	free(mounted->point);
}

/* "36 35 0:31 ROOT POINT OPTIONS [...] - TYPE SOURCE SUPER_OPTIONS" (proc_pid_mountinfo(5)). */
static enum cgroup_version version_of(const char *line)
{
	struct str_list fields cleanup_str_list = {0}, options cleanup_str_list = {0};
	const char *rest = strstr(line, " - ");

	str_split(&fields, rest ? rest + 3 : "", ' ');
	if (fields.count < 3)
		return CGROUP_NONE;
	if (str_equal(fields.items[0], "cgroup2"))
		return CGROUP_V2;
	str_split(&options, fields.items[2], ',');
	if (str_equal(fields.items[0], "cgroup") && str_list_has(&options, "memory"))
		return CGROUP_V1;
	return CGROUP_NONE;
}

static void consider_mount(struct mounted *best, const char *line)
{
	struct str_list fields cleanup_str_list = {0};
	enum cgroup_version version = version_of(line);

	str_split(&fields, line, ' ');
	if (version == CGROUP_NONE || fields.count < 5 || best->version == CGROUP_V1 ||
	    best->version == version)
		return;
	best->version = version;
	mem_replace(&best->root, mem_strdup(fields.items[3]));
	mem_replace(&best->point, mem_strdup(fields.items[4]));
}

/* Lines of a file in `proc`, the process's directory, where none has a size to go by. */
static FILE *open_lines(const char *proc, const char *name)
{
	char *full cleanup_free = mem_printf("%s/%s", proc, name);

	return fopen(full, "re");
}

static void find_mount(const char *proc, struct mounted *mounted)
{
	FILE *file cleanup_file = open_lines(proc, "mountinfo");
	char *line cleanup_free = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		consider_mount(mounted, line);
	}
}

/* "4:memory:/user.slice" (version 1) or "0::/user.slice" (version 2). The caller frees. */
static char *find_own(const char *proc, enum cgroup_version version)
{
	FILE *file cleanup_file = open_lines(proc, "cgroup");
	char *line cleanup_free = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		struct str_list names cleanup_str_list = {0};
		str_split(&names, controllers + 1, ',');
		if (version == CGROUP_V1 ? str_list_has(&names, "memory") : names.count == 0)
			return mem_strdup(path);
	}
	return NULL;
}

/* The part of the group's path below what is mounted; NULL when it is not visible there, as for a
 * process that was moved into a container from outside. */
static const char *below(const char *path, const char *mounted_root)
{
	if (strstr(path, "/.."))
		return NULL;
	if (str_equal(mounted_root, "/"))
		return path;
	if (!str_starts_with(path, mounted_root))
		return NULL;
	path += strlen(mounted_root);
	return *path == '\0' || *path == '/' ? path : NULL;
}

void cgroup_place_find(const char *root, pid_t process, struct cgroup_place *place)
{
	struct mounted mounted = {0};
	char *proc cleanup_free = process ? mem_printf("%s/proc/%d", root, (int)process)
					  : mem_printf("%s/proc/self", root);

	find_mount(proc, &mounted);
	char *path cleanup_free = mounted.version ? find_own(proc, mounted.version) : NULL;
	const char *rest = path ? below(path, mounted.root) : NULL;
	if (rest) {
		place->version = mounted.version;
		place->mount = mem_printf("%s%s", root, mounted.point);
		place->own = mem_printf("%s%s", place->mount, str_equal(rest, "/") ? "" : rest);
	}
	mounted_finish(&mounted);
}

void cgroup_place_finish(struct cgroup_place *place)
{
	free(place->mount);
	free(place->own);
}
