#include "scheduler/local_parent.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/proc_scan.h"
#include "job/awaited.h"
#include "scheduler/ledger.h"
#include "scheduler/local.h"
#include "scheduler/local_job.h"
#include "scheduler/local_spawn.h"
#include "scheduler/state_dir.h"

enum {
	CALL_MS = 10000,
	PATIENCE_MS = 60000, /* with a parent whose AM was killed, and comes again */
	PAUSE_US = 50000,
	ANCESTORS_MAX = 100,
};

extern char **environ;

/* ---- finding it --------------------------------------------------------------------------- */

/* "worker" of "worker-0-1", a container's name. The caller frees. */
static char *type_of(const char *container)
{
	char *name = mem_strdup(container);

	for (int i = 0; i < 2; i++) {
		char *dash = strrchr(name, '-');
		if (dash)
			*dash = '\0';
	}
	return name;
}

static bool is_isolated(const struct job *job, const char *container)
{
	char *name cleanup_free = type_of(container);

	for (size_t i = 0; i < job->type_count; i++)
		if (str_equal(job->types[i].name, name))
			return job->types[i].isolation != JOB_ISOLATION_NONE;
	return false;
}

static bool read_parent(struct local_parent *parent, const char *container)
{
	struct job_view *view;
	struct job *job;

	if (local_job_life(&local_engine, parent->job_dir, NULL) != LOCAL_LIVE ||
	    local_job_read(parent->job_dir, &job, &view, NULL) < 0)
		return false;
	bool is_live = !view->is_final;
	parent->am = (pid_t)view->am_pid;
	parent->is_isolated = is_isolated(job, container);
	job_view_destroy(view);
	job_destroy(job);
	return is_live;
}

/* Only of an AM's process can be read what the machine is without the task's own limits: one that
 * was killed is followed by another. */
static bool await_am(struct local_parent *parent, const char *container)
{
	int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;

	while (read_parent(parent, container)) {
		if (parent->am > 0 && kill(parent->am, 0) == 0)
			return true;
		parent->am = 0;
		if (parent->is_isolated || clock_monotonic_ms() > deadline)
			return true;
		usleep(PAUSE_US);
	}
	return false;
}

/* Of this process, or of one above it, as for env -i tony submit. NULL: it is in no task. The
 * caller frees. */
static char *find_mark(void)
{
	struct proc_entry entry = {.parent = getppid()};
	char *mark = mem_strdup(getenv("TONY_CONTAINER"));

	while (!mark && entry.parent > 0) {
		mark = proc_variable(entry.parent, "TONY_CONTAINER");
		if (proc_read_entry(entry.parent, &entry) < 0)
			break;
	}
	return mark;
}

void local_parent_find(struct local_parent *parent)
{
	char *mark cleanup_free = find_mark();
	const char *slash = mark ? strchr(mark, '/') : NULL;
	char *state cleanup_free = slash ? state_dir_find(NULL) : NULL;

	*parent = (struct local_parent){0};
	if (!state)
		return;
	parent->id = mem_strndup(mark, (size_t)(slash - mark));
	if (state_dir_is_job_id(parent->id))
		parent->job_dir = state_dir_job(state, local_traits.folder, parent->id);
	if (!parent->job_dir || !await_am(parent, slash + 1))
		local_parent_finish(parent);
}

void local_parent_finish(struct local_parent *parent)
{
	free(parent->id);
	free(parent->job_dir);
	*parent = (struct local_parent){0};
}

/* ---- what is left of the machine ---------------------------------------------------------- */

int local_parent_capacity(const json_t *config, struct capacity *capacity, struct err *err)
{
	struct local_parent parent cleanup_local_parent = {0};

	local_parent_find(&parent);
	return capacity_find("", parent.am, config, capacity, err);
}

/* The description of a job of this machine. NULL: it is gone. */
static struct job *read_job(const char *jobs, const char *id)
{
	char *path cleanup_free = mem_printf("%s/%s/job.json", jobs, id);

	return job_read_file(path, NULL);
}

/* Within which job the one with this id was submitted; NULL: within none. The caller frees. */
static char *read_parent_of(const char *jobs, const char *id)
{
	struct job *job = read_job(jobs, id);
	char *parent = job ? mem_strdup(job->parent) : NULL;

	job_destroy(job);
	return parent;
}

static void add_held(const struct ledger *ledger, const char *job, struct share *held)
{
	size_t count;
	const struct ledger_entry *entries = ledger_others(ledger, &count);

	for (size_t i = 0; i < count; i++)
		if (str_equal(entries[i].job, job))
			share_add(held, &entries[i].holds);
}

/* By all jobs within which a child of `parent` is submitted. */
static int find_held(const struct local_parent *parent, struct share *held, struct err *err)
{
	char *path cleanup_free = state_dir_ledger(parent->job_dir);
	char *jobs cleanup_free = fs_dirname(parent->job_dir);
	struct ledger *ledger = ledger_look(path, err);
	char *id = ledger ? mem_strdup(parent->id) : NULL;

	for (int i = 0; id && i < ANCESTORS_MAX; i++) {
		add_held(ledger, id, held);
		mem_replace(&id, read_parent_of(jobs, id));
	}
	free(id);
	ledger_close(ledger);
	return ledger ? 0 : -1;
}

static int64_t less(int64_t there, int64_t held)
{
	return there > held ? there - held : 0;
}

static void take_away(struct capacity *capacity, const struct share *held)
{
	capacity->memory = less(capacity->memory, held->memory);
	capacity->vcores = less(capacity->vcores, held->vcores);
	for (int64_t i = 0; i < held->gpus && capacity->gpus.count > 0; i++)
		free(capacity->gpus.items[--capacity->gpus.count]);
}

