#include "store/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SERVICE	  "s3"

enum { DIGEST_LENGTH = 32, DAY_LENGTH = 8 };

static char *hex(const unsigned char *bytes)
{
	struct str text = {0};

	for (size_t i = 0; i < DIGEST_LENGTH; i++)
		str_append_format(&text, "%02x", bytes[i]);
	return str_steal(&text);
}

char *sigv4_hash(const void *bytes, size_t length)
{
	unsigned char digest[EVP_MAX_MD_SIZE];

	if (!EVP_Digest(bytes, length, digest, NULL, EVP_sha256(), NULL))
		BUG("no SHA-256");
	return hex(digest);
}

char *sigv4_time(int64_t now_ms)
{
	time_t seconds = (time_t)(now_ms / 1000);
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
	return mem_strdup(text);
}

/* ---- the request ----------------------------------------------------------------------------- */

/* Sorted, and each member with its "=". */
static void append_query(struct str *text, const char *query)
{
	struct str_list members cleanup_str_list = {0};

	str_split(&members, query, '&');
	str_list_sort(&members);
	for (size_t i = 0; i < members.count; i++)
		str_append_format(text, "%s%s%s", i > 0 ? "&" : "", members.items[i],
				  strchr(members.items[i], '=') ? "" : "=");
}

static char *signed_headers(const struct sigv4_request *request)
{
	struct str names = {0};

	for (size_t i = 0; i < request->header_count; i++)
		str_append_format(&names, "%s%s", i > 0 ? ";" : "", request->headers[i].name);
	return str_steal(&names);
}

/* The hash of the canonical request. */
static char *hash_request(const struct sigv4_request *request, const char *names)
{
	struct str text cleanup_str = {0};

	str_append_format(&text, "%s\n%s\n", request->method, request->path);
	append_query(&text, request->query);
	str_append(&text, "\n");
	for (size_t i = 0; i < request->header_count; i++)
		str_append_format(&text, "%s:%s\n", request->headers[i].name,
				  request->headers[i].value);
	str_append_format(&text, "\n%s\n%s", names, request->payload);
	return sigv4_hash(text.text, text.length);
}

/* ---- the signature --------------------------------------------------------------------------- */

/* `key` is replaced by what it makes of `text`. */
static void chain(unsigned char *key, size_t length, const char *text)
{
	unsigned char made[DIGEST_LENGTH];

	if (!HMAC(EVP_sha256(), key, (int)length, (const unsigned char *)text, strlen(text), made,
		  NULL))
		BUG("no HMAC");
	memcpy(key, made, sizeof(made));
}

static char *sign(const struct sigv4_key *key, const char *day, const char *text)
{
	char *secret cleanup_secret = mem_printf("AWS4%s", key->secret);
	size_t length = strlen(secret);
	unsigned char *chained cleanup_free = mem_alloc(length + DIGEST_LENGTH);

	memcpy(chained, secret, length + 1);
	chain(chained, length, day);
	chain(chained, DIGEST_LENGTH, key->region);
	chain(chained, DIGEST_LENGTH, SERVICE);
	chain(chained, DIGEST_LENGTH, "aws4_request");
	chain(chained, DIGEST_LENGTH, text);
	return hex(chained);
}

char *sigv4_authorization(const struct sigv4_key *key, const struct sigv4_request *request,
			  int64_t now_ms)
{
	char *time cleanup_free = sigv4_time(now_ms);
	char *day cleanup_free = mem_strndup(time, DAY_LENGTH);
	char *scope cleanup_free = mem_printf("%s/%s/" SERVICE "/aws4_request", day, key->region);
	char *names cleanup_free = signed_headers(request);
	char *hash cleanup_free = hash_request(request, names);
	char *text cleanup_free = mem_printf(ALGORITHM "\n%s\n%s\n%s", time, scope, hash);
	char *signature cleanup_free = sign(key, day, text);

	return mem_printf(ALGORITHM " Credential=%s/%s,SignedHeaders=%s,Signature=%s", key->id,
			  scope, names, signature);
}
