#include "base/proc_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc_scan.h"
#include "base/str.h"

enum {
	FULL_MS = 60000,    /* between two looks at all of /proc */
	SETTLE_MS = 1000,   /* a process that is being made has its pid, and is not seen yet */
	IN_THE_MAKING = 64, /* at once, about */
	PSS_MS = 30000,
	PSS_BUDGET_US = 50000,
	PSS_MS_PER_US = 5, /* for each the budget grows by 1 us */
	FILE_CAP = 65536,
};

struct member {
	struct proc_entry entry;
	int64_t pss_at;		       /* when it was read; 0: never */
	uint64_t pss_bytes, pss_pages; /* as of then; the resident set */
};

struct proc_tree {
	pid_t root;
	struct member *members;
	size_t count, capacity;
	size_t machine_count; /* processes of the machine, when all were seen */
	int64_t full_at;
	/* Pids after `settled` and up to the last one may be new ones. */
	pid_t settled, settling;
	int64_t settling_since;
	int64_t pss_budget_us, pss_at;
};

struct proc_tree *proc_tree_create(pid_t root)
{
	struct proc_tree *tree = mem_alloc(sizeof(*tree));

	tree->root = root;
	tree->pss_budget_us = PSS_BUDGET_US;
	return tree;
}

void proc_tree_destroy(struct proc_tree *tree)
{
	if (!tree)
		return;
	free(tree->members);
	free(tree);
}

/* ---- who they are ------------------------------------------------------------------------- */

static const struct member *find_member(const struct proc_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->members[i].entry.id.pid == pid)
			return &tree->members[i];
	return NULL;
}

static void add_member(struct proc_tree *tree, const struct member *member)
{
	if (tree->count == tree->capacity) {
		tree->capacity = 2 * tree->capacity + 16;
		tree->members =
			mem_realloc_array(tree->members, tree->capacity, sizeof(*tree->members));
	}
	tree->members[tree->count++] = *member;
}

/* Keeps what is known of those that are still there. */
static void take(struct proc_tree *tree, const struct proc_scan *scan)
{
	struct proc_tree before = *tree;
	size_t count;

	const struct proc_entry **found = proc_scan_descendants(scan, tree->root, NULL, &count);
	tree->members = NULL;
	tree->count = tree->capacity = 0;
	for (size_t i = 0; i < count; i++) {
		const struct member *known = find_member(&before, found[i]->id.pid);
		struct member member = {0};
		if (known && known->entry.id.start_time == found[i]->id.start_time)
			member = *known;
		member.entry = *found[i];
		add_member(tree, &member);
	}
	free(before.members);
	free(found);
}

static void look_at_children(struct proc_tree *tree)
{
	struct proc_scan scan;

	proc_scan_take_below(&scan, tree->root);
	take(tree, &scan);
	proc_scan_finish(&scan);
}

static void look_at_all(struct proc_tree *tree)
{
	struct proc_scan scan;

	proc_scan_take(&scan);
	take(tree, &scan);
	tree->machine_count = scan.count;
	proc_scan_finish(&scan);
}

static void look_at_known(struct proc_tree *tree)
{
	size_t kept = 0;

	for (size_t i = 0; i < tree->count; i++) {
		struct member member = tree->members[i];
		struct proc_id id = member.entry.id;
		if (proc_read_entry(id.pid, &member.entry) == 0 && !member.entry.dead &&
		    member.entry.id.start_time == id.start_time)
			tree->members[kept++] = member;
	}
	tree->count = kept;
}

/* Threads have pids, too, which can be looked up though no list has them. */
static bool is_thread(pid_t pid)
{
	struct str text cleanup_str = {0};
	uint64_t leader;

	return proc_read_file(pid, "status", FILE_CAP, &text) == 0 &&
	       proc_find_number(str_text(&text), "Tgid", &leader) && leader != (uint64_t)pid;
}

static bool is_child(const struct proc_tree *tree, const struct proc_entry *entry)
{
	return (entry->parent == tree->root || find_member(tree, entry->parent)) &&
	       !is_thread(entry->id.pid);
}

