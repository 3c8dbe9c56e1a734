#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/report.h"

#define EMPTY "-" /* a cell without anything */

enum {
	GAP = 2,	  /* between columns */
	CELL_MAX = 40,	  /* columns of a cell that is not the last one, where width is scarce */
	INDENT = 4,	  /* of a last cell that goes on below its row */
	USUAL_WIDTH = 80, /* of a terminal that does not say */
};

/* ---- text --------------------------------------------------------------------------------- */

static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t columns_of(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += begins_character(text[i]);
	return count;
}

/* How many bytes the first `columns` characters have. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t i = 0;

	for (; text[i]; i++) {
		if (begins_character(text[i]) && columns-- == 0)
			break;
	}
	return i;
}

size_t report_fold_at(const char *text, size_t width)
{
	size_t length = bytes_of(text, width);

	if (!text[length] || text[length] == ' ')
		return length;
	for (size_t i = length; i > 0; i--) {
		if (text[i - 1] == ' ')
			return i - 1;
	}
	return length;
}

/* Appends the text in lines of `width` columns, each but the first one indented. */
static void append_folded(struct str *out, const char *text, size_t width, size_t indent)
{
	for (bool first = true; first || *text; first = false) {
		size_t length = report_fold_at(text, width);
		if (!first)
			str_append_format(out, "\n%*s", (int)indent, "");
		str_append_bytes(out, text, length);
		text += length;
		text += strspn(text, " ");
	}
	str_append_char(out, '\n');
}

static size_t width_of(int terminal)
{
	struct winsize size;

	return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
									  : USUAL_WIDTH;
}

size_t report_width(FILE *stream)
{
	return isatty(fileno(stream)) ? width_of(fileno(stream)) : 0;
}

size_t report_fit(const char *text, FILE *stream)
{
	return bytes_of(text, width_of(fileno(stream)) - 1);
}

