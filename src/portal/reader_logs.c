/* The ends of logs that a store keeps (history/pack.h), and of those that YARN has collected.
 * Positions count from where what is kept begins. Logs that are here are whole (reader_here.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "history/pack.h"
#include "job/log_frame.h"
#include "portal/reader_internal.h"

/* The directory of the task's logs; the caller frees. */
static char *directory_of(const struct reader *reader, int64_t task)
{
	const struct task_view *row = &reader->view->tasks[task];
	char *name cleanup_free = history_task_name(reader->job->types[row->type].name, row->index);

	return mem_printf(HISTORY_LOGS "/%s", name);
}

static int read_kept(const struct reader *reader, const char *directory, const char *log,
		     struct kept_log *kept, struct err *err)
{
	char *path cleanup_free = mem_printf("%s/%s", directory, log);
	struct history_log_head head = {0};
	size_t length;

	kept->bytes =
		history_store_read_file(reader->store, reader->path, path, KEPT_CAP, &length, err);
	if (!kept->bytes)
		return -1;
	size_t head_length = history_log_head_read(kept->bytes, length, &head);
	if (head_length > 0)
		kept->attempt = head.attempt;
	kept->cut = head.from;
	history_log_head_finish(&head);
	kept->text = kept->bytes + head_length;
	kept->length = length - head_length;
	return 0;
}

static void free_kept(struct kept_log *kept)
{
	free(kept->bytes);
	free(kept->times);
}

static void read_times(const struct reader *reader, const char *directory, const char *log,
		       struct kept_log *kept)
{
	char *path cleanup_free = mem_printf("%s/%s.times", directory, log);

	kept->times =
		history_store_read_file(reader->store, reader->path, path, KEPT_CAP, NULL, NULL);
}

static bool is_on_yarn(const struct reader *reader)
{
	return str_equal(reader->job->scheduler, "yarn");
}

/* ---- which there are ---------------------------------------------------------------------- */

static void add_log(const struct reader *reader, json_t *list, const char *directory,
		    const struct history_entry *entry)
{
	struct kept_log kept = {0};

	if (entry->is_directory || str_ends_with(entry->name, ".times") ||
	    read_kept(reader, directory, entry->name, &kept, NULL) < 0)
		return;
	/* "executor.log" is the log "executor". */
	size_t length = strlen(entry->name) - (str_ends_with(entry->name, ".log") ? 4 : 0);
	char *log cleanup_free = mem_strndup(entry->name, length);
	json_t *object = json_pack("{s:s, s:I, s:i}", "log", log, "bytes", (json_int_t)kept.length,
				   "attempt", kept.attempt);
	if (kept.cut > 0)
		json_set_int(object, "cut_bytes", kept.cut);
	json_array_append_new(list, object);
	free_kept(&kept);
}

void reader_handle_log_names(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct history_entries entries cleanup_history_entries = {0};
	struct err err cleanup_err = {0};
	int64_t task = reader_open(reader, request) ? reader_find_task(reader, request) : -1;

	if (task < 0)
		return;
	json_t *list = json_array();
	if (reader_here_list(reader, (size_t)task, list)) {
		http_answer_json(request, 200, list);
		return;
	}
	char *directory cleanup_free = directory_of(reader, task);
	if (history_store_list(reader->store, reader->path, directory, &entries, &err) < 0) {
		json_decref(list);
		reader_answer_failure(request, &err);
		return;
	}
	for (size_t i = 0; i < entries.count; i++)
		add_log(reader, list, directory, &entries.items[i]);
	/* Why there are none is said when one is asked for. */
	if (json_array_size(list) == 0 && is_on_yarn(reader))
		reader_collected_list(reader, (size_t)task, list, NULL);
	http_answer_json(request, 200, list);
}

/* ---- one ---------------------------------------------------------------------------------- */

/* Where `count` lines before the end begin. */
static size_t tail_of(const struct kept_log *kept, int64_t count)
{
	size_t at = kept->length;

	if (at > 0 && kept->text[at - 1] == '\n')
		at--;
	for (; at > 0; at--)
		if (kept->text[at - 1] == '\n' && --count <= 0)
			return at;
	return 0;
}

static size_t clamp(const struct kept_log *kept, int64_t offset)
{
	if (offset < 0)
		offset += (int64_t)kept->length;
	if (offset < 0)
		return 0;
	return (uint64_t)offset < kept->length ? (size_t)offset : kept->length;
}

/* Of a position that is valid. */
static size_t find_position(const struct kept_log *kept, const char *position)
{
	int64_t number = 0;

	if (str_starts_with(position, "tail:")) {
		str_parse_int(position + strlen("tail:"), 0, INT64_MAX, &number);
		return number > 0 ? tail_of(kept, number) : kept->length;
	}
	if (strchr(position, ':'))
		str_parse_int(strrchr(position, ':') + 1, INT64_MIN, INT64_MAX, &number);
	return clamp(kept, number);
}

/* The index of times beside a log (executor/log_times.h), a line after the other. */
struct times {
	const char *at;	       /* the rest of it */
	int64_t time_ms;       /* of the bytes before `next`; 0: not known */
	int64_t next_ms, next; /* of the bytes from there on */
};

