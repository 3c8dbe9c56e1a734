/*
 * Copies of sources in the working directories of tasks, on the machine that has the sources: they
 * are taken back when a task has ended. A file beside the directory, the mark, says when they were
 * made, and is there as long as they are.
 */
#ifndef TONY_SCHEDULER_COPIES_H
#define TONY_SCHEDULER_COPIES_H

#include "job/job.h"

/* Called before and after the files are copied; not the second, where that failed:
 * copies_take_back() then takes back what there is of them. -1 of the first: there is nothing to
 * copy, or no mark can be made, and nothing is taken back; the caller closes. -1 of the second: no
 * program may run, since what it wrote would be taken for part of a copy. */
int copies_begin(const struct job_files *files, const char *work_dir);
int copies_end(int mark, struct err *err);

/* Once no program runs there any more: takes back what was copied from this machine and is as it
 * was; nothing that a program moved, linked or mounted there, or that its links lead to. Logs what
 * it cannot. */
void copies_take_back(const struct job_files *files, const char *work_dir);

/* The same once the job has ended, for tasks whose executor could not: it was killed. Where there
 * are processes of a container, its executor is among them, and does it. */
void copies_take_back_all(const struct job *job, const char *job_dir);

#endif
