#include "client/job_list.h"

#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/user.h"
#include "client/ended_jobs.h"
#include "client/schedulers.h"
#include "hadoop/cluster_site.h"

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

/* Of the same job its scheduler's word is the newer one. */
static void take_stored(struct history_summary *from, struct job_summary *to)
{
	*to = (struct job_summary){
		.id = mem_steal(&from->id),
		.name = mem_steal(&from->name),
		.user = mem_steal(&from->user),
		.framework = mem_steal(&from->framework),
		.scheduler = mem_steal(&from->scheduler),
		.queue = mem_steal(&from->queue),
		.tags = from->tags,
		.task_count = from->task_count,
		.state = from->state,
		.submitted_ms = from->submitted_ms,
		.ended_ms = from->ended_ms,
		.message = mem_steal(&from->message),
	};
	from->tags = (struct str_list){0};
}

/* By any of the names that this user has here and on a cluster. */
static bool is_own(const struct history_summary *job)
{
	char *me cleanup_free = user_name();
	char *owner cleanup_free = user_name_of(geteuid());
	char *there cleanup_free = hadoop_cluster_user();

	return str_equal(job->user, me) || str_equal(job->user, owner) ||
	       str_equal(job->user, there);
}

/* Adds those of which nothing but their history is left. */
static int add_stored(const struct job_list_filter *filter, struct job_list *list, struct err *err)
{
	struct ended_jobs stored cleanup_ended_jobs = {0};
	struct map *known = map_create(NULL);

	if (ended_jobs_stored(&(struct ended_filter){0}, &stored, err) < 0) {
		map_destroy(known);
		return -1;
	}
	for (size_t i = 0; i < list->count; i++)
		map_set(known, list->items[i].id, known);
	list->items = mem_realloc_array(list->items, list->count + stored.count + 1,
					sizeof(*list->items));
	for (size_t i = 0; i < stored.count; i++)
		if (!map_get(known, stored.items[i].id) &&
		    (!filter->own_only || is_own(&stored.items[i])))
			take_stored(&stored.items[i], &list->items[list->count++]);
	map_destroy(known);
	schedulers_sort(list->items, list->count);
	return 0;
}

static bool is_wanted(const struct job_list_filter *filter, const struct job_summary *job)
{
	return (!filter->live_only || !job_state_is_final(job->state)) &&
	       (!filter->user || str_equal(filter->user, job->user)) &&
	       (!filter->state || str_equal(filter->state, job_state_name(job->state))) &&
	       (!filter->tags || job_list_has_tags(job, filter->tags));
}

static void keep_wanted(const struct job_list_filter *filter, struct job_list *list)
{
	struct job_list left = {.items = mem_alloc_array(list->count + 1, sizeof(*left.items))};
	struct job_list kept = {.items = mem_alloc_array(list->count + 1, sizeof(*kept.items))};

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
	*list = (struct job_list){0};
	if (schedulers_list(filter->live_only ? INT64_MAX : 0, &list->items, &list->count, err) < 0)
		return -1;
	if (!filter->live_only && add_stored(filter, list, err) < 0) {
		job_list_finish(list);
		return -1;
	}
	keep_wanted(filter, list);
	return 0;
}
