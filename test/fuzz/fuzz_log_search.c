/* A user's expression: no line that matches it is without one of its texts. The first line of the
 * input is the expression, the rest the line. Of such a line a terminal gets no sequence
 * but colours. */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "logs/lines.h"
#include "logs/regex.h"
#include "logs/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool repeats_repetitions(const char *regex)
{
	for (const char *at = regex; (at = strpbrk(at, "*+?")); at++)
		if (at[1] && strchr("*+?", at[1]))
			return true;
	return false;
}

/* The expressions for which the C library takes long are not the issue here. */
static bool is_quick(const char *regex)
{
	return !repeats_repetitions(regex) && strlen(regex) <= 24 &&
	       strcspn(regex, "{") > strlen(regex) - 6 && !strpbrk(regex, "123456789");
}

static void check(const char *regex, const char *line, bool any_case)
{
	struct log_search search = {.text = log_regex_texts(regex), .any_case = any_case};
	regex_t compiled;

	if (search.text)
		log_search_prepare(&search);
	if (search.text && is_quick(regex) &&
	    regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0)) == 0) {
		if (regexec(&compiled, line, 0, NULL, 0) == 0 &&
		    !log_search_finds(&search, line, strlen(line)))
			BUG("a line that matches is not found");
		regfree(&compiled);
	}
	log_search_finish(&search);
}

static void check_colours(const char *line, size_t length)
{
	char *shown cleanup_free = escape_colours(line, length);

	for (char *at = shown; (at = strchr(at, '\033')); at++) {
		size_t numbers = strspn(at + 1, "[0123456789;:");
		if (at[1] != '[' || memchr(at + 2, 0x5b, numbers > 1 ? numbers - 1 : 0) ||
		    at[1 + numbers] != 'm')
			BUG("a sequence that is no colour is shown");
	}
	char *text cleanup_free = mem_strdup(shown);
	text[escape_strip(text, strlen(text))] = '\0';
	char *printable cleanup_free = str_printable(text, strlen(text));
	if (!str_equal(text, printable))
		BUG("a control character is shown");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_colours((const char *)data, size);
	char *regex cleanup_free = mem_strndup((const char *)data, size < 400 ? size : 400);
	char *line = strchr(regex, '\n');

	if (line)
		*line++ = '\0';
	check(regex, line ? line : "", false);
	check(regex, line ? line : "", true);
	return 0;
}
