#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { NAME_CAP = 253 };

int net_address_from_host(const char *host, int port, struct net_address *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address->storage;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->storage;

	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
		      &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		address->length = sizeof(*v4);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return -1;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	address->length = sizeof(*v6);
	return 0;
}

static bool is_name(const char *host)
{
	size_t length = strlen(host);

	return length > 0 && length <= NAME_CAP && host[0] != '.' && host[0] != '-' &&
	       strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
		       length;
}

int net_address_split(const char *text, char **host, int *port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool in_brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
	struct net_address address;
	int64_t number;

	if (!colon || str_parse_int(colon + 1, 0, 65535, &number) < 0)
		return err_set(err, ERR_INPUT, "\"%s\" is not HOST:PORT", text);
	char *name cleanup_free =
		in_brackets ? mem_strndup(text + 1, length - 2) : mem_strndup(text, length);
	bool is_good = in_brackets ? strchr(name, ':') &&
					     net_address_from_host(name, (int)number, &address) == 0
				   : is_name(name);
	if (!is_good)
		return err_set(err, ERR_INPUT,
			       "\"%s\" is not HOST:PORT: the host is neither a name nor numeric",
			       text);
	*host = mem_steal(&name);
	*port = (int)number;
	return 0;
}

int net_address_split_host(const char *text, char **host, int *port, struct err *err)
{
	const char *behind_name = text[0] == '[' ? strchr(text, ']') : text;
	char *with_port cleanup_free = mem_printf("%s:0", text);

	if (behind_name && strchr(behind_name, ':'))
		return net_address_split(text, host, port, err);
	if (net_address_split(with_port, host, port, NULL) < 0)
		return err_set(err, ERR_INPUT, "\"%s\" is neither HOST nor HOST:PORT", text);
	*port = -1;
	return 0;
}

bool net_address_is_loopback(const struct net_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	if (address->storage.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) &&
		v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

int net_address_parse(const char *text, struct net_address *address, struct err *err)
{
	char *host cleanup_free = NULL;
	int port = 0;

	if (net_address_split(text, &host, &port, err) < 0)
		return -1;
	if (net_address_from_host(host, port, address) < 0)
		return err_set(
			err, ERR_INPUT,
			"\"%s\" is not a numeric address such as 127.0.0.1:4000 or [::1]:4000",
			text);
	return 0;
}

bool net_address_is_any(const struct net_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	return address->storage.ss_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)
						      : v4->sin_addr.s_addr == INADDR_ANY;
}

int net_address_port(const struct net_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	return ntohs(address->storage.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

struct in6_addr net_address_map_v4(uint32_t network_order)
{
	struct in6_addr mapped = {.s6_addr[10] = 0xff, .s6_addr[11] = 0xff};

	memcpy(&mapped.s6_addr[12], &network_order, sizeof(network_order));
	return mapped;
}

struct in6_addr net_address_in6(const struct net_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	return address->storage.ss_family == AF_INET6 ? v6->sin6_addr
						      : net_address_map_v4(v4->sin_addr.s_addr);
}

char *net_address_host(const struct net_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->storage.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
	return mem_strdup(host);
}

char *net_address_text(const struct net_address *address)
{
	char *host cleanup_free = net_address_host(address);

	return mem_printf(address->storage.ss_family == AF_INET6 ? "[%s]:%d" : "%s:%d", host,
			  net_address_port(address));
}

char *net_address_any_port(const char *text)
{
	return mem_printf("%.*s:0", (int)(strrchr(text, ':') - text), text);
}
