#include "am/group_finder.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/helper.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"

enum { PROGRAMS_MAX = 4, WAITING_MAX = 256, OUTPUT_CAP = 64 * 1024 };

struct lookup {
	TAILQ_ENTRY(lookup) link;
	struct group_finder *finder;
	char *user;
	pid_t pid; /* 0: it waits for its turn */
	int fd;
	struct str output;
	struct event readable, patience;
};

struct group_finder {
	struct event_base *base;
	void (*found)(void *data, const char *user, struct str_list *groups);
	void *data;
	TAILQ_HEAD(, lookup) lookups;
	size_t running, count;
	struct event next;
};

static void destroy_lookup(struct lookup *lookup)
{
	struct group_finder *finder = lookup->finder;

	TAILQ_REMOVE(&finder->lookups, lookup, link);
	finder->count--;
	if (lookup->pid > 0) {
		event_del(&lookup->readable);
		event_del(&lookup->patience);
		close(lookup->fd);
		helper_end(lookup->pid);
		finder->running--;
	}
	str_finish(&lookup->output);
	free(lookup->user);
	free(lookup);
}

static void tell(struct lookup *lookup)
{
	struct group_finder *finder = lookup->finder;
	struct str_list groups cleanup_str_list = {0};
	char *user cleanup_free = mem_steal(&lookup->user);
	const char *text = str_text(&lookup->output);
	size_t length = lookup->output.length;

	/* Each name ends with a NUL; one that does not was cut off. */
	for (size_t at = 0; at < length && memchr(text + at, '\0', length - at);
	     at += strlen(text + at) + 1)
		str_list_add(&groups, text + at);
	destroy_lookup(lookup);
	timer_start(&finder->next, 0);
	finder->found(finder->data, user, &groups);
}

static void fail(struct lookup *lookup, const char *why)
{
	log_warning("id, asked for the groups of %s, %s: the groups of tony.application.acl.view "
		    "do not count for him now",
		    lookup->user, why);
	str_truncate(&lookup->output, 0);
	tell(lookup);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
	struct lookup *lookup = data;
	char buffer[4096];
	ssize_t got = read(fd, buffer, sizeof(buffer));

	if (got > 0 && lookup->output.length + (size_t)got <= OUTPUT_CAP)
		str_append_bytes(&lookup->output, buffer, (size_t)got);
	else if (got > 0 || (got < 0 && errno != EAGAIN))
		fail(lookup, "says more than can be right");
	else if (got == 0)
		tell(lookup);
}

static void on_patience_over(evutil_socket_t fd, short what, void *data)
{
	fail(data, "is silent");
}

/* `id` takes "0" and "+0" for a number of a user. */
static bool is_name(const char *user)
{
	return (isalpha((unsigned char)*user) || *user == '_') && strlen(user) <= NAME_MAX;
}

/* Its answer is read from *output. -1 and errno: it does not start. */
static pid_t start_program(const char *user, int *output)
{
	char *found cleanup_free = fs_find_program("id", getenv("PATH"));
	char *const arguments[] = {found ? found : "/usr/bin/id", "-Gnz", "--", (char *)user, NULL};
	char *const environment[] = {NULL};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pid_t pid = helper_start(arguments, NULL, environment, ends[1]);
	int error = errno;
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	errno = error;
	*output = ends[0];
	return pid;
}

static void start(struct lookup *lookup)
{
	struct group_finder *finder = lookup->finder;
	pid_t pid = is_name(lookup->user) ? start_program(lookup->user, &lookup->fd) : 0;

	if (pid < 0)
		log_warning("id, which tells the groups of %s, does not start: %s", lookup->user,
			    strerror(errno));
	if (pid <= 0) {
		tell(lookup);
		return;
	}
	lookup->pid = pid;
	finder->running++;
	event_assign(&lookup->readable, finder->base, lookup->fd, EV_READ | EV_PERSIST, on_readable,
		     lookup);
	event_add(&lookup->readable, NULL);
	event_assign(&lookup->patience, finder->base, -1, 0, on_patience_over, lookup);
	timer_start(&lookup->patience, GROUP_FINDER_PATIENCE_MS);
}

static struct lookup *find_waiting(const struct group_finder *finder)
{
	struct lookup *lookup;

	TAILQ_FOREACH(lookup, &finder->lookups, link)
	if (lookup->pid == 0)
		return lookup;
	return NULL;
}

static void on_next(evutil_socket_t fd, short what, void *data)
{
	struct group_finder *finder = data;
	struct lookup *waiting;

	while (finder->running < PROGRAMS_MAX && (waiting = find_waiting(finder)))
		start(waiting);
}

struct group_finder *group_finder_create(struct event_base *base,
					 void (*found)(void *data, const char *user,
						       struct str_list *groups),
					 void *data)
{
	struct group_finder *finder = mem_alloc(sizeof(*finder));

	finder->base = base;
	finder->found = found;
	finder->data = data;
	TAILQ_INIT(&finder->lookups);
	event_assign(&finder->next, base, -1, 0, on_next, finder);
	return finder;
}

void group_finder_destroy(struct group_finder *finder)
{
	struct lookup *lookup;

	if (!finder)
		return;
	while ((lookup = TAILQ_FIRST(&finder->lookups)))
		destroy_lookup(lookup);
	event_del(&finder->next);
	free(finder);
}

void group_finder_ask(struct group_finder *finder, const char *user)
{
	struct lookup *lookup;

	TAILQ_FOREACH(lookup, &finder->lookups, link)
	if (strcmp(lookup->user, user) == 0)
		return;
	if (finder->count >= WAITING_MAX) { /* whoever makes up so many names is not waited for */
		struct str_list none = {0};
		finder->found(finder->data, user, &none);
		return;
	}
	lookup = mem_alloc(sizeof(*lookup));
	lookup->finder = finder;
	lookup->user = mem_strdup(user);
	finder->count++;
	TAILQ_INSERT_TAIL(&finder->lookups, lookup, link);
	timer_start(&finder->next, 0);
}
