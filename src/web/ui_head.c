#include "web/ui_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "web/cookie.h"

static const char own_cookies[] = "tony-";

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcasecmp(name, *names) == 0)
			return true;
	return false;
}

/* RFC 9110, 7.6.1: of one connection only, by name or because Connection names them. */
static bool is_hop_by_hop(const char *name, const char *connection)
{
	static const char *const names[] = {"Connection",
					    "Keep-Alive",
					    "Proxy-Authenticate",
					    "Proxy-Authorization",
					    "Proxy-Connection",
					    "TE",
					    "Upgrade",
					    NULL};
	/* How the body is framed, and whom it is for, is passed on as it is. */
	static const char *const passed[] = {"Transfer-Encoding", "Content-Length", "Host", NULL};
	struct str_list named cleanup_str_list = {0};

	if (is_one_of(name, names))
		return true;
	if (!connection || is_one_of(name, passed))
		return false;
	str_split(&named, connection, ',');
	for (size_t i = 0; i < named.count; i++)
		if (strcasecmp(named.items[i], name) == 0)
			return true;
	return false;
}

bool ui_wants_upgrade(const struct http_head *question)
{
	const char *connection = http_head_find(question, "Connection");
	struct str_list words cleanup_str_list = {0};

	str_split(&words, connection ? connection : "", ',');
	for (size_t i = 0; i < words.count; i++)
		if (strcasecmp(words.items[i], "upgrade") == 0)
			return http_head_find(question, "Upgrade") != NULL;
	return false;
}

/* ---- to the program ----------------------------------------------------------------------- */

static void add_cookie(struct str *head, const char *cookies)
{
	char *left cleanup_free = web_cookie_without(cookies, own_cookies);

	if (left)
		str_append_format(head, "Cookie: %s\r\n", left);
}

static void add_header(struct str *head, const struct http_head *question,
		       const struct http_header *header, bool shows_token,
		       const struct ui_place *place)
{
	/* Said anew below, or already (100 Continue). */
	static const char *const ours[] = {"Expect",
					   "Forwarded",
					   "X-Forwarded-For",
					   "X-Forwarded-Host",
					   "X-Forwarded-Prefix",
					   UI_ORDERER_HEADER,
					   NULL};

	if (is_hop_by_hop(header->name, http_head_find(question, "Connection")) ||
	    is_one_of(header->name, ours))
		return;
	if (strcasecmp(header->name, "Authorization") == 0 && (shows_token || place->token))
		return;
	if (strcasecmp(header->name, "Cookie") == 0)
		add_cookie(head, header->value);
	else
		str_append_format(head, "%s: %s\r\n", header->name, header->value);
}

static void add_forwarded(struct str *head, const struct http_head *question, const char *peer,
			  const struct ui_place *place)
{
	const char *host = http_head_find(question, "Host");

	str_append_format(head, "X-Forwarded-For: %s\r\n", peer);
	if (!http_head_find(question, "X-Forwarded-Proto"))
		str_append(head, "X-Forwarded-Proto: http\r\n");
	if (host)
		str_append_format(head, "X-Forwarded-Host: %s\r\n", host);
	str_append_format(head, "X-Forwarded-Prefix: %s\r\n", place->prefix);
	if (place->token)
		str_append_format(head, "Authorization: Bearer %s\r\n", place->token);
	if (place->orderer)
		str_append_format(head, UI_ORDERER_HEADER ": %s\r\n", place->orderer);
}

void ui_head_of_question(struct str *head, const struct http_head *question, const char *peer,
			 bool shows_token, const struct ui_place *place)
{
	const char *path = question->target + (place->keep_path ? 0 : strlen(place->prefix));

	str_append_format(head, "%s %s%s HTTP/1.%d\r\n", question->method,
			  place->base ? place->base : "", path, question->minor_version);
	for (size_t i = 0; i < question->header_count; i++)
		add_header(head, question, &question->headers[i], shows_token, place);
	add_forwarded(head, question, peer, place);
	if (ui_wants_upgrade(question))
		str_append_format(head, "Connection: Upgrade\r\nUpgrade: %s\r\n\r\n",
				  http_head_find(question, "Upgrade"));
	else
		str_append(head, "Connection: close\r\n\r\n");
}

/* ---- to the browser ----------------------------------------------------------------------- */

