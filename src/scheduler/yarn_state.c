#include "scheduler/yarn_state.h"

enum job_state yarn_job_state(const Hadoop__ApplicationReportProto *report)
{
	switch (report->yarn_application_state) {
	case HADOOP__YARN_APPLICATION_STATE_PROTO__RUNNING:
		return JOB_RUNNING;
	case HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED:
		if (report->final_application_status ==
		    HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_SUCCEEDED)
			return JOB_SUCCEEDED;
		return report->final_application_status ==
				       HADOOP__FINAL_APPLICATION_STATUS_PROTO__APP_KILLED
			       ? JOB_KILLED
			       : JOB_FAILED;
	case HADOOP__YARN_APPLICATION_STATE_PROTO__FAILED:
		return JOB_FAILED;
	case HADOOP__YARN_APPLICATION_STATE_PROTO__KILLED:
		return JOB_KILLED;
	default:
		return JOB_SUBMITTED;
	}
}
