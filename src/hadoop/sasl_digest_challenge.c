#include "hadoop/sasl_digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- a list of name=value, RFC 2831, 7.1 -------------------------------------------------- */

struct directives {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct directives *from)
{
	while (from->at < from->end && is_blank(*from->at))
		from->at++;
}

/* Up to a separator. */
static bool take_word(struct directives *from, struct str *word)
{
	const char *first = from->at;

	while (from->at<from->end && * from->at> ' ' && !strchr("=,\"\\\x7f", *from->at))
		from->at++;
	str_append_bytes(word, first, (size_t)(from->at - first));
	return from->at > first;
}

/* From a quote to the next one that has no backslash before it. */
static bool take_quoted(struct directives *from, struct str *value)
{
	for (from->at++; from->at < from->end && *from->at != '\"'; from->at++) {
		if (*from->at == '\\' && ++from->at == from->end)
			return false;
		if (*from->at == '\0')
			return false;
		str_append_char(value, *from->at);
	}
	return from->at++ < from->end;
}

/* 1: the next one; 0: there is none; -1: that is no list. Names come without blanks, values without
 * quotes. */
static int take_directive(struct directives *from, struct str *name, struct str *value)
{
	str_truncate(name, 0);
	str_truncate(value, 0);
	while (from->at < from->end && (is_blank(*from->at) || *from->at == ','))
		from->at++;
	if (from->at == from->end)
		return 0;
	if (!take_word(from, name))
		return -1;
	skip_blanks(from);
	if (from->at == from->end || *from->at++ != '=')
		return -1;
	skip_blanks(from);
	if (from->at == from->end)
		return -1;
	if (!(*from->at == '\"' ? take_quoted(from, value) : take_word(from, value)))
		return -1;
	skip_blanks(from);
	return from->at == from->end || *from->at == ',' ? 1 : -1;
}

/* ---- what is in a challenge --------------------------------------------------------------- */

static int take_realm(struct digest_challenge *challenge, const char *value)
{
	if (!challenge->realm)
		challenge->realm = mem_strdup(value);
	return 0;
}

static int take_nonce(struct digest_challenge *challenge, const char *value)
{
	challenge->nonce = mem_strdup(value);
	return *value ? 0 : -1;
}

struct name {
	const char *text;
	unsigned bit;
};

/* Those of a list that are known. */
static unsigned known(const char *value, const struct name *names, size_t count)
{
	struct str_list list cleanup_str_list = {0};
	unsigned found = 0;

	str_split(&list, value, ',');
	for (size_t i = 0; i < list.count; i++) {
		for (size_t k = 0; k < count; k++) {
			if (str_equal_nocase(list.items[i], names[k].text))
				found |= names[k].bit;
		}
	}
	return found;
}

static int take_protections(struct digest_challenge *challenge, const char *value)
{
	static const struct name names[] = {
		{"auth", SASL_AUTH}, {"auth-int", SASL_INTEGRITY}, {"auth-conf", SASL_PRIVACY}};

	challenge->protections = known(value, names, array_length(names));
	return 0;
}

/* DES and RC4 with keys of 40 and 56 bits, which Java offers too, hide nothing from anybody. */
static int take_ciphers(struct digest_challenge *challenge, const char *value)
{
	static const struct name names[] = {{"3des", DIGEST_3DES}, {"rc4", DIGEST_RC4}};

	challenge->ciphers = known(value, names, array_length(names));
	return 0;
}

static int take_buffer(struct digest_challenge *challenge, const char *value)
{
	int64_t bytes;

	if (str_parse_int(value, DIGEST_OVERHEAD + 1, (1 << 24) - 1, &bytes) < 0)
		return -1;
	challenge->buffer = (size_t)bytes;
	return 0;
}

static int take_charset(struct digest_challenge *challenge, const char *value)
{
	challenge->utf8 = str_equal_nocase(value, "utf-8");
	return challenge->utf8 ? 0 : -1;
}