static bool awaits(const struct job *job, const char *id)
{
	bool is_awaited = false;

	for (size_t i = 0; i < job->after.count && !is_awaited; i++) {
		struct awaited awaited cleanup_awaited = {0};
		is_awaited = awaited_parse(job->after.items[i], &awaited, NULL) == 0 &&
			     str_equal(awaited.id, id);
	}
	return is_awaited;
}

/* A job that ends with another one would wait in vain for the other one's end. */
static int check_awaited(const struct local_parent *parent, const struct job *job, struct err *err)
{
	char *jobs cleanup_free = fs_dirname(parent->job_dir);
	char *id cleanup_free = job->outlives_parent ? NULL : mem_strdup(parent->id);

	for (int i = 0; id && i < ANCESTORS_MAX; i++) {
		if (awaits(job, id))
			return err_set(err, ERR_USAGE,
				       "--after %s: this job is submitted within %s, and ends with "
				       "it; leave out --after, or set "
				       "tony.application.outlives-parent=true",
				       id, id);
		struct job *above = read_job(jobs, id);
		bool ends_with = above && !above->outlives_parent;
		mem_replace(&id, ends_with ? mem_strdup(above->parent) : NULL);
		job_destroy(above);
	}
	return 0;
}

int local_parent_enter(const struct local_parent *parent, struct job *job,
		       struct capacity *capacity, struct err *err)
{
	if (!parent->id)
		return 0;
	if (parent->is_isolated)
		return err_set(err, ERR_USAGE,
			       "this is a task of %s in namespaces of its own "
			       "(tony.<type>.isolation), within which no job can be submitted",
			       parent->id);
	if (check_awaited(parent, job, err) < 0)
		return -1;
	mem_replace(&job->parent, mem_strdup(parent->id));
	struct share held = {0};
	if (find_held(parent, &held, err) < 0)
		return -1;
	if (capacity->vcores > 0 && held.vcores >= capacity->vcores) /* 0 would be no limit */
		return err_set(err, ERR_CAPACITY,
			       "job %s, within which this one is submitted, holds all cores that "
			       "tony.local.vcores has",
			       parent->id);
	take_away(capacity, &held);
	return 0;
}

char *local_parent_held(const struct local_parent *parent)
{
	if (!parent->id)
		return mem_strdup("");
	struct share held = {0};
	find_held(parent, &held, NULL);
	char *text cleanup_free = share_text(&held, " and ");
	return *text ? mem_printf("; job %s, within which this one is submitted, holds %s beside "
				  "that",
				  parent->id, text)
		     : mem_strdup("");
}

/* ---- the start ---------------------------------------------------------------------------- */

static int write_environment(const char *job_dir, char **path, struct err *err)
{
	struct str text cleanup_str = {0};

	for (char **entry = environ; entry && *entry; entry++)
		str_append_bytes(&text, *entry, strlen(*entry) + 1);
	*path = fs_join(job_dir, LOCAL_ENVIRONMENT_FILE);
	return fs_write_private(*path, str_text(&text), text.length, err);
}

static int call(const char *parent_dir, const char *address, const char *body, struct str *answer,
		struct err *err)
{
	char *token_file cleanup_free = fs_join(parent_dir, "token");
	char *description cleanup_free = fs_join(parent_dir, "job.json");
	struct job *job = job_read_file(description, err);
	char *token = job ? job_read_token(token_file, err) : NULL;
	int status = 0;
	int result = -1;

	if (token) {
		const struct http_target am = {.address = address,
					       .token = token,
					       .owner = geteuid(),
					       .is_sealed = job->tls};
		result =
			http_call(&am, "POST", "/v1/children", body, CALL_MS, &status, answer, err);
	}
	if (result == 0)
		result = http_response_check(status, str_text(answer), answer->length, err);
	mem_free_secret(token);
	job_destroy(job);
	return result;
}

/* Until an AM of the parent answers. */
static int call_patiently(const char *parent_dir, const char *body, struct str *answer,
			  struct err *err)
{
	int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;

	for (;;) {
		char *address cleanup_free = NULL;
		struct err why cleanup_err = {0};
		str_finish(answer);
		if (local_job_life(&local_engine, parent_dir, &address) != LOCAL_LIVE)
			return err_set(err, ERR_NOT_FOUND,
				       "job %s, within which this one is submitted, has ended",
				       fs_basename(parent_dir));
		if (call(parent_dir, address, body, answer, &why) == 0)
			return 0;
		if (why.kind != ERR_UNREACHABLE || clock_monotonic_ms() > deadline)
			return err_copy(err, &why);
		usleep(PAUSE_US);
	}
}

static pid_t read_answer(const struct str *answer, struct err *err)
{
	json_t *object cleanup_json = json_parse(str_text(answer), answer->length, err);
	int64_t pid = 0;

	if (!object || json_need_int(object, "pid", 1, INT32_MAX, &pid, err) < 0)
		return -1;
	return (pid_t)pid;
}

pid_t local_parent_start(const struct job *job, const char *job_dir, const char *agent,
			 struct err *err)
{
	char *jobs cleanup_free = fs_dirname(job_dir);
	char *parent_dir cleanup_free = fs_join(jobs, job->parent);
	json_t *question cleanup_json = json_object();
	char *environment cleanup_free = NULL;
	struct str answer cleanup_str = {0};

	json_set_text(question, "job", job->id);
	json_set_text(question, "agent", agent);
	mode_t mask = umask(0);
	umask(mask);
	json_set_int(question, "umask", mask);
	char *body cleanup_free = json_text(question);
	int result = write_environment(job_dir, &environment, err);
	if (result == 0)
		result = call_patiently(parent_dir, body, &answer, err);
	pid_t pid = result == 0 ? read_answer(&answer, err) : -1;
	unlink(environment);
	return pid;
}
