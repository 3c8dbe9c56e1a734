#include "logs/regex.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "logs/search.h"

/* Whatever is not understood here ends a run, which is never wrong: a shorter text is in no fewer
 * lines. */
struct branch {
	struct str run, longest; /* of characters that stand for themselves */
};

/* The run is over, without the characters at its end that a repetition may leave out. */
static void end_run(struct branch *branch, size_t optional)
{
	struct str *run = &branch->run;

	str_truncate(run, run->length > optional ? run->length - optional : 0);
	if (run->length > branch->longest.length) {
		str_truncate(&branch->longest, 0);
		str_append(&branch->longest, run->text);
	}
	str_truncate(run, 0);
}

/* Behind "[...]", in which a "]" may stand first, or as in "[:digit:]". */
static const char *skip_bracket(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	for (at += *at == ']'; *at && *at != ']'; at++) {
		const char kind = *at == '[' ? at[1] : '\0';
		if (kind != ':' && kind != '.' && kind != '=')
			continue;
		const char end[] = {kind, ']', '\0'};
		const char *close = strstr(at + 2, end);
		if (close)
			at = close + 1;
	}
	return *at ? at + 1 : at;
}

static const char *skip_group(const char *at)
{
	int depth = 0;

	while (*at) {
		if (*at == '[') {
			at = skip_bracket(at);
			continue;
		}
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '(')
			depth++;
		else if (*at == ')' && --depth == 0)
			return at + 1;
		at++;
	}
	return at;
}

static const char *skip_interval(const char *at)
{
	const char *end = at + 1 + strspn(at + 1, "0123456789,");

	return *end == '}' ? end + 1 : at + 1;
}

/* Behind the next piece of the branch. */
static const char *take(struct branch *branch, const char *at)
{
	const bool is_escaped = *at == '\\' && at[1] && strchr(".[]\\()*+?{}|^$/-", at[1]);

	if (is_escaped || (*at >= ' ' && *at <= '~' && !strchr("\\.[()*+?{|^$", *at))) {
		str_append_char(&branch->run, at[is_escaped]);
		return at + 1 + is_escaped;
	}
	end_run(branch, strchr("*+?{", *at) ? 1 : 0);
	switch (*at) {
	case '[':
		return skip_bracket(at);
	case '(':
		return skip_group(at);
	case '{':
		return skip_interval(at);
	case '\\':
		return at[1] ? at + 2 : at + 1;
	default:
		return at + 1;
	}
}

char *log_regex_texts(const char *regex)
{
	struct str texts cleanup_str = {0};

	for (const char *at = regex;; at++) {
		struct branch branch = {0};
		if (at > regex)
			str_append_char(&texts, '\n');
		while (*at && *at != '|')
			at = take(&branch, at);
		end_run(&branch, 0);
		str_append(&texts, str_text(&branch.longest));
		str_finish(&branch.run);
		str_finish(&branch.longest);
		if (!*at)
			break;
	}
	return log_search_is_valid(str_text(&texts)) ? str_steal(&texts) : NULL;
}
