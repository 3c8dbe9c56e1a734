/* Socket addresses as text: "127.0.0.1:4000", "[::1]:4000"; "localhost" means 127.0.0.1. Other
 * names need net/resolve.h. */
#ifndef TONY_NET_ADDRESS_H
#define TONY_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct net_address {
	struct sockaddr_storage storage;
	socklen_t length;
};

/* Numeric only. Port 0 (any) is fine here. */
int net_address_parse(const char *text, struct net_address *address, struct err *err);

/* HOST:PORT into its parts: HOST is numeric, without brackets, or what may be a name (letters,
 * digits, "-", "_", "."; at most 253). The caller frees *host. */
int net_address_split(const char *text, char **host, int *port, struct err *err);

/* HOST or HOST:PORT, as a request's Host has it; *port is -1 where there is none. */
int net_address_split_host(const char *text, char **host, int *port, struct err *err);

/* -1 when `host` (without brackets) is not numeric. */
int net_address_from_host(const char *host, int port, struct net_address *address);

/* 127.0.0.0/8, also as an address of IPv6, or ::1. */
bool net_address_is_loopback(const struct net_address *address);

/* 0.0.0.0 or ::. */
bool net_address_is_any(const struct net_address *address);

int net_address_port(const struct net_address *address);

/* In one form for both families: an address of IPv4 is mapped into one of IPv6. */
struct in6_addr net_address_in6(const struct net_address *address);
struct in6_addr net_address_map_v4(uint32_t network_order);

/* "127.0.0.1" or "::1"; the caller frees. */
char *net_address_host(const struct net_address *address);

/* "127.0.0.1:4000" or "[::1]:4000"; the caller frees. */
char *net_address_text(const struct net_address *address);

/* Any port of the same address: "127.0.0.1:0" of "127.0.0.1:4000". The caller frees. */
char *net_address_any_port(const char *text);

#endif
