/*
 * What an AM finds of the one before it. What took that one may have taken HDFS, too, for a while:
 * an attempt that gave up at once would be one less for the job.
 */
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "hadoop/cluster.h"
#include "hadoop/webhdfs_async.h"
#include "history/layout.h"
#include "job/job.h"
#include "net/backoff.h"
#include "scheduler/scheduler.h"
#include "scheduler/yarn_journal.h"
#include "scheduler/yarn_note.h"

enum {
	PATIENCE_S = 300, /* half of what YARN waits for an AM to register, unless it is told */
	FIRST_RETRY_MS = 500,
	RETRY_CAP_MS = 5000,
	REFUSALS = 3, /* then it is how the cluster is */
};

struct recovery {
	struct event_base *base;
	struct event *retry;
	struct backoff backoff;
	int64_t deadline;
	bool is_troubled; /* said so */
	struct webhdfs_async *hdfs;
	const struct hadoop_cluster *cluster;
	const struct scheduler_place *place;
	struct yarn_found found;
	int refusals; /* of the directory's attributes */
	int fd;
	char *metrics, *metrics_part; /* where those so far are brought */
	int64_t metrics_length;	      /* 0: there are none */
	int metrics_fd;
	struct err *err;
	int result;
};

static void try_again(struct recovery *recovery, const struct err *err)
{
	if (!recovery->is_troubled)
		log_warning("the journal of the application master before cannot be read for now, "
			    "which is tried for %d s: %s",
			    PATIENCE_S, err_message(err));
	recovery->is_troubled = true;
	timer_start(recovery->retry, backoff_next(&recovery->backoff, random_u64()));
}

static void end(struct recovery *recovery, const struct err *err)
{
	if (err && (err->kind == ERR_UNREACHABLE || err->kind == ERR_FAILED) &&
	    clock_monotonic_ms() < recovery->deadline) {
		try_again(recovery, err);
		return;
	}
	if (err)
		recovery->result = err_copy(recovery->err, err);
	event_base_loopbreak(recovery->base);
}

/* Without them the job goes on as well. */
static void on_metrics(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct recovery *recovery = data;

	mem_cleanup_close(&recovery->metrics_fd);
	if (err)
		log_warning("the metrics of the application master before are lost: %s",
			    err_message(err));
	else if (rename(recovery->metrics_part, recovery->metrics) < 0)
		log_warning("%s cannot be put in its place", recovery->metrics_part);
	unlink(recovery->metrics_part);
	end(recovery, NULL);
}

