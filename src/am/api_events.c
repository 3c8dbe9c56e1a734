#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"

enum {
	WAIT_MAX_MS = 60000,
	PULSE_MS = 10000,
};

static void free_follower(struct api_event_follower *follower)
{
	LIST_REMOVE(follower, link);
	if (follower->hold)
		event_free(follower->hold);
	if (follower->pulse)
		event_free(follower->pulse);
	journal_reader_close(follower->reader);
	free(follower);
}

/* Its answer ends. */
static void let_go(struct api_event_follower *follower, bool has_last_line)
{
	if (follower->is_viewer && !has_last_line)
		api_expect_viewer(follower->api);
	free_follower(follower);
}

static void append(struct str *text, const struct journal_line *line, bool as_server_sent)
{
	if (as_server_sent)
		str_append_format(text, "id: %" PRId64 "\ndata: ", line->sequence);
	str_append_bytes(text, line->text, line->length);
	str_append(text, as_server_sent ? "\n\n" : "\n");
}

static bool waits(const struct api_event_follower *follower)
{
	return !follower->api->concluded &&
	       (follower->follows ||
		(follower->hold && event_pending(follower->hold, EV_TIMEOUT, NULL)));
}

/* The lines of the journal are what is sent: no copy is kept, and a slow reader costs nothing. */
static void fill(void *data, struct http_stream *stream)
{
	struct api_event_follower *follower = data;
	struct err err cleanup_err = {0};
	struct str text cleanup_str = {0};
	struct journal_line line;
	int got = 1;

	/* An event, for browsers do not show comments to pages: that nothing holds the stream back
	 * on its way is seen at once, and a connection that is dead is told from a quiet job. */
	if (follower->pulse_due)
		str_append(&text, "event: pulse\ndata:\n\n");
	follower->pulse_due = false;
	while (text.length < HTTP_STREAM_CHUNK &&
	       (got = journal_reader_next(follower->reader, &line, &err)) > 0)
		append(&text, &line, follower->as_server_sent);
	http_stream_write(stream, text.text, text.length);
	if (text.length > 0 && follower->hold)
		event_del(follower->hold);
	if (got < 0)
		log_error("the journal cannot be followed: %s", err_message(&err));
	if (got < 0 || (got == 0 && !waits(follower))) {
		let_go(follower, follower->api->concluded);
		http_stream_end(stream);
	}
}

static void on_closed(void *data)
{
	let_go(data, false);
}

static void on_hold_over(evutil_socket_t fd, short what, void *data)
{
	const struct api_event_follower *follower = data;

	http_stream_wake(follower->stream);
}

static void on_pulse(evutil_socket_t fd, short what, void *data)
{
	struct api_event_follower *follower = data;

	follower->pulse_due = true;
	http_stream_wake(follower->stream);
}

static void begin_pulse(struct api_event_follower *follower)
{
	follower->pulse_due = true;
	follower->pulse = event_new(follower->api->base, -1, EV_PERSIST, on_pulse, follower);
	timer_start(follower->pulse, PULSE_MS);
}

/* What a browser has seen already, when it comes back by itself. */
static int64_t first_unseen(const struct http_request *request)
{
	const char *last = http_request_header(request, "Last-Event-ID");
	int64_t id;

	return last && str_parse_int(last, 0, INT64_MAX - 1, &id) == 0 ? id + 1 : 0;
}

void api_handle_events(void *data, struct http_request *request)
{
	struct api *api = data;
	const char *accept = http_request_header(request, "Accept");
	bool as_server_sent = accept && strstr(accept, "text/event-stream");
	int64_t since = first_unseen(request), follows = as_server_sent, wait_ms = 0;
	struct err err cleanup_err = {0};

	if (http_request_query_int(request, "since", 0, INT64_MAX, &since) < 0 ||
	    http_request_query_int(request, "follow", 0, 1, &follows) < 0 ||
	    http_request_query_int(request, "wait", 0, WAIT_MAX_MS, &wait_ms) < 0)
		return;
	struct journal_reader *reader = journal_reader_open(api->host.journal_path, since, &err);
	if (!reader) {
		http_answer_error(request, 500, "failed", "%s", err_message(&err));
		return;
	}
	struct api_event_follower *follower = mem_alloc(sizeof(*follower));
	follower->api = api;
	follower->reader = reader;
	follower->follows = follows;
	follower->as_server_sent = as_server_sent;
	follower->is_viewer = http_request_access(request) != HTTP_ACCESS_ALL;
	if (follower->is_viewer)
		api_viewer_came(api);
	if (wait_ms > 0) {
		follower->hold = evtimer_new(api->base, on_hold_over, follower);
		timer_start(follower->hold, wait_ms);
	}
	if (as_server_sent)
		begin_pulse(follower);
	LIST_INSERT_HEAD(&api->event_followers, follower, link);
	follower->stream = http_answer_stream(
		request, as_server_sent ? "text/event-stream" : "application/x-ndjson",
		&(struct http_stream_source){.fill = fill, .closed = on_closed, .data = follower});
}
