/* Addresses of a cluster spec as text. */
#ifndef TONY_FRAMEWORK_ADDRESS_H
#define TONY_FRAMEWORK_ADDRESS_H

#include "framework/framework.h"

/* Of the task itself; NULL when it has none. */
const struct cluster_address *address_of_task(const struct framework_task *task);

/* "host:port", an IPv6 address in brackets. The caller frees. */
char *address_text(const struct cluster_address *address);

/* The reverse: "host:port" or "[v6]:port"; -1: it is not of that form. The host is the caller's. */
int address_parse(const char *text, struct cluster_address *address);

/* Is the host a number of IPv4, as libraries want it that take no names? */
bool address_is_ipv4(const char *host);

/* ["host:port", ...]; a task without an address is null. */
json_t *address_list_to_json(const struct cluster_type *type);

/* The longest string the kernel takes as one environment entry (MAX_ARG_STRLEN), "KEY=" and the
 * final NUL included. */
#define ENVIRONMENT_ENTRY_MAX (128 * 1024)

#endif
