#include "base/proc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc_scan.h"
#include "base/str.h"

bool proc_identify(pid_t pid, struct proc_id *id)
{
	struct proc_entry entry;

	if (pid <= 0 || proc_read_entry(pid, &entry) < 0)
		return false;
	*id = entry.id;
	return true;
}

bool proc_is_alive(const struct proc_id *id)
{
	struct proc_entry entry;

	return id->pid > 0 && proc_read_entry(id->pid, &entry) == 0 &&
	       entry.id.start_time == id->start_time && !entry.dead;
}

void proc_list_finish(struct proc_list *list)
{
	free(list->items);
	*list = (struct proc_list){0};
}

static void find_descendants(pid_t root, bool stopped_only, struct proc_list *list)
{
	struct proc_scan scan;
	size_t count;

	proc_scan_take(&scan);
	const struct proc_entry **found = proc_scan_descendants(&scan, root, &count);
	*list = (struct proc_list){.items = mem_alloc_array(count, sizeof(*list->items))};
	for (size_t i = 0; i < count; i++)
		if (!stopped_only || found[i]->state == 'T')
			list->items[list->count++] = found[i]->id;
	free(found);
	proc_scan_finish(&scan);
}

void proc_find_descendants(pid_t root, struct proc_list *list)
{
	find_descendants(root, false, list);
}

void proc_find_stopped(pid_t root, struct proc_list *list)
{
	find_descendants(root, true, list);
}

char *proc_name(pid_t pid)
{
	struct str text cleanup_str = {0};

	if (proc_read_file(pid, "comm", 4096, &text) < 0)
		return mem_strdup("?");
	return str_printable(text.text,
			     text.length > 0 ? text.length - 1 : 0); /* less its line end */
}

void proc_find_marked(const char *mark, pid_t except, struct proc_list *list)
{
	struct proc_scan scan;

	proc_scan_take(&scan);
	*list = (struct proc_list){.items = mem_alloc_array(scan.count, sizeof(*list->items))};
	for (size_t i = 0; i < scan.count; i++) {
		const struct proc_entry *entry = &scan.items[i];
		if (!entry->dead && entry->id.pid != except && entry->id.pid != getpid() &&
		    proc_has_mark(entry->id.pid, mark))
			list->items[list->count++] = entry->id;
	}
	proc_scan_finish(&scan);
}

/* The number behind "<name>:" at the start of a line of a /proc file; false: not there. */
static bool find_number(const char *text, const char *name, uint64_t *number)
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

static void add_usage(struct proc_usage *usage, const struct proc_entry *entry, struct str *text)
{
	uint64_t rss = entry->rss_pages * (uint64_t)sysconf(_SC_PAGESIZE), pss_kib, bytes;

	usage->processes++;
	usage->threads += entry->threads;
	usage->rss_bytes += rss;
	usage->cpu_ms += entry->cpu_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	if (proc_read_file(entry->id.pid, "smaps_rollup", 65536, text) == 0 &&
	    find_number(str_text(text), "Pss", &pss_kib))
		usage->pss_bytes += pss_kib * 1024;
	else
		usage->pss_bytes += rss;
	if (proc_read_file(entry->id.pid, "io", 65536, text) < 0)
		return;
	if (find_number(str_text(text), "read_bytes", &bytes))
		usage->read_bytes += bytes;
	if (find_number(str_text(text), "write_bytes", &bytes))
		usage->write_bytes += bytes;
}

static void measure(pid_t root, bool with_root, struct proc_usage *usage)
{
	struct str text cleanup_str = {0};
	struct proc_scan scan;
	size_t count;

	*usage = (struct proc_usage){0};
	proc_scan_take(&scan);
	for (size_t i = 0; with_root && i < scan.count; i++) {
		if (scan.items[i].id.pid == root && !scan.items[i].dead)
			add_usage(usage, &scan.items[i], &text);
	}
	const struct proc_entry **found = proc_scan_descendants(&scan, root, &count);
	for (size_t i = 0; i < count; i++)
		add_usage(usage, found[i], &text);
	free(found);
	proc_scan_finish(&scan);
}

void proc_measure_tree(pid_t root, struct proc_usage *usage)
{
	measure(root, true, usage);
}

void proc_measure_descendants(pid_t root, struct proc_usage *usage)
{
	measure(root, false, usage);
}

const char *proc_signal_name(int signal)
{
	static const char *const names[] = {
		"signal 0",  "SIGHUP",	  "SIGINT",    "SIGQUIT",   "SIGILL",	 "SIGTRAP",
		"SIGABRT",   "SIGBUS",	  "SIGFPE",    "SIGKILL",   "SIGUSR1",	 "SIGSEGV",
		"SIGUSR2",   "SIGPIPE",	  "SIGALRM",   "SIGTERM",   "SIGSTKFLT", "SIGCHLD",
		"SIGCONT",   "SIGSTOP",	  "SIGTSTP",   "SIGTTIN",   "SIGTTOU",	 "SIGURG",
		"SIGXCPU",   "SIGXFSZ",	  "SIGVTALRM", "SIGPROF",   "SIGWINCH",	 "SIGIO",
		"SIGPWR",    "SIGSYS",	  "signal 32", "signal 33", "signal 34", "signal 35",
		"signal 36", "signal 37", "signal 38", "signal 39", "signal 40", "signal 41",
		"signal 42", "signal 43", "signal 44", "signal 45", "signal 46", "signal 47",
		"signal 48", "signal 49", "signal 50", "signal 51", "signal 52", "signal 53",
		"signal 54", "signal 55", "signal 56", "signal 57", "signal 58", "signal 59",
		"signal 60", "signal 61", "signal 62", "signal 63", "signal 64",
	};

	if (signal < 0 || (size_t)signal >= array_length(names))
		return "unknown signal";
	return names[signal];
}
