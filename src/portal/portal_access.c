/* Access: the token, a session, or a proxy that names the user. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/user.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "portal/portal_internal.h"
#include "web/access.h"
#include "web/login.h"

static bool is_proxied(const struct portal *portal, const struct http_request *request)
{
	return http_request_comes_from(request, portal->options->proxies,
				       portal->options->proxy_users);
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

void portal_take_session_key(struct portal *portal)
{
	char *key cleanup_secret = session_key_take(&portal->session_key);

	if (!key)
		return;
	web_sessions_sign(portal->sessions, key);
	readers_end(portal->readers);
}

enum http_access portal_authorize(void *data, const struct http_request *request)
{
	struct portal *portal = data;

	portal_take_session_key(portal);
	if (!web_request_is_own(request))
		return HTTP_ACCESS_NONE;
	web_login_resume(portal->sessions, request);
	return web_login_has(portal->sessions, request) || proxied_user(portal, request)
		       ? HTTP_ACCESS_READ
		       : HTTP_ACCESS_NONE;
}

void portal_ask_groups(void *data, const char *user)
{
	struct portal *portal = data;
	struct str_list groups cleanup_str_list = {0};

	user_groups(user, &groups);
	group_cache_tell(portal->groups, user, &groups, clock_monotonic_ms());
}

bool portal_find_viewer(struct portal *portal, const struct http_request *request,
			struct portal_viewer *viewer)
{
	*viewer = (struct portal_viewer){.administrators = portal->options->administrators};
	if (http_request_access(request) == HTTP_ACCESS_ALL)
		return false;
	const char *user = web_login_user(portal->sessions, request);
	if (!user && web_login_has(portal->sessions, request))
		return false;
	if (!user)
		user = proxied_user(portal, request);
	if (user)
		viewer->user = (struct acl_user){
			user, *group_cache_find(portal->groups, user, clock_monotonic_ms())};
	return true;
}

/* ---- audit lines -------------------------------------------------------------------------- */

char *portal_audit_refusal(void *data, const struct http_request *request)
{
	struct portal *portal = data;
	const struct http_head *head = http_request_head(request);
	const char *header = portal->options->auth_header;
	bool claims = header && http_head_find(head, header);
	char *address cleanup_free = http_request_peer(request);
	/* A query may hold what is nobody's business. */
	char *detail cleanup_free =
		mem_printf("%s %.*s%s%s%s", head->method, (int)strcspn(head->target, "?"),
			   head->target, claims ? ", with " : "", claims ? header : "",
			   !claims || is_proxied(portal, request) ? ""
			   : str_list_has(portal->options->proxies, address)
				   ? " from a program of a user who is no trusted proxy's"
				   : " from an address that is no trusted proxy's");

	const char *ticket = web_login_user(portal->sessions, request);
	const char *proxied = proxied_user(portal, request);

	audit_refuse(portal->refusals,
		     &(struct audit_line){
			     .user = ticket ? ticket : proxied,
			     .address = address,
			     .proof = http_head_find(head, "Authorization") ? "wrong-token"
				      : ticket				    ? "ticket"
				      : proxied				    ? "proxy"
									    : "none",
			     .action = web_request_looks(request) ? "view" : "change",
			     .outcome = "refused",
			     .detail = detail,
		     },
		     clock_monotonic_ms());
	return NULL;
}

/* A line that waits for its outcome. */
struct audited {
	char *user, *address, *action, *job, *detail;
	const char *proof;
};

static struct audited *note(struct portal *portal, const struct http_request *request,
			    const char *job, const char *action)
{
	const struct http_head *head = http_request_head(request);
	struct audited *audited = mem_alloc(sizeof(*audited));
	struct portal_viewer viewer;
	bool is_named = portal_find_viewer(portal, request, &viewer);

	audited->user = mem_strdup(is_named ? viewer.user.name : portal->options->user);
	audited->address = http_request_peer(request);
	audited->proof = http_request_access(request) == HTTP_ACCESS_ALL ? "token"
			 : !is_named					 ? "session"
			 : web_login_user(portal->sessions, request)	 ? "ticket"
									 : "proxy";
	audited->action = mem_strdup(action);
	audited->job = mem_strdup(job);
	audited->detail =
		mem_printf("%s %.*s", head->method, (int)strcspn(head->target, "?"), head->target);
	return audited;
}

static struct audit_line line_of(const struct audited *audited, const char *outcome)
{
	return (struct audit_line){
		.user = audited->user,
		.address = audited->address,
		.proof = audited->proof,
		.action = audited->action,
		.job = audited->job,
		.outcome = outcome,
		.detail = audited->detail,
	};
}

static void audited_free(struct audited *audited)
{
	free(audited->user);
	free(audited->address);
	free(audited->action);
	free(audited->job);
	free(audited->detail);
	free(audited);
}

void portal_audit_refused(struct portal *portal, const struct http_request *request,
			  const char *job, const char *action)
{
	struct audited *audited = note(portal, request, job, action);
	const struct audit_line line = line_of(audited, "refused");

	audit_refuse(portal->refusals, &line, clock_monotonic_ms());
	audited_free(audited);
}

static const char *outcome_of(int status)
{
	switch (status) {
	case 0:
		return "unknown";
	case 401:
	case 403:
		return "refused";
	case 409:
		return "conflict";
	default:
		return status < 300 ? "done" : "failed";
	}
}

static void on_answered(void *data, int status)
{
	struct audited *audited = data;
	const struct audit_line line = line_of(audited, outcome_of(status));

	audit_write(&line);
	audited_free(audited);
}

struct readers_order portal_audited_order(struct portal *portal, const struct http_request *request,
					  const char *job, const char *action, const char *orderer)
{
	return (struct readers_order){.orderer = orderer,
				      .answered = on_answered,
				      .data = note(portal, request, job, action)};
}

/* ---- jobs --------------------------------------------------------------------------------- */

/* For somebody else. */
static bool is_there(struct portal *portal, const char *id)
{
	struct portal_job job cleanup_portal_job = {0};

	return portal_index_find(portal->index, id, NULL, &job, NULL) == 0;
}

/* What may not be seen is not there. */
int portal_find_job(struct portal *portal, struct http_request *request, const char *id,
		    struct portal_job *job)
{
	struct portal_viewer viewer;
	bool is_named = portal_find_viewer(portal, request, &viewer);
	struct err err cleanup_err = {0};

	if (!portal->index)
		err_set(&err, ERR_FAILED, "the index of jobs is made anew");
	else if (portal_index_find(portal->index, id, is_named ? &viewer : NULL, job, &err) == 0)
		return 0;
	if (err.kind == ERR_NOT_FOUND && is_named && is_there(portal, id))
		portal_audit_refused(portal, request, id, "view");
	http_answer_error(request, err.kind == ERR_NOT_FOUND ? 404 : 500,
			  err.kind == ERR_NOT_FOUND ? "not-found" : "failed", "%s",
			  err_message(&err));
	return -1;
}

/* The job of a path that begins with `prefix`, which ends in its id. */
int portal_find_job_of_path(struct portal *portal, struct http_request *request, const char *prefix,
			    struct portal_job *job)
{
	/* An id that has to be encoded is none. */
	if (str_starts_with(http_request_head(request)->target, prefix))
		return portal_find_job(portal, request, http_request_parameter(request, "id"), job);
	http_answer_error(request, 404, "not-found", "there is no such job");
	return -1;
}
