/* What a job that has ended should have been told (advise/advise.h). */
#include <stdlib.h>

#include "advise/advise.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "portal/index.h"
#include "portal/reader_internal.h"

/* A line that says nothing of use is passed over. */
static void read_uses(struct reader *reader, FILE *file, struct advise_uses *uses)
{
	char *line cleanup_free = NULL;
	size_t size = 0;
	json_t *found;

	while ((found = reader_next_metrics(file, NULL, &line, &size))) {
		advise_uses_add_json(uses, reader->job, found, NULL);
		json_decref(found);
	}
}

/* ---- past runs ---------------------------------------------------------------------------- */

struct past {
	struct history_summary *items;
	size_t count;
};

static void finish_past(struct past *past)
{
	for (size_t i = 0; i < past->count; i++)
		history_summary_finish(&past->items[i]);
	free(past->items);
}

static void on_run(void *data, const char *text, size_t length)
{
	struct past *past = data;
	struct history_summary summary;

	if (history_summary_from_text(text, length, &summary, NULL) < 0)
		return;
	past->items = mem_realloc_array(past->items, past->count + 1, sizeof(*past->items));
	past->items[past->count++] = summary;
}

/* Whoever may see this job may see them. */
static void find_past(const struct reader *reader, struct past *past)
{
	const struct job *job = reader->job;
	const struct portal_runs runs = {.user = reader->user,
					 .name = job->name,
					 .view_acl = job_view_acl(job),
					 .since_ms = job->submitted_ms - ADVISE_PAST_MS,
					 .most = ADVISE_PAST_RUNS};
	struct err err cleanup_err = {0};
	struct portal_index *index = portal_index_open_known(reader->setup->index_path, &err);

	if (!index || portal_index_runs(index, &runs, on_run, past, &err) < 0)
		log_warning("past runs of %s are not looked at: %s", reader->id, err_message(&err));
	portal_index_close(index);
}

/* ------------------------------------------------------------------------------------------- */

void reader_handle_advice(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct advise_uses uses cleanup_advise_uses = {0};
	struct advice_list list cleanup_advice_list = {0};
	struct past past __attribute__((cleanup(finish_past))) = {0};
	bool answered = false;

	if (!reader_open(reader, request))
		return;
	FILE *file cleanup_file = reader_open_metrics(reader, request, &answered);
	if (answered)
		return;
	if (file)
		read_uses(reader, file, &uses);
	find_past(reader, &past);
	const struct advise_input input = {.view = reader->view,
					   .now_ms = clock_wall_ms(),
					   .uses = uses,
					   .past = past.items,
					   .past_count = past.count};
	advise(&input, &list);
	http_answer_json(request, 200, advice_list_to_json(&list));
}
