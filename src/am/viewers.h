/*
 * Who looks at the job without its token: browsers that came through a link (web/sessions.h),
 * whoever the scheduler's own web proxy lets through to us, and users whom their TLS has proven to
 * be those that the scheduler names (tls_people). The proxy tells in a cookie who it is; its
 * address is the only proof, and all that comes from there counts as coming through it.
 */
#ifndef TONY_AM_VIEWERS_H
#define TONY_AM_VIEWERS_H

#include <stdbool.h>

#include "base/str.h"
#include "job/job.h"
#include "web/sessions.h"

struct event_base;
struct http_request;
struct viewers;

/* `decided` is told, from the loop, when a viewer is not awaited any more. */
struct viewers *viewers_create(struct event_base *base, const struct job *job,
			       void (*decided)(void *data), void *data);
void viewers_destroy(struct viewers *viewers); /* NULL is fine */

/* Sessions of browsers outlive this AM: the next one knows the same token of the job. */
void viewers_sign(struct viewers *viewers, const char *token);

struct web_sessions *viewers_sessions(struct viewers *viewers);

/* Looks up where these hosts (names or numeric addresses) are, from the loop. With `prove` only the
 * job's owner and whom its view ACL names get through, else everybody does. */
void viewers_trust(struct viewers *viewers, const struct str_list *proxies, bool prove);

/* Of the scheduler's: they look, and change, as the owner does. NULL: nobody. */
void viewers_name_administrators(struct viewers *viewers, const char *acl);

struct viewer {
	char *user;	   /* as he is named, whether he may look or not; NULL: he is not */
	const char *proof; /* by which he is known: "session", "proxy", "scheduler" or "none" */
	bool may_look;
	bool may_change; /* of a call that needs HTTP_ACCESS_CONTROL */
	bool is_awaited; /* that hangs on his groups, which this node is asked for */
};
struct viewer viewers_identify(struct viewers *viewers, const struct http_request *request);
void viewer_finish(struct viewer *viewer);
#define cleanup_viewer __attribute__((cleanup(viewer_finish)))

/* Who may look, by name; NULL: nobody. The caller frees. */
char *viewers_find(struct viewers *viewers, const struct http_request *request);

#endif
