/*
 * Which lines of a log are wanted: those that contain a text. No expression: whoever asks an AM or
 * a portal may look at logs, and some expressions take hours. Looking for texts takes a time that
 * the number of bytes bounds. A client with an expression asks for the texts without which
 * no line matches it (logs/regex.h), and applies it to what comes.
 */
#ifndef TONY_LOGS_SEARCH_H
#define TONY_LOGS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_SEARCH_MAX 256 /* bytes of the text */

struct log_search {
	char *text;	  /* or several, one a line, any of which is enough; NULL: all lines */
	bool any_case;	  /* ASCII letters match in upper and lower case */
	bool takes_begun; /* a line without a newline at the present end counts as one */
	bool counts;	  /* no lines, but how many they are (logs/count.h); without `text` */
};
struct log_search log_search_copy(const struct log_search *search);
void log_search_finish(struct log_search *search);

/* At least one text, none of them empty, and not too many bytes. */
bool log_search_is_valid(const char *text);
bool log_search_is_same(const struct log_search *left, const struct log_search *right);

/* Makes it ready to look for its texts; returns how many they are. */
size_t log_search_prepare(struct log_search *search);
/* `search` was prepared. `line`: at most LOG_LINE_CAP bytes. A text is found as a terminal shows
 * it, too, without the sequences that colour it. */
bool log_search_finds(const struct log_search *search, const char *line, size_t length);

#endif
