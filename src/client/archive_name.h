/* Names and links of archive entries: which of them stay inside. */
#ifndef TONY_CLIENT_ARCHIVE_NAME_H
#define TONY_CLIENT_ARCHIVE_NAME_H

#include <stdbool.h>

#include "base/str.h"

/* Splits an entry's name into its components ("./a//b/" -> a b; "." -> none). Returns what is wrong
 * with it as a phrase, or NULL. */
const char *archive_name_split(const char *name, struct str_list *components);

/* Whether a symbolic link that stands `depth` real directories below the root stays inside. */
bool archive_link_stays(const char *target, size_t depth);

#endif
