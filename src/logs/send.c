#include "logs/send.h"

#include <stdlib.h>

#include "base/mem.h"
#include "logs/filter.h"
#include "logs/frame.h"

struct sending {
	struct log_question question;
	struct log_source *log;
};

static void finish(void *data)
{
	struct sending *sending = data;

	log_source_destroy(sending->log);
	log_question_finish(&sending->question);
	free(sending);
}

static void send_end(struct sending *sending, struct http_stream *stream)
{
	char position[LOG_POSITION_SIZE];

	log_source_tell(sending->log, position);
	const struct log_span end = sending->log->problem
					    ? (struct log_span){.part = LOG_FRAME_CUT}
					    : log_question_place(&sending->question, position);
	log_question_send(&sending->question, stream, &end);
}

static void on_room(void *data, struct http_stream *stream)
{
	struct sending *sending = data;
	int64_t left = sending->question.left;
	struct log_span span;

	if (left > 0 &&
	    log_source_next(sending->log,
			    left < HTTP_STREAM_CHUNK ? (size_t)left : HTTP_STREAM_CHUNK, &span)) {
		log_question_send(&sending->question, stream, &span);
		return;
	}
	if (left > 0 && sending->log->is_busy) {
		http_stream_yield(stream);
		return;
	}
	if (left > 0)
		send_end(sending, stream);
	finish(sending);
	http_stream_end(stream);
}

void log_send(struct http_request *request, struct log_question *question, struct log_source *log)
{
	struct sending *sending = mem_alloc(sizeof(*sending));

	*sending = (struct sending){.question = *question,
				    .log = log_filter_open(log, &question->search)};
	*question = (struct log_question){0};
	log_source_seek(sending->log, sending->question.from);
	http_answer_stream(
		request, log_question_type(&sending->question),
		&(struct http_stream_source){.fill = on_room, .closed = finish, .data = sending});
}
