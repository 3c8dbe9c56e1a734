/* tony cp: files and directories into the container of a task, and out of it: a tar through
 * standard input or output of a command there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/keeper.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/archive.h"
#include "client/archive_pack.h"
#include "client/bar.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/talk.h"
#include "client/task_channel.h"
#include "client/verbs.h"
#include "net/interrupt.h"

enum {
	COUNT_CAP = 1000000, /* files that are counted for the bar */
	REST_CAP = 1 << 20,  /* of an archive behind its end */
};

static const struct archive_limits limits = {
	.bytes = INT64_MAX, .entries = 100000000, .ratio = 200, .ratio_from = 256ull << 20};

/* Both exit as tony does (exit_code.h). Where nobody hears their words any more they still clean
 * up.
 */
#define SCRIPT_BEGIN                                                                               \
	"trap '' PIPE\n"                                                                           \
	"label=$1 path=$2\n"                                                                       \
	"fail() { echo \"tony: $2\" >&2; exit \"$1\"; }\n"                                         \
	"command -v tar >/dev/null || fail 70 \"$label: there is no tar in the container; "        \
	"tony exec TASK -- cat FILE >COPY brings one file, "                                       \
	"tony exec -i TASK -- sh -c 'cat >FILE' <COPY takes one there\"\n"

#define NAME_IN_ARCHIVE "content"
#define LAST_IN_ARCHIVE "whole"

/* LABEL PATH f|d NAME: NAME is that in PATH where this is a directory. SIGHUP comes to all that a
 * command has started, to rm, too. */
static const char take_script[] = SCRIPT_BEGIN
	"case $path in */) test -d \"$path\" || fail 4 \"$label: there is no such directory\" ;; "
	"esac\n"
	"if test -d \"$path\"; then path=${path%/}/$4 label=${label%/}/$4; fi\n"
	"directory=$(dirname -- \"$path\")\n"
	"test -d \"$directory\" || fail 4 \"$label: its directory is not there\"\n"
	"if test -d \"$path\" && test $3 = f; then fail 2 \"$label: is a directory\"; fi\n"
	"if test $3 = f && test -e \"$path\" && ! test -f \"$path\"; then\n"
	"	fail 2 \"$label: is no regular file\"\n"
	"fi\n"
	"if test $3 = d && { test -e \"$path\" || test -L \"$path\"; }; then\n"
	"	fail 2 \"$label: is there already; remove it, or name another one\"\n"
	"fi\n"
	"part=\n"
	"trap 'trap \"\" HUP INT TERM; test -z \"$part\" || rm -rf -- \"$part\"' EXIT\n"
	"trap 'exit 130' HUP INT TERM\n"
	"part=$(LC_ALL=C mktemp -d -- \"$directory/.tony-cp.XXXXXX\" 2>&1) || {\n"
	"	said=$part part=\n"
	"	case $said in *denied | *permitted | *Read-only*) fail 6 \"$label: $said\" ;; "
	"esac\n"
	"	fail 70 \"$label: $said\"\n"
	"}\n"
	"tar -xpof - -C \"$part\" || fail 70 \"$label: was not copied\"\n"
	"test -e \"$part/" LAST_IN_ARCHIVE "\" || fail 70 \"$label: was not copied, but cut off\"\n"
	"said=$(mv -f -- \"$part/" NAME_IN_ARCHIVE "\" \"$path\" 2>&1) || "
	"fail 70 \"$label: $said\"\n";

/* LABEL PATH. A letter, f or d, and a line feed stand before the archive: of a file it has the base
 * name of PATH, of a directory names relative to it. GNU's tar says 1 where a file has changed; -h:
 * the link that the user names is followed. */
static const char give_script[] = SCRIPT_BEGIN
	"if test -d \"$path\"; then\n"
	"	cd -P -- \"$path\" 2>/dev/null || fail 6 \"$label: permission denied\"\n"
	"	set -- d -cf - .\n"
	"elif test -f \"$path\"; then\n"
	"	test -r \"$path\" || fail 6 \"$label: permission denied\"\n"
	"	cd -P -- \"$(dirname -- \"$path\")\" 2>/dev/null || "
	"fail 6 \"$label: permission denied\"\n"
	"	set -- f -chf - \"./$(basename -- \"$path\")\"\n"
	"elif test -e \"$path\"; then fail 2 \"$label: is neither a file nor a directory\"\n"
	"else fail 4 \"$label: there is no such file\"\n"
	"fi\n"
	"echo $1\n"
	"shift\n"
	"exec 3>&1\n"
	"said=$(LC_ALL=C tar \"$@\" 2>&1 >&3)\n"
	"code=$?\n"
	"test -z \"$said\" || printf '%s\\n' \"$said\" >&2\n"
	"case $said in *'File shrank by'*) fail 70 \"$label: became shorter meanwhile\" ;; esac\n"
	"if test $code = 1; then case $(tar --version 2>/dev/null) in *GNU*) exit 0 ;; esac; fi\n"
	"test $code = 0 || fail 70 \"$label: was not copied\"\n";

