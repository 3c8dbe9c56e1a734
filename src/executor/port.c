#include "executor/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t choose_address(const char *host, union address *address)
{
	*address = (union address){0};
	if (strchr(host, ':')) {
		address->v6.sin6_family = AF_INET6;
		if (str_equal(host, "::1"))
			address->v6.sin6_addr = in6addr_loopback;
		return sizeof(address->v6);
	}
	address->v4.sin_family = AF_INET;
	/* 127.0.0.2 is another node than 127.0.0.1 where one machine plays several. */
	if (str_equal(host, "localhost"))
		address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (!str_starts_with(host, "127.") ||
		 inet_pton(AF_INET, host, &address->v4.sin_addr) != 1)
		address->v4.sin_addr.s_addr = htonl(INADDR_ANY);
	return sizeof(address->v4);
}

char *port_address(const char *host, int number)
{
	char text[INET6_ADDRSTRLEN];
	union address address;

	choose_address(host, &address);
	if (address.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text));
		return mem_printf("[%s]:%d", text, number);
	}
	inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text));
	return mem_printf("%s:%d", text, number);
}

int port_hold(const char *host, struct port *port, struct err *err)
{
	union address address;
	socklen_t length = choose_address(host, &address);
	const int on = 1;

	int fd cleanup_close = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, "cannot hold a port: no socket");
	/* With port 0 the kernel shares no port that another socket is bound to, whatever the
	 * options: so no two executors hold the same one. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    bind(fd, &address.any, length) < 0 || getsockname(fd, &address.any, &length) < 0)
		return err_set_errno(err, "cannot hold a port");
	port->number = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
							       : address.v4.sin_port);
	port->fd = mem_steal_fd(&fd);
	return 0;
}

void port_release(struct port *port)
{
	mem_cleanup_close(&port->fd);
	port->fd = -1;
}

int port_renew(const char *host, struct port *port, struct err *err)
{
	struct port fresh;

	if (port_hold(host, &fresh, err) < 0)
		return -1;
	port_release(port);
	*port = fresh;
	return 0;
}

/* "  0: 0100007F:1F90 00000000:0000 0A ...": the kernel lists those that listen first, so a busy
 * machine's connections need not be read. */
static bool is_listed(FILE *table, int number)
{
	char line[512];
	unsigned port, state;

	if (!fgets(line, sizeof(line), table)) /* the headings */
		return false;
	while (fgets(line, sizeof(line), table)) {
		if (sscanf(line, "%*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &port, &state) !=
			    2 ||
		    state != TCP_LISTEN)
			return false;
		if (port == (unsigned)number)
			return true;
	}
	return false;
}

bool port_is_served(int number)
{
	static const char *const tables[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
	bool found = false;

	for (size_t i = 0; i < array_length(tables) && !found; i++) {
		FILE *table = fopen(tables[i], "re");
		if (!table)
			continue;
		found = is_listed(table, number);
		fclose(table);
	}
	return found;
}
