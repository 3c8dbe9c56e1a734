#include "client/line_print.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "client/report.h"

void line_printer_finish(struct line_printer *printer)
{
	str_finish(&printer->held);
}

static void write_text(const struct line_printer *printer, const char *text, size_t length)
{
	char *shown cleanup_free = printer->is_escaped ? escape_colours(text, length) : NULL;

	if (shown)
		fputs(shown, printer->stream);
	else
		fwrite(text, 1, length, printer->stream);
}

/* The caller frees. */
static char *make_prefix(const struct line_printer *printer, const struct job_output_line *line)
{
	char *time cleanup_free =
		printer->has_times && line->time_ms > 0 ? str_format_time(line->time_ms) : NULL;

	return mem_printf("%s%s%s",
			  time		       ? time
			  : printer->has_times ? "-"
					       : "",
			  printer->has_times ? " " : "", line->label);
}

static void write_held(struct line_printer *printer)
{
	write_text(printer, str_text(&printer->held), printer->held.length);
	str_truncate(&printer->held, 0);
}

static void end_line(struct line_printer *printer)
{
	if (!printer->open)
		return;
	write_held(printer);
	putc('\n', printer->stream);
	printer->open = NULL;
	printer->shown = 0;
	printer->is_returned = false;
}

static void begin_line(struct line_printer *printer, const struct job_output_line *line)
{
	char *prefix cleanup_free = make_prefix(printer, line);

	end_line(printer);
	fputs(prefix, printer->stream);
	printer->open = line->mark;
	printer->offset = line->as_written.offset;
}

/* A progress bar is written over itself: of what is not printed yet, only the last state is. */
static void add_piece(struct line_printer *printer, const struct job_output_line *line)
{
	const size_t length = line->as_written.length;
	const bool ends_returned = length > 0 && line->as_written.text[length - 1] == '\r';

	if (line->length > 0 && (printer->is_returned || line->has_overwritten))
		str_truncate(&printer->held, 0);
	write_held(printer);
	str_append_bytes(&printer->held, line->text, line->length);
	printer->is_returned = ends_returned || (length == 0 && printer->is_returned);
}

/* A progress bar's last state in place of the one that is there, as the program did it. */
static bool replace(const struct line_printer *printer, const struct job_output_line *line)
{
	char *prefix cleanup_free = make_prefix(printer, line);

	fprintf(printer->stream, "\r%s", prefix);
	write_text(printer, line->text, line->length);
	return true;
}

/* The rest of an unfinished line whose beginning is there. False: it is not that, or it is another
 * one by now. `is_over`: nothing more of it comes, as at the end of a log without a newline. */
static bool complete(struct line_printer *printer, const struct job_output_line *line, bool is_over)
{
	const struct log_line *written = &line->as_written;
	size_t length = written->length;

	if (printer->shown == 0 || printer->open != line->mark ||
	    printer->offset != written->offset || length < printer->shown)
		return false;
	while (length > printer->shown && written->text[length - 1] == '\r')
		length--;
	const char *rest = written->text + printer->shown;
	if (memchr(rest, '\r', length - printer->shown))
		return !written->goes_on && !written->continues && (is_over || !written->is_open) &&
		       replace(printer, line);
	write_text(printer, rest, length - printer->shown);
	return true;
}

void line_print(struct line_printer *printer, const struct job_output_line *line)
{
	const struct log_line *written = &line->as_written;

	line_print_hide(printer);
	if (printer->is_exact) {
		fwrite(written->text, 1, written->length, printer->stream);
		if (written->has_newline)
			putc('\n', printer->stream);
		return;
	}
	if (!complete(printer, line, true)) {
		if (printer->open != line->mark || !written->continues || printer->shown > 0)
			begin_line(printer, line);
		add_piece(printer, line);
	}
	printer->shown = 0;
	if (!written->goes_on)
		end_line(printer);
	line->mark->was_shown = false;
}

void line_print_unfinished(struct line_printer *printer, const struct job_output_line *line)
{
	const struct log_line *written = &line->as_written;

	if (!line->mark->was_shown) {
		begin_line(printer, line);
		write_text(printer, line->text, line->length);
		line->mark->was_shown = true;
		printer->shown = written->length;
	} else if (complete(printer, line, false)) {
		printer->shown = written->length;
	}
}

void line_print_drawn(struct line_printer *printer, const struct job_output_line *line)
{
	char *prefix cleanup_free = make_prefix(printer, line);
	char *clean cleanup_free = str_printable(line->text, line->length);
	char *text cleanup_free = mem_printf("%s%s", prefix, clean);

	line_print_hide(printer);
	end_line(printer);
	fprintf(printer->stream, "%.*s", (int)report_fit(text, printer->stream), text);
	printer->is_drawn = true;
}

void line_print_hide(struct line_printer *printer)
{
	if (printer->is_drawn)
		fputs("\r\033[K", printer->stream);
	printer->is_drawn = false;
}

void line_print_end(struct line_printer *printer)
{
	line_print_hide(printer);
	end_line(printer);
}
