#ifndef TONY_HISTORY_PACK_INTERNAL_H
#define TONY_HISTORY_PACK_INTERNAL_H

#include "history/pack.h"

/* A new file in the directory that is packed. -1: `err`. */
int pack_create(const char *directory, const char *name, struct err *err);

/* All of a job's logs that are to be kept, into `directory`. */
int pack_logs(const struct history_pack *pack, const struct job_view *view, const char *directory,
	      struct err *err);

#endif