/* Makes members of what descends from members; pids mostly go up from parents to children. */
static void add_descendants(struct proc_tree *tree, struct proc_entry *entries, size_t count)
{
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < count; i++) {
			const struct member member = {.entry = entries[i]};
			if (entries[i].id.pid == 0 || !is_child(tree, &entries[i]))
				continue;
			add_member(tree, &member);
			entries[i].id.pid = 0;
			found = true;
		}
	}
}

static void look_at_new(struct proc_tree *tree, pid_t last)
{
	size_t most = (size_t)(last - tree->settled), count = 0;
	struct proc_entry *entries cleanup_free = mem_alloc_array(most, sizeof(*entries));

	for (pid_t pid = tree->settled + 1; pid <= last; pid++) {
		if (pid != tree->root && !find_member(tree, pid) &&
		    proc_read_entry(pid, &entries[count]) == 0 && !entries[count].dead)
			count++;
	}
	add_descendants(tree, entries, count);
}

/* To try a pid costs about what it costs to read about a process. */
static bool all_is_cheaper(const struct proc_tree *tree, pid_t last)
{
	return (size_t)(last - tree->settled) > tree->machine_count;
}

/* ---- by the pids that were given out ------------------------------------------------------ */

static void look_at_pids(struct proc_tree *tree)
{
	int64_t now = clock_monotonic_ms();
	pid_t last = proc_last_pid();
	bool is_known =
		tree->settled > 0 && last >= tree->settling && tree->settling >= tree->settled;

	if (!is_known || now - tree->full_at >= FULL_MS || all_is_cheaper(tree, last)) {
		look_at_all(tree);
		tree->full_at = now;
	} else {
		look_at_known(tree);
		look_at_new(tree, last);
	}
	if (tree->settled == 0)
		tree->settled = last > IN_THE_MAKING ? last - IN_THE_MAKING : 1;
	else if (now - tree->settling_since >= SETTLE_MS || last < tree->settling)
		tree->settled = tree->settling;
	else
		return;
	tree->settling = last;
	tree->settling_since = now;
}

static void look(struct proc_tree *tree)
{
	if (proc_scan_has_lists())
		look_at_children(tree);
	else
		look_at_pids(tree);
}

static void list_members(const struct proc_tree *tree, bool stopped_only, struct proc_list *list)
{
	*list = (struct proc_list){.items = mem_alloc_array(tree->count, sizeof(*list->items))};
	for (size_t i = 0; i < tree->count; i++)
		if (!stopped_only || tree->members[i].entry.state == 'T')
			list->items[list->count++] = tree->members[i].entry.id;
}

void proc_tree_list(const struct proc_tree *tree, struct proc_list *list)
{
	list_members(tree, false, list);
}

void proc_tree_list_stopped(struct proc_tree *tree, struct proc_list *list)
{
	look(tree);
	list_members(tree, true, list);
}

/* ---- memory ------------------------------------------------------------------------------- */

