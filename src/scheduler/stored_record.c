/* Whose a record in a store is, as this user sees it. */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/user.h"
#include "hadoop/cluster_site.h"
#include "scheduler/job_stores.h"

/* As the kernel calls him, and as Hadoop does where HADOOP_USER_NAME says so. USER proves nothing.
 */
void job_stores_own_names(struct str_list *names)
{
	char *name cleanup_free = user_name();
	char *hadoop cleanup_free = hadoop_cluster_user();

	str_list_take(names, user_name_of(geteuid()));
	if (!str_equal(hadoop, name))
		str_list_take(names, mem_steal(&hadoop));
}

bool job_stores_is_own(const char *user)
{
	struct str_list names cleanup_str_list = {0};

	job_stores_own_names(&names);
	return user && str_list_has(&names, user);
}

/* Another owner than this user's is a publisher, who is believed, if the job is yet this user's. */
bool job_stores_is_among(const struct history_store *store, const struct history_record *record,
			 const struct str_list *own)
{
	if (record->owner && str_equal(record->owner, history_store_me(store)))
		return true;
	return !str_equal(record->owner, record->user) && record->user &&
	       str_list_has(own, record->user);
}

static bool is_own(const struct history_store *store, const struct history_record *record)
{
	struct str_list names cleanup_str_list = {0};

	job_stores_own_names(&names);
	return job_stores_is_among(store, record, &names);
}

char *job_stores_doubt(struct history_store *store, const struct history_record *record)
{
	struct err why cleanup_err = {0};

	if (!record->owner)
		return mem_printf("names %s, and objects of a bucket have no owner", record->user);
	if (!is_own(store, record))
		return mem_printf("belongs to %s", record->user);
	return history_store_vouch(store, record, &why) < 0
		       ? mem_printf("may be another user's (%s)", err_message(&why))
		       : NULL;
}

bool job_stores_is_of(const struct history_store *store, const struct history_record *record,
		      const char *user)
{
	if (user)
		return str_equal(record->user, user);
	return is_own(store, record);
}
