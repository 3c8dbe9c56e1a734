#include "web/serve.h"

#include <string.h>

#include "base/str.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "web/access.h"
#include "web/assets.h"

/* The page and all it loads comes from here, and nobody frames it. */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
	"frame-ancestors 'none'";

/* Good enough for what browsers and their proxies send. */
static bool is_known(const struct http_request *request, const char *etag)
{
	const char *known = http_request_header(request, "If-None-Match");

	return known && strstr(known, etag);
}

/* Behind the name of a version. A page of another version is open while tony is upgraded, and gets
 * the files of today. */
static const char *find_name(const char *path)
{
	size_t length = strspn(path, "0123456789abcdef");

	return length == strlen(web_assets_version) && path[length] == '/' ? path + length + 1
									   : path;
}

/* A file below the name of this version never changes; a browser asks for others by their ETag each
 * time. */
static const char *find_caching(const char *path, const char *name)
{
	return name != path && str_starts_with(path, web_assets_version)
		       ? "max-age=31536000, immutable"
		       : "no-cache";
}

void web_serve(struct http_request *request, const char *path)
{
	const char *name = find_name(path);
	const struct web_asset *asset = web_asset_find(name);

	if (!asset) {
		http_answer_error(request, 404, "not-found", "there is no such path");
		return;
	}
	http_answer_header(request, "Cache-Control", find_caching(path, name));
	http_answer_header(request, "ETag", asset->etag);
	http_answer_header(request, "Vary", "Accept-Encoding");
	http_answer_header(request, "Content-Security-Policy", policy);
	http_answer_header(request, "Referrer-Policy", "no-referrer");
	bool small = http_request_takes_gzip(request);
	if (is_known(request, asset->etag)) {
		http_answer_bytes(request, 304, asset->content_type, NULL, 0);
		return;
	}
	if (small)
		http_answer_header(request, "Content-Encoding", "gzip");
	http_answer_bytes(request, 200, asset->content_type, small ? asset->gzip : asset->bytes,
			  small ? asset->gzip_length : asset->length);
}

static void append_escaped(struct str *page, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			str_append(page, "&amp;");
		else if (*text == '<')
			str_append(page, "&lt;");
		else
			str_append_char(page, *text);
	}
}

/* `body`: markup. */
static void answer_page(struct http_request *request, int status, const char *body, int retry_s)
{
	struct str page cleanup_str = {0};

	str_append(&page, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
	if (retry_s > 0)
		str_append_format(&page, "<meta http-equiv=\"refresh\" content=\"%d\">\n", retry_s);
	str_append_format(&page, "<title>tony</title>\n%s</html>\n", body);
	http_answer_header(request, "Content-Security-Policy",
			   "default-src 'none'; frame-ancestors 'none'");
	http_answer_header(request, "Referrer-Policy", "no-referrer");
	http_answer_bytes(request, status, "text/html; charset=utf-8", page.text, page.length);
}

static void append_paragraph(struct str *page, const char *text)
{
	str_append(page, "<p>");
	append_escaped(page, text);
	str_append(page, "</p>\n");
}

void web_answer_text(struct http_request *request, int status, const char *text, int retry_s)
{
	struct str body cleanup_str = {0};

	append_paragraph(&body, text);
	answer_page(request, status, str_text(&body), retry_s);
}

/* Relative: a proxy may have put a path before ours. */
bool web_answer_failure(struct http_request *request, int status, const char *message)
{
	const char *path = http_request_head(request)->target;
	struct str body cleanup_str = {0};

	if (!web_request_wants_page(request))
		return false;
	append_paragraph(&body, message);
	str_append(&body, "<p><a href=\"./");
	for (const char *c = path + 1; *c && *c != '?'; c++)
		if (*c == '/')
			str_append(&body, "../");
	str_append(&body, "\">To the dashboard</a></p>\n");
	answer_page(request, status, str_text(&body), 0);
	return true;
}
