/*
 * A directory of this container that is kept in a store that every container can get at: it is
 * fetched before a program starts, and what the program writes is stored while it runs. Programs
 * see plain files, and need to know nothing.
 *
 * A file is stored once it has been left alone from one look to the next, or now and then if it
 * never is (but never while it is being written to); older ones first, so that whoever fetches
 * finds what the program's own order of writing promised: not the list of parts before the parts. A
 * removal follows what was stored before it. Programs that write a new file and rename it are
 * therefore never seen half-way.
 *
 * Regular files only, and symbolic links to such; directories exist as far as files are in them.
 */
#ifndef TONY_EXECUTOR_MIRROR_H
#define TONY_EXECUTOR_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mirror;
struct store;

#define MIRROR_MAX_FILES 100000
#define MIRROR_MAX_DEPTH 32

struct mirror_file {
	char *path; /* relative, without ".." */
	int64_t length;
	int64_t modified; /* its last change, in ns since 1970 */
	int64_t told;	  /* the same, as the store tells it; 0: it has none of it */
};

#define MIRROR_NS_PER_MS 1000000

/* The time of the last change, as mirror_file.modified has it. */
struct stat;
int64_t mirror_time(const struct stat *info);

struct mirror_files {
	struct mirror_file *items;
	size_t count;
};
void mirror_files_add(struct mirror_files *files, const char *path, int64_t length,
		      int64_t modified);
void mirror_files_finish(struct mirror_files *files);
#define cleanup_mirror_files __attribute__((cleanup(mirror_files_finish)))

/* `err` is NULL after success. */
typedef void mirror_done(void *data, const struct err *err);

/* All copied, but the store, which the mirror takes. */
struct mirror_options {
	const char *directory; /* made when it is not there */
	const char *scratch;   /* a path in the same file system, for a file being fetched */
	struct store *store;
	const char *path;    /* of the directory in the store; "": all of that */
	const char *writer;  /* of all that write to the store at once, this one */
	int64_t interval_ms; /* between two looks, and two tries */
	int64_t patience_ms; /* of a fetch or flush while the store is out of reach */
	bool follow;	     /* while it is watched, what others have stored is fetched, too */
};

/* NULL: `err`, and the store is the caller's. */
struct mirror *mirror_create(const struct mirror_options *options, struct err *err);
/* Closes the store. NULL is fine. */
void mirror_destroy(struct mirror *mirror);

/* Makes the directory equal to the store. Nobody may write to it meanwhile. Out of reach
 * (ERR_UNREACHABLE) the store is asked again until nothing has moved for patience_ms; where it
 * takes a token no longer (ERR_EXPIRED), without end. */
void mirror_fetch(struct mirror *mirror, mirror_done *done, void *data);

/* From now on what changes is stored. A failure is logged, and tried again at the next look. */
void mirror_watch(struct mirror *mirror);

/* Why the last try could not fetch or store all; NULL: it could, or there was none. */
const char *mirror_trouble(const struct mirror *mirror);

/* By the last look. */
struct mirror_backlog {
	int64_t files, bytes; /* that the store lacks */
	int64_t wait_ms;      /* since one was stored last, while others wait for it */
	int64_t trouble_ms;   /* since mirror_trouble() began; 0: there is none */
};
void mirror_measure(const struct mirror *mirror, struct mirror_backlog *backlog);

/* Stores all that has changed, settled or not, and watches no more. It tries again as a fetch does;
 * any other failure ends it: what was not stored is found by the next flush. */
void mirror_flush(struct mirror *mirror, mirror_done *done, void *data);

#endif
