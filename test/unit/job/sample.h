/* A job that uses every member of job.json, and scratch files. */
#ifndef TEST_JOB_SAMPLE_H
#define TEST_JOB_SAMPLE_H

/* What cmocka.h needs before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/job.h"

/* Types prepare=1, worker=2 (waits for prepare), ps=1 and tensorboard=1. The caller destroys. */
struct job *sample_job(void);

/* A directory of its own, removed by sample_finish(); `*state` is its path. */
int sample_setup(void **state);
int sample_finish(void **state);
/* "<directory>/<name>"; the caller frees. */
char *sample_path(void **state, const char *name);

#endif
