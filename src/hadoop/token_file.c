#include "hadoop/token_file.h"

#include <stdlib.h>
#include <string.h>

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
		       TOKEN_FILE_VARIABLE ": %s; get the tokens anew, or unset the variable to go "
					   "by your Kerberos ticket",
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

int token_file_say_ended(const struct hadoop_token *token, struct err *err)
{
	return err_set(err, ERR_EXPIRED,
		       "the token %s for %s in %s (" TOKEN_FILE_VARIABLE ") has expired or was "
		       "cancelled; get tokens anew, or unset the variable to go by your Kerberos "
		       "ticket",
		       token->kind, token->service, token_file_path());
}

/* ---- newer ones --------------------------------------------------------------------------- */

static bool is_same_service(const struct hadoop_token *one, const struct hadoop_token *other)
{
	return str_equal(one->kind, other->kind) && str_equal(one->service, other->service);
}

/* Whatever they are called there. False: it has that very one. */
static bool put(struct credentials *credentials, const struct credentials_token *new)
{
	bool is_known = false;

	for (size_t i = 0; i < credentials->token_count; i++)
		if (is_same_service(&credentials->tokens[i].token, &new->token)) {
			if (token_is_same(&credentials->tokens[i].token, &new->token))
				return false;
			token_finish(&credentials->tokens[i].token);
			token_copy(&credentials->tokens[i].token, &new->token);
			is_known = true;
		}
	if (!is_known)
		credentials_add_token(credentials, new->alias, &new->token);
	return true;
}

/* A proxy's token has "alice" for "alice@REALM", as a gateway's has, which goes by rules of its own
 * (auth_to_local). So two names of different forms tell users apart where one service gave both. */
static bool are_others(const char *one, const char *other, bool of_one_service)
{
	if (!strchr(one, '@') == !strchr(other, '@'))
		return !str_equal(one, other);
	const size_t length = strcspn(one, "/@");
	return of_one_service &&
	       (length != strcspn(other, "/@") || strncmp(one, other, length) != 0);
}

static int check_owner(const struct credentials *credentials, const struct hadoop_token *new,
		       struct err *err)
{
	char *user cleanup_free = token_owner(new);

	for (size_t i = 0; user && i < credentials->token_count; i++) {
		const struct hadoop_token *token = &credentials->tokens[i].token;
		char *known cleanup_free = token_is_for_tasks(token) ? token_owner(token) : NULL;
		if (known && are_others(known, user, is_same_service(token, new)))
			return err_set(err, ERR_DENIED,
				       "a token of %s: the job's are %s's, and so are all that it "
				       "takes; renew it by a ticket or tokens of that user, or for "
				       "him by HADOOP_PROXY_USER",
				       user, known);
	}
	return 0;
}

/* 1: it had them all. */
static int merge(const struct credentials *from, struct credentials *credentials, struct err *err)
{
	size_t count = 0, changed = 0;

	for (size_t i = 0; i < from->token_count; i++)
		if (token_is_for_tasks(&from->tokens[i].token)) {
			if (check_owner(credentials, &from->tokens[i].token, err) < 0)
				return -1;
			changed += put(credentials, &from->tokens[i]);
			count++;
		}
	if (count > 0)
		return changed > 0 ? 0 : 1;
	return err_set(err, ERR_INPUT, "no token of a file system is in it");
}

int token_file_take(const void *bytes, size_t length, struct err *err)
{
	struct credentials from cleanup_credentials = {0}, credentials cleanup_credentials = {0};
	const char *path = token_file_path();

	if (!path)
		return err_set(err, ERR_CONFIG, TOKEN_FILE_VARIABLE " is not set");
	if (credentials_parse(bytes, length, &from, err) < 0 || read_file(&credentials, err) < 0)
		return -1;
	int result = merge(&from, &credentials, err);
	return result == 0 ? credentials_write_file(&credentials, path, err) : result;
}

static bool find_first_end(const struct credentials *credentials, struct token_file_end *end)
{
	const struct hadoop_token *first = NULL;

	*end = (struct token_file_end){0};
	for (size_t i = 0; i < credentials->token_count; i++) {
		const struct hadoop_token *token = &credentials->tokens[i].token;
		int64_t issued_ms, ends_ms;
		if (!token_times(token, &issued_ms, &ends_ms) || (first && ends_ms >= end->ends_ms))
			continue;
		*end = (struct token_file_end){.issued_ms = issued_ms, .ends_ms = ends_ms};
		first = token;
	}
	if (first)
		end->name = mem_printf("%s for %s", first->kind, first->service);
	return first;
}

bool token_file_look(struct token_file_end *end)
{
	struct credentials credentials cleanup_credentials = {0};

	return read_file(&credentials, NULL) == 0 && find_first_end(&credentials, end);
}

bool token_bytes_look(const void *bytes, size_t length, struct token_file_end *end)
{
	struct credentials credentials cleanup_credentials = {0};

	return credentials_parse(bytes, length, &credentials, NULL) == 0 &&
	       find_first_end(&credentials, end);
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
