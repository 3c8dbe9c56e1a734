#include "client/job_list.h"

#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/mem.h"
#include "client/job_array.h"
#include "client/schedulers.h"
#include "job/job_family.h"

void job_list_finish(struct job_list *list)
{
	job_summaries_free(list->items, list->count);
	*list = (struct job_list){0};
}

static bool has_tag(const struct job_summary *job, const char *tag)
{
	for (size_t i = 0; i < job->tags.count; i++)
		if (str_equal_nocase(job->tags.items[i], tag))
			return true;
	return false;
}

bool job_list_has_tags(const struct job_summary *job, const struct str_list *tags)
{
	for (size_t i = 0; i < tags->count; i++)
		if (!has_tag(job, tags->items[i]))
			return false;
	return true;
}

/* Adds those of which nothing but their history is left: of any other its scheduler's word is the
 * newer one. */
static int add_stored(const struct job_list_filter *filter, struct job_list *list, struct err *err)
{
	struct job_stores opened cleanup_job_stores = {0};
	const struct job_stores *stores = filter->stores ? filter->stores : &opened;
	const struct stored_filter wanted = {.own_only = filter->own_only};
	struct job_summary *stored;
	size_t count;

	if (!filter->stores &&
	    job_stores_open_within(NULL, SCHEDULERS_PATIENCE_MS, &opened, err) < 0)
		return -1;
	job_stores_list(stores, &wanted, &stored, &count);
	struct map *known = map_create(NULL);
	for (size_t i = 0; i < list->count; i++)
		map_set(known, list->items[i].id, known);
	list->items = mem_realloc_array(list->items, list->count + count + 1, sizeof(*list->items));
	for (size_t i = 0; i < count; i++) {
		if (map_get(known, stored[i].id))
			continue;
		list->items[list->count++] = stored[i];
		stored[i] = (struct job_summary){0};
	}
	map_destroy(known);
	job_summaries_free(stored, count);
	job_summaries_sort(list->items, list->count);
	return 0;
}

bool job_list_has_word(const struct job_summary *job, const char *word)
{
	return job_array_is_id(word)
		       ? has_tag(job, word)
		       : scheduler_id_begins(job->id, word) || str_equal(job->name, word);
}

/* None is any. */
static bool has_any_word(const struct job_summary *job, const struct str_list *words)
{
	for (size_t i = 0; i < words->count; i++)
		if (job_list_has_word(job, words->items[i]))
			return true;
	return words->count == 0;
}

static bool is_wanted(const struct job_list_filter *filter, const struct job_summary *job)
{
	bool is_over = job_state_is_final(job->state) &&
		       !(filter->ended_since_ms > 0 && job->ended_ms >= filter->ended_since_ms);

	return (!filter->live_only || !is_over) &&
	       (!filter->words || has_any_word(job, filter->words)) &&
	       (!filter->user || str_equal(filter->user, ANY_USER) ||
		str_equal(filter->user, job->user)) &&
	       (!filter->states || filter->states->count == 0 ||
		str_list_has(filter->states, job_state_name(job->state))) &&
	       (!filter->tags || job_list_has_tags(job, filter->tags));
}

static void keep_wanted(const struct job_list_filter *filter, struct job_list *list)
{
	struct job_list left = {.items = mem_alloc_array(list->count + 1, sizeof(*left.items))};
	struct job_list kept = {.items = mem_alloc_array(list->count + 1, sizeof(*kept.items)),
				.failure = list->failure};

	for (size_t i = 0; i < list->count; i++) {
		struct job_list *to = is_wanted(filter, &list->items[i]) ? &kept : &left;
		to->items[to->count++] = list->items[i];
		list->items[i] = (struct job_summary){0};
	}
	job_list_finish(&left);
	job_list_finish(list);
	*list = kept;
}

int job_list_find(const struct job_list_filter *filter, struct job_list *list, struct err *err)
{
	int64_t live_since_ms = filter->ended_since_ms > 0 ? filter->ended_since_ms : INT64_MAX;
	bool as_known = filter->ended_since_ms == SCHEDULER_AS_KNOWN;
	int64_t since_ms = filter->live_only ? live_since_ms : as_known ? SCHEDULER_AS_KNOWN : 0;

	*list = (struct job_list){0};
	int result = schedulers_list_within(filter->user, filter->patience_ms, since_ms,
					    &list->items, &list->count, err);
	if (result < 0)
		return -1;
	list->failure = (enum err_kind)result;
	if (!filter->live_only && !as_known && add_stored(filter, list, err) < 0) {
		job_list_finish(list);
		return -1;
	}
	keep_wanted(filter, list);
	return 0;
}

/* ---- the ended jobs of families that live ------------------------------------------------- */

