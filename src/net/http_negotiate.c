#include "net/http_negotiate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/http_message.h"

enum {
	COOKIE_CAP = 4096, /* bytes of a value, as browsers have it */
	SCHEME_CAP = 32,   /* of a name that a message repeats */
	SCHEMES_MAX = 4,
};

struct http_negotiator {
	const struct http_mechanism *mechanism;
	void *data;
	const char *remedy;
	struct map *cookies; /* "https://host:port" -> value */
};

struct http_negotiation {
	struct http_negotiator *negotiator;
	char *origin, *host;
	void *exchange; /* NULL: not begun */
	bool is_complete;
	bool has_cookie; /* the request on the wire has no token, and this */
	unsigned sent;	 /* tokens */
	struct str headers;
};

static void free_secret(void *text)
{
	mem_free_secret(text);
}

/* ---- challenges --------------------------------------------------------------------------- */

/* The length of the next element of a list: commas within quotes are none. */
static size_t element_length(const char *text)
{
	bool is_quoted = false;
	size_t length = 0;

	for (; text[length] && (is_quoted || text[length] != ','); length++) {
		if (text[length] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && text[length] == '\\' && text[length + 1])
			length++;
	}
	return length;
}

static int take_negotiate(struct http_challenge *challenge, const char *token, size_t length,
			  struct err *err)
{
	challenge->is_negotiate = true;
	if (length == 0)
		return 0;
	void *bytes = challenge->token ? NULL : base64_decode(token, length, &challenge->length);
	if (!bytes)
		return err_set(err, ERR_INPUT, "the server's Negotiate token is not in base64");
	challenge->token = bytes;
	return 0;
}

/* "Basic realm=\"x\"", "Negotiate YII=", or a parameter of the element before. */
static int take_element(struct http_challenge *challenge, const char *text, size_t length,
			struct err *err)
{
	size_t name = 0;

	while (name < length && (isalnum((unsigned char)text[name]) || strchr("-._", text[name])))
		name++;
	if (name == 0 || (name < length && text[name] != ' ' && text[name] != '\t'))
		return 0;
	char *scheme cleanup_free = mem_strndup(text, name < SCHEME_CAP ? name : SCHEME_CAP);
	while (name < length && strchr(" \t", text[name]))
		name++;
	if (strcasecmp(scheme, "Negotiate") == 0)
		return take_negotiate(challenge, text + name, length - name, err);
	/* "realm = x" is a parameter, too. */
	if (name < length && text[name] == '=')
		return 0;
	if (challenge->others.count < SCHEMES_MAX && !str_list_has(&challenge->others, scheme))
		str_list_add(&challenge->others, scheme);
	return 0;
}

static int take_challenges(struct http_challenge *challenge, const char *text, struct err *err)
{
	while (*text) {
		size_t length = element_length(text);
		size_t blank = strspn(text, " \t");
		size_t end = length;
		while (end > blank && strchr(" \t", text[end - 1]))
			end--;
		if (end > blank && take_element(challenge, text + blank, end - blank, err) < 0)
			return -1;
		text += length;
		text += *text == ',';
	}
	return 0;
}

int http_challenge_read(struct http_challenge *challenge, const struct http_head *head,
			struct err *err)
{
	for (size_t i = 0; i < head->header_count; i++)
		if (strcasecmp(head->headers[i].name, "WWW-Authenticate") == 0 &&
		    take_challenges(challenge, head->headers[i].value, err) < 0)
			return -1;
	return 0;
}

void http_challenge_finish(struct http_challenge *challenge)
{
	free(challenge->token);
	str_list_finish(&challenge->others);
	*challenge = (struct http_challenge){0};
}
#define cleanup_http_challenge __attribute__((cleanup(http_challenge_finish)))

/* ---- cookies ------------------------------------------------------------------------------ */

/* RFC 6265 lets a value be in quotes, which belong to it. */
static bool is_value(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f || strchr(",;\\", text[i]))
			return false;
	return length > 0 && length <= COOKIE_CAP;
}

bool http_cookie_read(const struct http_head *head, const char *name, char **value)
{
	size_t length = strlen(name);
	bool is_there = false;

	*value = NULL;
	for (size_t i = 0; i < head->header_count; i++) {
		const char *text = head->headers[i].value;
		if (strcasecmp(head->headers[i].name, "Set-Cookie") != 0 ||
		    strncmp(text, name, length) != 0 || text[length] != '=')
			continue;
		text += length + 1;
		size_t end = strcspn(text, ";");
		while (end > 0 && strchr(" \t", text[end - 1]))
			end--;
		bool is_empty = end == 2 && strncmp(text, "\"\"", 2) == 0;
		is_there = true;
		mem_free_secret(*value);
		*value = is_value(text, end) && !is_empty ? mem_strndup(text, end) : NULL;
	}
	return is_there;
}

static void keep_cookie(struct http_negotiation *negotiation, const struct http_head *head)
{
	const struct http_negotiator *negotiator = negotiation->negotiator;
	char *value;

	if (!http_cookie_read(head, negotiator->mechanism->cookie, &value))
		return;
	if (value)
		map_set(negotiator->cookies, negotiation->origin, value);
	else
		map_remove(negotiator->cookies, negotiation->origin);
}

/* ---- all calls ---------------------------------------------------------------------------- */

struct http_negotiator *http_negotiator_create(const struct http_mechanism *mechanism, void *data,
					       const char *remedy)
{
	struct http_negotiator *negotiator = mem_alloc(sizeof(*negotiator));

	*negotiator = (struct http_negotiator){mechanism, data, remedy, map_create(free_secret)};
	return negotiator;
}

