#include "hadoop/token_file.h"

#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/credentials.h"

const char *token_file_path(void)
{
	const char *path = getenv(TOKEN_FILE_VARIABLE);

	return path && *path ? path : NULL;
}

/* Without the variable they stay empty. */
static int read_file(struct credentials *credentials, struct err *err)
{
	const char *path = token_file_path();
	struct err flaw cleanup_err = {0};

	if (!path || credentials_read_file(path, credentials, &flaw) == 0)
		return 0;
	return err_set(err, ERR_CONFIG,
		       TOKEN_FILE_VARIABLE ": %s; unset it to go by your Kerberos ticket",
		       err_message(&flaw));
}

int token_file_find(const char *const *kinds, size_t kind_count, const struct str_list *services,
		    struct hadoop_token *token, struct err *err)
{
	struct credentials credentials cleanup_credentials = {0};
	const struct hadoop_token *found = NULL;

	if (services->count == 0)
		return 0;
	if (read_file(&credentials, err) < 0)
		return -1;
	for (size_t i = 0; i < kind_count && !found; i++)
		found = credentials_find(&credentials, kinds[i], services);
	if (found)
		token_copy(token, found);
	return 0;
}

int token_file_owner(char **owner, struct err *err)
{
	struct credentials credentials cleanup_credentials = {0};

	*owner = NULL;
	if (read_file(&credentials, err) < 0)
		return -1;
	for (size_t i = 0; i < credentials.token_count && !*owner; i++)
		*owner = token_owner(&credentials.tokens[i].token);
	return 0;
}
