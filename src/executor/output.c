#include "executor/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "executor/noise.h"

enum {
	READ_SIZE = 16384,
	READS_PER_EVENT = 16, /* then others have their turn */
	DRAIN_READS = 1024,   /* more than the largest pipe holds, in short reads too */
	RETRY_MS = 1000,      /* whether there is room again; doubled each time */
	RETRY_CAP_MS = 8000,
	END_MARK_SIZE = 320,  /* bytes, at the end of a file */
	END_MARK_LOOK = 4096, /* for a line's end before it */
};

struct output {
	struct output_options options;
	struct event *event;
	int pipe, file; /* -1: closed */
	enum noise_place place;
	struct mask mask;
	char *path;
	int64_t size; /* of the file */
	char last;    /* byte that was written; 0: none yet */
	struct log_times times;
	uint64_t taken;
	struct tail tail;
	struct restarts_reader restarts;
	/* While the file cannot be written. */
	int64_t since_ms; /* wall clock; 0: it can */
	char *why;
	struct backlog backlog;
	int64_t retry_ms;
	struct event *retry;
	struct output_loss loss; /* all of it */
	struct output_loss gap;	 /* what no mark in the file tells yet */
	/* The last mark in the file: from where to where, with a line's end that it was given. */
	int64_t mark_begin, mark_end;
	struct output_loss marked; /* the loss that it tells */
};

