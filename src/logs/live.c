#include "logs/live.h"

#include <event2/event.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"
#include "logs/frame.h"
#include "net/http_url.h"

#define BUFFERED	   (64 << 10)  /* bytes of a followed log that wait to be read */
#define PIECE_LIMIT	   (256 << 10) /* bytes of one answer about what is there now */
#define AGAIN_LIMIT	   (16 << 10)  /* of one that was forgotten: there are thousands of logs */
#define PRESENT_TIMEOUT_MS 30000
#define SEARCH_TIMEOUT_MS  600000 /* of a search, which may have to read a log of many GB */
#define PATIENCE_MS	   1000 /* with a followed log that says nothing: others are not held up */

struct live_source {
	struct log_source base;
	char *task, *log;
	struct log_search search;
	int attempt;		      /* 0: whichever runs */
	const struct http_target *am; /* what there is now is asked for; NULL: it is followed */
	struct log_live *live;	      /* likewise */
	struct http_client *client;   /* of a followed log; NULL: nobody was to be asked */
	bool is_asked;		      /* the answer has begun, or is waited for */
	bool is_quiet;		      /* there is nothing more for now, or nothing is heard */
	bool is_paused;		      /* enough has come for now */
	int64_t heard_ms;	      /* monotonic: of bytes, or since when they are waited for */
	bool has_ended;		      /* nothing more comes */
	bool is_missed;		      /* nothing came of its container, and nobody was told */
	int missed_attempt;	      /* that one; 0: of none */
	int limit;		      /* bytes of the next answer about what is there now */
	struct log_position from;     /* behind the piece that was read last */
	struct str frames;	      /* what is read; it stays where it is until all of it was */
	size_t used;		      /* bytes of it that were read */
	struct log_span span;	      /* what is left of the present piece, in `frames` */
	struct str come;	      /* what came since, behind `frames` */
	struct live_source *next;     /* of live->sources */
};

struct log_live {
	struct event_base *base;
	struct live_source *sources;
	struct event *timer;
	bool is_over;	   /* the present wait */
	bool is_concluded; /* the job has ended */
	bool is_hurried;   /* nothing is waited for */
};

static char *make_path(const struct live_source *source)
{
	struct str path = {0};
	char from[LOG_POSITION_SIZE];

	log_position_format(&source->from, from);
	str_append_format(&path, "/v1/tasks/%s/logs/%s?frames=1&from=%s", source->task, source->log,
			  from);
	if (source->attempt > 0)
		str_append_format(&path, "&attempt=%d", source->attempt);
	if (source->search.text) {
		str_append(&path, "&match=");
		http_url_encode(&path, source->search.text, "");
	}
	if (source->search.any_case)
		str_append(&path, "&ignore_case=1");
	if (source->live)
		str_append(&path, "&follow=1");
	else
		str_append_format(&path, "&limit=%d", source->limit);
	return str_steal(&path);
}

static void break_off(struct live_source *source, const char *why)
{
	if (!source->base.problem)
		source->base.problem = mem_strdup(why);
	source->has_ended = true;
}

/* The node of the container has the whole log, as soon as the job's journal says that it ended. */
static void note_cut(struct live_source *source)
{
	char *why cleanup_free =
		mem_printf("%s of %s is incomplete: its container ended while the log was read; "
			   "repeat the command",
			   source->log, source->task);

	source->base.is_away = true;
	break_off(source, why);
}

static void note_missed(struct live_source *source, int attempt)
{
	source->is_missed = true;
	source->missed_attempt = attempt;
}

/* Nothing comes any more. The rest of a log that had begun is in a file that is not known here. */
static void give_up(struct live_source *source)
{
	if (source->has_ended)
		return;
	source->has_ended = true;
	if (source->from.kind != LOG_AT_PART && source->frames.length == 0 &&
	    source->come.length == 0)
		note_missed(source, 0);
}

/* ---- what there is now -------------------------------------------------------------------- */

