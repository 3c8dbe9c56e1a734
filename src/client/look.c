#include "client/look.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/watch.h"

enum { INDENT = 4 }; /* of a line that goes on below */

struct look {
	const struct look_options *options;
	bool draws;
	size_t drawn;	  /* lines that are on the screen */
	struct map *told; /* warnings that hold, by what is the matter; owned texts */
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

/* A line that the terminal would fold is more rows than one, and erase() goes up by rows. */
static void fold_lines(struct str *text, size_t columns)
{
	struct str folded = {0};
	const char *line = str_text(text);

	while (*line) {
		const char *end = line + strcspn(line, "\n");
		char *whole cleanup_free = mem_strndup(line, (size_t)(end - line));
		const char *rest = whole;
		size_t length = report_fold_at(rest, columns);
		str_append_format(&folded, "%.*s\n", (int)length, rest);
		while (*(rest += length + strspn(rest + length, " "))) {
			length = report_fold_at(rest, columns - INDENT);
			str_append_format(&folded, "%*s%.*s\n", INDENT, "", (int)length, rest);
		}
		line = end + (*end == '\n');
	}
	str_finish(text);
	*text = folded;
}

static void add_warnings(const struct look *look, size_t columns, struct str *out)
{
	const char *matter;
	void *text;

	for (size_t i = 0; map_next(look->told, &i, &matter, &text);) {
		char *line cleanup_free = mem_printf("warning: %s", (const char *)text);
		str_cut(line, columns);
		str_append_format(out, "%s\n", line);
	}
}

static void erase(struct look *look)
{
	live_erase(stdout, look->drawn);
	look->drawn = 0;
}

static void draw(struct look *look)
{
	struct live_size size = live_window(stdout);
	struct str text cleanup_str = {0};
	size_t warnings = map_count(look->told), rows = size.rows > 0 ? (size_t)size.rows : 0;
	size_t most = rows > warnings + 2 ? rows - warnings : 2;

	size.rows = (int)most;
	look->options->draw(look->options->data, size, &text);
	if (size.columns > 2 * INDENT)
		fold_lines(&text, (size_t)size.columns);
	size_t lines = count_lines(str_text(&text));
	if (lines > most) {
		size_t more = lines - (most - 1);
		str_truncate(&text, cut(text.text, most - 1));
		str_append_format(&text, "... and %zu line%s more\n", more, str_plural(more));
	}
	add_warnings(look, (size_t)size.columns, &text);
	erase(look);
	/* Nothing of it is a colour, and much of it is the text of others. */
	char *clean cleanup_free = str_printable(str_text(&text), text.length);
	fputs(clean, stdout);
	look->drawn = count_lines(str_text(&text));
}

/* ---- warnings ----------------------------------------------------------------------------- */

/* Each look warns of the same things: this is told when it begins and when it is over. */
static void say(struct look *look, const char *matter, const char *why)
{
	erase(look);
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
static void keep_told(const struct look *look, struct map *fresh)
{
	const char *matter;
	void *text;

	for (size_t i = 0; map_next(look->told, &i, &matter, &text);)
		if (!map_get(fresh, matter))
			map_set(fresh, matter, mem_strdup(text));
}

static void tell_warnings(struct look *look, struct map *fresh)
{
	const char *matter;
	void *text;

	for (size_t i = 0; map_next(fresh, &i, &matter, &text);)
		if (!map_get(look->told, matter))
			say(look, text, "");
	for (size_t i = 0; map_next(look->told, &i, &matter, &text);)
		if (!map_get(fresh, matter))
			say(look, matter, ": this is over");
	map_destroy(look->told);
	look->told = fresh;
}

static int ask(struct look *look, struct err *err)
{
	struct map *fresh = map_create(free);

	log_divert(take_warning, fresh);
	int result = look->options->ask(look->options->data, err);
	log_divert(NULL, NULL);
	if (result == LOOK_PART)
		keep_told(look, fresh);
	tell_warnings(look, fresh);
	return result;
}

/* ------------------------------------------------------------------------------------------- */

/* The signal that ends it; 0: none came within a turn. */
static int wait_for_signal(const struct look *look, int signals)
{
	struct pollfd fd = {.fd = signals, .events = POLLIN};
	struct signalfd_siginfo info;

	poll(&fd, 1, (int)look->options->every_ms);
	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGWINCH)
			return (int)info.ssi_signo;
	return 0;
}

static int run(struct look *look, int signals, struct err *err)
{
	for (;;) {
		int result = ask(look, err);
		if (result < 0)
			return -1;
		if (look->draws)
			draw(look);
		else
			look->options->tell(look->options->data);
		if (fflush(stdout) != 0)
			return err_set_errno(err, "standard output");
		if (result == LOOK_LAST)
			return EXIT_CODE_OK;
		int signal = wait_for_signal(look, signals);
		if (signal)
			return signal == SIGHUP ? EXIT_CODE_HANGUP : EXIT_CODE_INTERRUPTED;
	}
}

int look_again(const struct look_options *options, struct err *err)
{
	struct look look = {.options = options, .draws = live_can_draw(stdout)};
	sigset_t set;

	watch_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int signals cleanup_close = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0)
		return err_set_errno(err, "cannot wait for signals");
	look.told = map_create(free);
	int code = run(&look, signals, err);
	map_destroy(look.told);
	return code;
}
