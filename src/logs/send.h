/* The answer to a question for a log that does not grow. */
#ifndef TONY_LOGS_SEND_H
#define TONY_LOGS_SEND_H

#include "logs/question.h"

/* Takes the log, and what is in the question. An answer in frames tells whether all came. */
void log_send(struct http_request *request, struct log_question *question, struct log_source *log);

#endif
