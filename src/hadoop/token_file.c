#include "hadoop/token_file.h"

#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/credentials.h"

#define VARIABLE "HADOOP_TOKEN_FILE_LOCATION"

bool token_file_is_named(void)
{
	const char *path = getenv(VARIABLE);

	return path && *path;
}

/* Without the variable they stay empty. */
static int read_file(struct credentials *credentials, struct err *err)
{
	struct err flaw cleanup_err = {0};

	if (!token_file_is_named() ||
	    credentials_read_file(getenv(VARIABLE), credentials, &flaw) == 0)
		return 0;
	return err_set(err, ERR_CONFIG, VARIABLE ": %s; unset it to go by your Kerberos ticket",
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
