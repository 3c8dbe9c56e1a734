#include "client/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/report.h"

#define CLEAR_BELOW	 "\033[J"
#define LINE_BURST	 50 /* lines about single tasks in one batch of records */
#define SUMMARY_EVERY_MS 1000
#define DRAW_EVERY_MS	 50

struct live {
	FILE *stream;
	const struct job_view *view;
	json_t *work; /* NULL: not known */
	enum live_form form;
	bool table, color;
	size_t drawn; /* lines of the table that are on the screen */
	int64_t drawn_at;
	size_t burst;	      /* lines since the last live_show() */
	enum job_state state; /* at the last summary */
	int64_t summary_at;
	char *summary;
};

bool live_can_draw(FILE *stream)
{
	const char *terminal = getenv("TERM");

	return isatty(fileno(stream)) && terminal && !str_equal(terminal, "dumb");
}

struct live *live_open(FILE *stream, const struct job_view *view, enum live_form form)
{
	struct live *live = mem_alloc(sizeof(*live));

	live->stream = stream;
	live->view = view;
	live->form = form;
	live->table = form == LIVE_TABLE && live_can_draw(stream);
	live->color = live->table && !getenv("NO_COLOR");
	return live;
}

bool live_is_table(const struct live *live)
{
	return live->table;
}

void live_erase(FILE *stream, size_t lines)
{
	if (lines > 0)
		fprintf(stream, "\033[%zuA\r" CLEAR_BELOW, lines);
}

static void erase(struct live *live)
{
	live_erase(live->stream, live->drawn);
	live->drawn = 0;
}

struct live_size live_window(FILE *stream)
{
	struct winsize window;

	if (ioctl(fileno(stream), TIOCGWINSZ, &window) < 0 || window.ws_col == 0)
		return (struct live_size){.columns = 80, .rows = 23};
	return (struct live_size){.columns = window.ws_col, .rows = window.ws_row - 1};
}

bool live_has_rows(const struct live *live)
{
	return live->table && (int64_t)live_count(live->view) < live_window(live->stream).rows;
}

static void draw(struct live *live, int64_t now_ms)
{
	struct str text cleanup_str = {0};

	live_table(live->view, live->work, now_ms, live_window(live->stream), live->color, &text);
	erase(live);
	fputs(str_text(&text), live->stream);
	for (size_t i = 0; i < text.length; i++)
		live->drawn += text.text[i] == '\n';
	fflush(live->stream);
	live->drawn_at = now_ms;
}

static void end_burst(struct live *live)
{
	if (live->burst > LINE_BURST)
		fprintf(live->stream, "... and %zu line%s more: see tony events %s\n",
			live->burst - LINE_BURST, str_plural(live->burst - LINE_BURST),
			live->view->job->id);
	live->burst = 0;
}

/* Tasks come up by the hundred: they are counted, at most once a second and at each turn of the
 * job. */
static void summarize(struct live *live, int64_t now_ms)
{
	struct str text cleanup_str = {0};
	bool turned = live->view->state != live->state;

	live_summary(live->view, &text);
	if (live->view->state == JOB_SUBMITTED || str_equal(live->summary, text.text) ||
	    (!turned && now_ms - live->summary_at < SUMMARY_EVERY_MS))
		return;
	char *time cleanup_free = str_format_time(now_ms);
	fprintf(live->stream, "%s %s\n", time, text.text);
	mem_replace(&live->summary, str_steal(&text));
	live->summary_at = now_ms;
	live->state = live->view->state;
}

int live_show(struct live *live, int64_t now_ms)
{
	int64_t since = now_ms - live->drawn_at;

	if (!live->table) {
		end_burst(live);
		if (live->form == LIVE_TABLE)
			summarize(live, now_ms);
		fflush(live->stream);
		return SUMMARY_EVERY_MS;
	}
	if (since >= 0 && since < DRAW_EVERY_MS && !live->view->is_final)
		return (int)(DRAW_EVERY_MS - since);
	draw(live, now_ms);
	return SUMMARY_EVERY_MS;
}

void live_set_work(struct live *live, json_t *work)
{
	json_decref(live->work);
	live->work = work;
}

void live_add(struct live *live, const struct journal_line *line)
{
	struct str text cleanup_str = {0};

	if (live->table || (live->form == LIVE_TROUBLE && !live_line_is_trouble(live->view, line)))
		return;
	live_line(live->view, line, &text);
	if (text.length > 0 && live->burst++ < LINE_BURST)
		fputs(text.text, live->stream);
}

void live_say(struct live *live, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text cleanup_free = mem_vprintf(format, args);
	va_end(args);
	char *clean cleanup_free = report_clean(text);
	erase(live);
	fprintf(live->stream, "%s%s\n", live->form == LIVE_TROUBLE ? "tony: " : "", clean);
	if (live->table)
		draw(live, clock_wall_ms());
	fflush(live->stream);
}

void live_close(struct live *live)
{
	if (!live)
		return;
	fflush(live->stream);
	json_decref(live->work);
	free(live->summary);
	free(live);
}
