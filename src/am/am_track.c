/* The job's run at a tracking server. */
#include <stdlib.h>

#include "am/am_internal.h"
#include "base/log.h"
#include "base/mem.h"

enum {
	RUN_MS = 10000,	 /* a job's beginning waits so long for its run */
	FLUSH_MS = 5000, /* and its end for its last numbers to leave */
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
}

void am_track_begin(struct am *am, void (*then)(void *am))
{
	if (am->tracking)
		tracking_begin(am->tracking, RUN_MS, then);
	else if (then)
		then(am);
}

void am_on_numbers(void *data, size_t task, const struct number_list *numbers, size_t first)
{
	const struct am *am = data;
	const struct task *of = machine_task(am->machine, task);

	if (am->tracking)
		tracking_add(am->tracking, of->type, of->index, numbers, first);
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
	tracking_flush(am->tracking, FLUSH_MS, on_flushed);
	if (!am->is_flushed)
		am_run_until(am, &am->is_flushed);
}
