/* What a browser may do that has a cookie: it also sends that when another site's page asks it to.
 */
#ifndef TONY_WEB_ACCESS_H
#define TONY_WEB_ACCESS_H

#include <stdbool.h>

struct http_request;

/* A request that only looks: GET or HEAD, and no change of protocol. */
bool web_request_looks(const struct http_request *request);

/* A browser that shows the answer to a person. */
bool web_request_wants_page(const struct http_request *request);

/* Another proxy than the scheduler's stands before this server, and says so. */
bool web_request_is_forwarded(const struct http_request *request);

/* It was made by a page of this very server, by the user's own doing (typed, a bookmark), or by
 * following a link to a whole page. Of a request that does more than look: only the first, said by
 * its Origin. Another port of this host is another server. */
bool web_request_is_own(const struct http_request *request);

#endif
