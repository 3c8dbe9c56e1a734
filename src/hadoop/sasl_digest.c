#include "hadoop/sasl_digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/random.h"
#include "hadoop/token.h"

struct digest {
	struct sasl base;
	char *user, *password, *uri, *cnonce;
	unsigned wanted; /* protections that will do */
	enum { WANT_CHALLENGE, WANT_PROOF, DONE, FAILED } state;
	unsigned protection; /* the one that was taken */
	enum digest_cipher cipher;
	size_t wrap_cap;
	unsigned char secret[MD5_LENGTH]; /* H(A1) */
	char expected[MD5_HEX_SIZE];	  /* the server's proof */
	struct digest_layer layer;
};

static struct digest *digest_of(struct sasl *sasl)
{
	return (struct digest *)sasl;
}

/* ---- hashes: RFC 2831, 2.1.2.1 ------------------------------------------------------------ */

/* Of the texts, up to NULL, with a colon between each two. */
static void hash_joined(unsigned char digest[MD5_LENGTH], const void *prefix, size_t prefix_length,
			const char *const *texts)
{
	struct md5 md5;

	md5_start(&md5);
	md5_update(&md5, prefix, prefix_length);
	for (size_t i = 0; texts[i]; i++) {
		if (i > 0 || prefix_length > 0)
			md5_update(&md5, ":", 1);
		md5_update(&md5, texts[i], strlen(texts[i]));
	}
	md5_finish(&md5, digest);
}

static void make_secret(struct digest *digest, const struct digest_challenge *challenge)
{
	const char *const who[] = {digest->user, challenge->realm ? challenge->realm : "",
				   digest->password, NULL};
	const char *const session[] = {challenge->nonce, digest->cnonce, NULL};
	unsigned char inner[MD5_LENGTH];

	hash_joined(inner, NULL, 0, who);
	hash_joined(digest->secret, inner, sizeof(inner), session);
	explicit_bzero(inner, sizeof(inner));
}

static const char *protection_name(unsigned protection)
{
	return protection == SASL_PRIVACY     ? "auth-conf"
	       : protection == SASL_INTEGRITY ? "auth-int"
					      : "auth";
}

/* `verb`: "AUTHENTICATE" for our proof, "" for the server's. */
static void make_proof(const struct digest *digest, const char *nonce, const char *verb,
		       char proof[MD5_HEX_SIZE])
{
	static const char no_body[] = "00000000000000000000000000000000";
	const char *const what[] = {verb, digest->uri,
				    digest->protection == SASL_AUTH ? NULL : no_body, NULL};
	unsigned char sum[MD5_LENGTH];
	char secret[MD5_HEX_SIZE], what_hex[MD5_HEX_SIZE];

	md5_hex(digest->secret, secret);
	hash_joined(sum, NULL, 0, what);
	md5_hex(sum, what_hex);
	const char *const all[] = {
		secret,	  nonce, "00000001", digest->cnonce, protection_name(digest->protection),
		what_hex, NULL};
	hash_joined(sum, NULL, 0, all);
	md5_hex(sum, proof);
	explicit_bzero(secret, sizeof(secret));
}

/* ---- the exchange ------------------------------------------------------------------------- */

/* The strongest that both sides want; privacy takes a cipher that both sides have. */
static int choose(struct digest *digest, const struct digest_challenge *challenge, struct err *err)
{
	unsigned both = digest->wanted & challenge->protections;

	if (!challenge->ciphers)
		both &= ~(unsigned)SASL_PRIVACY;
	if (!both && digest->wanted & challenge->protections)
		return err_set(
			err, ERR_DENIED,
			"DIGEST-MD5: the server has neither 3des nor rc4 to hide what is said; "
			"set hadoop.rpc.protection to integrity on both sides");
	if (!both)
		return err_set(err, ERR_DENIED,
			       "DIGEST-MD5: the server does not offer the protection of the "
			       "connection that is wanted here; set hadoop.rpc.protection as it is "
			       "set on the server");
	digest->protection = both & SASL_PRIVACY     ? SASL_PRIVACY
			     : both & SASL_INTEGRITY ? SASL_INTEGRITY
						     : SASL_AUTH;
	if (digest->protection == SASL_PRIVACY)
		digest->cipher = challenge->ciphers & DIGEST_3DES ? DIGEST_3DES : DIGEST_RC4;
	digest->wrap_cap = challenge->buffer - DIGEST_OVERHEAD;
	return 0;
}

static void put_quoted(struct str *out, const char *name, const char *value)
{
	str_append_format(out, ",%s=\"", name);
	for (; *value; value++) {
		if (*value == '\"' || *value == '\\')
			str_append_char(out, '\\');
		str_append_char(out, *value);
	}
	str_append_char(out, '\"');
}

static int answer(struct digest *digest, const void *bytes, size_t length, struct str *response,
		  struct err *err)
{
	struct digest_challenge challenge cleanup_digest_challenge = {0};
	char proof[MD5_HEX_SIZE];

