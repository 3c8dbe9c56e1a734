/* Any bytes as a .jhist, and what stands behind a line "--" in them as its configuration: what is
 * told of it is a job, and a journal that can be read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "history/jhist.h"
#include "job/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct jhist *jhist)
{
	struct job_view *view = job_view_create(jhist->job);
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", jhist->events);

	if (job_view_read(view, path, NULL) < 0 || !jhist->summary.id)
		abort();
	job_view_destroy(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char border[] = "\n--\n";
	const char *split = memmem(data, size, border, strlen(border));
	struct jhist_source source = {
		.name = "application_1_0001-5-7-user-FAILED.jhist",
		.events = (const char *)data,
		.length = split ? (size_t)(split - (const char *)data) : size,
	};
	struct jhist jhist;

	if (split) {
		source.config = split + strlen(border);
		source.config_length = size - source.length - strlen(border);
	}
	if (jhist_read(&source, &jhist, NULL) < 0)
		return 0;
	check(&jhist);
	jhist_finish(&jhist);
	return 0;
}
