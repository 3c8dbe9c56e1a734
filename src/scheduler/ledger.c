#include "scheduler/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

/* An entry is one line; what follows it in the file is left over from a longer one. The room is
 * allocated when the file is made, so that a full disk cannot keep a job from saying what it holds,
 * and one write puts it there, so that a kill leaves the old text or the new one. */
enum { ENTRY_CAP = 64 << 10, ENTRY_ROOM = 4096 };

struct ledger {
	char *directory;
	int lock;   /* over the whole ledger */
	int fd;	    /* the own entry: borrowed, and shared with executors; -1: none */
	int watch;  /* inotify; -1: none */
	char *file; /* the own entry's name */
	char *written;
	struct ledger_entry own;
	struct ledger_entry *others;
	size_t count;
};

static void forget_others(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->count; i++)
		ledger_entry_finish(&ledger->others[i]);
	free(ledger->others);
	ledger->others = NULL;
	ledger->count = 0;
}

static bool read_line(int fd, char *bytes, size_t *length)
{
	ssize_t got = pread(fd, bytes, ENTRY_CAP, 0);
	const char *end = got > 0 ? memchr(bytes, '\n', (size_t)got) : NULL;

	*length = end ? (size_t)(end - bytes) : 0;
	return end != NULL;
}

/* What is written in an entry's open file. False: nothing yet, which is a job that holds nothing.
 */
static bool read_entry(const char *path, int fd, struct ledger_entry *entry)
{
	struct err err cleanup_err = {0};
	char bytes[ENTRY_CAP];
	size_t length;

	if (!read_line(fd, bytes, &length))
		return false;
	if (ledger_parse(bytes, length, entry, &err) == 0)
		return true;
	log_warning("%s: %s", path, err_message(&err));
	return false;
}

/* True with the entry when a live job wrote one. */
static bool read_other(const struct ledger *ledger, const char *name, bool removes_dead,
		       struct ledger_entry *entry)
{
	char *path cleanup_free = fs_join(ledger->directory, name);

	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		if (removes_dead)
			unlink(path);
		return false;
	}
	return read_entry(path, fd, entry);
}

static int read_others(struct ledger *ledger, struct err *err)
{
	DIR *directory cleanup_dir = opendir(ledger->directory);
	struct str_list names cleanup_str_list = {0};
	const struct dirent *item;

	if (!directory)
		return err_set_errno(err, "%s", ledger->directory);
	while ((item = readdir(directory))) {
		if (str_ends_with(item->d_name, ".job") &&
		    !(ledger->file && str_equal(item->d_name, ledger->file)))
			str_list_add(&names, item->d_name);
	}
	str_list_sort(&names);
	ledger->others = mem_alloc_array(names.count, sizeof(*ledger->others));
	for (size_t i = 0; i < names.count; i++) {
		if (read_other(ledger, names.items[i], true, &ledger->others[ledger->count]))
			ledger->count++;
	}
	return 0;
}

/* ---- open and close ----------------------------------------------------------------------- */

static int open_lock(struct ledger *ledger, struct err *err)
{
	char *path cleanup_free = fs_join(ledger->directory, "lock");

	if (fs_make_directories(ledger->directory, 0700, err) < 0)
		return -1;
	/* Read-only, so that its own closing wakes nobody (see ledger_watch()). */
	ledger->lock = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	return ledger->lock < 0 ? err_set_errno(err, "%s", path) : 0;
}

static int lock_ledger(struct ledger *ledger, int flags)
{
	int result;

	do
		result = flock(ledger->lock, LOCK_EX | flags);
	while (result < 0 && errno == EINTR);
	return result;
}

static int make_entry(const char *path, const char *job, struct err *err)
{
	int fd cleanup_close = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set_errno(err, "%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, ERR_FAILED,
			       "processes of an earlier start of job %s still hold their part of "
			       "this machine",
			       job);
	int code = ftruncate(fd, 0) < 0 ? errno : posix_fallocate(fd, 0, ENTRY_ROOM);
	if (code != 0 && code != EOPNOTSUPP && code != EINVAL) {
		errno = code;
		return err_set_errno(err, "%s", path);
	}
	return mem_steal_fd(&fd);
}

static char *entry_file(const char *job)
{
	return mem_printf("%s.job", job);
}

static struct ledger *open_directory(const char *directory, struct err *err)
{
	struct ledger *ledger = mem_alloc(sizeof(*ledger));

	*ledger = (struct ledger){
		.directory = mem_strdup(directory), .lock = -1, .fd = -1, .watch = -1};
	if (open_lock(ledger, err) == 0)
		return ledger;
	ledger_close(ledger);
	return NULL;
}

int ledger_hold(const char *directory, const char *job, struct err *err)
{
	struct ledger *ledger = open_directory(directory, err);
	int fd = -1;

	if (!ledger)
		return -1;
	char *file cleanup_free = entry_file(job);
	char *path cleanup_free = fs_join(directory, file);
	/* Locked, so that nobody takes it for a dead one's meanwhile, and removes it. */
	if (lock_ledger(ledger, 0) < 0)
		err_set_errno(err, "%s: lock", directory);
	else
		fd = make_entry(path, job, err);
	ledger_close(ledger);
	return fd;
}

