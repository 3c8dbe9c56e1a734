#include "executor/launcher.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "executor/traceback.h"

enum { SIGNAL_MAX = 64 };

/* ---- torchrun's report -------------------------------------------------------------------- */

/* The last line before `end` that has `text` in it; 0 also when there is none. */
static size_t find_before(const struct str_list *lines, size_t end, const char *text)
{
	while (end > 0 && !strstr(lines->items[--end], text))
		;
	return end;
}

/* "  exitcode  : -9 (pid: 14169)" -> -9 */
static int read_number(const struct str_list *lines, size_t root, const char *name)
{
	for (size_t i = root; i < lines->count; i++) {
		const char *line = lines->items[i] + strspn(lines->items[i], " ");
		if (str_starts_with(line, name) && strchr(line, ':'))
			return atoi(strchr(line, ':') + 1);
	}
	return 0;
}

static int read_local_rank(const struct str_list *lines, size_t root)
{
	static const char name[] = "(local_rank: ";

	for (size_t i = root; i < lines->count; i++) {
		const char *found = strstr(lines->items[i], name);
		if (found)
			return atoi(found + strlen(name));
	}
	return 0;
}

bool launcher_find_report(const struct str_list *lines, struct launcher_report *report)
{
	size_t root = find_before(lines, lines->count, "Root Cause (first observed failure)");
	size_t failed = find_before(lines, root, "ChildFailedError");

	if (root == 0)
		return false;
	int code = read_number(lines, root, "exitcode");
	*report = (struct launcher_report){
		.begin = find_before(lines, failed, traceback_head),
		.root = root,
		.rank = read_number(lines, root, "rank "),
		.local_rank = read_local_rank(lines, root),
		.exit_code = code > 0 ? code : 0,
		.signal = code < 0 && code >= -SIGNAL_MAX ? -code : 0,
	};
	if (report->begin > 0 && strstr(lines->items[report->begin - 1], "failed (exitcode: "))
		report->begin--; /* torchrun's, too */
	return true;
}

/* A role may be called "rank", and then the number is the local one. */
bool launcher_is_other_rank(const struct launcher_report *report, const char *line)
{
	const char *end = line[0] == '[' ? strstr(line, "]:") : NULL, *digits = end;

	while (digits && digits > line + 1 && isdigit((unsigned char)digits[-1]))
		digits--;
	if (!end || digits == end || !isalpha((unsigned char)line[1]) ||
	    memchr(line, ' ', (size_t)(end - line)))
		return false;
	int number = atoi(digits);
	bool is_global = digits - line == strlen("[rank") && str_starts_with(line, "[rank");
	return number != report->local_rank && !(is_global && number == report->rank);
}

char *launcher_recorded(const struct launcher_report *report, const struct str_list *lines)
{
	for (size_t i = lines->count; i-- > report->root;) {
		const char *line = lines->items[i] + strspn(lines->items[i], " ");
		if (line != lines->items[i] && traceback_is_exception(line))
			return mem_strdup(line);
	}
	return NULL;
}

char *launcher_report_text(const struct launcher_report *report)
{
	if (report->signal > 0)
		return mem_printf("its rank %d was killed by signal %d (%s)", report->rank,
				  report->signal, proc_signal_name(report->signal));
	return mem_printf("its rank %d exited with code %d", report->rank, report->exit_code);
}

/* ---- wrappers ----------------------------------------------------------------------------- */

bool launcher_is_wrapper(const char *line)
{
	static const char *const names[] = {
		"subprocess.CalledProcessError", /* accelerate launch, and many scripts */
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
		"torch.multiprocessing.spawn.ProcessExitedException",
		"torch.multiprocessing.spawn.ProcessRaisedException",
		"concurrent.futures.process.BrokenProcessPool",
		"SystemExit",
	};

	for (size_t i = 0; i < array_length(names); i++) {
		size_t length = strlen(names[i]);
		if (strncmp(line, names[i], length) == 0 &&
		    (line[length] == ':' || line[length] == '\0'))
			return true;
	}
	return false;
}

static int find_signal(const char *name)
{
	for (int i = 1; i <= SIGNAL_MAX; i++) {
		size_t length = strlen(proc_signal_name(i));
		if (strncmp(name, proc_signal_name(i), length) == 0 &&
		    !isalnum((unsigned char)name[length]))
			return i;
	}
	return 0;
}

int launcher_signal_in(const char *line)
{
	/* Behind each stands a signal's name, or a code. */
	static const char *const words[] = {
		"died with <Signals.",		  /* subprocess */
		"terminated with signal ",	  /* torch.multiprocessing */
		"returned non-zero exit status ", /* subprocess, of a shell's code */
		"exits with return code = ",	  /* DeepSpeed */
		"failed (exitcode: ",		  /* torchrun */
	};

	for (size_t i = 0; i < array_length(words); i++) {
		const char *found = strstr(line, words[i]);
		if (!found)
			continue;
		const char *value = found + strlen(words[i]);
		int number = atoi(value);
		if (isalpha((unsigned char)*value))
			return find_signal(value);
		if (number > PROC_SHELL_SIGNAL)
			number = PROC_SHELL_SIGNAL - number;
		return number < 0 && number >= -SIGNAL_MAX ? -number : 0;
	}
	return 0;
}
