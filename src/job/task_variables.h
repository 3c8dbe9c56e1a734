/* The variables TONY_* that a task's program gets (framework/variables.h). */
#ifndef TONY_JOB_TASK_VARIABLES_H
#define TONY_JOB_TASK_VARIABLES_H

#include <stdbool.h>

/* Is it one of those, set or not, or the mark of a job's processes? No user sets it. */
bool task_variables_have(const char *name);
/* Takes those of a task, and all that TONY_TASK_VARIABLES names (a framework's RANK, a secret), out
 * of this process's own environment, but for the mark. */
void task_variables_unset(void);

#endif
