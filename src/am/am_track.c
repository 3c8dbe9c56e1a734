/* The job's run at a tracking server. */
#include <stdlib.h>

#include "am/am_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"

enum {
	RUN_MS = 10000,	 /* a job's beginning waits so long for its run */
	FLUSH_MS = 5000, /* and its end for its last numbers to leave */
	SAMPLES = 2,	 /* so many of the tasks' measurements become one of the job's */
};

static void on_run_made(void *data, const char *run, const char *page)
{
	struct am *am = data;

	if (am_is_over(am))
		return;
	log_info("tracked: %s", page);
	am_record(am, record_tracking(run, page), true);
	api_set_tracking_run(am->api, run);
}

static void on_noted(void *data, const char *text)
{
	am_note(data, text);
}

/* MLflow has a page of its own for such numbers. Each AM counts seconds from the same moment. */
static void on_measure(evutil_socket_t fd, short what, void *data)
{
	struct am *am = data;
	int64_t now_ms = clock_wall_ms(), step = (now_ms - am->job->submitted_ms) / 1000;
	struct api_use use;

	api_measure_use(am->api, &use);
	struct number numbers[] = {
		{"cpu_cores", "system", now_ms, step, use.cpu_cores},
		{"memory_megabytes", "system", now_ms, step, use.memory_mib},
		{"gpu_utilization_percentage", "system", now_ms, step, use.gpu_percent},
		{"gpu_memory_megabytes", "system", now_ms, step, use.gpu_memory_mib},
		{"done_percentage", "system", now_ms, step, 100 * use.done},
	};
	const struct number_list list = {.items = numbers, .count = array_length(numbers)};
	tracking_add(am->tracking, NULL, &list, 0);
}

void am_track_open(struct am *am, const struct job_view *view)
{
	char *page cleanup_free = job_portal_page(am->job);
	struct err err cleanup_err = {0};

	if (!am->job->tracking_uri)
		return;
	am->job_page =
		page ? mem_steal(&page) : mem_printf("http://%s/", api_pages_address(am->api));
	api_set_tracking_run(am->api, view->tracking_run);
	am->tracking =
		tracking_create(&(struct tracking_options){.base = am->base,
							   .job = am->job,
							   .job_page = am->job_page,
							   .run = view->tracking_run,
							   .is_first_am = view->am_attempt == 0,
							   .run_made = on_run_made,
							   .noted = on_noted,
							   .data = am},
				&err);
	if (!am->tracking)
		am_note(am, err_message(&err));
	else
		am->track_timer = event_new(am->base, -1, EV_PERSIST, on_measure, am);
}

void am_track_begin(struct am *am, void (*then)(void *am))
{
	if (am->tracking) {
		timer_start(am->track_timer, SAMPLES * am->job->metrics_interval_ms);
		tracking_begin(am->tracking, RUN_MS, then);
	} else if (then) {
		then(am);
	}
}

void am_on_numbers(void *data, size_t task, const struct number_list *numbers, size_t first)
{
	const struct am *am = data;
	const struct task *of = machine_task(am->machine, task);
	bool is_chief = job_is_chief(am->job, of->type, of->index);
	char *name cleanup_free = is_chief ? NULL : job_output_name(am->job, of->type, of->index);

	if (am->tracking)
		tracking_add(am->tracking, name, numbers, first);
}

static void on_flushed(void *data)
{
	struct am *am = data;

	am->is_flushed = true;
}

void am_track_end(struct am *am)
{
	if (!am->tracking)
		return;
	event_del(am->track_timer);
	tracking_flush(am->tracking, FLUSH_MS, on_flushed);
	if (!am->is_flushed)
		am_run_until(am, &am->is_flushed);
}
