#include "job/machine_internal.h"

#include "base/mem.h"

/* A heap of when and which, the soonest first. Who does not wait any more stays in it until then,
 * and is passed over. */

static bool is_sooner(const struct pause *a, const struct pause *b)
{
	return a->when != b->when ? a->when < b->when : a->task < b->task;
}

static void push(struct machine *m, struct pause pause)
{
	if (m->pause_count == m->pause_capacity) {
		m->pause_capacity = m->pause_capacity ? 2 * m->pause_capacity : 16;
		m->pauses = mem_realloc_array(m->pauses, m->pause_capacity, sizeof(*m->pauses));
	}
	size_t at = m->pause_count++;
	for (; at > 0 && is_sooner(&pause, &m->pauses[(at - 1) / 2]); at = (at - 1) / 2)
		m->pauses[at] = m->pauses[(at - 1) / 2];
	m->pauses[at] = pause;
}

static void pop(struct machine *m)
{
	struct pause last = m->pauses[--m->pause_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < m->pause_count) {
		if (child + 1 < m->pause_count &&
		    is_sooner(&m->pauses[child + 1], &m->pauses[child]))
			child++;
		if (!is_sooner(&m->pauses[child], &last))
			break;
		m->pauses[at] = m->pauses[child];
		at = child;
	}
	m->pauses[at] = last;
}

void machine_await_restart(struct machine *m, size_t task, int64_t when)
{
	struct task *t = &m->tasks[task];
	t->start_not_before = when;
	if (!t->restarting)
		m->types[t->type].restarting++;
	t->restarting = true;
	push(m, (struct pause){when, task});
	machine_due(m, when);
}

void machine_forget_restart(struct machine *m, size_t task)
{
	struct task *t = &m->tasks[task];
	t->start_not_before = 0;
	if (t->restarting)
		m->types[t->type].restarting--;
	t->restarting = false;
}

bool machine_next_restart(struct machine *m, size_t *task)
{
	while (m->pause_count > 0 && m->pauses[0].when <= m->now) {
		struct pause pause = m->pauses[0];
		pop(m);
		*task = pause.task;
		if (m->tasks[*task].restarting && m->tasks[*task].start_not_before == pause.when)
			return true;
	}
	if (m->pause_count > 0)
		machine_due(m, m->pauses[0].when);
	return false;
}
