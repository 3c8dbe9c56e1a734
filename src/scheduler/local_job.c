#include "scheduler/local_job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/record.h"
#include "scheduler/cgroup.h"
#include "scheduler/local_end.h"
#include "scheduler/local_history.h"
#include "scheduler/local_start.h"
#include "scheduler/state_dir.h"

enum { FILE_CAP = 64 << 10, COMING_UP_MS = 60000 };

char *local_job_mark(const char *job_dir)
{
	return mem_printf("TONY_JOB_ID=%s", fs_basename(job_dir));
}

/* ---- the origin --------------------------------------------------------------------------- */

/* Two lines: a process id means something on one host, from one start of it to the next. */
static char *describe_machine(void)
{
	struct utsname name;
	size_t length = 0;
	char *boot cleanup_free = NULL;
	int fd cleanup_close =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char id[64] = "";

	uname(&name);
	if (fd >= 0 && read(fd, id, sizeof(id) - 1) > 0)
		length = strcspn(id, "\n");
	boot = mem_strndup(id, length);
	return mem_printf("%s\n%s\n", name.nodename, boot);
}

int local_job_claim(const char *job_dir, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "origin");
	char *text cleanup_free = describe_machine();
	int fd cleanup_close = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set_errno(err, "%s", path);
	if (fs_write_all(fd, text, strlen(text), err) < 0)
		return err_wrap(err, "%s", path);
	return mem_steal_fd(&fd);
}

static bool is_claimed(const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "origin");
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static void read_origin(const char *job_dir, struct str_list *lines)
{
	char *path cleanup_free = fs_join(job_dir, "origin");
	char *text cleanup_free = fs_read_file(path, FILE_CAP, NULL, NULL);

	str_split(lines, text ? text : "", '\n');
}

char *local_job_host(const char *job_dir)
{
	struct str_list origin cleanup_str_list = {0};

	read_origin(job_dir, &origin);
	return mem_strdup(origin.count > 0 ? origin.items[0] : "an unknown host");
}

/* ---- life --------------------------------------------------------------------------------- */

static bool read_am(const char *job_dir, char **address)
{
	char *path cleanup_free = fs_join(job_dir, "am.json");
	size_t length = 0;
	char *text cleanup_free = fs_read_file(path, FILE_CAP, &length, NULL);
	json_t *object cleanup_json = text ? json_parse(text, length, NULL) : NULL;

	return object && json_need_text(object, "address", address, NULL) == 0;
}

static bool has_processes(const char *job_dir)
{
	char *mark cleanup_free = local_job_mark(job_dir);
	struct proc_list list;

	proc_find_marked(mark, 0, &list);
	bool found = list.count > 0;
	proc_list_finish(&list);
	return found;
}

/* GONE here: of an earlier start of this machine. LIVE: nothing is known against it. */
static enum local_life judge_origin(const char *job_dir)
{
	struct str_list origin cleanup_str_list = {0}, here cleanup_str_list = {0};
	char *machine cleanup_free = describe_machine();

	read_origin(job_dir, &origin);
	str_split(&here, machine, '\n');
	if (origin.count < 2 || here.count < 2)
		return LOCAL_LIVE;
	if (!str_equal(origin.items[0], here.items[0]))
		return LOCAL_ELSEWHERE;
	return str_equal(origin.items[1], here.items[1]) ? LOCAL_LIVE : LOCAL_GONE;
}

const struct local_engine local_engine = {&local_traits, state_dir_is_held};

enum local_life local_job_life(const struct local_engine *engine, const char *job_dir,
			       char **address)
{
	enum local_life life = judge_origin(job_dir);
	char *found cleanup_free = NULL;

	if (life != LOCAL_LIVE)
		return life;
	if (read_am(job_dir, &found)) {
		if (!engine->is_held(job_dir))
			return LOCAL_GONE;
		if (address)
			*address = mem_steal(&found);
		return LOCAL_LIVE;
	}
	return is_claimed(job_dir) || engine->is_held(job_dir) || has_processes(job_dir)
		       ? LOCAL_STARTING
		       : LOCAL_GONE;
}

bool local_job_has_door(const char *job_dir)
{
	char *door cleanup_free = fs_join(job_dir, "am.json");

	return fs_exists(door);
}

bool local_job_is_idle(const char *job_dir)
{
	return !local_job_has_door(job_dir) && !is_claimed(job_dir);
}

/* ---- name --------------------------------------------------------------------------------- */

static char *name_path(const char *job_dir)
{
	return fs_join(job_dir, "name");
}

void local_job_write_name(const char *job_dir, const char *name)
{
	char *path cleanup_free = name_path(job_dir);

	if (symlink(name, path) < 0)
		log_debug("%s: %s", path, strerror(errno));
}

char *local_job_name(const char *job_dir)
{
	char *path cleanup_free = name_path(job_dir);
	char *description cleanup_free = fs_join(job_dir, "job.json");
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target));

	if (length > 0)
		return mem_strndup(target, (size_t)length);
	struct job *job = job_read_file(description, NULL);
	char *name = job ? mem_strdup(job->name) : NULL;
	job_destroy(job);
	return name;
}

/* ---- journal ------------------------------------------------------------------------------ */

bool local_job_is_there(const char *job_dir)
{
	char *description cleanup_free = fs_join(job_dir, "job.json");

	return fs_exists(description);
}

int local_job_read(const char *job_dir, struct job **job, struct job_view **view, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "journal.jsonl");
	char *job_path cleanup_free = fs_join(job_dir, "job.json");

	*job = job_read_file(job_path, err);
	if (!*job)
		return -1;
	*view = job_view_create(*job);
	/* An AM that has not begun has no journal. */
	if (fs_exists(path) && job_view_read(*view, path, err) < 0) {
		err_wrap(err, "%s", path);
		job_view_destroy(*view);
		job_destroy(*job);
		return -1;
	}
	return 0;
}

/* An AM and its guardian remove am.json once the last record is written. A first AM makes it within
 * moments of its journal. */
static bool is_long_over(const char *job_dir, const char *journal, int64_t time_ms)
{
	int64_t before = clock_wall_ms() - COMING_UP_MS;
	struct stat info;

	return stat(journal, &info) == 0 &&
	       fs_modified_ms(&info) < (time_ms < before ? time_ms : before) &&
	       !local_job_has_door(job_dir);
}

bool local_job_ended_before(const char *job_dir, int64_t time_ms)
{
	char *path cleanup_free = fs_join(job_dir, "journal.jsonl");
	char *text cleanup_free = NULL;
	struct journal_line line;

	if (is_long_over(job_dir, path, time_ms))
		return true;
	return journal_read_last(path, &text, &line) && line.time_ms < time_ms &&
	       record_is_final(&line);
}

int local_job_read_end(const char *job_dir, struct job **job, struct job_view **view)
{
	char *path cleanup_free = fs_join(job_dir, "journal.jsonl");
	char *job_path cleanup_free = fs_join(job_dir, "job.json");
	char *text cleanup_free = NULL;
	struct journal_line line;

	if (!journal_read_last(path, &text, &line))
		return -1;
	*job = job_read_file(job_path, NULL);
	if (!*job)
		return -1;
	*view = job_view_create(*job);
	if (job_view_add(*view, &line, NULL) == 0 && (*view)->is_final)
		return 0;
	job_view_destroy(*view);
	job_destroy(*job);
	return -1;
}
