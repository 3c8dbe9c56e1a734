#include "client/program.h"

#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/shell.h"
#include "client/archive.h"

/* The builtins and keywords of bash. */
static const char *const builtins[] = {
	"!",	    ".",	 ":",	     "[",	"[[",	   "]]",     "alias",	"bg",
	"bind",	    "break",	 "builtin",  "caller",	"case",	   "cd",     "command", "compgen",
	"complete", "compopt",	 "continue", "coproc",	"declare", "dirs",   "disown",	"do",
	"done",	    "echo",	 "elif",     "else",	"enable",  "esac",   "eval",	"exec",
	"exit",	    "export",	 "false",    "fc",	"fg",	   "fi",     "for",	"function",
	"getopts",  "hash",	 "help",     "history", "if",	   "in",     "jobs",	"kill",
	"let",	    "local",	 "logout",   "mapfile", "popd",	   "printf", "pushd",	"pwd",
	"read",	    "readarray", "readonly", "return",	"select",  "set",    "shift",	"shopt",
	"source",   "suspend",	 "test",     "then",	"time",	   "times",  "trap",	"true",
	"type",	    "typeset",	 "ulimit",   "umask",	"unalias", "unset",  "until",	"wait",
	"while",    "{",	 "}",
};

struct search {
	const char *work_dir; /* that all tasks share; NULL: none */
	const struct stage_files *files;
	const char *path;
};

static bool is_builtin(const char *word)
{
	for (size_t i = 0; i < array_length(builtins); i++)
		if (str_equal(builtins[i], word))
			return true;
	return false;
}

/* As bash exports one: "module" of the machines for HPC. */
static bool is_exported_function(const char *word)
{
	char *key cleanup_free = mem_printf("BASH_FUNC_%s%%%%", word);

	return getenv(key);
}

/* ---- below the working directory ---------------------------------------------------------- */

enum {
	ALIKE_MAX = 3,
	DEPTH_MAX = 4,
	ENTRIES_MAX = 20000,
};

/* A look for a path in an archive, or in a directory. */
struct look {
	const struct stage_file *file;
	const char *rest; /* of the path, in the archive */
	bool is_there;
	struct str_list *alike; /* other paths there whose last name is like it; NULL: not asked */
};

/* Without a version: "python3.11" is like "python". */
static size_t stem_length(const char *name)
{
	size_t length = strlen(name);

	while (length > 1 && strchr("0123456789.", name[length - 1]))
		length--;
	return length;
}

static bool is_alike(const char *a, const char *b)
{
	size_t length = stem_length(a);

	return length == stem_length(b) && strncmp(a, b, length) == 0;
}

static bool note_entry(void *data, const char *name)
{
	struct look *look = data;
	size_t length = strlen(look->rest);

	while (str_starts_with(name, "./"))
		name += 2;
	look->is_there = strncmp(name, look->rest, length) == 0 &&
			 (name[length] == '\0' || name[length] == '/');
	if (look->alike && look->alike->count < ALIKE_MAX &&
	    is_alike(fs_basename(name), fs_basename(look->rest)))
		str_list_take(look->alike, str_equal(look->file->name, ".")
						   ? mem_strdup(name)
						   : fs_join(look->file->name, name));
	return !look->is_there;
}

