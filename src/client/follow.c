#include "client/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define DIRECTORIES_MAX 64 /* each takes a descriptor */
#define WAIT_MAX_MS	1000
#define UNTOLD_MS	50 /* where the kernel does not tell of all changes */

/* The kernel's directory notification (F_NOTIFY), which sends SIGIO. Closing an instance of inotify
 * takes until all CPUs have been idle once, 7 to 17 ms: as long as a short job. And a user has 128
 * of them. */
struct follow {
	int fd; /* of SIGIO */
	struct str_list paths;
	int directories[DIRECTORIES_MAX]; /* of these paths */
	bool is_untold;
};

struct follow *follow_create(void)
{
	struct follow *follow = mem_alloc(sizeof(*follow));
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	follow->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	follow->is_untold = follow->fd < 0;
	return follow;
}

void follow_destroy(struct follow *follow)
{
	if (!follow)
		return;
	for (size_t i = 0; i < follow->paths.count; i++)
		close(follow->directories[i]);
	str_list_finish(&follow->paths);
	mem_cleanup_close(&follow->fd);
	free(follow);
}

void follow_add(struct follow *follow, const char *path)
{
	int changes = DN_MODIFY | DN_CREATE | DN_RENAME | DN_DELETE | DN_MULTISHOT;
	size_t count = follow->paths.count;

	if (str_list_has(&follow->paths, path))
		return;
	int directory =
		count < DIRECTORIES_MAX ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory < 0) {
		follow->is_untold |= count == DIRECTORIES_MAX || errno != ENOENT;
		return;
	}
	if (fcntl(directory, F_NOTIFY, changes) < 0) {
		follow->is_untold = true;
		close(directory);
		return;
	}
	follow->directories[count] = directory;
	str_list_add(&follow->paths, path);
}

int follow_fd(const struct follow *follow)
{
	return follow->fd;
}

void follow_drain(struct follow *follow)
{
	struct signalfd_siginfo info;

	while (follow->fd >= 0 && read(follow->fd, &info, sizeof(info)) > 0)
		continue;
}

int follow_limit_ms(const struct follow *follow, int64_t wait_ms)
{
	int64_t most = follow->is_untold ? UNTOLD_MS : WAIT_MAX_MS;

	return (int)(wait_ms < most ? wait_ms : most);
}

void follow_wait(struct follow *follow, int64_t timeout_ms)
{
	struct pollfd wait = {.fd = follow->fd, .events = POLLIN};

	poll(&wait, 1, follow_limit_ms(follow, timeout_ms));
}
