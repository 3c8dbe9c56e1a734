#include "scheduler/removal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"

#define LOOK_MS 1000	   /* after which live jobs are looked for again */
#define ASIDE	".removed" /* ".<job id>.<process>-<number>.removed": no job's name */

void removal_begin(struct removal *removal)
{
	str_list_finish(&removal->removed);
	str_list_finish(&removal->stays);
	removal->bytes = 0;
	removal->is_last_word = false;
}

int removal_refuse_live(const char *id, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s has not ended, and is not removed; tony kill %s ends it",
		       id, id);
}

int removal_refuse_leaving(const char *id, struct err *err)
{
	return err_set(err, ERR_USAGE,
		       "%s has ended, and its application master still tells its end and keeps its "
		       "history; try again in a moment",
		       id);
}

int removal_tell_gone(const char *id, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "%s was removed by another process", id);
}

void removal_spare(struct removal *removal, const char *place, const char *why)
{
	char *text cleanup_free = mem_printf("%s: %s", place, why);

	if (!str_list_has(&removal->stays, text))
		str_list_add(&removal->stays, text);
}

void removal_spare_remote(struct removal *removal, const struct job *job)
{
	if (job->checkpoint_dir && strstr(job->checkpoint_dir, "://"))
		removal_spare(removal, job->checkpoint_dir, REMOVAL_CHECKPOINTS);
	if (job->results_dir && job->output_dir && strstr(job->output_dir, "://"))
		removal_spare(removal, job->output_dir, REMOVAL_RESULTS);
}

void removal_use_forget(struct removal_use *use)
{
	str_list_finish(&use->paths);
	str_list_finish(&use->jobs);
	map_destroy(use->seen);
	use->seen = NULL;
}

void removal_finish(struct removal *removal)
{
	removal_begin(removal);
	str_list_finish(&removal->sources);
	str_list_finish(&removal->chosen);
	removal_use_forget(&removal->here);
	removal_use_forget(&removal->kept_here);
	removal_use_forget(&removal->kept_in_hdfs);
}

static int measure_and_remove(struct removal *removal, const char *path, const char *name,
			      struct err *err)
{
	struct fs_tree_size size = {0};
	struct stat info;

	if (lstat(path, &info) < 0)
		return 0;
	if (S_ISDIR(info.st_mode))
		fs_measure_tree(path, INT64_MAX, &size);
	else if (S_ISREG(info.st_mode))
		size.bytes = info.st_size;
	if (!removal->is_dry && fs_remove_tree(path, err) < 0)
		return -1;
	removal->bytes += size.bytes;
	if (name)
		str_list_add(&removal->removed, name);
	return 0;
}

/* A process that removes it, or could not, tells of it itself. */
static bool is_in_hand(const char *name)
{
	char *start cleanup_free = mem_strndup(name, strlen(name) - strlen(ASIDE));
	const char *process = strrchr(start, '.');
	pid_t pid = (pid_t)strtol(process ? process + 1 : "", NULL, 10);

	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* `err`: why they remain. */
static int tell_left(const char *path, const char *remedy, struct err *err)
{
	struct fs_tree_size size;

	if (!err)
		return -1;

	fs_measure_tree(path, INT64_MAX, &size);
	char *bytes cleanup_free = str_format_bytes(size.bytes);
	return err_set(err, err->kind, "%s remain in %s: %s; %s", bytes, path, err_message(err),
		       remedy);
}

static int tell_blocked(const char *path, struct err *err)
{
	char *quoted cleanup_free = str_shell_quote(path);
	char *remedy cleanup_free = mem_printf("sudo rm -rf --one-file-system %s", quoted);

	return tell_left(path, remedy, err);
}

static int remove_left(const char *path, bool is_dry, struct err *err)
{
	if (is_dry) {
		err_set(err, ERR_FAILED, "a removal did not end");
		return tell_left(path, "tony clean goes on with it", err);
	}
	return fs_remove_tree(path, err) == 0 ? 0 : tell_blocked(path, err);
}

size_t removal_sweep(const char *parent, bool is_dry, struct err *err)
{
	size_t left = 0;
	DIR *directory cleanup_dir = opendir(parent);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *aside cleanup_free = fs_join(parent, entry->d_name);
		struct err why cleanup_err = {0};
		if (entry->d_name[0] != '.' || !str_ends_with(entry->d_name, ASIDE) ||
		    is_in_hand(entry->d_name) || remove_left(aside, is_dry, &why) == 0)
			continue;
		left++;
		if (err->kind == ERR_NONE)
			err_copy(err, &why);
		else
			err_set(err, err->kind, "%s\n%s", err_message(err), err_message(&why));
	}
	return left;
}

int removal_remove_folder(struct removal *removal, const char *path, const char *name,
			  struct err *err)
{
	char *parent cleanup_free = fs_dirname(path);
	char *aside cleanup_free = mem_printf("%s/.%s.%d-%" PRIx64 ASIDE, parent, fs_basename(path),
					      getpid(), random_u64());

	if (fs_check_unmounted(path, err) < 0)
		return err_wrap(err, "%s stays", path);
	if (removal->is_dry)
		return measure_and_remove(removal, path, name, err);
	if (rename(path, aside) < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", path);
	return measure_and_remove(removal, aside, name, err) == 0 ? 0 : tell_blocked(aside, err);
}

/* ---- what other jobs use ------------------------------------------------------------------ */

bool removal_use_begin(struct removal_use *use)
{
	int64_t now = clock_monotonic_ms();

	if (use->looked_ms > 0 && now - use->looked_ms < LOOK_MS)
		return false;
	removal_use_forget(use);
	use->looked_ms = now;
	return true;
}

bool removal_use_has_seen(const struct removal_use *use, const char *job)
{
	return use->seen && map_get(use->seen, job);
}

void removal_use_see(struct removal_use *use, const char *job)
{
	if (!use->seen)
		use->seen = map_create(NULL);
	map_set(use->seen, job, use);
}

void removal_note_use(struct removal_use *use, const char *job, const char *path)
{
	str_list_add(&use->paths, path);
	str_list_add(&use->jobs, job);
}

static int tell_used(const struct removal_use *use, size_t i, const char *job, struct err *err)
{
	const char *user = use->jobs.items[i], *path = use->paths.items[i];

	return use->of_ended
		       ? err_set(err, ERR_USAGE,
				 "%s stays: it has what %s keeps in %s; remove that job first, or "
				 "both: tony rm %s %s",
				 job, user, path, user, job)
		       : err_set(err, ERR_USAGE,
				 "%s stays: %s, which runs, uses %s; remove it once that has ended",
				 job, user, path);
}

int removal_check_unused(const struct removal *removal, const struct removal_use *use,
			 const char *job, const char *directory, struct err *err)
{
	for (size_t i = 0; i < use->paths.count; i++)
		if (!str_equal(use->jobs.items[i], job) &&
		    fs_is_below(use->paths.items[i], directory) &&
		    !(use->of_ended && str_list_has(&removal->chosen, use->jobs.items[i])))
			return tell_used(use, i, job, err);
	return 0;
}