static void note_tree(struct look *look)
{
	char *const roots[] = {look->file->source, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	for (int i = 0; tree && i < ENTRIES_MAX && (entry = fts_read(tree)); i++) {
		if (entry->fts_level >= DEPTH_MAX)
			fts_set(tree, entry, FTS_SKIP);
		const char *name = entry->fts_path + strlen(look->file->source);
		if (entry->fts_level > 0 && (entry->fts_info == FTS_F || entry->fts_info == FTS_SL))
			note_entry(look, name + strspn(name, "/"));
	}
	if (tree)
		fts_close(tree);
}

/* The rest of a path below this file of the working directory; NULL: it is not below it. */
static const char *find_rest(const struct stage_file *file, const char *name)
{
	size_t length = strlen(file->name);

	if (str_equal(file->name, "."))
		return name;
	if (!str_starts_with(name, file->name) || (name[length] != '/' && name[length] != '\0'))
		return NULL;
	return name + length + (name[length] == '/');
}

static enum program_verdict find_in_file(struct look *look, char **where)
{
	const struct stage_file *file = look->file;

	if (file->kind == STAGE_UNPACK || file->kind == STAGE_SOURCE_ARCHIVE) {
		/* A damaged one is told by those that unpack it. */
		if (archive_visit(file->source, note_entry, look, NULL) < 0)
			return PROGRAM_UNKNOWN;
		mem_replace(where, mem_printf("%s in %s", look->rest, file->source));
		return look->is_there ? PROGRAM_FOUND : PROGRAM_MISSING;
	}
	if (file->kind != STAGE_LINK && file->kind != STAGE_SOURCE)
		return PROGRAM_UNKNOWN;
	mem_replace(where,
		    *look->rest ? fs_join(file->source, look->rest) : mem_strdup(file->source));
	if (fs_exists(*where))
		return PROGRAM_FOUND;
	if (look->alike)
		note_tree(look);
	return PROGRAM_MISSING;
}

/* A path below the working directory, as what is staged there has it. `alike`: as of struct look.
 */
static enum program_verdict find_staged(const struct search *search, const char *name, char **where,
					struct str_list *alike)
{
	enum program_verdict verdict = PROGRAM_MISSING;

	while (str_starts_with(name, "./"))
		name += 2;
	if (search->work_dir) {
		mem_replace(where, fs_join(search->work_dir, name));
		return fs_exists(*where) ? PROGRAM_FOUND : PROGRAM_MISSING;
	}
	for (size_t i = 0; i < search->files->count && verdict == PROGRAM_MISSING; i++) {
		struct look look = {.file = &search->files->items[i], .alike = alike};
		look.rest = find_rest(look.file, name);
		if (!look.rest)
			continue;
		/* It names that archive or directory, so what src_dir has is not meant. */
		if (alike && !str_equal(look.file->name, "."))
			str_list_finish(alike);
		verdict = find_in_file(&look, where);
	}
	return verdict;
}

/* ---- files that lack the permission ------------------------------------------------------- */

/* False: it has less, or cannot be read. */
static bool read_mark(const char *path, char mark[static 2])
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && read(fd, mark, 2) == 2;
}

static bool has_interpreter_line(const char *path)
{
	char mark[2];

	return read_mark(path, mark) && memcmp(mark, "#!", 2) == 0;
}

/* The kernel refuses a program of Python's without an interpreter line, and the shell then takes it
 * for one of its own. */
static bool is_bare_python(const char *name, const char *path)
{
	char mark[2];

	return str_ends_with(name, ".py") && read_mark(path, mark) && memcmp(mark, "#!", 2) != 0;
}

static const char *interpreter_of(const char *name)
{
	if (str_ends_with(name, ".py"))
		return "python3";
	return str_ends_with(name, ".sh") ? "bash" : NULL;
}

/* The remedy for `word`, a file that the shell would not run as it stands. `path`: where it is on
 * this machine. The caller frees. */
static char *tell_how_to_run(const char *word, const char *path)
{
	const char *interpreter = interpreter_of(word);
	char *dotted cleanup_free = strchr(word, '/') ? mem_strdup(word) : mem_printf("./%s", word);
	char *name cleanup_free = str_shell_quote(word), *program cleanup_free = NULL;
	bool is_whole = has_interpreter_line(path) || !interpreter;

	if (fs_exists(path) && access(path, R_OK) < 0)
		return mem_printf("chmod u+rx %s", name);
	program = str_shell_quote(dotted);
	if (!is_whole)
		return mem_printf("write %s %s", interpreter, name);
	if (fs_is_program(path) || !fs_exists(path)) /* in an archive */
		return mem_printf("write %s", program);
	if (interpreter)
		return mem_printf("write %s %s, or chmod +x %s and %s", interpreter, name, name,
				  program);
	return mem_printf("chmod +x %s, and write %s", name, program);
}

/* The shell would say "Permission denied" of it. */
static enum program_verdict refuse_unless_program(const char *word, const char *path, char **text)
{
	if (fs_is_program(path))
		return PROGRAM_FOUND;
	if (fs_is_directory(path)) {
		mem_replace(text, mem_printf("\"%s\" is a directory; write a program in it", word));
		return PROGRAM_MISSING;
	}
	char *remedy cleanup_free = tell_how_to_run(word, path);
	mem_replace(text,
		    mem_printf("\"%s\" lacks the permission to be executed; %s", word, remedy));
	return PROGRAM_MISSING;
}

/* ---- programs ----------------------------------------------------------------------------- */