static void ask_present(struct live_source *source)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = make_path(source);
	int status;

	str_truncate(&source->frames, 0);
	source->used = 0;
	if (http_call(source->am, "GET", path, NULL,
		      source->search.text ? SEARCH_TIMEOUT_MS : PRESENT_TIMEOUT_MS, &status,
		      &source->frames, &err) < 0 ||
	    http_response_check(status, str_text(&source->frames), source->frames.length, &err) <
		    0) {
		str_truncate(&source->frames, 0);
		source->has_ended = true;
		source->base.is_away = err.kind == ERR_UNREACHABLE;
		if (err.kind != ERR_NOT_FOUND)
			break_off(source, err_message(&err));
		else if (source->from.kind == LOG_AT_PART) /* it was there before */
			note_cut(source);
	} else if (source->frames.length == 0) {
		source->has_ended = true;
	}
	source->limit = source->limit < PIECE_LIMIT ? source->limit * 2 : PIECE_LIMIT;
	source->base.held = source->frames.length;
}

/* ---- pieces ------------------------------------------------------------------------------- */

/* All whole pieces are read: what came since is joined to the beginning of the next one. */
static void take_what_came(struct live_source *source)
{
	size_t left = source->frames.length - source->used;

	if (left > 0)
		memmove(source->frames.text, source->frames.text + source->used, left);
	str_truncate(&source->frames, left);
	source->used = 0;
	str_append_bytes(&source->frames, str_text(&source->come), source->come.length);
	str_truncate(&source->come, 0);
	if (!source->is_paused)
		return;
	source->is_paused = false;
	source->heard_ms = clock_monotonic_ms();
	http_client_resume(source->client);
}

/* Makes source->span the next whole piece that has bytes; false: there is none in `frames`. */
static bool parse_piece(struct live_source *source)
{
	for (;;) {
		const char *bytes = str_text(&source->frames) + source->used;
		size_t length = source->frames.length - source->used;
		struct log_span span;
		ssize_t head = log_frame_parse_head(bytes, length, &span);
		if (head < 0)
			break_off(source, "the application master sent no pieces of a log");
		if (head <= 0 || length - (size_t)head < span.length)
			return false;
		if (span.part == LOG_FRAME_MISSED && span.length == 0 && source->is_missed)
			return false; /* the one before is to be told first */
		source->used += (size_t)head + span.length;
		if (span.length == 0) {
			if (span.part == LOG_FRAME_CUT)
				note_cut(source);
			else if (span.part == LOG_FRAME_MISSED && span.offset <= INT_MAX)
				note_missed(source, (int)span.offset);
			source->is_quiet = true;
			source->has_ended = source->has_ended || !source->live;
			continue;
		}
		span.bytes = bytes + head;
		source->span = span;
		return true;
	}
}

static bool next_piece(struct live_source *source)
{
	if (source->span.length > 0 || parse_piece(source))
		return true;
	take_what_came(source);
	return parse_piece(source);
}

static bool have_piece(struct live_source *source)
{
	while (!next_piece(source)) {
		if (source->live || source->has_ended)
			return false;
		ask_present(source);
	}
	return true;
}

/* ---- the source --------------------------------------------------------------------------- */

static void run_once(struct log_live *live, int64_t timeout_ms);

/* A followed log that has not been told to its present end yet has bytes that may be older than
 * those of others: they are waited for. */
static bool await_piece(struct live_source *source)
{
	while (!have_piece(source)) {
		if (!source->live || !source->is_asked || source->is_quiet ||
		    source->live->is_hurried)
			return false;
		int64_t left = source->heard_ms + PATIENCE_MS - clock_monotonic_ms();
		source->is_quiet = left <= 0;
		if (!source->is_quiet)
			run_once(source->live, left);
	}
	return true;
}

