/*
 * GET /v1/tasks/{task}/logs and .../logs/{log} (docs/rest.md, "Logs"), as an AM and a portal answer
 * them.
 */
#ifndef TONY_LOGS_QUESTION_H
#define TONY_LOGS_QUESTION_H

#include <jansson.h>

#include "logs/answer.h"
#include "logs/search.h"
#include "logs/source.h"
#include "net/http_server.h"

struct log_question {
	char *log, *file;	      /* "executor"; that it is in, NULL: there is no such log */
	char from[LOG_POSITION_SIZE]; /* a position */
	int64_t left;		      /* bytes that may still be sent */
	int attempt;		      /* of this container only; 0: whichever */
	bool follows, is_framed;
	struct log_search search; /* only lines that it finds are sent */
};
void log_question_finish(struct log_question *question);
#define cleanup_log_question __attribute__((cleanup(log_question_finish)))

/* -1: it makes no sense, and that is answered. */
int log_question_read(struct http_request *request, struct log_question *question);

/* The answer when there is no log to send. */
void log_question_refuse(struct http_request *request, const struct log_question *question,
			 enum log_answer answer, const struct err *problem);

/* The media type of the answer. */
const char *log_question_type(const struct log_question *question);
/* As much of the span as is wanted. NULL: there is nothing more for now; false: nobody wants to
 * know. */
bool log_question_send(struct log_question *question, struct http_stream *stream,
		       const struct log_span *span);

/* Where a search that has come to this position goes on, as a span without bytes; all 0 where
 * nothing is searched for, or it is not known. */
struct log_span log_question_place(const struct log_question *question, const char *position);

/* Adds a log to the answer that lists them. `bytes` -1: known only where it is. `cut`: bytes that
 * stood before these. */
void log_list_add(json_t *list, const char *log, int attempt, int64_t bytes, int64_t cut);

#endif
