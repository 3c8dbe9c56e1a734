#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/report.h"

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

/* Bytes of the next line of a text folded to `width`: broken at a blank, or within a word that is
 * longer than that. */
static size_t fold_at(const char *text, size_t width)
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
		size_t length = fold_at(text, width);
		if (!first)
			str_append_format(out, "\n%*s", (int)indent, "");
		str_append_bytes(out, text, length);
		text += length;
		text += strspn(text, " ");
	}
	str_append_char(out, '\n');
}

/* 0: no limit, for what reads a pipe wants whole lines. */
static size_t width_of_output(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
									       : USUAL_WIDTH;
}

/* Programs write what they like into their last words: nothing of it may move the cursor. */
static char *one_line(const char *text)
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
	char *line cleanup_free = one_line(text);
	size_t width = width_of_output();

	append_folded(&out, line, width > INDENT ? width : SIZE_MAX, 0);
	fputs(str_text(&out), stdout);
}

/* ---- tables ------------------------------------------------------------------------------- */

void report_table_begin(struct report_table *table, const char *const *headings, size_t count)
{
	table->columns = count;
	for (size_t i = 0; i < count; i++)
		str_list_add(&table->cells, headings[i]);
}

void report_table_add(struct report_table *table, const char *text)
{
	str_list_take(&table->cells, one_line(text && *text ? text : "-"));
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

static size_t *measure(const struct report_table *table, size_t limit)
{
	size_t *widths = mem_alloc_array(table->columns, sizeof(*widths));

	for (size_t i = 0; i < table->cells.count; i++) {
		const char *cell = table->cells.items[i];
		size_t width = columns_of(cell, strlen(cell));
		if (width > limit)
			width = limit;
		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	return widths;
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

void report_table_format(const struct report_table *table, size_t width, struct str *out)
{
	size_t limit = width > INDENT ? width : 0;
	size_t *widths cleanup_free = measure(table, limit > 0 ? CELL_MAX : SIZE_MAX);
	size_t last = table->columns - 1;
	size_t start = 0;

	for (size_t i = 0; i < last; i++)
		start += widths[i] + GAP;
	for (size_t i = 0; i < table->cells.count; i++) {
		const char *cell = table->cells.items[i];
		if (i % table->columns == last)
			append_last_cell(out, cell, start, i == last ? 0 : limit);
		else
			append_cell(out, cell, widths[i % table->columns]);
	}
}

void report_table_print(const struct report_table *table)
{
	struct str out cleanup_str = {0};

	report_table_format(table, width_of_output(), &out);
	fputs(str_text(&out), stdout);
}

void report_table_finish(struct report_table *table)
{
	str_list_finish(&table->cells);
}
