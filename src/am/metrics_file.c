#include "am/metrics_file.h"

#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"

/* A ms or two of each ten: thousands of tasks are not to keep the rest waiting. */
enum { TASKS_AT_ONCE = 10, PAUSE_MS = 10 };

struct metrics_file {
	const struct api *api;
	char *path, *draft;
	int64_t interval_ms;
	void (*written)(void *data, const char *path);
	void *data;
	struct event *timer;
	int fd;	     /* of the draft; -1: none is being written */
	size_t next; /* task */
};

static void drop_draft(struct metrics_file *file)
{
	mem_cleanup_close(&file->fd);
}

static int begin(struct metrics_file *file, struct err *err)
{
	file->next = 0;
	file->fd = open(file->draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return file->fd < 0 ? err_set_errno(err, "%s", file->draft) : 0;
}

/* 1: the file is whole. */
static int go_on(struct metrics_file *file, struct err *err)
{
	if (file->fd < 0 && begin(file, err) < 0)
		return -1;
	int result = api_write_metrics(file->api, &file->next, TASKS_AT_ONCE, file->fd, err);
	if (result <= 0)
		return result;
	if (rename(file->draft, file->path) < 0)
		return err_set_errno(err, "%s", file->path);
	return 1;
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct metrics_file *file = data;
	struct err err cleanup_err = {0};
	int result = go_on(file, &err);

	if (result < 0)
		log_warning("the metrics so far cannot be kept: %s", err_message(&err));
	if (result != 0)
		drop_draft(file);
	if (result > 0)
		file->written(file->data, file->path);
	timer_start(file->timer, result == 0 ? PAUSE_MS : file->interval_ms);
}

struct metrics_file *metrics_file_create(struct event_base *base, const struct api *api,
					 const char *path, int64_t interval_ms,
					 void (*written)(void *data, const char *path), void *data)
{
	struct metrics_file *file = mem_alloc(sizeof(*file));

	file->api = api;
	file->path = mem_strdup(path);
	file->draft = mem_printf("%s.draft", path);
	file->interval_ms = interval_ms;
	file->written = written;
	file->data = data;
	file->fd = -1;
	file->timer = evtimer_new(base, on_timer, file);
	timer_start(file->timer, interval_ms);
	return file;
}

void metrics_file_destroy(struct metrics_file *file)
{
	if (!file)
		return;
	event_free(file->timer);
	if (file->fd >= 0)
		unlink(file->draft);
	drop_draft(file);
	free(file->path);
	free(file->draft);
	free(file);
}
