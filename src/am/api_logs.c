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
#include "logs/file.h"
#include "logs/filter.h"
#include "logs/frame.h"
#include "logs/names.h"
#include "logs/question.h"

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
	struct log_question question;
	int read;	/* the attempt whose executor was asked last, or that there was at first */
	int whole;	/* the attempt whose log was delivered to its end; 0: none */
	int told;	/* the last attempt of which anything was told; 0: none */
	bool knows_end; /* was told that there is nothing more for now */

	/* Of a file here. */
	char *path;
	struct log_source *reader; /* NULL: not this way */

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
	log_source_destroy(follower->reader);
	log_question_finish(&follower->question);
	free(follower->path);
	free(follower);
}

static const struct task *task_of(const struct api_log_follower *follower)
{
	return machine_task(follower->api->host.machine, follower->task);
}

/* ---- bytes -------------------------------------------------------------------------------- */

static void send_span(struct api_log_follower *follower, const struct log_span *span)
{
	log_question_send(&follower->question, follower->stream, span);
	follower->knows_end = false;
}

static bool send_file(struct api_log_follower *follower)
{
	struct log_span span;
	size_t sent = 0;

	while (sent < HTTP_STREAM_CHUNK && follower->question.left > 0 &&
	       log_source_next(follower->reader, HTTP_STREAM_CHUNK - sent, &span)) {
		sent += span.length;
		send_span(follower, &span);
	}
	return sent > 0;
}

/* A filter keeps a line back until its newline: where nothing follows, it is a line as it is. */
static bool send_begun(struct api_log_follower *follower)
{
	if (!follower->reader || follower->reader->takes_begun)
		return false;
	follower->reader->takes_begun = true;
	return send_file(follower);
}

/* Where a search goes on that has met the present end: at the line that has no newline yet. */
static struct log_span find_place(const struct api_log_follower *follower)
{
	char text[LOG_POSITION_SIZE];

	if (follower->reader)
		log_source_tell(follower->reader, text);
	return log_question_place(&follower->question,
				  follower->reader ? text : follower->question.from);
}

/* That there is nothing more for now, once. */
static bool send_end(struct api_log_follower *follower)
{
	if (follower->knows_end)
		return false;
	const struct log_span place = find_place(follower);
	follower->knows_end = true;
	return follower->question.is_framed &&
	       log_question_send(&follower->question, follower->stream, &place);
}

/* A piece is small: all of it. */
static bool send_piece(struct api_log_follower *follower)
{
	struct log_piece *piece = follower->piece;
	struct log_span span;
	bool sent = false;

	while (follower->question.left > 0 &&
	       log_frame_next(&follower->rest, &follower->rest_length, &span) > 0) {
		send_span(follower, &span);
		sent = true;
	}
	if (piece->is_last)
		follower->whole = follower->read;
	bool is_end = piece->at_end && follower->question.left > 0; /* all of it was sent */
	log_piece_release(mem_steal(&follower->piece));
	if (is_end && !follower->question.follows)
		follower->question.left = 0;
	if (is_end && send_end(follower))
		sent = true;
	return sent;
}

/* The executor has left before it could be asked: its node alone has what the container wrote. */
static bool send_missed(struct api_log_follower *follower)
{
	const struct log_question *question = &follower->question;
	int of = follower->api->tasks[follower->task].executor_attempt;

	if (follower->reader || !question->follows || of <= follower->told ||
	    (question->attempt > 0 && question->attempt != of))
		return false;
	follower->told = of;
	return log_question_send(&follower->question, follower->stream,
				 &(struct log_span){.part = LOG_FRAME_MISSED, .offset = of});
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
	follower->told = follower->read;
	snprintf(follower->question.from, sizeof(follower->question.from), "%s", piece->after);
	follower->rest = piece->frames;
	follower->rest_length = piece->length;
	http_stream_wake(follower->stream);
}

/* The container is another one: its log begins at the beginning. */
static void on_relay_gone(void *data)
{
	struct api_log_follower *follower = data;

	snprintf(follower->question.from, sizeof(follower->question.from), "oldest");
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
					    follower->question.file);
}

