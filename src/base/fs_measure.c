#include <fts.h>
#include <sys/stat.h>

#include "base/fs.h"

static void add(struct fs_tree_size *size, const FTSENT *entry)
{
	if (entry->fts_info == FTS_D || entry->fts_info == FTS_DP)
		return;
	size->files++;
	/* Files can claim any length: holes take no room. */
	if (entry->fts_info == FTS_F &&
	    __builtin_add_overflow(size->bytes, entry->fts_statp->st_size, &size->bytes))
		size->bytes = INT64_MAX;
}

void fs_measure_tree(const char *path, int64_t cap, struct fs_tree_size *size)
{
	char *const roots[] = {(char *)path, NULL};
	FTS *walk = fts_open(roots, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	*size = (struct fs_tree_size){0};
	while (walk && (entry = fts_read(walk))) {
		if (size->files >= cap) {
			size->is_more = true;
			break;
		}
		add(size, entry);
	}
	if (walk)
		fts_close(walk);
}
