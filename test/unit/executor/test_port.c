/* Ports that are held for a task. */
#include "../base/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "executor/port.h"

/* As a program with or without SO_REUSEADDR does it; -1: refused. */
static int bind_to(int number, int option)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)number),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (option)
		setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Likewise. */
static int listen_on(int number, int option)
{
	int fd = bind_to(number, option);

	if (fd < 0 || listen(fd, 5) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool can_listen(int number, int option)
{
	int fd = listen_on(number, option);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* SO_REUSEADDR asks for no user: other users set it, too. */
static void only_a_shared_port_can_be_had_with_reuseaddr(void **state)
{
	struct err err = {0};
	struct port port;

	assert_success(port_hold("127.0.0.1", &port, &err), &err);
	assert_true(port.number > 0);
	for (int i = 0; i < 2; i++) {
		assert_false(can_listen(port.number, SO_REUSEADDR));
		assert_true(can_listen(port.number, SO_REUSEPORT));
		port_share(&port, true);
		assert_true(can_listen(port.number, SO_REUSEADDR));
		assert_true(can_listen(port.number, SO_REUSEPORT));
		assert_false(can_listen(port.number, 0));
		port_share(&port, false);
	}
	port_release(&port);
}

static void others_are_refused_until_it_is_released(void **state)
{
	struct err err = {0};
	struct port port;

	assert_success(port_hold("127.0.0.1", &port, &err), &err);
	int number = port.number;
	assert_int_equal(listen_on(number, 0), -1);
	port_release(&port);
	assert_int_equal(port.number, number);
	assert_int_equal(port.fd, -1);
	int fd = listen_on(number, 0);
	assert_true(fd >= 0);
	close(fd);
}

static void nothing_answers_on_a_held_port(void **state)
{
	struct err err = {0};
	struct port port;

	assert_success(port_hold("127.0.0.1", &port, &err), &err);
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port.number),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	close(fd);
	port_release(&port);
}

static void held_ports_are_all_different(void **state)
{
	enum { COUNT = 500 };
	struct port ports[COUNT];
	struct err err = {0};

	for (int i = 0; i < COUNT; i++) {
		assert_success(port_hold("127.0.0.1", &ports[i], &err), &err);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(ports[i].number, ports[k].number);
	}
	for (int i = 0; i < COUNT; i++)
		port_release(&ports[i]);
}

static void assert_bound_to(const char *host, in_addr_t expected)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	struct err err = {0};
	struct port port;

	assert_success(port_hold(host, &port, &err), &err);
	assert_int_equal(getsockname(port.fd, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(ntohl(address.sin_addr.s_addr), expected);
	assert_int_equal(ntohs(address.sin_port), port.number);
	port_release(&port);
}

/* A listener of IPv6 alone at ::1; false: refused. */
static bool can_listen_on_ipv6(int number, int option)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6,
				       .sin6_port = htons((uint16_t)number),
				       .sin6_addr = in6addr_loopback};
	const int on = 1;
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on));
	bool result =
		bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 5) == 0;
	close(fd);
	return result;
}

/* promise: S36 */
static void a_port_of_a_host_is_held_at_its_addresses_of_both_protocols(void **state)
{
	static const char *const hosts[] = {"node-7.example.org", "10.1.2.3", "fd00::5"};

	for (size_t i = 0; i < array_length(hosts); i++) {
		struct err err = {0};
		struct port port;
		assert_success(port_hold(hosts[i], &port, &err), &err);
		assert_false(can_listen(port.number, SO_REUSEADDR));
		assert_true(can_listen(port.number, SO_REUSEPORT));
		assert_false(can_listen_on_ipv6(port.number, SO_REUSEADDR));
		assert_true(can_listen_on_ipv6(port.number, SO_REUSEPORT));
		port_share(&port, true);
		assert_true(can_listen(port.number, SO_REUSEADDR));
		assert_true(can_listen_on_ipv6(port.number, SO_REUSEADDR));
		port_release(&port);
	}
}

static void the_address_follows_the_host(void **state)
{
	assert_bound_to("127.0.0.1", INADDR_LOOPBACK);
	assert_bound_to("127.0.0.3", INADDR_LOOPBACK + 2);
	assert_bound_to("localhost", INADDR_LOOPBACK);
}

