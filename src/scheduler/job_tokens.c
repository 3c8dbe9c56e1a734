#include "scheduler/job_tokens.h"

#include "base/mem.h"
#include "hadoop/credentials.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/webhdfs_client.h"

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

int job_tokens_get_default(const struct hdfs_access *access, struct err *err)
{
	struct hdfs_token *token = hdfs_access_webhdfs(access).token;

	return token ? hdfs_token_get(token, HDFS_TOKEN_PATIENCE_MS, err) : 0;
}

static int try_one(const struct hdfs_access *access, const char *fs, struct err *err)
{
	char *root cleanup_free = mem_printf("%s/", fs);
	const struct webhdfs_options options = hdfs_access_webhdfs_of(access, root);
	struct webhdfs_file file cleanup_webhdfs_file = {0};
	struct err why cleanup_err = {0};

	if (!options.token || !hdfs_token_url(options.token))
		return 0;
	struct webhdfs_client *client = webhdfs_client_create(&options, err);
	if (!client)
		return -1;
	int result = webhdfs_stat(client, "/", &file, &why);
	webhdfs_client_destroy(client);
	return result == 0 || err_is_silence(&why) ? 0 : err_copy(err, &why);
}

int job_tokens_try(const struct hdfs_access *access, struct err *err)
{
	if (access->fs && try_one(access, access->fs, err) < 0)
		return -1;
	for (size_t i = 0; i < access->other_count; i++)
		if (try_one(access, access->others[i].fs, err) < 0)
			return -1;
	return 0;
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
