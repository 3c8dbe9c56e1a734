/*
 * Every tony.* key, once: the table validates a configuration and generates `tony config keys` and
 * tony-conf(5). Its rows are in keys_table.c.
 */
#ifndef TONY_CONF_KEYS_H
#define TONY_CONF_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "job/scheduler_list.h"

enum key_type {
	KEY_TEXT,
	KEY_BOOL,
	KEY_INT,
	KEY_SIZE,	  /* memory, in MiB */
	KEY_DURATION,	  /* in ms; a bare number counts `bare_ms` */
	KEY_CHOICE,	  /* one of `choices`; a user may write it in any case */
	KEY_ACL,	  /* base/acl.h: a blank at its start counts, there are no users then */
	KEY_LIST,	  /* items between commas */
	KEY_TYPES,	  /* a list of task types */
	KEY_DEPENDENCIES, /* a list of TYPE, TYPE:start or TYPE:finish */
	KEY_ENVIRONMENT,  /* a list of KEY=VALUE; "\," is a comma within a value */
	KEY_RESOURCES,	  /* a list of SOURCE[::NAME][#archive] */
};

/* What this program does with a key that a user has set to something else than the default. */
enum key_status {
	KEY_HONOURED,
	KEY_SITE, /* read by the history portal: belongs in tony-site.xml, elsewhere a warning */
	/* Of TonY's portal. A site file is shared, so a job's verbs say nothing of one there. */
	KEY_SITE_IGNORED, /* a warning; in tony-site.xml, of tony portal */
	KEY_RULE,	  /* taken from tony-site.xml alone; elsewhere an error */
	KEY_IGNORED,	  /* a warning that says why */
	KEY_REFUSED,	  /* an error that says what to write instead */
};

/* A bit for each scheduler: those that read a key. */
#define KEY_SCHEDULER_INDEX(scheduler) KEY_SCHEDULER_##scheduler,
enum { SCHEDULER_LIST(KEY_SCHEDULER_INDEX, KEY_SCHEDULER_INDEX) };
#define KEY_ON(scheduler) (1u << KEY_SCHEDULER_##scheduler)

struct key {
	const char *name; /* with <type>, <group> or <field> where a word of the user's stands */
	enum key_type type;
	const char *default_value; /* NULL: none */
	int64_t min, max; /* INT: as written; SIZE: MiB; DURATION: ms; TEXT and LIST: bytes (of an
			     item). max 0: as for all keys of the type. A min of -1 lets "-1" stand
			     for "no limit" */
	int64_t bare_ms;  /* DURATION: what a number without a unit counts */
	const char *const *choices; /* NULL-terminated */
	bool multi_value;	    /* --conf adds to what the files say, as in TonY */
	bool secret;		    /* never shown */
	bool path; /* of this machine: "~" and "$HOME" at its start are the user's home */
	enum key_status status;
	/* KEY_ON()s; on others the key has no effect, of which a warning tells. 0: all read it. */
	unsigned schedulers;
	const char *note; /* the reason or remedy of status or schedulers, a phrase */
	const char *deprecated_by;
	const char *alias_of; /* the key of which this is another name, as good as its own */
	const char *since;
	const char *doc; /* sentences */
};

struct key_group {
	const char *title;
	const char *intro;
	const struct key *keys;
	size_t count;
};
extern const struct key_group key_groups[];
extern const size_t key_group_count;
extern const struct key key_aliases[]; /* one of the groups */
extern const size_t key_alias_count;

/* A word of the user's within a key's name; points into it. */
struct key_word {
	const char *start;
	size_t length;
};
#define KEY_MAX_WORDS 2

/* The row that covers `name`, or NULL. `words`, when not NULL, gets what stands for <...>, in
 * order. */
const struct key *key_find(const char *name, struct key_word words[KEY_MAX_WORDS]);

/* The known key nearest to an unknown one, or NULL. The caller frees. */
char *key_suggest(const char *name);
/* The part of a key's name, between dots, that is nearest to a word, or NULL. The caller frees. */
char *key_suggest_part(const char *word);

/* [a-z][a-z0-9_-]*, at most 63 letters, and none of the words that tony.WORD.* has other uses for
 * (am, task ...). */
bool key_is_task_type(const char *name);
/* The same; the error says which of these rules does not hold. */
int key_check_task_type(const char *name, struct err *err);

/* Is `value` of the key's form and within its range? The error is a phrase that begins with the
 * quoted value and ends with what to write. */
int key_check(const struct key *key, const char *value, struct err *err);

/* Of a valid value that is a number without a unit: a phrase with the unit that it counts, and how
 * to write it. NULL: the value, or its key's name, says it already. The caller frees. */
char *key_explain_number(const struct key *key, const char *value);

/* Readers of values that key_check() lets pass. */
bool key_read_bool(const char *value);
int64_t key_read_int(const char *value);
int64_t key_read_mib(const char *value);		       /* -1: no limit */
int64_t key_read_ms(const struct key *key, const char *value); /* negative ones are 0 */
void key_read_list(const struct key *key, const char *value, struct str_list *list);
/* The other way: appends an item, behind a comma unless `list` is empty. In a list of KEY=VALUE the
 * commas of the item itself are escaped. `key` NULL: an unknown one. */
void key_append_item(const struct key *key, const char *item, struct str *list);

/* The table's spelling of a choice that the user wrote in any case; NULL: no such choice. */
const char *key_find_choice(const struct key *key, const char *value);

const char *key_status_name(enum key_status status);
/* Of a name that is an alias, the key's own; else the name. */
const char *key_own_name(const char *name);
/* Has the key an effect on this scheduler, in any case of letters? */
bool key_is_read(const struct key *key, const char *scheduler);
/* The schedulers that key->schedulers names. */
void key_list_schedulers(const struct key *key, struct str_list *names);

/* scdoc source of tony-conf(5). */
void keys_write_man(struct str *out);
/* `tony config keys`: a table for people, or a JSON array, of the keys that have `word` in name or
 * meaning; NULL: of all. A table of none is empty. */
void keys_write_table(const char *word, struct str *out);
void keys_write_json(const char *word, struct str *out);

#endif
