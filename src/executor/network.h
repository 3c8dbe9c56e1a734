/*
 * What processes send and receive over TCP, asked of the kernel socket by socket: in a task's
 * network namespace its interfaces carry everybody's traffic.
 *
 * Bytes of a socket that was closed since the last look are not seen.
 */
#ifndef TONY_EXECUTOR_NETWORK_H
#define TONY_EXECUTOR_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc.h"

struct network;

struct network *network_create(void);
void network_destroy(struct network *network); /* NULL is fine */

/* A new program starts: counts from 0. */
void network_begin(struct network *network);

/* What these processes sent and received since, in bytes, by the sum of all looks. False: the
 * kernel does not tell. */
bool network_look(struct network *network, const struct proc_list *processes, uint64_t *receive,
		  uint64_t *send);

#endif
