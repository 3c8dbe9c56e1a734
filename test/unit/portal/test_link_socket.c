/* `tony portal --link` reaches the portal of its own user, and nobody else's. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <event2/event.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "portal/link_socket.h"

#define ADDRESS "127.0.0.1:19886"
#define OTHER	"127.0.0.1:19887"

static char *make_link(void *data)
{
	return mem_strdup(data);
}

struct portal {
	struct event_base *base;
	struct link_socket *links;
};

static void open_portal(struct portal *portal, const char *folder, const char *address,
			const char *path)
{
	struct err err cleanup_err = {0};

	portal->base = event_base_new();
	portal->links =
		link_socket_open(portal->base, folder, address, make_link, (void *)path, &err);
	assert_string_equal(err_message(&err), "no error");
}

static void close_portal(struct portal *portal)
{
	link_socket_close(portal->links);
	event_base_free(portal->base);
}

/* From a process of its own, with which the portal shares a loop no longer than it takes. */
static void ask(struct portal *portal, const char *folder, const char *address,
		const char *expected)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct err err cleanup_err = {0};
		char *path cleanup_free = link_socket_ask(folder, address, &err);
		const char *got = path ? path : err_message(&err);
		_exit(strstr(got, expected) ? 0 : 1);
	}
	if (portal)
		event_base_loop(portal->base, EVLOOP_ONCE);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A folder whose path has no room in the address of a socket. */
static char *deep_folder(void **state)
{
	struct str path = {0};

	str_append(&path, scratch_path(state, "deep"));
	while (path.length < 300)
		str_append(&path, "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	assert_int_equal(fs_make_directories(path.text, 0700, NULL), 0);
	return str_steal(&path);
}

static int mode_of_socket(const char *folder)
{
	char *pattern cleanup_free = mem_printf("%s/*", folder);
	struct stat status;
	glob_t found;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	assert_int_equal(lstat(found.gl_pathv[0], &status), 0);
	globfree(&found);
	return (int)status.st_mode;
}

/* promise: S35 */
static void the_way_to_a_portal_is_its_users_own(void **state)
{
	char *folder cleanup_free = deep_folder(state);
	struct portal portal;

	umask(0);
	open_portal(&portal, folder, ADDRESS, "https://" ADDRESS "/login?code=feed");
	assert_int_equal(mode_of_socket(folder), S_IFSOCK | 0600);
	ask(&portal, folder, ADDRESS, "https://" ADDRESS "/login?code=feed");
	close_portal(&portal);
	ask(NULL, folder, ADDRESS, "nobody listens: start it with tony portal");
}

static void each_portal_has_its_own(void **state)
{
	const char *folder = scratch_path(state, ".");
	struct portal one, other;

	open_portal(&one, folder, ADDRESS, "http://" ADDRESS "/login?code=1");
	open_portal(&other, folder, OTHER, "http://" OTHER "/login?code=2");
	ask(&one, folder, ADDRESS, "login?code=1");
	ask(&other, folder, OTHER, "login?code=2");
	close_portal(&one);
	ask(NULL, folder, ADDRESS, "nobody listens");
	close_portal(&other);
}

/* In a folder whose name means something to glob(). */
static void portals_are_found_wherever_they_listen(void **state)
{
	char *folder cleanup_free = mem_printf("%s/a[b]*", scratch_path(state, "."));
	struct portal portals[2];
	int status;

	assert_int_equal(fs_make_directories(folder, 0700, NULL), 0);
	open_portal(&portals[0], folder, ADDRESS, "http://" ADDRESS "/login?code=1");
	open_portal(&portals[1], folder, OTHER, "http://\033[31m/login?code=2");
	pid_t child = fork();
	if (child == 0) {
		struct str_list links cleanup_str_list = {0};
		link_socket_ask_all(folder, &links);
		_exit(links.count == 1 && strstr(links.items[0], ADDRESS) ? 0 : 1);
	}
	for (size_t i = 0; i < array_length(portals); i++)
		event_base_loop(portals[i].base, EVLOOP_ONCE);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < array_length(portals); i++)
		close_portal(&portals[i]);
}

static void what_a_killed_portal_left_is_replaced(void **state)
{
	const char *folder = scratch_path(state, ".");
	struct portal portal;
	int status;
	pid_t killed = fork();

	if (killed == 0) {
		open_portal(&portal, folder, ADDRESS, "http://" ADDRESS "/login?code=0");
		_exit(0);
	}
	waitpid(killed, &status, 0);
	assert_int_equal(mode_of_socket(folder), S_IFSOCK | 0600);
	ask(NULL, folder, ADDRESS, "nobody listens");
	open_portal(&portal, folder, ADDRESS, "http://" ADDRESS "/login?code=1");
	ask(&portal, folder, ADDRESS, "login?code=1");
	close_portal(&portal);
}

/* Of what is printed on a terminal. */
static void nothing_but_a_link_is_taken_for_one(void **state)
{
	static const char *const lines[] = {"",
					    "\033[31m",
					    "login?code=12",
					    "http://" ADDRESS "/login?code=",
					    "http://" ADDRESS "/login?code=\033[31m",
					    "http://" ADDRESS "/login?code=12\nTony: all is well",
					    "http://" OTHER "/login?code=12",
					    "http://evil.example/login?code=12"};
	const char *folder = scratch_path(state, ".");

	for (size_t i = 0; i < array_length(lines); i++) {
		struct portal portal;
		open_portal(&portal, folder, ADDRESS, lines[i]);
		ask(&portal, folder, ADDRESS, "what answers is no portal");
		close_portal(&portal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(the_way_to_a_portal_is_its_users_own),
		scratch_test(each_portal_has_its_own),
		scratch_test(portals_are_found_wherever_they_listen),
		scratch_test(what_a_killed_portal_left_is_replaced),
		scratch_test(nothing_but_a_link_is_taken_for_one),
	};

	return cmocka_run_group_tests_name("links to the portal", tests, NULL, NULL);
}
