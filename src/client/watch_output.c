#include "client/watch_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/job_output.h"
#include "client/live.h"
#include "client/report.h"

struct watch_output {
	struct job_output_choice choice;
	struct job_output *lines;
	FILE *last;	    /* written to last: standard output or standard error */
	FILE *begun;	    /* where a line that was begun is shown; NULL: none is */
	bool error_is_open; /* standard error is within a line */
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

/* A file or another program gets every byte. */
static void write_text(struct watch_output *output, const struct job_output_line *line,
		       FILE *stream)
{
	bool is_exact = line->is_alone && !isatty(fileno(stream));
	const char *text = is_exact ? line->as_written.text : line->text;

	fputs(label_of(line), stream);
	fwrite(text, 1, is_exact ? line->as_written.length : line->length, stream);
	bool is_whole = !is_exact || line->as_written.has_newline;
	if (is_whole)
		putc('\n', stream);
	if (stream == stderr)
		output->error_is_open = !is_whole;
}

static void write_line(void *data, const struct job_output_line *line)
{
	struct watch_output *output = data;
	FILE *stream = stream_of(line);

	if (stream != output->last)
		fflush(output->last);
	output->last = stream;
	write_text(output, line, stream);
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
	output->lines = job_output_open(opened, &output->choice, follow, write_line, output, err);
	if (output->lines)
		return output;
	free(output);
	return NULL;
}

void watch_output_close(struct watch_output *output)
{
	if (!output)
		return;
	if (output->error_is_open)
		putc('\n', stderr); /* tony's own words come next */
	job_output_close(output->lines);
	free(output);
}
