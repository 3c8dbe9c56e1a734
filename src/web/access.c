#include "web/access.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/http_message.h"
#include "net/http_server.h"

bool web_request_looks(const struct http_request *request)
{
	const char *method = http_request_head(request)->method;

	return (str_equal(method, "GET") || str_equal(method, "HEAD")) &&
	       !http_request_header(request, "Upgrade");
}

/* "http://node-7:4000" and "node-7:4000": behind a proxy that speaks TLS for us, too. */
static bool is_same_origin(const struct http_request *request)
{
	const char *origin = http_request_header(request, "Origin");
	const char *host = http_request_header(request, "Host");
	const char *start = origin ? strstr(origin, "://") : NULL;

	return start && host && str_equal_nocase(start + 3, host);
}

bool web_request_is_own(const struct http_request *request)
{
	const char *site = http_request_header(request, "Sec-Fetch-Site");
	const char *mode = http_request_header(request, "Sec-Fetch-Mode");
	const char *destination = http_request_header(request, "Sec-Fetch-Dest");

	if (!web_request_looks(request))
		return is_same_origin(request);
	/* Browsers that do not say it keep the cookie to themselves: SameSite. */
	if (!site || str_equal(site, "same-origin") || str_equal(site, "none"))
		return true;
	return str_equal(mode, "navigate") && str_equal(destination, "document");
}

bool web_acl_allows(const char *acl, const char *user)
{
	struct str_list users cleanup_str_list = {0};

	if (strcmp(acl, "*") == 0)
		return true;
	char *names cleanup_free = mem_strndup(acl, strcspn(acl, " "));
	str_split(&users, names, ',');
	return str_list_has(&users, user);
}