/* The time in the family's id: no job of it can have ended earlier. 1 where the id has no time:
 * an engine gave it. */
static int64_t family_since_ms(const char *family)
{
	const char *dash = strchr(family, '-');
	struct tm tm = {0};

	return dash && strptime(dash + 1, "%Y%m%d-%H%M%S", &tm) ? (int64_t)timegm(&tm) * 1000 : 1;
}

/* NULL: it is of none. */
static char *family_key(const struct job_summary *job)
{
	const char *family = job_family(&job->tags);

	return family ? job_family_key(family, job->user) : NULL;
}

/* Sets when the first of them began. */
static struct map *find_families(const struct job_list *list, int64_t *since_ms)
{
	struct map *families = map_create(NULL);

	for (size_t i = 0; i < list->count; i++) {
		char *key cleanup_free = family_key(&list->items[i]);
		if (!key || map_get(families, key))
			continue;
		map_set(families, key, families);
		int64_t begun_ms = family_since_ms(key);
		*since_ms = begun_ms < *since_ms ? begun_ms : *since_ms;
	}
	return families;
}

/* Those of `more` that the list lacks. */
static void take_ended(struct map *families, struct job_list *more, struct job_list *list)
{
	struct map *known = map_create(NULL);

	for (size_t i = 0; i < list->count; i++)
		map_set(known, list->items[i].id, known);
	list->items =
		mem_realloc_array(list->items, list->count + more->count + 1, sizeof(*list->items));
	for (size_t i = 0; i < more->count; i++) {
		struct job_summary *job = &more->items[i];
		char *key cleanup_free = family_key(job);
		if (!key || !job_state_is_final(job->state) || !map_get(families, key) ||
		    map_get(known, job->id))
			continue;
		list->items[list->count++] = *job;
		*job = (struct job_summary){0};
	}
	map_destroy(known);
	job_summaries_sort(list->items, list->count);
}

int job_list_complete_families(const struct job_list_filter *filter, struct job_list *list,
			       struct err *err)
{
	struct job_list_filter wanted = *filter;
	struct job_list more cleanup_job_list = {0};
	int64_t since_ms = filter->ended_since_ms > 0 ? filter->ended_since_ms : INT64_MAX;
	struct map *families = find_families(list, &since_ms);
	/* A scheduler that has not answered would be waited for, and warned of, once more. */
	bool has_all = !filter->live_only || map_count(families) == 0 || list->failure != ERR_NONE;

	wanted.ended_since_ms = since_ms;
	int result = has_all ? 0 : job_list_find(&wanted, &more, err);
	if (result == 0)
		take_ended(families, &more, list);
	map_destroy(families);
	return result;
}

/* ------------------------------------------------------------------------------------------- */

int job_list_find_array(const char *word, struct str_list *ids, struct err *err)
{
	struct str_list words cleanup_str_list = {0};
	const struct job_list_filter filter = {.own_only = true, .words = &words};
	struct job_list list cleanup_job_list = {0};

	str_list_add(&words, word);
	if (job_list_find(&filter, &list, err) < 0)
		return -1;
	for (size_t i = list.count; i > 0; i--)
		str_list_add(ids, list.items[i - 1].id);
	if (ids->count > 0)
		return 0;
	err_set(err, ERR_NOT_FOUND, "there is no array or job \"%s\"", word);
	return job_list_explain_array(word, err);
}

int job_list_explain_array(const char *word, struct err *err)
{
	struct str_list words cleanup_str_list = {0};
	const struct job_list_filter filter = {.patience_ms = SCHEDULERS_PATIENCE_MS,
					       .words = &words};
	struct job_list list cleanup_job_list = {0};

	str_list_add(&words, word);
	if (job_list_find(&filter, &list, NULL) == 0 && list.count > 0 && list.items[0].user &&
	    !job_stores_is_own(list.items[0].user))
		err_set(err, ERR_DENIED,
			"the array %s is %s's; `tony list --all --each %s` shows its jobs", word,
			list.items[0].user, word);
	return -1;
}

void job_list_explain_name(const char *word, struct err *err)
{
	const struct job_list_filter filter = {.ended_since_ms = SCHEDULER_AS_KNOWN,
					       .patience_ms = SCHEDULERS_PATIENCE_MS,
					       .own_only = true};
	struct job_list list cleanup_job_list = {0};
	const char *family = NULL;

	if (!scheduler_client_of_id(word, NULL) && job_list_find(&filter, &list, NULL) == 0)
		family = job_list_family_named(&list, word);
	if (family)
		err_set(err, ERR_NOT_FOUND, "no job \"%s\"; %s has this name: write the id %s",
			word, family, family);
}
