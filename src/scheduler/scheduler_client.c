#include "base/mem.h"
#include "hadoop/gssapi.h"
#include "hadoop/hdfs_ticket.h"
#include "hadoop/hdfs_token.h"
#include "job/scheduler_list.h"
#include "scheduler/local_jobs.h"
#include "scheduler/local_removal.h"
#include "scheduler/yarn_cluster.h"

#define DECLARATION(engine) extern const struct scheduler_client_ops engine##_scheduler_client;
#define POINTER(engine)	    &engine##_scheduler_client,
SCHEDULER_LIST(DECLARATION, DECLARATION)

static const struct scheduler_client_ops *const schedulers[] = {SCHEDULER_LIST(POINTER, POINTER)};

void scheduler_client_begin(void)
{
	hdfs_tokens_by_ticket(yarn_cluster_tell_user);
	gssapi_credential_find_by(yarn_cluster_site_login);
}

void scheduler_client_leave_tokens(void)
{
	hdfs_tokens_leave();
}

void scheduler_client_end(void)
{
	hdfs_tokens_finish();
}

const struct scheduler_client_ops *scheduler_client_find(const char *name)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_equal(schedulers[i]->traits->name, name))
			return schedulers[i];
	}
	return NULL;
}

const struct scheduler_client_ops *scheduler_client_at(size_t index)
{
	return index < array_length(schedulers) ? schedulers[index] : NULL;
}

const struct scheduler_client_ops *scheduler_client_of_id(const char *id, struct history_days *days)
{
	struct history_days ignored;

	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (schedulers[i]->is_id(id, days ? days : &ignored))
			return schedulers[i];
	}
	return NULL;
}

bool scheduler_client_begins_id(const char *text)
{
	for (size_t i = 0; i < array_length(schedulers); i++) {
		if (str_starts_with(text, schedulers[i]->id_beginning))
			return true;
	}
	return false;
}

int scheduler_find_job(const struct scheduler_client_ops *ops, const char *id,
		       struct job_door *door, char **full_id, struct err *err)
{
	return ops->directories ? local_jobs_find(ops->directories, id, door, full_id, err)
				: ops->find(id, door, full_id, err);
}

int scheduler_list_jobs(const struct scheduler_client_ops *ops, const char *user,
			int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
			struct err *err)
{
	return ops->directories
		       ? local_jobs_list(ops->directories, ended_since_ms, jobs, count, err)
		       : ops->list(user, ended_since_ms, jobs, count, err);
}

int scheduler_remove_job(const struct scheduler_client_ops *ops, const char *id,
			 struct removal *removal, struct err *err)
{
	return ops->directories ? local_removal_remove(ops->traits, id, removal, err)
				: ops->remove(id, removal, err);
}

int scheduler_list_ended(const struct scheduler_client_ops *ops, int64_t until_ms,
			 struct str_list *ids, struct err *err)
{
	return ops->directories ? local_ended(ops->directories, until_ms, ids, err)
				: ops->ended(until_ms, ids, err);
}
