/* The texts that every line has which matches an extended regular expression. */
#ifndef TONY_LOGS_REGEX_H
#define TONY_LOGS_REGEX_H

/* As log_search.text: "[Ee]poch [0-9]+: loss|error" gives ": loss\nerror". NULL: there is no such
 * text, so that each line has to be tried. The caller frees. */
char *log_regex_texts(const char *regex);

#endif
