/*
 * `tony-agent horovod driver|worker`: what stands before a command when a job brings its own driver
 * of Horovod (tony.horovod.driver.mode.debug). The driver's is watched for the file in which it
 * tells where its rendezvous is, and that goes into the AM's store under the epoch; a worker's
 * starts when it is there, with the variables that follow from it. See framework/horovod_plan.h.
 *
 *   tony-agent horovod worker COMMAND...
 *   tony-agent horovod driver TIMEOUT_MS COMMAND...      0: no limit
 */
#ifndef TONY_EXECUTOR_HOROVOD_H
#define TONY_EXECUTOR_HOROVOD_H

/* The driver's exit code, or 1 when it did not tell in time; a worker's command takes its place. */
int horovod_main(int argc, char **argv);

#endif
