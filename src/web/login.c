#include "web/login.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "net/http_server.h"
#include "web/access.h"
#include "web/serve.h"

void web_login_invite(struct http_request *request, struct web_sessions *sessions,
		      const char *pages, const char *ui, bool controls)
{
	char *code cleanup_free = web_sessions_invite(sessions, controls, clock_monotonic_ms());
	char *path cleanup_free = mem_printf("login?code=%s", code);
	json_t *answer = json_object();
	json_set_text(answer, "path", path);
	json_set_text(answer, "pages", pages);
	json_set_text(answer, "ui", ui);
	http_answer_json(request, 200, answer);
}

/* Where the link may lead behind the door: below this very place. */
static bool is_below(const char *path)
{
	for (const char *c = path; *c; c++)
		if (*c < '!' || *c > '~' || *c == '\\')
			return false;
	return path[0] != '/' && !strstr(path, "..");
}

void web_login_open(struct http_request *request, struct web_sessions *sessions,
		    const char *another)
{
	const char *code = http_request_query(request, "code");
	const char *to = http_request_query(request, "to");
	char *peer cleanup_free = http_request_peer(request);
	int64_t ui_port = 0;

	if (http_request_query_int(request, "ui", 1, 65535, &ui_port) < 0)
		return;
	char *cookie cleanup_free = code ? web_sessions_open(sessions, code, peer, (int)ui_port,
							     clock_monotonic_ms(), clock_wall_ms())
					 : NULL;
	if (!cookie) {
		char *text cleanup_free =
			mem_printf("This link has expired or was used already: each is good once, "
				   "within a minute. %s",
				   another);
		web_answer_text(request, 403, text, 0);
		return;
	}
	const char *control = web_sessions_control(sessions, cookie, peer, clock_monotonic_ms());
	char *location cleanup_free = control ? mem_printf("./#/?control=%s", control)
					      : mem_printf("./%s", to && is_below(to) ? to : "");
	http_answer_header(request, "Set-Cookie", cookie);
	http_answer_header(request, "Location", location);
	web_answer_text(request, 303, "", 0);
}

void web_login_as(struct http_request *request, struct web_sessions *sessions, const char *user)
{
	char *peer cleanup_free = http_request_peer(request);
	char *cookie cleanup_free =
		web_sessions_login(sessions, user, peer, clock_monotonic_ms(), clock_wall_ms());

	http_answer_header(request, "Set-Cookie", cookie);
	http_answer_header(request, "Location", "../");
	web_answer_text(request, 303, "", 0);
}

const char *web_login_user(const struct web_sessions *sessions, const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	return web_sessions_user(sessions, http_request_header(request, "Cookie"), peer,
				 clock_monotonic_ms());
}

void web_login_resume(struct web_sessions *sessions, const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	web_sessions_resume(sessions, http_request_header(request, "Cookie"), peer,
			    clock_monotonic_ms(), clock_wall_ms());
}

bool web_login_has(const struct web_sessions *sessions, const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	return web_sessions_has(sessions, http_request_header(request, "Cookie"), peer,
				clock_monotonic_ms());
}

static const char *find_control(const struct web_sessions *sessions,
				const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	return web_sessions_control(sessions, http_request_header(request, "Cookie"), peer,
				    clock_monotonic_ms());
}

bool web_login_may_control(const struct web_sessions *sessions, const struct http_request *request)
{
	return find_control(sessions, request) != NULL;
}

bool web_login_controls(const struct web_sessions *sessions, const struct http_request *request)
{
	const char *own = find_control(sessions, request);
	const char *shown = http_request_header(request, WEB_CONTROL_HEADER);

	return own && shown && secret_equal(shown, own) && !web_request_looks(request) &&
	       web_request_is_own(request);
}

int web_login_ui_port(const struct web_sessions *sessions, const struct http_request *request)
{
	char *peer cleanup_free = http_request_peer(request);

	return web_sessions_ui_port(sessions, http_request_header(request, "Cookie"), peer,
				    clock_monotonic_ms());
}
