#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "scheduler/yarn_internal.h"

/* Of a cluster's machines, at most one in so many is avoided: when many fail, it is not they. */
#define AVOIDED_SHARE 3

static void forgive_oldest(struct yarn *yarn)
{
	struct str_list left = {0};

	log_info("%s is no longer avoided", yarn->avoided.items[0]);
	application_master_avoid(yarn->master, yarn->avoided.items[0], false);
	for (size_t i = 1; i < yarn->avoided.count; i++)
		str_list_add(&left, yarn->avoided.items[i]);
	str_list_finish(&yarn->avoided);
	yarn->avoided = left;
}

void yarn_avoid_fewer(struct yarn *yarn)
{
	while (yarn->node_count > 0 &&
	       (int64_t)yarn->avoided.count > yarn->node_count / AVOIDED_SHARE)
		forgive_oldest(yarn);
}

void yarn_avoid(struct scheduler *scheduler, const char *host)
{
	struct yarn *yarn = (struct yarn *)scheduler;
	bool is_small = yarn->node_count > 0 && yarn->node_count < AVOIDED_SHARE;

	if (is_small || str_list_has(&yarn->avoided, host))
		return;
	log_info("%s is avoided from now on", host);
	str_list_add(&yarn->avoided, host);
	application_master_avoid(yarn->master, host, true);
	yarn_avoid_fewer(yarn);
}
