#include "web/login.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/http_server.h"
#include "web/serve.h"

void web_login_invite(struct http_request *request, struct web_sessions *sessions)
{
	struct err err cleanup_err = {0};
	char *code cleanup_free = web_sessions_invite(sessions, clock_monotonic_ms(), &err);

	if (!code) {
		http_answer_error(request, 500, "failed", "%s", err_message(&err));
		return;
	}
	char *path cleanup_free = mem_printf("login?code=%s", code);
	json_t *answer = json_object();
	json_set_text(answer, "path", path);
	http_answer_json(request, 200, answer);
}

/* Where the link may lead behind the door: below this very place. */
static bool is_below(const char *path)
{
	return strspn(path,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:") ==
		       strlen(path) &&
	       path[0] != '/' && !strstr(path, "..");
}

void web_login_open(struct http_request *request, struct web_sessions *sessions,
		    const char *another)
{
	const char *code = http_request_query(request, "code");
	const char *to = http_request_query(request, "to");
	char *peer cleanup_free = http_request_peer(request);
	char *cookie cleanup_free =
		code ? web_sessions_open(sessions, code, peer, clock_monotonic_ms()) : NULL;

	if (!cookie) {
		char *text cleanup_free =
			mem_printf("This link is not good, or not any more: each opens the "
				   "dashboard once, within a minute. %s",
				   another);
		web_answer_text(request, 403, text, 0);
		return;
	}
	char *location cleanup_free = mem_printf("./%s", to && is_below(to) ? to : "");
	http_answer_header(request, "Set-Cookie", cookie);
	http_answer_header(request, "Location", location);
	web_answer_text(request, 303, "", 0);
}