/* Goes on with another file than before, or the first. */
static bool open_file(struct api_log_follower *follower, const char *path)
{
	if (!has_file(path) || (follower->reader && str_equal(path, follower->path)))
		return false;
	send_begun(follower);
	log_source_destroy(follower->reader);
	follower->reader = log_filter_open(log_file_open(path), &follower->question.search);
	log_source_seek(follower->reader, follower->question.from);
	/* That of the next container is read from its beginning. */
	snprintf(follower->question.from, sizeof(follower->question.from), "oldest");
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
		snprintf(follower->question.from, sizeof(follower->question.from), "oldest");
	/* Others search as much of the container as they may: it waits for a place. */
	if (!follower->taker.relay &&
	    log_relays_join(task->relays, follower->question.log, &follower->question.search,
			    &follower->taker) < 0)
		return true;
	follower->read = present;
	if (!follower->taker.asks)
		log_taker_ask(&follower->taker, follower->question.from,
			      follower->question.follows &&
				      (follower->knows_end || !follower->question.is_framed));
	return true;
}

/* Nothing more of the one container that is asked for can come. */
static bool has_ended(const struct api_log_follower *follower)
{
	const struct task *task = task_of(follower);

	if (follower->question.attempt == 0 || task->attempt < follower->question.attempt)
		return false;
	if (task->attempt > follower->question.attempt ||
	    follower->whole == follower->question.attempt)
		return true;
	bool is_over = task->state >= TASK_SUCCEEDED || !task->has_container;
	return is_over && (follower->reader || !is_heard_of(follower));
}

/* The executor has left before it had read the log to the end that it had at that time. Elsewhere
 * than in a search a follower knows that only last words may be missing. */
static bool is_cut(const struct api_log_follower *follower)
{
	const struct log_question *question = &follower->question;

	if (follower->reader && follower->reader->problem)
		return question->left > 0;
	if (question->left == 0 || follower->reader || follower->knows_end)
		return false;
	return !question->follows || (question->search.text && follower->taker.asks);
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
	return follower->question.attempt == 0 ||
	       follower->question.attempt == task_of(follower)->attempt;
}

/* For lack of descriptors, say: who follows waits until it can be read again. */
static void drop_reader(struct api_log_follower *follower)
{
	log_source_tell(follower->reader, follower->question.from);
	log_source_destroy(mem_steal(&follower->reader));
	mem_replace(&follower->path, NULL);
}

/* Nothing is at hand. */
enum outlook {
	OUTLOOK_MORE,  /* bytes come from a file that was not read yet, or an executor was asked */
	OUTLOOK_LATER, /* none for now: the task, or its next container, may write */
	OUTLOOK_NONE,  /* the answer is whole */
};

static enum outlook look_for_more(struct api_log_follower *follower)
{
	if (follower->question.left == 0)
		return OUTLOOK_NONE;
	if (follower->reader && follower->reader->problem) {
		if (!follower->question.follows)
			return OUTLOOK_NONE;
		drop_reader(follower);
		return OUTLOOK_LATER;
	}
	char *path cleanup_free = is_its_turn(follower) ? path_of(follower) : NULL;
	if (path && open_file(follower, path))
		return OUTLOOK_MORE;
	if (follower->api->concluded)
		return OUTLOOK_NONE;
	if (!path && is_its_turn(follower) && !follower->reader && ask_executor(follower))
		return OUTLOOK_MORE;
	return follower->question.follows && !has_ended(follower) ? OUTLOOK_LATER : OUTLOOK_NONE;
}

/* There is nothing more. */
static void send_all(struct api_log_follower *follower)
{
	const bool tells =
		follower->reader && follower->question.search.text && !follower->question.follows;

	send_begun(follower);
	if (tells && follower->question.left > 0)
		send_end(follower);
	else if (!send_missed(follower) && is_cut(follower))
		log_question_send(&follower->question, follower->stream,
				  &(struct log_span){.part = LOG_FRAME_CUT});
}

