#include "client/watch_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/job_output.h"
#include "client/line_print.h"
#include "client/live.h"
#include "client/report.h"
#include "scheduler/job_stores.h"

struct watch_output {
	struct job_output_choice choice;
	struct job_output *lines;
	const char *id;			 /* the job's */
	bool is_of_another;		 /* user */
	FILE *last;			 /* written to last: standard output or standard error */
	FILE *begun;			 /* where a line that was begun is shown; NULL: none is */
	bool error_is_open;		 /* standard error is within a line */
	struct line_printer printers[2]; /* of standard output, and of standard error */
	int write_error; /* errno of the first failure to write to standard output */
	bool has_failed;
};

static FILE *stream_of(const struct job_output_line *line)
{
	return line->is_error ? stderr : stdout;
}

static const char *label_of(const struct job_output_line *line)
{
	return line->is_alone ? "" : line->label;
}

/* Right after writing, while errno is known. */
static void note_error(struct watch_output *output)
{
	if (ferror(stdout) && !output->write_error)
		output->write_error = errno;
}

/* A file or another program gets every byte, and so does the terminal of a user whose only program
 * writes to it, as if it ran there. Several programs that moved the cursor would write over each
 * other's lines. */
static void write_text(struct watch_output *output, const struct job_output_line *line,
		       FILE *stream)
{
	const struct log_line *written = &line->as_written;
	struct line_printer *printer = &output->printers[line->is_error];
	bool is_terminal = isatty(fileno(stream));
	bool is_exact = line->is_alone && !is_terminal;
	struct job_output_line told = *line;

	told.label = label_of(line);
	printer->stream = stream;
	printer->is_exact = is_exact;
	printer->is_escaped = is_terminal && (output->is_of_another || !line->is_alone);
	line_print(printer, &told);
	if (stream == stderr)
		output->error_is_open = is_exact ? !written->has_newline : written->goes_on;
}

static void write_line(void *data, const struct job_output_line *line)
{
	struct watch_output *output = data;
	FILE *stream = stream_of(line);

	if (stream != output->last)
		fflush(output->last);
	note_error(output);
	output->last = stream;
	write_text(output, line, stream);
	note_error(output);
}

static void show_unfinished(struct watch_output *output, FILE *stream, const char *text)
{
	if (!live_can_draw(stream))
		return;
	output->begun = stream;
	fprintf(stream, "%.*s", (int)report_fit(text, stream), text);
	fflush(stream);
}

static void show_begun(struct watch_output *output, const char *idle)
{
	struct job_output_line line;

	if (job_output_begun(output->lines, &line)) {
		char *clean cleanup_free = str_printable(line.text, line.length);
		char *text cleanup_free = mem_printf("%s%s", label_of(&line), clean);
		show_unfinished(output, stream_of(&line), text);
	} else if (idle) {
		show_unfinished(output, stderr, idle);
	}
}

void watch_output_show(struct watch_output *output, const char *idle)
{
	struct err err cleanup_err = {0};

	if (!output || output->has_failed)
		return;
	output->has_failed = job_output_turn(output->lines, &err) < 0;
	fflush(stdout);
	note_error(output);
	if (output->has_failed)
		report_error(&err);
	else
		show_begun(output, idle);
	fflush(stderr);
}

void watch_output_hide(struct watch_output *output)
{
	if (!output || !output->begun)
		return;
	fputs("\r\033[K", output->begun);
	fflush(output->begun);
	output->begun = NULL;
}

bool watch_output_wait(struct watch_output *output, int64_t timeout_ms)
{
	return output && job_output_wait(output->lines, timeout_ms);
}

struct watch_output *watch_output_open(struct opened *opened, struct follow *follow, int64_t tail,
				       struct err *err)
{
	struct watch_output *output = mem_alloc(sizeof(*output));

	output->choice.tail = tail;
	output->last = stdout;
	output->id = opened->id;
	output->is_of_another = opened->door.doubt || opened_is_others(opened);
	output->lines = job_output_open(opened, &output->choice, follow, write_line, output, err);
	if (output->lines)
		return output;
	free(output);
	return NULL;
}

/* The error is told here, and by nobody else. */
static void tell_error(const struct watch_output *output)
{
	report_note("standard output: %s; output of the job is missing there, see tony logs %s",
		    strerror(output->write_error), output->id);
	__fpurge(stdout);
	clearerr(stdout);
}

bool watch_output_close(struct watch_output *output)
{
	if (!output)
		return true;
	if (output->error_is_open)
		putc('\n', stderr); /* tony's own words come next */
	bool is_complete = !output->write_error;
	if (!is_complete)
		tell_error(output);
	job_output_close(output->lines);
	line_printer_finish(&output->printers[0]);
	line_printer_finish(&output->printers[1]);
	free(output);
	return is_complete;
}
