/*
 * What `tony submit` shows while a job runs: a table that is drawn anew in a terminal, and lines
 * about what changed when the output is piped.
 */
#ifndef TONY_CLIENT_LIVE_H
#define TONY_CLIENT_LIVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "job/view.h"

struct live_size {
	int columns, rows;
};

/* The table, at most size.rows lines of at most size.columns columns. Tasks that do not fit are
 * folded by type and state. `work`: as of work.h. `color`: states in colour (SGR sequences, which
 * take no columns). */
void live_table(const struct job_view *view, const json_t *work, int64_t now_ms,
		struct live_size size, bool color, struct str *out);

/* What a task waits for, or why it failed; NULL: nothing to say. The caller frees. */
char *live_task_detail(const struct job_view *view, size_t task);

/* "TensorBoard  http://127.0.0.1:6006": the web interface that a task serves; NULL: it serves none.
 * The caller frees. */
char *live_ui(const struct job_view *view, size_t task);

/* Adds "warning: worker:0: 12 lines of its output were lost ..." for each task that lost some, of
 * many how many more there are, and why no history of the job is published. */
void live_add_losses(const struct job_view *view, struct str_list *lines);

/* "worker: 4 wanted (2 to 8), 3 running"; NULL: the type is not elastic. The caller frees. */
char *live_elastic(const struct job_view *view, size_t type);

/* "forming for 3.0 s: 1 task: 1 requested", of a job whose programs do not all run; NULL: they do,
 * or have ended, or the state is younger than a second. The caller frees. */
char *live_idle(const struct job_view *view, int64_t now_ms);

/* "stopping 2 tasks: SIGTERM now, SIGKILL after 10.0 s": their grace, or "stopping the job". The
 * caller frees. */
char *live_stopping(const struct job_view *view);

/* What one record of the journal (already folded into `view`) means to a reader of lines: appends
 * a line, or nothing when it does not matter to people. */
void live_line(const struct job_view *view, const struct journal_line *line, struct str *out);
/* Does it matter to the reader of the programs' output, who wants to hear of trouble only? */
bool live_line_is_trouble(const struct job_view *view, const struct journal_line *line);
/* Tasks that are shown: no dormant ones. */
size_t live_count(const struct job_view *view);
/* "3 running, 1 launching" */
void live_append_counts(const size_t counts[TASK_STATE_COUNT], struct str *out);
/* "4 tasks: 3 running, 1 launching". */
void live_summary(const struct job_view *view, struct str *out);

/* ---- on a stream -------------------------------------------------------------------------- */

struct live;
enum live_form {
	LIVE_TABLE,   /* when `stream` is a terminal that can move its cursor, else lines */
	LIVE_TROUBLE, /* beside the programs' output: lines about trouble */
};
/* `view` is borrowed. */
struct live *live_open(FILE *stream, const struct job_view *view, enum live_form form);
/* Is it a terminal that can move its cursor? */
bool live_can_draw(FILE *stream);
/* Of the terminal, without the row of the cursor. */
struct live_size live_window(FILE *stream);
/* The cursor stands below so many lines: goes to their top, and clears what is below. */
void live_erase(FILE *stream, size_t lines);
bool live_is_table(const struct live *live);
/* Has each task a row of the table? Else they are folded. */
bool live_has_rows(const struct live *live);
void live_set_work(struct live *live, json_t *work); /* for the table; taken; NULL: not known */
void live_add(struct live *live, const struct journal_line *line);
/* To be called after each batch of records, and again after as many ms as it returns: a table is
 * not drawn more often than the eye can follow. */
int live_show(struct live *live, int64_t now_ms);
/* Something to say to the user beside the table, or behind "tony: " beside the programs' output. */
void live_say(struct live *live, const char *format, ...) __attribute__((format(printf, 2, 3)));
void live_close(struct live *live); /* NULL is fine; what is shown stays */

#endif
