#ifndef TONY_PORTAL_PORTAL_INTERNAL_H
#define TONY_PORTAL_PORTAL_INTERNAL_H

#include <stdint.h>

#include "net/http_server.h"
#include "portal/index.h"
#include "portal/portal.h"
#include "portal/readers.h"
#include "portal/session_key.h"
#include "scheduler/child.h"
#include "web/audit.h"
#include "web/group_cache.h"
#include "web/sessions.h"

struct portal {
	const struct portal_options *options;
	struct event_base *base;
	struct http_server *server;
	struct portal_certificate *certificate; /* NULL: it speaks plain HTTP */
	struct link_socket *links;		/* NULL: nobody can ask for links */
	struct web_sessions *sessions;
	struct session_key session_key;
	struct reader_setup reader;
	struct readers *readers;
	struct group_cache *groups;
	struct audit_refusals *refusals;
	struct portal_index *index; /* NULL: it is being made anew */
	struct child indexer;
	struct event *restart; /* of the indexer */
	int64_t requests;      /* for jobs */
};

/* ---- portal_access.c; `data` is the portal */

/* Ends all sessions when another key has taken the place of theirs, with what was started for them.
 */
void portal_take_session_key(struct portal *portal);
enum http_access portal_authorize(void *data, const struct http_request *request);
/* group_cache_create()'s. */
void portal_ask_groups(void *data, const char *user);
bool portal_knows_host(void *data, const struct http_request *request, const char *name);
/* False: the caller has the token, or a session that a link opened, and all jobs are for him. Else
 * `viewer` borrows from the request or its session, until the next call. */
bool portal_find_viewer(struct portal *portal, const struct http_request *request,
			struct portal_viewer *viewer);

/* Audit lines (web/audit.h): of a request that is nobody's, and of one for a job. */
char *portal_audit_refusal(void *data, const struct http_request *request);
void portal_audit_refused(struct portal *portal, const struct http_request *request,
			  const char *job, const char *action);
/* An order whose line is written when it is known how it was answered: for readers_pass(), which
 * sees to that. */
struct readers_order portal_audited_order(struct portal *portal, const struct http_request *request,
					  const char *job, const char *action, const char *orderer);

/* A job that the caller may not see is not there. -1: that is answered. */
int portal_find_job(struct portal *portal, struct http_request *request, const char *id,
		    struct portal_job *job);
/* The job of a path that begins with `prefix`, which ends in its id. */
int portal_find_job_of_path(struct portal *portal, struct http_request *request, const char *prefix,
			    struct portal_job *job);

/* portal_orders.c: what a user may order whom a job's modify ACL names. */
void portal_handle_orders(void *data, struct http_request *request);
void portal_handle_order(void *data, struct http_request *request);

/* portal_negotiate.c */
void portal_handle_kerberos(void *data, struct http_request *request);
/* True: a browser without a session was led there, and the request is gone. */
bool portal_leads_to_kerberos(const struct portal *portal, struct http_request *request);

/* portal_list.c */
void portal_handle_jobs(void *data, struct http_request *request);
void portal_handle_words(void *data, struct http_request *request);
void portal_handle_metrics(void *data, struct http_request *request);

#endif
