#include "client/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/bar.h"
#include "client/report.h"

#define NAME "standard input"

enum {
	PIECE = 1 << 18,
	MUCH_MIB = 64,
	LOOK_MS = 100, /* between two questions whether the user wants it to end */
};

void input_announce(int fd, const char *what)
{
	if (isatty(fd))
		report_note("%s is read from the terminal; Ctrl-D ends it", what);
}

/* main_tony.c puts something that cannot be read in the place of what is closed. */
int input_check(int fd, const char *option, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_WRONLY)
		return 0;
	return err_set(err, ERR_USAGE, "%s: " NAME " is closed; write <FILE", option);
}

/* Of a regular file, from where it stands; 0: not known. */
static int64_t known_length(int fd)
{
	struct stat info;
	off_t here = lseek(fd, 0, SEEK_CUR);

	if (here < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
		return 0;
	return info.st_size > here ? info.st_size - here : 0;
}

static int refuse_length(int64_t cap, struct err *err)
{
	char *most cleanup_free = str_format_bytes(cap);

	return err_set(err, ERR_USAGE,
		       "--stdin: standard input is longer than %s; put it into a file, and let the "
		       "program open that (see --src_dir and tony.containers.resources)",
		       most);
}

struct copy {
	struct bar bar;
	int from, to;
	const char *path;
	int64_t done, total, cap; /* total 0: not known */
};

static bool is_wanted(struct copy *copy)
{
	return bar_show(&copy->bar, NAME, copy->done, copy->total);
}

/* False: neither something to be read nor the end so far. */
static bool await_some(int fd)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};

	return poll(&poller, 1, LOOK_MS) != 0;
}

/* 1: the end. */
static int copy_some(struct copy *copy, char *piece, struct err *err)
{
	ssize_t got = read(copy->from, piece, PIECE);

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (got < 0)
		return err_set_errno(err, "--stdin: " NAME);
	copy->done += got;
	if (copy->done > copy->cap)
		return refuse_length(copy->cap, err);
	if (fs_write_all(copy->to, piece, (size_t)got, err) < 0)
		return err_wrap(err, "%s", copy->path);
	return got == 0;
}

static int copy_all(struct copy *copy, struct err *err)
{
	char *piece cleanup_free = mem_alloc(PIECE);
	int result = 0;

	while (result == 0) {
		if (!is_wanted(copy))
			return err_set(err, ERR_FAILED, "interrupted");
		if (await_some(copy->from))
			result = copy_some(copy, piece, err);
	}
	return result < 0 ? -1 : 0;
}

static void tell_length(int64_t length)
{
	char *bytes cleanup_free = str_format_bytes(length);

	if (length >= (int64_t)MUCH_MIB << 20)
		report_note("--stdin: copying %s", bytes);
}

int input_keep(int fd, const char *path, int64_t cap, bool (*interrupted)(void), struct err *err)
{
	struct copy copy = {.from = fd, .path = path, .total = known_length(fd), .cap = cap};

	if (input_check(fd, "--stdin", err) < 0)
		return -1;
	if (copy.total > cap)
		return refuse_length(cap, err);
	int to cleanup_close = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return err_set_errno(err, "%s", path);
	copy.to = to;
	input_announce(fd, "the program's standard input");
	tell_length(copy.total);
	bar_begin(&copy.bar, "reading", interrupted);
	int result = copy_all(&copy, err);
	bar_clear(&copy.bar);
	return result;
}

bool input_is_waiting(int fd)
{
	struct stat info;
	int flags = fcntl(fd, F_GETFL), bytes = 0;

	if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || fstat(fd, &info) < 0)
		return false;
	if (S_ISREG(info.st_mode))
		return known_length(fd) > 0;
	return (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) &&
	       ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}
