#include "executor/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/log_times.h"

enum {
	READ_SIZE = 16384,
	READS_PER_EVENT = 16, /* then others have their turn */
	DRAIN_READS = 1024,   /* more than the largest pipe holds, in short reads too */
};

struct output {
	struct output_options options;
	struct event *event;
	int pipe, file; /* -1: closed */
	char *path;
	int64_t size; /* of the file */
	struct log_times times;
	uint64_t taken, lost;
	int error; /* of the last write; 0: it went well */
	int first_error;
	struct tail tail;
};

static void open_file(struct output *output)
{
	struct stat info;

	output->file = open(output->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	output->size = output->file >= 0 && fstat(output->file, &info) == 0 ? info.st_size : 0;
	if (output->file >= 0)
		log_times_open(&output->times, output->path, output->size);
}

/* stdout.1 -> stdout.2, stdout -> stdout.1; the oldest is overwritten. */
static void rotate(struct output *output)
{
	close(mem_steal_fd(&output->file));
	log_times_close(&output->times);
	if (output->options.keep == 0)
		unlink(output->path);
	for (int i = output->options.keep; i > 0; i--) {
		char *to cleanup_free = mem_printf("%s.%d", output->path, i);
		char *from cleanup_free = i == 1 ? mem_strdup(output->path)
						 : mem_printf("%s.%d", output->path, i - 1);
		log_times_rename(from, to);
		rename(from, to);
	}
	open_file(output);
}

/* How many bytes were written; all of them, or errno says why not. */
static size_t write_bytes(struct output *output, const char *bytes, size_t length)
{
	size_t done = 0;

	while (output->file >= 0 && done < length) {
		ssize_t put = write(output->file, bytes + done, length - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			break;
		done += (size_t)put;
	}
	output->size += (int64_t)done;
	return done;
}

/* Said once where it begins. */
static void lose(struct output *output, int error, size_t length)
{
	if (output->error == 0)
		log_error("cannot write %s: %s; output is being lost", output->path,
			  strerror(error));
	if (output->first_error == 0)
		output->first_error = error;
	output->error = error;
	output->lost += length;
}

/* Whether the file can be written again, with a note in it where the gap is. */
static bool recover(struct output *output)
{
	char *note cleanup_free =
		mem_printf("\n[tony: output was lost here: %s]\n", strerror(output->error));

	if (write_bytes(output, note, strlen(note)) < strlen(note))
		return false;
	output->error = 0;
	return true;
}

static void append(struct output *output, const char *bytes, size_t length)
{
	if (length == 0)
		return;
	errno = 0;
	if (output->file < 0)
		open_file(output);
	log_times_mark(&output->times, output->size, clock_wall_ms());
	size_t done = 0;
	if (output->file >= 0 && (output->error == 0 || recover(output)))
		done = write_bytes(output, bytes, length);
	if (done < length)
		lose(output, errno ? errno : EIO, length - done);
}

static void take(struct output *output, const char *bytes, size_t length)
{
	int64_t room = output->options.rotate_bytes - output->size;

	output->taken += length;
	tail_feed(&output->tail, bytes, length);
	if (output->options.rotate_bytes > 0 && (int64_t)length > room) {
		/* Files change between two lines where there is a line's end to be found. */
		const char *end = memrchr(bytes, '\n', length);
		size_t first = end ? (size_t)(end + 1 - bytes) : 0;
		append(output, bytes, first);
		if (output->size > 0 && output->file >= 0)
			rotate(output);
		append(output, bytes + first, length - first);
	} else {
		append(output, bytes, length);
	}
}

/* 1: there may be more; 0: nothing now; -1: the end. */
static int read_some(struct output *output)
{
	char buffer[READ_SIZE];
	ssize_t got = read(output->pipe, buffer, sizeof(buffer));

	if (got > 0) {
		take(output, buffer, (size_t)got);
		return 1;
	}
	if (got < 0 && errno == EINTR)
		return 1;
	return got < 0 && errno == EAGAIN ? 0 : -1;
}

static void close_pipe(struct output *output)
{
	if (output->event)
		event_free(output->event);
	output->event = NULL;
	mem_cleanup_close(&output->pipe);
	output->pipe = -1;
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct output *output = context;
	int more = 1;

	for (int i = 0; more > 0 && i < READS_PER_EVENT; i++)
		more = read_some(output);
	if (more < 0)
		close_pipe(output);
}

struct output *output_open(struct event_base *base, int fd, const char *path,
			   const struct output_options *options)
{
	struct output *output = mem_alloc(sizeof(*output));

	*output = (struct output){.options = *options, .pipe = fd, .path = mem_strdup(path)};
	output->times.fd = -1;
	tail_init(&output->tail, options->tail_lines);
	open_file(output);
	if (output->file < 0)
		lose(output, errno, 0);
	evutil_make_socket_nonblocking(fd);
	output->event = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, output);
	event_add(output->event, NULL);
	return output;
}

void output_drain(struct output *output)
{
	for (int i = 0; i < DRAIN_READS && output->pipe >= 0 && read_some(output) > 0; i++)
		continue;
	close_pipe(output);
	tail_end(&output->tail);
}

void output_close(struct output *output)
{
	if (!output)
		return;
	close_pipe(output);
	mem_cleanup_close(&output->file);
	log_times_close(&output->times);
	tail_finish(&output->tail);
	free(output->path);
	free(output);
}

const struct tail *output_tail(const struct output *output)
{
	return &output->tail;
}

uint64_t output_bytes(const struct output *output)
{
	return output->taken;
}

uint64_t output_lost(const struct output *output, int *error)
{
	*error = output->first_error;
	return output->lost;
}