void http_negotiator_destroy(struct http_negotiator *negotiator)
{
	if (!negotiator)
		return;
	if (negotiator->mechanism->forget)
		negotiator->mechanism->forget(negotiator->data);
	map_destroy(negotiator->cookies);
	free(negotiator);
}

/* ---- one call ----------------------------------------------------------------------------- */

static void forget_headers(struct http_negotiation *negotiation)
{
	if (negotiation->headers.text)
		explicit_bzero(negotiation->headers.text, negotiation->headers.length);
	str_truncate(&negotiation->headers, 0);
}

struct http_negotiation *http_negotiation_create(struct http_negotiator *negotiator,
						 const char *address, const char *host, bool is_tls)
{
	struct http_negotiation *negotiation = mem_alloc(sizeof(*negotiation));

	negotiation->negotiator = negotiator;
	negotiation->origin = mem_printf("http%s://%s", is_tls ? "s" : "", address);
	negotiation->host = mem_strdup(host);
	const char *cookie = map_get(negotiator->cookies, negotiation->origin);
	negotiation->has_cookie = cookie;
	if (cookie)
		str_append_format(&negotiation->headers, "Cookie: %s=%s\r\n",
				  negotiator->mechanism->cookie, cookie);
	return negotiation;
}

void http_negotiation_destroy(struct http_negotiation *negotiation)
{
	if (!negotiation)
		return;
	if (negotiation->exchange)
		negotiation->negotiator->mechanism->end(negotiation->exchange);
	forget_headers(negotiation);
	str_finish(&negotiation->headers);
	free(negotiation->origin);
	free(negotiation->host);
	free(negotiation);
}

const char *http_negotiation_headers(const struct http_negotiation *negotiation)
{
	return str_text(&negotiation->headers);
}

static int step(struct http_negotiation *negotiation, const struct http_challenge *challenge,
		struct str *token, struct err *err)
{
	const struct http_negotiator *negotiator = negotiation->negotiator;

	if (!negotiation->exchange)
		negotiation->exchange =
			negotiator->mechanism->begin(negotiator->data, negotiation->host, err);
	if (!negotiation->exchange)
		return -1;
	return negotiator->mechanism->step(negotiation->exchange, challenge->token,
					   challenge->length, token, &negotiation->is_complete,
					   err);
}

static int err_offers(const struct http_negotiation *negotiation,
		      const struct http_challenge *challenge, struct err *err)
{
	const struct http_mechanism *mechanism = negotiation->negotiator->mechanism;
	char *others cleanup_free = str_list_join(&challenge->others, ", ");

	return err_set(err, ERR_DENIED, "the server offers %s, and not Negotiate (%s); %s",
		       *others ? others : "no way to log in", mechanism->name,
		       negotiation->negotiator->remedy);
}

/* The server asks for a token, the first or the next. */
static int answer(struct http_negotiation *negotiation, const struct http_challenge *challenge,
		  struct err *err)
{
	struct str token cleanup_str_secret = {0};

	if (!challenge->is_negotiate)
		return err_offers(negotiation, challenge, err);
	/* It had one, and begins anew. */
	if (negotiation->is_complete || negotiation->sent == HTTP_NEGOTIATE_TOKENS ||
	    (negotiation->sent > 0 && !challenge->token))
		return err_set(err, ERR_DENIED, "the server does not take the proof (%s)",
			       negotiation->negotiator->mechanism->name);
	/* At the beginning there is nothing to take. */
	const struct http_challenge first = {0};
	if (step(negotiation, negotiation->sent > 0 ? challenge : &first, &token, err) < 0)
		return -1;
	if (token.length == 0)
		return err_set(err, ERR_DENIED, "the server does not take the proof (%s)",
			       negotiation->negotiator->mechanism->name);
	char *text = base64_encode(token.text, token.length);
	str_append_format(&negotiation->headers, "Authorization: Negotiate %s\r\n", text);
	mem_free_secret(text);
	negotiation->sent++;
	return 0;
}

/* Anybody can say that something has failed. */
static bool is_failure(int status)
{
	return status >= 400 && status != 404 && status != 410;
}

/* The server has answered a request with a token, or without one. */
static int check(struct http_negotiation *negotiation, const struct http_head *head,
		 const struct http_challenge *challenge, struct err *err)
{
	const struct http_mechanism *mechanism = negotiation->negotiator->mechanism;
	struct str token cleanup_str = {0};

	if (!challenge->token && is_failure(head->status))
		return 0;
	if (negotiation->sent == 0)
		return err_set(err, ERR_DENIED, "the server does not ask for a proof (%s); %s",
			       mechanism->name, negotiation->negotiator->remedy);
	if (!challenge->token)
		return err_set(err, ERR_DENIED, "the server does not prove who it is (%s)",
			       mechanism->name);
	if (!negotiation->is_complete && step(negotiation, challenge, &token, err) < 0)
		return err_wrap(err, "the server does not prove who it is");
	if (!negotiation->is_complete || token.length > 0)
		return err_set(err, ERR_DENIED,
			       "the server answers before it has proved who it is (%s)",
			       mechanism->name);
	keep_cookie(negotiation, head);
	return 0;
}

int http_negotiation_take(struct http_negotiation *negotiation, const struct http_head *head,
			  bool *again, struct err *err)
{
	struct http_challenge challenge cleanup_http_challenge = {0};
	bool has_cookie = negotiation->has_cookie;

	*again = head->status == 401;
	forget_headers(negotiation);
	negotiation->has_cookie = false;
	if (has_cookie && *again)
		map_remove(negotiation->negotiator->cookies, negotiation->origin);
	if (has_cookie && !*again) {
		keep_cookie(negotiation, head);
		return 0;
	}
	if (http_challenge_read(&challenge, head, err) < 0)
		return -1;
	return *again ? answer(negotiation, &challenge, err)
		      : check(negotiation, head, &challenge, err);
}
