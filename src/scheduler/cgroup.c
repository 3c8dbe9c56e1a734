#include "scheduler/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "scheduler/cgroup_place.h"

enum {
	FILE_CAP = 1 << 20,
	DEPTH_LIMIT = 2048, /* of groups that a task made below its own: a path has no more */
	KILL_ROUNDS = 200,
	KILL_PAUSE_US = 10000,
};

static int write_value(const char *group, const char *name, const char *value)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	int fd cleanup_close = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return write(fd, value, strlen(value)) < 0 ? -1 : 0;
}

static int write_number(const char *group, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return write_value(group, name, text);
}

/* The files of a control group have no size to go by. The caller frees; NULL: unreadable. */
static char *read_value(const char *group, const char *name)
{
	char *path cleanup_free = mem_printf("%s/%s", group, name);
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);
	struct str text cleanup_str = {0};
	char bytes[4096];
	ssize_t length = -1;

	while (fd >= 0 && text.length < FILE_CAP && (length = read(fd, bytes, sizeof(bytes))) > 0)
		str_append_bytes(&text, bytes, (size_t)length);
	return length < 0 ? NULL : str_steal(&text);
}

/* ---- finding a place ---------------------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
	struct str_list words cleanup_str_list = {0};
	char *blanks cleanup_free = mem_strdup(text);

	for (char *c = blanks; c && *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	str_split(&words, blanks ? blanks : "", ' ');
	return str_list_has(&words, word);
}

static bool can_make_groups(const char *path)
{
	char *processes cleanup_free = mem_printf("%s/cgroup.procs", path);

	return access(path, W_OK | X_OK) == 0 && access(processes, W_OK) == 0;
}

/* Whether children of this version 2 group can have memory limits, or can be made to. */
static bool gives_memory(const char *path)
{
	char *given cleanup_free = read_value(path, "cgroup.subtree_control");

	return (given && has_word(given, "memory")) ||
	       write_value(path, "cgroup.subtree_control", "+memory") == 0;
}

static bool is_limited(const char *path)
{
	char *limit cleanup_free = read_value(path, "memory.max");

	return limit && !str_starts_with(limit, "max");
}

/* Moving a process needs the right to write to the nearest common ancestor, which is the place
 * itself, and asking from the inside out finds the nearest. */
static char *find_place_v2(const struct cgroup_place *place)
{
	char *path cleanup_free = mem_strdup(place->own);

	for (;;) {
		if (can_make_groups(path) && gives_memory(path))
			return mem_steal(&path);
		if (is_limited(path) || strlen(path) <= strlen(place->mount))
			return NULL;
		*strrchr(path, '/') = '\0';
	}
}

void cgroup_find_home(const char *root, struct cgroup_home *home)
{
	struct cgroup_place place cleanup_cgroup_place = {0};

	*home = (struct cgroup_home){0};
	cgroup_place_find(root, 0, &place);
	if (place.version == CGROUP_V1 && can_make_groups(place.own))
		home->path = mem_strdup(place.own);
	if (place.version == CGROUP_V2)
		home->path = find_place_v2(&place);
	if (home->path)
		home->version = place.version;
}

void cgroup_home_finish(struct cgroup_home *home)
{
	free(home->path);
	*home = (struct cgroup_home){0};
}

int64_t cgroup_memory_allowed(const char *root, pid_t process)
{
	struct cgroup_place place cleanup_cgroup_place = {0};
	int64_t allowed = INT64_MAX;

	cgroup_place_find(root, process, &place);
	if (place.version == CGROUP_NONE)
		return allowed;
	const char *name = place.version == CGROUP_V1 ? "memory.limit_in_bytes" : "memory.max";
	char *path cleanup_free = mem_strdup(place.own);
	while (strlen(path) >= strlen(place.mount)) {
		char *text cleanup_free = read_value(path, name);
		int64_t bytes = text && *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : 0;
		if (bytes > 0 && bytes < allowed)
			allowed = bytes;
		*strrchr(path, '/') = '\0';
	}
	/* Version 1 says "no limit" by the largest number of whole pages. */
	return allowed >= INT64_MAX - (1 << 20) ? INT64_MAX : allowed >> 20;
}

/* ---- one group ---------------------------------------------------------------------------- */

static int set_limit(const char *path, enum cgroup_version version, int64_t bytes)
{
	if (version == CGROUP_V2) {
		if (write_number(path, "memory.max", bytes) < 0)
			return -1;
		write_value(path, "memory.swap.max", "0");
		return 0;
	}
	if (write_number(path, "memory.limit_in_bytes", bytes) < 0)
		return -1;
	/* Not there when the kernel does not account for swap. */
	write_number(path, "memory.memsw.limit_in_bytes", bytes);
	return 0;
}

