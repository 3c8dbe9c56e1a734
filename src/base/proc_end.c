/*
 * Ending every process of a task. Killing what one look at /proc shows is not enough: a process
 * not yet seen may be forked meanwhile, and loses its parent (and with it the way it is found) when
 * that is killed. So all are stopped first, again and again until a look shows none that runs; the
 * tree no longer changes then, and is killed as a whole. What replaces itself faster than a look
 * takes is chased by the last pid given out.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc_scan.h"

enum {
	LOOK_AGAIN_MS = 20, /* at most, when waiting for processes to go */
	CHASE_ROUNDS = 500,
	CHASE_PIDS = 4096,     /* to look at in one round */
	FREEZE_ROUNDS = 50,    /* then kill what is there, stable or not */
	KILL_LIMIT_MS = 10000, /* what survives that long sleeps uninterruptibly */
};

/* A process to be ended. */
struct victim {
	struct proc_id id;
	pid_t group;
	bool watches; /* it runs the caller's own program: it would take over from a killed caller
		       */
};

struct victims {
	struct victim *items;
	size_t count;
};

struct hunt {
	pid_t root;
	const char *mark;
	const char *spared; /* a mark, of whole trees; NULL: none */
	const pid_t *protect;
	size_t protect_count;
	struct stat program;	/* the caller's own file */
	struct victims victims; /* of the last look */
	struct proc_scan scan;	/* the last look */
	bool stop_on_sight;
	bool looks_everywhere; /* also beside the tree: there may be members of its groups */
};

static bool is_protected(const struct hunt *hunt, pid_t pid)
{
	if (pid == getpid() || pid == 1)
		return true;
	for (size_t i = 0; i < hunt->protect_count; i++) {
		if (hunt->protect[i] == pid)
			return true;
	}
	return false;
}

static int by_pid(const void *a, const void *b)
{
	const struct victim *first = a, *second = b;

	return (first->id.pid > second->id.pid) - (first->id.pid < second->id.pid);
}

static bool is_victim(const struct victims *victims, const struct proc_id *id)
{
	const struct victim key = {.id = *id};
	const struct victim *found = NULL;

	if (victims->count > 0)
		found = bsearch(&key, victims->items, victims->count, sizeof(key), by_pid);
	return found && found->id.start_time == id->start_time;
}

/* Reaps what was a victim and has become (or always was) the caller's child. When the caller is
 * the root, all its children are: also those that came and went between two looks. */
static void reap(const struct hunt *hunt)
{
	for (size_t i = 0; i < hunt->scan.count; i++) {
		const struct proc_entry *entry = &hunt->scan.items[i];
		if (entry->dead && entry->parent == getpid() &&
		    !is_protected(hunt, entry->id.pid) &&
		    (hunt->root == getpid() || is_victim(&hunt->victims, &entry->id)))
			waitpid(entry->id.pid, NULL, WNOHANG);
	}
}

static struct victim make_victim(const struct hunt *hunt, const struct proc_entry *entry)
{
	struct victim victim = {.id = entry->id, .group = entry->group};
	struct stat program;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)entry->id.pid);
	victim.watches = stat(path, &program) == 0 && program.st_dev == hunt->program.st_dev &&
			 program.st_ino == hunt->program.st_ino;
	return victim;
}

/* Victims among the processes of the scan. Who was one stays one until it is dead: a process that
 * is ending has no environment any more, but still holds files, ports and memory. */
static void list_victims(struct hunt *hunt)
{
	const struct proc_scan *scan = &hunt->scan;
	struct victims victims = {.items = mem_alloc_array(scan->count, sizeof(struct victim))};
	bool *chosen cleanup_free = mem_alloc_array(scan->count, sizeof(*chosen));
	size_t count;
	const struct proc_entry **found =
		proc_scan_descendants(scan, hunt->root, hunt->spared, &count);

	for (size_t i = 0; i < count; i++)
		chosen[found[i] - scan->items] = true;
	free(found);
	for (size_t i = 0; i < scan->count; i++) {
		const struct proc_entry *entry = &scan->items[i];
		if (entry->dead || is_protected(hunt, entry->id.pid))
			continue;
		if (chosen[i] || is_victim(&hunt->victims, &entry->id) ||
		    (hunt->mark && proc_has_mark(entry->id.pid, hunt->mark)))
			victims.items[victims.count++] = make_victim(hunt, entry);
	}
	if (victims.count > 1)
		qsort(victims.items, victims.count, sizeof(*victims.items), by_pid);
	free(hunt->victims.items);
	hunt->victims = victims;
}

