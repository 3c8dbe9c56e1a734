/*
 * Files and trees that a process needs for a while only: they are removed when it ends, however it
 * does, kill -9 included. A child process, the keeper, waits for that.
 */
#ifndef TONY_BASE_KEEPER_H
#define TONY_BASE_KEEPER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* All zero: there is nothing to be removed. */
struct keeper {
	char *path;
	struct stat made; /* what is removed, and nothing else that is at the path by then */
	pid_t pid;
	int hold; /* the keeper waits until every process that has this open is gone */
};

/* Makes a directory in TMPDIR, or in /tmp, that only its owner can read; its name begins with
 * `name`. ERR_CONFIG: others could replace it there. The caller ends it with keeper_remove(). */
int keeper_make_directory(struct keeper *keeper, const char *name, struct err *err);

/* The same of one beside `path`; its name begins with that and ".part". Below a descriptor
 * ("/proc/self/fd/9/name", fs_name_file()) nobody can lead it elsewhere. */
int keeper_make_beside(struct keeper *keeper, const char *path, struct err *err);

/* The directory that was made, open: where others may write beside it, its path may lead elsewhere
 * by now. Returns the descriptor, which the caller closes, or -1. */
int keeper_open(const struct keeper *keeper, struct err *err);

/* The same of a new file beside `path`, open for reading and writing; its name begins with that.
 * Returns the descriptor, which the caller closes, or -1. */
int keeper_make_file(struct keeper *keeper, const char *path, struct err *err);

/* Removes it if it still is at the path, and returns when it is gone; all zero is fine. */
void keeper_remove(struct keeper *keeper);
#define cleanup_keeper __attribute__((cleanup(keeper_remove)))

#endif
