#include "executor/log_send.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timer.h"
#include "logs/file.h"
#include "logs/filter.h"
#include "logs/frame.h"
#include "logs/names.h"
#include "net/http_client.h"

enum {
	PIECE_BYTES = 64 * 1024, /* of the log */
	PIECE_MAX = 96 * 1024,	 /* with the lines that describe them; the AM takes 128 KiB */
	LOOK_MS = 100,		 /* whether a log has grown */
	RETRY_MS = 500,
	ANSWER_MS = 10000,
};

/* What the AM learns of the log's end. */
enum piece_end { END_OPEN, END_NOW, END_FOR_GOOD };

/* One order. */
struct wanted {
	char *log, *from;
	struct log_search search;
	int64_t number;
	bool waits;
	bool is_placed; /* `reader` stands at `from`, or reads on from there */
	bool is_sent;
	bool is_whole; /* sent to the end of a log that nobody writes any more */
	struct log_source *reader;
};

struct log_send {
	struct log_send_options options;
	struct http_client *client;
	struct wanted items[LOG_ORDERS_MAX];
	size_t count;
	size_t next; /* has its turn first: the loop is held up by one long search at a time */
	struct event *timer;
	/* The piece on the wire. */
	struct http_call *call;
	int64_t number;
	enum piece_end end;
	bool is_ending;
};

static void wanted_finish(struct wanted *wanted)
{
	free(wanted->log);
	free(wanted->from);
	log_search_finish(&wanted->search);
	log_source_destroy(wanted->reader);
	*wanted = (struct wanted){0};
}

/* ---- pieces ------------------------------------------------------------------------------- */

static bool open_reader(struct log_send *sender, struct wanted *wanted)
{
	char at[LOG_POSITION_SIZE] = "";

	if (wanted->is_placed)
		return true;
	if (!wanted->reader) {
		char *file cleanup_free = log_file_name(wanted->log);
		char *path cleanup_free = fs_join(sender->options.log_dir, file);
		wanted->reader = log_filter_open(log_file_open(path), &wanted->search);
	} else {
		log_source_tell(wanted->reader, at);
	}
	wanted->is_placed = (str_equal(at, wanted->from) && !wanted->reader->takes_begun) ||
			    log_source_seek(wanted->reader, wanted->from) == 0;
	return wanted->is_placed;
}

/* Fills a piece. True: the log's present end was met. */
static bool read_piece(struct wanted *wanted, struct str *frames)
{
	struct log_span span;
	size_t bytes = 0;

	while (bytes < PIECE_BYTES && frames->length < PIECE_MAX - LOG_FRAME_HEAD_MAX) {
		size_t room = PIECE_MAX - LOG_FRAME_HEAD_MAX - frames->length;
		size_t most = PIECE_BYTES - bytes < room ? PIECE_BYTES - bytes : room;
		if (!log_source_next(wanted->reader, most, &span))
			return true;
		log_frame_append_head(frames, &span);
		str_append_bytes(frames, span.bytes, span.length);
		bytes += span.length;
	}
	return wanted->reader->is_over;
}

static struct wanted *find_number(struct log_send *sender, int64_t number)
{
	for (size_t i = 0; i < sender->count; i++) {
		if (sender->items[i].number == number)
			return &sender->items[i];
	}
	return NULL;
}

static void send_next(struct log_send *sender);

static void on_answer(void *data, const struct http_response *response, const struct err *err)
{
	struct log_send *sender = data;
	struct wanted *wanted = find_number(sender, sender->number);

	sender->call = NULL;
	if (wanted)
		wanted->is_placed = false;
	if (!response || response->status >= 500) {
		timer_start(sender->timer, RETRY_MS); /* it stands as not sent */
		return;
	}
	if (response->status >= 300)
		log_info("a piece of a log was not taken: HTTP status %d", response->status);
	if (wanted) {
		wanted->is_sent = true;
		wanted->is_whole = sender->end == END_FOR_GOOD || response->status >= 300;
	}
	sender->options.sent(sender->options.data);
	send_next(sender);
}

static void post(struct log_send *sender, const struct wanted *wanted, const struct str *frames,
		 const char *after, enum piece_end end)
{
	char *path cleanup_free =
		mem_printf("/v1/tasks/%s/logs/%s?attempt=%d&number=%" PRId64 "&after=%s&end=%d",
			   sender->options.task, wanted->log, sender->options.attempt,
			   wanted->number, after, (int)end);
	struct http_question question = {
		.method = "POST",
		.path = path,
		.body = str_text(frames),
		.body_length = frames->length,
		.timeout_ms = ANSWER_MS,
		.done = on_answer,
		.data = sender,
	};
	sender->number = wanted->number;
	sender->end = end;
	sender->call = http_client_start(sender->client, &question);
}

/* True: there was something to send. */
static bool try_to_send(struct log_send *sender, struct wanted *wanted)
{
	struct str frames cleanup_str = {0};
	char after[LOG_POSITION_SIZE];

	if (!open_reader(sender, wanted))
		return false;
	wanted->reader->takes_begun |= sender->is_ending;
	bool met_end = read_piece(wanted, &frames) && !wanted->reader->is_busy;
	if (wanted->reader->problem && frames.length == 0 && !sender->is_ending) {
		/* For lack of descriptors, say: what cannot be read now is no end of the log. */
		log_source_destroy(mem_steal(&wanted->reader));
		wanted->is_placed = false;
		return false;
	}
	met_end &= !wanted->reader->problem || sender->is_ending;
	log_source_tell(wanted->reader, after);
	if (frames.length == 0 &&
	    (wanted->reader->is_busy || (wanted->waits && !sender->is_ending)))
		return false;
	post(sender, wanted, &frames, after,
	     !met_end		 ? END_OPEN
	     : sender->is_ending ? END_FOR_GOOD
				 : END_NOW);
	return true;
}

