/*
 * The metrics so far in the job's directory in HDFS, beside the journal: whoever finds the job dead
 * brings them into its history. The loop never waits for it, one write is under way at most, and
 * what comes meanwhile is left out: more will come. A failure costs figures, and nothing else.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/webhdfs_async.h"
#include "history/layout.h"
#include "scheduler/yarn_internal.h"
#include "scheduler/yarn_journal.h"

enum { FILE_MODE = 0600 };

struct yarn_metrics {
	struct yarn *yarn;
	struct webhdfs_async *hdfs;
	struct webhdfs_call *call; /* NULL: none is under way */
	char *directory, *path, *part;
	int fd;			     /* of what `call` is to keep; -1: none */
	int64_t length, kept_length; /* bytes */
	bool is_troubled;	     /* said so */
	bool is_over;
	void (*finished)(void *data); /* NULL: nobody waits for the end of `call` */
	void *finished_data;
};

static void end(struct yarn_metrics *metrics, const struct err *err)
{
	metrics->call = NULL;
	close(metrics->fd);
	metrics->fd = -1;
	if (err && !metrics->is_troubled)
		log_warning("the metrics so far cannot be kept in HDFS; the job goes on: %s",
			    err_message(err));
	metrics->is_troubled = err;
	if (metrics->finished)
		metrics->finished(metrics->finished_data);
}

/* An AM that stood still may have a successor, whose metrics are newer. */
static bool may_write(const struct yarn_metrics *metrics)
{
	return !metrics->is_over && yarn_may_act(metrics->yarn);
}

static void on_renamed(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct yarn_metrics *metrics = data;

	if (!err)
		metrics->kept_length = metrics->length;
	end(metrics, err);
}

static void on_uploaded(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct yarn_metrics *metrics = data;

	if (err || !may_write(metrics))
		end(metrics, err);
	else
		metrics->call = webhdfs_async_rename(metrics->hdfs, metrics->part, metrics->path,
						     true, on_renamed, metrics);
}

static void on_directory(void *data, const struct webhdfs_result *result, const struct err *err)
{
	const struct webhdfs_create create = {.permission = FILE_MODE, .overwrite = true};
	struct yarn_metrics *metrics = data;

	if (err || !may_write(metrics))
		end(metrics, err);
	else
		metrics->call =
			webhdfs_async_upload(metrics->hdfs, metrics->part, &create, metrics->fd,
					     metrics->length, NULL, on_uploaded, metrics);
}

static struct yarn_metrics *create(struct yarn *yarn)
{
	const struct webhdfs_options options = hdfs_access_webhdfs(&yarn->cluster->hdfs);
	struct webhdfs_async *hdfs = webhdfs_async_create(yarn->base, &options, NULL);

	if (!hdfs)
		return NULL;
	struct yarn_metrics *metrics = mem_alloc(sizeof(*metrics));
	*metrics = (struct yarn_metrics){
		.yarn = yarn,
		.hdfs = hdfs,
		.directory = mem_strdup(yarn->cluster->job_dir),
		.path = fs_join(yarn->cluster->job_dir, HISTORY_METRICS),
		.fd = -1,
	};
	metrics->part = mem_printf("%s.part", metrics->path);
	return metrics;
}

/* The directory is looked for, since writing would make it: an AM that stood still while others
 * ended the job would leave it behind. */
void yarn_metrics_written(struct scheduler *scheduler, const char *path)
{
	struct yarn *yarn = (struct yarn *)scheduler;
	struct stat status;

	if (!yarn->metrics)
		yarn->metrics = create(yarn);
	struct yarn_metrics *metrics = yarn->metrics;
	if (!metrics || metrics->call || !may_write(metrics))
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* Each measurement makes it longer; what has the same length is the same. */
	if (fstat(fd, &status) < 0 || status.st_size == metrics->kept_length ||
	    status.st_size > YARN_METRICS_CAP) {
		close(fd);
		return;
	}
	metrics->fd = fd;
	metrics->length = status.st_size;
	metrics->call =
		webhdfs_async_stat(metrics->hdfs, metrics->directory, on_directory, metrics);
}

bool yarn_metrics_finish(struct yarn *yarn, void (*done)(void *data), void *data)
{
	struct yarn_metrics *metrics = yarn->metrics;

	if (!metrics)
		return true;
	metrics->is_over = true;
	if (!metrics->call)
		return true;
	metrics->finished = done;
	metrics->finished_data = data;
	return false;
}

void yarn_metrics_destroy(struct yarn_metrics *metrics)
{
	if (!metrics)
		return;
	webhdfs_async_destroy(metrics->hdfs);
	if (metrics->fd >= 0)
		close(metrics->fd);
	free(metrics->directory);
	free(metrics->path);
	free(metrics->part);
	free(metrics);
}
