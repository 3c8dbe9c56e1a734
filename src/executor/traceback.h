/* Python's tracebacks among lines of stderr. */
#ifndef TONY_EXECUTOR_TRACEBACK_H
#define TONY_EXECUTOR_TRACEBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

extern const char traceback_head[]; /* "Traceback (most recent call last)" */

#define TRACEBACK_NO_LINE SIZE_MAX
#define TRACEBACK_NONE	  SIZE_MAX

/* Whose exception it was; the greater says more about the end of the program. */
enum traceback_of {
	TRACEBACK_LED_ON,  /* to the exception of the next one */
	TRACEBACK_IGNORED, /* nobody could catch it, and the program went on */
	TRACEBACK_HANDLED, /* the program printed it, and went on (handled.h) */
	TRACEBACK_OTHER,   /* a thread's, a child's, a task's of asyncio */
	TRACEBACK_PROGRAM,
};

struct traceback {
	enum traceback_of of;
	size_t first;	  /* its head, or the line above that says whose it is */
	size_t exception; /* its line below the frames */
	size_t last;
	/* Bytes before each of its lines: launchers and loggers put "[rank1]: " there, an exception
	 * group its bar. */
	size_t prefix;
	size_t cause; /* the number of the one that it came of; TRACEBACK_NONE: of none */
};

struct traceback_list {
	struct traceback *items;
	size_t count;
};

/* Those that have their exception, in order. */
void traceback_find(const struct str_list *lines, struct traceback_list *list);
void traceback_list_finish(struct traceback_list *list);

/* The line stands among those of the traceback, and is not of somebody else who wrote meanwhile. */
bool traceback_has(const struct traceback *traceback, const struct str_list *lines, size_t line);

/* "ValueError: no data", "torch.cuda.OutOfMemoryError: ...", "KeyboardInterrupt": what Python
 * prints below a traceback, recognised by its name when the traceback itself has scrolled away. */
bool traceback_is_exception(const char *line);

/* The exception is of Keras or TensorFlow: a blank line is within its message. */
bool traceback_has_paragraphs(const char *exception);

/* The lines begin with the same `length` bytes. */
bool traceback_begins_alike(const char *a, const char *b, size_t length);

#endif
