#include "base/opt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"

struct parse {
	const struct opt_table *table;
	int argc;
	char **argv;
	int next; /* argument to read */
	void *target;
	struct err *err;
};

/* "-name" and "--name=value" as the user wrote them, without dashes and value. */
struct word {
	const char *start;
	size_t length;
	const char *value; /* behind '=', or NULL */
	bool double_dash;
};

static char fold(char c)
{
	return c == '_' ? '-' : c;
}

static bool names(const char *name, const char *start, size_t length)
{
	if (!name || strlen(name) != length)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (fold(name[i]) != fold(start[i]))
			return false;
	}
	return true;
}

static const struct opt *find(const struct opt_table *table, const char *start, size_t length)
{
	for (size_t i = 0; i < table->option_count; i++) {
		if (names(table->options[i].name, start, length))
			return &table->options[i];
	}
	return NULL;
}

static const struct opt *find_letter(const struct opt_table *table, char letter)
{
	for (size_t i = 0; i < table->option_count; i++) {
		if (table->options[i].letter && table->options[i].letter == letter)
			return &table->options[i];
	}
	return NULL;
}

/* "tony submit --help"; the program's name is the first word of the usage line. */
static char *help_command(const struct opt_table *table)
{
	return mem_printf("%.*s%s%s --help", (int)strcspn(table->usage, " "), table->usage,
			  *table->verb ? " " : "", table->verb);
}

static const char *suggest(const struct opt_table *table, const char *start, size_t length)
{
	struct str_list folded cleanup_str_list = {0};
	char *text cleanup_free = mem_strndup(start, length);

	for (char *c = text; *c; c++)
		*c = fold(*c);
	for (size_t i = 0; i < table->option_count; i++) {
		str_list_add(&folded, table->options[i].name ? table->options[i].name : "");
		for (char *c = folded.items[i]; *c; c++)
			*c = fold(*c);
	}
	const char *nearest = str_nearest(text, (const char *const *)folded.items, folded.count);
	for (size_t i = 0; nearest && i < folded.count; i++) {
		if (folded.items[i] == nearest)
			return table->options[i].name;
	}
	return NULL;
}

const char *opt_word_find(const struct opt_word *words, const char *start, size_t length)
{
	for (; words && words->word; words++)
		if (names(words->word, start, length))
			return words->meant;
	return NULL;
}

static int unknown(struct parse *parse, const struct word *word)
{
	char *help cleanup_free = help_command(parse->table);
	char *name cleanup_free = str_printable(word->start, word->length);
	const char *meant = opt_word_find(parse->table->elsewhere, word->start, word->length);
	const char *nearest = meant ? meant : suggest(parse->table, word->start, word->length);
	const char *dashes = word->double_dash ? "--" : "-";

	if (nearest)
		return err_set(parse->err, ERR_USAGE,
			       "unknown option %s%s; did you mean %s%s? see %s", dashes, name,
			       meant ? "" : "--", nearest, help);
	return err_set(parse->err, ERR_USAGE, "unknown option %s%s; see %s", dashes, name, help);
}

static int check_choice(struct parse *parse, const struct opt *opt, const char *value)
{
	struct str_list all cleanup_str_list = {0};

	for (size_t i = 0; opt->choices[i]; i++) {
		if (str_equal(opt->choices[i], value))
			return 0;
		str_list_add(&all, opt->choices[i]);
	}
	const char *nearest = str_nearest(value, opt->choices, all.count);
	char *list cleanup_free = str_list_join(&all, ", ");
	char *hint cleanup_free =
		nearest ? mem_printf("; did you mean %s?", nearest) : mem_strdup("");
	return err_set(parse->err, ERR_USAGE, "option --%s: \"%s\" is not one of %s%s", opt->name,
		       value, list, hint);
}

static int store_number(struct parse *parse, const struct opt *opt, const char *value,
			int64_t *number)
{
	if (str_parse_int(value, opt->min, opt->max, number) == 0)
		return 0;
	return err_set(parse->err, ERR_USAGE,
		       "option --%s: \"%s\" is not a whole number from %lld to %lld", opt->name,
		       value, (long long)opt->min, (long long)opt->max);
}

/* A shell expands "--src_dir ~/x", but not "--src_dir=~/x". */
static char *expand_path(struct parse *parse, const struct opt *opt, const char *value)
{
	char *path = fs_expand_home(value);

	if (!path)
		err_set(parse->err, ERR_USAGE,
			"option --%s: \"%s\": HOME is not set; write the whole path", opt->name,
			value);
	return path;
}

static int store(struct parse *parse, const struct opt *opt, const char *text)
{
	void *field = (char *)parse->target + opt->offset;
	char *value cleanup_free = opt->completion == OPT_COMPLETE_FILE
					   ? expand_path(parse, opt, text)
					   : mem_strdup(text);

	if (!value)
		return -1;
	if (!*value && !opt->may_be_empty)
		return err_set(parse->err, ERR_USAGE,
			       "option --%s: the value is empty; write one (%s), or leave the "
			       "option out",
			       opt->name, opt->argument ? opt->argument : "VALUE");
	if (opt->choices && check_choice(parse, opt, value) < 0)
		return -1;
	switch (opt->kind) {
	case OPT_TEXT:
		mem_replace(field, mem_steal(&value));
		return 0;
	case OPT_LIST:
		str_list_add(field, value);
		return 0;
	case OPT_NUMBER:
		return store_number(parse, opt, value, field);
	case OPT_FLAG:
		break;
	}
	BUG("option --%s: a flag has no value", opt->name);
}

