#include "client/log_live.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"
#include "client/log_lines.h"
#include "job/log_frame.h"
#include "net/http_client.h"

#define BUFFERED	   (64 << 10)  /* bytes of a followed log that wait to be read */
#define PIECE_LIMIT	   (256 << 10) /* bytes of one answer about what is there now */
#define PRESENT_TIMEOUT_MS 30000
#define PATIENCE_MS	   1000 /* with a followed log that says nothing: others are not held up */

/* From this offset on the bytes were written at that time. */
struct mark {
	int64_t offset; /* in what was read */
	int64_t time_ms;
};

struct live_source {
	struct log_source base;
	char *task, *log;
	int attempt;		     /* 0: whichever runs */
	const struct job_door *door; /* what there is now is asked for; NULL: it is followed */
	struct log_live *live;	     /* likewise */
	struct http_client *client;  /* of a followed log; NULL: nobody was to be asked */
	bool is_asked;		     /* the answer has begun, or is waited for */
	bool is_quiet;		     /* there is nothing more for now, or nothing is heard */
	bool is_paused;		     /* enough has come for now */
	int64_t heard_ms;	     /* monotonic: of bytes, or since when they are waited for */
	bool has_ended;		     /* nothing more comes */
	char from[LOG_POSITION_SIZE];
	struct str frames;    /* what came and was not read yet */
	size_t used;	      /* bytes of it that were */
	struct log_span span; /* what is left of the present piece; its bytes are in `frames` */
	uint64_t part;	      /* of the piece that was read last */
	bool new_part;	      /* the next piece is of another file */
	int64_t read_total;
	struct mark *marks; /* for what lies in the buffer of lines, oldest first */
	size_t mark_count;
	struct live_source *next; /* of live->sources */
};

struct log_live {
	struct event_base *base;
	struct live_source *sources;
	struct event *timer;
	bool is_over; /* the present wait */
};

static char *make_path(const struct live_source *source)
{
	struct str path = {0};

	str_append_format(&path, "/v1/tasks/%s/logs/%s?frames=1&from=%s", source->task, source->log,
			  source->from);
	if (source->attempt > 0)
		str_append_format(&path, "&attempt=%d", source->attempt);
	if (source->live)
		str_append(&path, "&follow=1");
	else
		str_append_format(&path, "&limit=%d", PIECE_LIMIT);
	return str_steal(&path);
}

static void break_off(struct live_source *source, const char *why)
{
	if (!source->base.problem)
		source->base.problem = mem_strdup(why);
	source->has_ended = true;
}

/* ---- what there is now -------------------------------------------------------------------- */

static void ask_present(struct live_source *source)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = make_path(source);
	int status;

	str_truncate(&source->frames, 0);
	source->used = 0;
	if (job_door_call(source->door, "GET", path, NULL, PRESENT_TIMEOUT_MS, &status,
			  &source->frames, &err) < 0 ||
	    http_response_check(status, str_text(&source->frames), source->frames.length, &err) <
		    0) {
		str_truncate(&source->frames, 0);
		source->has_ended = true;
		source->base.is_away = err.kind == ERR_UNREACHABLE;
		if (err.kind != ERR_NOT_FOUND)
			break_off(source, err_message(&err));
	} else if (source->frames.length == 0) {
		source->has_ended = true;
	}
}

/* ---- pieces ------------------------------------------------------------------------------- */

static void forget_used(struct live_source *source)
{
	size_t left = source->frames.length - source->used;

	if (left > 0)
		memmove(source->frames.text, source->frames.text + source->used, left);
	str_truncate(&source->frames, left);
	source->used = 0;
	if (!source->is_paused)
		return;
	source->is_paused = false;
	source->heard_ms = clock_monotonic_ms();
	http_client_resume(source->client);
}

/* Makes source->span the next piece that has bytes; false: there is none yet. */
static bool next_piece(struct live_source *source)
{
	for (;;) {
		const char *bytes = str_text(&source->frames) + source->used;
		size_t length = source->frames.length - source->used;
		struct log_span span;
		ssize_t head = log_frame_parse_head(bytes, length, &span);
		if (head < 0)
			break_off(source, "the application master sent no pieces of a log");
		if (head <= 0 || length - (size_t)head < span.length) {
			forget_used(source);
			return false;
		}
		source->used += (size_t)head + span.length;
		if (span.length == 0) {
			source->is_quiet = true;
			source->has_ended = source->has_ended || !source->live;
			continue;
		}
		span.bytes = bytes + head;
		source->span = span;
		return true;
	}
}

