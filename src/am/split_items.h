/*
 * Items of a list of splits in little memory: texts that follow one another share their beginnings
 * and ends. A pack is, all numbers little-endian,
 *
 *   count (4 bytes), where each 64th item begins (4 bytes each, from the pack's beginning); items
 *
 * and an item is the bytes that it shares with the one before at its beginning, those at its end,
 * how many are between, and these; numbers of it have 7 bits a byte, the lowest first, and the high
 * bit where more follow. Each 64th item shares nothing.
 */
#ifndef TONY_AM_SPLIT_ITEMS_H
#define TONY_AM_SPLIT_ITEMS_H

#include <stddef.h>

#include "base/str.h"

enum { SPLIT_ITEM_MAX = 1024, /* bytes */ SPLIT_ITEMS_MAX = 10000 /* of a pack */ };

/* Appends a pack of items, SPLIT_ITEMS_MAX at most of SPLIT_ITEM_MAX bytes each. */
void split_items_pack(const struct str_list *items, struct str *bytes);

/* How many items the pack has; 0: it is none. */
size_t split_items_check(const void *bytes, size_t length);

/* Appends an item of a pack that was checked. */
void split_items_get(const void *bytes, size_t length, size_t number, struct str *item);

#endif
