/* Finding a key's row: exact names first, then patterns with <words>. */
#include "conf/keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Words that tony.WORD.* has other uses for; they cannot be task types. */
static const char *const reserved[] = {
	"am",	     "application", "container", "containers",	 "docker", "execution",
	"framework", "hdfs",	    "history",	 "horovod",	 "http",   "https",
	"kerberos",  "keytab",	    "local",	 "other",	 "portal", "secret",
	"sweep",     "task",	    "yarn",	 "version-info",
};

/* YARN's resource types have names such as "yarn.io/gpu". */
static bool is_word_letter(char c, bool of_resource)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' ||
	       (of_resource && (c == '.' || c == '/'));
}

static bool is_reserved(const struct key_word *word)
{
	for (size_t i = 0; i < array_length(reserved); i++)
		if (strlen(reserved[i]) == word->length &&
		    memcmp(reserved[i], word->start, word->length) == 0)
			return true;
	return false;
}

/* How many <words> the pattern has when `name` is of its form, or -1. */
static int match(const char *pattern, const char *name, struct key_word words[KEY_MAX_WORDS])
{
	int count = 0;

	for (; *pattern; pattern++) {
		if (*pattern != '<') {
			if (*name++ != *pattern)
				return -1;
			continue;
		}
		bool of_resource = str_starts_with(pattern, "<resource>");
		struct key_word word = {name, 0};
		while (is_word_letter(*name, of_resource)) {
			name++;
			word.length++;
		}
		if (word.length == 0)
			return -1;
		words[count++] = word;
		pattern = strchr(pattern, '>');
	}
	return *name ? -1 : count;
}

/* tony.task.memory is not the memory of a type called task. */
static bool is_usable(const char *pattern, const struct key_word *words)
{
	return !str_starts_with(pattern, "tony.<type>.") || !is_reserved(&words[0]);
}

/* A submission asks some 300 times. Filled once: the names without words by name, and the others
 * in the table's order. */
static struct {
	const struct key **exact, **patterns;
	size_t exact_count, pattern_count;
} rows;

static int by_name(const void *left, const void *right)
{
	return strcmp((*(const struct key *const *)left)->name,
		      (*(const struct key *const *)right)->name);
}

static void fill_rows(void)
{
	size_t all = 0;

	for (size_t g = 0; g < key_group_count; g++)
		all += key_groups[g].count;
	rows.exact = mem_alloc_array(all, sizeof(*rows.exact));
	rows.patterns = mem_alloc_array(all, sizeof(*rows.patterns));
	for (size_t g = 0; g < key_group_count; g++) {
		for (size_t i = 0; i < key_groups[g].count; i++) {
			const struct key *row = &key_groups[g].keys[i];
			if (strchr(row->name, '<'))
				rows.patterns[rows.pattern_count++] = row;
			else
				rows.exact[rows.exact_count++] = row;
		}
	}
	qsort(rows.exact, rows.exact_count, sizeof(*rows.exact), by_name);
}

const struct key *key_find(const char *name, struct key_word words[KEY_MAX_WORDS])
{
	struct key_word found[KEY_MAX_WORDS];
	const struct key wanted = {.name = name}, *const key = &wanted;

	if (!rows.exact)
		fill_rows();
	const struct key **exact =
		bsearch(&key, rows.exact, rows.exact_count, sizeof(*rows.exact), by_name);
	if (exact)
		return *exact;
	for (size_t i = 0; i < rows.pattern_count; i++) {
		const struct key *row = rows.patterns[i];
		if (match(row->name, name, found) <= 0 || !is_usable(row->name, found))
			continue;
		if (words)
			memcpy(words, found, sizeof(found));
		return row;
	}
	return NULL;
}

/* The pattern with the n-th part of `name` in place of <type>: "tony.wroker.memory" is compared
 * with "tony.wroker.memory", so that only the rest of the key counts as misspelt. */
static char *fill_pattern(const char *pattern, const char *name)
{
	struct str filled = {0};

	while (*pattern) {
		size_t length = strcspn(name, ".");
		size_t own = strcspn(pattern, ".");
		if (*pattern == '<' && length > 0)
			str_append_bytes(&filled, name, length);
		else
			str_append_bytes(&filled, pattern, own);
		name += length + (name[length] == '.');
		pattern += own;
		if (*pattern == '.')
			str_append_char(&filled, *pattern++);
	}
	return str_steal(&filled);
}

/* Near enough also without the parts that both have in common? The user's own words in a pattern
 * would make anything look alike. */
static bool is_near(const char *name, const char *candidate)
{
	size_t common = 0;

	for (size_t i = 0; name[i] && name[i] == candidate[i]; i++)
		if (name[i] == '.')
			common = i + 1;
	candidate += common;
	return str_nearest(name + common, &candidate, 1) != NULL;
}

char *key_suggest(const char *name)
{
	struct str_list candidates cleanup_str_list = {0};

	for (size_t g = 0; g < key_group_count; g++) {
		for (size_t i = 0; i < key_groups[g].count; i++) {
			char *candidate cleanup_free =
				fill_pattern(key_groups[g].keys[i].name, name);
			if (key_find(candidate, NULL))
				str_list_add(&candidates, candidate);
		}
	}
	const char *nearest =
		str_nearest(name, (const char *const *)candidates.items, candidates.count);
	return nearest && is_near(name, nearest) ? mem_strdup(nearest) : NULL;
}

char *key_suggest_part(const char *word)
{
	struct str_list parts cleanup_str_list = {0};

	for (size_t g = 0; g < key_group_count; g++)
		for (size_t i = 0; i < key_groups[g].count; i++)
			str_split(&parts, key_groups[g].keys[i].name, '.');
	const char *nearest = str_nearest(word, (const char *const *)parts.items, parts.count);
	return nearest ? mem_strdup(nearest) : NULL;
}

bool key_is_task_type(const char *name)
{
	struct key_word word = {name, strlen(name)};

	if (!islower((unsigned char)*name) || word.length > 63)
		return false;
	return !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] && !is_reserved(&word);
}

int key_check_task_type(const char *name, struct err *err)
{
	struct key_word word = {name, strlen(name)};

	if (key_is_task_type(name))
		return 0;
	if (is_reserved(&word))
		return err_set(
			err, ERR_CONFIG,
			"\"%s\" is not a task type's name: the keys tony.%s.* are of something "
			"else; choose another name",
			name, name);
	return err_set(err, ERR_CONFIG,
		       "\"%s\" is not a task type's name; write a lower-case letter, then "
		       "lower-case letters, digits, - and _",
		       name);
}

const char *key_status_name(enum key_status status)
{
	static const char *const names[] = {"honoured", "site",	   "site-ignored",
					    "rule",	"ignored", "refused"};

	return names[status];
}

const char *key_own_name(const char *name)
{
	for (size_t i = 0; i < key_alias_count; i++)
		if (str_equal(key_aliases[i].name, name))
			return key_aliases[i].alias_of;
	return name;
}

void key_list_schedulers(const struct key *key, struct str_list *names)
{
#define NAME(scheduler) #scheduler,
	static const char *const schedulers[] = {SCHEDULER_LIST(NAME, NAME)};

	for (size_t i = 0; i < array_length(schedulers); i++)
		if (key->schedulers & (1u << i))
			str_list_add(names, schedulers[i]);
}

bool key_is_read(const struct key *key, const char *scheduler)
{
	struct str_list names cleanup_str_list = {0};

	key_list_schedulers(key, &names);
	for (size_t i = 0; i < names.count; i++)
		if (str_equal_nocase(names.items[i], scheduler))
			return true;
	return names.count == 0;
}
