/*
 * Text: a growing buffer, lists of strings, and the small parsers that configuration and wire
 * share.
 */
#ifndef TONY_BASE_STR_H
#define TONY_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A growing byte buffer; `text` is always NUL-terminated once anything was appended, and may be
 * NULL before. Initialise with {0}. */
struct str {
	char *text;
	size_t length;
	size_t capacity;
};
#define cleanup_str	   __attribute__((cleanup(str_finish)))
#define cleanup_str_secret __attribute__((cleanup(str_finish_secret)))

void str_append(struct str *str, const char *text);
void str_append_bytes(struct str *str, const void *bytes, size_t length);
void str_append_char(struct str *str, char c);
/* A text as a cell of CSV: in quotes, and no formula to a spreadsheet. */
void str_append_csv(struct str *str, const char *text);
void str_append_format(struct str *str, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void str_truncate(struct str *str, size_t length);
const char *str_text(const struct str *str); /* "" when nothing was appended */
char *str_steal(struct str *str); /* the caller owns the text ("" if none); str is empty again */
void str_finish(struct str *str);
/* Wipes it first; blocks that it has outgrown are not wiped. */
void str_finish_secret(struct str *str);

/* A list of owned strings. Initialise with {0}. */
struct str_list {
	char **items; /* NULL-terminated once non-empty: usable as argv */
	size_t count;
};
#define cleanup_str_list __attribute__((cleanup(str_list_finish)))

void str_list_add(struct str_list *list, const char *text);
void str_list_take(struct str_list *list, char *text); /* takes ownership */
void str_list_add_format(struct str_list *list, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void str_list_copy(struct str_list *to, const struct str_list *from); /* appends */
bool str_list_has(const struct str_list *list, const char *text);
void str_list_sort(struct str_list *list);
char *str_list_join(const struct str_list *list, const char *separator);
void str_list_finish(struct str_list *list);

/* Nothing but spaces and tabs. */
bool str_is_blank(const char *text);
/* Splits at `separator`, trims blanks, drops empty items ("a, ,b" -> a b). */
void str_split(struct str_list *list, const char *text, char separator);

bool str_is_http_url(const char *text); /* http or https, and something behind it */
/* The end of a noun that is counted: "" of 1, else "s". */
const char *str_plural(int64_t count);
bool str_starts_with(const char *text, const char *prefix);
/* Behind a beginning of this form, where 0 is any digit, x any hexadecimal one, and another
 * character itself; NULL: the text begins otherwise. */
const char *str_after_form(const char *text, const char *form);
bool str_ends_with(const char *text, const char *suffix);
/* "root.ml" with the part "ml", as "ml" itself does, but not "root.xml". */
bool str_ends_with_part(const char *text, const char *part, char separator);
bool str_equal(const char *a, const char *b); /* NULL equals NULL only */
bool str_equal_nocase(const char *a, const char *b);
/* One of the words is a part of the text, in any case. */
bool str_has_any_nocase(const char *text, const char *const *words, size_t count);

/* The candidate nearest to `text` by edit distance, or NULL when none is near enough to suggest
 * (more than a third of the letters differ). `candidates` has `count` entries. */
const char *str_nearest(const char *text, const char *const *candidates, size_t count);

/* Whole-string parsers; -1 without touching *value when the text is not exactly of that form or is
 * out of range. The caller words the error. */
int str_parse_int(const char *text, int64_t min, int64_t max, int64_t *value);
/* Digits only, behind a "-" or not, however many: what str_parse_int() may still find too large. */
bool str_is_whole_number(const char *text);
int str_parse_double(const char *text, double *value);
/* "true"/"false", "yes"/"no", "on"/"off", "1"/"0", any case. */
int str_parse_bool(const char *text, bool *value);
/* A size: "2g", "2gb", "2Gi", "2 GiB", "2048m", "1.5g", "1t", "512k", "3" (MiB), any case, all in
 * powers of 1024. Rounded up; what is larger than 2^61 bytes counts as that. */
int str_parse_bytes(const char *text, int64_t *bytes);
int str_parse_mib(const char *text, int64_t *mib);
/* A duration in ms: "500ms", "10s", "5m", "5 min", "2h", "1d", "1.5h", "1h30m", any case; a bare
 * number counts `bare_unit_ms`. */
int str_parse_duration(const char *text, int64_t bare_unit_ms, int64_t *ms);

/* What "NAME", "NAME:-default" (also when it is empty) or "NAME-default" (when it is not set) comes
 * to in this process's environment; NULL: nothing. The caller frees. */
char *str_environment(const char *name);

/* For people: "3.9 GiB", "512 MiB"; "1.2 s", "3 m 05 s", "2 h 10 m". The caller frees. */
char *str_format_mib(double mib);
/* Beside another number: in whole MiB where both would look the same, and are not. */
char *str_format_mib_beside(int64_t mib, int64_t other);
char *str_format_bytes(int64_t bytes); /* "512 B", "12 KiB", "1.2 MiB" */
char *str_format_duration(int64_t ms);
/* A wall-clock time (ms since 1970) as "2026-11-21T06:14:11.123Z". The caller frees. */
char *str_format_time(int64_t ms);

/* Quotes one word for a POSIX shell; plain words stay as they are. The caller frees. */
char *str_shell_quote(const char *word);

/* True when the bytes are valid UTF-8 (no surrogates, no overlong forms, no NUL). */
bool str_is_utf8(const char *bytes, size_t length);
/* Cuts a text (NULL is fine) that is longer than `most` bytes, between two characters of UTF-8. */
void str_cut(char *text, size_t most);

/* A copy with every invalid byte and control character (but tab and newline), also those of
 * bidirectional text and of lines, made '?'. */
char *str_printable(const char *bytes, size_t length);

#endif
