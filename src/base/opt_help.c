/* Help texts out of option tables: for the terminal and, as scdoc, for man pages. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"

enum { WIDTH = 80, HELP_COLUMN = 30, NARROW_COLUMN = 8, USAGE_COLUMN = 7 };

/* Columns of UTF-8 text, one for each character. */
static size_t columns(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* Appends `text` broken at blanks; `column` is where the line stands, later lines are indented. */
static void append_wrapped(struct str *out, const char *text, size_t column, size_t indent,
			   size_t limit)
{
	bool first = true;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");
		size_t width = columns(text, length);
		if (!first && column + 1 + width > limit) {
			str_append_format(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			str_append_char(out, ' ');
			column++;
		}
		str_append_bytes(out, text, length);
		column += width;
		text += length;
		first = false;
	}
	str_append_char(out, '\n');
}

static size_t limit_of(size_t width)
{
	return width > 0 && width < WIDTH ? width : WIDTH;
}

void opt_help_text(const char *text, size_t width, struct str *out)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line cleanup_free = mem_strndup(text, length);
		if (*line == ' ' || *line == '\t')
			str_append_format(out, "%s\n", line);
		else
			append_wrapped(out, line, 0, 0, limit_of(width));
		text += length + (text[length] == '\n');
	}
}

/* The help sentence with what it leaves to the table: the choices. */
static char *full_help(const struct opt *opt)
{
	struct str text = {0};

	str_append(&text, opt->help ? opt->help : "");
	for (size_t i = 0; opt->choices && opt->choices[i]; i++)
		str_append_format(&text, "%s%s",
				  i		? ", "
				  : text.length ? " (one of "
						: "(one of ",
				  opt->choices[i]);
	if (opt->choices && opt->choices[0])
		str_append_char(&text, ')');
	return str_steal(&text);
}

void opt_help_line(const char *head, const char *text, size_t column, size_t width, struct str *out)
{
	size_t head_width = columns(head, strlen(head));
	size_t limit = limit_of(width);
	bool is_narrow = limit < 2 * column;
	size_t indent = is_narrow ? NARROW_COLUMN : column;

	str_append(out, head);
	if (is_narrow || head_width + 2 > column)
		str_append_format(out, "\n%*s", (int)indent, "");
	else
		str_append_format(out, "%*s", (int)(column - head_width), "");
	append_wrapped(out, text, indent, indent, limit);
}

static void append_option(struct str *out, const struct opt *opt, size_t width)
{
	struct str head cleanup_str = {0};
	char *help cleanup_free = full_help(opt);

	if (opt->letter)
		str_append_format(&head, "  -%c, --%s", opt->letter, opt->name);
	else
		str_append_format(&head, "      --%s", opt->name);
	if (opt->argument)
		str_append_format(&head, " %s", opt->argument);
	opt_help_line(head.text, help, HELP_COLUMN, width, out);
}

bool opt_is_help(const char *argument)
{
	return str_equal(argument, "--help") || str_equal(argument, "-help") ||
	       str_equal(argument, "-h");
}

void opt_help(const struct opt_table *table, size_t width, struct str *out)
{
	str_append(out, "Usage: ");
	append_wrapped(out, table->usage, USAGE_COLUMN, USAGE_COLUMN, limit_of(width));
	if (table->summary) {
		str_append_char(out, '\n');
		opt_help_text(table->summary, width, out);
	}
	if (table->description) {
		str_append_char(out, '\n');
		opt_help_text(table->description, width, out);
	}
	if (table->option_count > 0)
		str_append(out, "\nOptions:\n");
	for (size_t i = 0; i < table->option_count; i++)
		append_option(out, &table->options[i], width);
}

/* scdoc reads '*' and '_' as markup, and '.', '#' and '-' at the start of a line. */
static void append_scdoc(struct str *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (strchr("*_\\", *c) || (c == text && strchr(".#-", *c)))
			str_append_char(out, '\\');
		str_append_char(out, *c);
	}
}

void opt_man_options(const struct opt_table *table, struct str *out)
{
	for (size_t i = 0; i < table->option_count; i++) {
		const struct opt *opt = &table->options[i];
		char *help cleanup_free = full_help(opt);
		if (opt->letter)
			str_append_format(out, "*-%c*, ", opt->letter);
		str_append(out, "*--");
		append_scdoc(out, opt->name);
		str_append_char(out, '*');
		if (opt->argument) {
			str_append(out, " _");
			append_scdoc(out, opt->argument);
			str_append_char(out, '_');
		}
		str_append(out, "\n\t");
		append_scdoc(out, help);
		str_append(out, ".\n\n");
	}
}
