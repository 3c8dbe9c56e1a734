/* The frames of a channel (net/channel.h) between a client and a command, or a port, in a task:
 * their kinds, and the content of those that are more than bytes. */
#ifndef TONY_PROTOCOL_SESSION_H
#define TONY_PROTOCOL_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum session_frame {
	/* The AM's, in place of SESSION_START: a port. The frames that follow are net/carrier.h's.
	 */
	SESSION_PORT = 'p',
	/* The client's. */
	SESSION_START = 's',   /* struct session_command, the first frame and once */
	SESSION_INPUT = 'i',   /* for standard input */
	SESSION_NO_MORE = 'n', /* of it */
	SESSION_SIZE = 'w',    /* struct session_size: the window has another size */
	SESSION_SIGNAL = 'k',  /* a number, as the command's shell would get it */
	/* The command's. */
	SESSION_OUTPUT = 'o',
	SESSION_ERRORS = 'e', /* standard error; with a terminal there is none */
	SESSION_TAKEN = 't',  /* a number: so many bytes of SESSION_INPUT were taken */
	SESSION_END = 'x',    /* a number: the exit code, 128 + N for signal N; the last frame */
	SESSION_FAILED = 'f', /* text: why it was not started; the last frame */
};

/* How much SESSION_INPUT may be on the way. */
enum { SESSION_INPUT_MAX = 128 * 1024 };
enum { SESSION_WORDS_MAX = 1000 }; /* of a command */

struct session_size {
	int rows, columns;
};

struct session_command {
	struct str_list words; /* none: the shell of the user */
	bool wants_stacks;     /* in place of a command: what executor/stacks.h takes */
	bool has_terminal;
	struct session_size size;
	char *terminal; /* TERM; NULL: not told */
};

/* The caller frees. */
char *session_command_encode(const struct session_command *command);
int session_command_decode(struct session_command *command, const char *bytes, size_t length,
			   struct err *err);
void session_command_finish(struct session_command *command);
#define cleanup_command __attribute__((cleanup(session_command_finish)))

char *session_size_encode(const struct session_size *size);
int session_size_decode(struct session_size *size, const char *bytes, size_t length,
			struct err *err);

#endif
