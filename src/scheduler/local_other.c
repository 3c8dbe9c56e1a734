#include "scheduler/local_other.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/user.h"
#include "history/layout.h"
#include "history/summary.h"
#include "job/journal.h"
#include "job/record.h"
#include "scheduler/local_history.h"
#include "store/location.h"

static void take_end(const json_t *final, struct scheduler_other *other)
{
	char *state cleanup_free = NULL;

	other->standing = SCHEDULER_OTHER_ENDED;
	other->state = JOB_FAILED;
	if (json_read_text(final, "state", &state, NULL) == 0 && state &&
	    job_state_parse(state) >= 0)
		other->state = (enum job_state)job_state_parse(state);
	json_read_text(final, "message", &other->message, NULL);
}

static bool look_at_journal(const char *directory, struct scheduler_other *other)
{
	char *path cleanup_free = fs_join(directory, "journal.jsonl");
	char *text cleanup_free = NULL;
	struct journal_line line;

	if (!journal_read_last(path, &text, &line) || !record_is_final(&line))
		return false;
	json_t *final cleanup_json = journal_line_record(&line, NULL);
	if (final)
		take_end(final, other);
	return final != NULL;
}

/* Can nobody but this user, root and the location's owner replace what is in this directory? By the
 * mode alone: the AM, a static program, asks no name service for a private group. */
static bool is_safe(int top, const char *path)
{
	int directory cleanup_close = fs_open_below(top, path);
	struct stat status, first;

	return directory >= 0 && fstat(directory, &status) == 0 && fstat(top, &first) == 0 &&
	       (status.st_uid == geteuid() || status.st_uid == 0 ||
		status.st_uid == first.st_uid) &&
	       !fs_others_may_replace(status.st_mode);
}

static bool is_safe_way(int top, const char *entry)
{
	if (!is_safe(top, ""))
		return false;
	for (const char *end = strchr(entry, '/'); end; end = strchr(end + 1, '/')) {
		char *path cleanup_free = mem_strndup(entry, (size_t)(end - entry));
		if (!is_safe(top, path))
			return false;
	}
	return true;
}

/* The summary of this user's own entry, which nobody else can write or replace. The caller frees.
 */
static char *read_summary(const char *location, const char *entry, size_t *length)
{
	int top cleanup_close = open(location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int directory cleanup_close = top < 0 ? -1 : fs_open_below(top, entry);
	struct stat status;

	if (directory < 0 || !is_safe_way(top, entry) || fstat(directory, &status) < 0 ||
	    status.st_uid != geteuid() || !user_is_told_apart(status.st_uid) ||
	    fs_others_may_write(status.st_mode))
		return NULL;
	int file cleanup_close = fs_open_below(directory, HISTORY_SUMMARY);
	return file < 0 ? NULL : fs_read_descriptor(file, entry, HISTORY_SUMMARY_CAP, length, NULL);
}

/* A remote history is not asked: job directories outlive their jobs by days. */
static void look_at_history(const struct job *job, const char *job_dir,
			    const struct awaited *awaited, struct scheduler_other *other)
{
	char *text cleanup_free = local_history_location(job, job_dir);
	char *day cleanup_free = history_path(awaited->submitted_ms, awaited->id);
	struct store_location location cleanup_store_location = {0};
	size_t length;

	if (store_location_parse(text, &location, NULL) < 0 || store_location_is_remote(&location))
		return;
	char *bytes cleanup_free = read_summary(location.path, day, &length);
	json_t *summary cleanup_json = bytes ? json_parse(bytes, length, NULL) : NULL;
	if (str_equal(json_string_value(json_object_get(summary, "id")), awaited->id))
		take_end(summary, other);
}

void local_other_look(const struct job *job, const char *job_dir,
		      bool (*is_held)(const char *job_dir), const struct awaited *awaited,
		      struct scheduler_other *other)
{
	char *jobs cleanup_free = fs_dirname(job_dir);
	char *directory cleanup_free = fs_join(jobs, awaited->id);

	*other = (struct scheduler_other){.standing = SCHEDULER_OTHER_GONE};
	if (look_at_journal(directory, other))
		return;
	if (!fs_is_directory(directory))
		look_at_history(job, job_dir, awaited, other);
	else if (is_held(directory))
		other->standing = SCHEDULER_OTHER_LIVES;
	else
		other->message = mem_strdup("its application master has died");
}
