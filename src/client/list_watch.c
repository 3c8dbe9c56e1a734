#include "client/list_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/look.h"
#include "client/report.h"

enum { EVERY_MS = 1000 };

struct list_view {
	list_watch_find *find;
	void *data;
	const struct list_form *form;
	struct job_list list;
	struct map *known; /* the state that was told, by id */
};

static int ask(void *data, struct err *err)
{
	struct list_view *view = data;

	job_list_finish(&view->list);
	if (view->find(view->data, &view->list, err) < 0)
		return -1;
	return view->list.failure == ERR_NONE ? LOOK_ALL : LOOK_PART;
}

static void draw(void *data, struct live_size size, struct str *out)
{
	const struct list_view *view = data;

	list_table_format(&view->list, view->form, clock_wall_ms(), (size_t)size.columns, out);
}

static void tell(const struct job_summary *job, const char *time)
{
	bool has_failed = job_state_is_final(job->state) && job->state != JOB_SUCCEEDED;
	bool says_why = has_failed && job->message;
	char *line cleanup_free =
		mem_printf("%s %s %s %s%s%s", time, job->id, job_state_name(job->state), job->name,
			   says_why ? ": " : "", says_why ? job->message : "");
	char *clean cleanup_free = report_one_line(line);

	printf("%s\n", clean);
}

/* The newest job comes last, as in any log. */
static void tell_changes(void *data)
{
	struct list_view *view = data;
	const struct job_list *list = &view->list;
	char *time cleanup_free = str_format_time(clock_wall_ms());

	for (size_t i = list->count; i-- > 0;) {
		const struct job_summary *job = &list->items[i];
		const char *state = job_state_name(job->state);
		if (map_get(view->known, job->id) == state)
			continue;
		map_set(view->known, job->id, (void *)state);
		tell(job, time);
	}
}

int list_watch(list_watch_find *find, void *data, const struct list_form *form, struct err *err)
{
	struct list_view view = {.find = find, .data = data, .form = form};
	const struct look_options options = {
		.every_ms = EVERY_MS,
		.ask = ask,
		.draw = draw,
		.tell = tell_changes,
		.data = &view,
	};

	view.known = map_create(NULL);
	int code = look_again(&options, err);
	map_destroy(view.known);
	job_list_finish(&view.list);
	return code;
}
