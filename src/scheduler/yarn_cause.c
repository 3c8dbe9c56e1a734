#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "scheduler/launch.h"
#include "scheduler/yarn_diagnostics.h"
#include "scheduler/yarn_internal.h"

enum {
	TAIL_LINES = 20,
	SHELL_SIGNAL = 128, /* 128 + N: killed by signal N, as a shell says it */
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
	COULD_NOT_BEGIN = 1, /* an executor's (executor/executor.h) */
};

static void keep_tail(struct cause *cause, const struct str_list *lines)
{
	size_t first = lines->count > TAIL_LINES ? lines->count - TAIL_LINES : 0;

	for (size_t i = first; i < lines->count; i++)
		str_list_add(&cause->tail, lines->items[i]);
}

static void judge_code(struct cause *cause, int code)
{
	cause->kind = CAUSE_EXECUTOR_LOST;
	if (code == LAUNCH_NO_SPACE) {
		cause->kind = CAUSE_NO_SPACE;
		cause->text = mem_strdup("could not run: a disk of its machine is full");
	} else if (code == LAUNCH_NO_QUOTA) {
		cause->kind = CAUSE_STORE_FULL;
		cause->text = mem_strdup("could not run: a quota on its machine is used up");
	} else if (code > SHELL_SIGNAL && code < SHELL_SIGNAL + NSIG) {
		cause->signal = code - SHELL_SIGNAL;
		cause->text = mem_printf("lost its executor: killed by signal %d (%s)",
					 cause->signal, proc_signal_name(cause->signal));
	} else if (code == NOT_EXECUTABLE || code == NOT_FOUND || code == COULD_NOT_BEGIN) {
		cause->kind = CAUSE_LAUNCH_FAILED;
		cause->text =
			mem_printf("could not run: its executor left with exit code %d", code);
	} else {
		cause->text = mem_printf("lost its executor: it left with exit code %d", code);
	}
}

static char *memory_text(const struct yarn_exit_status *row, const struct job_type *type,
			 const char *said)
{
	char *limit cleanup_free = str_format_mib((double)type->memory);

	return mem_printf("%s of %s (tony.%s.memory): %s", row->text, limit, type->name, said);
}

/* Docker's words about an image that it cannot get: YARN gives the exit code of its own program,
 * and these among its lines. The container's own log stands behind them. NULL: there are none. */
static const char *find_image_error(const struct str_list *lines)
{
	static const char *const words[] = {
		"Error response from daemon: ", "invalid reference format", "docker image name"};

	for (size_t i = 0; i < lines->count && !str_starts_with(lines->items[i], "Last "); i++)
		for (size_t k = 0; k < array_length(words); k++)
			if (strstr(lines->items[i], words[k]))
				return lines->items[i];
	return NULL;
}

void yarn_judge(struct cause *cause, const struct job_type *type,
		const Hadoop__ContainerStatusProto *status, const char *node_state)
{
	struct str_list lines cleanup_str_list = {0};
	const struct yarn_exit_status *row = yarn_exit_status_find(status->exit_status);

	yarn_diagnostics_lines(status->diagnostics ? status->diagnostics : "", &lines);
	const char *said = lines.count ? lines.items[0] : "no more is known";
	cause_finish(cause);
	keep_tail(cause, &lines);
	const char *image = find_image_error(&lines);
	if (image && (!row || row->kind == CAUSE_LAUNCH_FAILED)) {
		cause_set(cause, CAUSE_LAUNCH_FAILED,
			  mem_printf("could not be started by its node: %s", image));
		return;
	}
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
