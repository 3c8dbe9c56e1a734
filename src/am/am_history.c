#include "am/am_internal.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/pack.h"

enum { SAMPLES_BETWEEN = 12 }; /* two writings of the metrics so far */

static char *log_path(void *data, size_t task, int attempt, const char *name)
{
	const struct am *am = data;
	return am->scheduler_ops->log_path(am->scheduler, task, name);
}

static int write_metrics(void *data, int fd, struct err *err)
{
	const struct am *am = data;
	size_t next = 0;

	return api_write_metrics(am->api, &next, SIZE_MAX, fd, err) < 0 ? -1 : 0;
}

static void measure(void *data, struct history_summary *summary)
{
	const struct am *am = data;

	api_measure(am->api, summary);
}

void am_on_file_written(void *data, const char *path)
{
	const struct am *am = data;

	if (am->scheduler_ops->traits->remote_am)
		am->scheduler_ops->file_written(am->scheduler, path);
}

void am_history_begin(struct am *am)
{
	int64_t interval_ms = am->job->metrics_interval_ms;

	if (interval_ms <= 0)
		return;
	char *path cleanup_free = fs_join(am->job_dir, HISTORY_METRICS);
	struct err err cleanup_err = {0};
	if (am->place.am_attempt > 1 && api_restore_metrics(am->api, path, &err) < 0)
		log_warning("the metrics of the application master before are lost: %s",
			    err_message(&err));
	am->metrics_file = metrics_file_create(
		am->base, am->api, path, SAMPLES_BETWEEN * interval_ms, am_on_file_written, am);
}

char *am_history_pack(struct am *am)
{
	struct err err cleanup_err = {0};
	char *directory cleanup_free = fs_join(am->job_dir, ".history");
	const struct history_pack pack = {.job = am->job,
					  .diff = am->diff_path,
					  .journal = am->place.journal,
					  .write_metrics = write_metrics,
					  .measure = measure,
					  .log_path = log_path,
					  .data = am};
	if (history_pack(&pack, directory, &err) == 0)
		return mem_steal(&directory);
	log_warning("no history is kept of this job: %s", err_message(&err));
	return NULL;
}
