/* Programs whose own numbers have become NaN, and which go on all the same. */
#include <inttypes.h>

#include "advise/rules.h"
#include "base/mem.h"

enum { TOLD_MAX = 3 /* tasks */ };

static void tell(struct advising *advising, struct advice *advice, const struct advise_use *use)
{
	const struct task_view *task = &advising->view->tasks[use->task];
	char *name cleanup_free = job_task_name(advising->job, task->type, task->index);

	advice_evidence(advice, "%s of %s: %s", use->nan_name, name, use->nan_words);
}

static void look(struct advising *advising, size_t type)
{
	struct advice *advice = NULL;
	size_t told = 0;

	for (const struct advise_use *use = NULL; (use = advise_next_use(advising, type, use));) {
		if (!use->nan_name || told == TOLD_MAX)
			continue;
		if (told++ == 0)
			advice = advice_begin(advising, "%s of %s has become NaN", use->nan_name,
					      advising->job->types[type].name);
		tell(advising, advice, use);
	}
	if (!advice)
		return;
	advice_type(advice, advising, type);
	advice_remedy(advice, "Steps after a NaN are seldom of use: end the job, and go on from a "
			      "checkpoint before it with a lower learning rate, clipped gradients, "
			      "or bf16 instead of fp16.");
}

void rule_number_nan(struct advising *advising)
{
	for (size_t i = 0; i < advising->job->type_count; i++)
		look(advising, i);
}
