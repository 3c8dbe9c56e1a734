#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/keeper.h"
#include "base/mem.h"
#include "base/user.h"
#include "client/bundle.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/verbs.h"

enum { TAIL = 10000 };

struct bundle_choice {
	char *output, *of;
	int64_t tail;
	bool whole_logs, json;
};

static const struct opt options[] = {
	OPENED_OF(struct bundle_choice),
	OPT_ROW("output", struct bundle_choice, output,
		"write the archive there (JOB.tar.gz in the current directory); -: to standard "
		"output",
		.letter = 'o', .argument = "FILE", .completion = OPT_COMPLETE_FILE),
	OPT_ROW("tail", struct bundle_choice, tail, "the last N lines of each log (10000)",
		.argument = "N", .min = 0, .max = 1000000000),
	OPT_ROW("whole-logs", struct bundle_choice, whole_logs, "all lines of each log"),
	OPT_ROW("json", struct bundle_choice, json,
		"print path, bytes and what is missing as JSON (docs/json.md)"),
};

static bool is_to_stdout(const struct bundle_choice *chosen)
{
	return str_equal(chosen->output, "-");
}

static int check_options(const void *data, struct err *err)
{
	const struct bundle_choice *chosen = data;

	if (chosen->whole_logs && chosen->tail >= 0)
		return err_set(err, ERR_USAGE, "--tail or --whole-logs: not both");
	if (!is_to_stdout(chosen))
		return 0;
	if (chosen->json)
		return err_set(err, ERR_USAGE,
			       "--json and --output - both write to standard output: not both");
	if (isatty(STDOUT_FILENO))
		return err_set(err, ERR_USAGE,
			       "--output -: an archive is nothing for a terminal; write "
			       "--output FILE, or a pipe behind it");
	return 0;
}

/* ---- where it goes ------------------------------------------------------------------------ */

struct place {
	struct fs_named at;
	char *shown;   /* its path in messages */
	bool is_named; /* the user named the file, and not at most its directory */
};

static void place_finish(struct place *place)
{
	fs_named_finish(&place->at);
	free(place->shown);
}
#define cleanup_place __attribute__((cleanup(place_finish)))

static int find_place(struct place *place, const struct bundle_choice *chosen, const char *id,
		      struct err *err)
{
	const char *output = chosen->output;
	char *name cleanup_free = mem_printf("%s.tar.gz", id);

	if (!output || fs_is_directory(output)) {
		place->shown = output ? fs_join(output, name) : mem_strdup(name);
		return fs_name_in(&place->at, output ? output : ".", name, 0, err);
	}
	place->is_named = true;
	place->shown = mem_strdup(output);
	return fs_name_linked(&place->at, output, err);
}

/* Another user may read what is written to his FIFO or terminal. Only root makes devices. */
static int check_owner(const struct place *place, const struct stat *info, struct err *err)
{
	bool is_known = user_is_told_apart(info->st_uid);

	if (is_known ? user_is_trusted(info->st_uid) : S_ISCHR(info->st_mode))
		return 0;
	char *owner cleanup_free = user_name_of(info->st_uid);
	return err_set(err, ERR_DENIED,
		       "%s is %s and belongs to %s: it is not written to; remove it, or name "
		       "another place",
		       place->shown, S_ISFIFO(info->st_mode) ? "a FIFO" : "no regular file", owner);
}

/* The archive alone goes there. */
static bool is_stdout(const struct place *place)
{
	struct stat named, stdout_status;

	return stat(place->at.path, &named) == 0 && fstat(STDOUT_FILENO, &stdout_status) == 0 &&
	       named.st_dev == stdout_status.st_dev && named.st_ino == stdout_status.st_ino;
}

/* A device or a FIFO stays what it is, as does a file that the user's shell has open. The same
 * object is looked at and opened by its descriptor: opening a FIFO may wait for a reader, and
 * meanwhile the path could change. */
static int write_into(struct opened *opened, struct bundle_options *how, const struct place *place,
		      const struct stat *info, struct str_list *missing, struct err *err)
{
	bool is_link = S_ISLNK(info->st_mode); /* of /proc: what this process has open */
	int held cleanup_close =
		open(place->at.path, O_PATH | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW));
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", held);
	struct stat found;

	if (held < 0 || fstat(held, &found) < 0)
		return err_set_errno(err, "%s", place->shown);
	if (!is_link && check_owner(place, &found, err) < 0)
		return -1;
	int fd cleanup_close = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_set_errno(err, "%s", place->shown);
	/* Its own descriptor, so that a program that writes there afterwards writes behind the
	 * archive. */
	how->fd = is_stdout(place) ? STDOUT_FILENO : fd;
	return bundle_write(opened, how, missing, err);
}

