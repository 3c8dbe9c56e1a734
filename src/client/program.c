#include "client/program.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

/* What bash does itself. */
static const char *const builtins[] = {
	".",	    "alias",   "bg",	   "break",   "builtin", "case",     "cd",     "command",
	"continue", "declare", "echo",	   "enable",  "eval",	 "exit",     "export", "false",
	"fg",	    "for",     "function", "getopts", "hash",	 "if",	     "jobs",   "kill",
	"let",	    "local",   "printf",   "pwd",     "read",	 "readonly", "return", "select",
	"set",	    "shift",   "shopt",	   "source",  "test",	 "time",     "times",  "trap",
	"true",	    "type",    "ulimit",   "umask",   "unset",	 "until",    "wait",   "while",
	"[",	    "[[",      "!",	   ":",	      "{",
};

struct search {
	const char *work_dir; /* that all tasks share; NULL: none */
	const struct stage_files *files;
	const char *path;
};

/* The next word of a command, without quotes; NULL when there is none, or when the shell would make
 * something else of it (then *plain is false). */
static char *next_word(const char **command, bool *plain)
{
	const char *text = *command + strspn(*command, " \t\n");
	struct str word cleanup_str = {0};
	char quote = '\0';

	for (; *text && (quote || !strchr(" \t\n;&|<>", *text)); text++) {
		if (quote ? *text == quote : *text == '\'' || *text == '"') {
			quote = quote ? '\0' : *text;
			continue;
		}
		if (quote != '\'' && strchr(quote ? "$`\\" : "$`\\*?~(){}#", *text)) {
			*plain = false;
			return NULL;
		}
		str_append_char(&word, *text);
	}
	*command = text;
	return word.length > 0 ? str_steal(&word) : NULL;
}

static bool is_assignment(const char *word)
{
	size_t length = 0;

	while (isalnum((unsigned char)word[length]) || word[length] == '_')
		length++;
	return length > 0 && !isdigit((unsigned char)word[0]) && word[length] == '=';
}

static bool is_builtin(const char *word)
{
	for (size_t i = 0; i < array_length(builtins); i++)
		if (str_equal(builtins[i], word))
			return true;
	return false;
}

static bool is_program(const char *path)
{
	return !fs_is_directory(path) && access(path, X_OK) == 0;
}

/* A path below the working directory, as what is staged there has it. */
static enum program_verdict find_staged(const struct search *search, const char *name, char **where)
{
	enum program_verdict verdict = PROGRAM_MISSING;

	while (str_starts_with(name, "./"))
		name += 2;
	if (search->work_dir) {
		char *path cleanup_free = fs_join(search->work_dir, name);
		if (!fs_exists(path))
			return PROGRAM_MISSING;
		mem_replace(where, mem_steal(&path));
		return PROGRAM_FOUND;
	}
	for (size_t i = 0; i < search->files->count && verdict != PROGRAM_FOUND; i++) {
		const struct stage_file *file = &search->files->items[i];
		size_t length = strlen(file->name);
		const char *rest = name;
		if (!str_equal(file->name, ".")) {
			if (!str_starts_with(name, file->name) ||
			    (name[length] != '/' && name[length] != '\0'))
				continue;
			rest = name + length + (name[length] == '/');
		}
		if (file->kind != STAGE_LINK && file->kind != STAGE_SOURCE) {
			verdict = PROGRAM_UNKNOWN;
			continue;
		}
		char *path cleanup_free =
			*rest ? fs_join(file->source, rest) : mem_strdup(file->source);
		if (!fs_exists(path))
			continue;
		mem_replace(where, mem_steal(&path));
		verdict = PROGRAM_FOUND;
	}
	return verdict;
}

static char *tell_missing(const struct search *search, const char *name)
{
	return mem_printf(search->work_dir ? "\"%s\" is not in the current directory"
					   : "\"%s\" is neither in src_dir nor among the resources",
			  name);
}

static enum program_verdict find_in_path(const struct search *search, const char *word, char **text)
{
	struct str_list directories cleanup_str_list = {0};
	char *staged cleanup_free = NULL;

