#include "hadoop/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/writable.h"

static const char magic[4] = {'H', 'D', 'T', 'S'};
enum { VERSION_WRITABLE = 0, VERSION_PROTOBUF = 1, HEADER = sizeof(magic) + 1 };

static void forget_token(struct credentials_token *entry)
{
	token_finish(&entry->token);
	free(entry->alias);
}

static void forget_secret(struct credentials_secret *entry)
{
	if (entry->bytes)
		explicit_bzero(entry->bytes, entry->length);
	free(entry->bytes);
	free(entry->alias);
}

void credentials_finish(struct credentials *credentials)
{
	for (size_t i = 0; i < credentials->token_count; i++)
		forget_token(&credentials->tokens[i]);
	for (size_t i = 0; i < credentials->secret_count; i++)
		forget_secret(&credentials->secrets[i]);
	free(credentials->tokens);
	free(credentials->secrets);
	*credentials = (struct credentials){0};
}

/* ---- making ------------------------------------------------------------------------------- */

/* A new entry, {0}. */
static struct credentials_token *new_token(struct credentials *credentials)
{
	credentials->tokens = mem_realloc_array(credentials->tokens, credentials->token_count + 1,
						sizeof(*credentials->tokens));
	struct credentials_token *entry = &credentials->tokens[credentials->token_count++];
	*entry = (struct credentials_token){0};
	return entry;
}

static struct credentials_secret *new_secret(struct credentials *credentials)
{
	credentials->secrets = mem_realloc_array(
		credentials->secrets, credentials->secret_count + 1, sizeof(*credentials->secrets));
	struct credentials_secret *entry = &credentials->secrets[credentials->secret_count++];
	*entry = (struct credentials_secret){0};
	return entry;
}

static void fill_secret(struct credentials_secret *entry, const void *bytes, size_t length)
{
	entry->bytes = mem_alloc(length + 1);
	if (length > 0)
		memcpy(entry->bytes, bytes, length);
	entry->length = length;
}

/* The last one: a later entry of a file hides an earlier one of the same alias, as in Java's map.
 */
static struct credentials_secret *find_secret(const struct credentials *credentials,
					      const char *alias)
{
	for (size_t i = credentials->secret_count; i > 0; i--) {
		if (strcmp(credentials->secrets[i - 1].alias, alias) == 0)
			return &credentials->secrets[i - 1];
	}
	return NULL;
}

static struct credentials_token *find_token(const struct credentials *credentials,
					    const char *alias)
{
	for (size_t i = credentials->token_count; i > 0; i--) {
		if (strcmp(credentials->tokens[i - 1].alias, alias) == 0)
			return &credentials->tokens[i - 1];
	}
	return NULL;
}

void credentials_add_token(struct credentials *credentials, const char *alias,
			   const struct hadoop_token *token)
{
	struct credentials_token *old = find_token(credentials, alias);
	struct credentials_token made = {.alias = mem_strdup(alias)};

	token_copy(&made.token, token);
	if (old)
		forget_token(old);
	*(old ? old : new_token(credentials)) = made;
}

void credentials_add_secret(struct credentials *credentials, const char *alias, const void *bytes,
			    size_t length)
{
	struct credentials_secret *old = find_secret(credentials, alias);
	struct credentials_secret made = {.alias = mem_strdup(alias)};

	fill_secret(&made, bytes, length);
	if (old)
		forget_secret(old);
	*(old ? old : new_secret(credentials)) = made;
}

/* ---- finding ------------------------------------------------------------------------------ */

const struct hadoop_token *credentials_find_kind(const struct credentials *credentials,
						 const char *kind)
{
	for (size_t i = credentials->token_count; i > 0; i--) {
		if (strcmp(credentials->tokens[i - 1].token.kind, kind) == 0)
			return &credentials->tokens[i - 1].token;
	}
	return NULL;
}

static bool is_for(const struct hadoop_token *token, const struct str_list *services)
{
	struct str_list own cleanup_str_list = {0};

	str_split(&own, token->service, ',');
	for (size_t i = 0; i < own.count; i++)
		if (str_list_has(services, own.items[i]))
			return true;
	return false;
}

