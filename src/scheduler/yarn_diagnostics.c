#include "scheduler/yarn_diagnostics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"

enum {
	LINE_CAP = 1000,
	LINES_KEPT = 20,
};

static const struct yarn_exit_status exit_statuses[] = {
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

const struct yarn_exit_status *yarn_exit_status_find(int status)
{
	for (size_t i = 0; i < array_length(exit_statuses); i++)
		if (exit_statuses[i].status == status)
			return &exit_statuses[i];
	return NULL;
}

char *yarn_diagnostics_of(const char *id, const char *text)
{
	static const char title[] = "Application ";
	struct str out cleanup_str = {0};
	const char *found;

	while ((found = strstr(text, id))) {
		const char *behind = found + strlen(id);
		size_t before = (size_t)(found - text);
		/* Not that of a page. */
		bool is_word =
			(before == 0 || found[-1] == ' ') && !(*behind >= '0' && *behind <= '9');
		bool is_titled = is_word && before >= strlen(title) &&
				 strncmp(found - strlen(title), title, strlen(title)) == 0;
		str_append_bytes(&out, text, is_titled ? before - strlen(title) : before);
		str_append(&out, is_titled ? "the application" : is_word ? "it" : id);
		text = behind;
	}
	str_append(&out, text);
	return str_steal(&out);
}

/* "at java.base/java.lang.reflect.Method.invoke(Method.java:569)", "... 30 more" */
static bool is_of_stack(const char *line)
{
	return str_starts_with(line, "at ") || str_starts_with(line, "... ");
}

/* "[2026-11-23 14:54:28.261]", "[Thu Nov 26 09:05:22 +0000 2026]" */
static bool begins_time(const char *line)
{
	return *line == '[' &&
	       ((line[1] >= '0' && line[1] <= '9') || (strlen(line) > 4 && line[4] == ' '));
}

void yarn_diagnostics_lines(const char *diagnostics, struct str_list *lines)
{
	struct str_list all cleanup_str_list = {0};

	char *printable cleanup_free = str_printable(diagnostics, strlen(diagnostics));
	str_split(&all, printable, '\n');
	for (size_t i = 0; i < all.count; i++) {
		char *line = all.items[i];
		char *end = begins_time(line) ? strchr(line, ']') : NULL;
		if (end)
			line = end + 1;
		line += strspn(line, " \t");
		if (!*line || strcmp(line, "N/A") == 0 || is_of_stack(line))
			continue;
		str_cut(line, LINE_CAP);
		str_list_add(lines, line);
	}
}

/* ---- of an AM ----------------------------------------------------------------------------- */

/* "Last 4096 bytes of am.stderr :" */
static bool begins_log(const char *line)
{
	return str_starts_with(line, "Last ") && str_ends_with(line, " bytes of " YARN_AM_LOG " :");
}

/* YARN's words around those of the container. */
static bool is_frame(const char *line)
{
	return str_starts_with(line, "For more detailed output, ") ||
	       str_starts_with(line, ". Failing the application.");
}

static bool ends_log(const char *line)
{
	bool is_next = str_starts_with(line, "Last ") && strstr(line, " bytes of ") &&
		       str_ends_with(line, " :");
	return is_next || str_starts_with(line, "Container exited with ") || is_frame(line);
}

/* The end of the AM's log; nothing: its node does not show it. */
static void find_words(const struct str_list *lines, struct str_list *words)
{
	size_t first = 0;

	while (first < lines->count && !begins_log(lines->items[first]))
		first++;
	size_t end = ++first;
	while (end < lines->count && !ends_log(lines->items[end]))
		end++;
	if (end > lines->count)
		return;
	for (size_t i = end - first > LINES_KEPT ? end - LINES_KEPT : first; i < end; i++)
		str_list_add(words, lines->items[i]);
}

/* "Application ID failed 2 times due to ..."; 0: it does not say. */
static int count_attempts(const char *first_line)
{
	const char *count = strstr(first_line, " failed ");
	int attempts = 0;

	return count && sscanf(count, " failed %d times due to ", &attempts) == 1 ? attempts : 0;
}

static char *describe_exit(const char *first_line)
{
	static const char mark[] = "exitCode: ";
	const char *code = strstr(first_line, mark);
	int64_t status;

	if (!code || str_parse_int(code + strlen(mark), -1000, 255, &status) < 0)
		return mem_strdup(first_line);
	if (status > PROC_SHELL_SIGNAL)
		return cause_describe_am(0, (int)status - PROC_SHELL_SIGNAL);
	if (status >= 0)
		return cause_describe_am((int)status, 0);
	const struct yarn_exit_status *known = yarn_exit_status_find((int)status);
	if (!known)
		return mem_strdup(first_line);
	/* "its node's disks failed" */
	return mem_printf("the application master%s %s",
			  str_starts_with(known->text, "its ") ? ":" : "", known->text);
}

/* The innermost exception, else what stands behind "Failing this attempt.Diagnostics: [TIME]";
 * NULL: neither is there. A ResourceManager cuts long texts off at their beginning. */
static const char *find_node_word(const struct str_list *lines)
{
	static const char mark[] = "Diagnostics: ", cause[] = "Caused by: ";

	for (size_t i = lines->count; i-- > 0;)
		if (str_starts_with(lines->items[i], cause))
			return lines->items[i] + strlen(cause);
	for (size_t i = 0; i < lines->count; i++) {
		const char *text = strstr(lines->items[i], mark);
		if (!text)
			continue;
		text += strlen(mark);
		const char *end = *text == '[' ? strchr(text, ']') : NULL;
		text = end ? end + 1 : text;
		return *text && !is_frame(text) ? text : NULL;
	}
	return NULL;
}

static void take_lines(struct cause *cause, const struct str_list *lines)
{
	for (size_t i = 0; i < lines->count && cause->tail.count < LINES_KEPT; i++)
		if (!is_frame(lines->items[i]))
			str_list_add(&cause->tail, lines->items[i]);
}

void yarn_diagnostics_judge_am(const char *diagnostics, bool has_begun, struct cause *cause)
{
	struct str_list lines cleanup_str_list = {0}, words cleanup_str_list = {0};

	yarn_diagnostics_lines(diagnostics, &lines);
	find_words(&lines, &words);
	cause_finish(cause);
	cause->kind = CAUSE_AM_FAILED;
	char *exit cleanup_free = describe_exit(lines.count ? lines.items[0] : "YARN says no more");
	int attempts = count_attempts(lines.count ? lines.items[0] : "");
	char *tries cleanup_free = attempts > 1 && !str_equal(exit, lines.items[0])
					   ? mem_printf(" (%d attempts)", attempts)
					   : mem_strdup("");
	cause->text = mem_printf("%s%s%s", has_begun ? "" : "failed to start: ", exit, tries);
	if (words.count > 0) {
		cause_take_log(cause, &words);
		return;
	}
	cause->headline = mem_strdup(find_node_word(&lines));
	take_lines(cause, &lines);
}

char *yarn_diagnostics_am_end(const char *diagnostics)
{
	struct str_list lines cleanup_str_list = {0};

	yarn_diagnostics_lines(diagnostics ? diagnostics : "", &lines);
	return lines.count > 0 ? describe_exit(lines.items[0]) : NULL;
}

/* ---- of an application that waits for its AM ----------------------------------------------- */

/* The scheduler says one of these of every application that waits. */
static const char *const waiting_states[] = {
	"Application is added to the scheduler and is not yet activated.",
	"Application is Activated, waiting for resources to be assigned for AM.",
};
/* Of one whose AM is on its way. */
static const char *const coming_states[] = {
	"Scheduler has assigned a container for AM",
	"AM container is launched",
};

static const char *skip_state(const char *text)
{
	for (size_t i = 0; i < array_length(waiting_states); i++)
		if (str_starts_with(text, waiting_states[i]))
			return text + strlen(waiting_states[i]);
	return text;
}

static bool am_is_coming(const char *text)
{
	for (size_t i = 0; i < array_length(coming_states); i++)
		if (str_starts_with(text, coming_states[i]))
			return true;
	return false;
}

/* Before it stands what befell the AMs before this one. */
static const char *last_line(const struct str_list *lines)
{
	return lines->count > 0 ? lines->items[lines->count - 1] : "";
}

bool yarn_diagnostics_await_am(const char *diagnostics)
{
	struct str_list lines cleanup_str_list = {0};

	yarn_diagnostics_lines(diagnostics ? diagnostics : "", &lines);
	const char *last = last_line(&lines);
	return am_is_coming(last) || skip_state(last) != last;
}

/* Without the blanks and separators around it. */
static void append_trimmed(struct str *out, const char *text, size_t length)
{
	for (; length > 0 && *text == ' '; length--)
		text++;
	while (length > 0 && strchr(" ;.", text[length - 1]))
		length--;
	str_append_bytes(out, text, length);
}

/* "Queue's AM resource limit exceeded.  Details : AM Partition = <DEFAULT_PARTITION>; AM Resource
 * Request = <memory:256, vCores:1>; ... ; " */
static char *describe_limit(const char *text)
{
	static const char mark[] = " Details : ", common[] = "AM Partition = <DEFAULT_PARTITION>; ";
	const char *details = strstr(text, mark);
	struct str out = {0};

	append_trimmed(&out, text, details ? (size_t)(details - text) : strlen(text));
	if (details) {
		details += strlen(mark);
		details += str_starts_with(details, common) ? strlen(common) : 0;
		str_append(&out, out.length > 0 ? ": " : "");
		append_trimmed(&out, details, strlen(details));
	}
	return str_steal(&out);
}

char *yarn_diagnostics_waiting(const char *diagnostics, const char *queue)
{
	struct str_list lines cleanup_str_list = {0};

	yarn_diagnostics_lines(diagnostics ? diagnostics : "", &lines);
	const char *last = last_line(&lines);
	if (am_is_coming(last))
		return mem_strdup("the application master has a container, and has not registered "
				  "yet");
	char *limit cleanup_free = describe_limit(skip_state(last));
	return mem_printf("the application master waits for a container in queue %s%s%s", queue,
			  *limit ? ": " : "", limit);
}

char *yarn_diagnostics_container(const char *diagnostics)
{
	static const char mark[] = "Container id: container_";
	const char *found = diagnostics ? strstr(diagnostics, mark) : NULL;

	if (!found)
		return NULL;
	found += strlen("Container id: ");
	return mem_strndup(found, strspn(found, "abcdefghijklmnopqrstuvwxyz_0123456789"));
}
