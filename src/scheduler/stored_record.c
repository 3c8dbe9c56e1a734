/* Whose a record in a store is, as this user sees it. */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/user.h"
#include "hadoop/cluster_site.h"
#include "scheduler/job_stores.h"
#include "scheduler/yarn_client.h"

char *job_stores_own_name(const struct history_store *store, struct err *err)
{
	if (!str_starts_with(history_store_location(store), "hdfs:"))
		return user_name_of(geteuid());
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	return cluster ? mem_strdup(cluster->user) : NULL;
}

bool job_stores_is_own(const struct job_summary *job)
{
	char *me cleanup_free = user_name();
	char *owner cleanup_free = user_name_of(geteuid());
	char *there cleanup_free = hadoop_cluster_user();

	return str_equal(job->user, me) || str_equal(job->user, owner) ||
	       str_equal(job->user, there);
}

/* Another owner than this user's is a publisher, who is believed, if the job is yet this user's. */
static bool is_own(const struct history_store *store, const struct history_record *record)
{
	char *own cleanup_free = job_stores_own_name(store, NULL);

	return (own && str_equal(record->owner, own)) ||
	       (!str_equal(record->owner, record->user) &&
		job_stores_is_own(&(struct job_summary){.user = record->user}));
}

char *job_stores_doubt(struct history_store *store, const struct history_record *record)
{
	struct err why cleanup_err = {0};

	if (!record->owner)
		return mem_printf("it names %s, and objects of a bucket have no owner",
				  record->user);
	if (!is_own(store, record))
		return mem_printf("it is %s's", record->user);
	return history_store_vouch(store, record, &why) < 0 ? mem_strdup(err_message(&why)) : NULL;
}

int stored_job_find(struct history_store *store, const char *id, const char *user,
		    struct history_record *record, struct err *err)
{
	char *own cleanup_free = user ? mem_strdup(user) : job_stores_own_name(store, err);
	struct history_days days;
	bool is_known = scheduler_client_of_id(id, &days);

	if (!own)
		return -1;
	return history_store_find(store, id, is_known ? &days : NULL, own, record, err);
}

/* Of a bucket everybody is believed who may write to it. */
static bool is_of(const struct history_store *store, const struct history_record *record,
		  const char *user)
{
	if (user)
		return str_equal(record->user, user);
	return record->owner ? is_own(store, record)
			     : job_stores_is_own(&(struct job_summary){.user = record->user});
}

int job_stores_find(const struct job_stores *stores, const char *id, const char *user,
		    struct history_store **store, struct history_record *record, struct err *err)
{
	*record = (struct history_record){0};
	for (size_t i = 0; i < stores->count; i++) {
		struct history_record one = {0};
		struct err why cleanup_err = {0};
		if (stored_job_find(stores->items[i], id, user, &one, &why) < 0) {
			if (why.kind != ERR_NOT_FOUND)
				log_warning("%s", err_message(&why));
			continue;
		}
		bool is_wanted = is_of(stores->items[i], &one, user);
		if ((user || record->path) && !is_wanted) {
			history_record_finish(&one);
			continue;
		}
		history_record_finish(record);
		*record = one;
		*store = stores->items[i];
		if (is_wanted)
			return 0;
	}
	return record->path ? 0 : err_set(err, ERR_NOT_FOUND, "no job \"%s\" in any history", id);
}

char *job_stores_read(const char *id, const char *user, const char *name, size_t cap,
		      size_t *length, struct err *err)
{
	struct job_stores stores cleanup_job_stores = {0};
	struct history_record record cleanup_history_record = {0};
	struct history_store *store;

	if (job_stores_open(NULL, &stores, err) < 0 ||
	    job_stores_find(&stores, id, user, &store, &record, err) < 0)
		return NULL;
	if (is_of(store, &record, user))
		return history_store_read_file(store, &record, name, cap, length, err);
	err_set(err, ERR_NOT_FOUND, "%s in %s is %s's", id, history_store_location(store),
		record.user);
	return NULL;
}
