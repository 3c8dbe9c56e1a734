/* The journal of an AM, and what it is to its scheduler. */
#include "base/log.h"
#include "scheduler/yarn_internal.h"

bool yarn_may_act(void *data)
{
	const struct yarn *yarn = data;

	return application_master_is_current(yarn->master);
}

static void on_kept(void *data, int64_t sequence)
{
	const struct yarn *yarn = data;

	yarn->listener.journal_kept(yarn->listener.data, sequence);
}

void yarn_open_journal(struct yarn *yarn, const struct scheduler_place *place)
{
	struct err err cleanup_err = {0};
	const struct webhdfs_options hdfs = hdfs_access_webhdfs(&yarn->cluster->hdfs);
	const struct yarn_journal_options options = {
		.base = yarn->base,
		.hdfs = &hdfs,
		.directory = yarn->cluster->job_dir,
		.journal = place->journal,
		.am_attempt = place->am_attempt,
		.may_write = yarn_may_act,
		.kept = on_kept,
		.data = yarn,
	};

	yarn->journal = yarn_journal_create(&options, &err);
	if (!yarn->journal)
		log_warning("the journal cannot be kept in HDFS: %s", err_message(&err));
	on_kept(yarn, yarn->journal ? 0 : INT64_MAX);
}

void yarn_append_journal(struct scheduler *scheduler, int64_t sequence)
{
	struct yarn *yarn = (struct yarn *)scheduler;

	if (yarn->journal)
		yarn_journal_appended(yarn->journal, sequence);
}
