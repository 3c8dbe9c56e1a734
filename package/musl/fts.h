/* fts(3), as far as tony uses it: one root, no changes of the directory, symbolic links below the
 * root are never followed, in the order of the directories. */
#ifndef TONY_MUSL_FTS_H
#define TONY_MUSL_FTS_H

#include <sys/stat.h>

enum { FTS_COMFOLLOW = 1, FTS_NOCHDIR = 4, FTS_PHYSICAL = 16 };
enum { FTS_SKIP = 4 };

/* Kinds of entries: a directory before and after what is in it, one that cannot be read, a file, a
 * symbolic link, something that cannot be looked at, anything else. */
enum { FTS_D = 1, FTS_DP, FTS_DNR, FTS_F, FTS_SL, FTS_NS, FTS_DEFAULT };

typedef struct {
	int fts_info, fts_level; /* the root's is 0 */
	char *fts_path;
	struct stat *fts_statp;
} FTSENT;

typedef struct fts FTS;

FTS *fts_open(char *const roots[], int options, void *compare);
/* Valid until the next call. NULL: there are no more. */
FTSENT *fts_read(FTS *tree);
/* Nothing of the directory that was read last is read. */
int fts_set(FTS *tree, FTSENT *entry, int instruction);
int fts_close(FTS *tree);

#endif
