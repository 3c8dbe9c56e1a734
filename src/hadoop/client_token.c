#include "hadoop/client_token.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/yarn.pb-c.h"

#define KEY_CAP 1024 /* bytes; Hadoop's have 8 */

char *client_token_identity(const Hadoop__TokenProto *token)
{
	return base64_encode(token->identifier.data, token->identifier.len);
}

char *client_token_password(const Hadoop__TokenProto *token)
{
	return base64_encode(token->password.data, token->password.len);
}

static char *find_user(const void *identifier, size_t length)
{
	Hadoop__ClientToAMTokenIdentifierProto *read =
		hadoop__client_to_amtoken_identifier_proto__unpack(NULL, length, identifier);
	const char *name = read ? read->client_name : NULL;
	size_t size = name ? strlen(name) : 0;
	char *user = NULL;

	if (size > 0 && size <= CLIENT_TOKEN_USER_CAP && str_is_utf8(name, size))
		user = mem_strdup(name);
	if (read)
		hadoop__client_to_amtoken_identifier_proto__free_unpacked(read, NULL);
	return user;
}

char *client_token_find(const ProtobufCBinaryData *key, const char *identity, char **user)
{
	unsigned char password[EVP_MAX_MD_SIZE];
	unsigned password_length = 0;
	size_t length;

	if (key->len == 0 || key->len > KEY_CAP)
		return NULL;
	void *identifier cleanup_free = base64_decode(identity, strlen(identity), &length);
	*user = identifier ? find_user(identifier, length) : NULL;
	if (!*user)
		return NULL;
	if (!HMAC(EVP_sha1(), key->data, (int)key->len, identifier, length, password,
		  &password_length))
		BUG("OpenSSL cannot make an HMAC");
	char *text = base64_encode(password, password_length);
	OPENSSL_cleanse(password, sizeof(password));
	return text;
}
