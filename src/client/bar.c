#include "client/bar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/live.h"
#include "client/report.h"

enum { SHOW_MS = 100, ESTIMATE_AFTER_MS = 500, WIDTH = 30 };

void bar_begin(struct bar *bar, const char *verb, bool (*interrupted)(void))
{
	*bar = (struct bar){.verb = verb,
			    .interrupted = interrupted,
			    .is_terminal = isatty(STDERR_FILENO),
			    .begun_ms = clock_monotonic_ms()};
}

/* ", 12 s left"; "" as long as that would be a guess. */
static char *estimate(int64_t elapsed_ms, int64_t done, int64_t total)
{
	if (elapsed_ms < ESTIMATE_AFTER_MS || done <= 0 || done >= total)
		return mem_strdup("");
	double left_ms = (double)elapsed_ms * (double)(total - done) / (double)done;
	char *left cleanup_free = str_format_duration((int64_t)left_ms / 1000 * 1000 + 1000);
	return mem_printf(", %s left", left);
}

static int width_beside(int columns, const char *front, const char *rear)
{
	int room = columns - (int)(strlen(front) + strlen(rear));

	return room > WIDTH ? WIDTH : room < 0 ? 0 : room;
}

char *bar_line(const char *verb, const char *name, int64_t elapsed_ms, int64_t done, int64_t total,
	       int columns)
{
	char *size cleanup_free = str_format_mib((double)(total > 0 ? total : done) / (1 << 20));
	char *clean cleanup_free = str_printable(name, strlen(name));
	char *left cleanup_free = estimate(elapsed_ms, done, total);

	if (total <= 0)
		return mem_printf("%s %.40s, %s so far", verb, clean, size);
	char *front cleanup_free = mem_printf("%s %.40s [", verb, clean);
	char *rear cleanup_free = mem_printf("] %s%s", size, left);
	int width = width_beside(columns, front, rear);
	/* A file may have grown since it was counted. */
	int filled = total > done ? (int)((double)done / (double)total * width) : width;
	return mem_printf("%s%.*s%*s%s", front, filled, "##############################",
			  width - filled, "", rear);
}

bool bar_show(struct bar *bar, const char *name, int64_t done, int64_t total)
{
	int64_t now = clock_monotonic_ms();

	if (bar->is_terminal && now - bar->shown_ms >= SHOW_MS) {
		char *line cleanup_free = bar_line(bar->verb, name, now - bar->begun_ms, done,
						   total, live_window(stderr).columns - 1);
		/* The rest would go on below, where bar_clear() does not come. */
		fprintf(stderr, "\r\033[K%.*s", (int)report_fit(line, stderr), line);
		fflush(stderr);
		bar->is_shown = true;
		bar->shown_ms = now;
	}
	return !bar->interrupted();
}

void bar_clear(struct bar *bar)
{
	if (bar->is_shown)
		fputs("\r\033[K", stderr);
	bar->is_shown = false;
}