static void read_next(struct times *times)
{
	char *end;
	long long time_ms = strtoll(times->at, &end, 10);
	long long offset = end > times->at ? strtoll(end, &end, 10) : -1;

	times->next = INT64_MAX;
	if (time_ms < 0 || offset < 0 || *end != '\n')
		return;
	times->at = end + 1;
	times->next_ms = time_ms;
	times->next = offset;
}

static void go_to(struct times *times, size_t offset)
{
	while (times->next <= (int64_t)offset) {
		times->time_ms = times->next_ms;
		read_next(times);
	}
}

static void append_frames(struct str *answer, const struct kept_log *kept, size_t from,
			  size_t length)
{
	struct times times = {.at = kept->times ? kept->times : ""};

	read_next(&times);
	while (length > 0) {
		go_to(&times, from);
		size_t part = length < LOG_SPAN_MAX ? length : LOG_SPAN_MAX;
		if ((int64_t)part > times.next - (int64_t)from)
			part = (size_t)times.next - from;
		const struct log_span span = {.bytes = kept->text + from,
					      .length = part,
					      .time_ms = times.time_ms,
					      .offset = (int64_t)from};
		log_frame_append_head(answer, &span);
		str_append_bytes(answer, span.bytes, part);
		from += part;
		length -= part;
	}
	log_frame_append_head(answer, NULL);
}

static void answer_log(struct http_request *request, const struct kept_log *kept, size_t from,
		       int64_t limit, bool is_framed)
{
	size_t length = kept->length - from;
	struct str answer cleanup_str = {0};

	if ((int64_t)length > limit)
		length = (size_t)limit;
	if (!is_framed) {
		http_answer_bytes(request, 200, "application/octet-stream", kept->text + from,
				  length);
		return;
	}
	append_frames(&answer, kept, from, length);
	http_answer_bytes(request, 200, "application/x-tony-log", answer.text, answer.length);
}

static void answer_question(struct http_request *request, const struct log_question *question,
			    const struct kept_log *kept)
{
	size_t from = question->from ? find_position(kept, question->from)
				     : clamp(kept, question->offset);

	answer_log(request, kept, from, question->limit, question->frames);
}

static bool answer_stored(const struct reader *reader, struct http_request *request, int64_t task,
			  const struct log_question *question, struct err *err)
{
	char *directory cleanup_free = directory_of(reader, task);
	struct kept_log kept = {0};
	bool is_there = read_kept(reader, directory, question->file, &kept, err) == 0;

	if (is_there && question->attempt > 0 && question->attempt != kept.attempt) {
		is_there = false;
		err_set(err, ERR_NOT_FOUND, "attempt %d is kept", kept.attempt);
	}
	if (is_there && question->frames)
		read_times(reader, directory, question->file, &kept);
	if (is_there)
		answer_question(request, question, &kept);
	free_kept(&kept);
	return is_there;
}

static void answer_missing(struct http_request *request, const struct log_question *question,
			   const struct err *err)
{
	bool is_denied = err->kind == ERR_DENIED;

	http_answer_error(request, is_denied ? 403 : 404, is_denied ? "denied" : "not-found",
			  "of %s no log \"%s\" is shown: %s",
			  http_request_parameter(request, "task"), question->log, err_message(err));
}

static void answer_task(struct reader *reader, struct http_request *request, int64_t task,
			const struct log_question *question)
{
	struct err stored cleanup_err = {0};
	struct err collected cleanup_err = {0};

	if (!question->file)
		err_set(&stored, ERR_NOT_FOUND, "there is no log of that name");
	else if (reader_here_answer(reader, request, (size_t)task, question) ||
		 answer_stored(reader, request, task, question, &stored))
		return;
	const struct kept_log *kept =
		question->file && is_on_yarn(reader)
			? reader_collected_read(reader, (size_t)task, (int)question->attempt,
						question->file, &collected)
			: NULL;
	if (kept)
		answer_question(request, question, kept);
	else
		answer_missing(request, question,
			       collected.kind != ERR_NONE ? &collected : &stored);
}

void reader_handle_log(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct log_question question = {.log = http_request_parameter(request, "log"),
					.from = http_request_query(request, "from"),
					.limit = INT64_MAX};

	if (http_request_query_int(request, "offset", INT64_MIN, INT64_MAX, &question.offset) < 0 ||
	    http_request_query_int(request, "limit", 0, INT64_MAX, &question.limit) < 0 ||
	    http_request_query_int(request, "frames", 0, 1, &question.frames) < 0 ||
	    http_request_query_int(request, "attempt", 1, INT32_MAX, &question.attempt) < 0)
		return;
	if (question.from && !log_position_is_valid(question.from)) {
		http_answer_error(request, 400, "bad-request", "from: is no position in a log");
		return;
	}
	int64_t task = reader_open(reader, request) ? reader_find_task(reader, request) : -1;
	if (task < 0)
		return;
	question.file = log_file_name(question.log);
	answer_task(reader, request, task, &question);
	free(question.file);
}
