#include "client/follow.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/mem.h"

#define WAIT_MAX_MS 1000
#define UNTOLD_MS   50 /* without inotify: a user's instances are few */

struct follow {
	int fd; /* -1: no watches */
};

struct follow *follow_create(void)
{
	struct follow *follow = mem_alloc(sizeof(*follow));

	follow->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return follow;
}

void follow_destroy(struct follow *follow)
{
	if (!follow)
		return;
	mem_cleanup_close(&follow->fd);
	free(follow);
}

void follow_add(struct follow *follow, const char *path)
{
	if (follow->fd >= 0)
		inotify_add_watch(follow->fd, path,
				  IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE);
}

int follow_fd(const struct follow *follow)
{
	return follow->fd;
}

void follow_drain(struct follow *follow)
{
	char buffer[4096];

	while (follow->fd >= 0 && read(follow->fd, buffer, sizeof(buffer)) > 0)
		continue;
}

int follow_limit_ms(const struct follow *follow, int64_t wait_ms)
{
	int64_t most = follow->fd < 0 ? UNTOLD_MS : WAIT_MAX_MS;

	return (int)(wait_ms < most ? wait_ms : most);
}

void follow_wait(struct follow *follow, int64_t timeout_ms)
{
	struct pollfd wait = {.fd = follow->fd, .events = POLLIN};

	poll(&wait, 1, follow_limit_ms(follow, timeout_ms));
}
