/* Names and links of archive entries: which of them stay inside. */
#ifndef TONY_CLIENT_ARCHIVE_NAME_H
#define TONY_CLIENT_ARCHIVE_NAME_H

#include <locale.h>
#include <stdbool.h>

#include "base/str.h"

/* Splits an entry's name into its components ("./a//b/" -> a b; "." -> none). Returns what is wrong
 * with it as a phrase, or NULL. */
const char *archive_name_split(const char *name, struct str_list *components);

/* Whether a symbolic link that stands `depth` real directories below the root stays inside. */
bool archive_link_stays(const char *target, size_t depth);

/* libarchive converts names to the locale's characters; "C" has none but ASCII. Between these two
 * they are UTF-8. */
locale_t archive_names_begin(locale_t *utf8);
void archive_names_end(locale_t before, locale_t utf8);

#endif
