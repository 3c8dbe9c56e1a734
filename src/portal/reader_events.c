/* The journal of a job that has ended: its lines, as its AM would send them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "portal/reader_internal.h"

struct sending {
	struct journal_reader *reader;
	bool as_server_sent;
};

static void free_sending(struct sending *sending)
{
	journal_reader_close(sending->reader);
	free(sending);
}

static void fill(void *data, struct http_stream *stream)
{
	struct sending *sending = data;
	struct err err cleanup_err = {0};
	struct str text cleanup_str = {0};
	struct journal_line line;
	int got = 1;

	while (text.length < HTTP_STREAM_CHUNK &&
	       (got = journal_reader_next(sending->reader, &line, &err)) > 0) {
		if (sending->as_server_sent)
			str_append_format(&text, "id: %" PRId64 "\ndata: ", line.sequence);
		str_append_bytes(&text, line.text, line.length);
		str_append(&text, sending->as_server_sent ? "\n\n" : "\n");
	}
	http_stream_write(stream, str_text(&text), text.length);
	if (got > 0)
		return;
	if (got < 0)
		log_warning("%s", err_message(&err));
	free_sending(sending);
	http_stream_end(stream);
}

static void on_closed(void *data)
{
	free_sending(data);
}

static void send(const struct reader *reader, struct http_request *request, int64_t since,
		 bool as_server_sent)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", reader->journal);
	struct journal_reader *journal = journal_reader_open(path, since, &err);

	if (!journal) {
		err_rename(&err, path, HISTORY_EVENTS);
		reader_answer_failure(request, &err);
		return;
	}
	struct sending *sending = mem_alloc(sizeof(*sending));
	*sending = (struct sending){.reader = journal, .as_server_sent = as_server_sent};
	http_answer_stream(
		request, as_server_sent ? "text/event-stream" : "application/x-ndjson",
		&(struct http_stream_source){.fill = fill, .closed = on_closed, .data = sending});
}

void reader_handle_events(void *data, struct http_request *request)
{
	struct reader *reader = data;
	const char *accept = http_request_header(request, "Accept");
	const char *last = http_request_header(request, "Last-Event-ID");
	int64_t since = 0;

	if (last && str_parse_int(last, 0, INT64_MAX - 1, &since) == 0)
		since++;
	if (http_request_query_int(request, "since", 0, INT64_MAX, &since) < 0 ||
	    !reader_open(reader, request))
		return;
	send(reader, request, since, accept && strstr(accept, "text/event-stream"));
}
