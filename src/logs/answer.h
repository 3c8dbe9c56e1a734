/*
 * Why a log is not to be had, in the same words wherever it is asked for. The struct log_source of
 * one that is there tells what was cut off its front.
 */
#ifndef TONY_LOGS_ANSWER_H
#define TONY_LOGS_ANSWER_H

#include "base/err.h"

/* With an ERR_NOT_FOUND. */
enum log_answer {
	LOG_NO_SUCH, /* a task has none of that name, has written none, or it is not known why */
	LOG_NOT_YET, /* it may come */
	LOG_GONE,    /* there was one, which is no more, or not where it is asked for */
};

/* `name`: as errors name the log ("stdout of worker:0"). The caller frees. */
char *log_answer_text(enum log_answer answer, const char *name, const struct err *problem);

#endif
