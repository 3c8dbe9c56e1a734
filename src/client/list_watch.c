#include "client/list_watch.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/list_table.h"
#include "client/live.h"
#include "client/report.h"
#include "client/watch.h"

enum { EVERY_MS = 1000 };

struct list_view {
	bool draws, wide;
	size_t drawn;	   /* lines that are on the screen */
	struct map *known; /* the state that was told, by id */
	struct map *told;  /* warnings that hold, by what is the matter; owned texts */
};

/* ---- a terminal --------------------------------------------------------------------------- */

/* The bytes of the first `lines` lines. */
static size_t cut(const char *text, size_t lines)
{
	const char *at = text;

	while (lines-- > 0 && strchr(at, '\n'))
		at = strchr(at, '\n') + 1;
	return (size_t)(at - text);
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void add_warnings(const struct list_view *view, size_t columns, struct str *out)
{
	const char *matter;
	void *text;

	for (size_t i = 0; map_next(view->told, &i, &matter, &text);) {
		char *line cleanup_free = mem_printf("warning: %s", (const char *)text);
		str_cut(line, columns);
		str_append_format(out, "%s\n", line);
	}
}

static void erase(struct list_view *view)
{
	live_erase(stdout, view->drawn);
	view->drawn = 0;
}

static void draw(struct list_view *view, const struct job_list *list)
{
	struct live_size size = live_window(stdout);
	struct str text cleanup_str = {0};
	size_t warnings = map_count(view->told), rows = size.rows > 0 ? (size_t)size.rows : 0;
	size_t most = rows > warnings + 2 ? rows - warnings - 1 : 1;

	list_table_format(list, view->wide, clock_wall_ms(), (size_t)size.columns, &text);
	size_t lines = count_lines(str_text(&text));
	if (lines > most) {
		str_truncate(&text, cut(text.text, most));
		str_append_format(&text, "... and %zu line%s more\n", lines - most,
				  str_plural((int64_t)(lines - most)));
	}
	add_warnings(view, (size_t)size.columns, &text);
	erase(view);
	fputs(str_text(&text), stdout);
	view->drawn = count_lines(str_text(&text));
}

/* ---- lines -------------------------------------------------------------------------------- */

static void tell(const struct job_summary *job, const char *time)
{
	bool has_failed = job_state_is_final(job->state) && job->state != JOB_SUCCEEDED;
	bool says_why = has_failed && job->message;
	char *line cleanup_free =
		mem_printf("%s %s %s %s%s%s", time, job->id, job_state_name(job->state), job->name,
			   says_why ? ": " : "", says_why ? job->message : "");
	char *clean cleanup_free = str_printable(line, strlen(line));

	printf("%s\n", clean);
}

/* The newest job comes last, as in any log. */
static void tell_changes(struct list_view *view, const struct job_list *list)
{
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

/* ---- warnings ----------------------------------------------------------------------------- */

/* Each look warns of the same things: this is told when it begins and when it is over. */
static void say(struct list_view *view, const char *matter, const char *why)
{
	erase(view);
	fflush(stdout);
	log_warning("%s%s", matter, why);
}

/* By the words before the reason, which may be another one each time. Without a reason it is good
 * news ("... answers again"), as the end of the matter is. */
static void take_warning(void *data, const char *text)
{
	struct map *fresh = data;
	const char *colon = strstr(text, ": ");
	char *matter cleanup_free = colon ? mem_strndup(text, (size_t)(colon - text)) : NULL;

	if (matter)
		map_set(fresh, matter, mem_strdup(text));
}

/* Tries within a look are told once in half a minute: while one fails, nothing is over. */
static void keep_told(const struct list_view *view, struct map *fresh)
{
	const char *matter;
	void *text;

	for (size_t i = 0; map_next(view->told, &i, &matter, &text);)
		if (!map_get(fresh, matter))
			map_set(fresh, matter, mem_strdup(text));
}

static void tell_warnings(struct list_view *view, struct map *fresh)
{
	const char *matter;
	void *text;

	for (size_t i = 0; map_next(fresh, &i, &matter, &text);)
		if (!map_get(view->told, matter))
			say(view, text, "");
	for (size_t i = 0; map_next(view->told, &i, &matter, &text);)
		if (!map_get(fresh, matter))
			say(view, matter, ": this is over");
	map_destroy(view->told);
	view->told = fresh;
}

static int look(struct list_view *view, list_watch_find *find, void *data, struct job_list *list,
		struct err *err)
{
	struct map *fresh = map_create(free);

	log_divert(take_warning, fresh);
	int result = find(data, list, err);
	log_divert(NULL, NULL);
	if (result == 0 && list->failure != ERR_NONE)
		keep_told(view, fresh);
	tell_warnings(view, fresh);
	return result;
}

/* ------------------------------------------------------------------------------------------- */

/* The signal that ends it; 0: none came within a turn. */
static int wait_for_signal(int signals)
{
	struct pollfd fd = {.fd = signals, .events = POLLIN};
	struct signalfd_siginfo info;

	poll(&fd, 1, EVERY_MS);
	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGWINCH)
			return (int)info.ssi_signo;
	return 0;
}

static int run(struct list_view *view, list_watch_find *find, void *data, int signals,
	       struct err *err)
{
	for (;;) {
		struct job_list list cleanup_job_list = {0};
		if (look(view, find, data, &list, err) < 0)
			return -1;
		if (view->draws)
			draw(view, &list);
		else
			tell_changes(view, &list);
		if (fflush(stdout) != 0)
			return err_set_errno(err, "standard output");
		int signal = wait_for_signal(signals);
		if (signal)
			return signal == SIGHUP ? EXIT_CODE_HANGUP : EXIT_CODE_INTERRUPTED;
	}
}

int list_watch(list_watch_find *find, void *data, bool wide, struct err *err)
{
	struct list_view view = {.draws = live_can_draw(stdout), .wide = wide};
	sigset_t set;

	watch_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int signals cleanup_close = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0)
		return err_set_errno(err, "cannot wait for signals");
	view.known = map_create(NULL);
	view.told = map_create(free);
	int code = run(&view, find, data, signals, err);
	map_destroy(view.known);
	map_destroy(view.told);
	return code;
}
