/* The kernel's answers: the user who listens, the user at the other end. Root also plays another
 * user. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/socket_owner.h"
#include "net/socket_table.h"

enum { STRANGER = 65533 };

static int listen_at(const char *host, struct net_address *address)
{
	net_address_from_host(host, 0, address);
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address->storage, address->length), 0);
	assert_int_equal(listen(fd, 8), 0);
	address->length = sizeof(address->storage);
	getsockname(fd, (struct sockaddr *)&address->storage, &address->length);
	return fd;
}

static int connect_to(const struct net_address *address)
{
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address->storage, address->length),
			 0);
	return fd;
}

/* A new socket belongs to the user that the process is for files. */
static int become(uid_t uid)
{
	return geteuid() == 0 ? setfsuid(uid) : 0;
}

static uid_t stranger(void)
{
	return geteuid() == 0 ? STRANGER : geteuid();
}

static void count_one(void *data, const struct socket_listener *listener)
{
	(void)listener;
	*(int *)data += 1;
}

static int count_in_table(const struct net_address *address)
{
	int count = 0;

	assert_int_equal(socket_table_listeners(net_address_port(address), count_one, &count), 0);
	return count;
}

static uid_t listener_of(const struct net_address *address)
{
	struct err err cleanup_err = {0};
	uid_t uid = (uid_t)-1;

	assert_int_equal(socket_owner_of_listener(address, NULL, &uid, &err), SOCKET_OWNER_KNOWN);
	struct socket_entry listed;
	assert_int_equal(socket_table_find(address, NULL, &listed), 1);
	assert_int_equal(listed.uid, uid);
	assert_false(listed.is_accepted);
	assert_int_equal(count_in_table(address), 1);
	return uid;
}

/* The table says the same of a connection that was accepted, and of another that it was not. */
static void check_table(int fd, bool is_accepted, uid_t uid)
{
	struct net_address ours = {.length = sizeof(ours.storage)};
	struct net_address theirs = {.length = sizeof(theirs.storage)};
	struct socket_entry listed;

	getsockname(fd, (struct sockaddr *)&ours.storage, &ours.length);
	getpeername(fd, (struct sockaddr *)&theirs.storage, &theirs.length);
	assert_int_equal(socket_table_find(&theirs, &ours, &listed), 1);
	assert_int_equal(listed.is_accepted, is_accepted);
	if (is_accepted)
		assert_int_equal(listed.uid, uid);
}

static uid_t peer_of(int fd, bool is_accepted)
{
	struct err err cleanup_err = {0};
	uid_t uid = (uid_t)-1;

	assert_int_equal(socket_owner_of_peer(fd, &uid, &err), SOCKET_OWNER_KNOWN);
	check_table(fd, is_accepted, uid);
	return uid;
}

static void test_a_listener_and_its_connections_have_its_owner(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "::1", "127.0.0.9"};
	struct net_address address;

	for (size_t i = 0; i < array_length(hosts); i++) {
		become(stranger());
		int listener = listen_at(hosts[i], &address);
		become(0);
		int ours = connect_to(&address);
		assert_int_equal(listener_of(&address), stranger());
		assert_int_equal(peer_of(ours, false), stranger()); /* not accepted yet */
		become(stranger());
		int theirs = accept(listener, NULL, NULL);
		become(0);
		assert_int_equal(peer_of(ours, true), stranger());
		assert_int_equal(peer_of(theirs, true), geteuid());
		close(listener);
		assert_int_equal(peer_of(ours, true), stranger());
		close(ours);
		close(theirs);
	}
}

/* A socket of IPv6 takes connections of IPv4, too. */
static void test_a_listener_of_both_families_is_found_by_an_address_of_ipv4(void **state)
{
	struct net_address any, address;
	int listener = listen_at("::", &any);

	net_address_from_host("127.0.0.1", ntohs(((struct sockaddr_in6 *)&any.storage)->sin6_port),
			      &address);
	int ours = connect_to(&address);
	assert_int_equal(listener_of(&address), geteuid());
	assert_int_equal(peer_of(ours, false), geteuid());
	close(ours);
	close(listener);
}