/* The span's bytes move with the buffer that holds them: they are read before it is touched. */
static bool have_piece(struct live_source *source)
{
	while (source->span.length == 0 && !next_piece(source)) {
		if (source->live || source->has_ended)
			return false;
		ask_present(source);
	}
	return true;
}

static void add_mark(struct live_source *source, int64_t time_ms)
{
	if (source->mark_count > 0 && source->marks[source->mark_count - 1].time_ms == time_ms)
		return;
	source->marks =
		mem_realloc_array(source->marks, source->mark_count + 1, sizeof(*source->marks));
	source->marks[source->mark_count++] =
		(struct mark){.offset = source->read_total, .time_ms = time_ms};
}

static ssize_t read_pieces(struct log_source *base, char *bytes, size_t length)
{
	struct live_source *source = (struct live_source *)base;
	struct log_span *span = &source->span;

	if (!have_piece(source))
		return 0;
	if (span->part != source->part && base->lines.start != base->lines.end) {
		source->new_part = true;
		return 0;
	}
	if (length > span->length)
		length = span->length;
	add_mark(source, span->time_ms);
	memcpy(bytes, span->bytes, length);
	source->part = span->part;
	source->read_total += (int64_t)length;
	span->bytes += length;
	span->offset += (int64_t)length;
	span->length -= length;
	snprintf(source->from, sizeof(source->from), "at:%" PRIx64 ":%" PRId64, span->part,
		 span->offset);
	return (ssize_t)length;
}

/* ---- lines -------------------------------------------------------------------------------- */

static int64_t time_at(struct live_source *source, int64_t offset)
{
	size_t passed = 0;

	while (passed + 1 < source->mark_count && source->marks[passed + 1].offset <= offset)
		passed++;
	source->mark_count -= passed;
	if (passed > 0)
		memmove(source->marks, source->marks + passed,
			source->mark_count * sizeof(*source->marks));
	return source->mark_count > 0 ? source->marks[0].time_ms : 0;
}

static bool next_here(struct live_source *source, bool to_the_end, struct log_line *line)
{
	struct log_source *base = &source->base;
	int64_t start = base->lines.offset;

	bool found = log_lines_next(base, line);
	if (!found && (source->new_part || to_the_end))
		found = log_lines_rest(base, line);
	source->new_part = false;
	if (found)
		line->time_ms = time_at(source, start);
	return found;
}

static void run_once(struct log_live *live, int64_t timeout_ms);

/* A followed log that has not been told to its present end yet has lines that may be older than
 * those of others: they are waited for. */
static bool next(struct log_source *base, bool to_the_end, struct log_line *line)
{
	struct live_source *source = (struct live_source *)base;

	while (!next_here(source, to_the_end, line)) {
		if (!source->live || !source->is_asked || source->is_quiet || to_the_end)
			return false;
		int64_t left = source->heard_ms + PATIENCE_MS - clock_monotonic_ms();
		source->is_quiet = left <= 0;
		if (!source->is_quiet)
			run_once(source->live, left);
	}
	return true;
}

static void seek_tail(struct log_source *base, int64_t lines)
{
	struct live_source *source = (struct live_source *)base;

	snprintf(source->from, sizeof(source->from), "tail:%" PRId64, lines);
}

static void destroy(struct log_source *base)
{
	struct live_source *source = (struct live_source *)base;

	if (source->live) {
		struct live_source **link = &source->live->sources;
		while (*link != source)
			link = &(*link)->next;
		*link = source->next;
	}
	http_client_destroy(source->client);
	str_finish(&source->frames);
	free(source->marks);
	free(source->task);
	free(source->log);
	free(source);
}

static struct live_source *create(const char *task, const char *log)
{
	static const struct log_source_ops ops = {.read = read_pieces,
						  .next = next,
						  .begun = log_lines_begun,
						  .seek_tail = seek_tail,
						  .destroy = destroy};
	struct live_source *source = mem_alloc(sizeof(*source));

