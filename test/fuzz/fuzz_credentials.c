/* Any bytes as a container's credentials. What is taken can be written, and is read as the same. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "hadoop/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What anybody may ask of them. */
static void use(const struct credentials *credentials)
{
	size_t length;

	for (size_t i = 0; i < credentials->token_count; i++) {
		const struct hadoop_token *token = &credentials->tokens[i].token;
		char *url cleanup_free = token_url_string(token);
		char *owner cleanup_free = token_owner(token);
		struct str_list services cleanup_str_list = {0};

		str_split(&services, token->service, ',');
		if (services.count > 0 && !credentials_find(credentials, token->kind, &services))
			BUG("token %zu is not found by its service", i);
		if (!credentials_find_kind(credentials, token->kind) || strlen(url) == 0 ||
		    (owner && !*owner))
			BUG("token %zu is not found", i);
	}
	for (size_t i = 0; i < credentials->secret_count; i++) {
		if (!credentials_find_secret(credentials, credentials->secrets[i].alias, &length))
			BUG("secret %zu is not found", i);
	}
}

/* One token as a web service gives it. A token that was taken is read as the same again. */
static void read_url_string(const uint8_t *data, size_t size)
{
	char *text cleanup_free = mem_strndup((const char *)data, size);
	struct hadoop_token token cleanup_token = {0}, again cleanup_token = {0};

	if (token_from_url_string(&token, text, NULL) < 0)
		return;
	char *url cleanup_free = token_url_string(&token);
	if (token_from_url_string(&again, url, NULL) < 0)
		BUG("%s is not read again", url);
	char *same cleanup_free = token_url_string(&again);
	if (!str_equal(url, same) || again.password_length != token.password_length)
		BUG("%s is read as %s", url, same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct credentials credentials cleanup_credentials = {0}, again cleanup_credentials = {0};
	struct str first cleanup_str = {0}, second cleanup_str = {0};
	struct err err cleanup_err = {0};

	read_url_string(data, size);
	if (credentials_parse(data, size, &credentials, &err) < 0) {
		if (err.kind != ERR_INPUT || credentials.tokens || credentials.secrets)
			BUG("a refusal without a reason, or with what was refused");
		return 0;
	}
	use(&credentials);
	credentials_write(&credentials, &first);
	if (credentials_parse(first.text, first.length, &again, &err) < 0)
		BUG("what was written is not read: %s", err_message(&err));
	credentials_write(&again, &second);
	if (first.length != second.length || memcmp(first.text, second.text, first.length) != 0)
		BUG("what was written is read as something else");
	return 0;
}
