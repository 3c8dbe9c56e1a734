#include "base/proc_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

enum { STAT_CAP = 4096, ENVIRON_CAP = 8 << 20, CHILDREN_CAP = 1 << 20 };

int proc_read_file(pid_t pid, const char *name, size_t cap, struct str *out)
{
	char path[64], buffer[16384];

	str_truncate(out, 0);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	for (;;) {
		ssize_t got = read(fd, buffer, sizeof(buffer));
		if (got == 0)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || (size_t)got > cap - out->length)
			return -1;
		str_append_bytes(out, buffer, (size_t)got);
	}
}

bool proc_find_number(const char *text, const char *name, uint64_t *number)
{
	size_t length = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ':') {
			*number = strtoull(line + length + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

pid_t proc_last_pid(void)
{
	char *text cleanup_free = fs_read_file("/proc/loadavg", 256, NULL, NULL);
	const char *field = text ? strrchr(text, ' ') : NULL;

	return field ? (pid_t)strtol(field, NULL, 10) : 0;
}

/* Fields of /proc/PID/stat, numbered as in proc(5) from the state (3) on. */
enum {
	FIRST = 3,
	PARENT = 4,
	GROUP = 5,
	FLAGS = 9,
	UTIME = 14,
	CSTIME = 17,
	THREADS = 20,
	START = 22,
	RSS = 24,
	ENV_END = 51,
};

enum { KERNEL_THREAD = 0x200000 }; /* PF_KTHREAD of the flags */

static int parse_stat(const char *text, struct proc_entry *entry)
{
	/* The second field is the program's name in parentheses, and may hold blanks and
	 * parentheses itself; nothing behind it can. */
	const char *next = strrchr(text, ')');
	unsigned long long fields[ENV_END + 1] = {0};

	if (!next || next[1] != ' ' || !next[2])
		return -1;
	entry->state = next[2];
	next += 3;
	for (int i = FIRST + 1; i <= ENV_END; i++) {
		char *end;
		fields[i] = strtoull(next, &end, 10); /* negative ones (tpgid, nice) are not used */
		if (end == next)
			return -1;
		next = end;
	}
	entry->parent = (pid_t)fields[PARENT];
	entry->group = (pid_t)fields[GROUP];
	for (int i = UTIME; i <= CSTIME; i++)
		entry->cpu_ticks += fields[i];
	entry->threads = (uint32_t)fields[THREADS];
	entry->id.start_time = fields[START];
	entry->rss_pages = fields[RSS];
	/* Of all that says where its texts are, this comes last. */
	entry->executing = fields[ENV_END] == 0 && !(fields[FLAGS] & KERNEL_THREAD);
	entry->dead = strchr("ZXx", entry->state) && entry->threads <= 1;
	return 0;
}

int proc_read_entry(pid_t pid, struct proc_entry *entry)
{
	struct str text cleanup_str = {0};

	*entry = (struct proc_entry){.id.pid = pid};
	if (proc_read_file(pid, "stat", STAT_CAP, &text) < 0)
		return -1;
	return parse_stat(str_text(&text), entry);
}

static int by_parent(const void *a, const void *b)
{
	const struct proc_entry *first = a, *second = b;

	if (first->parent != second->parent)
		return first->parent < second->parent ? -1 : 1;
	return (first->id.pid > second->id.pid) - (first->id.pid < second->id.pid);
}

static void add_entry(struct proc_scan *scan, pid_t pid)
{
	struct proc_entry entry;

	if (proc_read_entry(pid, &entry) < 0)
		return;
	if (scan->count == scan->capacity) {
		scan->capacity = 2 * scan->capacity + 16;
		scan->items = mem_realloc_array(scan->items, scan->capacity, sizeof(entry));
	}
	scan->items[scan->count++] = entry;
}

static void sort(struct proc_scan *scan)
{
	if (scan->count > 1)
		qsort(scan->items, scan->count, sizeof(*scan->items), by_parent);
}

void proc_scan_take(struct proc_scan *scan)
{
	DIR *dir cleanup_dir = opendir("/proc");
	const struct dirent *file;

	*scan = (struct proc_scan){0};
	while (dir && (file = readdir(dir))) {
		int64_t pid;
		if (str_parse_int(file->d_name, 1, INT32_MAX, &pid) == 0)
			add_entry(scan, (pid_t)pid);
	}
	sort(scan);
}

/* ---- by the kernel's lists of children ---------------------------------------------------- */

/* Kernels have them for a dozen years, unless they are built without. */
bool proc_scan_has_lists(void)
{
	static enum { UNKNOWN, THERE, MISSING } lists; /* a task is looked at every few seconds */

	if (lists == UNKNOWN)
		lists = access("/proc/thread-self/children", R_OK) == 0 ? THERE : MISSING;
	return lists == THERE;
}

/* A process whose parent dies moves to the list of the subreaper: it is met again there, or was not
 * met before. So the root's list is read again, until nothing is new. */
static bool has_entry(const struct proc_scan *scan, pid_t pid)
{
	for (size_t i = 0; i < scan->count; i++)
		if (scan->items[i].id.pid == pid)
			return true;
	return false;
}

static void add_children_of(struct proc_scan *scan, pid_t pid, const char *thread)
{
	struct str text cleanup_str = {0};
	char name[64], *end;

	snprintf(name, sizeof(name), "task/%s/children", thread);
	if (proc_read_file(pid, name, CHILDREN_CAP, &text) < 0)
		return;
	const char *list = str_text(&text);
	for (long child = strtol(list, &end, 10); child > 0;
	     list = end, child = strtol(list, &end, 10))
		if (!has_entry(scan, (pid_t)child))
			add_entry(scan, (pid_t)child);
}

/* Each thread has a list of its own. */
static void add_children(struct proc_scan *scan, pid_t pid, uint32_t threads)
{
	char path[32];

	if (threads == 1) {
		snprintf(path, sizeof(path), "%d", (int)pid);
		add_children_of(scan, pid, path);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir cleanup_dir = opendir(path);
	const struct dirent *file;
	while (dir && (file = readdir(dir)))
		if (file->d_name[0] != '.')
			add_children_of(scan, pid, file->d_name);
}

void proc_scan_take_below(struct proc_scan *scan, pid_t root)
{
	if (!proc_scan_has_lists()) {
		proc_scan_take(scan);
		return;
	}
	size_t next = 0, before;
	*scan = (struct proc_scan){0};
	do {
		before = scan->count;
		if (root > 0)
			add_children(scan, root, 0);
		for (; next < scan->count; next++)
			add_children(scan, scan->items[next].id.pid, scan->items[next].threads);
	} while (scan->count > before);
	sort(scan);
}

/* ------------------------------------------------------------------------------------------- */

void proc_scan_finish(struct proc_scan *scan)
{
	free(scan->items);
	*scan = (struct proc_scan){0};
}

/* Where the children of `parent` begin. */
static size_t first_child(const struct proc_scan *scan, pid_t parent)
{
	size_t low = 0, high = scan->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (scan->items[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct proc_entry **proc_scan_descendants(const struct proc_scan *scan, pid_t root,
						const char *spared, size_t *count)
{
	const struct proc_entry **found = mem_alloc_array(scan->count, sizeof(*found));
	pid_t parent = root;

	*count = 0;
	if (root <= 0)
		return found;
	for (size_t next = 0;;) {
		for (size_t i = first_child(scan, parent);
		     i < scan->count && scan->items[i].parent == parent; i++) {
			/* The scan is no snapshot: a pid reused on the way could close a circle. */
			if (!scan->items[i].dead && *count < scan->count &&
			    scan->items[i].id.pid != root &&
			    !(spared && proc_has_mark(scan->items[i].id.pid, spared)))
				found[(*count)++] = &scan->items[i];
		}
		if (next == *count)
			return found;
		parent = found[next++]->id.pid;
	}
}

/* The environment, which is empty for a moment while a new program is being loaded. */
static int read_environment(pid_t pid, struct str *environment)
{
	struct proc_entry entry;
	bool was_loaded = false;

	for (int tries = 0; tries < 20; tries++) {
		if (proc_read_file(pid, "environ", ENVIRON_CAP, environment) < 0)
			return -1;
		if (environment->length > 0)
			return 0;
		/* It may have been loaded between the two looks: then there is one now. */
		if (proc_read_entry(pid, &entry) < 0 || entry.dead ||
		    (!entry.executing && was_loaded))
			return -1;
		was_loaded = !entry.executing;
		if (entry.executing)
			poll(NULL, 0, 1);
	}
	return -1;
}

/* An entry without `text`, with which it begins, and `end` behind that; NULL: none begins so. */
static const char *find_entry(const struct str *environment, const char *text, char end)
{
	size_t length = strlen(text);

	for (size_t start = 0; start < environment->length;) {
		const char *entry = environment->text + start;
		if (strncmp(entry, text, length) == 0 && entry[length] == end)
			return entry + length + (end != '\0');
		start += strlen(entry) + 1;
	}
	return NULL;
}

char *proc_variable(pid_t pid, const char *name)
{
	struct str environment cleanup_str = {0};

	return read_environment(pid, &environment) < 0
		       ? NULL
		       : mem_strdup(find_entry(&environment, name, '='));
}

bool proc_has_mark(pid_t pid, const char *mark)
{
	struct str environment cleanup_str = {0};

	return read_environment(pid, &environment) == 0 && find_entry(&environment, mark, '\0');
}