static void fill(void *data, struct http_stream *stream)
{
	struct api_log_follower *follower = data;

	bool sent = send_some(follower);
	if (follower->question.left > 0 && follower->reader && follower->reader->is_busy) {
		http_stream_yield(stream);
		return;
	}
	if (sent)
		return;
	switch (look_for_more(follower)) {
	case OUTLOOK_LATER:
		if ((!is_heard_of(follower) && send_missed(follower)) || send_end(follower))
			http_stream_wake(stream);
		timer_start(&follower->poll, POLL_MS);
		break;
	case OUTLOOK_MORE:
		timer_start(&follower->poll, POLL_MS);
		break;
	case OUTLOOK_NONE:
		send_all(follower);
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

void api_logs_wake_task(struct api_task *task)
{
	struct api_log_follower *follower;

	LIST_FOREACH(follower, &task->log_followers, link)
	http_stream_wake(follower->stream);
}

void api_logs_wake(struct api *api)
{
	for (size_t i = 0; i < api->task_count; i++)
		api_logs_wake_task(&api->tasks[i]);
}

static void begin(struct api_log_follower *follower, struct http_request *request)
{
	struct api *api = follower->api;

	follower->taker.given = on_piece;
	follower->taker.gone = on_relay_gone;
	follower->taker.data = follower;
	event_assign(&follower->poll, api->base, -1, 0, on_poll, follower);
	LIST_INSERT_HEAD(&api->tasks[follower->task].log_followers, follower, link);
	follower->stream = http_answer_stream(
		request, log_question_type(&follower->question),
		&(struct http_stream_source){.fill = fill, .closed = on_closed, .data = follower});
}

/* Whether there can be an answer now. */
static bool is_there(struct api_log_follower *follower)
{
	if (!is_its_turn(follower))
		return false;
	char *path cleanup_free = path_of(follower);
	return path ? has_file(path) : is_heard_of(follower);
}

/* When an executor has exited, the AM can no longer read logs that are on its node; and it reads
 * those of a task's present container only. */
static void answer_missing(struct http_request *request, const struct api_log_follower *asked)
{
	const struct log_question *question = &asked->question;
	const struct task *task = task_of(asked);
	char *path cleanup_free = question->file ? path_of(asked) : NULL;
	bool is_over = task->state >= TASK_SUCCEEDED;
	enum log_answer answer = is_over || !question->file ? LOG_NO_SUCH : LOG_NOT_YET;
	struct err why cleanup_err = {0};

	if (!question->file) {
		err_set(&why, ERR_NOT_FOUND, "no task has a log of that name");
	} else if (question->attempt < task->attempt && !is_its_turn(asked)) {
		answer = LOG_GONE;
	} else if (is_over && !path) {
		answer = LOG_GONE;
	} else {
		err_set(&why, ERR_NOT_FOUND, "nothing was written");
	}
	if (answer == LOG_GONE)
		err_set(&why, ERR_NOT_FOUND,
			"its container has ended, and its node has its logs: see tony logs %s "
			"--%s %s",
			asked->api->host.job->id,
			str_equal(question->log, "executor") ? "executor" : "task",
			http_request_parameter(request, "task"));
	log_question_refuse(request, question, answer, &why);
}

void api_handle_logs(void *data, struct http_request *request)
{
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);
	struct api_log_follower asked = {.api = api};

	if (!task || log_question_read(request, &asked.question) < 0)
		return;
	asked.task = task->number;
	asked.read = task_of(&asked)->attempt;
	if (str_starts_with(asked.question.from, "at:")) /* by an AM before this one */
		asked.told = asked.read;
	if (!asked.question.file || (!asked.question.follows && !is_there(&asked))) {
		answer_missing(request, &asked);
		log_question_finish(&asked.question);
		return;
	}
	struct api_log_follower *follower = mem_alloc(sizeof(*follower));
	*follower = asked;
	begin(follower, request);
}

/* ---- which there are ---------------------------------------------------------------------- */

static void add_log_if_there(json_t *list, struct api *api, size_t number, const char *name)
{
	const struct task *task = machine_task(api->host.machine, number);
	char *file cleanup_free = log_file_name(name);
	const struct api_log_follower asked = {.api = api, .task = number, .question.file = file};
	char *path cleanup_free = path_of(&asked);
	struct stat info;

	if (path && stat(path, &info) == 0 && S_ISREG(info.st_mode))
		log_list_add(list, name, task->attempt, info.st_size, 0);
	else if (!path && is_heard_of(&asked))
		log_list_add(list, name, task->attempt, -1, 0);
}

void api_handle_log_names(void *data, struct http_request *request)
{
	struct str_list names cleanup_str_list = {0};
	struct api *api = data;
	const struct api_task *task = api_find_task(api, request);

	if (!task)
		return;
	size_t type = machine_task(api->host.machine, task->number)->type;
	json_t *list = json_array();
	log_names_add(&names, NULL, api->host.job->types[type].processes);
	str_list_add(&names, "executor");
	for (size_t i = 0; i < names.count; i++)
		add_log_if_there(list, api, task->number, names.items[i]);
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
