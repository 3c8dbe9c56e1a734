#include "am/viewers.h"

#include <stdlib.h>
#include <string.h>

#include "base/acl.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/http_server.h"
#include "net/resolve.h"
#include "web/access.h"
#include "web/cookie.h"
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
};

struct viewers *viewers_create(struct event_base *base, const struct job *job)
{
	struct viewers *viewers = mem_alloc(sizeof(*viewers));
	char *cookie cleanup_free = mem_printf("tony-%s", job->id);

	viewers->base = base;
	viewers->job = job;
	viewers->sessions = web_sessions_create(cookie, false);
	return viewers;
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

static bool may_look(const struct viewers *viewers, const char *user)
{
	const struct job *job = viewers->job;
	const struct acl_rule rule = {
		.owner = job->user,
		.acl = job_view_acl(job),
		.administrators = job_config(job, "tony.admin.acl"),
	};

	return !viewers->prove || acl_allows(&rule, &(struct acl_user){.name = user});
}

static struct viewer identify_behind_proxy(const struct viewers *viewers,
					   const struct http_request *request)
{
	struct viewer viewer = {
		.user = web_cookie_find(http_request_header(request, "Cookie"), "proxy-user"),
		.proof = "proxy",
	};

	viewer.may_look = web_request_looks(request) && may_look(viewers, viewer.user);
	return viewer;
}

struct viewer viewers_identify(const struct viewers *viewers, const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	if (web_login_has(viewers->sessions, request) && web_request_is_own(request))
		return (struct viewer){mem_strdup(viewers->job->user), "session", true};
	if (str_list_has(&viewers->proxies, peer))
		return identify_behind_proxy(viewers, request);
	return (struct viewer){NULL, "none", false};
}

void viewer_finish(struct viewer *viewer)
{
	free(viewer->user);
}

char *viewers_find(const struct viewers *viewers, const struct http_request *request)
{
	struct viewer viewer cleanup_viewer = viewers_identify(viewers, request);

	if (!viewer.may_look)
		return NULL;
	return viewer.user ? mem_steal(&viewer.user) : mem_strdup("anonymous");
}
