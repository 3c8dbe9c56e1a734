/* Orders to a live job, of a user whom it or its modify ACL names and whom a ticket or a proxy has
 * named to the portal. A page shows the secret that it was told, which pages of other sites
 * cannot ask for. The job's reader passes orders on to the AM, which hears whose they are. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "portal/portal_internal.h"
#include "web/login.h"

/* The caller frees. */
static char *secret_of(const struct portal *portal, const char *user)
{
	char *purpose cleanup_free = mem_printf("orders of %s", user);

	return secret_derive(portal->options->token, purpose);
}

/* The user; NULL: the caller only looks. Where programs' pages have the portal's own origin, they
 * could give orders in the name of whoever looks at them. */
static const char *find_orderer(struct portal *portal, const struct http_request *request,
				const struct portal_job *job)
{
	struct portal_viewer viewer;
	bool is_named = portal_find_viewer(portal, request, &viewer) && viewer.user.name;
	const struct acl_rule rule = {.owner = job->user, .acl = job->modify_acl};

	if (!is_named || job->location || portal->options->shares_origin ||
	    !acl_allows(&rule, &viewer.user))
		return NULL;
	return viewer.user.name;
}

void portal_handle_orders(void *data, struct http_request *request)
{
	struct portal *portal = data;
	struct portal_job job cleanup_portal_job = {0};

	if (portal_find_job(portal, request, http_request_parameter(request, "id"), &job) < 0)
		return;
	const char *user = find_orderer(portal, request, &job);
	char *secret cleanup_secret = user ? secret_of(portal, user) : NULL;
	json_t *answer = json_object();

	json_object_set_new(answer, "actions",
			    user ? json_pack("[sss]", "kill", "restart", "scale") : json_array());
	json_set_text(answer, "control", secret);
	http_answer_json(request, 200, answer);
}

/* Of a page of the portal's own. */
static bool shows_secret(const struct portal *portal, const struct http_request *request,
			 const char *user)
{
	const char *shown = http_request_header(request, WEB_CONTROL_HEADER);
	char *secret cleanup_secret = secret_of(portal, user);

	return shown && secret_equal(shown, secret);
}

void portal_handle_order(void *data, struct http_request *request)
{
	struct portal *portal = data;
	const char *id = http_request_parameter(request, "id");
	const char *target = http_request_head(request)->target;
	char *path cleanup_free = mem_strndup(target, strcspn(target, "?"));
	char *prefix cleanup_free = mem_printf("/v1/jobs/%s", id);
	struct portal_job job cleanup_portal_job = {0};

	if (portal_find_job_of_path(portal, request, prefix, &job) < 0)
		return;
	const char *user = find_orderer(portal, request, &job);
	const char *action = strrchr(path, '/') + 1;

	if (user && shows_secret(portal, request, user)) {
		readers_pass(portal->readers, request, id, &job, prefix, "/v1",
			     portal_audited_order(portal, request, id, action, user));
		return;
	}
	portal_audit_refused(portal, request, id, action);
	if (user)
		http_answer_error(request, 403, "forbidden",
				  "an order shows the secret of GET %s/orders in the "
				  "header " WEB_CONTROL_HEADER,
				  prefix);
	else
		http_answer_error(
			request, 403, "forbidden",
			"tony.application.acl.modify of %s does not name you, or the "
			"portal lets nobody give orders: tony open --control gives a link "
			"that does",
			id);
}
