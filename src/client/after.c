#include "client/after.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/job_array.h"
#include "client/job_list.h"
#include "client/opened.h"

struct after {
	const struct description *description;
	const char *word; /* as the user names the job */
	bool any_end;
	struct str text;
};

static int add_live(const struct after *after, const struct opened *opened, struct err *err)
{
	const char *engine = opened->ops->traits->name;
	const struct awaited awaited = {opened->id, after->any_end, opened->job->submitted_ms};

	if (!str_equal(engine, after->description->scheduler))
		return err_set(err, ERR_USAGE,
			       "--after %s: %s is on %s, where a job on %s does not see how it "
			       "ends; write tony wait %s && tony submit ...",
			       after->word, opened->id, engine, after->description->scheduler,
			       opened->id);
	str_list_take(&after->description->job->after, awaited_format(&awaited));
	return 0;
}

static int take(struct after *after, const char *id, struct err *err)
{
	struct opened opened cleanup_opened = {0};

	if (opened_find(&opened, id, err) < 0)
		return err_wrap(err, "--after %s", after->word);
	const struct job_view *view = opened.view;
	str_append_format(&after->text, "%s%s (%s)", after->text.length > 0 ? ", " : "", opened.id,
			  job_state_name(view->state));
	if (!view->is_final)
		return add_live(after, &opened, err);
	if (after->any_end || view->state == JOB_SUCCEEDED)
		return 0;
	return err_set(err, ERR_USAGE,
		       "--after %s: %s %s, so the job would never begin; write %s:any to begin "
		       "after any end",
		       after->word, opened.id,
		       view->state == JOB_KILLED ? "was killed" : "has failed", after->word);
}

static int take_word(struct after *after, struct err *err)
{
	struct str_list ids cleanup_str_list = {0};

	if (!job_array_is_id(after->word))
		return take(after, after->word, err);
	if (job_list_find_array(after->word, &ids, err) < 0)
		return err_wrap(err, "--after");
	for (size_t i = 0; i < ids.count; i++)
		if (take(after, ids.items[i], err) < 0)
			return -1;
	return 0;
}

int after_resolve(const struct description *description, char **text, struct err *err)
{
	struct after after = {.description = description};
	int result = 0;

	for (size_t i = 0; i < description->after.count && result == 0; i++) {
		const char *item = description->after.items[i];
		char *word cleanup_free = mem_strndup(item, strcspn(item, ":"));
		after.word = word;
		after.any_end = str_ends_with(item, ":any");
		result = take_word(&after, err);
	}
	*text = str_steal(&after.text);
	return result;
}
