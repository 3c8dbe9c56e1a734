#include "client/provenance_git.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/provenance.h"
#include "history/layout.h"

#define ANSWER_CAP (1 << 20) /* the lines that name files, and the difference */
#define CONFIG_CAP (1 << 20)
#define FILE_CAP   (32 << 20) /* bytes of a file that is hashed */

extern char **environ;

json_t *provenance_hash(const char *directory, const char *path)
{
	char *whole cleanup_free = fs_join(directory, path);
	json_t *object = json_object();
	struct stat info;

	json_set_text(object, "path", path);
	if (stat(whole, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= FILE_CAP) {
		char *hash cleanup_free = fs_hash_tree(whole, NULL);
		json_set_text(object, "sha256", hash);
	}
	return object;
}

void provenance_git_finish(struct provenance_git *git)
{
	free(git->program);
	free(git->top);
	free(git->config);
	free(git->worktree_config);
	str_list_finish(&git->environment);
	str_list_finish(&git->settings);
}

bool provenance_git_is_there(const char *directory)
{
	char *at cleanup_free = mem_strdup(directory);

	for (;;) {
		char *mark cleanup_free = fs_join(at, ".git");
		if (fs_exists(mark))
			return true;
		if (str_equal(at, "/"))
			return false;
		mem_replace(&at, fs_dirname(at));
	}
}

/* ---- running it --------------------------------------------------------------------------- */

/* Git's variables of the user's shell could name programs, or another repository. */
static void fill_environment(struct str_list *environment)
{
	static const char *const own[] = {
		"GIT_OPTIONAL_LOCKS=0",				  /* the index is not written */
		"GIT_TERMINAL_PROMPT=0",   "GIT_NO_LAZY_FETCH=1", /* nor is anything fetched; older
								     ones than 2.44: */
		"GIT_ALLOW_PROTOCOL=none", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C",
	};

	for (char **variable = environ; *variable; variable++)
		if (!str_starts_with(*variable, "GIT_") && !str_starts_with(*variable, "LC_ALL="))
			str_list_add(environment, *variable);
	for (size_t i = 0; i < array_length(own); i++)
		str_list_add(environment, own[i]);
}

static void set(struct provenance_git *git, const char *name, const char *value)
{
	str_list_add(&git->settings, "-c");
	str_list_add_format(&git->settings, "%s=%s", name, value);
}

/* It dies with the process that asks, which may be killed at any moment. */
static void become_git(const struct provenance_git *git, char *const *arguments,
		       const char *directory, int output, pid_t parent)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limits_restore();
	if (getppid() == parent && nothing >= 0 && dup2(nothing, 0) == 0 && dup2(nothing, 2) == 2 &&
	    dup2(output, 1) == 1 && chdir(directory) == 0)
		execve(git->program, arguments, git->environment.items);
	_exit(127);
}

/* As much of it as `cap`, and a byte more where there is more. */
static void read_output(int fd, size_t cap, struct str *output)
{
	char piece[65536];
	ssize_t got;

	while (output->length <= cap && (got = read(fd, piece, sizeof(piece))) > 0)
		str_append_bytes(output, piece, (size_t)got);
	if (output->length > cap)
		str_truncate(output, cap + 1);
}

/* Its exit code; -1: it did not run, or was killed. With more output than `cap` it is ended early,
 * which is no failure. */
static int run(const struct provenance_git *git, const char *directory, const char *const *words,
	       size_t count, size_t cap, struct str *output)
{
	struct str_list arguments cleanup_str_list = {0};
	int pipes[2], status = 0;

	str_list_add(&arguments, "git");
	str_list_copy(&arguments, &git->settings);
	for (size_t i = 0; i < count; i++)
		str_list_add(&arguments, words[i]);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		become_git(git, arguments.items, directory, pipes[1], parent);
	close(pipes[1]);
	if (pid > 0)
		read_output(pipes[0], cap, output);
	close(pipes[0]);
	if (pid < 0)
		return -1;
	if (output->length > cap)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return output->length > cap ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define RUN(git, directory, cap, output, ...)                                                      \
	run(git, directory, (const char *const[]){__VA_ARGS__},                                    \
	    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), cap, output)

