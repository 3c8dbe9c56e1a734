#include <stdlib.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/upload.h"
#include "scheduler/yarn_internal.h"
#include "scheduler/yarn_store.h"
#include "store/store.h"

enum { DIAGNOSTICS_CAP = 4000 }; /* bytes; the ResourceManager keeps them in memory */

/*
 * The end is told to the ResourceManager first: from then on nobody starts this job again. At the
 * same time the job's history is brought beside the place where clients look for ended jobs. It
 * appears there once the ResourceManager has accepted the end: one that has another AM at work
 * refuses it, and then nothing is published or removed. Until the history is there, clients ask the
 * AM, which answers as long as this lasts. The job's own directory is
 * removed last, when nothing is being written into it any more: who finds it and the job not ended
 * may write there (yarn_start.c). Where the history could not be published the directory stays,
 * with the journal that is kept there: the next client publishes that. What else fails is noted,
 * and the rest done all the same.
 */
struct yarn_finish {
	struct yarn *yarn;
	struct store *history; /* NULL: nothing is published */
	struct history_upload *upload;
	int pending;	 /* of what is done at the same time */
	bool is_refused; /* the end, by the ResourceManager */
	bool is_due;	 /* the history, which a client publishes once the store takes it again */
	void (*done)(void *data);
	void *data;
};

static void on_removed(void *data, const struct store_answer *answer, const struct err *err)
{
	struct yarn_finish *finish = data;

	if (err)
		log_warning("%s", err_message(err));
	finish->done(finish->data);
}

static void part_done(struct yarn_finish *finish)
{
	if (--finish->pending > 0)
		return;
	if (finish->yarn->store && !finish->is_refused && !finish->is_due)
		store_start(finish->yarn->store, store_remove(""), on_removed, finish);
	else
		finish->done(finish->data);
}

static void on_written(void *data)
{
	part_done(data);
}

/* ---- telling ------------------------------------------------------------------------------ */

static void on_unregistered(void *data, const char *failure)
{
	struct yarn_finish *finish = data;

	finish->is_refused = failure;
	if (failure)
		log_error("the ResourceManager could not be told the end: %s", failure);
	if (finish->upload)
		history_upload_decide(finish->upload, !failure,
				      "the ResourceManager did not accept the end");
	part_done(finish);
}

/* Where people find the job from now on: in the portal or, without one, on the NameNode's own page
 * for directories. The caller frees. */
static char *find_page(const struct yarn_finish *finish)
{
	const struct hadoop_cluster *cluster = finish->yarn->cluster;
	const struct job *job = finish->yarn->job;
	char *page = job_portal_page(job);

	if (page)
		return page;
	bool is_elsewhere = *cluster->history_dir != '/';
	if (!finish->yarn->store || cluster->fs || cluster->hdfs.http_fs || is_elsewhere)
		return mem_strdup("");
	char *path cleanup_free = history_path(job->submitted_ms, job->id);
	return mem_printf("%s/explorer.html#%s/%s", store_server(finish->yarn->store),
			  cluster->history_dir, path);
}

static void unregister(struct yarn_finish *finish, const struct scheduler_end *end)
{
	static const Hadoop__FinalApplicationStatusProto statuses[JOB_STATE_COUNT] = {
		[JOB_SUCCEEDED] = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_SUCCEEDED,
		[JOB_FAILED] = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_FAILED,
		[JOB_KILLED] = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_KILLED,
	};
	char *url cleanup_free = find_page(finish);
	char *message cleanup_free = mem_strndup(end->message, DIAGNOSTICS_CAP);

	finish->pending++;
	application_master_finish(finish->yarn->master, statuses[end->state], message, url,
				  on_unregistered, finish);
}

/* ---- publishing --------------------------------------------------------------------------- */

static void on_published(void *data, const struct err *err)
{
	struct yarn_finish *finish = data;

	if (err)
		log_warning("the history is not published: %s", err_message(err));
	/* A place that is another user's, or a file, stays that. */
	finish->is_due = err && err->kind != ERR_DENIED;
	part_done(finish);
}

static void publish(struct yarn_finish *finish, const char *history)
{
	const struct hadoop_cluster *cluster = finish->yarn->cluster;
	const struct job *job = finish->yarn->job;
	const struct history_target target = {
		.submitted_ms = job->submitted_ms,
		.job_id = job->id,
		.attempt = history_attempt(),
		.access = history_access_of(job_config(job, "tony.history.permissions")),
	};
	struct err err cleanup_err = {0};

	finish->history = yarn_store_open(cluster, cluster->history_dir, finish->yarn->base, &err);
	if (finish->history)
		finish->upload = history_upload_start(finish->history, history, &target,
						      on_published, finish, &err);
	if (finish->upload) {
		history_upload_hold(finish->upload);
		finish->pending++;
	} else {
		log_warning("the history is not published: %s", err_message(&err));
	}
}

bool yarn_finish(struct scheduler *scheduler, const struct scheduler_end *end,
		 void (*done)(void *data), void *data)
{
	struct yarn *yarn = (struct yarn *)scheduler;
	struct yarn_finish *finish = mem_alloc(sizeof(*finish));

	*finish = (struct yarn_finish){
		.yarn = yarn,
		.done = done,
		.data = data,
	};
	yarn->finish = finish;
	unregister(finish, end);
	if (yarn->journal) {
		finish->pending++;
		journal_copy_finish(yarn->journal, on_written, finish);
	}
	if (yarn->files && !file_copies_finish(yarn->files, on_written, finish))
		finish->pending++;
	if (end->history)
		publish(finish, end->history);
	return false;
}

void yarn_finish_destroy(struct yarn_finish *finish)
{
	if (!finish)
		return;
	store_close(finish->history);
	history_upload_destroy(finish->upload);
	free(finish);
}
