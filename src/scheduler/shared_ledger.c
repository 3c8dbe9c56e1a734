#include "scheduler/shared_ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/user.h"

#define NO_ENTRY "%s: the job's entry cannot be made"
#define IS_GONE                                                                                    \
	"%s: the job's entry is gone, so other users' jobs can get any GPU that it holds; to "     \
	"prevent that, submit the job again"
#define IS_STALE                                                                                   \
	"%s: the job's entry cannot be written, and other users see what the job held before"

enum {
	NAME_TRIES = 10,
	FILES_OF_USER = 256,
	ENTRY_MODE = 0644,
	NAME_SIZE = 40,
};

/* Of an entry's file: its owner, and what nobody can guess before the file is there. */
struct name {
	uid_t uid;
	uint64_t number;
};

struct names {
	struct name *items;
	size_t count, room;
};

struct shared_ledger {
	char *directory, *user;
	int fd;		 /* the own entry: borrowed; -1: none */
	struct name own; /* its file's; {0}: none */
	int64_t sequence;
	char *written;	   /* as of sequence 0: what was written last */
	struct names over; /* files in the folder that never count again; sorted */
};

/* ---- the folder --------------------------------------------------------------------------- */

/* Else somebody could remove, or put other files in place of, what others wrote. */
static int check_directory(const char *directory, struct err *err)
{
	struct stat status;

	if (lstat(directory, &status) < 0)
		return err_set_errno(err, "%s", directory);
	if (!S_ISDIR(status.st_mode) || !(status.st_mode & S_ISVTX) ||
	    !user_is_trusted(status.st_uid))
		return err_set(err, ERR_DENIED, "%s: is not a sticky folder of root's", directory);
	if (access(directory, R_OK | W_OK | X_OK) < 0)
		return err_set_errno(err, "%s", directory);
	return 0;
}

char *shared_ledger_find(struct err *err)
{
	const char *chosen = getenv("TONY_LEDGER_DIR");
	const char *directory = chosen && *chosen ? chosen : TONY_SHARED_LEDGER;
	struct err why cleanup_err = {0};

	if (check_directory(directory, &why) == 0)
		return mem_strdup(directory);
	err_set(err, ERR_NOT_FOUND,
		"jobs of other users are not seen: %s; ask the administrator for "
		"install -d -m 1777 -o root %s",
		err_message(&why), directory);
	return NULL;
}

/* "1000-0123456789abcdef.job" */
static void format_name(const struct name *name, char text[NAME_SIZE])
{
	snprintf(text, NAME_SIZE, "%u-%016" PRIx64 ".job", (unsigned)name->uid, name->number);
}

static bool parse_name(const char *text, struct name *name)
{
	char *rest, whole[NAME_SIZE];

	name->uid = (uid_t)strtoul(text, &rest, 10);
	name->number = *rest == '-' ? strtoull(rest + 1, NULL, 16) : 0;
	format_name(name, whole);
	return str_equal(text, whole);
}