/* ---- [JOB/]TASK:PATH ---------------------------------------------------------------------- */

struct place {
	const char *word;
	struct str_list operands; /* JOB TASK, or TASK; none: of this machine */
	const char *path;
};

static void place_finish(struct place *place)
{
	str_list_finish(&place->operands);
}
#define cleanup_place __attribute__((cleanup(place_finish)))

/* NULL: there is no task at its beginning; else what follows on it and a colon. */
static const char *skip_task(const char *text)
{
	size_t type = strcspn(text, ":/");
	const char *index = text + type + 1;

	if (type == 0 || text[type] != ':')
		return NULL;
	size_t digits = strspn(index, "0123456789");
	return digits > 0 && index[digits] == ':' ? index + digits + 1 : NULL;
}

static int parse_place(struct place *place, const char *word, struct err *err)
{
	const char *slash = strchr(word, '/'), *colon = strchr(word, ':');
	const char *task = slash && slash != word && *word != '.' ? slash + 1 : word;

	*place = (struct place){.word = word, .path = word};
	if (!*word)
		return err_set(err, ERR_USAGE, "a path is empty");
	if (!colon || *word == '/' || *word == '.')
		return 0;
	if (slash && slash > colon)
		task = word;
	const char *path = skip_task(task);
	if (path && *path) {
		if (task != word)
			str_list_take(&place->operands, mem_strndup(word, (size_t)(slash - word)));
		str_list_take(&place->operands, mem_strndup(task, (size_t)(path - 1 - task)));
		place->path = path;
		return str_is_utf8(word, strlen(word))
			       ? 0
			       : err_set(err, ERR_USAGE, "a path in a task is not UTF-8");
	}
	if (slash && slash < colon && !path)
		return 0;
	return err_set(err, ERR_USAGE,
		       "%s: a path in a task is written TASK:PATH, as worker:1:/tmp/x; one of this "
		       "machine, with a colon in its first or second part, begins with ./",
		       word);
}

static bool is_remote(const struct place *place)
{
	return place->operands.count > 0;
}

/* The last name of a path; "": it has none ("/", "..", "a/."). The caller frees. */
static char *name_of(const char *path)
{
	char *trimmed cleanup_free = mem_strdup(path);

	for (size_t length = strlen(trimmed); length > 0 && trimmed[length - 1] == '/'; length--)
		trimmed[length - 1] = '\0';
	const char *name = fs_basename(trimmed);
	return mem_strdup(str_equal(name, ".") || str_equal(name, "..") ? "" : name);
}

/* ---- the command in the container --------------------------------------------------------- */

struct transfer {
	const struct place *place; /* in the task */
	struct opened opened;
	char *task;
	struct bar bar;
	int64_t passed, total; /* bytes; 0: not known */
	pid_t pid;	       /* of the process that talks to the command; 0: none */
	int fd;		       /* to its input, or from its output */
};

static void on_passed(void *data, size_t bytes)
{
	struct transfer *transfer = data;

	transfer->passed += (int64_t)bytes;
	bar_show(&transfer->bar, transfer->place->word, transfer->passed, transfer->total);
}

/* It ends with its parent. */
_Noreturn static void talk(struct transfer *transfer, const struct session_command *command,
			   bool gives)
{
	const struct talk_options options = {.opened = &transfer->opened,
					     .task = transfer->task,
					     .what = "copy",
					     .command = command,
					     .takes_input = !gives,
					     .passed = on_passed,
					     .data = transfer};
	struct err err cleanup_err = {0};

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	bar_begin(&transfer->bar, "copying", interrupt_is_pending);
	int code = talk_run(&options, &err);
	bar_clear(&transfer->bar);
	_exit(code < 0 ? (int)report_error(&err) : code);
}

enum { READ_END, WRITE_END };

static int start(struct transfer *transfer, const struct session_command *command, bool gives,
		 struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set_errno(err, "cannot make a pipe");
	int its cleanup_close = ends[gives ? WRITE_END : READ_END];
	int mine cleanup_close = ends[gives ? READ_END : WRITE_END];
	pid_t pid = fork();
	if (pid == 0) {
		dup2(its, gives ? STDOUT_FILENO : STDIN_FILENO);
		close(ends[READ_END]);
		close(ends[WRITE_END]);
		talk(transfer, command, gives);
	}
	if (pid < 0)
		return err_set_fork(err, "cannot start a process");
	transfer->pid = pid;
	transfer->fd = mem_steal_fd(&mine);
	return 0;
}

