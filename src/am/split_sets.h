/*
 * The job's data sets, each a list of items and a queue of them (split_queue.h), which the AM that
 * follows has as well: lists in one file, which is only appended to, states in another one.
 */
#ifndef TONY_AM_SPLIT_SETS_H
#define TONY_AM_SPLIT_SETS_H

#include "am/split_queue.h"
#include "am/split_record.h"
#include "base/str.h"

enum { SPLIT_SETS_MAX = 64 };
#define SPLIT_LISTS_MAX ((size_t)64 << 20) /* bytes of all lists, packed */

struct split_sets;

struct split_set {
	char name[SPLIT_NAME_MAX + 1];
	struct split_list_record list; /* `count` is -1 until it is complete */
	size_t item_count;
	struct split_queue *queue; /* NULL until the list is complete */
	bool is_listed;		   /* a list was begun */
	bool has_lister;
	struct split_holder lister;
	/* Of split_sets.c. */
	struct split_sets *sets;
	size_t *firsts, pack_count;
};

/* Files may be NULL: then nothing is kept. `now` as split_queue.h has it. A list that was not
 * complete is made anew. */
struct split_sets *split_sets_open(const char *list_file, const char *state_file, size_t task_count,
				   int64_t now);
void split_sets_close(struct split_sets *sets); /* the files stay; NULL is fine */

/* Files that have changed since this was asked last: `changed` is called with their paths. Lists
 * are told once they are complete. */
void split_sets_tell_changes(struct split_sets *sets, void (*changed)(void *data, const char *path),
			     void *data);

/* Brings files up to date that could not be written. -1: one of them still cannot be, and an AM
 * that follows has what was done since handed out again. */
int split_sets_mend(struct split_sets *sets, struct err *err);

struct split_set *split_sets_find(const struct split_sets *sets, const char *name);
/* for (size_t i = 0; (set = split_sets_next(sets, &i));) */
struct split_set *split_sets_next(const struct split_sets *sets, size_t *cursor);
/* Makes one that has nothing but a fingerprint. NULL: there are SPLIT_SETS_MAX. */
struct split_set *split_sets_add(struct split_sets *sets, const char *name,
				 const char *fingerprint);

/* Forgets a list that is not complete: its next lister may see other files. */
void split_set_clear(struct split_set *set);
/* Begins the list of a set that has none: all but the count of `list`. */
void split_set_begin(struct split_set *set, const struct split_list_record *list);
/* Adds items, of which the first has this number: those that the list lacks, if it follows. -1:
 * there is no room for them. */
int split_set_add(struct split_set *set, size_t first, const struct str_list *items);
void split_set_complete(struct split_set *set, int64_t now);
/* Appends the text of an item. */
void split_set_item(const struct split_set *set, size_t number, struct str *text);

/* split_queue_lease(), as far as there is room for more leases. */
size_t split_set_lease(struct split_set *set, const struct split_holder *holder, size_t count,
		       int64_t now, struct split_open *leases);

#endif
