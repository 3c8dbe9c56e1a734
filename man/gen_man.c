/*
 * Writes the scdoc source of the man pages that come from tables: gen_man conf | verb NAME FRAGMENT
 * | program TEMPLATE | exit TEMPLATE CAUSES. Words such as @options@ in a template are replaced.
 * Runs while tony is built; a template that misses a word, or a cause without a sentence, fails the
 * build.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/verbs.h"
#include "conf/keys.h"
#include "job/policy.h"

enum { FILE_CAP = 1 << 20 };

static const struct opt_table *const verbs[] = {
#define VERB_TABLE(name) &verb_##name.options,
	VERBS(VERB_TABLE)
#undef VERB_TABLE
};

/* scdoc reads these as markup. */
static void append_escaped(struct str *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (strchr("*_\\", *c))
			str_append_char(out, '\\');
		str_append_char(out, *c);
	}
}

/* The template with `word` replaced by `text`. */
static int replace_word(struct str *out, const char *template_path, const char *word,
			const char *text, struct err *err)
{
	char *content cleanup_free = fs_read_file(template_path, FILE_CAP, NULL, err);
	if (!content)
		return -1;
	const char *place = strstr(content, word);
	if (!place)
		return err_set(err, ERR_INPUT, "%s: there is no %s in it", template_path, word);
	str_append_bytes(out, content, (size_t)(place - content));
	str_append(out, text);
	str_append(out, place + strlen(word));
	return 0;
}

static const struct opt_table *find_verb(const char *name)
{
	for (size_t i = 0; i < array_length(verbs); i++)
		if (strcmp(verbs[i]->verb, name) == 0)
			return verbs[i];
	return NULL;
}

static int write_verb(struct str *out, const char *name, const char *fragment, struct err *err)
{
	const struct opt_table *table = find_verb(name);
	struct str options cleanup_str = {0};

	if (!table)
		return err_set(err, ERR_USAGE, "\"%s\" is no verb", name);
	str_append_format(out, "tony-%s(1)\n\n# NAME\n\ntony-%s - ", name, name);
	append_escaped(out, table->summary);
	str_append(out, "\n\n# SYNOPSIS\n\n");
	append_escaped(out, table->usage);
	str_append(out, "\n\n");
	if (table->option_count > 0)
		str_append(&options, "# OPTIONS\n\n");
	opt_man_options(table, &options);
	if (replace_word(out, fragment, "@options@", str_text(&options), err) < 0)
		return -1;
	str_append(out, "\n# SEE ALSO\n\ntony(1), tony-conf(5), tony-exit(7)\n");
	return 0;
}

static int write_program(struct str *out, const char *template_path, struct err *err)
{
	struct str list cleanup_str = {0};

	for (size_t i = 0; i < array_length(verbs); i++) {
		str_append_format(&list, "*%s*\n\t", verbs[i]->verb);
		append_escaped(&list, verbs[i]->summary);
		str_append(&list, "\n\n");
	}
	return replace_word(out, template_path, "@verbs@", str_text(&list), err);
}

static const char *charge_name(const struct policy_row *row)
{
	switch (row->charge) {
	case CHARGE_USER:
		return "user";
	case CHARGE_INFRASTRUCTURE:
		return "infrastructure";
	case CHARGE_PREEMPTION:
		return "nothing";
	case CHARGE_PORT:
	case CHARGE_NEVER:
		break;
	}
	return "-";
}

/* The sentence for a cause: the rest of its line in `sentences`. The caller frees. */
static char *find_sentence(const char *sentences, const char *cause)
{
	size_t length = strlen(cause);

	for (const char *line = sentences; line && *line;) {
		const char *end = strchrnul(line, '\n');
		if (strncmp(line, cause, length) == 0 && line[length] == '\t')
			return mem_strndup(line + length + 1, (size_t)(end - line) - length - 1);
		line = *end ? end + 1 : end;
	}
	return NULL;
}

static int append_causes(struct str *out, const char *path, struct err *err)
{
	char *sentences cleanup_free = fs_read_file(path, FILE_CAP, NULL, err);
	if (!sentences)
		return -1;
	str_append(out, "[[ *cause*\n:[ *charge*\n:< *what it means*\n");
	for (int kind = CAUSE_NONE + 1; kind < CAUSE_KIND_COUNT; kind++) {
		const char *name = cause_kind_name((enum cause_kind)kind);
		char *sentence cleanup_free = find_sentence(sentences, name);
		if (!sentence)
			return err_set(err, ERR_INPUT, "%s: nothing about %s", path, name);
		const struct cause cause = {.kind = (enum cause_kind)kind};
		str_append_format(out, "|  %s\n:  %s\n:  %s\n", name,
				  charge_name(policy_find(&cause, NULL)), sentence);
	}
	return 0;
}

static int write_exit(struct str *out, const char *template_path, const char *causes_path,
		      struct err *err)
{
	struct str codes cleanup_str = {0}, causes cleanup_str = {0};
	struct str half cleanup_str = {0};

	for (size_t i = 0; i < exit_code_count; i++)
		str_append_format(&codes, "*%d* (%s)\n\t%s.\n\n", (int)exit_code_table[i].code,
				  exit_code_table[i].name, exit_code_table[i].doc);
	if (append_causes(&causes, causes_path, err) < 0 ||
	    replace_word(&half, template_path, "@exit-codes@", str_text(&codes), err) < 0)
		return -1;
	char *place = strstr(half.text, "@causes@");
	if (!place)
		return err_set(err, ERR_INPUT, "%s: there is no @causes@ in it", template_path);
	str_append_bytes(out, half.text, (size_t)(place - half.text));
	str_append(out, str_text(&causes));
	str_append(out, place + strlen("@causes@"));
	return 0;
}

static int write_page(struct str *out, int argc, char **argv, struct err *err)
{
	const char *page = argc > 1 ? argv[1] : "";

	if (strcmp(page, "conf") == 0 && argc == 2) {
		keys_write_man(out);
		return 0;
	}
	if (strcmp(page, "verb") == 0 && argc == 4)
		return write_verb(out, argv[2], argv[3], err);
	if (strcmp(page, "program") == 0 && argc == 3)
		return write_program(out, argv[2], err);
	if (strcmp(page, "exit") == 0 && argc == 4)
		return write_exit(out, argv[2], argv[3], err);
	return err_set(
		err, ERR_USAGE,
		"gen_man conf | verb NAME FRAGMENT | program TEMPLATE | exit TEMPLATE CAUSES");
}

int main(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct str out cleanup_str = {0};

	if (write_page(&out, argc, argv, &err) < 0) {
		fprintf(stderr, "gen_man: %s\n", err_message(&err));
		return 1;
	}
	return fputs(str_text(&out), stdout) < 0 || fflush(stdout) != 0;
}