char *cgroup_create(const struct cgroup_home *home, const char *name, int64_t memory,
		    struct err *err)
{
	if (home->version == CGROUP_NONE) {
		err_set(err, ERR_NOT_FOUND, "no control group that this user may write");
		return NULL;
	}
	char *path cleanup_free = mem_printf("%s/%s", home->path, name);
	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		err_set_errno(err, "%s", path);
		return NULL;
	}
	if (set_limit(path, home->version, memory << 20) < 0) {
		err_set_errno(err, "%s: limit of %" PRId64 " MiB", path, memory);
		rmdir(path);
		return NULL;
	}
	return mem_steal(&path);
}

static bool enter(const char *path)
{
	/* A process that moves waits for all CPUs (7 to 18 ms), a thread that moves itself does
	 * not, and what has just been forked is a single thread. Only version 1 has the file. */
	return write_value(path, "tasks", "0") == 0 || write_value(path, "cgroup.procs", "0") == 0;
}

/* Of version 2 only; a container's seccomp filter may refuse it. */
static pid_t fork_into(const char *path)
{
	int group cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct clone_args into = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};

	return group < 0 ? -1 : (pid_t)syscall(SYS_clone3, &into, sizeof(into));
}

pid_t cgroup_fork(const char *path, bool *is_inside)
{
	pid_t pid = path ? fork_into(path) : -1;

	*is_inside = pid >= 0;
	if (pid >= 0)
		return pid;
	pid = fork();
	if (pid == 0 && path)
		*is_inside = enter(path);
	return pid;
}

static bool has_process(const char *path)
{
	char *processes cleanup_free = read_value(path, "cgroup.procs");

	return processes && *processes;
}

static void list_below(const char *path, struct str_list *below)
{
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			str_list_take(below, mem_printf("%s/%s", path, entry->d_name));
}

/* Calls `visit` for the groups below, the innermost first, and then for `path` itself. */
static void walk(const char *path, int depth, void (*visit)(const char *path, void *data),
		 void *data)
{
	struct str_list below cleanup_str_list = {0};

	if (depth < DEPTH_LIMIT)
		list_below(path, &below);
	for (size_t i = 0; i < below.count; i++)
		walk(below.items[i], depth + 1, visit, data);
	visit(path, data);
}

static void visit_empty(const char *path, void *data)
{
	bool *empty = data;

	if (has_process(path))
		*empty = false;
}

bool cgroup_is_empty(const char *path)
{
	bool empty = true;

	walk(path, 0, visit_empty, &empty);
	return empty;
}

int64_t cgroup_oom_kills(const char *path)
{
	char *events cleanup_free = read_value(path, "memory.events");

	if (!events)
		events = read_value(path, "memory.oom_control");
	for (const char *line = events; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (str_starts_with(line, "oom_kill "))
			return strtoll(line + strlen("oom_kill "), NULL, 10);
	}
	return 0;
}

static void visit_kill(const char *path, void *data)
{
	char *processes cleanup_free = read_value(path, "cgroup.procs");
	struct str_list pids cleanup_str_list = {0};

	str_split(&pids, processes ? processes : "", '\n');
	for (size_t i = 0; i < pids.count; i++) {
		int64_t pid;
		if (str_parse_int(pids.items[i], 2, INT_MAX, &pid) == 0 && pid != getpid())
			kill((pid_t)pid, SIGKILL);
	}
}

void cgroup_kill(const char *path)
{
	/* One write that no fork escapes (Linux 5.14, version 2). */
	if (write_value(path, "cgroup.kill", "1") < 0)
		walk(path, 0, visit_kill, NULL);
}

static void visit_remove(const char *path, void *data)
{
	int *result = data;

	if (rmdir(path) < 0 && errno != ENOENT)
		*result = -1;
}

int cgroup_remove(const char *path)
{
	int result = 0;

	walk(path, 0, visit_remove, &result);
	return result;
}

void cgroup_end(const char *path)
{
	for (int i = 0; i < KILL_ROUNDS && cgroup_remove(path) < 0; i++) {
		cgroup_kill(path);
		usleep(KILL_PAUSE_US);
	}
}

char *cgroup_name(const char *job_id, const char *container)
{
	return mem_printf("%s.%s", job_id, container);
}

void cgroup_clean(const char *root, const char *job_id)
{
	char *prefix cleanup_free = cgroup_name(job_id, "");
	struct cgroup_home home;

	cgroup_find_home(root, &home);
	DIR *directory cleanup_dir = home.path ? opendir(home.path) : NULL;
	const struct dirent *entry;
	while (directory && (entry = readdir(directory))) {
		if (entry->d_type != DT_DIR || !str_starts_with(entry->d_name, prefix))
			continue;
		char *path cleanup_free = mem_printf("%s/%s", home.path, entry->d_name);
		cgroup_end(path);
	}
	cgroup_home_finish(&home);
}