static void send_next(struct log_send *sender)
{
	bool waits = false, is_busy = false;
	const size_t first = sender->next;

	for (size_t i = 0; i < sender->count && !sender->call && !is_busy; i++) {
		const size_t number = (first + i) % sender->count;
		struct wanted *wanted = &sender->items[number];
		if (wanted->is_sent || try_to_send(sender, wanted))
			continue;
		waits = true;
		is_busy = wanted->reader && wanted->reader->is_busy;
		sender->next = number + 1;
	}
	if (waits && !sender->call)
		timer_start(sender->timer, is_busy ? 0 : LOOK_MS);
	if (log_send_is_done(sender))
		sender->options.done(sender->options.data);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct log_send *sender = data;

	if (!sender->call)
		send_next(sender);
}

/* ---- orders ------------------------------------------------------------------------------- */

/* A search that goes on to the same piece under another number does not begin anew. The piece on
 * the wire was read: whether the AM takes it is not known. */
static bool is_before_its_piece(const struct log_send *sender, const struct wanted *old)
{
	return old->is_placed && !old->is_sent && !(sender->call && sender->number == old->number);
}

/* What is known of the log already: where it is read, or that this very order was obeyed. */
static void inherit(struct log_send *sender, struct wanted *wanted)
{
	for (size_t i = 0; i < sender->count; i++) {
		struct wanted *old = &sender->items[i];
		if (!str_equal(old->log, wanted->log) ||
		    !log_search_is_same(&old->search, &wanted->search))
			continue;
		wanted->reader = mem_steal(&old->reader);
		const bool is_same = old->number == wanted->number;
		wanted->is_placed = is_same ? old->is_placed
					    : is_before_its_piece(sender, old) &&
						      str_equal(old->from, wanted->from);
		wanted->is_sent = old->is_sent && is_same;
		wanted->is_whole = old->is_whole && wanted->is_sent;
	}
}

static bool is_same(const struct log_send *sender, const struct wanted *items, size_t count)
{
	if (count != sender->count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (items[i].number != sender->items[i].number)
			return false;
	}
	return true;
}

bool log_send_order(struct log_send *sender, const struct log_order *orders, size_t count)
{
	struct wanted items[LOG_ORDERS_MAX];

	for (size_t i = 0; i < count; i++) {
		items[i] = (struct wanted){.log = mem_strdup(orders[i].log),
					   .from = mem_strdup(orders[i].from),
					   .search = log_search_copy(&orders[i].search),
					   .number = orders[i].number,
					   .waits = orders[i].waits};
		inherit(sender, &items[i]);
	}
	bool is_new = !is_same(sender, items, count);
	for (size_t i = 0; i < sender->count; i++)
		wanted_finish(&sender->items[i]);
	memcpy(sender->items, items, count * sizeof(*items));
	sender->count = count;
	if (is_new && !sender->call)
		timer_start(sender->timer, 0); /* not from within the caller */
	return is_new;
}

size_t log_send_numbers(const struct log_send *sender, int64_t *numbers)
{
	for (size_t i = 0; i < sender->count; i++)
		numbers[i] = sender->items[i].number;
	return sender->count;
}

void log_send_end(struct log_send *sender)
{
	if (sender->is_ending)
		return;
	sender->is_ending = true;
	if (!sender->call)
		timer_start(sender->timer, 0);
}

bool log_send_is_done(const struct log_send *sender)
{
	if (!sender->is_ending || sender->call)
		return false;
	for (size_t i = 0; i < sender->count; i++) {
		if (!sender->items[i].is_whole)
			return false;
	}
	return true;
}

static struct http_client *connect_to(const struct log_send_options *options, const char *address,
				      struct err *err)
{
	const struct http_target am = {address, options->token, geteuid(), options->is_sealed};

	return http_client_create_for(options->base, &am, err);
}

struct log_send *log_send_create(const struct log_send_options *options, struct err *err)
{
	struct http_client *client = connect_to(options, options->address, err);

	if (!client)
		return NULL;
	struct log_send *sender = mem_alloc(sizeof(*sender));
	sender->options = *options;
	sender->client = client;
	sender->timer = evtimer_new(options->base, on_timer, sender);
	return sender;
}

void log_send_move(struct log_send *sender, const char *address)
{
	struct http_client *client = connect_to(&sender->options, address, NULL);

	if (!client)
		return;
	if (sender->call)
		http_client_cancel(sender->call);
	sender->call = NULL;
	http_client_destroy(sender->client);
	sender->client = client;
	log_send_order(sender, NULL, 0);
}

void log_send_destroy(struct log_send *sender)
{
	if (!sender)
		return;
	if (sender->call)
		http_client_cancel(sender->call);
	http_client_destroy(sender->client);
	for (size_t i = 0; i < sender->count; i++)
		wanted_finish(&sender->items[i]);
	event_free(sender->timer);
	free(sender);
}
