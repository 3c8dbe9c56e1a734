#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static int parse_host(const char *host, int port, struct net_address *address)
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

int net_address_parse(const char *text, struct net_address *address, struct err *err)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool in_brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
	int64_t port;

	if (!colon || str_parse_int(colon + 1, 0, 65535, &port) < 0)
		return err_set(err, ERR_INPUT, "\"%s\" is not HOST:PORT", text);
	char *host cleanup_free =
		in_brackets ? mem_strndup(text + 1, length - 2) : mem_strndup(text, length);
	if ((strchr(host, ':') && !in_brackets) || parse_host(host, (int)port, address) < 0)
		return err_set(
			err, ERR_INPUT,
			"\"%s\" is not a numeric address such as 127.0.0.1:4000 or [::1]:4000",
			text);
	return 0;
}

char *net_address_text(const struct net_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->storage.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		return mem_printf("[%s]:%d", host, ntohs(v6->sin6_port));
	}
	inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
	return mem_printf("%s:%d", host, ntohs(v4->sin_port));
}
