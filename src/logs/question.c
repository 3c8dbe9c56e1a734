#include "logs/question.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "logs/frame.h"
#include "logs/names.h"

void log_question_finish(struct log_question *question)
{
	free(question->log);
	free(question->file);
	log_search_finish(&question->search);
}

static int read_from(struct http_request *request, struct log_question *question)
{
	const char *from = http_request_query(request, "from");
	int64_t offset = 0;

	if (http_request_query_int(request, "offset", INT64_MIN, INT64_MAX, &offset) < 0)
		return -1;
	if (from && !log_position_is_valid(from)) {
		http_answer_error(request, 400, "bad-request",
				  "from: \"%s\" is none of oldest, offset:N, tail:N and "
				  "at:PART:OFFSET",
				  from);
		return -1;
	}
	if (from)
		snprintf(question->from, sizeof(question->from), "%s", from);
	else
		snprintf(question->from, sizeof(question->from), "offset:%" PRId64, offset);
	return 0;
}

static int read_search(struct http_request *request, struct log_question *question)
{
	const char *match = http_request_query(request, "match");
	int64_t any_case = 0, counts = 0;

	if (http_request_query_int(request, "ignore_case", 0, 1, &any_case) < 0 ||
	    http_request_query_int(request, "count_lines", 0, 1, &counts) < 0)
		return -1;
	if (counts && (match || question->follows || !question->is_framed)) {
		http_answer_error(request, 400, "bad-request",
				  "count_lines: it goes with frames=1, and without match and "
				  "follow");
		return -1;
	}
	question->search.counts = counts;
	if (match && !log_search_is_valid(match)) {
		http_answer_error(request, 400, "bad-request",
				  "match: not a text, or several in lines of their own, none of "
				  "them empty, of at most %d bytes",
				  LOG_SEARCH_MAX);
		return -1;
	}
	if (match)
		question->search = (struct log_search){.text = mem_strdup(match),
						       .any_case = any_case,
						       .takes_begun = !question->follows};
	return 0;
}

int log_question_read(struct http_request *request, struct log_question *question)
{
	int64_t follows = 0, frames = 0, attempt = 0;

	*question = (struct log_question){.left = INT64_MAX};
	if (read_from(request, question) < 0 ||
	    http_request_query_int(request, "limit", 0, INT64_MAX, &question->left) < 0 ||
	    http_request_query_int(request, "follow", 0, 1, &follows) < 0 ||
	    http_request_query_int(request, "frames", 0, 1, &frames) < 0 ||
	    http_request_query_int(request, "attempt", 1, INT32_MAX, &attempt) < 0)
		return -1;
	question->follows = follows;
	question->is_framed = frames;
	if (read_search(request, question) < 0)
		return -1;
	question->attempt = (int)attempt;
	question->log = mem_strdup(http_request_parameter(request, "log"));
	question->file = log_file_name(question->log);
	return 0;
}

void log_question_refuse(struct http_request *request, const struct log_question *question,
			 enum log_answer answer, const struct err *problem)
{
	static const struct {
		int status;
		const char *code;
	} refusals[] = {
		[LOG_NO_SUCH] = {404, "not-found"},
		[LOG_NOT_YET] = {404, "not-yet"},
		[LOG_GONE] = {410, "gone"},
	};
	bool is_denied = problem->kind == ERR_DENIED;
	char *name cleanup_free =
		mem_printf("%s of %s", question->log, http_request_parameter(request, "task"));
	char *text cleanup_free = log_answer_text(answer, name, problem);

	http_answer_error(request, is_denied ? 403 : refusals[answer].status,
			  is_denied ? "denied" : refusals[answer].code, "%s", text);
}

const char *log_question_type(const struct log_question *question)
{
	return question->is_framed ? "application/x-tony-log" : "application/octet-stream";
}

bool log_question_send(struct log_question *question, struct http_stream *stream,
		       const struct log_span *span)
{
	struct log_span part = span ? *span : (struct log_span){0};
	struct str head cleanup_str = {0};

	if ((int64_t)part.length > question->left)
		part.length = (size_t)question->left;
	question->left -= (int64_t)part.length;
	if (question->is_framed) {
		log_frame_append_head(&head, span ? &part : NULL);
		http_stream_write(stream, head.text, head.length);
	}
	if (part.length > 0)
		http_stream_write(stream, part.bytes, part.length);
	return span || question->is_framed;
}

struct log_span log_question_place(const struct log_question *question, const char *position)
{
	struct log_position at;

	if (!question->search.text || log_position_parse(position, &at) < 0 ||
	    at.kind != LOG_AT_PART)
		return (struct log_span){0};
	return (struct log_span){.part = at.part, .offset = at.number};
}

void log_list_add(json_t *list, const char *log, int attempt, int64_t bytes, int64_t cut)
{
	json_t *object = json_object();

	json_set_text(object, "log", log);
	if (bytes >= 0)
		json_set_int(object, "bytes", bytes);
	json_set_int(object, "attempt", attempt);
	if (cut > 0)
		json_set_int(object, "cut_bytes", cut);
	json_array_append_new(list, object);
}
