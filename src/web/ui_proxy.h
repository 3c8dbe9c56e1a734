/*
 * The door to a task's web interface: one request of a browser is passed on to the program, and
 * what that says back, both as they come, with no more than some hundred KiB on their way. After a
 * change of protocol (WebSocket) whatever comes is passed on, until one of the two ends it. Each
 * request has a connection of its own to the program.
 */
#ifndef TONY_WEB_UI_PROXY_H
#define TONY_WEB_UI_PROXY_H

#include <stddef.h>

#include "web/ui_head.h"

struct event_base;
struct http_request;

enum { UI_REQUESTS_MAX = 256 }; /* at a time */

/* Takes the request of a raw route over. Texts of `place` are copied. *count is how many are on
 * their way; it outlives them. */
void ui_proxy_start(struct event_base *base, struct http_request *request,
		    const struct ui_place *place, size_t *count);

#endif