static int compare_names(const void *a, const void *b)
{
	const struct name *left = a, *right = b;

	if (left->uid != right->uid)
		return left->uid < right->uid ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static void add_name(struct names *names, const struct name *name)
{
	if (names->count == names->room) {
		names->room = names->room > 0 ? 2 * names->room : 64;
		names->items = mem_realloc_array(names->items, names->room, sizeof(*name));
	}
	names->items[names->count++] = *name;
}

/* Sorted, so that one user's stand together. Costs one system call for some hundred files. */
static void list_names(DIR *directory, struct names *names)
{
	const struct dirent *item;
	struct name name;

	while ((item = readdir(directory))) {
		if (parse_name(item->d_name, &name))
			add_name(names, &name);
	}
	if (names->count > 0)
		qsort(names->items, names->count, sizeof(*names->items), compare_names);
}

static int lock_entry(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

/* Asks for what a stranger's lock, which can only be one for reading, does not stand in the way of.
 */
static bool is_alive(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

/* `*made` is the file's path, which the caller frees. */
static int make_file(const char *directory, char **made, struct err *err)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		const struct name name = {.uid = geteuid(), .number = random_u64()};
		char text[NAME_SIZE];
		format_name(&name, text);
		char *path cleanup_free = fs_join(directory, text);
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			*made = mem_steal(&path);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : err_set_errno(err, NO_ENTRY, directory);
	}
	return err_set(err, ERR_IO, "%s: no name for an entry", directory);
}

static int prepare_entry(int fd, const char *directory, struct err *err)
{
	/* A full disk cannot keep the job from saying what it holds. */
	int code = posix_fallocate(fd, 0, SHARED_ENTRY_SIZE);
	if (code != 0 && code != EOPNOTSUPP && code != EINVAL) {
		errno = code;
		return err_set_errno(err, NO_ENTRY, directory);
	}
	/* Locked before anybody else can open it: another's lock for reading would stand in the
	 * way. An entry that others may read is therefore alive, or dead for good. */
	if (lock_entry(fd) < 0 || fchmod(fd, ENTRY_MODE) < 0)
		return err_set_errno(err, NO_ENTRY, directory);
	return 0;
}

int shared_ledger_hold(const char *directory, struct err *err)
{
	char *path cleanup_free = NULL;
	int fd cleanup_close = make_file(directory, &path, err);

	if (fd < 0)
		return -1;
	if (prepare_entry(fd, directory, err) < 0) {
		unlink(path);
		return -1;
	}
	return mem_steal_fd(&fd);
}

int shared_ledger_try(const char *directory, struct err *err)
{
	char *path cleanup_free = NULL;
	int fd cleanup_close = make_file(directory, &path, err);

	if (fd < 0)
		return -1;
	int result = prepare_entry(fd, directory, err);
	unlink(path);
	return result;
}

int shared_ledger_forgo(bool wants_gpus, const struct err *why, struct err *err)
{
	if (wants_gpus)
		return err_set(err, why->kind,
			       "%s; a job with GPUs needs one: free room there, or ask the "
			       "administrator",
			       err_message(why));
	log_warning("%s; the job runs without one, and other users are not told what it holds",
		    err_message(why));
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

struct reading {
	int directory;
	const struct ledger_entry *known;
	size_t known_count;
	int64_t max_gpus;
	struct neighbours *into;
	ino_t *seen; /* beside each of `into` */
	/* Of the user whose files are read just now. */
	uid_t uid;
	size_t first; /* of `into` */
	size_t files;
	int64_t gpus;
};

static bool read_bytes(int fd, struct shared_entry *entry)
{
	char *bytes cleanup_free = mem_alloc(SHARED_ENTRY_SIZE);
	ssize_t length = pread(fd, bytes, SHARED_ENTRY_SIZE, 0);

	return length > 0 && shared_entry_parse(bytes, (size_t)length, entry, NULL) == 0;
}

/* Whether the job is in `into` already, by another name of the file, or the caller knows it from
 * this user's own ledger. */
static bool is_known(const struct reading *reading, const struct stat *status, const char *job)
{
	for (size_t i = reading->first; i < reading->into->count; i++) {
		if (reading->seen[i] == status->st_ino)
			return true;
	}
	if (reading->uid != geteuid())
		return false;
	for (size_t i = 0; i < reading->known_count; i++) {
		if (str_equal(reading->known[i].job, job))
			return true;
	}
	return false;
}

static void keep_first(struct str_list *list, size_t count)
{
	while (list->count > count)
		mem_replace(&list->items[--list->count], NULL);
}

static void add_neighbour(struct reading *reading, const struct stat *status,
			  struct shared_entry *found)
{
	struct neighbours *into = reading->into;
	struct str_list *gpus = &found->entry.gpus;

	if (reading->max_gpus > 0 && reading->gpus + (int64_t)gpus->count > reading->max_gpus)
		keep_first(gpus, (size_t)(reading->max_gpus - reading->gpus));
	reading->gpus += (int64_t)gpus->count;
	into->items = mem_realloc_array(into->items, into->count + 1, sizeof(*into->items));
	reading->seen = mem_realloc_array(reading->seen, into->count + 1, sizeof(*reading->seen));
	into->items[into->count] =
		neighbour_make(status->st_uid, found->user, status->st_mtime, &found->entry);
	reading->seen[into->count++] = status->st_ino;
}

static bool is_entry(const struct name *name, const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_uid == name->uid;
}

/* -1: it is gone, or not for everybody to read, as while it is being made (see prepare_entry()).
 * Does not wait for a FIFO or a lease. */
static int open_entry(int directory, const struct name *name, struct stat *status)
{
	char text[NAME_SIZE];

	format_name(name, text);
	int fd cleanup_close =
		openat(directory, text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, status) < 0 || !is_entry(name, status) ||
	    !(status->st_mode & S_IROTH))
		return -1;
	return mem_steal_fd(&fd);
}

/* Returns whether it is dead. */
static bool read_entry(struct reading *reading, const struct name *name)
{
	struct shared_entry found cleanup_shared_entry = {0};
	struct stat status;
	int fd cleanup_close = open_entry(reading->directory, name, &status);

	if (fd < 0 || status.st_size > SHARED_ENTRY_SIZE)
		return false;
	if (!is_alive(fd))
		return true;
	if (read_bytes(fd, &found) && found.entry.containers > 0 &&
	    !is_known(reading, &status, found.entry.job))
		add_neighbour(reading, &status, &found);
	return false;
}

static void begin_user(struct reading *reading, uid_t uid)
{
	reading->uid = uid;
	reading->first = reading->into->count;
	reading->files = 0;
	reading->gpus = 0;
}

/* Returns whether the file never counts again: its name is of another user than its owner, or its
 * processes are gone. An honest tony makes no file under a name that was there before. */
static bool read_file(struct reading *reading, const struct name *name)
{
	char text[NAME_SIZE];
	struct stat status;

	if (name->uid != reading->uid)
		begin_user(reading, name->uid);
	if (reading->files >= FILES_OF_USER)
		return false;
	format_name(name, text);
	if (fstatat(reading->directory, text, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!is_entry(name, &status))
		return true;
	reading->files++;
	return read_entry(reading, name);
}

/* Of files that never count again only the name is read, so what a user leaves in the folder costs
 * others a system call or three for each file, and once. Returns whether the own entry is there. */
static bool read_files(struct reading *reading, const struct names *names,
		       struct shared_ledger *ledger)
{
	struct names *over = &ledger->over, still = {0};
	bool has_own = false;
	size_t at = 0;

	for (size_t i = 0; i < names->count; i++) {
		const struct name *name = &names->items[i];
		while (at < over->count && compare_names(&over->items[at], name) < 0)
			at++;
		bool is_over = at < over->count && compare_names(&over->items[at], name) == 0;
		if (compare_names(name, &ledger->own) == 0)
			has_own = true;
		else if (is_over || read_file(reading, name))
			add_name(&still, name);
	}
	free(over->items);
	*over = still;
	return has_own;
}

int shared_ledger_read(struct shared_ledger *ledger, const struct ledger_entry *known, size_t count,
		       int64_t max_gpus, struct neighbours *neighbours, struct err *err)
{
	DIR *directory cleanup_dir = opendir(ledger->directory);
	struct names names = {0};

	if (!directory)
		return err_set_errno(err, "%s: the entries of other users cannot be read",
				     ledger->directory);
	struct reading reading = {.directory = dirfd(directory),
				  .known = known,
				  .known_count = count,
				  .max_gpus = max_gpus,
				  .into = neighbours};
	list_names(directory, &names);
	neighbours_finish(neighbours);
	bool has_own = read_files(&reading, &names, ledger);
	free(reading.seen);
	free(names.items);
	return has_own || ledger->fd < 0 ? 0
					 : err_set(err, ERR_NOT_FOUND, IS_GONE, ledger->directory);
}

int shared_ledger_look(const char *directory, const struct ledger_entry *known, size_t count,
		       int64_t max_gpus, struct neighbours *neighbours, struct err *err)
{
	struct shared_ledger ledger = {.directory = (char *)directory, .fd = -1};
	int result = shared_ledger_read(&ledger, known, count, max_gpus, neighbours, err);

	free(ledger.over.items);
	return result;
}

static void remove_if_dead(int directory, const struct name *name)
{
	struct stat status;
	char text[NAME_SIZE];
	int fd cleanup_close = open_entry(directory, name, &status);

	format_name(name, text);
	if (fd >= 0 && !is_alive(fd))
		unlinkat(directory, text, 0);
}

void shared_ledger_clean(const char *directory)
{
	DIR *opened cleanup_dir = opendir(directory);
	struct names names = {0};

	if (opened)
		list_names(opened, &names);
	for (size_t i = 0; i < names.count; i++) {
		if (names.items[i].uid == geteuid())
			remove_if_dead(dirfd(opened), &names.items[i]);
	}
	free(names.items);
}

/* ---- the own entry ------------------------------------------------------------------------ */

/* Of a file that is removed no name is found. */
static struct name find_name(int fd)
{
	char *link cleanup_free = mem_printf("/proc/self/fd/%d", fd);
	char path[PATH_MAX];
	struct name name;
	ssize_t length = readlink(link, path, sizeof(path) - 1);

	path[length > 0 ? length : 0] = '\0';
	return parse_name(fs_basename(path), &name) ? name : (struct name){0};
}

struct shared_ledger *shared_ledger_open(const char *directory, const char *user, int held)
{
	struct shared_ledger *ledger = mem_alloc(sizeof(*ledger));
	struct shared_entry found cleanup_shared_entry = {0};

	*ledger = (struct shared_ledger){
		.directory = mem_strdup(directory),
		.user = mem_strdup(user),
		.fd = held,
		.own = find_name(held),
	};
	if (read_bytes(held, &found)) {
		ledger->sequence = found.sequence;
		ledger->written = shared_entry_format(0, user, &found.entry);
	}
	return ledger;
}

/* Removed, by another name, or with another file in its place. */
static bool is_gone(const struct shared_ledger *ledger)
{
	char name[NAME_SIZE];
	struct stat status, named;

	format_name(&ledger->own, name);
	char *path cleanup_free = fs_join(ledger->directory, name);
	return fstat(ledger->fd, &status) < 0 || lstat(path, &named) < 0 ||
	       named.st_ino != status.st_ino || named.st_dev != status.st_dev;
}

int shared_ledger_renew(struct shared_ledger *ledger, struct err *err)
{
	if (!is_gone(ledger))
		return 0;
	int fd cleanup_close = shared_ledger_hold(ledger->directory, err);
	int flags = fcntl(ledger->fd, F_GETFD);

	if (fd < 0)
		return -1;
	if (flags < 0 || dup3(fd, ledger->fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
		return err_set_errno(err, NO_ENTRY, ledger->directory);
	ledger->own = find_name(ledger->fd);
	ledger->sequence = 0;
	mem_replace(&ledger->written, NULL);
	return 1;
}

int shared_ledger_write(struct shared_ledger *ledger, const struct ledger_entry *own,
			struct err *err)
{
	char *content cleanup_free = shared_entry_format(0, ledger->user, own);
	int64_t next = ledger->sequence + 1;
	struct stat status;

	if (fstat(ledger->fd, &status) == 0 && status.st_nlink == 0)
		return err_set(err, ERR_NOT_FOUND, IS_GONE, ledger->directory);
	/* The time of the file says since when. */
	if (str_equal(content, ledger->written))
		return 0;
	char *line cleanup_free = shared_entry_format(next, ledger->user, own);
	size_t length = strlen(line);
	if (length > SHARED_ENTRY_SLOT)
		return err_set(err, ERR_IO, IS_STALE ": %zu bytes have no room", ledger->directory,
			       length);
	errno = 0;
	if (pwrite(ledger->fd, line, length, (next & 1) * SHARED_ENTRY_SLOT) != (ssize_t)length)
		return err_set_errno(err, IS_STALE, ledger->directory);
	ledger->sequence = next;
	mem_replace(&ledger->written, mem_steal(&content));
	return 0;
}

int shared_ledger_watch(const struct shared_ledger *ledger)
{
	char *link cleanup_free = mem_printf("/proc/self/fd/%d", ledger->fd);
	int watch cleanup_close = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	/* The count of a file's links is one of its attributes. */
	if (watch < 0 || inotify_add_watch(watch, link, IN_ATTRIB) < 0)
		return -1;
	return mem_steal_fd(&watch);
}

void shared_ledger_close(struct shared_ledger *ledger)
{
	if (!ledger)
		return;
	free(ledger->directory);
	free(ledger->user);
	free(ledger->written);
	free(ledger->over.items);
	free(ledger);
}