static bool fetch_metrics(struct recovery *recovery)
{
	if (recovery->metrics_length == 0 || recovery->metrics_length > YARN_METRICS_CAP)
		return false;
	recovery->metrics_fd =
		open(recovery->metrics_part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (recovery->metrics_fd < 0)
		return false;
	char *path cleanup_free = fs_join(recovery->cluster->job_dir, HISTORY_METRICS);
	webhdfs_async_download(recovery->hdfs, path, recovery->metrics_fd, 0,
			       recovery->metrics_length, on_metrics, recovery);
	return true;
}

/* What had been noted of it, but was not in the file yet. */
static int add_rest(struct recovery *recovery, struct err *err)
{
	off_t end = lseek(recovery->fd, 0, SEEK_END);
	size_t length;

	if (end < 0)
		return err_set_errno(err, "%s", recovery->place->journal);
	const char *rest = yarn_found_rest(&recovery->found, end, &length);
	return fs_write_all(recovery->fd, rest, length, err);
}

static void complete(struct recovery *recovery)
{
	struct err err cleanup_err = {0};

	if (add_rest(recovery, &err) < 0)
		end(recovery, &err);
	else if (!fetch_metrics(recovery))
		end(recovery, NULL);
}

static void on_fetched(void *data, const struct webhdfs_result *result, const struct err *err)
{
	if (err)
		end(data, err);
	else
		complete(data);
}

static void on_file(void *data, const struct webhdfs_file *file)
{
	struct recovery *recovery = data;

	if (str_equal(file->name, HISTORY_METRICS))
		recovery->metrics_length = file->length;
	else
		yarn_found_file(&recovery->found, file);
}

static void on_listed(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct recovery *recovery = data;
	int attempt = recovery->found.attempt;

	if (err || attempt == 0) {
		end(recovery, err && err->kind != ERR_NOT_FOUND ? err : NULL);
		return;
	}
	log_info("the journal is that of application master %d", attempt);
	if (recovery->found.length <= 0) {
		complete(recovery);
		return;
	}
	char *path cleanup_free = yarn_journal_path(recovery->cluster->job_dir, attempt);
	webhdfs_async_download(recovery->hdfs, path, recovery->fd, 0, recovery->found.length,
			       on_fetched, recovery);
}

static void on_attribute(void *data, const char *name, const char *value)
{
	struct recovery *recovery = data;

	yarn_found_attribute(&recovery->found, name, value);
}

/* Of a cluster that keeps none there is nothing but the file. */
static void on_attributes(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct recovery *recovery = data;

	if (err && err->kind != ERR_NOT_FOUND &&
	    (err->kind == ERR_UNREACHABLE || ++recovery->refusals < REFUSALS)) {
		end(recovery, err);
		return;
	}
	webhdfs_async_list(recovery->hdfs, recovery->cluster->job_dir, on_file, on_listed,
			   recovery);
}

static void look(evutil_socket_t fd, short what, void *data)
{
	struct recovery *recovery = data;

	yarn_found_finish(&recovery->found);
	recovery->found = (struct yarn_found){.before = recovery->place->am_attempt};
	recovery->metrics_length = 0;
	webhdfs_async_attributes(recovery->hdfs, recovery->cluster->job_dir, on_attribute,
				 on_attributes, recovery);
}

static int recover(struct recovery *recovery, struct err *err)
{
	struct webhdfs_options options = hdfs_access_webhdfs(&recovery->cluster->hdfs);

	options.max_wait_ms = -1; /* all of it is done again */
	recovery->base = event_base_new();
	recovery->retry = evtimer_new(recovery->base, look, recovery);
	recovery->backoff = (struct backoff){.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS};
	recovery->deadline = clock_monotonic_ms() + PATIENCE_S * INT64_C(1000);
	recovery->hdfs = webhdfs_async_create(recovery->base, &options, err);
	if (recovery->hdfs) {
		look(-1, 0, recovery);
		event_base_dispatch(recovery->base);
	} else {
		recovery->result = -1;
	}
	webhdfs_async_destroy(recovery->hdfs);
	yarn_found_finish(&recovery->found);
	event_free(recovery->retry);
	event_base_free(recovery->base);
	return recovery->result;
}

int yarn_journal_recover(const struct job *job, const char *job_dir,
			 const struct scheduler_place *place, struct err *err)
{
	/* What is there is this AM's own. */
	if (place->am_attempt <= 1 || fs_exists(place->journal))
		return 0;
	struct hadoop_cluster *cluster = hadoop_cluster_from_json(job->engine, job->stores, err);
	int fd cleanup_close =
		cluster ? open(place->journal, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	char *metrics cleanup_free = fs_join(job_dir, HISTORY_METRICS);
	char *metrics_part cleanup_free = mem_printf("%s.part", metrics);
	struct recovery recovery = {.cluster = cluster,
				    .place = place,
				    .fd = fd,
				    .metrics = metrics,
				    .metrics_part = metrics_part,
				    .err = err,
				    .result = 0};
	int result = -1;

	if (fd >= 0)
		result = recover(&recovery, err);
	else if (cluster)
		err_set_errno(err, "%s", place->journal);
	if (result < 0)
		unlink(place->journal);
	hadoop_cluster_destroy(cluster);
	return result < 0 ? err_wrap(err, "the journal of the application master before") : 0;
}
