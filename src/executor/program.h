/*
 * One run of the user's program: one process or several that share the fate of the first that
 * fails, everything they start, and their output. While a program exists it owns SIGCHLD and every
 * child of this process.
 */
#ifndef TONY_EXECUTOR_PROGRAM_H
#define TONY_EXECUTOR_PROGRAM_H

#include <event2/event.h>

#include "base/err.h"
#include "executor/gpu.h"
#include "executor/memory.h"
#include "executor/output.h"
#include "executor/port.h"
#include "framework/environment.h"
#include "job/record.h"

struct program;

struct program_options {
	struct event_base *base;
	const struct job *job;
	const struct job_type *type;
	const char *token; /* the job's, which its logs do not show; NULL: there is none */
	const char *work_dir, *log_dir;
	const char *stdin_file;	   /* of each process; needed for the start only; NULL: none */
	const char *progress_file; /* of the first process (progress.h) */
	struct restarts *restarts; /* borrowed: of the first process; NULL: nobody asks */
	/* One per process; needed for the start only. */
	const struct environment *environments;
	const struct str_list *commands; /* NULL: the type's, as it is */
	struct memory *memory;
	struct gpu *gpu;   /* NULL: none */
	int port, ui_port; /* that it was given; 0: none */
	enum port_guard port_guard;
	/* Called at most once, from the loop, when the program has failed, and not after
	 * program_stop(). What this executor ends it for is told before it is ended: its peers, who
	 * notice that it ends, must not be the first to tell. */
	void (*failed)(void *data, const struct cause *cause);
	/* Called once, from the loop, when nothing of the program is left. False: it failed, as was
	 * told, or program_stop() ended it. The program may be destroyed in it. */
	void (*ended)(void *data, bool succeeded);
	void *data;
};

/* NULL: not started, and nothing of it is left. */
struct program *program_start(const struct program_options *options, struct err *err);

/* Ends the whole tree: SIGTERM, the type's grace, SIGKILL. `ended` follows. */
void program_stop(struct program *program);

/* The same, because it has failed: `failed` tells that it was ended for this, with `text`. */
void program_fail(struct program *program, enum cause_kind kind, const char *text);

/* The same without grace, and nothing is called. NULL is fine. */
void program_destroy(struct program *program);

/* A command of somebody's beside it (sessions.h); nothing where no process of it runs. */
void program_open_session(struct program *program, const char *id);

/* The last lines of its stderr so far. */
void program_tail(const struct program *program, struct str_list *lines);

/* `loss` then also tells of this program's output. */
void program_add_loss(const struct program *program, struct output_loss *loss);

/* Its use, in all. NULL: something of it is left. */
const struct program_use *program_use(const struct program *program);

/* Of the processes that run: how many; *pids is the caller's. `program` may be NULL. */
size_t program_pids(const struct program *program, int **pids);

#endif
