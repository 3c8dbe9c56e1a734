#include "client/follow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/mem.h"

struct follow {
	int fd;
};

struct follow *follow_create(struct err *err)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0) {
		err_set_errno(err, "cannot watch files");
		return NULL;
	}
	struct follow *follow = mem_alloc(sizeof(*follow));
	follow->fd = fd;
	return follow;
}

void follow_destroy(struct follow *follow)
{
	if (!follow)
		return;
	close(follow->fd);
	free(follow);
}

void follow_add(struct follow *follow, const char *path)
{
	inotify_add_watch(follow->fd, path,
			  IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE);
}

int follow_fd(const struct follow *follow)
{
	return follow->fd;
}

void follow_drain(struct follow *follow)
{
	char buffer[4096];
	while (read(follow->fd, buffer, sizeof(buffer)) > 0)
		;
}

int follow_wait(struct follow *follow, int64_t timeout_ms)
{
	struct pollfd wait = {.fd = follow->fd, .events = POLLIN};
	int ready = poll(&wait, 1, (int)timeout_ms);
	return ready < 0 && errno == EINTR ? -1 : 0;
}
