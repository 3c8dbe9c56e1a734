#include "job/exit_rules.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"

enum {
	CODE_MAX = 255,
	SIGNAL_MAX = 31,
};

/* What one rule says: codes from first to last; from 0: every end. */
struct rule {
	int first, last;
	enum exit_action action;
};

static int find_action(const char *text)
{
	static const char *const names[] = {
		[EXIT_RETRY] = "retry", [EXIT_FAIL] = "fail", [EXIT_IGNORE] = "ignore"};

	for (size_t i = EXIT_RETRY; i < array_length(names); i++)
		if (str_equal_nocase(names[i], text))
			return (int)i;
	return -1;
}

static int find_signal(const char *text)
{
	for (int i = 1; i <= SIGNAL_MAX; i++)
		if (str_equal_nocase(proc_signal_name(i), text))
			return i;
	return -1;
}

static int read_code(const char *text)
{
	int64_t code;

	return str_parse_int(text, 1, CODE_MAX, &code) < 0 ? -1 : (int)code;
}

/* "3", "64-78", "SIGTERM", "*" */
static bool read_ends(const char *text, struct rule *rule)
{
	const char *dash = strchr(text, '-');

	if (strcmp(text, "*") == 0) {
		rule->first = 0;
		rule->last = CODE_MAX;
	} else if (isalpha((unsigned char)*text)) {
		int number = find_signal(text);
		rule->first = rule->last = number < 0 ? -1 : PROC_SHELL_SIGNAL + number;
	} else if (dash) {
		char *first cleanup_free = mem_strndup(text, (size_t)(dash - text));
		rule->first = read_code(first);
		rule->last = read_code(dash + 1);
	} else {
		rule->first = rule->last = read_code(text);
	}
	return rule->first >= 0 && rule->first <= rule->last;
}

static char *trimmed(const char *start, size_t length)
{
	while (length > 0 && isspace((unsigned char)*start)) {
		start++;
		length--;
	}
	while (length > 0 && isspace((unsigned char)start[length - 1]))
		length--;
	return mem_strndup(start, length);
}

static int parse(const char *text, struct rule *rule, struct err *err)
{
	const char *arrow = strstr(text, "->");

	if (!arrow)
		return err_set(err, ERR_CONFIG,
			       "\"%.64s\" is not a rule; write CODE->ACTION, such as 3->retry",
			       text);
	char *ends cleanup_free = trimmed(text, (size_t)(arrow - text));
	char *action cleanup_free = trimmed(arrow + 2, strlen(arrow + 2));
	int found = find_action(action);
	if (strcmp(ends, "0") == 0)
		return err_set(err, ERR_CONFIG,
			       "\"%.64s\": 0 is success, which needs no rule; take it out", text);
	if (!read_ends(ends, rule))
		return err_set(
			err, ERR_CONFIG,
			"\"%.64s\": \"%.64s\" is no end of a program; write a code from 1 to "
			"255, two of them as 64-78, a signal such as SIGTERM, or *",
			text, ends);
	if (found < 0)
		return err_set(err, ERR_CONFIG,
			       "\"%.64s\": \"%.64s\" is not known; write retry, fail or ignore",
			       text, action);
	rule->action = (enum exit_action)found;
	return 0;
}

int exit_rule_check(const char *rule, struct err *err)
{
	struct rule parsed;

	return parse(rule, &parsed, err);
}

/* As a shell would tell it; 0: it has none, as when it was hung. -1: not the program's doing. */
static int code_of(const struct cause *cause)
{
	switch (cause->kind) {
	case CAUSE_EXIT:
	case CAUSE_SIGNAL:
	case CAUSE_OUT_OF_MEMORY:
	case CAUSE_PORT_TAKEN:
		return cause->signal > 0 ? PROC_SHELL_SIGNAL + cause->signal : cause->exit_code;
	case CAUSE_EXECUTION_TIMEOUT:
	case CAUSE_FROZEN:
	case CAUSE_HUNG:
	case CAUSE_START_FAILED:
		return 0;
	default:
		return -1;
	}
}

enum exit_action exit_rules_find(const struct str_list *rules, const struct cause *cause)
{
	int code = code_of(cause);

	for (size_t i = 0; i < rules->count && code >= 0; i++) {
		struct rule rule = {0};
		if (parse(rules->items[i], &rule, NULL) == 0 && code >= rule.first &&
		    code <= rule.last)
			return rule.action;
	}
	return EXIT_DEFAULT;
}