/* "--", or another option: no value, as when the shell left out one that is empty. */
static bool is_of_next(const struct parse *parse, const char *argument)
{
	if (strncmp(argument, "--", 2) != 0)
		return false;
	size_t length = strcspn(argument + 2, "=");
	return length == 0 ? !argument[2] : find(parse->table, argument + 2, length) != NULL;
}

static int take(struct parse *parse, const struct opt *opt, const char *value)
{
	if (opt->kind == OPT_FLAG) {
		if (value)
			return err_set(parse->err, ERR_USAGE, "option --%s takes no value",
				       opt->name);
		*(bool *)((char *)parse->target + opt->offset) = true;
		return 0;
	}
	const char *next = parse->next < parse->argc ? parse->argv[parse->next] : NULL;
	if (!value && next && is_of_next(parse, next))
		return err_set(parse->err, ERR_USAGE,
			       "option --%s needs a value (%s), and %s stands there: is a variable "
			       "of the shell not set? A value that begins with -- is written "
			       "--%s=VALUE",
			       opt->name, opt->argument ? opt->argument : "VALUE", next, opt->name);
	if (!value && next)
		value = parse->argv[parse->next++];
	if (!value) {
		char *help cleanup_free = help_command(parse->table);
		return err_set(parse->err, ERR_USAGE, "option --%s needs a value (%s); see %s",
			       opt->name, opt->argument ? opt->argument : "VALUE", help);
	}
	return store(parse, opt, value);
}

/* "--no-name"; a double dash only, and only for flags. */
static const struct opt *find_negated(const struct parse *parse, const struct word *word)
{
	if (!word->double_dash || word->length < 4 || !names("no-", word->start, 3))
		return NULL;
	const struct opt *opt = find(parse->table, word->start + 3, word->length - 3);
	return opt && opt->kind == OPT_FLAG ? opt : NULL;
}

/* "-ic": flags together; "-n5": a number at its letter. Other words are misspelt names. */
static bool are_letters(const struct parse *parse, const struct word *word)
{
	if (word->double_dash || word->value)
		return false;
	for (const char *letter = word->start; *letter; letter++) {
		const struct opt *opt = find_letter(parse->table, *letter);
		if (!opt)
			return false;
		if (opt->kind != OPT_FLAG)
			return isdigit((unsigned char)letter[1]);
	}
	return word->length > 1;
}

static int take_letters(struct parse *parse, const struct word *word)
{
	for (const char *letter = word->start; *letter; letter++) {
		const struct opt *opt = find_letter(parse->table, *letter);
		if (opt->kind != OPT_FLAG)
			return take(parse, opt, letter + 1);
		take(parse, opt, NULL);
	}
	return 0;
}

static int parse_option(struct parse *parse, const char *argument)
{
	struct word word = {.double_dash = argument[1] == '-'};

	word.start = argument + 1 + word.double_dash;
	word.length = strcspn(word.start, "=");
	if (word.start[word.length])
		word.value = word.start + word.length + 1;

	const struct opt *opt = NULL;
	if (word.length == 1 && !word.double_dash)
		opt = find_letter(parse->table, *word.start);
	else if (word.length > 1)
		opt = find(parse->table, word.start, word.length);
	if (opt)
		return take(parse, opt, word.value);
	if (are_letters(parse, &word))
		return take_letters(parse, &word);
	opt = find_negated(parse, &word);
	if (!opt)
		return unknown(parse, &word);
	if (word.value)
		return err_set(parse->err, ERR_USAGE, "option --no-%s takes no value", opt->name);
	*(bool *)((char *)parse->target + opt->offset) = false;
	return 0;
}

int opt_parse(const struct opt_table *table, int argc, char **argv, void *target,
	      struct str_list *operands, size_t *dashdash, struct err *err)
{
	struct parse parse = {table, argc, argv, 1, target, err};
	size_t boundary = SIZE_MAX;

	while (parse.next < argc) {
		const char *argument = argv[parse.next++];
		if (str_equal(argument, "--")) {
			boundary = operands->count;
			break;
		}
		if (argument[0] == '-' && argument[1]) {
			if (parse_option(&parse, argument) < 0)
				return -1;
			continue;
		}
		str_list_add(operands, argument);
		if (table->stop_at_operand)
			break;
	}
	while (parse.next < argc)
		str_list_add(operands, argv[parse.next++]);
	if (dashdash)
		*dashdash = boundary == SIZE_MAX ? operands->count : boundary;
	return 0;
}

void opt_finish(const struct opt_table *table, void *target)
{
	for (size_t i = 0; i < table->option_count; i++) {
		void *field = (char *)target + table->options[i].offset;
		if (table->options[i].kind == OPT_TEXT)
			mem_replace(field, NULL);
		else if (table->options[i].kind == OPT_LIST)
			str_list_finish(field);
	}
}
