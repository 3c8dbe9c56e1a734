#include "scheduler/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

enum {
	TAIL_BYTES = 16 << 10,
	LOG_LINES = 20,
	HOLD_ROUNDS = 100,
	HOLD_PAUSE_US = 10000,
};

char *state_dir_job(const char *state, const char *folder, const char *job_id)
{
	return mem_printf("%s/%s/%s", state, folder, job_id);
}

char *state_dir_cache(const char *job_dir)
{
	char *jobs cleanup_free = fs_dirname(job_dir), *state cleanup_free = fs_dirname(jobs);

	return fs_join(state, "cache");
}

void state_dir_remove_job(const char *job_dir)
{
	char *description cleanup_free = fs_join(job_dir, "job.json");

	unlink(description);
	fs_remove_tree(job_dir, NULL);
}

char *state_dir_ledger(const char *job_dir)
{
	char *jobs cleanup_free = fs_dirname(job_dir);
	char *state cleanup_free = fs_dirname(jobs);
	struct utsname name;

	uname(&name);
	const char *host = state_dir_is_job_id(name.nodename) ? name.nodename : "localhost";
	return mem_printf("%s/ledger/%s", state, host);
}

/* ---- life --------------------------------------------------------------------------------- */

static char *life_path(const char *job_dir)
{
	return fs_join(job_dir, "am.lock");
}

int state_dir_hold(const char *job_dir, struct err *err)
{
	char *path cleanup_free = life_path(job_dir);
	int fd cleanup_close = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set_errno(err, "%s", path);
	/* state_dir_is_held() of another process takes it for a moment. */
	for (int i = 0; i < HOLD_ROUNDS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return mem_steal_fd(&fd);
		usleep(HOLD_PAUSE_US);
	}
	return err_set(err, ERR_FAILED, "the job in %s has an application master", job_dir);
}

bool state_dir_is_held(const char *job_dir)
{
	char *path cleanup_free = life_path(job_dir);
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* ---- age ---------------------------------------------------------------------------------- */

static char *cleared_path(const char *job_dir)
{
	return fs_join(job_dir, "cleared");
}

/* The file is empty until all is done. */
int state_dir_set_cleared(const char *job_dir, bool is_done, struct err *err)
{
	char *path cleanup_free = cleared_path(job_dir);

	return fs_write_file(path, "done\n", is_done ? strlen("done\n") : 0, 0600, err);
}

bool state_dir_is_cleared(const char *job_dir, bool is_done)
{
	char *path cleanup_free = cleared_path(job_dir);
	struct stat status;

	return stat(path, &status) == 0 && (!is_done || status.st_size > 0);
}

/* ------------------------------------------------------------------------------------------- */

bool state_dir_is_job_id(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";

	return *name && *name != '.' && name[strspn(name, letters)] == '\0';
}

/* The end of the file; `whole` is false when its first line may be cut. */
static ssize_t read_end(const char *path, char *bytes, bool *whole)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return -1;
	*whole = status.st_size <= TAIL_BYTES;
	return pread(fd, bytes, TAIL_BYTES, *whole ? 0 : status.st_size - TAIL_BYTES);
}

void state_dir_tail(const char *path, size_t count, struct str_list *lines)
{
	char *bytes cleanup_free = mem_alloc(TAIL_BYTES);
	struct str_list all cleanup_str_list = {0};
	bool whole;

	ssize_t length = read_end(path, bytes, &whole);
	if (length <= 0)
		return;
	char *text cleanup_free = str_printable(bytes, (size_t)length);
	str_split(&all, text, '\n');
	size_t first = all.count > count ? all.count - count : 0;
	if (first == 0 && !whole && all.count > 1)
		first = 1;
	for (size_t i = first; i < all.count; i++)
		str_list_add(lines, all.items[i]);
}

void state_dir_read_log(const char *path, struct cause *cause)
{
	struct str_list lines cleanup_str_list = {0};

	state_dir_tail(path, LOG_LINES, &lines);
	cause_take_log(cause, &lines);
}
