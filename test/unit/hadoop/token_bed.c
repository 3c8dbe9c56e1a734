#include "token_bed.h"

#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/credentials.h"

static const char secret[] = "secret";

static void make(struct hadoop_token *token, const char *kind, const char *service,
		 const char *password)
{
	token_set(token, service, strlen(service), password, strlen(password), kind, service);
}

void token_bed_encode(const char *const (*tokens)[2], size_t count, const char *password,
		      struct str *bytes)
{
	struct credentials credentials cleanup_credentials = {0};

	for (size_t i = 0; i < count; i++) {
		struct hadoop_token token cleanup_token = {0};
		char *alias cleanup_free = mem_printf("%zu", i);
		make(&token, tokens[i][0], tokens[i][1], password ? password : secret);
		credentials_add_token(&credentials, alias, &token);
	}
	credentials_write(&credentials, bytes);
}

void token_bed_write(const char *path, const char *const (*tokens)[2], size_t count)
{
	struct str bytes cleanup_str = {0};

	token_bed_encode(tokens, count, NULL, &bytes);
	assert_int_equal(fs_write_file(path, bytes.text, bytes.length, 0600, NULL), 0);
	setenv(TOKEN_FILE_VARIABLE, path, 1);
}

char *token_bed_url(const char *kind, const char *service)
{
	struct hadoop_token token cleanup_token = {0};

	if (!service)
		return NULL;
	make(&token, kind, service, secret);
	return token_url_string(&token);
}
