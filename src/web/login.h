/* The way in for browsers: POST links, which whoever has the token asks for, and GET login, where
 * the link that it is answered with leads to. */
#ifndef TONY_WEB_LOGIN_H
#define TONY_WEB_LOGIN_H

#include "web/sessions.h"

struct http_request;

/* Answers {"path": "login?code=..."}. */
void web_login_invite(struct http_request *request, struct web_sessions *sessions);

/* Opens a session with the query's `code`, and leads to its `to`, which is below this very place.
 * `another`: who gives another link, for the page that says that this one is not good. */
void web_login_open(struct http_request *request, struct web_sessions *sessions,
		    const char *another);

#endif
