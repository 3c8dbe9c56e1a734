#include "hadoop/token.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "hadoop/writable.h"

static unsigned char *copy(const void *bytes, size_t length)
{
	unsigned char *made = mem_alloc(length + 1);

	if (length > 0)
		memcpy(made, bytes, length);
	return made;
}

void token_set(struct hadoop_token *token, const void *identifier, size_t identifier_length,
	       const void *password, size_t password_length, const char *kind, const char *service)
{
	*token = (struct hadoop_token){
		.identifier = copy(identifier, identifier_length),
		.identifier_length = identifier_length,
		.password = copy(password, password_length),
		.password_length = password_length,
		.kind = mem_strdup(kind),
		.service = mem_strdup(service),
	};
}

void token_copy(struct hadoop_token *token, const struct hadoop_token *from)
{
	token_set(token, from->identifier, from->identifier_length, from->password,
		  from->password_length, from->kind, from->service);
}

void token_from_proto(struct hadoop_token *token, const Hadoop__TokenProto *from)
{
	token_set(token, from->identifier.data, from->identifier.len, from->password.data,
		  from->password.len, from->kind, from->service);
}

/* org.apache.hadoop.yarn.security.client.YARNDelegationTokenIdentifier; NULL: it is none. */
static Hadoop__YARNDelegationTokenIdentifierProto *read_protobuf(const struct hadoop_token *token)
{
	return hadoop__yarndelegation_token_identifier_proto__unpack(NULL, token->identifier_length,
								     token->identifier);
}

static char *owner_in_protobuf(const struct hadoop_token *token)
{
	Hadoop__YARNDelegationTokenIdentifierProto *identifier = read_protobuf(token);
	char *owner = NULL;

	if (identifier && identifier->owner && *identifier->owner &&
	    str_is_utf8(identifier->owner, strlen(identifier->owner)))
		owner = mem_strdup(identifier->owner);
	if (identifier)
		hadoop__yarndelegation_token_identifier_proto__free_unpacked(identifier, NULL);
	return owner;
}

/* org.apache.hadoop.security.token.delegation.AbstractDelegationTokenIdentifier: a version, which
 * is 0, then the owner. */
static char *owner_in_writable(const struct hadoop_token *token)
{
	struct writable from = {token->identifier, token->identifier_length};
	char *owner cleanup_free = NULL;
	size_t version;

	if (!writable_take_count(&from, 0, &version) || !writable_take_text(&from, &owner) ||
	    !*owner)
		return NULL;
	return mem_steal(&owner);
}

char *token_owner(const struct hadoop_token *token)
{
	if (str_equal(token->kind, TOKEN_KIND_RM))
		return owner_in_protobuf(token);
	return token_is_of_hdfs(token) ? owner_in_writable(token) : NULL;
}

static bool times_in_protobuf(const struct hadoop_token *token, int64_t *issued_ms,
			      int64_t *ends_ms)
{
	Hadoop__YARNDelegationTokenIdentifierProto *identifier = read_protobuf(token);
	bool has_both = identifier && identifier->has_issuedate && identifier->has_maxdate;

	if (has_both) {
		*issued_ms = identifier->issuedate;
		*ends_ms = identifier->maxdate;
	}
	if (identifier)
		hadoop__yarndelegation_token_identifier_proto__free_unpacked(identifier, NULL);
	return has_both;
}

/* Behind the version: owner, renewer and real user. */
static bool times_in_writable(const struct hadoop_token *token, int64_t *issued_ms,
			      int64_t *ends_ms)
{
	struct writable from = {token->identifier, token->identifier_length};
	const unsigned char *name;
	size_t version, length;

	if (!writable_take_count(&from, 0, &version))
		return false;
	for (int i = 0; i < 3; i++)
		if (!writable_take_bytes(&from, &name, &length))
			return false;
	return writable_take_number(&from, issued_ms) && writable_take_number(&from, ends_ms);
}

bool token_times(const struct hadoop_token *token, int64_t *issued_ms, int64_t *ends_ms)
{
	if (!token_is_for_tasks(token))
		return false;
	return str_equal(token->kind, TOKEN_KIND_TIMELINE)
		       ? times_in_protobuf(token, issued_ms, ends_ms)
		       : times_in_writable(token, issued_ms, ends_ms);
}

bool token_is_of_hdfs(const struct hadoop_token *token)
{
	return str_equal(token->kind, TOKEN_KIND_HDFS) ||
	       str_equal(token->kind, TOKEN_KIND_SWEBHDFS) ||
	       str_equal(token->kind, TOKEN_KIND_WEBHDFS);
}

bool token_is_for_tasks(const struct hadoop_token *token)
{
	return token_is_of_hdfs(token) || str_equal(token->kind, TOKEN_KIND_KMS) ||
	       str_equal(token->kind, TOKEN_KIND_TIMELINE);
}

char *token_url_string(const struct hadoop_token *token)
{
	struct str bytes cleanup_str_secret = {0};

	writable_put_bytes(&bytes, token->identifier, token->identifier_length);
	writable_put_bytes(&bytes, token->password, token->password_length);
	writable_put_text(&bytes, token->kind);
	writable_put_text(&bytes, token->service);
	return base64_encode_url(bytes.text, bytes.length);
}

static bool take_token(struct writable from, struct hadoop_token *token)
{
	char *kind cleanup_free = NULL, *service cleanup_free = NULL;
	const unsigned char *identifier, *password;
	size_t identifier_length, password_length;

	if (!writable_take_bytes(&from, &identifier, &identifier_length) ||
	    !writable_take_bytes(&from, &password, &password_length) ||
	    !writable_take_text(&from, &kind) || !writable_take_text(&from, &service) ||
	    from.left > 0 || !*kind)
		return false;
	token_set(token, identifier, identifier_length, password, password_length, kind, service);
	return true;
}

int token_from_url_string(struct hadoop_token *token, const char *text, struct err *err)
{
	struct str padded cleanup_str_secret = {0};
	size_t length = 0;

	str_append(&padded, text);
	for (char *c = padded.text; c && *c; c++)
		*c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
	while (padded.length % 4 != 0)
		str_append_char(&padded, '=');
	unsigned char *bytes = base64_decode(str_text(&padded), padded.length, &length);
	bool is_token = bytes && take_token((struct writable){bytes, length}, token);
	if (bytes)
		explicit_bzero(bytes, length);
	free(bytes);
	return is_token ? 0 : err_set(err, ERR_INPUT, "this is no delegation token");
}

bool token_is_same(const struct hadoop_token *one, const struct hadoop_token *other)
{
	return one->identifier_length == other->identifier_length &&
	       memcmp(one->identifier, other->identifier, one->identifier_length) == 0 &&
	       one->password_length == other->password_length &&
	       memcmp(one->password, other->password, one->password_length) == 0;
}

void token_finish(struct hadoop_token *token)
{
	if (token->password)
		explicit_bzero(token->password, token->password_length);
	free(token->identifier);
	free(token->password);
	free(token->kind);
	free(token->service);
	*token = (struct hadoop_token){0};
}
