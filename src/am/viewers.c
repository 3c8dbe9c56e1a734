#include "am/viewers.h"

#include <stdlib.h>
#include <string.h>

#include "am/group_finder.h"
#include "base/acl.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "net/http_server.h"
#include "net/resolve.h"
#include "web/access.h"
#include "web/cookie.h"
#include "web/group_cache.h"
#include "web/login.h"

struct lookup {
	struct viewers *viewers;
	struct resolve *resolve; /* NULL: done */
	char *host;
};

struct viewers {
	struct event_base *base;
	const struct job *job;
	struct web_sessions *sessions;
	struct lookup *lookups;
	size_t lookup_count;
	struct str_list proxies; /* numeric addresses */
	bool prove;
	char *administrators;	    /* the scheduler's: an ACL; NULL: none */
	struct group_cache *groups; /* of users */
	struct group_finder *finder;
	void (*decided)(void *data);
	void *data;
};

static void ask_for_groups(void *data, const char *user)
{
	struct viewers *viewers = data;

	group_finder_ask(viewers->finder, user);
}

static void on_groups(void *data, const char *user, struct str_list *groups)
{
	struct viewers *viewers = data;

	group_cache_tell(viewers->groups, user, groups, clock_monotonic_ms());
	viewers->decided(viewers->data);
}

struct viewers *viewers_create(struct event_base *base, const struct job *job,
			       void (*decided)(void *data), void *data)
{
	struct viewers *viewers = mem_alloc(sizeof(*viewers));
	char *cookie cleanup_free = mem_printf("tony-%s", job->id);

	viewers->base = base;
	viewers->job = job;
	viewers->sessions = web_sessions_create(cookie, false);
	viewers->groups = group_cache_create(ask_for_groups, viewers);
	viewers->finder = group_finder_create(base, on_groups, viewers);
	viewers->decided = decided;
	viewers->data = data;
	return viewers;
}

void viewers_sign(struct viewers *viewers, const char *token)
{
	char *key cleanup_secret = secret_derive(token, "sessions of browsers");

	web_sessions_sign(viewers->sessions, key);
}

static void forget_proxies(struct viewers *viewers)
{
	for (size_t i = 0; i < viewers->lookup_count; i++) {
		if (viewers->lookups[i].resolve)
			resolve_cancel(viewers->lookups[i].resolve);
		free(viewers->lookups[i].host);
	}
	free(viewers->lookups);
	str_list_finish(&viewers->proxies);
}

void viewers_destroy(struct viewers *viewers)
{
	if (!viewers)
		return;
	forget_proxies(viewers);
	web_sessions_destroy(viewers->sessions);
	free(viewers->administrators);
	group_finder_destroy(viewers->finder);
	group_cache_destroy(viewers->groups);
	free(viewers);
}

struct web_sessions *viewers_sessions(struct viewers *viewers)
{
	return viewers->sessions;
}

static void on_resolved(void *data, const struct net_address *addresses, size_t count,
			const struct err *err)
{
	struct lookup *lookup = data;

	lookup->resolve = NULL;
	if (count == 0)
		log_warning("%s: the web proxy's host is not found, so nobody gets here through "
			    "it: %s",
			    lookup->host, err_message(err));
	for (size_t i = 0; i < count; i++)
		str_list_take(&lookup->viewers->proxies, net_address_host(&addresses[i]));
}

void viewers_trust(struct viewers *viewers, const struct str_list *proxies, bool prove)
{
	forget_proxies(viewers);
	viewers->prove = prove;
	viewers->lookup_count = proxies->count;
	viewers->lookups = mem_alloc_array(proxies->count, sizeof(*viewers->lookups));
	for (size_t i = 0; i < proxies->count; i++) {
		struct lookup *lookup = &viewers->lookups[i];
		lookup->viewers = viewers;
		lookup->host = mem_strdup(proxies->items[i]);
		lookup->resolve =
			resolve_start(viewers->base, NULL, lookup->host, 0, on_resolved, lookup);
	}
}

void viewers_name_administrators(struct viewers *viewers, const char *acl)
{
	mem_replace(&viewers->administrators, mem_strdup(acl));
}

/* His groups are looked up only where they may count. */
static bool allows(struct viewers *viewers, const struct acl_rule *rule, struct viewer *viewer)
{
	struct acl_user user = {.name = viewer->user};

	if (user.name && *user.name && !acl_allows(rule, &user) &&
	    (acl_has_groups(rule->acl) || acl_has_groups(rule->administrators))) {
		const struct str_list *groups =
			group_cache_find(viewers->groups, user.name, clock_monotonic_ms());
		viewer->is_awaited |= !groups;
		if (groups)
			user.groups = *groups;
	}
	bool is_allowed = acl_allows(rule, &user);
	viewer->is_awaited &= !is_allowed; /* whatever another rule would have said */
	return is_allowed;
}

/* The engine lets them end any job, too. */
static bool is_administrator(struct viewers *viewers, struct viewer *viewer)
{
	const struct acl_rule rule = {.acl = viewers->administrators};

	return allows(viewers, &rule, viewer);
}

static bool may_look(struct viewers *viewers, struct viewer *viewer)
{
	const struct job *job = viewers->job;
	const struct acl_rule rule = {
		.owner = job->user,
		.acl = job_view_acl(job),
		.administrators = job_config(job, "tony.admin.acl"),
	};

	return allows(viewers, &rule, viewer) || is_administrator(viewers, viewer);
}

/* The site's own administrators (tony.admin.acl) may only look. */
static bool may_change(struct viewers *viewers, struct viewer *viewer)
{
	const struct job *job = viewers->job;
	const struct acl_rule rule = {.owner = job->user, .acl = job_modify_acl(job)};

	return allows(viewers, &rule, viewer) || is_administrator(viewers, viewer);
}

static struct viewer identify_behind_proxy(struct viewers *viewers,
					   const struct http_request *request)
{
	struct viewer viewer = {
		.user = web_cookie_find(http_request_header(request, "Cookie"), "proxy-user"),
		.proof = "proxy",
	};

	if (web_request_looks(request))
		viewer.may_look = !viewers->prove || may_look(viewers, &viewer);
	return viewer;
}

/* Two rights, neither of which has the other. */
static struct viewer identify_named(struct viewers *viewers, const struct http_request *request)
{
	struct viewer viewer = {
		.user = mem_strdup(http_request_user(request)),
		.proof = "scheduler",
	};

	if (web_request_looks(request))
		viewer.may_look = may_look(viewers, &viewer);
	else if (http_request_need(request) == HTTP_ACCESS_CONTROL)
		viewer.may_change = may_change(viewers, &viewer);
	return viewer;
}

struct viewer viewers_identify(struct viewers *viewers, const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	if (http_request_user(request))
		return identify_named(viewers, request);
	web_login_resume(viewers->sessions, request); /* of an AM before this one */
	if (web_login_has(viewers->sessions, request) && web_request_is_own(request))
		return (struct viewer){mem_strdup(viewers->job->user), "session", .may_look = true};
	/* None but the proxy gets through the TLS of its port. */
	if (str_list_has(&viewers->proxies, peer) || http_request_is_https(request))
		return identify_behind_proxy(viewers, request);
	return (struct viewer){.proof = "none"};
}

void viewer_finish(struct viewer *viewer)
{
	free(viewer->user);
}

char *viewers_find(struct viewers *viewers, const struct http_request *request)
{
	struct viewer viewer cleanup_viewer = viewers_identify(viewers, request);

	if (!viewer.may_look)
		return NULL;
	return viewer.user ? mem_steal(&viewer.user) : mem_strdup("anonymous");
}