static int take_algorithm(struct digest_challenge *challenge, const char *value)
{
	return str_equal_nocase(value, "md5-sess") ? 0 : -1;
}

enum { NONCE = 1, ALGORITHM = 2, ONCE = 4, MANY = 0 };

static const struct {
	const char *name;
	unsigned bit; /* it may come once only; MANY: as often as it likes */
	int (*take)(struct digest_challenge *challenge, const char *value);
} directives[] = {
	{"nonce", NONCE, take_nonce},	      {"algorithm", ALGORITHM, take_algorithm},
	{"realm", MANY, take_realm},	      {"qop", ONCE, take_protections},
	{"cipher", ONCE << 1, take_ciphers},  {"maxbuf", ONCE << 2, take_buffer},
	{"charset", ONCE << 3, take_charset},
};

/* A directive that is not known is ignored, as the RFC wants it. */
static int take(struct digest_challenge *challenge, const char *name, const char *value,
		unsigned *seen, struct err *err)
{
	for (size_t i = 0; i < array_length(directives); i++) {
		if (!str_equal_nocase(name, directives[i].name))
			continue;
		if (*seen & directives[i].bit)
			return err_set(err, ERR_INPUT, "DIGEST-MD5 challenge: %s is there twice",
				       directives[i].name);
		*seen |= directives[i].bit;
		if (directives[i].take(challenge, value) < 0) {
			char *text cleanup_free = str_printable(value, strlen(value));
			return err_set(err, ERR_INPUT, "DIGEST-MD5 challenge: %s=\"%s\": not known",
				       directives[i].name, text);
		}
	}
	return 0;
}

static int malformed(struct err *err)
{
	return err_set(err, ERR_INPUT, "DIGEST-MD5 challenge: it is not a list of name=value");
}

int digest_challenge_parse(const void *bytes, size_t length, struct digest_challenge *challenge,
			   struct err *err)
{
	struct directives from = {bytes, (const char *)bytes + length};
	struct str name cleanup_str = {0}, value cleanup_str = {0};
	unsigned seen = 0;
	int more;

	if (length > DIGEST_CHALLENGE_CAP)
		return err_set(err, ERR_INPUT, "DIGEST-MD5 challenge: %zu bytes; at most %d",
			       length, DIGEST_CHALLENGE_CAP);
	challenge->protections = SASL_AUTH;
	challenge->buffer = DIGEST_BUFFER_CAP;
	while ((more = take_directive(&from, &name, &value)) > 0) {
		if (take(challenge, str_text(&name), str_text(&value), &seen, err) < 0)
			return -1;
	}
	if (more < 0)
		return malformed(err);
	if (!(seen & NONCE) || !(seen & ALGORITHM))
		return err_set(err, ERR_INPUT, "DIGEST-MD5 challenge: there is no %s",
			       seen & NONCE ? "algorithm" : "nonce");
	return 0;
}

char *digest_proof_parse(const void *bytes, size_t length, struct err *err)
{
	struct directives from = {bytes, (const char *)bytes + length};
	struct str name cleanup_str = {0}, value cleanup_str = {0};
	char *proof cleanup_free = NULL;
	int more = -1;

	while (length <= DIGEST_CHALLENGE_CAP &&
	       (more = take_directive(&from, &name, &value)) > 0) {
		if (str_equal_nocase(str_text(&name), "rspauth"))
			mem_replace(&proof, mem_strdup(str_text(&value)));
	}
	if (more < 0)
		malformed(err);
	else if (!proof)
		err_set(err, ERR_INPUT, "DIGEST-MD5: the server gives no proof that it knows us");
	return more < 0 ? NULL : mem_steal(&proof);
}

void digest_challenge_finish(struct digest_challenge *challenge)
{
	free(challenge->nonce);
	free(challenge->realm);
	*challenge = (struct digest_challenge){0};
}
