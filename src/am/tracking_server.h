/*
 * A tracking server: MLflow's, or another with its REST API 2.0 (mlflow.org, "REST API"). This is
 * what the AM, which sends while the job runs, and the process of the job's notices have in common.
 */
#ifndef TONY_AM_TRACKING_SERVER_H
#define TONY_AM_TRACKING_SERVER_H

#include <jansson.h>

#include "am/web_target.h"
#include "job/view.h"

/* Whether the job's programs prove themselves there by the variable of this name:
 * MLFLOW_TRACKING_USERNAME and _PASSWORD, or _TOKEN. */
bool tracking_server_asks_for(const struct job *job, const char *variable);

/* job->tracking_uri, with that proof. */
int tracking_server_open(struct web_target *target, const struct job *job, struct err *err);

/* The path of a call, such as "runs/create". The caller frees. */
char *tracking_server_path(const struct web_target *target, const char *call);

/* Where people see the run. The caller frees. */
char *tracking_server_page(const struct job *job, const char *experiment, const char *run);

/* Whether it may be an id of an experiment or a run, which becomes part of URLs and environments.
 */
bool tracking_server_is_id(const char *text);

/* {key, value} for a list of tags or parameters, which have limits. */
json_t *tracking_server_pair(const char *key, const char *value);

/* Ends the run of a job that has ended, and waits for that: the outcome is that of
 * web_target_post(). */
char *tracking_server_end(const struct job_view *view, bool *failed);

#endif
