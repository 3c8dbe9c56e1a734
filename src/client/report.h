/* What verbs print: tables, errors, JSON. */
#ifndef TONY_CLIENT_REPORT_H
#define TONY_CLIENT_REPORT_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "job/machine.h"
#include "job/view.h"

/* A table with aligned columns; cells are owned by the table. Initialise with {0}. */
struct report_table {
	struct str_list cells; /* row by row, the heading first */
	size_t columns;
};
void report_table_begin(struct report_table *table, const char *const *headings, size_t count);
void report_table_add(struct report_table *table, const char *text); /* NULL or "": "-" */
void report_table_take(struct report_table *table, char *text);
/* A job's name, and behind it how the job ended (`message`, may be NULL) if it did not succeed. */
void report_table_add_job(struct report_table *table, const char *name, enum job_state state,
			  const char *message);

/* Within `width` columns (0: no limit, a row is a line): a last cell that is too long is folded,
 * and the others but the first are cut. Where that is not enough columns that are empty are left
 * out, or each row becomes a paragraph. */
void report_table_format(const struct report_table *table, size_t width, struct str *out);
void report_table_print(const struct report_table *table); /* as wide as standard output */
void report_table_finish(struct report_table *table);

/* Bytes of the next line of a text that is folded to `width` columns: up to a blank, or within a
 * word that is longer. */
size_t report_fold_at(const char *text, size_t width);

/* Bytes of `text` that fit a line of `stream`, which is a terminal, with a column to spare. */
size_t report_fit(const char *text, FILE *stream);

/* Columns of `stream` if it is a terminal; 0: no limit, for what reads a pipe wants whole lines. */
size_t report_width(FILE *stream);

/* A copy that may hold what others wrote: no terminal obeys it, and each further line is indented,
 * so none passes for a line of tony's. The caller frees. */
char *report_clean(const char *text);

/* "tony: ..." on standard error, cleaned likewise. All that a verb says there goes this way:
 * test/lint/shape.py checks. */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same as one line, for what stands within one: a name, a reason. The caller frees. */
char *report_one_line(const char *text);

/* A line of text, folded to the width of standard output. */
void report_line(const char *text);

/* Writes out what `stream` has of a job. A failure of that is told on standard error behind `id`
 * and `what`, such as "was submitted", and is then forgotten; -1. */
int report_flush_job(FILE *stream, const char *id, const char *what);
/* The same for a job that has ended: the exit code stays the job's. */
void report_flush_end(FILE *stream, const struct job_view *view);

/* The same of a message; the exit code for that kind of error. */
int report_error(const struct err *err);

/* Lines for programs, on standard output: a terminal gets them printable. */
void report_text(const char *text);
void report_json(json_t *value); /* indented; takes `value` */

/* The single optional operand, as in `tony status [JOB]`. */
int report_one_operand(const struct opt_table *table, const struct str_list *operands,
		       const char **operand, struct err *err);
int report_no_operand(const struct opt_table *table, const struct str_list *operands,
		      struct err *err);

#endif
