#include "portal/readers.h"

#include <dirent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timer.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "scheduler/child.h"
#include "web/ui_door.h"
#include "web/ui_proxy.h"

enum { LOOK_MS = 10000 };

struct running {
	TAILQ_ENTRY(running) link;
	struct readers *readers;
	struct child child;
	char *id, *address;
	struct portal_job job; /* without its summary: whose it is, where, and who may view it */
	int64_t used_ms;       /* monotonic */
	size_t requests;       /* on their way */
	struct ui_door *door;  /* to its program's pages; NULL: nobody has asked for it */
};

struct readers {
	struct event_base *base;
	const struct reader_setup *setup;
	TAILQ_HEAD(running_list, running) running; /* the latest used first */
	struct running_list leaving;		   /* told to end */
	size_t count;
	struct event *timer;
};

static void free_running(struct running *running)
{
	free(running->id);
	portal_job_finish(&running->job);
	free(running->address);
	free(running);
}

/* Requests that are on their way hold a count in it: it stays until they are over. */
static void leave(struct running *running)
{
	struct readers *readers = running->readers;

	TAILQ_REMOVE(&readers->running, running, link);
	TAILQ_INSERT_HEAD(&readers->leaving, running, link);
	readers->count--;
	ui_door_close(mem_steal(&running->door));
	if (running->child.pid > 0)
		kill(running->child.pid, SIGTERM);
}

static void clear_leaving(struct readers *readers)
{
	struct running *running = TAILQ_FIRST(&readers->leaving), *next;

	for (; running; running = next) {
		next = TAILQ_NEXT(running, link);
		if (running->child.pid > 0 || running->requests > 0)
			continue;
		TAILQ_REMOVE(&readers->leaving, running, link);
		free_running(running);
	}
}

static void on_ended(void *data, int status)
{
	struct running *running = data, *other;

	TAILQ_FOREACH(other, &running->readers->running, link)
	{
		if (other == running) {
			leave(running);
			break;
		}
	}
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct readers *readers = data;
	struct running *running = TAILQ_LAST(&readers->running, running_list), *before;

	for (; running; running = before) {
		before = TAILQ_PREV(running, running_list, link);
		if (running->requests > 0)
			running->used_ms = clock_monotonic_ms();
		else if (clock_monotonic_ms() - running->used_ms >= READERS_IDLE_MS)
			leave(running);
	}
	clear_leaving(readers);
}

struct readers *readers_create(struct event_base *base, const struct reader_setup *setup)
{
	struct readers *readers = mem_alloc(sizeof(*readers));

	readers->base = base;
	readers->setup = setup;
	TAILQ_INIT(&readers->running);
	TAILQ_INIT(&readers->leaving);
	readers->timer = event_new(base, -1, EV_PERSIST, on_timer, readers);
	timer_start(readers->timer, LOOK_MS);
	return readers;
}

void readers_end(struct readers *readers)
{
	struct running *running;

	while ((running = TAILQ_FIRST(&readers->running)))
		leave(running);
}

void readers_destroy(struct readers *readers)
{
	struct running *running;

	if (!readers)
		return;
	readers_end(readers);
	while ((running = TAILQ_FIRST(&readers->leaving))) {
		TAILQ_REMOVE(&readers->leaving, running, link);
		child_kill(&running->child);
		free_running(running);
	}
	event_free(readers->timer);
	free(readers);
}

size_t readers_count(const struct readers *readers)
{
	return readers->count;
}

/* ---- starting ----------------------------------------------------------------------------- */

/* The descriptors that are open at this moment, but for `but`. */
static void list_descriptors(struct str *numbers, int but)
{
	DIR *directory cleanup_dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	int64_t number;

	while (directory && (entry = readdir(directory)))
		if (str_parse_int(entry->d_name, STDERR_FILENO + 1, INT32_MAX, &number) == 0 &&
		    number != dirfd(directory) && number != but)
			str_append_bytes(numbers, &(int){(int)number}, sizeof(int));
}

/* Browsers are to see it when the portal closes their connections. */
static void close_descriptors(const struct str *numbers)
{
	const int *items = (const int *)(const void *)numbers->text;

	for (size_t i = 0; i < numbers->length / sizeof(int); i++)
		close(items[i]);
}

static _Noreturn void run_child(struct reader *reader, const struct str *foreign, pid_t parent)
{
	close_descriptors(foreign);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	reader_run(reader);
}

/* It listens before it is a process, so that it can be asked at once. */
static int start_process(struct running *running, const struct portal_job *job, struct err *err)
{
	struct readers *readers = running->readers;
	struct str foreign cleanup_str = {0};
	pid_t parent = getpid();

	list_descriptors(&foreign, readers->setup->starter);
	struct reader *reader = reader_create(readers->setup, running->id, job, err);

	if (!reader)
		return -1;
	running->address = mem_strdup(reader_address(reader));
	pid_t pid = fork();
	if (pid == 0)
		run_child(reader, &foreign, parent);
	reader_destroy(reader);
	if (pid < 0)
		return err_set_fork(err, "fork");
	return child_watch(&running->child, readers->base, pid, on_ended, running, err);
}

