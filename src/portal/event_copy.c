#include "portal/event_copy.h"

#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/keeper.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/timer.h"
#include "portal/event_files.h"
#include "scheduler/child.h"
#include "scheduler/job_stores.h"

/* How a look ends: the exit status of its process. */
enum { LOOK_DONE, LOOK_FAILED, LOOK_DENIED };

struct event_copy {
	struct event_base *base;
	char *place, *owner;
	struct keeper directory;
	struct child look;
	int report; /* what it says */
	struct event *timer;
	bool is_whole; /* it was, once */
	char *left_out;
	event_copy_changed *changed;
	void *data;
};

/* ---- one look ----------------------------------------------------------------------------- */

static int look(const struct event_copy *copy, char **left_out, struct err *err)
{
	int held cleanup_close = keeper_open(&copy->directory, err);
	if (held < 0)
		return -1;
	char *target cleanup_free = mem_printf("/proc/self/fd/%d", held);
	struct store *store = job_stores_open_place(NULL, copy->place, err);
	const struct event_files files = {
		.store = store, .owner = copy->owner, .cap = EVENT_FILES_CAP};
	int result = store ? event_files_copy(&files, target, left_out, err) : -1;

	store_close(store);
	return result;
}

static _Noreturn void run_look(const struct event_copy *copy, int report, pid_t parent)
{
	struct err err = {0};
	char *left_out = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(LOOK_FAILED);
	/* The keeper waits for this process, too. */
	proc_close_others(report, copy->directory.hold);
	bool is_done = look(copy, &left_out, &err) == 0;
	const char *words = is_done ? left_out : err_message(&err);
	size_t length = words ? strlen(words) : 0;
	if (length > 0)
		fs_write_all(report, words, length < PIPE_BUF ? length : PIPE_BUF, NULL);
	_exit(is_done ? LOOK_DONE : err.kind == ERR_DENIED ? LOOK_DENIED : LOOK_FAILED);
}

static void on_looked(void *data, int status)
{
	struct event_copy *copy = data;
	struct err err cleanup_err = {0};
	char words[PIPE_BUF];
	ssize_t got = read(copy->report, words, sizeof(words));
	char *said = got > 0 ? mem_strndup(words, (size_t)got) : NULL;
	int ended = WIFEXITED(status) ? WEXITSTATUS(status) : LOOK_FAILED;

	mem_cleanup_close(&copy->report);
	timer_start(copy->timer, EVENT_COPY_AGAIN_MS);
	if (ended == LOOK_DONE) {
		mem_replace(&copy->left_out, said);
		copy->is_whole = true;
		copy->changed(copy->data, NULL);
		return;
	}
	/* What is there stays of use while the cluster does not answer. */
	if (ended == LOOK_DENIED || !copy->is_whole) {
		err_set(&err, ended == LOOK_DENIED ? ERR_DENIED : ERR_FAILED, "%s",
			said ? said : "the process that copies event files has died");
		copy->changed(copy->data, &err);
	}
	free(said);
}

static int start_look(struct event_copy *copy, struct err *err)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set_errno(err, "pipe");
	copy->report = ends[0];
	int report cleanup_close = ends[1];
	pid_t pid = fork();
	if (pid == 0)
		run_look(copy, report, parent);
	if (pid < 0)
		return err_set_fork(err, "fork");
	return child_watch(&copy->look, copy->base, pid, on_looked, copy, err);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct event_copy *copy = data;

	if (start_look(copy, NULL) == 0)
		return;
	mem_cleanup_close(&copy->report);
	timer_start(copy->timer, EVENT_COPY_AGAIN_MS);
}

/* ------------------------------------------------------------------------------------------- */

struct event_copy *event_copy_start(struct event_base *base, const char *place, const char *owner,
				    event_copy_changed *changed, void *data, struct err *err)
{
	struct event_copy *copy = mem_alloc(sizeof(*copy));

	copy->base = base;
	copy->place = mem_strdup(place);
	copy->owner = mem_strdup(owner);
	copy->report = -1;
	copy->changed = changed;
	copy->data = data;
	copy->timer = event_new(base, -1, 0, on_timer, copy);
	if (keeper_make_directory(&copy->directory, "tony-tensorboard", err) == 0 &&
	    start_look(copy, err) == 0)
		return copy;
	event_copy_stop(copy);
	return NULL;
}

void event_copy_stop(struct event_copy *copy)
{
	if (!copy)
		return;
	child_kill(&copy->look);
	mem_cleanup_close(&copy->report);
	keeper_remove(&copy->directory);
	event_free(copy->timer);
	free(copy->place);
	free(copy->owner);
	free(copy->left_out);
	free(copy);
}

const char *event_copy_directory(const struct event_copy *copy)
{
	return copy->directory.path;
}

const char *event_copy_left_out(const struct event_copy *copy)
{
	return copy->left_out;
}
