/* What is in a mirrored directory, and what of that is new. */
#ifndef TONY_EXECUTOR_MIRROR_LOOK_H
#define TONY_EXECUTOR_MIRROR_LOOK_H

#include <stdbool.h>

#include "executor/mirror.h"

struct map;

/* All regular files below `directory`, with the time of their last change in ns. Things that cannot
 * be mirrored (deeper than MIRROR_MAX_DEPTH, sockets, links to directories) are left out. */
int mirror_look(const char *directory, struct mirror_files *files, struct err *err);

/* Relative, and nowhere "..", "." or an empty name in it: a store's word is not believed. */
bool mirror_path_is_safe(const char *path);

/* Of the same length and time, to the ms: a store may not tell more. */
bool mirror_file_same(const struct mirror_file *a, const struct mirror_file *b);

/* Maps each path to its file of the list, which must outlive the map. The caller destroys. */
struct map *mirror_files_map(const struct mirror_files *files);

/* Oldest first, so that a part is stored before the list that names it. */
void mirror_files_sort(struct mirror_files *files);

#endif