struct ledger *ledger_open(const char *directory, const char *job, int held, struct err *err)
{
	struct ledger *ledger = open_directory(directory, err);

	if (!ledger)
		return NULL;
	ledger->fd = held;
	ledger->file = entry_file(job);
	if (!read_entry(ledger->file, held, &ledger->own))
		ledger->own.job = mem_strdup(job);
	return ledger;
}

void ledger_close(struct ledger *ledger)
{
	if (!ledger)
		return;
	ledger_unwatch(ledger);
	if (ledger->lock >= 0)
		/* Closing would not do, were a child just between fork and exec. */
		flock(ledger->lock, LOCK_UN);
	mem_cleanup_close(&ledger->lock);
	forget_others(ledger);
	ledger_entry_finish(&ledger->own);
	free(ledger->file);
	free(ledger->written);
	free(ledger->directory);
	free(ledger);
}

struct ledger *ledger_look(const char *directory, struct err *err)
{
	struct ledger *ledger = open_directory(directory, err);
	int result = 0;

	if (!ledger)
		return NULL;
	if (lock_ledger(ledger, 0) < 0)
		result = err_set_errno(err, "%s: lock", directory);
	else
		result = read_others(ledger, err);
	flock(ledger->lock, LOCK_UN);
	if (result == 0)
		return ledger;
	ledger_close(ledger);
	return NULL;
}

void ledger_clean(const char *directory)
{
	ledger_close(ledger_look(directory, NULL));
}

/* ---- read, change, write ------------------------------------------------------------------ */

int ledger_descriptor(const struct ledger *ledger)
{
	return ledger->fd;
}

int ledger_begin(struct ledger *ledger, struct err *err)
{
	if (lock_ledger(ledger, LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 1 : err_set_errno(err, "%s: lock", ledger->directory);
	forget_others(ledger);
	if (read_others(ledger, err) < 0) {
		flock(ledger->lock, LOCK_UN);
		return -1;
	}
	return 0;
}

const struct ledger_entry *ledger_others(const struct ledger *ledger, size_t *count)
{
	*count = ledger->count;
	return ledger->others;
}

struct ledger_entry *ledger_own(struct ledger *ledger)
{
	return &ledger->own;
}

bool ledger_waits(const struct ledger *ledger, const char *job, int64_t ticket)
{
	char *file cleanup_free = entry_file(job);
	struct ledger_entry entry = {0};
	bool result = read_other(ledger, file, false, &entry) && entry.ticket == ticket;

	ledger_entry_finish(&entry);
	return result;
}

int64_t ledger_next_ticket(const struct ledger *ledger)
{
	int64_t last = 0;

	for (size_t i = 0; i < ledger->count; i++) {
		if (ledger->others[i].ticket > last)
			last = ledger->others[i].ticket;
	}
	return last + 1;
}

static int write_own(struct ledger *ledger, struct err *err)
{
	char *text cleanup_free = ledger_format(&ledger->own);
	char *line cleanup_free = mem_printf("%s\n", text);
	size_t length = strlen(line);

	/* Every write wakes those who wait. */
	if (str_equal(line, ledger->written))
		return 0;
	ssize_t done = length > ENTRY_CAP ? 0 : pwrite(ledger->fd, line, length, 0);
	if (done < 0)
		return err_set_errno(err, "%s/%s", ledger->directory, ledger->file);
	if ((size_t)done != length)
		return err_set(err, ERR_IO, "%s/%s: no room for the entry", ledger->directory,
			       ledger->file);
	mem_replace(&ledger->written, mem_steal(&line));
	return 0;
}

int ledger_commit(struct ledger *ledger, struct err *err)
{
	int result = write_own(ledger, err);

	flock(ledger->lock, LOCK_UN);
	return result;
}

/* ---- waking up ---------------------------------------------------------------------------- */

int ledger_watch(struct ledger *ledger, const char *job)
{
	/* The last process of a killed job closes its entry; a live job rewrites it. */
	static const uint32_t changes = IN_CLOSE_WRITE | IN_MODIFY | IN_DELETE | IN_DELETE_SELF;
	char *file cleanup_free = job ? entry_file(job) : NULL;
	char *path cleanup_free = job ? fs_join(ledger->directory, file) : NULL;

	ledger_unwatch(ledger);
	ledger->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (ledger->watch >= 0 && (!job || inotify_add_watch(ledger->watch, path, changes) < 0) &&
	    inotify_add_watch(ledger->watch, ledger->directory, changes) < 0)
		ledger_unwatch(ledger);
	return ledger->watch;
}

void ledger_drain(struct ledger *ledger)
{
	char bytes[sizeof(struct inotify_event) + NAME_MAX + 1];

	while (read(ledger->watch, bytes, sizeof(bytes)) > 0)
		;
}

void ledger_unwatch(struct ledger *ledger)
{
	mem_cleanup_close(&ledger->watch);
}
