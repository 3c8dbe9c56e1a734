#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define TROUBLE_MS 30000

static struct {
	char who[64];
	enum log_level level;
	char trouble[256];  /* with what; "": none */
	int64_t trouble_ms; /* monotonic: when it was said */
	log_take *take;	    /* warnings go there; NULL: to standard error */
	void *take_data;
} log_state = {.who = "tony", .level = LOG_LEVEL_WARNING};

void log_open(const char *who, enum log_level level)
{
	snprintf(log_state.who, sizeof(log_state.who), "%s", who);
	log_state.level = level;
}

void log_divert(log_take *take, void *data)
{
	log_state.take = take;
	log_state.take_data = data;
}

static const char *level_name(enum log_level level)
{
	static const char *const names[] = {"audit", "error", "warning", "info", "debug"};

	return names[level];
}

/* A line break in the text would let its author forge a line of the log. */
static char *one_line(const char *format, va_list args)
{
	char *text cleanup_free = mem_vprintf(format, args);
	char *line = str_printable(text, strlen(text));

	for (char *c = line; *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	return line;
}

void log_write(enum log_level level, const char *format, ...)
{
	int saved_errno = errno;
	va_list args;

	if (level > log_state.level)
		return;
	va_start(args, format);
	char *text cleanup_free = one_line(format, args);
	va_end(args);

	if (log_state.take && level == LOG_LEVEL_WARNING) {
		log_state.take(log_state.take_data, text);
		errno = saved_errno;
		return;
	}
	char *time cleanup_free = str_format_time(clock_wall_ms());
	struct str line cleanup_str = {0};
	str_append_format(&line, "%s %s %s: %s\n", time, level_name(level), log_state.who, text);
	/* One write, so that lines of several processes do not mix. */
	if (write(STDERR_FILENO, line.text, line.length) < 0) {
		/* Nowhere left to say so. */
	}
	errno = saved_errno;
}

int64_t log_time_in(const char *line, size_t length)
{
	char text[sizeof("2026-11-21T06:14:11.123Z")];
	int ms = 0, end = 0;
	struct tm tm = {0};

	if (length < sizeof(text) || line[sizeof(text) - 1] != ' ' || line[0] == ' ')
		return 0;
	memcpy(text, line, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest || rest[0] != '.' || strspn(rest + 1, "0123456789") != 3 ||
	    sscanf(rest, ".%dZ%n", &ms, &end) != 1 || rest[end] != '\0')
		return 0;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

const char *log_error_in(const char *line)
{
	static const char mark[] = "Z error ";
	const size_t time = strlen("2026-11-21T06:14:11.123");
	const char *text = NULL;

	if (log_time_in(line, strlen(line)) != 0 && str_starts_with(line + time, mark))
		text = strstr(line + time + strlen(mark), ": ");
	return text ? text + strlen(": ") : NULL;
}

static bool is_in_trouble(const char *subject)
{
	return *log_state.trouble &&
	       strncmp(log_state.trouble, subject, sizeof(log_state.trouble) - 1) == 0;
}

void log_trouble(const char *subject, const char *text)
{
	int64_t now_ms = clock_monotonic_ms();

	if (is_in_trouble(subject) && now_ms - log_state.trouble_ms < TROUBLE_MS)
		return;
	snprintf(log_state.trouble, sizeof(log_state.trouble), "%s", subject);
	log_state.trouble_ms = now_ms;
	log_warning("%s: %s", subject, text);
}

void log_trouble_over(const char *subject)
{
	if (!is_in_trouble(subject))
		return;
	log_state.trouble[0] = '\0';
	log_warning("%s answers again", subject);
}
