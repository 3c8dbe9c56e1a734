/*
 * All that can be known of a described job before anything of it is started: a row for each check.
 * tony check shows them; tony submit refuses a job of which one is a problem.
 */
#ifndef TONY_CLIENT_PREFLIGHT_H
#define TONY_CLIENT_PREFLIGHT_H

#include "client/describe.h"
#include "client/stage.h"

struct preflight_row {
	char *check; /* "capacity", "program of worker" */
	char *text;
	enum err_kind problem; /* ERR_NONE: it is as it should be */
	bool warns;	       /* a job can run, and `text` has a remedy all the same */
};
struct preflight {
	struct preflight_row *rows;
	size_t count;
	int64_t patience_ms; /* for an interpreter to say whether it has a module */
};
void preflight_finish(struct preflight *preflight);
#define cleanup_preflight __attribute__((cleanup(preflight_finish)))

/* A row of its own; `text` is copied. */
void preflight_add(struct preflight *preflight, const char *check, const char *text);
void preflight_add_problem(struct preflight *preflight, const char *check, const struct err *err);

void preflight_add_warning(struct preflight *preflight, const char *check, const char *text);

/* The programs and scripts of the commands, also in archives, then
 * scheduler_client_ops.preflight(). */
void preflight_job(struct preflight *preflight, const struct description *description,
		   const struct stage *stage);

/* Is the state directory the user's own, has it room, and have removals left something there? */
void preflight_state(struct preflight *preflight);

/* -1 and a line for each problem, of the kind of the first; 0: there is none. */
int preflight_to_err(const struct preflight *preflight, struct err *err);

#endif