/* ---- what it knows ------------------------------------------------------------------------ */

static void set_branch(json_t *object, const char *branch)
{
	if (!str_equal(branch, "HEAD")) /* detached */
		json_set_text(object, "branch", branch);
}

/* As git prints it: it may be relative to where git was asked. */
static char *whole_path(const char *directory, const char *path)
{
	return *path == '/' ? mem_strdup(path) : fs_join(directory, path);
}

/* Which files git reads as the repository's configuration only git knows: the repository may be a
 * link, a work tree of another one, or lead elsewhere by a file "commondir". */
bool provenance_git_open(struct provenance_git *git, const char *directory, json_t *object)
{
	enum { TOP, CONFIG, WORKTREE_CONFIG, COMMIT, BRANCH, LINES };
	struct str output cleanup_str = {0};
	struct str_list lines cleanup_str_list = {0};

	git->program = fs_find_program("git", getenv("PATH"));
	if (!git->program)
		return false;
	fill_environment(&git->environment);
	set(git, "core.fsmonitor", "false");
	set(git, "core.hooksPath", "/dev/null");
	if (RUN(git, directory, ANSWER_CAP, &output, "rev-parse", "--show-toplevel", "--git-path",
		"config", "--git-path", "config.worktree", "HEAD", "--abbrev-ref", "HEAD") != 0)
		return false;
	str_split(&lines, str_text(&output), '\n');
	if (lines.count != LINES || !str_is_utf8(str_text(&output), output.length))
		return false;
	git->top = mem_strdup(lines.items[TOP]);
	git->config = whole_path(directory, lines.items[CONFIG]);
	git->worktree_config = whole_path(directory, lines.items[WORKTREE_CONFIG]);
	json_set_text(object, "repository", lines.items[TOP]);
	json_set_text(object, "commit", lines.items[COMMIT]);
	set_branch(object, lines.items[BRANCH]);
	return true;
}

/* Nothing that git reads as the repository's own names a filter: then nobody has to be asked. */
static bool is_plain(const struct provenance_git *git)
{
	size_t length = 0;
	char *text cleanup_free = fs_read_file(git->config, CONFIG_CAP, &length, NULL);

	/* Git reads on behind a NUL in a comment. */
	return text && strlen(text) == length && !fs_exists(git->worktree_config) &&
	       !strcasestr(text, "filter") && !strcasestr(text, "include");
}

/* "SCOPE<tab>filter.NAME.clean". False: "-c" would take the name for a shorter one. */
static bool drop_filter(struct provenance_git *git, const char *line)
{
	const char *tab = strchr(line, '\t');

	if (!tab)
		return false;
	if (str_starts_with(line, "global\t") || str_starts_with(line, "system\t"))
		return true;
	if (strchr(tab, '='))
		return false;
	set(git, tab + 1, str_ends_with(tab, ".required") ? "false" : "");
	return true;
}

/* A filter is a command. Those of the user's own configuration, such as that of git-lfs, are the
 * user's choice, and those that a repository brings along are not. False: they are not known, or
 * not to be dropped. */
static bool drop_filters(struct provenance_git *git)
{
	enum { NONE = 1 }; /* git's code where there are none; an old one knows no scopes */
	struct str output cleanup_str = {0};
	struct str_list lines cleanup_str_list = {0};

	if (is_plain(git))
		return true;
	int code = RUN(git, git->top, ANSWER_CAP, &output, "config", "--show-scope", "--name-only",
		       "--get-regexp", "^filter\\.");
	if (code == NONE && output.length == 0)
		return true;
	if (code != 0 || output.length > ANSWER_CAP)
		return false;
	str_split(&lines, str_text(&output), '\n');
	for (size_t i = 0; i < lines.count; i++)
		if (!drop_filter(git, lines.items[i]))
			return false;
	return true;
}

