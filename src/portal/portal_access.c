/* Access: the token, a session, or a proxy that names the user. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "portal/portal_internal.h"
#include "web/access.h"
#include "web/login.h"

static bool is_proxied(const struct portal *portal, const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	return str_list_has(portal->options->proxies, peer);
}

/* Whom the proxy in front of us has let through; NULL: nobody. Of two such headers one may be the
 * caller's own, so neither is believed. */
static const char *proxied_user(const struct portal *portal, const struct http_request *request)
{
	const char *header = portal->options->auth_header;
	const struct http_head *head = http_request_head(request);

	if (!header || http_head_count(head, header) != 1 || !is_proxied(portal, request))
		return NULL;
	const char *user = http_head_find(head, header);
	return *user ? user : NULL;
}

bool portal_knows_host(void *data, const struct http_request *request, const char *name)
{
	const struct portal *portal = data;
	const struct str_list *names = portal->options->names;

	for (size_t i = 0; i < names->count; i++) {
		if (str_equal_nocase(names->items[i], name))
			return true;
	}
	return is_proxied(portal, request);
}

enum http_access portal_authorize(void *data, const struct http_request *request)
{
	const struct portal *portal = data;

	if (!web_request_is_own(request))
		return HTTP_ACCESS_NONE;
	return web_login_has(portal->sessions, request) || proxied_user(portal, request)
		       ? HTTP_ACCESS_READ
		       : HTTP_ACCESS_NONE;
}

bool portal_find_viewer(struct portal *portal, const struct http_request *request,
			struct portal_viewer *viewer)
{
	const char *user;

	*viewer = (struct portal_viewer){.administrators = portal->options->administrators};
	if (http_request_access(request) == HTTP_ACCESS_ALL ||
	    web_login_has(portal->sessions, request))
		return false;
	user = proxied_user(portal, request);
	if (user)
		viewer->user = (struct acl_user){
			user, *portal_groups_of(portal->groups, user, clock_monotonic_ms())};
	return true;
}
