/* The way in for browsers: POST links, which whoever has the token asks for, and GET login, where
 * the link that it is answered with leads to. */
#ifndef TONY_WEB_LOGIN_H
#define TONY_WEB_LOGIN_H

#include "web/sessions.h"

struct http_request;

/* Answers {"path": "login?code=...", "pages": "node-7:4002", "ui": "node-7:4001"}. `pages`: where
 * browsers go with that; NULL: to this server. `ui`: where the door to programs' pages (ui_door.h)
 * listens; NULL: there is none. `controls`: as web_sessions_invite() has it. */
void web_login_invite(struct http_request *request, struct web_sessions *sessions,
		      const char *pages, const char *ui, bool controls);

/* The header that a page shows web_sessions_control() in. */
#define WEB_CONTROL_HEADER "X-Tony-Control"

/* Opens a session with the query's `code`, and leads to its `to`, which is below this very place. A
 * session that controls is led to the page itself, with its secret in the fragment, which no server
 * gets to see.
 * `ui` in the query: the local port of the tunnel to the door; absent without a tunnel. `another`:
 * who gives another link, for the page that says that this one is not good. */
void web_login_open(struct http_request *request, struct web_sessions *sessions,
		    const char *another);

/* Opens a session for a user who has proved who he is at login/..., and leads to the page. */
void web_login_as(struct http_request *request, struct web_sessions *sessions, const char *user);

/* Opens the session of the caller's signed cookie anew (web_sessions_resume()). */
void web_login_resume(struct web_sessions *sessions, const struct http_request *request);

/* The caller has a session, and its cookie. */
bool web_login_has(const struct web_sessions *sessions, const struct http_request *request);

/* The caller's session may do more than look. */
bool web_login_may_control(const struct web_sessions *sessions, const struct http_request *request);

/* This very request may: a page of this server's sent it, and showed what its cookie does not hold.
 */
bool web_login_controls(const struct web_sessions *sessions, const struct http_request *request);

/* Whose it is; NULL: that of who has a link, or there is none. Valid until the next request. */
const char *web_login_user(const struct web_sessions *sessions, const struct http_request *request);

/* The `ui` that the caller's link had; 0: none. */
int web_login_ui_port(const struct web_sessions *sessions, const struct http_request *request);

#endif
