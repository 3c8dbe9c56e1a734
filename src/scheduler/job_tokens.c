#include "scheduler/job_tokens.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/credentials.h"
#include "hadoop/hdfs_token.h"
#include "scheduler/local.h"

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

int job_tokens_write(const char *job_dir, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, LOCAL_TOKENS_FILE);
	struct str tokens cleanup_str = {0};
	struct str_list names cleanup_str_list = {0};

	job_tokens_encode(&tokens, &names);
	int result =
		names.count > 0 ? fs_write_file(path, tokens.text, tokens.length, 0600, err) : 0;
	explicit_bzero(tokens.text, tokens.length);
	return result;
}
