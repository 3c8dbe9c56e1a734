/*
 * An AM keeps its queues of splits for the one that follows as keys and values of a store
 * (kept_kv.h). Values are numbers with blanks between, and in a list's record its fingerprint.
 *
 *   in the store of lists    NAME             fingerprint, passes, shuffled (0, 1), seed, lease_ms,
 *                                             count of items once it is complete, else -1;
 *                                             hash of the items
 *                            NAME/FIRST       a pack of items (split_items.h), from this number on
 *   in the store of states   NAME             pass, next
 *                            NAME/PASS/SPLIT  state, task, attempt, epoch, restart, process, offset
 *                            NAME/t/TASK      how many splits the task has done
 */
#ifndef TONY_AM_SPLIT_RECORD_H
#define TONY_AM_SPLIT_RECORD_H

#include "am/split_queue.h"
#include "base/str.h"

enum { SPLIT_NAME_MAX = 64, SPLIT_FINGERPRINT_MAX = 128 };

bool split_is_name(const char *name); /* letters, digits, ".", "_", "-" */
bool split_is_fingerprint(const char *text);

struct split_list_record {
	char fingerprint[SPLIT_FINGERPRINT_MAX + 1];
	int64_t passes;
	bool is_shuffled;
	uint64_t seed;
	int64_t lease_ms;
	int64_t count; /* -1: it is not complete */
	uint64_t hash; /* of all items in their order; INT64_MAX at most */
};
/* The caller frees. */
char *split_list_record_text(const struct split_list_record *record);
/* -1: it is none. */
int split_list_record_parse(const void *value, size_t length, struct split_list_record *record);

struct split_state_record {
	char name[SPLIT_NAME_MAX + 1];
	enum { SPLIT_POSITION, SPLIT_OPEN, SPLIT_COUNT } kind;
	struct split_position position;
	struct split_open open;
	size_t task;
	int64_t done;
};
/* The caller frees both. */
char *split_state_record_key(const struct split_state_record *record);
char *split_state_record_text(const struct split_state_record *record);
/* -1: it is none. */
int split_state_record_parse(const char *key, const void *value, size_t length,
			     struct split_state_record *record);

#endif
