/* While nothing can be stored, a failure costs what was computed since. */
#include <stdlib.h>

#include "advise/rules.h"
#include "base/mem.h"

enum { TROUBLE_MS = 60000, NAMED_AT_MOST = 3 };

/* For how long; 0: it has not begun, or may be over soon. */
static int64_t lasts_ms(const struct advising *advising, const char *trouble, int64_t since_ms)
{
	int64_t ms = advising->input->now_ms - since_ms;

	return trouble && ms >= TROUBLE_MS ? ms : 0;
}

static void tell(struct advising *advising, struct advice **advice, const char *whose, int64_t ms,
		 const char *trouble)
{
	char *lasted cleanup_free = str_format_duration(ms);

	if (!*advice)
		*advice = advice_begin(advising, "nothing can be stored at the moment");
	advice_evidence(*advice, "%s, for %s: %s", whose, lasted, trouble);
}

void rule_store_trouble(struct advising *advising)
{
	const struct job_view *view = advising->view;
	struct advice *advice = NULL;
	size_t count = 0, told_type = SIZE_MAX;

	if (view->is_final)
		return;
	for (size_t i = 0; i < view->task_count; i++) {
		const struct task_view *task = &view->tasks[i];
		int64_t ms = lasts_ms(advising, task->checkpoint_trouble,
				      task->checkpoint_trouble_since_ms);
		if (ms == 0 || ++count > NAMED_AT_MOST)
			continue;
		char *name cleanup_free = job_task_name(view->job, task->type, task->index);
		tell(advising, &advice, name, ms, task->checkpoint_trouble);
		if (task->type != told_type)
			advice_type(advice, advising, task->type);
		told_type = task->type;
	}
	if (count > NAMED_AT_MOST)
		advice_evidence(advice, "%zu tasks in all", count);
	int64_t ms = lasts_ms(advising, view->store_trouble, view->store_trouble_since_ms);
	if (ms > 0)
		tell(advising, &advice, "the application master", ms, view->store_trouble);
	if (advice)
		advice_remedy(advice, "Make room there, or have the quota raised: tony tries again "
				      "by itself. A failure now costs what was computed since.");
}