	source->base.ops = &ops;
	source->task = mem_strdup(task);
	source->log = mem_strdup(log);
	strcpy(source->from, "oldest");
	return source;
}

struct log_source *log_live_present(const struct job_door *door, const char *task, int attempt,
				    const char *log)
{
	struct live_source *source = create(task, log);

	source->door = door;
	source->attempt = attempt;
	return &source->base;
}

/* ---- following ---------------------------------------------------------------------------- */

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct live_source *source = data;

	/* The present piece lies in this buffer, which may move. */
	size_t at =
		source->span.length > 0 ? (size_t)(source->span.bytes - source->frames.text) : 0;
	str_append_bytes(&source->frames, bytes, length);
	source->is_quiet = false;
	if (source->span.length > 0)
		source->span.bytes = source->frames.text + at;
	source->live->is_over = true;
	source->heard_ms = clock_monotonic_ms();
	source->is_paused = source->frames.length - source->used >= BUFFERED;
	if (source->is_paused)
		http_client_pause(source->client);
	return true;
}

/* A whole answer: the job has ended, or the task has. None: the AM is gone, and may come back. */
static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct live_source *source = data;
	struct err problem cleanup_err = {0};

	source->is_asked = false;
	source->live->is_over = true;
	if (!response)
		return;
	if (http_response_check(response->status, response->body, response->length, &problem) < 0 &&
	    problem.kind != ERR_NOT_FOUND)
		break_off(source, err_message(&problem));
	source->has_ended = true;
}

static void ask(struct live_source *source, const struct job_door *door)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = make_path(source);

	http_client_destroy(source->client);
	source->client = http_client_create(source->live->base, door->address, door->token, &err);
	if (!source->client) {
		break_off(source, err_message(&err));
		return;
	}
	http_client_demand_owner(source->client, door->owner);
	source->is_asked = true;
	source->is_quiet = source->is_paused = false;
	source->heard_ms = clock_monotonic_ms();
	http_client_start(source->client, &(struct http_question){.method = "GET",
								  .path = path,
								  .on_bytes = on_bytes,
								  .done = on_done,
								  .data = source});
}

/* What came before the last answer broke off is read; the rest of a piece is worth nothing. */
void log_live_ask(struct log_live *live, const struct job_door *door)
{
	for (struct live_source *source = live->sources; source; source = source->next) {
		if (source->is_asked || source->has_ended || !door->address ||
		    source->span.length > 0 || next_piece(source))
			continue;
		str_truncate(&source->frames, 0);
		ask(source, door);
	}
}

static void on_timeout(evutil_socket_t fd, short what, void *data)
{
	((struct log_live *)data)->is_over = true;
}

static void run_once(struct log_live *live, int64_t timeout_ms)
{
	live->is_over = false;
	timer_start(live->timer, timeout_ms);
	while (!live->is_over && event_base_loop(live->base, EVLOOP_ONCE) == 0)
		;
	event_del(live->timer);
}

bool log_live_wait(struct log_live *live, int64_t timeout_ms)
{
	bool is_open = false;

	for (struct live_source *source = live->sources; source; source = source->next)
		is_open = is_open || !source->has_ended;
	if (!is_open)
		return false;
	run_once(live, timeout_ms);
	return true;
}

struct log_source *log_live_follow(struct log_live *live, const char *task, const char *log)
{
	struct live_source *source = create(task, log);

	source->live = live;
	source->next = live->sources;
	live->sources = source;
	return &source->base;
}

struct log_live *log_live_create(void)
{
	struct log_live *live = mem_alloc(sizeof(*live));

	live->base = event_base_new();
	live->timer = live->base ? evtimer_new(live->base, on_timeout, live) : NULL;
	if (!live->timer)
		BUG("no event loop");
	return live;
}

void log_live_destroy(struct log_live *live)
{
	if (!live)
		return;
	event_free(live->timer);
	event_base_loop(live->base, EVLOOP_NONBLOCK); /* what was cancelled ends here */
	event_base_free(live->base);
	free(live);
}
