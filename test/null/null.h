/*
 * The least that an engine can be, and a model for the next one (CONTRIBUTING.md). Its service is
 * engine.py, its interface the folder `api` of a job's directory, where files appear whole:
 *   job               by the client: starts an AM, and another one for one that is killed
 *   ask-N, kill-N     by the AM: starts container N, and ends it; adopt: ends all but these
 *   allocated-N       by the engine, once N's executor has registered; ended-N: N is gone
 *   kill, over        by the client: ends the job; by the engine: nothing is left of it
 */
#ifndef TONY_TEST_NULL_H
#define TONY_TEST_NULL_H

#include "scheduler/scheduler.h"

extern const struct scheduler_traits null_traits;
extern const struct scheduler_ops null_scheduler;

/* The path of such a file. The caller frees. */
char *null_path(const char *job_dir, const char *verb, const char *container);
bool null_is_held(const char *job_dir); /* see struct local_engine */
int null_write(const char *job_dir, const char *verb, const char *container, const char *text,
	       struct err *err);

#endif
