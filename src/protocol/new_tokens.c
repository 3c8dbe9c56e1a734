#include "protocol/new_tokens.h"

#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "protocol/message.h"

static const struct job_field fields[] = {
	MESSAGE_FIELD(new_tokens, "number", number, FIELD_INT64, NEW_TOKENS_NUMBER_MAX, .min = 1),
	MESSAGE_FIELD(new_tokens, "bytes", bytes, FIELD_TEXT, NEW_TOKENS_CAP, .min = 1),
};

void new_tokens_set_member(json_t *body, const struct new_tokens *tokens)
{
	if (!tokens->bytes)
		return;
	json_t *object = json_object();
	job_fields_write(fields, array_length(fields), tokens, object);
	json_object_set_new(body, "tokens", object);
}

int new_tokens_read_member(const json_t *body, struct new_tokens *tokens, struct err *err)
{
	const json_t *object = json_object_get(body, "tokens");

	if (!object)
		return 0;
	return job_fields_read(fields, array_length(fields), object, tokens, err) < 0
		       ? err_wrap(err, "tokens")
		       : 0;
}

void new_tokens_copy(struct new_tokens *to, const struct new_tokens *from)
{
	new_tokens_finish(to);
	*to = (struct new_tokens){from->number, mem_strdup(from->bytes)};
}

char *new_tokens_decode(const char *base64, size_t *length, struct err *err)
{
	char *bytes = base64_decode(base64, strlen(base64), length);

	if (!bytes)
		err_set(err, ERR_INPUT, "bytes: is not base64");
	return bytes;
}

void new_tokens_finish(struct new_tokens *tokens)
{
	mem_free_secret(tokens->bytes);
	*tokens = (struct new_tokens){0};
}