/* `from`: as log_times_open() has it. */
static void open_file(struct output *output, int64_t from)
{
	struct stat info;

	output->file = open(output->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	output->size = output->file >= 0 && fstat(output->file, &info) == 0 ? info.st_size : 0;
	if (output->file >= 0)
		log_times_open(&output->times, output->path, output->size, from);
}

/* stdout.1 -> stdout.2, stdout -> stdout.1; the oldest is overwritten. */
static void rotate(struct output *output)
{
	int64_t before = output->times.from + output->size;

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
	output->mark_begin = output->mark_end = 0;
	open_file(output, before);
}

/* How many bytes were written; all of them, or errno says why not. */
static size_t write_bytes(struct output *output, const char *bytes, size_t length)
{
	size_t done = 0;

	errno = 0;
	while (output->file >= 0 && done < length) {
		ssize_t put = write(output->file, bytes + done, length - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			break;
		done += (size_t)put;
	}
	output->size += (int64_t)done;
	if (done > 0)
		output->last = bytes[done - 1];
	return done;
}

/* ---- what cannot be written --------------------------------------------------------------- */

static bool is_behind(const struct output *output)
{
	return output->since_ms > 0;
}

static void plan_retry(struct output *output)
{
	timer_start(output->retry, output->retry_ms);
	output->retry_ms =
		output->retry_ms * 2 < RETRY_CAP_MS ? output->retry_ms * 2 : RETRY_CAP_MS;
}

static void fall_behind(struct output *output, int error)
{
	mem_replace(&output->why, fs_describe_errno(output->path, error ? error : EIO));
	log_error("cannot write %s: %s; the newest %d KiB are kept in memory", output->path,
		  output->why, BACKLOG_CAP / 1024);
	output->since_ms = clock_wall_ms();
	output->retry_ms = RETRY_MS;
	plan_retry(output);
}

/* Lines that the backlog has dropped so far are lost. */
static void account(struct output *output)
{
	const struct output_loss loss = {.count = output->backlog.dropped,
					 .from_ms = output->since_ms,
					 .to_ms = clock_wall_ms(),
					 .why = output->why};

	output_loss_add(&output->loss, &loss);
	output_loss_add(&output->gap, &loss);
	output->backlog.dropped = (struct backlog_count){0};
}

/* Where the gap is. All of it or nothing is written. */
static bool write_mark(struct output *output)
{
	int64_t before = output->size;
	char last = output->last;

	if (output->gap.count.bytes == 0)
		return true;
	char *text cleanup_free = output_loss_text(&output->gap, "this");
	char *mark cleanup_free =
		mem_printf("%s[tony: %s]\n", last == '\n' || before == 0 ? "" : "\n", text);
	if (write_bytes(output, mark, strlen(mark)) == strlen(mark)) {
		output->mark_begin = before;
		output->mark_end = output->size;
		output_loss_finish(&output->marked);
		output->marked = output->gap;
		output->gap = (struct output_loss){0};
		return true;
	}
	if (ftruncate(output->file, before) == 0) {
		output->size = before;
		output->last = last;
	}
	return false;
}

/* Whether all is written that is kept. */
static bool catch_up(struct output *output)
{
	struct backlog *backlog = &output->backlog;

	if (output->file < 0)
		open_file(output, -1);
	account(output);
	log_times_mark(&output->times, output->size, clock_wall_ms());
	if (output->file < 0 || !write_mark(output))
		return false;
	backlog_take(backlog, write_bytes(output, backlog->bytes, backlog->length));
	if (backlog->length > 0)
		return false;
	log_info("%s is written again", output->path);
	backlog_finish(backlog);
	output->since_ms = 0;
	return true;
}

static void on_retry(evutil_socket_t fd, short what, void *context)
{
	struct output *output = context;

	if (!catch_up(output))
		plan_retry(output);
}

/* `bytes` of the file, from `from` on, are about to be overwritten. With a mark goes what it told,
 * and it was no line of the program's. */
static void count_overwritten(struct output *output, const char *bytes, int64_t from)
{
	int64_t begin = output->mark_begin > from ? output->mark_begin : from;
	int64_t end = output->mark_end > from ? output->mark_end : from;
	struct backlog_count *dropped = &output->backlog.dropped;

	if (end > from)
		output_loss_add(&output->gap, &output->marked);
	else
		begin = from;
	backlog_count_add(dropped, bytes, (size_t)(begin - from));
	backlog_count_add(dropped, bytes + (end - from), (size_t)(output->size - end));
}

/* Overwriting takes no room: the mark stands where the last lines of the file stood. Its length
 * stays as it is, for the sake of readers. */
static void overwrite_end(struct output *output)
{
	char bytes[END_MARK_LOOK];
	struct stat info;
	int fd cleanup_close = open(output->path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) < 0 || info.st_size <= END_MARK_SIZE)
		return;
	size_t length = info.st_size < END_MARK_LOOK ? (size_t)info.st_size : END_MARK_LOOK;
	off_t offset = info.st_size - (off_t)length;
	if (pread(fd, bytes, length, offset) != (ssize_t)length)
		return;
	size_t most = length - END_MARK_SIZE;
	const char *end = memrchr(bytes, '\n', most);
	size_t start = end ? (size_t)(end + 1 - bytes) : most;
	output->size = info.st_size;
	count_overwritten(output, bytes + start, offset + (off_t)start);
	account(output);
	char *text cleanup_free = output_loss_text(&output->gap, "this");
	char *mark cleanup_free = mem_printf("%s[tony: %s]", end ? "" : "\n", text);
	size_t room = length - start - strlen("\n");
	str_cut(mark, room);
	memset(bytes + start, ' ', room);
	memcpy(bytes + start, mark, strlen(mark));
	bytes[start + room] = '\n';
	if (pwrite(fd, bytes + start, length - start, offset + (off_t)start) < 0)
		log_error("cannot write %s: %s", output->path, strerror(errno));
}

/* The backlog has no other chance. */
static void end_behind(struct output *output)
{
	evtimer_del(output->retry);
	if (catch_up(output))
		return;
	backlog_drop(&output->backlog);
	overwrite_end(output);
	account(output);
}

static void append(struct output *output, const char *bytes, size_t length)
{
	size_t done = 0;

	if (length == 0)
		return;
	if (!is_behind(output)) {
		if (output->file < 0)
			open_file(output, -1);
		log_times_mark(&output->times, output->size, clock_wall_ms());
		done = output->file < 0 ? 0 : write_bytes(output, bytes, length);
		if (done < length)
			fall_behind(output, errno);
	}
	if (done < length)
		backlog_add(&output->backlog, bytes + done, length - done);
}

/* ------------------------------------------------------------------------------------------- */

static void take(struct output *output, const char *bytes, size_t length)
{
	int64_t room = output->options.rotate_bytes - output->size;

	output->taken += length;
	tail_feed(&output->tail, bytes, length);
	restarts_read(&output->restarts, bytes, length);
	if (output->options.rotate_bytes > 0 && (int64_t)length > room && !is_behind(output)) {
		/* Files change between two lines where there is a line's end to be found. */
		const char *end = memrchr(bytes, '\n', length);
		size_t first = end ? (size_t)(end + 1 - bytes) : 0;
		append(output, bytes, first);
		if (output->size > 0 && output->file >= 0 && !is_behind(output))
			rotate(output);
		append(output, bytes + first, length - first);
	} else {
		append(output, bytes, length);
	}
}

static void take_masked(struct output *output, const char *bytes, size_t length)
{
	struct str masked cleanup_str = {0};

	mask_feed(&output->mask, bytes, length, &masked);
	take(output, str_text(&masked), masked.length);
}

static void take_rest(struct output *output)
{
	struct str masked cleanup_str = {0};

	if (!output->mask.words)
		return;
	mask_end(&output->mask, &masked);
	take(output, str_text(&masked), masked.length);
}

/* 1: there may be more; 0: nothing now; -1: the end. */
static int read_some(struct output *output)
{
	char buffer[READ_SIZE];
	ssize_t got = read(output->pipe, buffer, sizeof(buffer));

	if (got > 0) {
		size_t length = (size_t)got;
		if (output->options.noise)
			length =
				noise_remove(output->options.noise, &output->place, buffer, length);
		if (output->mask.words)
			take_masked(output, buffer, length);
		else
			take(output, buffer, length);
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
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct output *output = context;
	int more = 1;

	for (int i = 0; more > 0 && i < READS_PER_EVENT; i++)
		more = read_some(output);
	if (more < 0) {
		take_rest(output);
		close_pipe(output);
	}
}

struct output *output_open(struct event_base *base, int fd, const char *path,
			   const struct output_options *options)
{
	struct output *output = mem_alloc(sizeof(*output));

	*output = (struct output){.options = *options, .pipe = fd, .path = mem_strdup(path)};
	output->times.fd = -1;
	output->times.turn = options->turn;
	output->mask.words = options->mask;
	output->retry = evtimer_new(base, on_retry, output);
	tail_init(&output->tail, options->tail_lines);
	output->restarts.restarts = options->restarts;
	open_file(output, -1);
	evutil_make_socket_nonblocking(fd);
	output->event = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, output);
	event_add(output->event, NULL);
	return output;
}

void output_drain(struct output *output)
{
	for (int i = 0; i < DRAIN_READS && output->pipe >= 0 && read_some(output) > 0; i++)
		continue;
	take_rest(output);
	close_pipe(output);
	if (is_behind(output))
		end_behind(output);
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
	restarts_reader_finish(&output->restarts);
	mask_finish(&output->mask);
	event_free(output->retry);
	backlog_finish(&output->backlog);
	output_loss_finish(&output->loss);
	output_loss_finish(&output->gap);
	output_loss_finish(&output->marked);
	free(output->why);
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

const struct output_loss *output_loss(const struct output *output)
{
	return &output->loss;
}

void output_loss_add(struct output_loss *to, const struct output_loss *loss)
{
	if (loss->count.bytes == 0)
		return;
	if (to->count.bytes == 0 || loss->from_ms < to->from_ms)
		to->from_ms = loss->from_ms;
	if (loss->to_ms > to->to_ms)
		to->to_ms = loss->to_ms;
	to->count.bytes += loss->count.bytes;
	to->count.lines += loss->count.lines;
	mem_replace(&to->why, mem_strdup(loss->why));
}

void output_loss_finish(struct output_loss *loss)
{
	free(loss->why);
	*loss = (struct output_loss){0};
}

char *output_loss_text(const struct output_loss *loss, const char *whose)
{
	char *bytes cleanup_free = str_format_bytes(loss->count.bytes);
	char *from cleanup_free = str_format_time(loss->from_ms);
	char *to cleanup_free = str_format_time(loss->to_ms);

	return mem_printf("%" PRId64 " line%s (%s) of %s output %s lost between %s and %s: %s",
			  loss->count.lines, str_plural(loss->count.lines), bytes, whose,
			  loss->count.lines == 1 ? "was" : "were", from, to, loss->why);
}
