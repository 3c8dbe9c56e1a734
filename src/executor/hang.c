#include "executor/hang.h"

#include "base/mem.h"
#include "base/str.h"

enum {
	IDLE_PERMILLE = 10, /* of a core: a program that waits wakes up now and then */
	IDLE_TICKS_MS = 20, /* the clock of processor time is no finer */
	IDLE_BYTES = 4096,
};

void hang_begin(struct hang *hang, int64_t now)
{
	hang->since = now;
	hang->last = (struct hang_signs){0};
}

void hang_measure(struct proc_tree *processes, proc_tree_outsider *is_outsider, const void *data,
		  struct hang_signs *signs)
{
	struct proc_usage usage;

	proc_tree_measure_own(processes, is_outsider, data, &usage);
	signs->cpu_ms = usage.cpu_ms;
	signs->io_bytes = usage.io_bytes;
}

/* What has shrunk had a process less: that is a sign, too. */
static bool has_grown(uint64_t before, uint64_t after, uint64_t idle)
{
	return after < before || after - before > idle;
}

static bool lives(const struct hang *hang, const struct hang_signs *signs, int64_t now)
{
	const struct hang_signs *last = &hang->last;
	uint64_t idle_ms = IDLE_TICKS_MS + (uint64_t)(now - hang->since) * IDLE_PERMILLE / 1000;

	if (signs->tells_steps)
		return !last->tells_steps || signs->change != last->change;
	if (last->tells_steps) /* read while it was being written */
		return false;
	return signs->output_bytes != last->output_bytes ||
	       has_grown(last->cpu_ms, signs->cpu_ms, idle_ms) ||
	       has_grown(last->io_bytes, signs->io_bytes, IDLE_BYTES);
}

bool hang_look(struct hang *hang, const struct hang_signs *signs, int64_t now)
{
	if (lives(hang, signs, now)) {
		hang->last = *signs;
		hang->since = now;
	}
	return now - hang->since >= hang->limit_ms;
}

char *hang_text(const struct hang *hang)
{
	char *limit cleanup_free = str_format_duration(hang->limit_ms);

	if (hang->last.tells_steps)
		return mem_printf("it told no further step for %s", limit);
	return mem_printf("nothing was written, read or computed for %s", limit);
}
