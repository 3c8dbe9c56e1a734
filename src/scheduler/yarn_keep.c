/* The copies in HDFS of an AM's journal and other files, and what they are to its scheduler. */
#include "base/fs.h"
#include "base/log.h"
#include "scheduler/yarn_internal.h"
#include "scheduler/yarn_store.h"
#include "store/store.h"

bool yarn_may_act(void *data)
{
	const struct yarn *yarn = data;

	return application_master_is_current(yarn->master);
}

enum scheduler_standing yarn_standing(const struct scheduler *scheduler)
{
	const struct yarn *yarn = (const struct yarn *)scheduler;

	if (yarn->is_over)
		return SCHEDULER_DISMISSED;
	return application_master_is_current(yarn->master) ? SCHEDULER_CURRENT
							   : SCHEDULER_NOT_KNOWN;
}

static void on_kept(void *data, int64_t sequence)
{
	const struct yarn *yarn = data;

	yarn->listener.journal_kept(yarn->listener.data, sequence);
}

/* The journal and the other files fail and recover for themselves. */
static void tell_trouble(struct yarn *yarn, bool *is_troubled, const char *text)
{
	*is_troubled = text != NULL;
	if (text || !(yarn->journal_troubled || yarn->files_troubled))
		yarn->listener.store_trouble(yarn->listener.data, text);
}

static void on_journal_troubled(void *data, const char *text)
{
	struct yarn *yarn = data;

	tell_trouble(yarn, &yarn->journal_troubled, text);
}

static void on_files_troubled(void *data, const char *text)
{
	struct yarn *yarn = data;

	tell_trouble(yarn, &yarn->files_troubled, text);
}

void yarn_open_copies(struct yarn *yarn, const struct scheduler_place *place)
{
	struct err err cleanup_err = {0};
	const struct journal_writer writer = {yarn_may_act, yarn};

	yarn->store = yarn_store_open(yarn->cluster, yarn->cluster->job_dir, yarn->base, &err);
	const struct journal_copy_options options = {
		.base = yarn->base,
		.store = yarn->store,
		.journal = place->journal,
		.am_attempt = place->am_attempt,
		.writer = writer,
		.kept = on_kept,
		.troubled = on_journal_troubled,
		.data = yarn,
	};
	yarn->journal = yarn->store ? journal_copy_create(&options, &err) : NULL;
	if (yarn->store)
		yarn->files = file_copies_create(yarn->store, &writer, on_files_troubled, yarn);
	if (!yarn->journal)
		log_warning("the journal cannot be kept in HDFS: %s", err_message(&err));
	on_kept(yarn, yarn->journal ? 0 : INT64_MAX);
}

void yarn_append_journal(struct scheduler *scheduler, int64_t sequence)
{
	struct yarn *yarn = (struct yarn *)scheduler;

	if (yarn->journal)
		journal_copy_appended(yarn->journal, sequence);
}

void yarn_file_written(struct scheduler *scheduler, const char *path)
{
	struct yarn *yarn = (struct yarn *)scheduler;

	if (yarn->files)
		file_copies_written(yarn->files, path);
}

int yarn_recover(const struct job *job, const char *job_dir, const struct scheduler_place *place,
		 struct err *err)
{
	/* What is there is this AM's own. */
	if (place->am_attempt <= 1 || fs_exists(place->journal))
		return 0;
	struct hadoop_cluster *cluster = hadoop_cluster_from_json(job->engine, job->stores, err);
	struct store *store = cluster ? yarn_store_open_once(cluster, cluster->job_dir, err) : NULL;
	int result = store ? journal_recover(store, job_dir, place, err) : -1;

	store_close(store);
	hadoop_cluster_destroy(cluster);
	return result;
}
