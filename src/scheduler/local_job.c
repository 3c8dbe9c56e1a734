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

enum { FILE_CAP = 64 << 10, END_GRACE_MS = 3000, COMING_UP_MS = 60000 };

static char *mark_of(const char *job_dir)
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
	int fd cleanup_close = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
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
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);

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
	char *mark cleanup_free = mark_of(job_dir);
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

enum local_life local_job_life(const char *job_dir, char **address)
{
	enum local_life life = judge_origin(job_dir);
	char *found cleanup_free = NULL;

	if (life != LOCAL_LIVE)
		return life;
	if (read_am(job_dir, &found)) {
		if (!state_dir_is_held(job_dir))
			return LOCAL_GONE;
		if (address)
			*address = mem_steal(&found);
		return LOCAL_LIVE;
	}
	return is_claimed(job_dir) || has_processes(job_dir) ? LOCAL_STARTING : LOCAL_GONE;
}

bool local_job_is_idle(const char *job_dir)
{
	char *door cleanup_free = fs_join(job_dir, "am.json");

	return !fs_exists(door) && !is_claimed(job_dir);
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
	char *door cleanup_free = fs_join(job_dir, "am.json");
	int64_t before = clock_wall_ms() - COMING_UP_MS;
	struct stat info;

	return stat(journal, &info) == 0 &&
	       fs_modified_ms(&info) < (time_ms < before ? time_ms : before) && !fs_exists(door);
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

/* A job's last line, as far as no AM has written it. */
struct ending {
	enum job_state state;
	const char *message;
	const struct cause *cause; /* NULL: none but what the journal tells */
};

static json_t *describe_final(const struct job *job, const struct ending *ending)
{
	json_t *record = record_final(ending->state, ending->message, ending->cause);

	if (job_has_notices(job))
		record_set_notices_due(record);
	return record;
}

/* In place of an AM and a guardian that could not. Notices may take long: another guardian, which
 * finds the job at its end, tells them before it publishes. */
static void conclude(const struct job *job, const char *job_dir)
{
	struct err err cleanup_err = {0};

	if (job_has_notices(job)) {
		if (local_start_last_duty(job->id, job_dir, &err) == 0)
			return;
		log_warning("the notices of the job's end are not sent: %s", err_message(&err));
	}
	local_history_conclude(job, job_dir);
}

static int write_final(const char *job_dir, const struct ending *ending, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "journal.jsonl");
	/* The journal's own lock keeps two clients from both writing a last record. */
	struct journal *journal = journal_open(path, err);
	struct job_view *view;
	struct job *job;
	int result = 0;

	if (!journal || local_job_read(job_dir, &job, &view, err) < 0) {
		journal_close(journal);
		return -1;
	}
	if (!view->is_final)
		result = journal_append(journal, describe_final(job, ending), clock_wall_ms(), true,
					err);
	journal_close(journal);
	if (result == 0)
		conclude(job, job_dir);
	job_view_destroy(view);
	job_destroy(job);
	return result;
}

/* What an AM or its guardian removes at the end. That makes room for the journal's last line. */
static void clear(const char *job_dir)
{
	char *door cleanup_free = fs_join(job_dir, "am.json");
	char *reserve cleanup_free = fs_join(job_dir, "journal.reserve");
	char *description cleanup_free = fs_join(job_dir, "job.json");
	struct job *job = job_read_file(description, NULL);

	unlink(door);
	unlink(reserve);
	if (job)
		local_end_files(job, job_dir);
	else
		local_end_stdin(job_dir);
	job_destroy(job);
}

static int end(const char *job_dir, const struct ending *ending, int signal, struct err *err)
{
	char *mark cleanup_free = mark_of(job_dir);

	if (proc_end_all(0, mark, NULL, 0, signal, END_GRACE_MS) < 0)
		return err_set(err, ERR_FAILED, "%s: some of its processes cannot be killed",
			       fs_basename(job_dir));
	cgroup_clean("", fs_basename(job_dir));
	clear(job_dir);
	return write_final(job_dir, ending, err);
}

/* After SIGTERM the AM would write an end of its own, and this one's message would be lost. */
int local_job_kill(const char *job_dir, const char *message, struct err *err)
{
	return end(job_dir, &(struct ending){JOB_KILLED, message, NULL}, SIGKILL, err);
}

/* SIGTERM's grace lets the AM's guardian, which may be at it just now, finish by itself. */
int local_job_fail(const char *job_dir, const struct cause *cause, struct err *err)
{
	char *message cleanup_free = cause_sentence(cause);

	return end(job_dir, &(struct ending){JOB_FAILED, message, cause}, SIGTERM, err);
}

/* Its AM was started, and is gone before it wrote a line. */
static int fail_unbegun(const char *job_dir, const char *log, struct err *err)
{
	struct cause cause = {.kind = CAUSE_AM_FAILED,
			      .text = mem_strdup("failed to start: its application master ended")};

	state_dir_read_log(log, &cause);
	int result = local_job_fail(job_dir, &cause, err);
	cause_finish(&cause);
	return result;
}

bool local_job_settle(const char *job_dir, const struct job_view *view)
{
	struct err err cleanup_err = {0};

	if ((view->is_final && !view->notices_due) || local_job_life(job_dir, NULL) != LOCAL_GONE)
		return false;
	const struct ending ending = {
		.state = view->am_pid ? JOB_FAILED : JOB_KILLED,
		.message = view->am_pid ? "every process of its application master was killed"
					: "killed: its submission was given up",
	};
	char *log cleanup_free = fs_join(job_dir, LOCAL_AM_LOG);
	bool was_started = !view->am_pid && fs_exists(log);
	int result = was_started ? fail_unbegun(job_dir, log, &err)
				 : end(job_dir, &ending, SIGTERM, &err);
	if (result < 0 && local_job_is_there(job_dir))
		log_warning("%s: %s", fs_basename(job_dir), err_message(&err));
	return result == 0;
}