static bool next(struct log_source *base, size_t most, struct log_span *span)
{
	struct live_source *source = (struct live_source *)base;
	struct log_span *rest = &source->span;

	if (!await_piece(source))
		return false;
	*span = *rest;
	if (span->length > most)
		span->length = most;
	rest->bytes += span->length;
	rest->offset += (int64_t)span->length;
	rest->length -= span->length;
	source->from = (struct log_position){
		.kind = LOG_AT_PART, .part = rest->part, .number = rest->offset};
	return true;
}

static void go(struct log_source *base, const struct log_position *position)
{
	struct live_source *source = (struct live_source *)base;

	source->from = *position;
	if (source->live)
		return;
	source->limit = base->held > 0 ? AGAIN_LIMIT : PIECE_LIMIT;
	str_finish(&source->frames);
	source->used = source->span.length = base->held = 0;
	source->has_ended = false;
}

/* Between two answers it has no connection; what it holds is memory. */
static void rest(struct log_source *base)
{
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
	str_finish(&source->come);
	free(source->task);
	free(source->log);
	log_search_finish(&source->search);
	free(source);
}

static struct live_source *create(const struct log_source_ops *ops, const char *task,
				  const char *log, const struct log_search *search)
{
	struct live_source *source = mem_alloc(sizeof(*source));

	source->base.ops = ops;
	source->task = mem_strdup(task);
	source->log = mem_strdup(log);
	source->search = log_search_copy(search);
	return source;
}

struct log_source *log_live_present(const struct http_target *am, const char *task, int attempt,
				    const char *log, const struct log_search *search)
{
	static const struct log_source_ops ops = {
		.grows = true, .next = next, .go = go, .rest = rest, .destroy = destroy};
	struct live_source *source = create(&ops, task, log, search);

	source->am = am;
	source->limit = PIECE_LIMIT;
	source->attempt = attempt;
	return &source->base;
}

/* ---- following ---------------------------------------------------------------------------- */

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct live_source *source = data;

	str_append_bytes(&source->come, bytes, length);
	source->is_quiet = false;
	source->live->is_over = true;
	source->heard_ms = clock_monotonic_ms();
	source->is_paused = source->frames.length - source->used + source->come.length >= BUFFERED;
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
	if (!response) {
		if (source->live->is_concluded)
			give_up(source);
		return;
	}
	if (http_response_check(response->status, response->body, response->length, &problem) < 0 &&
	    problem.kind != ERR_NOT_FOUND)
		break_off(source, err_message(&problem));
	source->has_ended = true;
}

static void ask(struct live_source *source, const struct http_target *am)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = make_path(source);

	http_client_destroy(source->client);
	source->client = http_client_create_for(source->live->base, am, &err);
	if (!source->client) {
		break_off(source, err_message(&err));
		return;
	}
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
void log_live_ask(struct log_live *live, const struct http_target *am)
{
	for (struct live_source *source = live->sources; source; source = source->next) {
		if (source->is_asked || source->has_ended || !am->address || next_piece(source))
			continue;
		str_truncate(&source->frames, 0);
		ask(source, am);
	}
}

bool log_live_take_missed(struct log_live *live, struct log_missed *missed)
{
	for (struct live_source *source = live->sources; source; source = source->next) {
		if (!source->is_missed)
			continue;
		source->is_missed = false;
		*missed = (struct log_missed){.task = source->task,
					      .log = source->log,
					      .attempt = source->missed_attempt};
		return true;
	}
	return false;
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

void log_live_conclude(struct log_live *live)
{
	live->is_concluded = true;
	for (struct live_source *source = live->sources; source; source = source->next)
		if (!source->is_asked)
			give_up(source);
}

void log_live_give_up(struct log_live *live)
{
	live->is_hurried = true;
	for (struct live_source *source = live->sources; source; source = source->next)
		give_up(source);
}

struct log_source *log_live_follow(struct log_live *live, const char *task, const char *log,
				   const struct log_search *search)
{
	static const struct log_source_ops ops = {
		.grows = true, .next = next, .go = go, .destroy = destroy};
	struct live_source *source = create(&ops, task, log, search);

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