static bool descends(pid_t pid, pid_t root, const char *spared)
{
	struct proc_entry entry;
	pid_t at = pid;

	for (int steps = 0; root > 0 && steps < 1000; steps++) {
		if (proc_read_entry(at, &entry) < 0 || entry.dead) {
			if (at == pid)
				return false;
			at = pid; /* an ancestor died under way: there is a new parent */
			continue;
		}
		if (spared && proc_has_mark(at, spared))
			return false;
		if (entry.parent == root)
			return true;
		if (entry.parent <= 1)
			return false;
		at = entry.parent;
	}
	return false;
}

/* Makes a process the scan has missed a victim, if it is one. */
static void meet(struct hunt *hunt, pid_t pid)
{
	int fd cleanup_close = pidfd_open(pid, 0);
	struct proc_entry entry;

	if (fd < 0 || is_protected(hunt, pid) || proc_read_entry(pid, &entry) < 0)
		return;
	if (entry.dead && entry.parent == getpid() && hunt->root == getpid())
		waitpid(pid, NULL, WNOHANG);
	if (entry.dead || is_victim(&hunt->victims, &entry.id))
		return;
	if (!descends(pid, hunt->root, hunt->spared) &&
	    !(hunt->mark && proc_has_mark(pid, hunt->mark)))
		return;
	if (hunt->stop_on_sight)
		pidfd_send_signal(fd, SIGSTOP, NULL, 0);

	struct victims *victims = &hunt->victims;
	victims->items =
		mem_realloc_array(victims->items, victims->count + 1, sizeof(*victims->items));
	victims->items[victims->count++] = make_victim(hunt, &entry);
	qsort(victims->items, victims->count, sizeof(*victims->items), by_pid);
}

/* Follows the pids given out after `last`, until there is none that was not looked at. */
static void chase(struct hunt *hunt, pid_t last)
{
	for (int i = 0; i < CHASE_ROUNDS; i++) {
		pid_t newest = proc_last_pid();
		pid_t first = newest > last ? last + 1 : 1; /* else they began anew */
		bool enough = hunt->victims.count > 0 && !hunt->stop_on_sight;
		if (newest == last || enough)
			return;
		if (newest - first >= CHASE_PIDS)
			first = newest - CHASE_PIDS + 1;
		for (pid_t pid = newest; pid >= first; pid--)
			meet(hunt, pid);
		last = newest;
	}
}

static void scan(struct hunt *hunt)
{
	proc_scan_finish(&hunt->scan);
	if (hunt->mark || hunt->looks_everywhere)
		proc_scan_take(&hunt->scan);
	else
		proc_scan_take_below(&hunt->scan, hunt->root);
}

/* Reaps the victims of the last look that are dead, lists the new ones. */
static void look_once(struct hunt *hunt)
{
	pid_t last = proc_last_pid();

	scan(hunt);
	reap(hunt);
	list_victims(hunt);
	chase(hunt, last);
}

/* That there are none is believed only when seen twice: reading /proc is no snapshot. */
static void look(struct hunt *hunt)
{
	look_once(hunt);
	if (hunt->victims.count == 0)
		look_once(hunt);
}

/* The descriptor holds on to the process, so that the check of its start time stays true. */
static int open_victim(const struct proc_id *id)
{
	int fd = pidfd_open(id->pid, 0);

	if (fd >= 0 && !proc_is_alive(id)) {
		close(fd);
		errno = ESRCH;
		return -1;
	}
	return fd;
}

static void send_signal(const struct proc_id *id, int signal)
{
	int fd cleanup_close = open_victim(id);

	if (fd >= 0)
		pidfd_send_signal(fd, signal, NULL, 0);
	else if (errno != ESRCH && proc_is_alive(id))
		kill(id->pid, signal); /* no pidfd: sandbox, or out of descriptors */
}

static void signal_those(const struct hunt *hunt, bool watching, int signal)
{
	for (size_t i = 0; i < hunt->victims.count; i++) {
		if (hunt->victims.items[i].watches == watching)
			send_signal(&hunt->victims.items[i].id, signal);
	}
}

/* Who watches goes last: if the caller is killed while it does this, guardians and supervisors not
 * yet reached end what was not reached either. */
static void signal_all(const struct hunt *hunt, int signal)
{
	signal_those(hunt, false, signal);
	signal_those(hunt, true, signal);
}

