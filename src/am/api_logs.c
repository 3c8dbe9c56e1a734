#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "am/api_internal.h"
#include "base/mem.h"

enum { POLL_MS = 100 };

/* A log that can be read, or -1. What stands at its path is the user's doing: a FIFO there must not
 * block the AM. */
static int open_log(const struct api *api, size_t task, const char *name, struct stat *status)
{
	char *path cleanup_free = api->host.log_path(api->host.data, task, name);
	int fd cleanup_close = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd < 0 || fstat(fd, status) < 0 || !S_ISREG(status->st_mode))
		return -1;
	return mem_steal_fd(&fd);
}

static void free_follower(struct api_log_follower *follower)
{
	LIST_REMOVE(follower, link);
	event_del(&follower->poll);
	mem_cleanup_close(&follower->fd);
	free(follower->name);
	free(follower);
}

/* Bytes sent; 0: at the end of the file. */
static size_t send_some(struct api_log_follower *follower)
{
	char bytes[HTTP_STREAM_CHUNK];
	size_t most = sizeof(bytes);

	if ((int64_t)most > follower->left)
		most = (size_t)follower->left;
	if (follower->fd < 0 || most == 0)
		return 0;
	ssize_t got = pread(follower->fd, bytes, most, follower->offset);
	if (got <= 0)
		return 0;
	http_stream_write(follower->stream, bytes, (size_t)got);
	follower->offset += got;
	follower->left -= got;
	return (size_t)got;
}

/* The log was rotated, the task got another container, or there was no log before: goes on with the
 * file that stands there now. False: it is the same one. */
static bool change_file(struct api_log_follower *follower)
{
	struct stat now, before = {0};
	int fd cleanup_close = open_log(follower->api, follower->task, follower->name, &now);

	if (fd < 0)
		return false;
	if (follower->fd >= 0 && fstat(follower->fd, &before) == 0 && before.st_ino == now.st_ino &&
	    before.st_dev == now.st_dev)
		return false;
	/* Lines may have come between the last look and the rotation. */
	if (send_some(follower) > 0)
		return true;
	bool is_first = follower->fd < 0;
	mem_cleanup_close(&follower->fd);
	follower->fd = mem_steal_fd(&fd);
	if (!is_first)
		follower->offset = 0;
	return true;
}

static void fill(void *data, struct http_stream *stream)
{
	struct api_log_follower *follower = data;
	struct timeval pause = {.tv_usec = POLL_MS * 1000};

	if (send_some(follower) > 0)
		return;
	bool goes_on = follower->follows && follower->left > 0;
	if (goes_on && change_file(follower)) {
		http_stream_wake(stream);
	} else if (goes_on && !follower->api->draining) {
		event_add(&follower->poll, &pause);
	} else {
		free_follower(follower);
		http_stream_end(stream);
	}
}

static void on_poll(evutil_socket_t fd, short what, void *data)
{
	const struct api_log_follower *follower = data;

	http_stream_wake(follower->stream);
}

static void on_closed(void *data)
{
	free_follower(data);
}

static void begin(struct api *api, struct http_request *request,
		  const struct api_log_follower *with)
{
	struct api_log_follower *follower = mem_alloc(sizeof(*follower));

	*follower = *with;
	follower->api = api;
	event_assign(&follower->poll, api->base, -1, 0, on_poll, follower);
	LIST_INSERT_HEAD(&api->log_followers, follower, link);
	follower->stream = http_answer_stream(
		request, "application/octet-stream",
		&(struct http_stream_source){.fill = fill, .closed = on_closed, .data = follower});
}

void api_handle_logs(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);
	const char *name = http_request_parameter(request, "file");
	int64_t offset = 0, limit = INT64_MAX, follows = 0;
	struct stat status = {0};

	if (!task || http_request_query_int(request, "offset", INT64_MIN, INT64_MAX, &offset) < 0 ||
	    http_request_query_int(request, "limit", 0, INT64_MAX, &limit) < 0 ||
	    http_request_query_int(request, "follow", 0, 1, &follows) < 0)
		return;
	bool is_log = strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0;
	int fd = is_log ? open_log(api, task->number, name, &status) : -1;
	if (!is_log || (fd < 0 && !follows)) {
		http_answer_error(request, 404, "not-found", "%s has no log \"%s\"",
				  http_request_parameter(request, "task"), name);
		return;
	}
	if (offset < 0)
		offset = status.st_size + offset > 0 ? status.st_size + offset : 0;
	begin(api, request,
	      &(struct api_log_follower){
		      .task = task->number,
		      .name = mem_strdup(name),
		      .fd = fd,
		      .offset = offset,
		      .left = limit,
		      .follows = follows,
	      });
}
