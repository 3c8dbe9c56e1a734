/*
 * The order of a pass: a permutation by seed and pass that needs no memory. It is part of what a
 * checkpoint of a job relies on, and stays as it is from version to version.
 */
#ifndef TONY_AM_SPLIT_ORDER_H
#define TONY_AM_SPLIT_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct split_order {
	size_t count;
	uint64_t seed;
	int64_t pass;
};

size_t split_order_at(const struct split_order *order, size_t position);
/* Where in the order a split is. */
size_t split_order_find(const struct split_order *order, size_t split);

#endif
