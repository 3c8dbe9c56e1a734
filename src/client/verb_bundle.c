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

/* Whether the user named the file, and not at most its directory. */
static bool is_named(const struct bundle_choice *chosen)
{
	return chosen->output && !fs_is_directory(chosen->output);
}

static char *find_place(const struct bundle_choice *chosen, const char *id)
{
	char *name cleanup_free = mem_printf("%s.tar.gz", id);

	if (is_named(chosen))
		return mem_strdup(chosen->output);
	return chosen->output ? fs_join(chosen->output, name) : mem_steal(&name);
}

/* A device or a FIFO stays what it is. */
static int write_into(struct opened *opened, struct bundle_options *how, const char *path,
		      struct str_list *missing, struct err *err)
{
	int fd cleanup_close = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);

	if (fd < 0)
		return err_set_errno(err, "%s", path);
	how->fd = fd;
	return bundle_write(opened, how, missing, err);
}

/* The file is there once it is whole. */
static int write_draft(struct opened *opened, struct bundle_options *how, const char *path,
		       struct str_list *missing, struct err *err)
{
	struct keeper draft cleanup_keeper = {0};
	int fd cleanup_close = keeper_make_file(&draft, path, err);

	if (fd < 0)
		return -1;
	how->fd = fd;
	int result = bundle_write(opened, how, missing, err);
	if (result == 0 && rename(draft.path, path) < 0)
		result = err_set_errno(err, "%s", path);
	return result;
}

/* A name that others can foresee: in a directory for all they may have put there what leads the
 * archive elsewhere. */
static int write_unnamed(struct opened *opened, struct bundle_options *how, const char *path,
			 struct str_list *missing, struct err *err)
{
	struct stat status;

	if (lstat(path, &status) < 0 || (S_ISREG(status.st_mode) && status.st_uid == geteuid()))
		return write_draft(opened, how, path, missing, err);
	const char *what = S_ISLNK(status.st_mode)    ? "a symbolic link, which is not followed"
			   : S_ISFIFO(status.st_mode) ? "a FIFO, which is not written to"
						      : "no regular file";
	if (status.st_uid == geteuid())
		return err_set(err, ERR_DENIED,
			       "%s is %s; remove it, or name the archive with --output FILE", path,
			       what);
	char *owner cleanup_free = user_name_of(status.st_uid);
	return err_set(err, ERR_DENIED,
		       "%s, which belongs to %s, is no file of yours: it is not written to; name "
		       "the archive with --output FILE",
		       path, owner);
}

/* A symbolic link stays: its target is written. Another path is taken as it is, since another user
 * could make it a link by then. */
static int write_file(struct opened *opened, struct bundle_options *how, const char *path,
		      struct str_list *missing, struct err *err)
{
	struct stat status;
	bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);

	if (is_link && fs_check_link(path, err) < 0)
		return -1;
	char *real cleanup_free = is_link ? realpath(path, NULL) : mem_strdup(path);
	if (!real)
		return err_set_errno(err, "%s", path);
	if (lstat(real, &status) == 0 && !S_ISREG(status.st_mode))
		return write_into(opened, how, real, missing, err);
	return write_draft(opened, how, real, missing, err);
}

/* ---- what is said ------------------------------------------------------------------------- */

static void print_json(const char *id, const char *path, const struct str_list *missing)
{
	json_t *object = json_object();
	struct stat status;

	json_set_text(object, "id", id);
	json_set_text(object, "path", path);
	json_set_int(object, "bytes", stat(path, &status) == 0 ? status.st_size : 0);
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
	if (chosen->output && !is_named(chosen) && fs_check_link(chosen->output, err) < 0)
		return -1;
	char *path cleanup_free = find_place(chosen, call->opened->id);
	struct stat status;
	bool named = is_named(chosen);
	if (named && chosen->json && stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return err_set(err, ERR_USAGE, "--json tells a file's size, and %s is no file",
			       path);
	if ((named ? write_file : write_unnamed)(call->opened, &how, path, &missing, err) < 0)
		return -1;
	if (chosen->json) {
		print_json(call->opened->id, path, &missing);
		return 0;
	}
	tell_missing(&missing);
	puts(path);
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
