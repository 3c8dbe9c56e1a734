#include "scheduler/launch_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#define FILE_NAME "executor.json"
#define OVER_NAME "executor.over.json"

enum { FILE_CAP = 64 << 10 };

void launch_record_finish(struct launch_record *record)
{
	free(record->cgroup);
	str_list_finish(&record->gpus);
	*record = (struct launch_record){0};
}

/* ---- the file ----------------------------------------------------------------------------- */

char *launch_record_text(const struct launch_record *record)
{
	json_t *object cleanup_json = json_object();

	json_set_int(object, "am_attempt", record->am_attempt);
	json_set_int(object, "pid", record->executor.pid);
	json_set_int(object, "start_time", (int64_t)record->executor.start_time);
	json_set_text(object, "cgroup", record->cgroup);
	json_set_list(object, "gpus", &record->gpus);
	return json_text(object);
}

int launch_record_parse(const char *text, size_t length, struct launch_record *record,
			struct err *err)
{
	json_t *object cleanup_json = json_parse(text, length, err);
	int64_t am_attempt, pid, start_time;

	if (!object || json_need_int(object, "am_attempt", 0, INT_MAX, &am_attempt, err) < 0 ||
	    json_need_int(object, "pid", 0, INT_MAX, &pid, err) < 0 ||
	    json_need_int(object, "start_time", 0, INT64_MAX, &start_time, err) < 0 ||
	    json_read_text(object, "cgroup", &record->cgroup, err) < 0 ||
	    json_read_list(object, "gpus", &record->gpus, err) < 0)
		return -1;
	record->am_attempt = (int)am_attempt;
	record->executor = (struct proc_id){.pid = (pid_t)pid, .start_time = (uint64_t)start_time};
	return 0;
}

static int read_record(const char *path, struct launch_record *record, struct err *err)
{
	size_t length = 0;
	char *text cleanup_free = fs_read_file(path, FILE_CAP, &length, err);

	if (!text)
		return -1;
	return launch_record_parse(text, length, record, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

/* Unless there is one: then 1. */
static int put(const char *path, const struct launch_record *record, bool replace, struct err *err)
{
	char *draft cleanup_free = mem_printf("%s.%d", path, (int)getpid());
	char *text cleanup_free = launch_record_text(record);

	if (fs_write_volatile(draft, text, strlen(text), 0600, err) < 0)
		return -1;
	int result = replace ? rename(draft, path) : link(draft, path);
	int error = errno;
	unlink(draft);
	if (result == 0)
		return 0;
	errno = error;
	return error == EEXIST ? 1 : err_set_errno(err, "%s", path);
}

/* ------------------------------------------------------------------------------------------- */

/* A record without a process is an AM's, and forbids what earlier ones wanted to launch. */
static bool is_forbidden(const char *path, const struct launch_record *record)
{
	struct launch_record found cleanup_launch_record = {0};

	return read_record(path, &found, NULL) < 0 || found.executor.pid != 0 ||
	       found.am_attempt > record->am_attempt;
}

int launch_record_write(const char *container_dir, const struct launch_record *record,
			struct err *err)
{
	char *path cleanup_free = fs_join(container_dir, FILE_NAME);
	int result = put(path, record, false, err);

	if (result > 0 && is_forbidden(path, record))
		return err_set(err, ERR_STALE, "another AM decides what runs here");
	return result > 0 ? put(path, record, true, err) : result;
}

int launch_record_find(const char *container_dir, int am_attempt, struct launch_record *record,
		       struct err *err)
{
	char *path cleanup_free = fs_join(container_dir, FILE_NAME);
	char *over cleanup_free = fs_join(container_dir, OVER_NAME);
	const struct launch_record none = {.am_attempt = am_attempt};

	if (fs_exists(over))
		return LAUNCH_OVER;
	if (fs_make_directories(container_dir, 0700, err) < 0)
		return -1;
	int found = put(path, &none, false, err);
	if (found > 0) {
		if (read_record(path, record, err) < 0)
			return -1;
		if (record->executor.pid != 0)
			return LAUNCH_DONE;
		found = put(path, &none, true, err); /* an earlier AM that forbade it, too */
	}
	return found < 0 ? -1 : LAUNCH_NEVER;
}

bool launch_record_is_open(const char *container_dir)
{
	char *path cleanup_free = fs_join(container_dir, FILE_NAME);

	return fs_exists(path);
}

void launch_record_close(const char *container_dir)
{
	char *path cleanup_free = fs_join(container_dir, FILE_NAME);
	char *over cleanup_free = fs_join(container_dir, OVER_NAME);

	rename(path, over);
}
