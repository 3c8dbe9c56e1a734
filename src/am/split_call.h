/*
 * Bodies of requests about splits (docs/rest.md), checked. A reader returns -1 and sets `err`,
 * which names the member; what it has read until then is to be freed all the same.
 */
#ifndef TONY_AM_SPLIT_CALL_H
#define TONY_AM_SPLIT_CALL_H

#include <jansson.h>

#include "am/split_record.h"
#include "job/machine.h"

enum { SPLIT_LEASES_MAX = 1000 /* of one answer */, SPLIT_WAIT_MAX_MS = 60000 };

/* The process that asks. */
int split_call_read_holder(const json_t *body, const struct machine *machine,
			   struct split_holder *holder, struct err *err);

/* The caller frees. NULL: `err`. */
char *split_call_read_fingerprint(const json_t *body, struct err *err);
int split_call_read_wait(const json_t *body, int64_t *wait_ms, struct err *err);

struct split_put {
	struct split_list_record list;
	int64_t first;
	struct str_list items;
	bool is_complete;
};
int split_call_read_put(const json_t *body, struct split_put *put, struct err *err);
void split_put_finish(struct split_put *put);

struct split_question {
	int64_t count;
	struct split_id *held; /* with has_held: what the caller has */
	size_t held_count;
	bool has_held;
};
int split_call_read_lease(const json_t *body, struct split_question *question, struct err *err);

/* Of "leases"; the caller frees. NULL: `err`. */
struct split_open *split_call_read_leases(const json_t *body, size_t *count, struct err *err);

/* A queue as a checkpoint of the job has it: split_queue_reset(). */
struct split_saved {
	char *fingerprint;
	int64_t items;
	char *list; /* the hash of its items, as a text; NULL: not told */
	struct split_position position;
	struct split_open *open;
	size_t open_count;
};
int split_call_read_saved(const json_t *body, struct split_saved *saved, struct err *err);
void split_saved_finish(struct split_saved *saved);

#endif
