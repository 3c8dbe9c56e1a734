#include "executor/freeze.h"

#include "base/mem.h"
#include "base/str.h"

static bool is_among(const struct proc_list *list, const struct proc_id *process)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == process->pid &&
		    list->items[i].start_time == process->start_time)
			return true;
	return false;
}

static void leave_out(struct proc_list *list, const struct proc_list *others)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (!is_among(others, &list->items[i]))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

bool freeze_look(struct freeze *freeze, struct proc_tree *processes, const struct proc_list *others,
		 int64_t now)
{
	struct proc_list stopped;

	proc_tree_list_stopped(processes, &stopped);
	leave_out(&stopped, others);
	if (stopped.count == 0) {
		freeze->process.pid = 0;
	} else if (!is_among(&stopped, &freeze->process)) {
		freeze->process = stopped.items[0];
		freeze->since = now;
	}
	proc_list_finish(&stopped);
	return freeze->process.pid > 0 && now - freeze->since >= freeze->limit_ms;
}

char *freeze_text(const struct freeze *freeze)
{
	char *name cleanup_free = proc_name(freeze->process.pid);
	char *limit cleanup_free = str_format_duration(freeze->limit_ms);

	return mem_printf("process %d (%s) was stopped (SIGSTOP) and stood still for %s",
			  (int)freeze->process.pid, name, limit);
}