/* The one that was used longest ago, of those that nobody waits for, if there is one. */
static void make_room(struct readers *readers)
{
	struct running *running;

	TAILQ_FOREACH_REVERSE(running, &readers->running, running_list, link)
	{
		if (running->requests == 0) {
			leave(running);
			return;
		}
	}
	leave(TAILQ_LAST(&readers->running, running_list));
}

static struct running *start(struct readers *readers, const char *id, const struct portal_job *job,
			     struct err *err)
{
	struct running *running = mem_alloc(sizeof(*running));

	if (readers->count == READERS_MAX)
		make_room(readers);
	running->readers = readers;
	running->id = mem_strdup(id);
	running->job = (struct portal_job){
		.user = mem_strdup(job->user),
		.view_acl = mem_strdup(job->view_acl),
		.location = mem_strdup(job->location),
		.path = mem_strdup(job->path),
	};
	if (start_process(running, job, err) < 0) {
		free_running(running);
		return NULL;
	}
	TAILQ_INSERT_HEAD(&readers->running, running, link);
	readers->count++;
	return running;
}

/* Another user may have an entry with the same id. */
static bool is_of(const struct running *running, const char *id, const struct portal_job *job)
{
	return str_equal(running->id, id) && str_equal(running->job.user, job->user);
}

static bool is_same(const struct portal_job *a, const struct portal_job *b)
{
	return str_equal(a->location, b->location) && str_equal(a->path, b->path) &&
	       str_equal(a->view_acl, b->view_acl);
}

/* That of a job which has ended since is of no use. */
static struct running *find(struct readers *readers, const char *id, const struct portal_job *job)
{
	struct running *running;

	TAILQ_FOREACH(running, &readers->running, link)
	{
		if (!is_of(running, id, job))
			continue;
		if (is_same(&running->job, job))
			return running;
		leave(running);
		return NULL;
	}
	return NULL;
}

static void touch(struct running *running)
{
	struct readers *readers = running->readers;

	TAILQ_REMOVE(&readers->running, running, link);
	TAILQ_INSERT_HEAD(&readers->running, running, link);
	running->used_ms = clock_monotonic_ms();
}

static struct running *use(struct readers *readers, const char *id, const struct portal_job *job,
			   struct err *err)
{
	struct running *running = find(readers, id, job);

	if (!running)
		running = start(readers, id, job, err);
	if (running)
		touch(running);
	return running;
}

const char *readers_find(struct readers *readers, const char *id, const struct portal_job *job,
			 struct err *err)
{
	const struct running *running = use(readers, id, job, err);

	return running ? running->address : NULL;
}

static void pass(struct running *running, struct http_request *request, const char *prefix,
		 const char *base, struct readers_order order)
{
	struct readers *readers = running->readers;
	const struct ui_place place = {.prefix = prefix,
				       .address = running->address,
				       .base = base,
				       .token = readers->setup->token,
				       .orderer = order.orderer,
				       .owner = geteuid(),
				       .answered = order.answered,
				       .answered_data = order.data};

	ui_proxy_start(readers->base, request, &place, &running->requests);
}

void readers_pass(struct readers *readers, struct http_request *request, const char *id,
		  const struct portal_job *job, const char *prefix, const char *base,
		  struct readers_order order)
{
	struct err err cleanup_err = {0};
	struct running *running = use(readers, id, job, &err);

	if (running) {
		pass(running, request, prefix, base, order);
		return;
	}
	if (order.answered)
		order.answered(order.data, 500);
	http_answer_error(request, 500, "failed", "%s", err_message(&err));
}

/* ---- doors -------------------------------------------------------------------------------- */

/* The portal leads browsers here that may see the job. */
static void pass_at_door(void *data, struct http_request *request)
{
	struct running *running = data;
	char *prefix cleanup_free = mem_printf("/ui/%s", running->id);

	/* An id that has to be encoded is none. */
	if (!str_equal(http_request_parameter(request, "name"), running->id) ||
	    !str_starts_with(http_request_head(request)->target, prefix)) {
		http_answer_error(request, 404, "not-found", "another job's pages are here");
		return;
	}
	touch(running);
	pass(running, request, prefix, "/ui", (struct readers_order){0});
}

struct ui_door *readers_open_door(struct readers *readers, const char *id,
				  const struct portal_job *job, const char *beside, struct err *err)
{
	struct running *running = use(readers, id, job, err);

	if (!running)
		return NULL;
	char *cookie cleanup_free = mem_printf("tony-portal-ui-%s", id);
	const struct ui_door_setup setup = {.beside = beside,
					    .cookie = cookie,
					    .tls = readers->setup->tls,
					    .pass = pass_at_door,
					    .data = running};
	if (!running->door)
		running->door = ui_door_open(readers->base, &setup, err);
	return running->door;
}
