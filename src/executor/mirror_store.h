/* The side of a mirror that is in a store (store.h). Each call runs alone, and calls `done` exactly
 * once, from the loop and never from within itself, unless the store is closed. */
#ifndef TONY_EXECUTOR_MIRROR_STORE_H
#define TONY_EXECUTOR_MIRROR_STORE_H

#include "executor/mirror.h"

struct mirror_store;

#define MIRROR_STORE_PARTS ".tony-part" /* the directory of files on their way */

/* Takes the store; `path` is the mirror's directory in it. A file on its way is
 * ".tony-part/<writer>" of the store, and is renamed when it is whole. */
struct mirror_store *mirror_store_open(struct store *store, const char *path, const char *writer);
/* No call is answered any more. */
void mirror_store_close(struct mirror_store *store);

/* Adds all files. A directory that is not there holds none. */
void mirror_store_list(struct mirror_store *store, struct mirror_files *files, mirror_done *done,
		       void *data);
/* ERR_NOT_FOUND: there is none (any more). A file that has grown since it was listed is longer. */
void mirror_store_fetch(struct mirror_store *store, const struct mirror_file *file, int fd,
			mirror_done *done, void *data);
/* The file appears as a whole, or stays as it was. Its length bytes are read from `fd`, and
 * file->told becomes the time that a list will tell: as given, to the ms; of a store that holds
 * objects its own, to the second. ERR_STALE: it was written to meanwhile, and left as it was. */
void mirror_store_put(struct mirror_store *store, struct mirror_file *file, int fd,
		      mirror_done *done, void *data);
void mirror_store_remove(struct mirror_store *store, const char *path, mirror_done *done,
			 void *data);

#endif
