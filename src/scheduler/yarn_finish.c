#include <stdlib.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/webhdfs_async.h"
#include "scheduler/yarn_internal.h"

enum {
	HISTORY_CAP = 64 << 20, /* bytes of a file that is published */
	DIAGNOSTICS_CAP = 4000, /* bytes; the ResourceManager keeps them in memory */
};

/*
 * The steps of the end, one after the other; what fails is noted, and the next one tried:
 * the job's description and journal go where clients look for ended jobs, then the job's own
 * directory is removed, and only then, when all can be found, the ResourceManager is told.
 */
enum step {
	STEP_DIRECTORY,
	STEP_PUBLISH, /* all files at once: a DataNode takes some 0.4 s for each */
	STEP_REMOVE,
	STEP_UNREGISTER,
};

struct yarn_finish {
	struct yarn *yarn;
	struct webhdfs_async *hdfs; /* NULL: cannot be had */
	enum step step;
	int pending; /* calls of this step */
	enum job_state state;
	char *message, *journal;
	void (*done)(void *data);
	void *data;
};

static void go_on(struct yarn_finish *finish);

static void on_hdfs(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct yarn_finish *finish = data;

	if (err)
		log_warning("%s", err_message(err));
	if (--finish->pending > 0)
		return;
	/* Without a directory there is nothing to publish in. */
	finish->step = err && finish->step == STEP_DIRECTORY ? STEP_REMOVE : finish->step + 1;
	go_on(finish);
}

static void on_unregistered(void *data, const char *failure)
{
	struct yarn_finish *finish = data;

	if (failure)
		log_error("the ResourceManager could not be told the end: %s", failure);
	finish->done(finish->data);
}

static void unregister(struct yarn_finish *finish)
{
	static const Hadoop__FinalApplicationStatusProto statuses[JOB_STATE_COUNT] = {
		[JOB_SUCCEEDED] = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_SUCCEEDED,
		[JOB_FAILED] = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_FAILED,
		[JOB_KILLED] = HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_KILLED,
	};
	const struct hadoop_cluster *cluster = finish->yarn->cluster;
	bool browsable = finish->hdfs && !cluster->http_fs && cluster->webhdfs.count > 0;
	/* The NameNode's own page for directories. */
	char *url cleanup_free =
		browsable ? mem_printf("%s/explorer.html#%s", cluster->webhdfs.items[0],
				       cluster->history_dir)
			  : mem_strdup("");

	application_master_finish(finish->yarn->master, statuses[finish->state], finish->message,
				  url, on_unregistered, finish);
}

static void publish(struct yarn_finish *finish, const char *path, const char *name)
{
	struct err err cleanup_err = {0};
	const struct webhdfs_create create = {.permission = 0600, .overwrite = true};
	size_t length;
	char *bytes cleanup_free = fs_read_file(path, HISTORY_CAP, &length, &err);
	char *to cleanup_free = fs_join(finish->yarn->cluster->history_dir, name);

	if (!bytes) {
		log_warning("%s is not published: %s", name, err_message(&err));
		return;
	}
	finish->pending++;
	webhdfs_async_write(finish->hdfs, to, &create, bytes, length, on_hdfs, finish);
}

/* False: there was nothing to do. */
static bool take_step(struct yarn_finish *finish)
{
	struct yarn *yarn = finish->yarn;
	char *description cleanup_free = fs_join(yarn->job_dir, "job.json");

	switch (finish->step) {
	case STEP_DIRECTORY:
		finish->pending = 1;
		webhdfs_async_make_directories(finish->hdfs, yarn->cluster->history_dir, 0700,
					       on_hdfs, finish);
		return true;
	case STEP_PUBLISH:
		publish(finish, description, "job.json");
		publish(finish, finish->journal, "journal.jsonl");
		return finish->pending > 0;
	case STEP_REMOVE:
		finish->pending = 1;
		webhdfs_async_remove(finish->hdfs, yarn->cluster->job_dir, on_hdfs, finish);
		return true;
	case STEP_UNREGISTER:
		unregister(finish);
		return true;
	}
	return true;
}

static void go_on(struct yarn_finish *finish)
{
	while (!take_step(finish))
		finish->step++;
}

static struct webhdfs_async *open_hdfs(struct yarn *yarn)
{
	struct err err cleanup_err = {0};
	const struct webhdfs_options options = hadoop_cluster_webhdfs(yarn->cluster);
	struct webhdfs_async *hdfs = webhdfs_async_create(yarn->base, &options, &err);

	if (!hdfs)
		log_warning("the job's history cannot be published, nor its directory removed: %s",
			    err_message(&err));
	return hdfs;
}

void yarn_finish(struct scheduler *scheduler, const struct scheduler_end *end,
		 void (*done)(void *data), void *data)
{
	struct yarn *yarn = (struct yarn *)scheduler;
	struct yarn_finish *finish = mem_alloc(sizeof(*finish));

	*finish = (struct yarn_finish){
		.yarn = yarn,
		.hdfs = open_hdfs(yarn),
		.state = end->state,
		.message = mem_strndup(end->message, DIAGNOSTICS_CAP),
		.journal = mem_strdup(end->journal),
		.done = done,
		.data = data,
	};
	finish->step = finish->hdfs ? STEP_DIRECTORY : STEP_UNREGISTER;
	yarn->finish = finish;
	go_on(finish);
}

void yarn_finish_destroy(struct yarn_finish *finish)
{
	if (!finish)
		return;
	webhdfs_async_destroy(finish->hdfs);
	free(finish->message);
	free(finish->journal);
	free(finish);
}
