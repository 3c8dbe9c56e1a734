#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/container.h"
#include "scheduler/yarn_internal.h"

int yarn_find_place(const char *job_dir, struct scheduler_place *place, struct err *err)
{
	struct hadoop_container container = {0};

	if (hadoop_container_read(&container, err) < 0)
		return -1;
	place->host = mem_steal(&container.host);
	/* Beside the AM's logs, so that YARN keeps it with them. */
	place->journal = fs_join(container.log_dir, "journal.jsonl");
	place->am_attempt = container.am_attempt;
	place->may_return = true;
	hadoop_container_finish(&container);
	place->token = hadoop_container_token(err);
	return place->token ? 0 : -1;
}
