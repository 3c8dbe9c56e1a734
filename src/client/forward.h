/* Ports of this machine that lead to ports in the container of a task. */
#ifndef TONY_CLIENT_FORWARD_H
#define TONY_CLIENT_FORWARD_H

#include "client/opened.h"

struct forward_port {
	int64_t here; /* 0: any */
	int64_t there;
};

struct forward_options {
	struct opened *opened; /* it has an AM */
	const char *task;
	const char *host; /* where to listen, without brackets */
	bool is_open;	  /* to other machines, and so to all users */
	const struct forward_port *ports;
	size_t count;
	/* For each port, once it leads there; `address` is of this machine. */
	void (*led)(void *data, const char *address, int64_t there);
	void *data;
	/* It ends with the connection to the task. Else the next one leads to the task's next
	 * program, maybe by the job's next AM. */
	bool is_of_one_program;
};

/* 0: SIGINT or SIGTERM has ended it. -1: `err`. */
int forward_run(const struct forward_options *options, struct err *err);

#endif