/* Programs write what they like into their last words: nothing of it may move the cursor. */
char *report_one_line(const char *text)
{
	char *line = str_printable(text, strlen(text));

	for (char *c = line; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return line;
}

void report_line(const char *text)
{
	struct str out cleanup_str = {0};
	char *line cleanup_free = report_one_line(text);
	size_t width = report_width(stdout);

	append_folded(&out, line, width > INDENT ? width - INDENT : SIZE_MAX, INDENT);
	fputs(str_text(&out), stdout);
}

/* ---- tables ------------------------------------------------------------------------------- */

void report_table_begin(struct report_table *table, const char *const *headings, size_t count)
{
	table->columns = count;
	for (size_t i = 0; i < count; i++)
		str_list_take(&table->cells, report_one_line(headings[i]));
}

void report_table_add(struct report_table *table, const char *text)
{
	str_list_take(&table->cells, report_one_line(text && *text ? text : EMPTY));
}

void report_table_take(struct report_table *table, char *text)
{
	report_table_add(table, text);
	free(text);
}

void report_table_add_job(struct report_table *table, const char *name, enum job_state state,
			  const char *message)
{
	bool is_told = state != JOB_SUCCEEDED && message;

	report_table_take(table, is_told ? mem_printf("%s: %s", name, message) : mem_strdup(name));
}

/* The first cell says which: it is never cut. */
static size_t *measure(const struct report_table *table, size_t limit)
{
	size_t *widths = mem_alloc_array(table->columns, sizeof(*widths));

	for (size_t i = 0; i < table->cells.count; i++) {
		const char *cell = table->cells.items[i];
		size_t column = i % table->columns;
		size_t width = columns_of(cell, strlen(cell));
		if (width > limit && column > 0)
			width = limit;
		if (width > widths[column])
			widths[column] = width;
	}
	return widths;
}

static size_t find_last_start(const struct report_table *table, const size_t *widths)
{
	size_t start = 0;

	for (size_t i = 0; i + 1 < table->columns; i++)
		start += widths[i] + GAP;
	return start;
}

/* Do all columns begin within the width? */
static bool fits(const struct report_table *table, size_t width)
{
	size_t *widths cleanup_free = measure(table, CELL_MAX);
	size_t last = table->columns - 1;

	return find_last_start(table, widths) + strlen(table->cells.items[last]) <= width;
}

static void append_cell(struct str *out, const char *cell, size_t width)
{
	size_t length = bytes_of(cell, width);

	str_append_bytes(out, cell, length);
	str_append_format(out, "%*s", (int)(width - columns_of(cell, length) + GAP), "");
}

/* A cell that does not fit goes on in its column if that is wide enough to read, else below. */
static void append_last_cell(struct str *out, const char *cell, size_t start, size_t width)
{
	if (width == 0 || start + columns_of(cell, strlen(cell)) <= width) {
		str_append_format(out, "%s\n", cell);
	} else if (start <= width / 2) {
		append_folded(out, cell, width - start, start);
	} else {
		while (out->length > 0 && out->text[out->length - 1] == ' ')
			str_truncate(out, out->length - 1);
		str_append_format(out, "\n%*s", INDENT, "");
		append_folded(out, cell, width - INDENT, INDENT);
	}
}

static void append_rows(const struct report_table *table, size_t width, struct str *out)
{
	size_t *widths cleanup_free = measure(table, width > 0 ? CELL_MAX : SIZE_MAX);
	size_t start = find_last_start(table, widths);
	size_t last = table->columns - 1;

	for (size_t i = 0; i < table->cells.count; i++) {
		const char *cell = table->cells.items[i];
		if (i % table->columns == last)
			append_last_cell(out, cell, start, i == last ? 0 : width);
		else
			append_cell(out, cell, widths[i % table->columns]);
	}
}

/* ---- narrow ones -------------------------------------------------------------------------- */

static bool is_empty_column(const struct report_table *table, size_t column)
{
	for (size_t i = table->columns + column; i < table->cells.count; i += table->columns)
		if (!str_equal(table->cells.items[i], EMPTY))
			return false;
	return true;
}

/* The same without columns in which no row has anything. */
static void leave_out_empty(const struct report_table *table, struct report_table *fewer)
{
	bool *empty cleanup_free = mem_alloc_array(table->columns, sizeof(*empty));

	for (size_t i = 0; i < table->columns; i++) {
		empty[i] = i > 0 && is_empty_column(table, i);
		fewer->columns += !empty[i];
	}
	for (size_t row = 0; row < table->cells.count; row += table->columns)
		for (size_t i = 0; i < table->columns; i++)
			if (!empty[i])
				str_list_add(&fewer->cells, table->cells.items[row + i]);
}

static void append_line(struct str *out, struct str *line, size_t width)
{
	if (line->length == 0)
		return;
	str_append_format(out, "%*s", INDENT, "");
	append_folded(out, line->text, width - INDENT, INDENT);
	str_truncate(line, 0);
}

/* A row as a paragraph: its first cell, below it "HEADING cell" of each other that has something.
 */
static void append_paragraph(struct str *out, const struct report_table *table, size_t first,
			     size_t width)
{
	struct str line cleanup_str = {0};

	str_append_format(out, "%s\n", table->cells.items[first]);
	for (size_t i = 1; i < table->columns; i++) {
		const char *cell = table->cells.items[first + i];
		if (str_equal(cell, EMPTY))
			continue;
		char *pair cleanup_free = mem_printf("%s %s", table->cells.items[i], cell);
		size_t length = columns_of(str_text(&line), line.length) + GAP +
				columns_of(pair, strlen(pair));
		if (length > width - INDENT)
			append_line(out, &line, width);
		str_append_format(&line, "%s%s", line.length > 0 ? "  " : "", pair);
	}
	append_line(out, &line, width);
}

static void format_narrow(const struct report_table *table, size_t width, struct str *out)
{
	struct report_table fewer = {0};

	leave_out_empty(table, &fewer);
	if (fits(&fewer, width)) {
		append_rows(&fewer, width, out);
	} else {
		for (size_t i = table->columns; i < table->cells.count; i += table->columns)
			append_paragraph(out, table, i, width);
	}
	report_table_finish(&fewer);
}

void report_table_format(const struct report_table *table, size_t width, struct str *out)
{
	if (width <= INDENT)
		append_rows(table, 0, out);
	else if (fits(table, width))
		append_rows(table, width, out);
	else
		format_narrow(table, width, out);
}

void report_table_print(const struct report_table *table)
{
	struct str out cleanup_str = {0};

	report_table_format(table, report_width(stdout), &out);
	fputs(str_text(&out), stdout);
}

void report_table_finish(struct report_table *table)
{
	str_list_finish(&table->cells);
}