	if (digest_challenge_parse(bytes, length, &challenge, err) < 0 ||
	    choose(digest, &challenge, err) < 0)
		return -1;
	make_secret(digest, &challenge);
	make_proof(digest, challenge.nonce, "AUTHENTICATE", proof);
	make_proof(digest, challenge.nonce, "", digest->expected);
	str_append_format(response, "nc=00000001,maxbuf=%d,response=%s,qop=%s", DIGEST_BUFFER_CAP,
			  proof, protection_name(digest->protection));
	if (challenge.utf8)
		str_append(response, ",charset=utf-8");
	if (digest->cipher)
		str_append_format(response, ",cipher=%s",
				  digest->cipher == DIGEST_3DES ? "3des" : "rc4");
	put_quoted(response, "username", digest->user);
	if (challenge.realm)
		put_quoted(response, "realm", challenge.realm);
	put_quoted(response, "nonce", challenge.nonce);
	put_quoted(response, "cnonce", digest->cnonce);
	put_quoted(response, "digest-uri", digest->uri);
	return 0;
}

static int check_proof(struct digest *digest, const void *bytes, size_t length, struct err *err)
{
	char *proof cleanup_free = digest_proof_parse(bytes, length, err);

	if (!proof)
		return -1;
	if (strcmp(proof, digest->expected) != 0)
		return err_set(
			err, ERR_DENIED,
			"DIGEST-MD5: the server does not know our token's password: it is not "
			"the one that the token is for");
	if (digest->protection != SASL_AUTH)
		digest_layer_start(&digest->layer, digest->secret, digest->cipher);
	return 0;
}

static int step(struct sasl *sasl, const void *challenge, size_t length, struct str *response,
		bool *complete, struct err *err)
{
	struct digest *digest = digest_of(sasl);
	int result = -1;

	*complete = false;
	if (digest->state == WANT_CHALLENGE) {
		result = answer(digest, challenge, length, response, err);
		digest->state = WANT_PROOF;
	} else if (digest->state == WANT_PROOF) {
		result = check_proof(digest, challenge, length, err);
		digest->state = DONE;
		*complete = result == 0;
	} else {
		err_set(err, ERR_INPUT, "DIGEST-MD5: the server has more to say after its proof");
	}
	if (result < 0)
		digest->state = FAILED;
	return result;
}

/* ---- afterwards --------------------------------------------------------------------------- */

static void check_done(const struct digest *digest)
{
	if (digest->state != DONE)
		BUG("SASL is not complete");
}

static unsigned protection(const struct sasl *sasl)
{
	const struct digest *digest = (const struct digest *)sasl;

	check_done(digest);
	return digest->protection;
}

static size_t wrap_cap(const struct sasl *sasl)
{
	return ((const struct digest *)sasl)->wrap_cap;
}

static int wrap(struct sasl *sasl, const void *bytes, size_t length, struct str *out,
		struct err *err)
{
	struct digest *digest = digest_of(sasl);

	check_done(digest);
	if (digest->protection == SASL_AUTH || length > digest->wrap_cap)
		BUG("%zu bytes are to be wrapped in %s, of at most %zu", length,
		    protection_name(digest->protection), digest->wrap_cap);
	digest_layer_wrap(&digest->layer, bytes, length, out);
	return 0;
}

static int unwrap(struct sasl *sasl, const void *token, size_t length, struct str *out,
		  struct err *err)
{
	struct digest *digest = digest_of(sasl);

	check_done(digest);
	if (digest->protection == SASL_AUTH)
		return err_set(
			err, ERR_INPUT,
			"DIGEST-MD5: a protected message, where no protection was agreed on");
	return digest_layer_unwrap(&digest->layer, token, length, out, err);
}

static void destroy(struct sasl *sasl)
{
	struct digest *digest = digest_of(sasl);

	explicit_bzero(digest->password, strlen(digest->password));
	free(digest->user);
	free(digest->password);
	free(digest->uri);
	free(digest->cnonce);
	explicit_bzero(digest, sizeof(*digest));
	free(digest);
}

/* ---- making one --------------------------------------------------------------------------- */

struct sasl *sasl_digest_create(const char *user, const char *password, const char *uri,
				unsigned protections, const char *cnonce)
{
	struct digest *digest = mem_alloc(sizeof(*digest));

	*digest = (struct digest){
		.base = {&sasl_digest_token},
		.user = mem_strdup(user),
		.password = mem_strdup(password),
		.uri = mem_strdup(uri),
		.cnonce = mem_strdup(cnonce),
		.wanted = protections,
	};
	return &digest->base;
}

/* The identifier is the user's name and the password the password, both in base64. Nobody looks at
 * the service's name, which is of the two parts that the server gave. */
static struct sasl *create(const struct sasl_identity *identity, unsigned protections,
			   struct err *err)
{
	const struct hadoop_token *token = identity->token;
	unsigned char random[18];

	if (!token) {
		err_set(err, ERR_DENIED, "it wants a token, and there is none");
		return NULL;
	}
	random_bytes(random, sizeof(random));
	char *cnonce cleanup_free = base64_encode(random, sizeof(random));
	char *user cleanup_free = base64_encode(token->identifier, token->identifier_length);
	char *password cleanup_free = base64_encode(token->password, token->password_length);
	char *uri cleanup_free = mem_printf("%s/%s", identity->protocol, identity->server_id);
	struct sasl *sasl = sasl_digest_create(user, password, uri, protections, cnonce);
	explicit_bzero(password, strlen(password));
	return sasl;
}

const struct sasl_mechanism sasl_digest_token = {
	.method = "TOKEN",
	.name = "DIGEST-MD5",
	.create = create,
	.step = step,
	.protection = protection,
	.wrap_cap = wrap_cap,
	.wrap = wrap,
	.unwrap = unwrap,
	.destroy = destroy,
};
