#include "scheduler/job_tokens.h"

#include "base/mem.h"
#include "hadoop/credentials.h"
#include "hadoop/hdfs_token.h"

static int get(const struct hdfs_access *access, const char *place, struct err *err)
{
	char *url cleanup_free = place ? hdfs_access_resolve(access, place) : NULL;
	struct hdfs_token *token = url ? hdfs_access_webhdfs_of(access, url).token : NULL;

	return token ? hdfs_token_get(token, 0, err) : 0;
}

int job_tokens_get(const struct hdfs_access *access, const struct job *job, struct err *err)
{
	return get(access, job->checkpoint_dir, err) < 0 ||
			       get(access, job->results_dir, err) < 0 ||
			       get(access, job_config(job, "tony.history.location"), err) < 0
		       ? -1
		       : 0;
}

void job_tokens_encode(struct str *tokens, struct str_list *names)
{
	struct credentials credentials cleanup_credentials = {0};
	bool are_own;

	hdfs_tokens_add(&credentials, &are_own);
	for (size_t i = 0; i < credentials.token_count; i++)
		str_list_add(names, credentials.tokens[i].token.service);
	credentials_write(&credentials, tokens);
}