static int begin(struct transfer *transfer, const char *script, const char *kind, const char *name,
		 struct err *err)
{
	const struct place *place = transfer->place;
	const char *const words[] = {"sh",	  "-c",	       script, "tony-cp",
				     place->word, place->path, kind,   name};
	struct session_command command cleanup_command = {0};

	transfer->task =
		task_channel_find(&transfer->opened, &place->operands, place->operands.count, err);
	if (!transfer->task)
		return -1;
	for (size_t i = 0; i < array_length(words) && words[i]; i++)
		str_list_add(&command.words, words[i]);
	return start(transfer, &command, !kind, err);
}

/* The command's exit code, of which the user was told. */
static int await(struct transfer *transfer)
{
	int status = 0;

	if (transfer->fd >= 0)
		close(transfer->fd);
	transfer->fd = -1;
	while (waitpid(transfer->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	transfer->pid = 0;
	return proc_shell_code(status);
}

/* The other end of the pipe was closed: the process that talks has ended. */
static bool is_cut(const struct transfer *transfer)
{
	struct pollfd end = {.fd = transfer->fd};

	return poll(&end, 1, 0) > 0 && end.revents & (POLLERR | POLLHUP);
}

/* After a failure here, `err`: if the command has failed before, that is the cause. Its code, or
 * -1. */
static int give_up(struct transfer *transfer, struct err *err)
{
	int code = 0;

	if (is_cut(transfer))
		code = await(transfer);
	if (code == 0)
		return -1;
	err_finish(err);
	return code;
}

static void transfer_finish(struct transfer *transfer)
{
	if (transfer->pid > 0) {
		kill(transfer->pid, SIGTERM);
		await(transfer);
	}
	opened_finish(&transfer->opened);
	free(transfer->task);
}
#define cleanup_transfer __attribute__((cleanup(transfer_finish)))

/* ---- into the container ------------------------------------------------------------------- */

static int put(const char *source, const struct place *target, struct err *err)
{
	struct transfer transfer cleanup_transfer = {.place = target, .fd = -1};
	struct fs_tree_size size;
	struct stat info;
	char *path cleanup_free = realpath(source, NULL);
	char *name cleanup_free = path ? name_of(source) : NULL;

	if (!path || stat(path, &info) < 0)
		return err_set_errno(err, "%s", source);
	if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
		return err_set(err, ERR_USAGE, "%s is neither a file nor a directory", source);
	if (!*name)
		mem_replace(&name, name_of(path));
	if (!*name || !str_is_utf8(name, strlen(name)))
		return err_set(err, ERR_USAGE, "%s: its name cannot be used in a task", source);
	fs_measure_tree(path, COUNT_CAP, &size);
	transfer.total = size.is_more ? 0 : size.bytes;
	if (begin(&transfer, take_script, S_ISDIR(info.st_mode) ? "d" : "f", name, err) < 0)
		return -1;
	if (archive_pack_named(path, NAME_IN_ARCHIVE, LAST_IN_ARCHIVE, transfer.fd, err) < 0)
		return give_up(&transfer, err);
	return await(&transfer);
}

/* ---- out of it ---------------------------------------------------------------------------- */

/* 'f' or 'd'; 0: the command has ended. */
static char read_kind(int fd)
{
	char line[2] = {0};

	for (size_t i = 0; i < sizeof(line); i++)
		if (read(fd, &line[i], 1) <= 0)
			return 0;
	return (*line == 'f' || *line == 'd') && line[1] == '\n' ? *line : 0;
}

/* False: there is no end of it. */
static bool read_rest(int fd)
{
	char bytes[4096];
	size_t count = 0;

	for (ssize_t got; (got = read(fd, bytes, sizeof(bytes))) > 0 && count < REST_CAP;)
		count += (size_t)got;
	return count < REST_CAP;
}

/* A link is followed, as by cp; a device or FIFO stays what it is. */
static int find_file(struct fs_named *place, const char *shown, struct err *err)
{
	struct stat info;

	fs_named_finish(place);
	if (fs_name_linked(place, shown, err) < 0)
		return -1;
	if (fs_is_directory(place->path))
		return err_set(err, ERR_USAGE, "%s is a directory", shown);
	if (lstat(place->path, &info) == 0 && !S_ISREG(info.st_mode))
		return err_set(err, ERR_USAGE,
			       "%s is no regular file; `tony exec JOB TASK -- cat FILE` prints a "
			       "file",
			       shown);
	return 0;
}

/* Where it is to be. `shown`: its path in messages. */
static int find_target(struct fs_named *place, char **shown, const char *name, const char *target,
		       bool is_directory, struct err *err)
{
	struct err cause cleanup_err = {0};
	struct stat info;
	bool is_inside = fs_name_in(place, target, *name ? name : ".", 0, &cause) == 0;

	if (cause.kind == ERR_DENIED)
		return err_copy(err, &cause);
	if (is_inside && !*name)
		return err_set(err, ERR_USAGE, "%s is there already; name another directory",
			       target);
	if (!is_inside && str_ends_with(target, "/"))
		return err_set(err, ERR_NOT_FOUND, "%s: there is no such directory", target);
	mem_replace(shown, is_inside ? fs_join(target, name) : mem_strdup(target));
	if (!is_inside && fs_name_file(place, target, err) < 0)
		return -1;
	if (!is_directory)
		return find_file(place, *shown, err);
	if (lstat(place->path, &info) == 0)
		return err_set(err, ERR_USAGE,
			       "%s is there already; remove it, or name another one", *shown);
	return 0;
}

/* Through a directory beside it, which is gone afterwards. */
static int receive(struct transfer *transfer, const char *name, const char *path, bool is_directory,
		   struct err *err)
{
	struct keeper keeper cleanup_keeper = {0};
	struct stat info;

	if (keeper_make_beside(&keeper, path, err) < 0)
		return -1;
	int held cleanup_close = keeper_open(&keeper, err);
	if (held < 0)
		return -1;
	char *part cleanup_free = mem_printf("/proc/self/fd/%d/content", held);
	char *file cleanup_free = fs_join(part, name);
	if (archive_unpack_stream(transfer->fd, part, &limits, err) < 0) {
		err_rename(err, part, path);
		fs_explain_room(path, err);
		return give_up(transfer, err);
	}
	if (!read_rest(transfer->fd))
		return err_set(err, ERR_INPUT, "%s: its archive has no end", transfer->place->word);
	int code = await(transfer);
	if (code != 0)
		return code;
	if (!is_directory && (lstat(file, &info) < 0 || !S_ISREG(info.st_mode)))
		return err_set(err, ERR_INPUT, "%s: its archive does not hold it",
			       transfer->place->word);
	if (rename(is_directory ? part : file, path) < 0)
		return err_set_errno(err, "%s", path);
	return 0;
}

static int get(const struct place *source, const char *target, struct err *err)
{
	struct transfer transfer cleanup_transfer = {.place = source, .fd = -1};
	char *name cleanup_free = name_of(source->path);

	if (begin(&transfer, give_script, NULL, NULL, err) < 0)
		return -1;
	char kind = read_kind(transfer.fd);
	if (!kind) {
		int code = await(&transfer);
		return code ? code : err_set(err, ERR_INPUT, "%s: no archive came", source->word);
	}
	struct fs_named place cleanup_named = {0};
	char *shown cleanup_free = NULL;
	if (find_target(&place, &shown, name, target, kind == 'd', err) < 0)
		return -1;
	int result = receive(&transfer, name, place.path, kind == 'd', err);
	if (result >= 0)
		return result;
	err_rename(err, place.path, shown);
	return err_wrap(err, "%s", source->word);
}

/* ------------------------------------------------------------------------------------------- */

static int copy_one(const char *word, const struct place *target, struct err *err)
{
	struct place source cleanup_place = {0};

	if (parse_place(&source, word, err) < 0)
		return -1;
	if (is_remote(&source) == is_remote(target))
		return err_set(err, ERR_USAGE,
			       "%s and %s: one of both is in a task, as worker:1:%s", word,
			       target->word, "/tmp/x");
	return is_remote(target) ? put(word, target, err) : get(&source, target->path, err);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	struct place target cleanup_place = {0};
	size_t count = call->operands->count;
	int result = 0;

	if (count < 2)
		return err_set(err, ERR_USAGE, "usage: %s", verb_cp.options.usage);
	const char *last = call->operands->items[count - 1];
	if (parse_place(&target, last, err) < 0)
		return -1;
	/* Of several each has its name in the directory. */
	char *directory cleanup_free =
		mem_printf("%s%s", last, str_ends_with(last, "/") ? "" : "/");
	if (count > 2) {
		place_finish(&target);
		parse_place(&target, directory, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i + 1 < count && result == 0; i++)
		result = copy_one(call->operands->items[i], &target, err);
	return result;
}

const struct verb verb_cp = {
	.options =
		{
			.verb = "cp",
			.usage = "tony cp SOURCE... DESTINATION",
			.jobs = OPT_JOBS_LIVE,
			.summary = "copy files into the container of a task, or out of it",
			.description =
				"On one side stand paths in a task, as worker:1:/tmp/x or "
				"JOB/worker:1:/tmp/x; without a JOB it is the newest, and a path "
				"that does not begin with a slash is in the directory of the "
				"task's program. Directories are copied with all that is in them.",
		},
	.run = run,
};
