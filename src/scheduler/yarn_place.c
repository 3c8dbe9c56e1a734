/* The AM and an executor in a container of YARN: job.json and the token are in its
 * credentials, a directory for logs that YARN keeps. */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/container.h"
#include "scheduler/yarn_internal.h"

/* From SIGTERM to SIGKILL: yarn.nodemanager.sleep-delay-before-sigkill.ms. */
enum { KILL_NOTICE_MS = 250 };

int yarn_find_place(const char *job_dir, struct scheduler_place *place, struct err *err)
{
	struct hadoop_container container = {0};

	place->job = hadoop_container_job(err);
	if (!place->job || hadoop_container_read(&container, err) < 0)
		return -1;
	place->job_dir = mem_steal(&container.work_dir);
	place->host = mem_steal(&container.host);
	/* Beside the AM's logs, so that YARN keeps it with them. */
	place->journal = fs_join(container.log_dir, "journal.jsonl");
	place->mark = mem_printf("CONTAINER_ID=%s", container.id);
	place->container = mem_steal(&container.id);
	place->am_attempt = container.am_attempt;
	hadoop_container_finish(&container);
	place->proxy_tls = yarn_proxy_tls(place->job);
	place->token = hadoop_container_token(err);
	return place->token ? 0 : -1;
}

static int write_token(const struct scheduler_container *container, struct err *err)
{
	if (fs_make_directories(container->dir, 0700, err) < 0)
		return -1;
	return fs_write_file(container->token_file, container->token, strlen(container->token),
			     0600, err);
}

int yarn_container_find(struct scheduler_container *container, struct err *err)
{
	struct hadoop_container found = {0};

	if (hadoop_container_read(&found, err) < 0)
		return -1;
	container->dir = fs_join(found.work_dir, ".tony");
	container->log_dir = mem_steal(&found.log_dir);
	container->token_file = fs_join(container->dir, "token");
	container->kill_notice_ms = KILL_NOTICE_MS;
	/* YARN's own is a directory that is nobody's ("/home/"): pip and caches fail there. What
	 * the job sets comes after this. */
	setenv("HOME", found.work_dir, 1);
	hadoop_container_finish(&found);
	container->token = hadoop_container_token(err);
	if (!container->token || write_token(container, err) < 0)
		return -1;
	container->job = hadoop_container_job(err);
	return container->job ? 0 : -1;
}
