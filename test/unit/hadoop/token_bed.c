#include "token_bed.h"

#include "../base/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/credentials.h"

static void make(struct hadoop_token *token, const char *kind, const char *service)
{
	token_set(token, service, strlen(service), "secret", strlen("secret"), kind, service);
}

void token_bed_write(const char *path, const char *const (*tokens)[2], size_t count)
{
	struct credentials credentials cleanup_credentials = {0};
	struct str bytes cleanup_str = {0};

	for (size_t i = 0; i < count; i++) {
		struct hadoop_token token cleanup_token = {0};
		char *alias cleanup_free = mem_printf("%zu", i);
		make(&token, tokens[i][0], tokens[i][1]);
		credentials_add_token(&credentials, alias, &token);
	}
	credentials_write(&credentials, &bytes);
	assert_int_equal(fs_write_file(path, bytes.text, bytes.length, 0600, NULL), 0);
	setenv(TOKEN_FILE_VARIABLE, path, 1);
}

char *token_bed_url(const char *kind, const char *service)
{
	struct hadoop_token token cleanup_token = {0};

	if (!service)
		return NULL;
	make(&token, kind, service);
	return token_url_string(&token);
}
