/*
 * Logs for people. Where the file can be read here it is read as the client takes it; else it comes
 * from the task's executor, piece by piece (log_relay.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/timer.h"
#include "job/log_frame.h"

enum {
	POLL_MS = 100,
	SILENCE_MS = 5000, /* of an executor whose task is over: it has left */
};

struct api_log_follower {
	LIST_ENTRY(api_log_follower) link;
	struct api *api;
	struct http_stream *stream;
	struct event poll;
	size_t task;
	char *log;   /* "stdout" */
	char *file;  /* that it is in */
	int attempt; /* of this container only; 0: of one after the other */
	int read;    /* the attempt whose executor was asked last, or that there was at first */
	int whole;   /* the attempt whose log was delivered to its end; 0: none */
	char from[LOG_POSITION_SIZE];
	int64_t left;
	bool follows, is_framed;
	bool knows_end; /* was told that there is nothing more for now */

	/* Of a file here. */
	char *path;
	struct log_reader *reader; /* NULL: not this way */

	/* Of an executor's. */
	struct log_taker taker;
	struct log_piece *piece; /* NULL: none */
	const char *rest;	 /* of it */
	size_t rest_length;
};

static void free_follower(struct api_log_follower *follower)
{
	LIST_REMOVE(follower, link);
	event_del(&follower->poll);
	log_taker_leave(&follower->taker);
	log_piece_release(follower->piece);
	log_reader_destroy(follower->reader);
	free(follower->path);
	free(follower->log);
	free(follower->file);
	free(follower);
}

static const struct task *task_of(const struct api_log_follower *follower)
{
	return machine_task(follower->api->host.machine, follower->task);
}

/* ---- bytes -------------------------------------------------------------------------------- */

static void send_span(struct api_log_follower *follower, struct log_span *span)
{
	if ((int64_t)span->length > follower->left)
		span->length = (size_t)follower->left;
	if (follower->is_framed) {
		struct str head cleanup_str = {0};
		log_frame_append_head(&head, span);
		http_stream_write(follower->stream, head.text, head.length);
	}
	http_stream_write(follower->stream, span->bytes, span->length);
	follower->left -= (int64_t)span->length;
	follower->knows_end = false;
}

static bool send_file(struct api_log_follower *follower)
{
	struct log_span span;
	size_t sent = 0;

	while (sent < HTTP_STREAM_CHUNK && follower->left > 0 &&
	       log_reader_next(follower->reader, HTTP_STREAM_CHUNK - sent, &span)) {
		sent += span.length;
		send_span(follower, &span);
	}
	return sent > 0;
}

/* That there is nothing more for now, once. */
static bool send_end(struct api_log_follower *follower)
{
	struct str head cleanup_str = {0};

	if (follower->knows_end)
		return false;
	follower->knows_end = true;
	if (!follower->is_framed)
		return false;
	log_frame_append_head(&head, NULL);
	http_stream_write(follower->stream, head.text, head.length);
	return true;
}

/* A piece is small: all of it. */
static bool send_piece(struct api_log_follower *follower)
{
	struct log_piece *piece = follower->piece;
	struct log_span span;
	bool sent = false;

	while (follower->left > 0 &&
	       log_frame_next(&follower->rest, &follower->rest_length, &span) > 0) {
		send_span(follower, &span);
		sent = true;
	}
	if (piece->is_last)
		follower->whole = follower->read;
	bool is_end = piece->at_end;
	log_piece_release(mem_steal(&follower->piece));
	if (is_end && !follower->follows)
		follower->left = 0;
	if (is_end && send_end(follower))
		sent = true;
	return sent;
}

/* ---- where they come from ----------------------------------------------------------------- */

static void on_relay_changed(void *data)
{
	api_task_settle(data);
}

static void on_piece(void *data, struct log_piece *piece)
{
	struct api_log_follower *follower = data;

	follower->piece = piece;
	snprintf(follower->from, sizeof(follower->from), "%s", piece->after);
	follower->rest = piece->frames;
	follower->rest_length = piece->length;
	http_stream_wake(follower->stream);
}

/* The container is another one: its log begins at the beginning. */
static void on_relay_gone(void *data)
{
	struct api_log_follower *follower = data;

	snprintf(follower->from, sizeof(follower->from), "oldest");
	http_stream_wake(follower->stream);
}