/* The one who accepted the connection has it, whoever listens there now. */
static void test_who_listens_now_says_nothing_of_a_connection_that_was_accepted(void **state)
{
	struct net_address address;

	become(stranger());
	int first = listen_at("127.0.0.1", &address);
	int ours = connect_to(&address);
	int theirs = accept(first, NULL, NULL);
	close(first);
	become(0);
	const int on = 1;
	int second = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(second, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(theirs, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(second, (struct sockaddr *)&address.storage, address.length), 0);
	assert_int_equal(listen(second, 8), 0);
	assert_int_equal(listener_of(&address), geteuid());
	assert_int_equal(peer_of(ours, true), stranger());
	close(second);
	close(ours);
	close(theirs);
}

static void test_nobody_listens(void **state)
{
	struct err err cleanup_err = {0};
	struct net_address address;
	uid_t uid;
	int listener = listen_at("127.0.0.1", &address);

	close(listener);
	assert_int_equal(socket_owner_of_listener(&address, NULL, &uid, &err), SOCKET_OWNER_NONE);
	struct socket_entry listed;
	assert_int_equal(socket_table_find(&address, NULL, &listed), 0);
	assert_int_equal(count_in_table(&address), 0);
}

static void assert_listener(const char *host, int port, const struct str_list *others, uid_t uid)
{
	struct err err cleanup_err = {0};
	struct net_address address;
	uid_t found = (uid_t)-1;

	net_address_from_host(host, port, &address);
	assert_int_equal(socket_owner_of_listener(&address, others, &found, &err),
			 uid == (uid_t)-1 ? SOCKET_OWNER_NONE : SOCKET_OWNER_KNOWN);
	if (uid != (uid_t)-1)
		assert_int_equal(found, uid);
}

/* Of several who listen at one port, each at an address of its own. */
static void test_at_any_address_the_one_who_is_not_trusted_is_told(void **state)
{
	struct str_list others cleanup_str_list = {0};
	struct net_address address;

	int theirs = -1, ours = -1, port = 0;
	do { /* other programs of the machine may have the port at one of the addresses */
		close(theirs);
		close(ours);
		become(stranger());
		theirs = listen_at("127.0.0.9", &address);
		port = net_address_port(&address);
		become(0);
		ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		net_address_from_host("127.0.0.1", port, &address);
	} while (bind(ours, (struct sockaddr *)&address.storage, address.length) < 0);
	assert_int_equal(listen(ours, 8), 0);
	assert_listener("127.0.0.1", port, NULL, geteuid());
	assert_listener("127.0.0.9", port, NULL, stranger());
	assert_listener("127.0.0.2", port, NULL, (uid_t)-1);
	assert_listener("::1", port, NULL, (uid_t)-1);
	assert_listener("0.0.0.0", port, NULL, stranger());
	assert_listener("::", port, NULL, stranger());
	str_list_add_format(&others, "%u", stranger());
	assert_listener("127.0.0.9", port, &others, stranger());
	close(theirs);
	assert_listener("0.0.0.0", port, NULL, geteuid());
	close(ours);
}

static void test_a_listener_of_ipv6_alone_gets_nothing_of_ipv4(void **state)
{
	struct net_address address;
	const int on = 1;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	net_address_from_host("::", 0, &address);
	assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address.storage, address.length), 0);
	assert_int_equal(listen(fd, 8), 0);
	address.length = sizeof(address.storage);
	getsockname(fd, (struct sockaddr *)&address.storage, &address.length);
	int port = net_address_port(&address);
	assert_listener("::1", port, NULL, geteuid());
	assert_listener("0.0.0.0", port, NULL, geteuid());
	assert_listener("127.0.0.1", port, NULL, (uid_t)-1);
	close(fd);
}

/* ---- callers that were let in by an address ------------------------------------------------- */

static void set_open_files(rlim_t most)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = most;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Of a connection of this user: whether it is let in, before and after it closes its end. Nobody is
 * while this process has no descriptor left to ask the kernel by. */
static void assert_let_in(const char *host, uid_t user, const struct str_list *users,
			  bool is_let_in)
{
	struct net_address address;
	struct rlimit before;
	int listener = listen_at(host, &address);

	become(user);
	int theirs = connect_to(&address);
	become(0);
	int ours = accept(listener, NULL, NULL);
	assert_int_equal(socket_owner_lets_in(ours, users), is_let_in);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	set_open_files(0);
	assert_false(socket_owner_lets_in(ours, users));
	set_open_files(before.rlim_cur);
	close(theirs);
	assert_false(socket_owner_lets_in(ours, users));
	close(ours);
	close(listener);
}

static void check_callers(const char *host)
{
	struct str_list users cleanup_str_list = {0};

	if (geteuid() == 0)
		assert_let_in(host, 0, &users, true);
	assert_let_in(host, stranger(), &users, false);
	str_list_add_format(&users, "%u", stranger());
	assert_let_in(host, stranger(), &users, true);
}

static void test_a_caller_of_this_machine_is_let_in_by_its_user(void **state)
{
	check_callers("127.0.0.1");
}

static void assert_here(const char *host, int is_here)
{
	struct net_address address;

	assert_int_equal(net_address_from_host(host, 0, &address), 0);
	assert_int_equal(socket_owner_is_here(&address), is_here);
}

static void test_addresses_of_this_machine_are_known(void **state)
{
	assert_here("127.0.0.1", 1);
	assert_here("127.9.9.9", 1);
	assert_here("::1", 1);
	assert_here("192.0.2.77", 0);
	assert_here("2001:db8::77", 0);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* This process stays in it. */
static void enter_network_with(const char *host)
{
	struct ifreq interface = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	char map[64];
	uid_t uid = geteuid();

	assert_int_equal(unshare(CLONE_NEWNET | (uid == 0 ? 0 : CLONE_NEWUSER)), 0);
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (uid != 0)
		write_file("/proc/self/uid_map", map);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &interface), 0);
	struct sockaddr_in *address = (struct sockaddr_in *)&interface.ifr_addr;
	*address = (struct sockaddr_in){.sin_family = AF_INET};
	inet_pton(AF_INET, host, &address->sin_addr);
	snprintf(interface.ifr_name, sizeof(interface.ifr_name), "lo:1");
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &interface), 0);
	close(fd);
}

static void test_an_address_of_a_network_is_this_machines_too(void **state)
{
	enter_network_with("192.0.2.5");
	assert_here("192.0.2.5", 1);
	assert_here("192.0.2.77", 1); /* of a subnet at loopback programs can have every address */
	assert_here("198.51.100.77", 0);
	assert_here("::1", 1);
	check_callers("192.0.2.5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_listener_and_its_connections_have_its_owner),
		cmocka_unit_test(test_a_listener_of_both_families_is_found_by_an_address_of_ipv4),
		cmocka_unit_test(
			test_who_listens_now_says_nothing_of_a_connection_that_was_accepted),
		cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_at_any_address_the_one_who_is_not_trusted_is_told),
		cmocka_unit_test(test_a_listener_of_ipv6_alone_gets_nothing_of_ipv4),
		cmocka_unit_test(test_a_caller_of_this_machine_is_let_in_by_its_user),
		cmocka_unit_test(test_addresses_of_this_machine_are_known),
		cmocka_unit_test(test_an_address_of_a_network_is_this_machines_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