const struct hadoop_token *credentials_find(const struct credentials *credentials, const char *kind,
					    const struct str_list *services)
{
	for (size_t i = credentials->token_count; i > 0; i--) {
		const struct hadoop_token *token = &credentials->tokens[i - 1].token;
		if (str_equal(token->kind, kind) && is_for(token, services))
			return token;
	}
	return NULL;
}

const unsigned char *credentials_find_secret(const struct credentials *credentials,
					     const char *alias, size_t *length)
{
	const struct credentials_secret *entry = find_secret(credentials, alias);

	if (!entry)
		return NULL;
	*length = entry->length;
	return entry->bytes;
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool take_token(struct writable *from, struct credentials_token *entry)
{
	const unsigned char *identifier, *password;
	size_t identifier_length, password_length;
	char *kind cleanup_free = NULL, *service cleanup_free = NULL;

	if (!writable_take_text(from, &entry->alias) ||
	    !writable_take_bytes(from, &identifier, &identifier_length) ||
	    !writable_take_bytes(from, &password, &password_length) ||
	    !writable_take_text(from, &kind) || !writable_take_text(from, &service))
		return false;
	token_set(&entry->token, identifier, identifier_length, password, password_length, kind,
		  service);
	return true;
}

static bool take_secret(struct writable *from, struct credentials_secret *entry)
{
	const unsigned char *bytes;
	size_t length;

	if (!writable_take_text(from, &entry->alias) || !writable_take_bytes(from, &bytes, &length))
		return false;
	fill_secret(entry, bytes, length);
	return true;
}

static int parse_writable(struct writable from, size_t length, struct credentials *credentials,
			  struct err *err)
{
	size_t count;

	if (!writable_take_count(&from, CREDENTIALS_COUNT_CAP, &count))
		return err_set(err, ERR_INPUT, "no number of tokens, at most %d",
			       CREDENTIALS_COUNT_CAP);
	for (size_t i = 0; i < count; i++) {
		if (!take_token(&from, new_token(credentials)))
			return err_set(err, ERR_INPUT, "token %zu of %zu, byte %zu: damaged", i + 1,
				       count, length - from.left);
	}
	if (!writable_take_count(&from, CREDENTIALS_COUNT_CAP, &count))
		return err_set(err, ERR_INPUT, "no number of secrets, at most %d",
			       CREDENTIALS_COUNT_CAP);
	for (size_t i = 0; i < count; i++) {
		if (!take_secret(&from, new_secret(credentials)))
			return err_set(err, ERR_INPUT, "secret %zu of %zu, byte %zu: damaged",
				       i + 1, count, length - from.left);
	}
	return 0;
}

static bool is_text(const char *text)
{
	return str_is_utf8(text, strlen(text));
}

static int take_message(const Hadoop__CredentialsProto *message, struct credentials *credentials,
			struct err *err)
{
	if (message->n_tokens > CREDENTIALS_COUNT_CAP || message->n_secrets > CREDENTIALS_COUNT_CAP)
		return err_set(err, ERR_INPUT, "%zu tokens and %zu secrets; at most %d are taken",
			       message->n_tokens, message->n_secrets, CREDENTIALS_COUNT_CAP);
	for (size_t i = 0; i < message->n_tokens; i++) {
		const Hadoop__CredentialsKVProto *from = message->tokens[i];
		if (!from->token || !is_text(from->alias) || !is_text(from->token->kind) ||
		    !is_text(from->token->service))
			return err_set(err, ERR_INPUT, "token %zu of %zu: damaged", i + 1,
				       message->n_tokens);
		struct credentials_token *entry = new_token(credentials);
		entry->alias = mem_strdup(from->alias);
		token_from_proto(&entry->token, from->token);
	}
	for (size_t i = 0; i < message->n_secrets; i++) {
		const Hadoop__CredentialsKVProto *from = message->secrets[i];
		if (!is_text(from->alias))
			return err_set(err, ERR_INPUT, "secret %zu of %zu: damaged", i + 1,
				       message->n_secrets);
		struct credentials_secret *entry = new_secret(credentials);
		entry->alias = mem_strdup(from->alias);
		fill_secret(entry, from->secret.data, from->has_secret ? from->secret.len : 0);
	}
	return 0;
}

/* A protobuf varint, of at most 32 bits. */
static bool take_varint(struct writable *from, size_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 32 && from->left > 0; shift += 7) {
		unsigned char byte = *from->at++;
		from->left--;
		*value |= (size_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

static void wipe(const ProtobufCBinaryData *bytes)
{
	if (bytes->data)
		explicit_bzero(bytes->data, bytes->len);
}

static void free_message(Hadoop__CredentialsProto *message)
{
	for (size_t i = 0; i < message->n_tokens; i++)
		if (message->tokens[i]->token)
			wipe(&message->tokens[i]->token->password);
	for (size_t i = 0; i < message->n_secrets; i++)
		wipe(&message->secrets[i]->secret);
	hadoop__credentials_proto__free_unpacked(message, NULL);
}

static int parse_protobuf(struct writable from, struct credentials *credentials, struct err *err)
{
	Hadoop__CredentialsProto *message;
	size_t length;

	if (!take_varint(&from, &length) || length > from.left)
		return err_set(err, ERR_INPUT, "it ends early");
	message = hadoop__credentials_proto__unpack(NULL, length, from.at);
	if (!message)
		return err_set(err, ERR_INPUT, "its protobuf message is damaged");
	int result = take_message(message, credentials, err);
	free_message(message);
	return result;
}

int credentials_parse(const void *bytes, size_t length, struct credentials *credentials,
		      struct err *err)
{
	const unsigned char *at = bytes;
	int result;

	if (length > CREDENTIALS_CAP)
		return err_set(err, ERR_INPUT, "credentials: %zu bytes; at most %u are read",
			       length, CREDENTIALS_CAP);
	if (length < HEADER || memcmp(at, magic, sizeof(magic)) != 0)
		return err_set(err, ERR_INPUT,
			       "this is no file of tokens as Hadoop writes it (hdfs fetchdt, hdfs "
			       "dtutil get): it does not begin with \"HDTS\"");
	struct writable from = {at + HEADER, length - HEADER};
	if (at[sizeof(magic)] == VERSION_WRITABLE)
		result = parse_writable(from, length, credentials, err);
	else if (at[sizeof(magic)] == VERSION_PROTOBUF)
		result = parse_protobuf(from, credentials, err);
	else
		return err_set(err, ERR_INPUT, "credentials: version %u; 0 and 1 are known",
			       at[sizeof(magic)]);
	if (result < 0) {
		credentials_finish(credentials);
		err_wrap(err, "credentials");
	}
	return result;
}

int credentials_read_file(const char *path, struct credentials *credentials, struct err *err)
{
	size_t length;
	char *bytes = fs_read_file(path, CREDENTIALS_CAP, &length, err);

	if (!bytes)
		return -1;
	int result = credentials_parse(bytes, length, credentials, err);
	explicit_bzero(bytes, length);
	free(bytes);
	return result < 0 ? err_wrap(err, "%s", path) : 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

void credentials_write(const struct credentials *credentials, struct str *out)
{
	str_append_bytes(out, magic, sizeof(magic));
	str_append_char(out, VERSION_WRITABLE);
	writable_put_number(out, (int64_t)credentials->token_count);
	for (size_t i = 0; i < credentials->token_count; i++) {
		const struct hadoop_token *token = &credentials->tokens[i].token;
		writable_put_text(out, credentials->tokens[i].alias);
		writable_put_bytes(out, token->identifier, token->identifier_length);
		writable_put_bytes(out, token->password, token->password_length);
		writable_put_text(out, token->kind);
		writable_put_text(out, token->service);
	}
	writable_put_number(out, (int64_t)credentials->secret_count);
	for (size_t i = 0; i < credentials->secret_count; i++) {
		const struct credentials_secret *entry = &credentials->secrets[i];
		writable_put_text(out, entry->alias);
		writable_put_bytes(out, entry->bytes, entry->length);
	}
}

int credentials_write_file(const struct credentials *credentials, const char *path, struct err *err)
{
	struct str bytes cleanup_str_secret = {0};

	credentials_write(credentials, &bytes);
	return fs_write_file(path, bytes.text, bytes.length, 0600, err);
}