void api_logs_check(struct api_task *task)
{
	if (!task->relays)
		return;
	int present = machine_task(task->api->host.machine, task->number)->attempt;
	if (log_relays_attempt(task->relays) != present)
		log_relays_destroy(mem_steal(&task->relays));
}

static bool is_heard_of(const struct api_log_follower *follower)
{
	const struct api_task *task = &follower->api->tasks[follower->task];
	const struct task *known = task_of(follower);

	if (!task->api || task->executor_attempt == 0 || task->executor_attempt != known->attempt)
		return false;
	bool is_over = known->state >= TASK_SUCCEEDED || !known->has_container;
	return !is_over || clock_monotonic_ms() - task->beat_at < SILENCE_MS;
}

static bool has_file(const char *path)
{
	struct stat info;

	return path && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static char *path_of(const struct api_log_follower *follower)
{
	return follower->api->host.log_path(follower->api->host.data, follower->task,
					    follower->file);
}

/* Goes on with another file than before, or the first. */
static bool open_file(struct api_log_follower *follower, const char *path)
{
	if (!has_file(path) || (follower->reader && str_equal(path, follower->path)))
		return false;
	log_reader_destroy(follower->reader);
	follower->reader = log_reader_create(path);
	log_reader_seek(follower->reader, follower->from);
	/* That of the next container is read from its beginning. */
	snprintf(follower->from, sizeof(follower->from), "oldest");
	mem_replace(&follower->path, mem_strdup(path));
	http_stream_wake(follower->stream);
	return true;
}

/* Asks the executor. False: there is none to ask. */
static bool ask_executor(struct api_log_follower *follower)
{
	struct api_task *task = api_get_task(follower->api, follower->task);
	int present = task_of(follower)->attempt;

	api_logs_check(task);
	if (follower->whole == present || !is_heard_of(follower))
		return false;
	if (!task->relays)
		task->relays = log_relays_create(present, on_relay_changed, task);
	/* A position in the log of one container says nothing about that of the next. */
	if (follower->read > 0 && follower->read != present)
		snprintf(follower->from, sizeof(follower->from), "oldest");
	if (!follower->taker.relay &&
	    log_relays_join(task->relays, follower->log, &follower->taker) < 0)
		return false;
	follower->read = present;
	if (!follower->taker.asks)
		log_taker_ask(&follower->taker, follower->from,
			      follower->follows && (follower->knows_end || !follower->is_framed));
	return true;
}

/* Nothing more of the one container that is asked for can come. */
static bool has_ended(const struct api_log_follower *follower)
{
	const struct task *task = task_of(follower);

	if (follower->attempt == 0 || task->attempt < follower->attempt)
		return false;
	if (task->attempt > follower->attempt || follower->whole == follower->attempt)
		return true;
	bool is_over = task->state >= TASK_SUCCEEDED || !task->has_container;
	return is_over && (follower->reader || !is_heard_of(follower));
}

/* ---- the answer --------------------------------------------------------------------------- */

static bool send_some(struct api_log_follower *follower)
{
	if (follower->piece)
		return send_piece(follower);
	return follower->reader && send_file(follower);
}

static bool is_its_turn(const struct api_log_follower *follower)
{
	return follower->attempt == 0 || follower->attempt == task_of(follower)->attempt;
}

/* Nothing is at hand. */
enum outlook {
	OUTLOOK_MORE,  /* bytes come from a file that was not read yet, or an executor was asked */
	OUTLOOK_LATER, /* none for now: the task, or its next container, may write */
	OUTLOOK_NONE,  /* the answer is whole */
};

static enum outlook look_for_more(struct api_log_follower *follower)
{
	if (follower->left == 0)
		return OUTLOOK_NONE;
	char *path cleanup_free = is_its_turn(follower) ? path_of(follower) : NULL;
	if (path && open_file(follower, path))
		return OUTLOOK_MORE;
	if (follower->api->concluded)
		return OUTLOOK_NONE;
	if (!path && is_its_turn(follower) && !follower->reader && ask_executor(follower))
		return OUTLOOK_MORE;
	return follower->follows && !has_ended(follower) ? OUTLOOK_LATER : OUTLOOK_NONE;
}

static void fill(void *data, struct http_stream *stream)
{
	struct api_log_follower *follower = data;

	if (send_some(follower))
		return;
	switch (look_for_more(follower)) {
	case OUTLOOK_LATER:
		if (send_end(follower))
			http_stream_wake(stream);
		timer_start(&follower->poll, POLL_MS);
		break;
	case OUTLOOK_MORE:
		timer_start(&follower->poll, POLL_MS);
		break;
	case OUTLOOK_NONE:
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

void api_logs_wake(struct api *api)
{
	struct api_log_follower *follower;

	LIST_FOREACH(follower, &api->log_followers, link)
	http_stream_wake(follower->stream);
}

static void begin(struct api_log_follower *follower, struct http_request *request)
{
	struct api *api = follower->api;

	follower->taker.given = on_piece;
	follower->taker.gone = on_relay_gone;
	follower->taker.data = follower;
	event_assign(&follower->poll, api->base, -1, 0, on_poll, follower);
	LIST_INSERT_HEAD(&api->log_followers, follower, link);
	follower->stream = http_answer_stream(
		request,
		follower->is_framed ? "application/x-tony-log" : "application/octet-stream",
		&(struct http_stream_source){.fill = fill, .closed = on_closed, .data = follower});
}

/* ---- the question ------------------------------------------------------------------------- */

/* -1: refused and answered. */
static int read_from(struct http_request *request, struct api_log_follower *follower)
{
	const char *from = http_request_query(request, "from");
	int64_t offset = 0;

	if (http_request_query_int(request, "offset", INT64_MIN, INT64_MAX, &offset) < 0)
		return -1;
	if (!from) {
		snprintf(follower->from, sizeof(follower->from), "offset:%lld", (long long)offset);
		return 0;
	}
	if (!log_position_is_valid(from)) {
		http_answer_error(request, 400, "bad-request",
				  "from: \"%s\" is none of oldest, offset:N, tail:N and "
				  "at:PART:OFFSET",
				  from);
		return -1;
	}
	snprintf(follower->from, sizeof(follower->from), "%s", from);
	return 0;
}

static int read_question(struct http_request *request, struct api_log_follower *follower)
{
	int64_t follows = 0, frames = 0, attempt = 0;

	follower->left = INT64_MAX;
	if (read_from(request, follower) < 0 ||
	    http_request_query_int(request, "limit", 0, INT64_MAX, &follower->left) < 0 ||
	    http_request_query_int(request, "follow", 0, 1, &follows) < 0 ||
	    http_request_query_int(request, "frames", 0, 1, &frames) < 0 ||
	    http_request_query_int(request, "attempt", 1, INT32_MAX, &attempt) < 0)
		return -1;
	follower->follows = follows;
	follower->is_framed = frames;
	follower->attempt = (int)attempt;
	return 0;
}

/* Whether there can be an answer now. */
static bool is_there(struct api_log_follower *follower)
{
	if (!is_its_turn(follower))
		return false;
	char *path cleanup_free = path_of(follower);
	return path ? has_file(path) : is_heard_of(follower);
}

/* When an executor has exited, the AM can no longer read logs that are on its node. */
static void answer_missing(struct http_request *request, const struct api_log_follower *question)
{
	const char *task = http_request_parameter(request, "task");
	const char *log = http_request_parameter(request, "log");
	char *path cleanup_free = question->file ? path_of(question) : NULL;

	if (question->file && !path && task_of(question)->state >= TASK_SUCCEEDED)
		http_answer_error(request, 404, "not-found",
				  "%s has ended, and its node has its logs: see tony logs %s --%s "
				  "%s",
				  task, question->api->host.job->id,
				  str_equal(log, "executor") ? "executor" : "task", task);
	else
		http_answer_error(request, 404, "not-found", "%s has no log \"%s\"", task, log);
}

void api_handle_logs(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);
	struct api_log_follower question = {.api = api};

	if (!task || read_question(request, &question) < 0)
		return;
	question.task = task->number;
	question.read = task_of(&question)->attempt;
	const char *log = http_request_parameter(request, "log");
	char *file cleanup_free = log_file_name(log);
	question.file = file;
	if (!file || (!question.follows && !is_there(&question))) {
		answer_missing(request, &question);
		return;
	}
	struct api_log_follower *follower = mem_alloc(sizeof(*follower));
	*follower = question;
	follower->log = mem_strdup(log);
	follower->file = mem_steal(&file);
	begin(follower, request);
}

/* ---- which there are ---------------------------------------------------------------------- */

/* One that can be read now; -1: its length is only known where it is. */
static void add_log(json_t *list, const struct task *task, const char *name, int64_t bytes)
{
	json_t *object = json_object();

	json_set_text(object, "log", name);
	if (bytes >= 0)
		json_set_int(object, "bytes", bytes);
	json_set_int(object, "attempt", task->attempt);
	json_array_append_new(list, object);
}

static void add_log_if_there(json_t *list, struct api *api, size_t number, const char *name)
{
	const struct task *task = machine_task(api->host.machine, number);
	char *file cleanup_free = log_file_name(name);
	const struct api_log_follower question = {
		.api = api, .task = number, .log = (char *)name, .file = file};
	char *path cleanup_free = path_of(&question);
	struct stat info;

	if (path && stat(path, &info) == 0 && S_ISREG(info.st_mode))
		add_log(list, task, name, info.st_size);
	else if (!path && is_heard_of(&question))
		add_log(list, task, name, -1);
}

void api_handle_log_names(void *data, struct http_request *request)
{
	static const char *const streams[] = {"stdout", "stderr"};
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);

	if (!task)
		return;
	size_t type = machine_task(api->host.machine, task->number)->type;
	json_t *list = json_array();
	for (size_t i = 0; i < array_length(streams); i++) {
		add_log_if_there(list, api, task->number, streams[i]);
		for (int k = 1; k < api->host.job->types[type].processes; k++) {
			char *name cleanup_free = mem_printf("%s-%d", streams[i], k);
			add_log_if_there(list, api, task->number, name);
		}
	}
	add_log_if_there(list, api, task->number, "executor");
	http_answer_json(request, 200, list);
}

/* ---- what executors send ------------------------------------------------------------------ */

static struct log_piece *parse_piece(const char *bytes, size_t length)
{
	const char *rest = bytes;
	size_t rest_length = length;
	struct log_span span;
	int more;

	while ((more = log_frame_next(&rest, &rest_length, &span)) > 0)
		if (span.length == 0)
			return NULL;
	if (more < 0)
		return NULL;
	struct log_piece *piece = mem_alloc(sizeof(*piece));
	piece->frames = mem_alloc(length + 1);
	memcpy(piece->frames, bytes, length);
	piece->length = length;
	return piece;
}

static void take_piece(struct api_task *task, struct http_request *request, int64_t number,
		       int64_t end)
{
	const char *after = http_request_query(request, "after");
	size_t length;
	const char *bytes = http_request_body(request, &length);

	if (length > LOG_PIECE_MAX) {
		http_answer_error(request, 413, "too-large",
				  "a piece of a log has at most %d bytes", LOG_PIECE_MAX);
		return;
	}
	struct log_piece *piece =
		after && log_position_is_valid(after) ? parse_piece(bytes, length) : NULL;
	if (!piece) {
		http_answer_error(request, 400, "bad-request", "this is no piece of a log");
		return;
	}
	snprintf(piece->after, sizeof(piece->after), "%s", after);
	piece->at_end = end > 0;
	piece->is_last = end > 1;
	log_relays_give(task->relays, http_request_parameter(request, "log"), number, piece);
	api_answer_empty(request);
}

void api_handle_log_piece(void *data, struct http_request *request)
{
	struct api *api = data;
	struct api_task *task = api_find_task(api, request);
	int64_t attempt = 0, number = 0, end = 0;

	if (!task || http_request_query_int(request, "attempt", 0, INT32_MAX, &attempt) < 0 ||
	    http_request_query_int(request, "number", 0, INT64_MAX, &number) < 0 ||
	    http_request_query_int(request, "end", 0, 2, &end) < 0)
		return;
	api_logs_check(task);
	if (attempt != machine_task(api->host.machine, task->number)->attempt)
		api_answer_stale(request);
	else
		take_piece(task, request, number, end);
}
