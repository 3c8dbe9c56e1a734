/* URLs as they come from a cluster's configuration and from its NameNodes. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/webhdfs.h"
#include "net/address.h"

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

static int split_authority(const char *text, size_t length, struct webhdfs_url *url,
			   struct err *err)
{
	char *authority cleanup_free = mem_strndup(text, length);
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

static int parse(const char *text, struct webhdfs_url *url, struct err *err)
{
	if (!is_graphic(text))
		return err_set(err, ERR_INPUT, "it has blanks or control characters in it");
	const char *authority = skip_scheme(text, &url->is_tls);
	if (!authority)
		return err_set(err, ERR_INPUT, "it starts with neither http:// nor https://");
	if (strchr(authority, '#'))
		return err_set(err, ERR_INPUT, "it has a fragment");
	size_t length = strcspn(authority, "/?");
	if (memchr(authority, '@', length))
		return err_set(err, ERR_INPUT, "it has a user or password in it");
	if (split_authority(authority, length, url, err) < 0)
		return -1;
	const char *rest = authority + length;
	char *target cleanup_free = encode_letters(rest);
	url->target = mem_printf("%s%s", *rest == '?' ? "/" : "", target);
	return 0;
}

int webhdfs_url_parse(const char *text, struct webhdfs_url *url, struct err *err)
{
	*url = (struct webhdfs_url){0};
	if (parse(text, url, err) == 0)
		return 0;
	/* There may be a token in the query. */
	char *shown cleanup_free = str_printable(text, strcspn(text, "?"));
	webhdfs_url_finish(url);
	return err_wrap(err, "\"%s\" is not a URL such as http://namenode:9870", shown);
}

void webhdfs_url_finish(struct webhdfs_url *url)
{
	free(url->host);
	free(url->address);
	free(url->target);
	*url = (struct webhdfs_url){0};
}

int webhdfs_location_parse(const struct webhdfs_question *question, const char *location,
			   struct webhdfs_url *url, struct err *err)
{
	bool was_tls;

	skip_scheme(question->server, &was_tls);
	if (webhdfs_url_parse(location, url, err) < 0)
		return err_wrap(err, "%s: %s %s: the place of the content", question->server,
				webhdfs_op_name(question->op), question->path);
	if (!was_tls || url->is_tls)
		return 0;
	/* The URL carries a token, and the content would travel in the open. */
	err_set(err, ERR_INPUT,
		"%s: %s %s: leads from https to http://%s; set dfs.http.policy to HTTPS_ONLY for "
		"NameNodes and DataNodes alike",
		question->server, webhdfs_op_name(question->op), question->path, url->address);
	webhdfs_url_finish(url);
	return -1;
}

int webhdfs_err_data_node(const struct webhdfs_question *question, const struct webhdfs_url *url,
			  const char *why, struct err *err)
{
	return err_set(err, ERR_UNREACHABLE,
		       "%s: %s %s: DataNode %s cannot be reached from this machine: %s; content "
		       "goes straight to the DataNodes, so their names must resolve here and their "
		       "HTTP port be open; or set tony.hdfs.httpfs to an HttpFS gateway",
		       question->server, webhdfs_op_name(question->op), question->path,
		       url->address, why);
}