/* The file is there once it is whole. */
static int write_draft(struct opened *opened, struct bundle_options *how, const struct place *place,
		       struct str_list *missing, struct err *err)
{
	struct keeper draft cleanup_keeper = {0};
	int fd cleanup_close = keeper_make_file(&draft, place->at.path, err);

	if (fd < 0)
		return err_rename(err, place->at.path, place->shown);
	how->fd = fd;
	int result = bundle_write(opened, how, missing, err);
	if (result == 0 && rename(draft.path, place->at.path) < 0)
		result = err_set_errno(err, "%s", place->shown);
	return result;
}

/* A name that others can foresee: in a directory for all they may have put there what leads the
 * archive elsewhere. */
static int check_unnamed(const struct place *place, const struct stat *status, struct err *err)
{
	const char *what = S_ISLNK(status->st_mode)    ? "a symbolic link, which is not followed"
			   : S_ISFIFO(status->st_mode) ? "a FIFO, which is not written to"
						       : "no regular file";

	if (S_ISREG(status->st_mode) && status->st_uid == geteuid())
		return 0;
	if (status->st_uid == geteuid())
		return err_set(err, ERR_DENIED,
			       "%s is %s; remove it, or name the archive with --output FILE",
			       place->shown, what);
	char *owner cleanup_free = user_name_of(status->st_uid);
	return err_set(err, ERR_DENIED,
		       "%s, which belongs to %s, is no file of yours: it is not written to; name "
		       "the archive with --output FILE",
		       place->shown, owner);
}

static int write_file(struct opened *opened, struct bundle_options *how, const struct place *place,
		      struct str_list *missing, struct err *err)
{
	struct stat status;
	bool is_there = lstat(place->at.path, &status) == 0;

	if (is_there && !place->is_named && check_unnamed(place, &status, err) < 0)
		return -1;
	if (is_there && place->is_named && !S_ISREG(status.st_mode))
		return write_into(opened, how, place, &status, missing, err);
	return write_draft(opened, how, place, missing, err);
}

/* ---- what is said ------------------------------------------------------------------------- */

static void print_json(const char *id, const struct place *place, const struct str_list *missing)
{
	json_t *object = json_object();
	struct stat status;

	json_set_text(object, "id", id);
	json_set_text(object, "path", place->shown);
	json_set_int(object, "bytes", lstat(place->at.path, &status) == 0 ? status.st_size : 0);
	json_set_list(object, "missing", missing);
	report_json(object);
}

static void tell_missing(const struct str_list *missing)
{
	for (size_t i = 0; i < missing->count; i++)
		report_note("left out: %s", missing->items[i]);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct bundle_choice *chosen = data;
	struct bundle_options how = {.fd = STDOUT_FILENO, .tail = chosen->tail};
	struct str_list missing cleanup_str_list = {0};

	if (chosen->tail < 0 && !chosen->whole_logs)
		how.tail = TAIL;
	if (is_to_stdout(chosen)) {
		int result = bundle_write(call->opened, &how, &missing, err);
		tell_missing(&missing);
		return result;
	}
	struct place place cleanup_place = {0};
	struct stat status;
	if (find_place(&place, chosen, call->opened->id, err) < 0)
		return -1;
	if (place.is_named && chosen->json && lstat(place.at.path, &status) == 0 &&
	    !S_ISREG(status.st_mode))
		return err_set(err, ERR_USAGE, "--json tells a file's size, and %s is no file",
			       place.shown);
	if (write_file(call->opened, &how, &place, &missing, err) < 0)
		return -1;
	if (chosen->json) {
		print_json(call->opened->id, &place, &missing);
		return 0;
	}
	tell_missing(&missing);
	if (!is_stdout(&place))
		puts(place.shown);
	report_note("secrets and the values of environment variables are masked in it; logs are as "
		    "programs wrote them: read them before you hand them on");
	return 0;
}

const struct verb verb_bundle = {
	.options =
		{
			.verb = "bundle",
			.usage = "tony bundle [OPTIONS] [JOB]",
			.summary = "put all that is known of a job into one archive, for a ticket",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct bundle_choice),
	.defaults = &(const struct bundle_choice){.tail = -1},
	.operands = VERB_JOB_OF,
	.of = offsetof(struct bundle_choice, of),
	.check = check_options,
	.run = run,
};
