#include "web/ui_door.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "net/address.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "web/access.h"
#include "web/login.h"
#include "web/serve.h"
#include "web/ui_proxy.h"

struct ui_door {
	struct ui_door_setup setup; /* without its texts */
	bool is_secure;
	char *home; /* the dashboard's URL, as the last browser knew it that was led here */
	int dashboard_port;
	struct http_server *server;
	struct web_sessions *sessions;
};

/* ---- at the door -------------------------------------------------------------------------- */

static enum http_access authorize(void *data, const struct http_request *request)
{
	const struct ui_door *door = data;

	return web_login_has(door->sessions, request) && web_request_is_own(request)
		       ? HTTP_ACCESS_READ
		       : HTTP_ACCESS_NONE;
}

static void handle_login(void *data, struct http_request *request)
{
	const struct ui_door *door = data;

	web_login_open(request, door->sessions, "The dashboard leads here again.");
}

static void handle_page(void *data, struct http_request *request)
{
	const struct ui_door *door = data;

	door->setup.pass(door->setup.data, request);
}

/* The name of this host to the browser, as a URL has it. The caller frees. */
static char *find_host(const struct ui_door *door, const struct http_request *request)
{
	const char *given = http_request_header(request, "Host");
	char *host cleanup_free = NULL;
	int port;

	if (!given || net_address_split_host(given, &host, &port, NULL) < 0)
		net_address_split(ui_door_address(door), &host, &port, NULL);
	return mem_printf(strchr(host, ':') ? "[%s]" : "%s", host);
}

static const char *scheme_of(const struct ui_door *door)
{
	return door->is_secure ? "https" : "http";
}

/* Back to the dashboard, by the name that this browser has for this host. */
static void handle_home(void *data, struct http_request *request)
{
	const struct ui_door *door = data;
	char *host cleanup_free = find_host(door, request);
	char *root cleanup_free = mem_printf("%s://%s", scheme_of(door), host);
	size_t length = strlen(root);
	bool is_known = door->home && strncmp(door->home, root, length) == 0 &&
			strchr(":/", door->home[length]);
	char *url cleanup_free = is_known ? mem_strdup(door->home)
					  : mem_printf("%s:%d/", root, door->dashboard_port);

	http_answer_header(request, "Location", url);
	web_answer_text(request, 303, "", 0);
}

static const struct http_route routes[] = {
	{"GET", "/login", handle_login, .needs = HTTP_ACCESS_NONE},
	{"GET", "/", handle_home, .needs = HTTP_ACCESS_NONE},
	{"GET", "/ui/", handle_home, .needs = HTTP_ACCESS_NONE}, /* where a job has a page below */
	{"*", "/ui/{name}/", handle_page, .needs = HTTP_ACCESS_READ, .raw = true},
	{"*", "/ui/{name}/{path*}", handle_page, .needs = HTTP_ACCESS_READ, .raw = true},
};

static int listen_beside(struct ui_door *door, struct event_base *base,
			 const struct ui_door_setup *setup, struct err *err)
{
	char *token cleanup_free = secret_create();
	char *address cleanup_free = net_address_any_port(setup->beside);
	const struct http_server_config config = {
		.address = address,
		.tls = setup->tls,
		.token = token, /* nobody is told it: a session is the only way in */
		.routes = routes,
		.route_count = array_length(routes),
		.data = door,
		.authorize = authorize,
		.answer_failure = web_answer_failure, /* its link leads to handle_home() */
		.any_host = true, /* a browser comes by the name that the dashboard's server knew */
		.limits = {.connections = UI_REQUESTS_MAX},
	};

	door->server = http_server_create(base, &config, err);
	return door->server ? 0 : -1;
}

struct ui_door *ui_door_open(struct event_base *base, const struct ui_door_setup *setup,
			     struct err *err)
{
	struct ui_door *door = mem_alloc(sizeof(*door));
	char *host cleanup_free = NULL;

	door->setup = (struct ui_door_setup){.pass = setup->pass, .data = setup->data};
	door->is_secure = setup->tls != NULL;
	net_address_split(setup->beside, &host, &door->dashboard_port, NULL);
	door->sessions = web_sessions_create(setup->cookie, door->is_secure);
	if (listen_beside(door, base, setup, err) == 0)
		return door;
	err_wrap(err, "no port for a program's pages");
	ui_door_close(door);
	return NULL;
}

void ui_door_close(struct ui_door *door)
{
	if (!door)
		return;
	http_server_destroy(door->server);
	web_sessions_destroy(door->sessions);
	free(door->home);
	free(door);
}

const char *ui_door_address(const struct ui_door *door)
{
	return http_server_address(door->server);
}

/* ---- the way there ------------------------------------------------------------------------ */

static void answer_no_way(struct http_request *request, const char *remedy)
{
	char *text cleanup_free =
		mem_printf("Pages of programs are not shown at this address: their scripts could "
			   "read there what the dashboard can. %s",
			   remedy);

	http_answer_error(request, 403, "own-origin", "%s", text);
}

enum ui_way ui_door_choose(struct http_request *request, const struct web_sessions *sessions,
			   bool is_shared, const char *remedy)
{
	if (is_shared || http_request_access(request) == HTTP_ACCESS_ALL)
		return UI_WAY_HERE;
	if (web_login_has(sessions, request) && web_request_looks(request) &&
	    !web_request_is_forwarded(request))
		return UI_WAY_DOOR;
	answer_no_way(request, remedy);
	return UI_WAY_NONE;
}

static void append_encoded(struct str *text, const char *value)
{
	for (; *value; value++) {
		if (strchr("%&+#;", *value))
			str_append_format(text, "%%%02X", (unsigned char)*value);
		else
			str_append_char(text, *value);
	}
}

void ui_door_lead(struct ui_door *door, struct http_request *request,
		  const struct web_sessions *sessions)
{
	char *code cleanup_free = web_sessions_invite(door->sessions, false, clock_monotonic_ms());
	char *host cleanup_free = find_host(door, request);
	int port = web_login_ui_port(sessions, request);
	struct str location cleanup_str = {0};

	const char *given = http_request_header(request, "Host");
	mem_replace(&door->home, given ? mem_printf("%s://%s/", scheme_of(door), given) : NULL);
	str_append_format(&location, "%s://%s", scheme_of(door), host);
	if (port > 0)
		str_append_format(&location, ":%d", port);
	else
		str_append(&location, strrchr(ui_door_address(door), ':'));
	str_append_format(&location, "/login?code=%s&to=", code);
	append_encoded(&location, http_request_head(request)->target + 1);
	http_answer_header(request, "Location", str_text(&location));
	web_answer_text(request, 303, "", 0);
}