/* A job file may name the directory in which the job runs. */
static bool is_elsewhere(const char *directory)
{
	char *current cleanup_free = getcwd(NULL, 0);

	return current && fs_is_directory(directory) && !str_equal(directory, current);
}

static char *tell_missing(const struct search *search, const char *name,
			  const struct str_list *alike)
{
	char *others cleanup_free = alike->count > 0 ? str_list_join(alike, ", ") : NULL;

	if (*name == '/')
		return mem_printf("\"%s\" is not on this machine", name);
	if (search->work_dir)
		return mem_printf("\"%s\" is not in the %s directory, %s", name,
				  is_elsewhere(search->work_dir) ? "working" : "current",
				  search->work_dir);
	if (others)
		return mem_printf(
			"\"%s\" is neither in src_dir nor among the resources; there is %s", name,
			others);
	return mem_printf("\"%s\" is neither in src_dir nor among the resources%s", name,
			  fs_exists(name) ? ", only in the current directory; give --src_dir ."
					  : "");
}

static enum program_verdict find_in_path(const struct search *search, const char *word, char **text)
{
	char *staged cleanup_free = NULL;

	*text = fs_find_program(word, search->path);
	if (*text)
		return PROGRAM_FOUND;
	if (find_staged(search, word, &staged, NULL) != PROGRAM_FOUND || fs_is_directory(staged)) {
		*text = mem_printf("\"%s\" is not in PATH; install it, or write its path", word);
		return PROGRAM_MISSING;
	}
	char *remedy cleanup_free = tell_how_to_run(word, staged);
	*text = mem_printf("\"%s\" is not in PATH, but in the working directory; %s", word, remedy);
	return PROGRAM_MISSING;
}

static enum program_verdict find_absolute(const char *word, char **text)
{
	if (fs_exists(word)) {
		*text = mem_strdup(word);
		return refuse_unless_program(word, word, text);
	}
	*text = mem_printf("\"%s\" is not on this machine", word);
	return PROGRAM_MISSING;
}

/* `verdict` unless the program that was found is such a one: then `refusal`. */
static enum program_verdict refuse_bare(const char *word, const char *path,
					enum program_verdict verdict, enum program_verdict refusal,
					char **text)
{
	if (verdict != PROGRAM_FOUND || !is_bare_python(word, path))
		return verdict;
	char *remedy cleanup_free = tell_how_to_run(word, path);
	mem_replace(text, mem_printf("\"%s\" has no #! line, so the shell would read it as its "
				     "own; %s",
				     word, remedy));
	return refusal;
}

static enum program_verdict find_word(const struct search *search, const char *word, char **text)
{
	if (is_exported_function(word))
		return PROGRAM_UNKNOWN;
	if (is_builtin(word)) {
		*text = mem_printf("%s, a word of the shell's", word);
		return PROGRAM_FOUND;
	}
	if (!strchr(word, '/'))
		return find_in_path(search, word, text);
	if (*word == '/')
		return refuse_bare(word, word, find_absolute(word, text), PROGRAM_MISSING, text);
	struct str_list alike cleanup_str_list = {0};
	enum program_verdict verdict = find_staged(search, word, text, &alike);
	if (verdict == PROGRAM_MISSING) {
		mem_replace(text, tell_missing(search, word, &alike));
		return search->work_dir ? PROGRAM_MISSING : PROGRAM_UNSTAGED;
	}
	/* Of a copy, the executor makes the program executable. */
	char *where cleanup_free = mem_strdup(*text);
	if (verdict == PROGRAM_FOUND && search->work_dir)
		verdict = refuse_unless_program(word, where, text);
	return refuse_bare(word, where, verdict,
			   search->work_dir ? PROGRAM_MISSING : PROGRAM_UNSTAGED, text);
}

/* "python3 train.py": the script should be there too. `command` begins with the interpreter. */
static enum program_verdict find_script(const struct search *search, const char *command,
					char **text)
{
	struct module_program words cleanup_module_program = {0};
	struct str_list alike cleanup_str_list = {0};
	char *where cleanup_free = NULL;

	if (!module_find_program(command, &words))
		return PROGRAM_FOUND;
	if (*words.script == '/'
		    ? fs_exists(words.script)
		    : find_staged(search, words.script, &where, &alike) != PROGRAM_MISSING)
		return PROGRAM_FOUND;
	mem_replace(text, tell_missing(search, words.script, &alike));
	return *words.script == '/' || search->work_dir ? PROGRAM_MISSING : PROGRAM_UNSTAGED;
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
		free(shell_next_word(command, &plain));
	return ends && !writes;
}