/* ":100644 100644 HASH HASH M<tab>NAME". NULL: the name has odd characters, and is in quotes. Moves
 * *text to the next line. The caller frees. */
static char *take_name(const char **text)
{
	const char *line = *text, *tab = strchr(line, '\t');
	size_t length = strcspn(line, "\n");

	*text += length + (line[length] == '\n');
	if (!tab || tab > line + length || tab[1] == '"' || !str_is_utf8(line, length))
		return NULL;
	return mem_strndup(tab + 1, length - (size_t)(tab + 1 - line));
}

/* Returns what stands behind the lines that name files. */
static const char *read_changed(const struct provenance_git *git, const char *text, json_t *object)
{
	json_t *changed = json_array();

	for (size_t count = 0; *text == ':'; count++) {
		char *name cleanup_free = take_name(&text);
		if (count >= PROVENANCE_FILES_MAX)
			json_set_bool(object, "changed_more", true);
		else if (name)
			json_array_append_new(changed, provenance_hash(git->top, name));
	}
	json_object_set_new(object, "changed", changed);
	return text + (*text == '\n');
}

static void keep_diff(const char *text, size_t length, json_t *object, struct str *diff)
{
	if (length > HISTORY_DIFF_CAP)
		json_set_bool(object, "diff_cut", true);
	str_append_bytes(diff, text, length < HISTORY_DIFF_CAP ? length : HISTORY_DIFF_CAP);
	json_set_int(object, "diff_bytes", (int64_t)diff->length);
}

/* "--", and the files that are not told of: without any other path, all others are meant. */
static void add_paths(const struct provenance_git *git, struct str_list *words)
{
	size_t length = strlen(git->top);

	str_list_add(words, "--");
	for (size_t i = 0; git->left_out && i < git->left_out->count; i++) {
		char *path cleanup_free = realpath(git->left_out->items[i], NULL);
		if (path && str_starts_with(path, git->top) && path[length] == '/')
			str_list_add_format(words, ":(top,exclude,literal)%s", path + length + 1);
	}
}

/* Submodules are repositories of their own, with a configuration of their own. */
static bool diff_from(struct provenance_git *git, const char *commit, bool with_patch,
		      struct str *output)
{
	static const char *const options[] = {
		"diff",	      "--no-ext-diff",	"--no-textconv",     "--ignore-submodules=dirty",
		"--no-color", "--no-renames",	"--submodule=short", "--src-prefix=a/",
		"--raw",      "--dst-prefix=b/"};
	struct str_list words cleanup_str_list = {0};

	for (size_t i = 0; i < array_length(options); i++)
		str_list_add(&words, options[i]);
	str_list_add(&words, with_patch ? "--patch" : "--raw");
	str_list_add(&words, commit);
	add_paths(git, &words);
	set(git, "core.quotePath", "false");
	return drop_filters(git) && run(git, git->top, (const char *const *)words.items,
					words.count, ANSWER_CAP, output) == 0;
}

void provenance_git_compare(struct provenance_git *git, bool with_diff, json_t *object,
			    struct str *diff)
{
	struct str output cleanup_str = {0};

	if (!diff_from(git, "HEAD", with_diff, &output))
		return;
	json_set_bool(object, "dirty", output.length > 0);
	if (output.length == 0)
		return;
	const char *text = str_text(&output);
	const char *rest = read_changed(git, text, object);
	if (with_diff)
		keep_diff(rest, output.length - (size_t)(rest - text), object, diff);
}

static bool is_commit(const char *text)
{
	return text && *text && strspn(text, "0123456789abcdef") == strlen(text);
}

void provenance_git_names(struct provenance_git *git, const char *commit, struct str_list *names)
{
	struct str output cleanup_str = {0};

	if (!is_commit(commit) || !diff_from(git, commit, false, &output))
		return;
	for (const char *text = str_text(&output); *text == ':';) {
		char *name = take_name(&text);
		if (name)
			str_list_take(names, name);
	}
}
