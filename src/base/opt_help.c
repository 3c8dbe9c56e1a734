/* Help texts out of option tables: for the terminal and, as scdoc, for man pages. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"

enum { WIDTH = 80, HELP_COLUMN = 30 };

/* Columns of UTF-8 text, one for each character. */
static size_t columns(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* Appends `text` broken at blanks; `column` is where the line stands, later lines are indented. */
static void append_wrapped(struct str *out, const char *text, size_t column, size_t indent)
{
	bool first = true;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");
		size_t width = columns(text, length);
		if (!first && column + 1 + width > WIDTH) {
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

/* Paragraphs are lines of their own; a line that begins with a blank is kept as it is. */
static void append_description(struct str *out, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line cleanup_free = mem_strndup(text, length);
		if (*line == ' ' || *line == '\t')
			str_append_format(out, "%s\n", line);
		else
			append_wrapped(out, line, 0, 0);
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

static void append_option(struct str *out, const struct opt *opt)
{
	struct str head cleanup_str = {0};
	char *help cleanup_free = full_help(opt);

	if (opt->letter)
		str_append_format(&head, "  -%c, --%s", opt->letter, opt->name);
	else
		str_append_format(&head, "      --%s", opt->name);
	if (opt->argument)
		str_append_format(&head, " %s", opt->argument);
	str_append(out, head.text);
	size_t width = columns(head.text, head.length);
	if (width + 2 > HELP_COLUMN)
		str_append_format(out, "\n%*s", HELP_COLUMN, "");
	else
		str_append_format(out, "%*s", (int)(HELP_COLUMN - width), "");
	append_wrapped(out, help, HELP_COLUMN, HELP_COLUMN);
}

void opt_help(const struct opt_table *table, struct str *out)
{
	str_append_format(out, "Usage: %s\n", table->usage);
	if (table->summary) {
		str_append_char(out, '\n');
		append_wrapped(out, table->summary, 0, 0);
	}
	if (table->description) {
		str_append_char(out, '\n');
		append_description(out, table->description);
	}
	if (table->option_count > 0)
		str_append(out, "\nOptions:\n");
	for (size_t i = 0; i < table->option_count; i++)
		append_option(out, &table->options[i]);
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
