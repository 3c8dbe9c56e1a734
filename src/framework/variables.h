/* The variables that every framework's processes get. Documented in tony-env(7). */
#ifndef TONY_FRAMEWORK_VARIABLES_H
#define TONY_FRAMEWORK_VARIABLES_H

#include "framework/environment.h"
#include "framework/framework.h"

/* TONY_*: the same on every scheduler and for every framework. */
void variables_add_tony(const struct framework_task *task, struct environment *environment);

/* Those by which the libraries of MLflow and Weights & Biases go, where the job is tracked. */
void variables_add_tracking(const struct framework_task *task, struct environment *environment);

/* What TonY gave to every task. */
void variables_add_compatible(const struct framework_task *task, struct environment *environment);

/* The cluster spec in TonY's form, {"worker": ["host:port", ...], ...}. Where it is longer than the
 * kernel lets a variable be, it is left out: the cluster file has it. */
void variables_add_cluster_spec(const struct framework_task *task, struct environment *environment);

#endif
