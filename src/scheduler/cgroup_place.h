/* Where a process's control group for memory is in the file system. */
#ifndef TONY_SCHEDULER_CGROUP_PLACE_H
#define TONY_SCHEDULER_CGROUP_PLACE_H

#include "scheduler/cgroup.h"

struct cgroup_place {
	enum cgroup_version version;
	char *mount; /* of the hierarchy; NULL with CGROUP_NONE */
	char *own;   /* the process's group: `mount` or below it */
};
#define cleanup_cgroup_place __attribute__((cleanup(cgroup_place_finish)))

/* From cgroup and mountinfo in <root>/proc/PROCESS (0: of the caller); version 1's memory
 * controller goes before version 2, because a controller is in one of them only. */
void cgroup_place_find(const char *root, pid_t process, struct cgroup_place *place);
void cgroup_place_finish(struct cgroup_place *place);

#endif
