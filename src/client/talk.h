/* A command in a task's container, with this process's standard input, output and errors. */
#ifndef TONY_CLIENT_TALK_H
#define TONY_CLIENT_TALK_H

#include "base/str.h"
#include "client/opened.h"
#include "protocol/session.h"

struct talk_options {
	struct opened *opened; /* is read on where the command was cut off */
	const char *task;
	const char *what; /* the command is for users; NULL: "command" */
	const struct session_command *command;
	bool takes_input;
	struct str *output; /* gets what the command writes, at most 1 MiB; NULL: it is shown */
	/* So many bytes more of its input or output have passed; NULL: nobody asks. */
	void (*passed)(void *data, size_t bytes);
	void *data;
};

/* The size of this process's terminal. False: it has none. */
bool talk_find_size(struct session_size *size);

/* The command's exit code, or 128 + a signal that ended it, or this process; -1: `err`. */
int talk_run(const struct talk_options *options, struct err *err);

#endif
