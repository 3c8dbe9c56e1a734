/* Any bytes as a metrics.jsonl: the figures that are made of it are good ones, which summary.json
 * takes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/measure.h"
#include "job/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char worker_name[] = "worker", ps_name[] = "ps", empty[] = "", id[] = "fuzz";

static struct job_type types[] = {{.name = worker_name, .instances = 2},
				  {.name = ps_name, .instances = 1}};
static const struct job job = {.id = id,
			       .name = empty,
			       .user = empty,
			       .framework = empty,
			       .types = types,
			       .type_count = 2};

static void measure(const char *path)
{
	struct job_view *view = job_view_create(&job);
	struct history_summary summary cleanup_history_summary = {0};
	struct history_summary again cleanup_history_summary = {0};

	view->state = JOB_FAILED;
	history_summary_of(view, &summary);
	job_view_destroy(view);
	if (history_measure_file(&job, path, &summary, NULL) < 0)
		abort();
	for (size_t i = 0; i < summary.type_count; i++)
		if (summary.types[i].p95_rss_bytes > summary.types[i].max_rss_bytes)
			abort();
	json_t *object cleanup_json = history_summary_to_json(&summary);
	char *text cleanup_free = json_text(object);
	if (history_summary_from_text(text, strlen(text), &again, NULL) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("metrics", MFD_CLOEXEC);
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", fd);

	if (fd < 0 || fs_write_all(fd, (const char *)data, size, NULL) < 0)
		abort();
	measure(path);
	close(fd);
	return 0;
}
