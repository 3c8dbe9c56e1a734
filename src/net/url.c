#include "net/url.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/address.h"
#include "net/http_url.h"

/* NameNodes name their DataNodes' URLs with blanks encoded, and letters beyond ASCII as they are.
 */
static char *encode_letters(const char *text)
{
	struct str encoded cleanup_str = {0};

	for (; *text; text++)
		if ((unsigned char)*text >= 0x80)
			str_append_format(&encoded, "%%%02X", (unsigned char)*text);
		else
			str_append_char(&encoded, *text);
	return str_steal(&encoded);
}

static bool is_graphic(const char *text)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return false;
	return str_is_utf8(text, strlen(text));
}

/* What stands behind "http://" or "https://". */
static const char *skip_scheme(const char *text, bool *is_tls)
{
	static const struct {
		const char *scheme;
		bool is_tls;
	} schemes[] = {{"http://", false}, {"https://", true}};

	for (size_t i = 0; i < array_length(schemes); i++)
		if (strncasecmp(text, schemes[i].scheme, strlen(schemes[i].scheme)) == 0) {
			*is_tls = schemes[i].is_tls;
			return text + strlen(schemes[i].scheme);
		}
	return NULL;
}

static int take_user(const char *text, size_t length, struct net_url *url, struct err *err)
{
	url->user = http_url_decode(text, length, false);
	if (!url->user)
		return err_set(err, ERR_INPUT, "its user or password is badly percent-encoded");
	return 0;
}

static int split_authority(const char *text, size_t length, struct net_url *url, struct err *err)
{
	const char *at = memrchr(text, '@', length);
	const char *start = at ? at + 1 : text;

	if (at && take_user(text, (size_t)(at - text), url, err) < 0)
		return -1;
	char *authority cleanup_free = mem_strndup(start, length - (size_t)(start - text));
	const char *colon = strrchr(authority, ':');
	const char *bracket = strrchr(authority, ']');
	int port;
	if (!colon || colon < bracket)
		mem_replace(&authority, mem_printf("%s:%d", authority, url->is_tls ? 443 : 80));
	if (net_address_split(authority, &url->host, &port, err) < 0)
		return -1;
	if (port == 0)
		return err_set(err, ERR_INPUT, "port 0 is none");
	url->address = mem_steal(&authority);
	return 0;
}

static int parse(const char *text, struct net_url *url, struct err *err)
{
	if (!is_graphic(text))
		return err_set(err, ERR_INPUT, "it has blanks or control characters in it");
	const char *authority = skip_scheme(text, &url->is_tls);
	if (!authority)
		return err_set(err, ERR_INPUT, "it starts with neither http:// nor https://");
	if (strchr(authority, '#'))
		return err_set(err, ERR_INPUT, "it has a fragment");
	size_t length = strcspn(authority, "/?");
	if (split_authority(authority, length, url, err) < 0)
		return -1;
	const char *rest = authority + length;
	char *target cleanup_free = encode_letters(rest);
	url->target = mem_printf("%s%s", *rest == '?' ? "/" : "", target);
	return 0;
}

int net_url_parse(const char *text, struct net_url *url, struct err *err)
{
	*url = (struct net_url){0};
	if (parse(text, url, err) == 0)
		return 0;
	net_url_finish(url);
	return -1;
}

void net_url_finish(struct net_url *url)
{
	free(url->user);
	free(url->host);
	free(url->address);
	free(url->target);
	*url = (struct net_url){0};
}

char *net_url_origin(const struct net_url *url)
{
	return mem_printf("http%s://%s", url->is_tls ? "s" : "", url->address);
}

char *net_url_masked(const char *text)
{
	const char *scheme = strstr(text, "://"), *at = strrchr(text, '@');
	const char *start = scheme && at > scheme ? scheme + strlen("://") : text;

	return at && memchr(text, ':', (size_t)(at - text))
		       ? mem_printf("%.*s***%s", (int)(start - text), text, at)
		       : mem_strdup(text);
}

bool net_url_is_https(const char *text)
{
	bool is_tls = false;

	return skip_scheme(text, &is_tls) && is_tls;
}
