#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "client/job_list.h"
#include "job/job_family.h"

/* Jobs of one sweep, pipeline or array, and of one user. */
struct family {
	const char *id;
	const struct job_summary *head; /* the sweep's own job; NULL: there is none in the list */
	const struct job_summary *foremost; /* the member in the state that matters most */
	size_t count, in_state[JOB_STATE_COUNT];
	int64_t submitted_ms, ended_ms; /* of the first, of the last */
	int64_t task_count;
	bool is_one_framework, is_told;
};

static size_t rank_of(enum job_state state)
{
	size_t rank = 0;

	while (job_state_order[rank] != state)
		rank++;
	return rank;
}

/* ---- finding ------------------------------------------------------------------------------ */

/* NULL: there is none. */
static struct family *find_family(const struct map *families, const char *id, const char *user)
{
	char *key cleanup_free = job_family_key(id, user);

	return map_get(families, key);
}

static struct family *make_family(struct map *families, const char *id, const char *user)
{
	char *key cleanup_free = job_family_key(id, user);
	struct family *family = mem_alloc(sizeof(*family));

	*family = (struct family){.id = id, .submitted_ms = INT64_MAX, .is_one_framework = true};
	map_set(families, key, family);
	return family;
}

static void count_member(struct family *family, const struct job_summary *job)
{
	const struct job_summary *foremost = family->foremost;

	family->count++;
	family->in_state[job->state]++;
	family->task_count += job->task_count;
	if (job->submitted_ms < family->submitted_ms)
		family->submitted_ms = job->submitted_ms;
	if (job->ended_ms > family->ended_ms)
		family->ended_ms = job->ended_ms;
	family->is_one_framework &= !foremost || str_equal(foremost->framework, job->framework);
	if (!foremost || rank_of(job->state) < rank_of(foremost->state))
		family->foremost = job;
}

static struct map *find_families(const struct job_list *list)
{
	struct map *families = map_create(free);

	for (size_t i = 0; i < list->count; i++) {
		const struct job_summary *job = &list->items[i];
		const char *id = job_family(&job->tags);
		if (!id)
			continue;
		struct family *family = find_family(families, id, job->user);
		count_member(family ? family : make_family(families, id, job->user), job);
	}
	for (size_t i = 0; i < list->count; i++) {
		struct family *family =
			find_family(families, list->items[i].id, list->items[i].user);
		if (family)
			family->head = &list->items[i];
	}
	return families;
}

/* ---- one job in place of all -------------------------------------------------------------- */

/* "12 trials: 3 succeeded, 9 killed" */
static char *count_words(const struct family *family)
{
	struct str text = {0};

	str_append_format(&text, "%zu %s%s", family->count,
			  job_family_has_head(family->id) ? "trial" : "job",
			  str_plural((int64_t)family->count));
	for (size_t i = 0, told = 0; i < JOB_STATE_COUNT; i++) {
		enum job_state state = job_state_order[i];
		if (family->in_state[state] > 0)
			str_append_format(&text, "%s%zu %s", told++ == 0 ? ": " : ", ",
					  family->in_state[state], job_state_name(state));
	}
	return str_steal(&text);
}

/* The name of one of the jobs is "PIPELINE.NODE", "ARRAY_7" or "SWEEP_7". The caller frees. */
static char *common_name(const char *family, const struct job_summary *job)
{
	const char *name = job->name ? job->name : "-";
	const char *end = strrchr(name, str_starts_with(family, JOB_FAMILY_PIPELINE) ? '.' : '_');

	return end ? mem_strndup(name, (size_t)(end - name)) : mem_strdup(name);
}

static void fold_family(const struct family *family, struct job_summary *job)
{
	char *words cleanup_free = count_words(family);

	job_summary_copy(family->head ? family->head : family->foremost, job);
	char *name cleanup_free = family->head ? mem_strdup(job->name ? job->name : "-")
					       : common_name(family->id, family->foremost);
	mem_replace(&job->name, mem_printf("%s (%s)", name, words));
	if (family->head)
		return;
	mem_replace(&job->id, mem_strdup(family->id));
	mem_replace(&job->parent, NULL);
	str_list_finish(&job->tags);
	job->tags = (struct str_list){0};
	if (!family->is_one_framework)
		mem_replace(&job->framework, NULL);
	job->task_count = family->task_count;
	job->submitted_ms = family->submitted_ms;
	job->ended_ms = job_state_is_final(job->state) ? family->ended_ms : 0;
}

/* A family stands where its head is, or else its first member; one job alone stays as it is. */
static void fold_one(struct map *families, const struct job_summary *job, struct job_list *folded)
{
	const char *of = job_family(&job->tags);
	struct family *family = of ? find_family(families, of, job->user) : NULL;
	const struct family *own = find_family(families, job->id, job->user);
	bool is_alone = !family || (!family->head && family->count == 1);

	if (!is_alone && !family->head && !family->is_told)
		fold_family(family, &folded->items[folded->count++]);
	else if (is_alone && own)
		fold_family(own, &folded->items[folded->count++]);
	else if (is_alone)
		job_summary_copy(job, &folded->items[folded->count++]);
	if (family)
		family->is_told = true;
}

void job_list_fold(const struct job_list *list, struct job_list *folded)
{
	struct map *families = find_families(list);

	*folded = (struct job_list){.failure = list->failure};
	folded->items = mem_alloc_array(list->count, sizeof(*folded->items));
	for (size_t i = 0; i < list->count; i++)
		fold_one(families, &list->items[i], folded);
	map_destroy(families);
}

bool job_list_has_families(const struct job_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (job_family(&list->items[i].tags))
			return true;
	return false;
}

const char *job_list_family_named(const struct job_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *family = job_family(&list->items[i].tags);
		char *common cleanup_free = family ? common_name(family, &list->items[i]) : NULL;
		if (str_equal(common, name))
			return family;
	}
	return NULL;
}
