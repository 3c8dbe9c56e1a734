#include "logs/job_logs.h"

void job_logs_destroy(struct job_logs *logs)
{
	if (logs)
		logs->ops->destroy(logs);
}