/* Waits until a victim is gone, but not long: others may have gone, or come, before. */
static void wait_for_change(const struct hunt *hunt)
{
	struct pollfd last = {.fd = -1, .events = POLLIN};

	if (hunt->victims.count > 0)
		last.fd = open_victim(&hunt->victims.items[hunt->victims.count - 1].id);
	poll(&last, 1, last.fd < 0 ? 1 : LOOK_AGAIN_MS);
	mem_cleanup_close(&last.fd);
}

/* Waits for all victims to be gone; how many are left at `deadline`. */
static size_t wait_for_all(struct hunt *hunt, int64_t deadline)
{
	for (;;) {
		look(hunt);
		if (hunt->victims.count == 0 || clock_monotonic_ms() >= deadline)
			return hunt->victims.count;
		wait_for_change(hunt);
	}
}

/* True when every live member of the group is a victim, so that the group may be signalled. */
static bool owns_group(const struct hunt *hunt, pid_t group)
{
	if (group <= 1 || group == getpgrp())
		return false;
	for (size_t i = 0; i < hunt->scan.count; i++) {
		const struct proc_entry *entry = &hunt->scan.items[i];
		if (entry->group == group && !entry->dead && !is_victim(&hunt->victims, &entry->id))
			return false;
	}
	return true;
}

/* Stops those not stopped before; how many those were. */
static size_t stop_new(struct hunt *hunt, const struct victims *stopped)
{
	size_t fresh = 0;
	pid_t last_group = 0;

	for (size_t i = 0; i < hunt->victims.count; i++) {
		const struct victim *victim = &hunt->victims.items[i];
		if (is_victim(stopped, &victim->id))
			continue;
		fresh++;
		send_signal(&victim->id, SIGSTOP);
		/* The kernel walks a group without letting it fork: catches a process that keeps
		 * replacing itself faster than it can be looked at. */
		if (victim->group != last_group && owns_group(hunt, victim->group))
			kill(-victim->group, SIGSTOP);
		last_group = victim->group;
	}
	return fresh;
}

static void freeze(struct hunt *hunt)
{
	struct victims stopped = {0};

	hunt->looks_everywhere = true;
	look(hunt);
	for (int i = 0; i < FREEZE_ROUNDS && stop_new(hunt, &stopped) > 0; i++) {
		free(stopped.items);
		stopped.count = hunt->victims.count;
		stopped.items = mem_alloc_array(stopped.count, sizeof(*stopped.items));
		memcpy(stopped.items, hunt->victims.items, stopped.count * sizeof(*stopped.items));
		look(hunt);
	}
	free(stopped.items);
}

/* Whether all are gone. The first blow falls without freezing anybody: who is killed while ending
 * others must not leave them stopped for ever. Those that outlive it multiply, and are held first.
 */
static bool kill_all(struct hunt *hunt)
{
	int64_t deadline = clock_monotonic_ms() + KILL_LIMIT_MS;

	do {
		if (hunt->stop_on_sight)
			freeze(hunt);
		signal_all(hunt, SIGKILL);
		hunt->stop_on_sight = true;
		wait_for_change(hunt);
		look(hunt);
	} while (hunt->victims.count > 0 && clock_monotonic_ms() < deadline);
	return hunt->victims.count == 0;
}

static int end_hunted(struct hunt *hunt, int signal, int64_t grace_ms)
{
	stat("/proc/self/exe", &hunt->program);
	look(hunt);
	if (hunt->victims.count > 0 && signal != SIGKILL) {
		signal_all(hunt, signal);
		signal_all(hunt, SIGCONT); /* a stopped process heeds no signal */
		wait_for_all(hunt, clock_monotonic_ms() + grace_ms);
	}
	int left = (int)hunt->victims.count;
	if (left > 0 && !kill_all(hunt))
		left = -1;
	free(hunt->victims.items);
	proc_scan_finish(&hunt->scan);
	return left;
}

int proc_end_all(pid_t root, const char *mark, const pid_t *protect, size_t protect_count,
		 int signal, int64_t grace_ms)
{
	struct hunt hunt = {
		.root = root, .mark = mark, .protect = protect, .protect_count = protect_count};

	return end_hunted(&hunt, signal, grace_ms);
}

int proc_end_unspared(const char *mark, const char *spared, const pid_t *protect,
		      size_t protect_count)
{
	struct hunt hunt = {.root = getpid(),
			    .mark = mark,
			    .spared = spared,
			    .protect = protect,
			    .protect_count = protect_count};

	return end_hunted(&hunt, SIGKILL, 0);
}
