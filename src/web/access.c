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

bool web_request_wants_page(const struct http_request *request)
{
	const char *accept = http_request_header(request, "Accept");

	return accept && strstr(accept, "text/html");
}

bool web_request_is_forwarded(const struct http_request *request)
{
	static const char *const headers[] = {"Forwarded", "Via", "X-Forwarded-For",
					      "X-Forwarded-Host", "X-Forwarded-Proto"};

	for (size_t i = 0; i < array_length(headers); i++)
		if (http_request_header(request, headers[i]))
			return true;
	return false;
}

/* "http://node-7:4000" and "node-7:4000": behind a proxy that speaks TLS for us, too. Where we
 * speak it ourselves, a page that came without it is somebody else's. */
static bool is_same_origin(const struct http_request *request)
{
	const char *origin = http_request_header(request, "Origin");
	const char *host = http_request_header(request, "Host");
	const char *start = origin ? strstr(origin, "://") : NULL;

	if (start && http_request_is_https(request) && !str_starts_with(origin, "https://"))
		return false;
	return start && host && str_equal_nocase(start + 3, host);
}

bool web_request_is_own(const struct http_request *request)
{
	const char *site = http_request_header(request, "Sec-Fetch-Site");
	const char *mode = http_request_header(request, "Sec-Fetch-Mode");
	const char *destination = http_request_header(request, "Sec-Fetch-Dest");

	if (!web_request_looks(request))
		return is_same_origin(request) && (!site || str_equal(site, "same-origin"));
	/* It would outlive its page, for whatever is served at this address next. */
	if (http_request_header(request, "Service-Worker"))
		return false;
	/* Browsers tell it to servers that they trust: of TLS, and on their own machine. To others
	 * they tell the origin of whoever would read the answer. */
	if (!site)
		return !http_request_header(request, "Origin") || is_same_origin(request);
	if (str_equal(site, "same-origin") || str_equal(site, "none"))
		return true;
	return str_equal(mode, "navigate") && str_equal(destination, "document");
}