static enum port_listener look(const char *host, int number)
{
	const struct str_list nobody = {0};
	struct err err = {0};
	uid_t thief;

	enum port_listener found = port_look(host, number, &nobody, &thief, &err);
	assert_success(found == PORT_UNKNOWN ? -1 : 0, &err);
	return found;
}

/* Other users' listeners: test/security/test_ports.py. */
static void a_listener_is_seen(void **state)
{
	struct err err = {0};
	struct port port;

	assert_success(port_hold("127.0.0.1", &port, &err), &err);
	assert_int_equal(look("127.0.0.1", port.number), PORT_UNSERVED); /* held only */
	int fd = listen_on(port.number, SO_REUSEPORT);
	assert_int_equal(look("127.0.0.1", port.number), PORT_SERVED);
	assert_int_equal(look("127.0.0.3", port.number), PORT_UNSERVED);
	assert_int_equal(look("node-7.example.org", port.number), PORT_SERVED);
	close(fd);
	assert_int_equal(look("127.0.0.1", port.number), PORT_UNSERVED);
	port_release(&port);
}

static void a_listener_on_ipv6_is_seen(void **state)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	int number = ntohs(address.sin6_port);
	assert_int_equal(look("127.0.0.1", number), PORT_UNSERVED);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(look("127.0.0.1", number), PORT_SERVED);
	assert_int_equal(look("::1", number), PORT_SERVED);
	assert_int_equal(look("node-7.example.org", number), PORT_SERVED);
	close(fd);
}

/* A name may lead there. */
static void a_listener_of_ipv6_alone_is_seen(void **state)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	int number = ntohs(address.sin6_port);
	assert_int_equal(look("node-7.example.org", number), PORT_UNSERVED);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(look("node-7.example.org", number), PORT_SERVED);
	assert_int_equal(look("127.0.0.1", number), PORT_UNSERVED);
	close(fd);
}

/* As another user's: test/security/test_ports.py. */
static void a_socket_that_never_listens_is_found(void **state)
{
	struct err err = {0};
	struct port port;
	const int off = 0;

	assert_success(port_hold("127.0.0.1", &port, &err), &err);
	port_share(&port, true);
	assert_false(port_is_refused(port.number));
	int fd = bind_to(port.number, SO_REUSEADDR);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off));
	assert_int_equal(look("127.0.0.1", port.number), PORT_UNSERVED);
	assert_true(port_is_refused(port.number));
	close(fd);
	assert_false(port_is_refused(port.number));
	port_release(&port);
}

static void a_program_listens_where_its_port_is_held(void **state)
{
	assert_text_freed(port_address("127.0.0.1", 4001), "127.0.0.1:4001");
	assert_text_freed(port_address("127.0.0.3", 4001), "127.0.0.3:4001");
	assert_text_freed(port_address("localhost", 4001), "127.0.0.1:4001");
	assert_text_freed(port_address("::1", 4001), "[::1]:4001");
	/* The name by which others know a task need not be one that this machine has. */
	assert_text_freed(port_address("node-a", 4001), "0.0.0.0:4001");
	assert_text_freed(port_address("10.0.0.5", 4001), "0.0.0.0:4001");
	assert_text_freed(port_address("fd00::5", 4001), "[::]:4001");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_shared_port_can_be_had_with_reuseaddr),
		cmocka_unit_test(others_are_refused_until_it_is_released),
		cmocka_unit_test(a_socket_that_never_listens_is_found),
		cmocka_unit_test(nothing_answers_on_a_held_port),
		cmocka_unit_test(held_ports_are_all_different),
		cmocka_unit_test(the_address_follows_the_host),
		cmocka_unit_test(a_port_of_a_host_is_held_at_its_addresses_of_both_protocols),
		cmocka_unit_test(a_listener_of_ipv6_alone_is_seen),
		cmocka_unit_test(a_listener_is_seen),
		cmocka_unit_test(a_listener_on_ipv6_is_seen),
		cmocka_unit_test(a_program_listens_where_its_port_is_held),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}
