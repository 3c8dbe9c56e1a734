#include "client/typed_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/program.h"

/* No program's name begins so; but a user may put "--" before the options. */
static int check_dash(const struct str_list *command, struct err *err)
{
	const char *word = command->count > 0 ? command->items[0] : "";

	if (*word != '-')
		return 0;
	return err_set(
		err, ERR_USAGE,
		"\"%s\" after -- would be the program; options of tony stand before --, as in "
		"tony submit --memory 4g -- python3 train.py",
		word);
}

static int check_empty(const struct str_list *command, struct err *err)
{
	if (command->count == 0 || *command->items[0])
		return 0;
	return err_set(err, ERR_USAGE,
		       "the program after -- is empty: is a variable of the shell not set?");
}

int typed_command_check(const struct str_list *command, struct err *err)
{
	return check_dash(command, err) < 0 ? -1 : check_empty(command, err);
}

/* ---- one word ----------------------------------------------------------------------------- */

#define SEPARATORS " \t\n|&;<>"

/* A job's only command: the word that stands alone after --. */
struct lone_word {
	const struct job *job;
	const struct stage *stage;
	const char *text;
	bool elsewhere; /* it runs on other machines */
};

/* For the task type that is nearest to having it. *where: as program_find() has it. */
static enum program_verdict find_program(const struct lone_word *word, const char *command,
					 char **where)
{
	enum program_verdict verdict = PROGRAM_MISSING;

	for (size_t i = 0; i < word->job->type_count; i++) {
		if (verdict == PROGRAM_FOUND || verdict == PROGRAM_UNKNOWN)
			break;
		if (word->job->types[i].instances == 0)
			continue;
		free(mem_steal(where));
		verdict = program_find(command, word->job->work_dir, &word->stage->types[i],
				       getenv("PATH"), where);
	}
	return verdict;
}

static enum program_verdict find_word(const struct lone_word *word, const char *text, char **where)
{
	char *quoted cleanup_free = str_shell_quote(text);

	return find_program(word, quoted, where);
}

/* "python3 train.py", "./run | tee log": its beginning is a program. */
static bool begins_with_program(const struct lone_word *word)
{
	char *first cleanup_free = mem_strndup(word->text, strcspn(word->text, SEPARATORS));
	char *where cleanup_free = NULL;

	return !strchr(first, '/') || fs_exists(first) ||
	       find_word(word, first, &where) == PROGRAM_FOUND;
}

static int refuse_line(const char *line, struct err *err)
{
	char *unquoted cleanup_free =
		strpbrk(line, "|&;<>") ? mem_strdup("") : mem_printf("-- %s, or ", line);
	char *quoted cleanup_free = str_shell_quote(line);

	return err_set(err, ERR_USAGE,
		       "\"%s\" after -- is one word, and no such program is here; write "
		       "%s--executes %s, which is for the shell",
		       line, unquoted, quoted);
}

/* The user's shell has made one word of a line in quotes, and a word is a program's name. */
static int check_word(const struct lone_word *word, struct err *err)
{
	char *beside cleanup_free = mem_printf("./%s", word->text);
	char *where cleanup_free = NULL, *there cleanup_free = NULL;
	enum program_verdict verdict = find_word(word, word->text, &where);

	if (verdict == PROGRAM_FOUND)
		return 0;
	bool is_beside =
		!strchr(word->text, '/') && find_word(word, beside, &there) == PROGRAM_FOUND;
	if (!is_beside && begins_with_program(word))
		return refuse_line(word->text, err);
	if (verdict == PROGRAM_UNKNOWN || (word->elsewhere && *word->text == '/'))
		return 0;
	return err_set(err, ERR_USAGE, "after --: %s", where);
}

int typed_command_check_quotes(const struct str_list *command,
			       const struct description *description, bool elsewhere,
			       const struct stage *stage, struct err *err)
{
	const struct lone_word word = {
		.job = description->job,
		.stage = stage,
		.text = command->count == 1 ? command->items[0] : "",
		.elsewhere = elsewhere,
	};

	return strpbrk(word.text, SEPARATORS) ? check_word(&word, err) : 0;
}
