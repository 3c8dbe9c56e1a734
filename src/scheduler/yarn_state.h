/* The ResourceManager's word for an application, as a state of the job. */
#ifndef TONY_SCHEDULER_YARN_STATE_H
#define TONY_SCHEDULER_YARN_STATE_H

#include "hadoop/id.h"
#include "job/machine.h"

enum job_state yarn_job_state(const Hadoop__ApplicationReportProto *report);

#endif