static uint64_t bytes_of(uint64_t pages)
{
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void read_pss(struct member *member, int64_t now)
{
	struct str text cleanup_str = {0};
	uint64_t kib;

	member->pss_at = now;
	member->pss_pages = member->entry.rss_pages;
	member->pss_bytes = bytes_of(member->pss_pages);
	if (proc_read_file(member->entry.id.pid, "smaps_rollup", FILE_CAP, &text) == 0 &&
	    proc_find_number(str_text(&text), "Pss", &kib))
		member->pss_bytes = kib * 1024;
}

/* Whose proportional set was never read, or longest ago; NULL: all were lately. */
static struct member *find_due(struct proc_tree *tree, int64_t now)
{
	struct member *due = NULL;

	for (size_t i = 0; i < tree->count; i++)
		if (!due || tree->members[i].pss_at < due->pss_at)
			due = &tree->members[i];
	return due && (due->pss_at == 0 || now - due->pss_at >= PSS_MS) ? due : NULL;
}

static void read_due_pss(struct proc_tree *tree)
{
	int64_t now = clock_monotonic_ms(), begin = clock_processor_us();
	int64_t grown = tree->pss_at > 0 ? (now - tree->pss_at) / PSS_MS_PER_US : 0;
	struct member *due;

	if (tree->pss_at == 0 || grown > 0)
		tree->pss_at = now;
	tree->pss_budget_us += grown;
	if (tree->pss_budget_us > PSS_BUDGET_US)
		tree->pss_budget_us = PSS_BUDGET_US;
	while (clock_processor_us() - begin < tree->pss_budget_us && (due = find_due(tree, now)))
		read_pss(due, now);
	tree->pss_budget_us -= clock_processor_us() - begin;
}

/* What has come since is taken for the process's own. */
static uint64_t pss_now(const struct member *member)
{
	uint64_t now = bytes_of(member->entry.rss_pages), then = bytes_of(member->pss_pages);
	uint64_t pss = member->pss_bytes;

	if (now >= then)
		pss += now - then;
	else
		pss = pss > then - now ? pss - (then - now) : 0;
	return pss < now ? pss : now;
}

/* Those that were not read yet are taken for like the others. */
static uint64_t sum_pss(const struct proc_tree *tree)
{
	uint64_t pss = 0, rss = 0, unknown = 0;

	for (size_t i = 0; i < tree->count; i++) {
		const struct member *member = &tree->members[i];
		uint64_t bytes = bytes_of(member->entry.rss_pages);
		if (member->pss_at == 0) {
			unknown += bytes;
			continue;
		}
		rss += bytes;
		pss += pss_now(member);
	}
	return rss > 0 ? pss + (uint64_t)((double)unknown * (double)pss / (double)rss) : unknown;
}

uint64_t proc_tree_resident_set(struct proc_tree *tree)
{
	uint64_t pages = 0;

	look(tree);
	for (size_t i = 0; i < tree->count; i++)
		pages += tree->members[i].entry.rss_pages;
	return bytes_of(pages);
}

uint64_t proc_tree_proportional_set(struct proc_tree *tree)
{
	int64_t now = clock_monotonic_ms();

	look(tree);
	for (size_t i = 0; i < tree->count; i++)
		read_pss(&tree->members[i], now);
	return sum_pss(tree);
}

uint64_t proc_tree_proportional_estimate(struct proc_tree *tree)
{
	read_due_pss(tree);
	return sum_pss(tree);
}

/* ---- all ---------------------------------------------------------------------------------- */

static void add_io(struct proc_usage *usage, pid_t pid, struct str *text)
{
	uint64_t bytes;

	if (proc_read_file(pid, "io", FILE_CAP, text) < 0)
		return;
	if (proc_find_number(str_text(text), "read_bytes", &bytes))
		usage->read_bytes += bytes;
	if (proc_find_number(str_text(text), "write_bytes", &bytes))
		usage->write_bytes += bytes;
	if (proc_find_number(str_text(text), "rchar", &bytes))
		usage->io_bytes += bytes;
	if (proc_find_number(str_text(text), "wchar", &bytes))
		usage->io_bytes += bytes;
}

/* By the parents of one look: a process that has ended since is still known for an outsider. */
static bool is_below_outsider(const struct proc_tree *tree, const struct member *member,
			      proc_tree_outsider *is_outsider, const void *data)
{
	for (size_t depth = 0; member && depth < tree->count; depth++) {
		if (is_outsider(data, member->entry.id.pid))
			return true;
		member = find_member(tree, member->entry.parent);
	}
	return false;
}

void proc_tree_measure(struct proc_tree *tree, struct proc_usage *usage)
{
	proc_tree_measure_own(tree, NULL, NULL, usage);
}

void proc_tree_measure_own(struct proc_tree *tree, proc_tree_outsider *is_outsider,
			   const void *data, struct proc_usage *usage)
{
	struct str text cleanup_str = {0};

	*usage = (struct proc_usage){0};
	look(tree);
	for (size_t i = 0; i < tree->count; i++) {
		const struct proc_entry *entry = &tree->members[i].entry;
		if (is_outsider && is_below_outsider(tree, &tree->members[i], is_outsider, data))
			continue;
		usage->processes++;
		usage->threads += entry->threads;
		usage->rss_bytes += bytes_of(entry->rss_pages);
		usage->cpu_ms += entry->cpu_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
		add_io(usage, entry->id.pid, &text);
	}
	usage->pss_bytes = proc_tree_proportional_estimate(tree);
}
