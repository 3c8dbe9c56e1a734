/* The delegation tokens that a job's processes have, for every engine. */
#include "hadoop/hdfs_access.h"
#include "hadoop/token_file.h"
#include "scheduler/scheduler.h"

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000) /* Hadoop's default */

static void tell_end(const struct job *job, const struct token_file_end *end,
		     struct scheduler_tokens *tokens)
{
	struct hdfs_access access cleanup_hdfs_access = {0};

	if (job->stores)
		hdfs_access_read(&access, job->stores, NULL);
	*tokens = (struct scheduler_tokens){
		.first = end->name,
		.issued_ms = end->issued_ms,
		.ends_ms = end->ends_ms,
		.interval_ms = access.token_renew_ms > 0 ? access.token_renew_ms : DAY_MS,
	};
}

void scheduler_tokens_look(const struct job *job, struct scheduler_tokens *tokens)
{
	struct token_file_end end;

	if (token_file_look(&end))
		tell_end(job, &end, tokens);
}

void scheduler_tokens_look_at(const struct job *job, const struct str *bytes,
			      struct scheduler_tokens *tokens)
{
	struct token_file_end end;

	if (token_bytes_look(bytes->text, bytes->length, &end))
		tell_end(job, &end, tokens);
}