/* "/path" of a place that is the program's own; NULL: it leads elsewhere, or is relative. */
static const char *own_path(const char *location, const char *host, const struct ui_place *place)
{
	const char *rest = location;

	if (strncasecmp(rest, "http://", 7) == 0)
		rest += 7;
	else if (strncasecmp(rest, "https://", 8) == 0)
		rest += 8;
	else if (rest[0] == '/' && rest[1] == '/')
		rest += 2;
	else
		return rest[0] == '/' ? rest : NULL;
	size_t length = strcspn(rest, "/?#");
	const char *names[] = {host, place->address};
	for (size_t i = 0; i < array_length(names); i++)
		if (names[i] && strlen(names[i]) == length &&
		    strncasecmp(names[i], rest, length) == 0)
			return rest + length;
	return NULL;
}

static bool is_below(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(path, prefix, length) == 0 && strchr("/?#", path[length]);
}

/* A path of the program's, as it follows the prefix: the program may know the prefix, or the base
 * that stands for it. */
static const char *behind_prefix(const char *path, const struct ui_place *place)
{
	if (is_below(path, place->prefix))
		return path + strlen(place->prefix);
	if (place->base && is_below(path, place->base))
		return path + strlen(place->base);
	return path;
}

static void add_location(struct str *head, const char *location, const char *target,
			 const char *host, const struct ui_place *place)
{
	const char *path = own_path(location, host, place);
	const char *here = target + strlen(place->prefix);
	size_t length = strcspn(here, "?");

	if (!path) {
		str_append_format(head, "Location: %s\r\n", location);
		return;
	}
	path = behind_prefix(path, place);
	str_append(head, "Location: ./");
	for (size_t i = 1; i < length; i++)
		if (here[i] == '/')
			str_append(head, "../");
	str_append_format(head, "%s\r\n", path + (path[0] == '/'));
}

/* A cookie of the program's is for the program's own paths, and is no session of ours. */
static void add_set_cookie(struct str *head, const char *value, const struct ui_place *place)
{
	struct str_list parts cleanup_str_list = {0};
	struct str cookie cleanup_str = {0};
	const char *path = "/";

	str_split(&parts, value, ';');
	if (parts.count == 0 || str_starts_with(parts.items[0], own_cookies))
		return;
	for (size_t i = 0; i < parts.count; i++) {
		const char *part = parts.items[i];
		if (strncasecmp(part, "Domain", 6) == 0 && strchr("= ", part[6]))
			continue;
		if (strncasecmp(part, "Path=", 5) == 0)
			path = part + 5;
		else
			str_append_format(&cookie, "%s%s", i > 0 ? "; " : "", part);
	}
	path = path[0] == '/' ? behind_prefix(path, place) : "/";
	str_append_format(head, "Set-Cookie: %s; Path=%s%s\r\n", str_text(&cookie), place->prefix,
			  path);
}

static void add_answer_header(struct str *head, const struct http_head *answer,
			      const struct http_header *header, const char *target,
			      const char *host, const struct ui_place *place)
{
	/* They speak for all of this server, which is not the program's. */
	static const char *const foreign[] = {"Alt-Svc", "Clear-Site-Data",
					      "Service-Worker-Allowed", "Strict-Transport-Security",
					      NULL};

	if (is_hop_by_hop(header->name, http_head_find(answer, "Connection")) ||
	    is_one_of(header->name, foreign))
		return;
	if (strcasecmp(header->name, "Location") == 0)
		add_location(head, header->value, target, host, place);
	else if (strcasecmp(header->name, "Set-Cookie") == 0)
		add_set_cookie(head, header->value, place);
	else
		str_append_format(head, "%s: %s\r\n", header->name, header->value);
}

void ui_head_of_answer(struct str *head, const struct http_head *answer, const char *target,
		       const char *host, const struct ui_place *place)
{
	const char *upgrade = http_head_find(answer, "Upgrade");

	str_append_format(head, "HTTP/1.1 %d \r\n", answer->status);
	for (size_t i = 0; i < answer->header_count; i++)
		add_answer_header(head, answer, &answer->headers[i], target, host, place);
	if (answer->status == 101 && upgrade)
		str_append_format(head, "Connection: Upgrade\r\nUpgrade: %s\r\n\r\n", upgrade);
	else
		str_append(head, "Connection: close\r\n\r\n");
}
