/* The variables TONY_* that a task's program gets (framework/variables.h). */
#ifndef TONY_JOB_TASK_VARIABLES_H
#define TONY_JOB_TASK_VARIABLES_H

#include <stdbool.h>

/* Is it one of those, set or not, or the mark of a job's processes? No user sets it. */
bool task_variables_have(const char *name);
/* Is it among the names of TONY_TASK_VARIABLES, which the executor has for all else that it sets: a
 * framework's RANK or TF_CONFIG, a secret? NULL: of no task. */
bool task_variables_name(const char *list, const char *name);
/* Takes both kinds, those of a task, out of this process's own environment, but for the mark. */
void task_variables_unset(void);

#endif
