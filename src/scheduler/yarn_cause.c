#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "scheduler/yarn_internal.h"

enum {
	TAIL_LINES = 20,
	LINE_CAP = 400,
	SHELL_SIGNAL = 128, /* 128 + N: killed by signal N, as a shell says it */
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
	COULD_NOT_BEGIN = 1, /* an executor's (executor/executor.h) */
};

/* ContainerExitStatus of Hadoop 2.10 to 3.5. */
static const struct row {
	int status;
	enum cause_kind kind;
	const char *text;
} rows[] = {
	{-1000, CAUSE_LAUNCH_FAILED, "could not be started by its node"},
	{-100, CAUSE_NODE_LOST, "lost its node"},
	{-101, CAUSE_NODE_LOST, "its node's disks failed"},
	{-102, CAUSE_PREEMPTED, "was preempted: YARN took its container back for others"},
	{-103, CAUSE_OUT_OF_MEMORY, "went over its virtual memory"},
	{-104, CAUSE_OUT_OF_MEMORY, "went over its memory"},
	{-105, CAUSE_EXECUTOR_LOST, "its container was stopped by its node"},
	{-106, CAUSE_CONTAINER_STOPPED, "its container was killed by the ResourceManager"},
	{-107, CAUSE_CONTAINER_STOPPED,
	 "its container was killed because the application had ended"},
	{-108, CAUSE_PREEMPTED, "was preempted: its node made room for other containers"},
	{-109, CAUSE_SIGNAL, "was killed because its logs grew over the node's limit"},
};

/* Of YARN's text, the lines that say something, without the time in brackets before them. */
static void split(const char *diagnostics, struct str_list *lines)
{
	struct str_list all cleanup_str_list = {0};

	char *printable cleanup_free = str_printable(diagnostics, strlen(diagnostics));
	str_split(&all, printable, '\n');
	for (size_t i = 0; i < all.count; i++) {
		char *line = all.items[i];
		char *end = *line == '[' ? strchr(line, ']') : NULL;
		if (end && line[1] >= '0' && line[1] <= '9')
			line = end + 1;
		line += strspn(line, " \t");
		if (*line && strcmp(line, "N/A") != 0)
			str_list_take(lines, mem_strndup(line, LINE_CAP));
	}
}

static void keep_tail(struct cause *cause, const struct str_list *lines)
{
	size_t first = lines->count > TAIL_LINES ? lines->count - TAIL_LINES : 0;

	for (size_t i = first; i < lines->count; i++)
		str_list_add(&cause->tail, lines->items[i]);
}

static void judge_code(struct cause *cause, int code)
{
	cause->kind = CAUSE_EXECUTOR_LOST;
	if (code > SHELL_SIGNAL && code < SHELL_SIGNAL + NSIG) {
		cause->signal = code - SHELL_SIGNAL;
		cause->text = mem_printf("lost its executor: killed by signal %d (%s)",
					 cause->signal, proc_signal_name(cause->signal));
	} else if (code == NOT_EXECUTABLE || code == NOT_FOUND || code == COULD_NOT_BEGIN) {
		cause->kind = CAUSE_LAUNCH_FAILED;
		cause->text = mem_printf("could not run: its executor left with exit code %d; see "
					 "executor.log",
					 code);
	} else {
		cause->text = mem_printf("lost its executor: it left with exit code %d", code);
	}
}

static const struct row *find_row(int status)
{
	for (size_t i = 0; i < array_length(rows); i++) {
		if (rows[i].status == status)
			return &rows[i];
	}
	return NULL;
}

static char *memory_text(const struct row *row, const struct job_type *type, const char *said)
{
	char *limit cleanup_free = str_format_mib((double)type->memory);

	return mem_printf("%s of %s (tony.%s.memory): %s", row->text, limit, type->name, said);
}

void yarn_judge(struct cause *cause, const struct job_type *type,
		const Hadoop__ContainerStatusProto *status, const char *node_state)
{
	struct str_list lines cleanup_str_list = {0};
	const struct row *row = find_row(status->exit_status);

	split(status->diagnostics ? status->diagnostics : "", &lines);
	const char *said = lines.count ? lines.items[0] : "no more is known";
	cause_finish(cause);
	keep_tail(cause, &lines);
	if (!row && status->exit_status >= 0) {
		judge_code(cause, status->exit_status);
		return;
	}
	cause->kind = row ? row->kind : CAUSE_EXECUTOR_LOST;
	if (!row)
		cause->text = mem_printf("lost its container: YARN's exit status %d: %s",
					 status->exit_status, said);
	else if (row->kind == CAUSE_OUT_OF_MEMORY)
		cause->text = memory_text(row, type, said);
	else
		cause->text = mem_printf("%s: %s", row->text, node_state ? node_state : said);
}
