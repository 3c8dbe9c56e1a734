/* Users of a cluster come with its tickets: GET /login/kerberos, where a browser is led that has no
 * session. */
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "portal/portal_internal.h"
#include "scheduler/scheduler.h"
#include "web/access.h"
#include "web/login.h"
#include "web/serve.h"

static const char scheme[] = "Negotiate ";

/* Of the client. False: it shows none, or nonsense. */
static bool take_token(const struct http_request *request, struct str *token)
{
	const char *header = http_request_header(request, "Authorization");
	size_t length = 0;

	if (!header || strncasecmp(header, scheme, strlen(scheme)) != 0)
		return false;
	const char *text = header + strlen(scheme);
	void *bytes cleanup_free = base64_decode(text, strlen(text), &length);
	if (bytes)
		str_append_bytes(token, bytes, length);
	return token->length > 0;
}

static void ask_for_ticket(struct http_request *request)
{
	static const char text[] =
		"This portal knows its users by their Kerberos tickets, and this browser has shown "
		"none. Get one (kinit), and let the browser show it to this host (Firefox: "
		"network.negotiate-auth.trusted-uris in about:config; Chromium and Edge: the "
		"policy AuthServerAllowlist; curl: --negotiate -u :). Without a ticket, the link "
		"that tony portal --link prints opens the portal.";

	http_answer_header(request, "WWW-Authenticate", "Negotiate");
	web_answer_text(request, 401, text, 0);
}

static void audit(struct portal *portal, const struct http_request *request, const char *user,
		  const char *detail)
{
	char *address cleanup_free = http_request_peer(request);
	const struct audit_line line = {
		.user = user,
		.address = address,
		.proof = "ticket",
		.action = "login",
		.outcome = user ? "done" : "refused",
		.detail = detail,
	};

	if (user)
		audit_write(&line);
	else
		audit_refuse(portal->refusals, &line, clock_monotonic_ms());
}

void portal_handle_kerberos(void *data, struct http_request *request)
{
	struct portal *portal = data;
	struct scheduler_negotiator *negotiator = portal->options->negotiator;
	struct str token cleanup_str = {0}, channel cleanup_str = {0}, answer cleanup_str = {0};
	struct err err cleanup_err = {0};

	if (!negotiator) {
		http_answer_error(request, 404, "not-found", "this portal knows no tickets");
		return;
	}
	/* A link on another site's page may lead here, or an image of it. */
	if (!web_request_is_own(request) || web_login_has(portal->sessions, request)) {
		http_answer_header(request, "Location", "../");
		web_answer_text(request, 303, "", 0);
		return;
	}
	if (!take_token(request, &token)) {
		ask_for_ticket(request);
		return;
	}
	http_request_end_point(request, &channel);
	char *user cleanup_free = negotiator->take(negotiator, &token, &channel, &answer, &err);
	audit(portal, request, user, user ? NULL : err_message(&err));
	if (!user) {
		char *text cleanup_free =
			mem_printf("The portal does not take this ticket: %s", err_message(&err));
		web_answer_text(request, 403, text, 0);
		return;
	}
	char *proof cleanup_free = base64_encode(str_text(&answer), answer.length);
	char *header cleanup_free = mem_printf("Negotiate %s", proof);
	if (answer.length > 0)
		http_answer_header(request, "WWW-Authenticate", header);
	web_login_as(request, portal->sessions, user);
}

bool portal_leads_to_kerberos(const struct portal *portal, struct http_request *request)
{
	/* A browser that was there before, and has no good session for all that, is not led in a
	 * circle: its page has a link. */
	if (!portal->options->negotiator || !web_request_wants_page(request) ||
	    !web_request_is_own(request) || http_request_access(request) < HTTP_ACCESS_NONE ||
	    web_sessions_claims(portal->sessions, http_request_header(request, "Cookie")))
		return false;
	http_answer_header(request, "Location", "./login/kerberos");
	web_answer_text(request, 303, "", 0);
	return true;
}
