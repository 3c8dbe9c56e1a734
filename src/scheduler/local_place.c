/* The AM and an executor of a local job find names of files, all of this machine. */
#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/local_internal.h"

int local_find_place(const char *job_dir, struct scheduler_place *place, struct err *err)
{
	char *token cleanup_free = fs_join(job_dir, "token");

	place->token = job_read_token(token, err);
	if (!place->token)
		return -1;
	place->journal = fs_join(job_dir, "journal.jsonl");
	place->host = mem_strdup(LOCAL_HOST);
	place->am_attempt = 1;
	return 0;
}

static const char *need(const char *name, struct err *err)
{
	const char *value = getenv(name);

	if (value && *value)
		return value;
	err_set(err, ERR_USAGE, "%s is not set: executors are started by a scheduler", name);
	return NULL;
}

int local_container_find(struct scheduler_container *container, struct err *err)
{
	const char *directory = need("TONY_CONTAINER_DIR", err);
	const char *token_file = directory ? need("TONY_TOKEN_FILE", err) : NULL;

	if (!token_file)
		return -1;
	container->dir = mem_strdup(directory);
	container->log_dir = mem_strdup(directory);
	container->token_file = mem_strdup(token_file);
	container->kill_notice_ms = LOCAL_KILL_NOTICE_MS;
	container->token = job_read_token(token_file, err);
	return container->token ? 0 : -1;
}