/* Programs that run the file behind their options. */
static const char *const interpreters[] = {
	"bash", "dash", "julia", "ksh", "node", "perl", "python", "Rscript", "ruby", "sh", "zsh",
};

static bool is_interpreter(const char *word)
{
	const char *name = fs_basename(word);

	for (size_t i = 0; i < array_length(interpreters); i++) {
		if (!str_starts_with(name, interpreters[i]))
			continue;
		name += strlen(interpreters[i]);
		return name[strspn(name, "0123456789.")] == '\0'; /* python3.11 */
	}
	return false;
}

static bool is_script(const char *word)
{
	static const char *const suffixes[] = {".jar", ".jl", ".pl", ".py", ".r", ".R", ".sh"};

	for (size_t i = 0; i < array_length(suffixes); i++)
		if (str_ends_with(word, suffixes[i]))
			return true;
	return false;
}

/* Which part of a command the next word is. */
enum role { ROLE_PROGRAM, ROLE_SCRIPT, ROLE_ARGUMENT };

static enum role role_behind(enum role role, const char *word)
{
	if (role == ROLE_PROGRAM)
		return is_interpreter(word) ? ROLE_SCRIPT : ROLE_ARGUMENT;
	if (role == ROLE_SCRIPT && *word == '-') /* "python3 -m trainer", "bash -ec '...'" */
		return word[1] != '-' && strpbrk(word, "cem") ? ROLE_ARGUMENT : ROLE_SCRIPT;
	return ROLE_ARGUMENT;
}

static bool names_program(enum role role, const char *word)
{
	if (*word == '-')
		return false;
	if (role == ROLE_PROGRAM)
		return strchr(word, '/');
	return role == ROLE_SCRIPT || is_script(word);
}

static bool names_file(enum role role, const char *word)
{
	return role == ROLE_ARGUMENT && (strchr(word, '/') || strchr(word, '.'));
}

void program_words(const char *command, struct str_list *programs, struct str_list *arguments)
{
	enum role role = ROLE_PROGRAM;

	for (;;) {
		bool plain = true;
		char *word cleanup_free = shell_next_word(&command, &plain);
		if (!plain) {
			skip_word(&command);
			role = ROLE_ARGUMENT;
		} else if (!word) {
			command += strspn(command, " \t\n");
			if (!*command)
				return;
			role = skip_operators(&command) ? ROLE_PROGRAM : ROLE_ARGUMENT;
		} else if (role != ROLE_PROGRAM || !shell_is_assignment(word)) {
			if (names_program(role, word))
				str_list_add(programs, word);
			else if (names_file(role, word))
				str_list_add(arguments, word);
			role = role_behind(role, word);
		}
	}
}

enum program_verdict program_find(const char *command, const char *work_dir,
				  const struct stage_files *files, const char *path, char **text)
{
	const struct search search = {.work_dir = work_dir, .files = files, .path = path};
	bool plain = true;

	*text = NULL;
	for (;;) {
		const char *start = command;
		char *word cleanup_free = shell_next_word(&command, &plain);
		if (word && (str_starts_with(word, "PATH=") || str_equal(word, "env")))
			return PROGRAM_UNKNOWN;
		if (word && (shell_is_assignment(word) || str_equal(word, "exec")))
			continue;
		if (!word)
			return PROGRAM_UNKNOWN;
		enum program_verdict verdict = find_word(&search, word, text);
		return verdict == PROGRAM_FOUND ? find_script(&search, start, text) : verdict;
	}
}

static char *locate_script(const struct search *search, const char *script)
{
	char *where cleanup_free = NULL;

	if (*script == '/')
		return mem_strdup(script);
	return find_staged(search, script, &where, NULL) == PROGRAM_FOUND ? mem_steal(&where)
									  : NULL;
}

bool program_find_python(const char *command, const char *work_dir, const struct stage_files *files,
			 const char *path, struct module_program *found)
{
	const struct search search = {.work_dir = work_dir, .files = files, .path = path};
	struct module_program words cleanup_module_program = {0};

	if (!module_find_program(command, &words) ||
	    find_word(&search, words.interpreter, &found->interpreter) != PROGRAM_FOUND)
		return false;
	found->script = locate_script(&search, words.script);
	return found->script && fs_is_program(found->interpreter) && fs_exists(found->script);
}