	str_split(&directories, search->path ? search->path : "", ':');
	for (size_t i = 0; i < directories.count; i++) {
		char *path cleanup_free = fs_join(directories.items[i], word);
		if (!is_program(path))
			continue;
		*text = mem_steal(&path);
		return PROGRAM_FOUND;
	}
	if (find_staged(search, word, &staged) == PROGRAM_FOUND)
		*text = mem_printf("\"%s\" is not in PATH, but in the working directory; write "
				   "./%s",
				   word, word);
	else
		*text = mem_printf("\"%s\" is not in PATH; install it, or write its path", word);
	return PROGRAM_MISSING;
}

static enum program_verdict find_word(const struct search *search, const char *word, char **text)
{
	if (is_builtin(word)) {
		*text = mem_printf("%s, a word of the shell's", word);
		return PROGRAM_FOUND;
	}
	if (!strchr(word, '/'))
		return find_in_path(search, word, text);
	if (*word == '/') {
		bool found = is_program(word);
		*text = found ? mem_strdup(word)
			      : mem_printf("\"%s\" is not a program on this machine; see "
					   "--python_binary_path and tony.<type>.command",
					   word);
		return found ? PROGRAM_FOUND : PROGRAM_MISSING;
	}
	enum program_verdict verdict = find_staged(search, word, text);
	if (verdict == PROGRAM_MISSING)
		*text = tell_missing(search, word);
	return verdict;
}

/* "python3 train.py": the script should be there too. */
static enum program_verdict find_script(const struct search *search, const char *interpreter,
					const char *command, char **text)
{
	bool plain = true;
	char *script cleanup_free = next_word(&command, &plain);
	char *where cleanup_free = NULL;

	if (!script || !str_starts_with(fs_basename(interpreter), "python") || *script == '-' ||
	    !str_ends_with(script, ".py"))
		return PROGRAM_FOUND;
	if (*script == '/' ? fs_exists(script)
			   : find_staged(search, script, &where) != PROGRAM_MISSING)
		return PROGRAM_FOUND;
	mem_replace(text, tell_missing(search, script));
	return PROGRAM_MISSING;
}

/* Past what only the shell can read. */
static void skip_word(const char **command)
{
	*command += strspn(*command, " \t\n");
	*command += strcspn(*command, " \t\n");
}

/* Past one or several operators. Returns whether the next word is of another command. */
static bool skip_operators(const char **command)
{
	bool writes = false, ends = false, plain = true;

	for (; **command && strchr(";&|<>", **command); (*command)++) {
		writes = writes || **command == '>';
		ends = ends || strchr(";|&", **command);
	}
	if (writes)
		free(next_word(command, &plain));
	return ends && !writes;
}

void program_arguments(const char *command, struct str_list *words)
{
	bool begins = true; /* a program's name comes next */

	for (;;) {
		bool plain = true;
		char *word cleanup_free = next_word(&command, &plain);
		if (!plain) {
			skip_word(&command);
		} else if (!word) {
			command += strspn(command, " \t\n");
			if (!*command)
				return;
			begins = skip_operators(&command);
			continue;
		} else if (begins && is_assignment(word)) {
			continue;
		} else if (!begins || strchr(word, '/')) {
			str_list_add(words, word);
		}
		begins = false;
	}
}

enum program_verdict program_find(const char *command, const char *work_dir,
				  const struct stage_files *files, const char *path, char **text)
{
	const struct search search = {.work_dir = work_dir, .files = files, .path = path};
	bool plain = true;

	*text = NULL;
	for (;;) {
		char *word cleanup_free = next_word(&command, &plain);
		if (word && (str_starts_with(word, "PATH=") || str_equal(word, "env")))
			return PROGRAM_UNKNOWN;
		if (word && (is_assignment(word) || str_equal(word, "exec")))
			continue;
		if (!word)
			return PROGRAM_UNKNOWN;
		enum program_verdict verdict = find_word(&search, word, text);
		return verdict == PROGRAM_FOUND ? find_script(&search, word, command, text)
						: verdict;
	}
}
