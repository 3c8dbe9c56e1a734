/* A job of two workers that has ended, in the test's scratch directory. */
#ifndef TONY_TEST_UNIT_HISTORY_JOB_BED_H
#define TONY_TEST_UNIT_HISTORY_JOB_BED_H

#include "job/job.h"

#define BED_ID	 "tony-20261121-061400-1f3a"
#define BED_PATH "2026/11/21/" BED_ID

struct job *bed_job(void);

/* Its journal, at "journal.jsonl": worker:1 failed with its second attempt. `final`: with the last
 * line. */
void bed_journal(void **state, const struct job *job, bool final);

#endif
