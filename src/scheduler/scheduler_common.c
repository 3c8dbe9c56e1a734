/* Parts of the client that engines share. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/view.h"
#include "scheduler/scheduler.h"

void scheduler_summarize(const struct scheduler_traits *engine, const struct job *job,
			 const struct job_view *view, struct job_summary *summary)
{
	*summary = (struct job_summary){
		.id = mem_strdup(job->id),
		.name = mem_strdup(job->name),
		.user = mem_strdup(job->user),
		.framework = mem_strdup(job->framework),
		.scheduler = mem_strdup(engine->name),
		.queue = mem_strdup(job->queue),
		.task_count = job_view_wanted(view),
		.state = view->state,
		.submitted_ms = job->submitted_ms,
		.ended_ms = view->ended_ms,
		.message = mem_strdup(view->message),
		.waiting = view->is_final ? NULL : mem_strdup(view->waiting),
		.parent = mem_strdup(job->parent),
	};
	str_list_copy(&summary->tags, &job->tags);
}

bool scheduler_id_begins(const char *id, const char *word)
{
	return strpbrk(word, "0123456789") && str_starts_with(id, word);
}

int scheduler_err_several(const char *id, const struct str_list *ids, struct err *err)
{
	enum { NAMED_AT_MOST = 5 };
	struct str_list named cleanup_str_list = {0};

	for (size_t i = 0; i < ids->count && i < NAMED_AT_MOST; i++)
		str_list_add(&named, ids->items[i]);
	char *text cleanup_free = str_list_join(&named, ", ");
	return err_set(err, ERR_USAGE, "\"%s\" fits %zu jobs (%s%s); write more of the id", id,
		       ids->count, text, ids->count > NAMED_AT_MOST ? ", ..." : "");
}
