/* Gives the dashboard to browsers: the same from the AM and from the portal. */
#ifndef TONY_WEB_SERVE_H
#define TONY_WEB_SERVE_H

#include <stdbool.h>

struct http_request;

/* Answers GET or HEAD with the file of this path (assets.h), with or without a version before it,
 * with its ETag and a policy that lets the page load from here only; 304 when the client has it
 * already; 404 when there is none. */
void web_serve(struct http_request *request, const char *path);

/* http_server.h's answer_failure(): to browsers that show it to a person it is a page, with a link
 * to the dashboard at the server's root, or to where that leads on to it (ui_door.h). */
bool web_answer_failure(struct http_request *request, int status, const char *message);

/* A page that says `text`, and is loaded anew after retry_s seconds (0: is not). With 303 it is but
 * the way to somewhere else. */
void web_answer_text(struct http_request *request, int status, const char *text, int retry_s);

#endif
