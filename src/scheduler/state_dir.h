/*
 * All that this machine keeps, readable by its user only:
 *   <state>/FOLDER/<job id>/  a job's description, token, journal, logs and containers, or what
 *                             this machine has of them (scheduler_traits.folder)
 *   <state>/ledger/<host>/    who holds how much of this machine (ledger.h)
 *   <state>/cache/            unpacked archives and the sources of ended jobs, each by its hash
 */
#ifndef TONY_SCHEDULER_STATE_DIR_H
#define TONY_SCHEDULER_STATE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "job/machine.h"

/* $TONY_STATE_DIR, else $XDG_STATE_HOME/tony, else $HOME/.local/state/tony, each an absolute path.
 * The caller frees; NULL when none of them is set, and when the directory is there and is neither
 * the user's nor root's, or others than its owner can write to it, or can put another one in its
 * place (ERR_CONFIG). Nothing is made. */
char *state_dir_find(struct err *err);
/* Makes the state directory, or one in it, with its parents; then checks the state directory as
 * state_dir_find() does. */
int state_dir_make(const char *directory, struct err *err);

/* The directory of a job in an engine's folder (struct scheduler_traits). The caller frees. */
char *state_dir_job(const char *state, const char *folder, const char *job_id);

/* Removes what there is of a job that was never started. Its description goes first: from then on
 * it is no job to others who look. */
void state_dir_remove_job(const char *job_dir);

/* The ledger of this machine, from the directory of one of its jobs. A state directory on a shared
 * file system serves several machines, hence the host's name in it. The caller frees. */
char *state_dir_ledger(const char *job_dir);

/* The cache, from the directory of a job. The caller frees. Beside each of its directories is a
 * file that locks it, and whose time is that of the last use. */
char *state_dir_cache(const char *job_dir);
#define STATE_DIR_CACHE_LOCK ".lock"

/* Says that the job has an AM, or will have one again, as long as any process has the returned file
 * open. -1: another one says so. */
int state_dir_hold(const char *job_dir, struct err *err);
bool state_dir_is_held(const char *job_dir);

/* Says that sources and logs of an ended job are being removed, for their age, or were (`is_done`).
 */
int state_dir_set_cleared(const char *job_dir, bool is_done, struct err *err);
bool state_dir_is_cleared(const char *job_dir, bool is_done);

/* Whether a name can be a job's directory: [A-Za-z0-9._-]+, not starting with a dot. */
bool state_dir_is_job_id(const char *name);

/* The last lines of a log (at most `count`, of its last 16 KiB), made printable; none when it
 * cannot be read. */
void state_dir_tail(const char *path, size_t count, struct str_list *lines);
/* The last few lines of a log of one of tony's own programs, as what it said of its failure. */
void state_dir_read_log(const char *path, struct cause *cause);

#endif
