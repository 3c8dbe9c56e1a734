/* web/ui_door.h promises: the pages of a program have an origin of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ui_stage.h"

#define CLOSE "Connection: close\r\n"

static int set_up(void **state)
{
	*state = stage_create(NULL);
	serve(*state);
	return 0;
}

static void share(struct bed *bed)
{
	bed->job->config = json_pack("{s:{s:s,s:s}}", "tony.application.ui-origin", "value",
				     "shared-origin", "origin", "tony.xml");
}

static int set_up_shared(void **state)
{
	*state = stage_create(share);
	serve(*state);
	return 0;
}

static int tear_down(void **state)
{
	stage_destroy(*state);
	return 0;
}

/* The whole answer of a server that says all it has to. The caller frees. */
static char *answer_at(struct stage *stage, const char *address, const char *first,
		       const char *headers)
{
	char *request cleanup_free = mem_printf("%s HTTP/1.1\r\n%s" CLOSE "\r\n", first, headers);

	call_at(stage, address, request);
	expect_end(stage);
	char *answer = mem_strdup(str_text(&stage->browser.received));
	peer_close(&stage->browser);
	return answer;
}

static void expect_at(struct stage *stage, const char *address, const char *first,
		      const char *headers, const char *expected)
{
	char *answer cleanup_free = answer_at(stage, address, first, headers);

	if (!strstr(answer, expected))
		fail_msg("%s with \"%s\": %s", first, headers, answer);
	assert_false(stage->is_called);
}

static void expect_refused(struct stage *stage, const char *address, const char *first,
			   const char *headers)
{
	expect_at(stage, address, first, headers, "HTTP/1.1 401 Unauthorized\r\n");
}

/* The rest of the line that begins with `name`. The caller frees. */
static char *header_of(const char *answer, const char *name)
{
	const char *start = strstr(answer, name);

	if (!start)
		fail_msg("no %s in: %s", name, answer);
	start += strlen(name);
	return mem_strndup(start, strcspn(start, "\r"));
}

/* The cookie that this link sets, as headers of a question from this host. The caller frees. */
static char *follow(struct stage *stage, const char *address, const char *path)
{
	char *first cleanup_free = mem_printf("GET %s", path);
	char *answer cleanup_free = answer_at(stage, address, first, HOST);
	char *cookie cleanup_free = header_of(answer, "\r\nSet-Cookie: ");

	return mem_printf(HOST "Cookie: %.*s\r\n", (int)strcspn(cookie, ";"), cookie);
}

static char *log_in(struct stage *stage, const char *rest)
{
	struct reply reply;

	ask(stage->bed, &reply, "POST", "/v1/links", NULL);
	char *path cleanup_free = mem_printf("/%s%s", reply_member(&reply, "path"), rest);
	reply_finish(&reply);
	return follow(stage, api_address(stage->bed->api), path);
}

/* A browser that was led to the door. */
struct visit {
	const char *am;
	char *dashboard, *door; /* its cookies */
	char *address;		/* of the door */
};

static void visit_finish(struct visit *visit)
{
	free(visit->dashboard);
	free(visit->door);
	free(visit->address);
}
#define cleanup_visit __attribute__((cleanup(visit_finish)))

/* Where the door listens, as the AM says to programs. The caller frees. */
static char *door_address(struct stage *stage)
{
	struct reply reply;

	ask(stage->bed, &reply, "POST", "/v1/links", NULL);
	char *address = mem_strdup(reply_member(&reply, "ui"));
	reply_finish(&reply);
	return address;
}

static struct visit pay_visit(struct stage *stage)
{
	struct visit visit = {.am = api_address(stage->bed->api), .dashboard = log_in(stage, "")};
	char *answer cleanup_free =
		answer_at(stage, visit.am, "GET /ui/tensorboard/", visit.dashboard);
	char *location cleanup_free = header_of(answer, "\r\nLocation: http://localhost");

	assert_ptr_equal(strstr(answer, "HTTP/1.1 303 "), answer);
	visit.address = door_address(stage);
	visit.door = follow(stage, visit.address, strchr(location, '/'));
	return visit;
}

/* ------------------------------------------------------------------------------------------- */

static void test_a_browser_is_led_to_a_port_of_the_programs_own(void **state)
{
	struct stage *stage = *state;
	char *cookie cleanup_free = log_in(stage, "");
	char *address cleanup_free = door_address(stage);
	char *start cleanup_free =
		mem_printf("http://localhost%s/login?code=", strrchr(address, ':'));
	char *answer cleanup_free = answer_at(stage, api_address(stage->bed->api),
					      "GET /ui/tensorboard/a%20b?c=%26d&e=f", cookie);
	char *location cleanup_free = header_of(answer, "\r\nLocation: ");

	assert_string_not_equal(address, api_address(stage->bed->api));
	assert_ptr_equal(strstr(location, start), location);
	char *path cleanup_free = mem_strdup(strstr(location, "/login"));
	char *first cleanup_free = mem_printf("GET %s", path);
	char *entered cleanup_free = answer_at(stage, address, first, HOST);
	char *further cleanup_free = header_of(entered, "\r\nLocation: ");
	assert_string_equal(further, "./ui/tensorboard/a%20b?c=%26d&e=f");
	assert_non_null(strstr(entered, "\r\nSet-Cookie: tony-ui-tony-test="));
	expect_at(stage, address, first, HOST, "403 Forbidden");
}

/* promise: S40 */
static void test_the_dashboards_port_serves_no_programs_page(void **state)
{
	struct stage *stage = *state;
	char *cookie cleanup_free = log_in(stage, "");
	const char *am = api_address(stage->bed->api);
	char *working cleanup_free =
		mem_printf("%sOrigin: http://localhost:4000\r\nContent-Length: 0\r\n", cookie);
	char *upgrading cleanup_free =
		mem_printf("%sOrigin: http://localhost:4000\r\nUpgrade: websocket\r\n", cookie);
	char *inside cleanup_free =
		mem_printf("%sSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\n"
			   "Sec-Fetch-Dest: iframe\r\n",
			   cookie);

	expect_at(stage, am, "GET /ui/worker/", cookie, "HTTP/1.1 303 ");
	expect_at(stage, am, "HEAD /ui/worker:0/x", cookie, "HTTP/1.1 303 ");
	expect_at(stage, am, "POST /ui/worker/", working, "\"code\":\"own-origin\"");
	expect_at(stage, am, "GET /ui/worker/", upgrading, "HTTP/1.1 403 Forbidden");
	expect_refused(stage, am, "GET /ui/worker/", inside);
}

/* promise: S41 */
static void test_what_opens_the_door_opens_nothing_else(void **state)
{
	struct stage *stage = *state;
	struct visit visit cleanup_visit = pay_visit(stage);

	expect_refused(stage, visit.am, "GET /v1/job", visit.door);
	expect_refused(stage, visit.am, "GET /ui/worker/", visit.door);
	expect_refused(stage, visit.address, "GET /ui/worker/", visit.dashboard);
	expect_refused(stage, visit.address, "GET /ui/worker/", TOKEN);
	expect_at(stage, visit.address, "GET /v1/job", visit.door, "HTTP/1.1 404 ");
	expect_at(stage, visit.address, "GET /", visit.door,
		  "Location: http://localhost:4000/\r\n");
	expect_at(stage, visit.address, "GET /assets/app.js", visit.door, "HTTP/1.1 404 ");
}

/* promise: S10 S11 */
static void test_who_gets_through(void **state)
{
	struct stage *stage = *state;
	struct visit visit cleanup_visit = pay_visit(stage);
	static const struct {
		const char *request;
		bool passes;
	} rows[] = {
		{"GET /ui/worker/ HTTP/1.1\r\n", true},
		{"GET /ui/worker/ HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\n", true},
		/* Such as the dashboard's page, or that of another program. */
		{"GET /ui/worker/ HTTP/1.1\r\nSec-Fetch-Site: same-site\r\n", false},
		{"GET /ui/worker/ HTTP/1.1\r\nOrigin: http://localhost:5000\r\n", false},
		/* A notebook is worked with, by its own page only. */
		{"POST /ui/worker/ HTTP/1.1\r\nOrigin: http://localhost:4000\r\nContent-Length: "
		 "0\r\n",
		 true},
		{"POST /ui/worker/ HTTP/1.1\r\nOrigin: http://localhost:5000\r\nContent-Length: "
		 "0\r\n",
		 false},
		{"POST /ui/worker/ HTTP/1.1\r\nContent-Length: 0\r\n", false},
		{"GET /ui/worker/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		 "Origin: http://localhost:4000\r\n",
		 true},
		{"GET /ui/worker/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
		 false},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *request cleanup_free = mem_printf("%s%s\r\n", rows[i].request, visit.door);
		call_at(stage, visit.address, request);
		if (rows[i].passes) {
			expect_program(stage, "\r\n\r\n");
			assert_null(strstr(str_text(&stage->program.received), "tony-"));
		} else {
			expect_browser(stage, "401 Unauthorized");
			assert_false(stage->is_called);
		}
		hang_up(stage);
	}
	expect_refused(stage, visit.address, "GET /ui/worker/", HOST);
}

static void test_a_tunnel_says_where_its_browser_finds_the_door(void **state)
{
	struct stage *stage = *state;
	char *cookie cleanup_free = log_in(stage, "&ui=8001");
	struct reply reply;

	expect_at(stage, api_address(stage->bed->api), "GET /ui/tensorboard/", cookie,
		  "\r\nLocation: http://localhost:8001/login?code=");
	ask(stage->bed, &reply, "POST", "/v1/links", NULL);
	char *bad cleanup_free = mem_printf("GET /%s&ui=80000", reply_member(&reply, "path"));
	reply_finish(&reply);
	expect_at(stage, api_address(stage->bed->api), bad, HOST, "400 Bad Request");
}

static void test_hosts_are_called_as_the_browser_does(void **state)
{
	static const struct {
		const char *host, *start;
	} rows[] = {
		{"Host: localhost:8000\r\n", "Location: http://localhost:"},
		{"Host: 127.0.0.2\r\n", "Location: http://127.0.0.2:"},
		{"Host: [::1]:4000\r\n", "Location: http://[::1]:"},
	};
	struct stage *stage = *state;
	char *cookie cleanup_free = log_in(stage, "");

	for (size_t i = 0; i < array_length(rows); i++) {
		char *headers cleanup_free =
			mem_printf("%s%s", rows[i].host, strstr(cookie, "Cookie: "));
		expect_at(stage, api_address(stage->bed->api), "GET /ui/worker/", headers,
			  rows[i].start);
	}
}

static void trust_proxy(struct stage *stage)
{
	struct str_list hosts cleanup_str_list = {0};

	str_list_add(&hosts, "127.0.0.1");
	api_trust_proxies(stage->bed->api, &hosts, false);
	api_bed_run_idle(stage->bed);
}

/* promise: S40 */
static void test_behind_a_proxy_programs_have_no_pages(void **state)
{
	struct stage *stage = *state;
	char *cookie cleanup_free = log_in(stage, "");
	char *forwarded cleanup_free = mem_printf("%sX-Forwarded-For: 10.0.0.9\r\n", cookie);
	const char *am = api_address(stage->bed->api);

	expect_at(stage, am, "GET /ui/worker/", forwarded, "\"code\":\"own-origin\"");
	trust_proxy(stage);
	expect_at(stage, am, "GET /ui/worker/", HOST, "HTTP/1.1 403 ");
	expect_at(stage, am, "GET /ui/worker/", HOST "Accept: text/html\r\n", "tony open JOB");
	expect_at(stage, am, "GET /ui/worker/", HOST, "tony.application.ui-origin=shared-origin");
}

static void expect_passes(struct stage *stage, const char *headers)
{
	char *request cleanup_free = mem_printf("GET /ui/worker/a HTTP/1.1\r\n%s\r\n", headers);

	call(stage, request);
	expect_program(stage, "GET /a HTTP/1.1\r\n");
	hang_up(stage);
}

static void test_a_shared_origin_is_asked_for(void **state)
{
	struct stage *stage = *state;
	char *cookie cleanup_free = log_in(stage, "");
	char *address cleanup_free = door_address(stage);

	assert_string_equal(address, "");
	expect_passes(stage, cookie);
	trust_proxy(stage);
	expect_passes(stage, HOST);
}

#define on_stage(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_stage(test_a_browser_is_led_to_a_port_of_the_programs_own),
		on_stage(test_the_dashboards_port_serves_no_programs_page),
		on_stage(test_what_opens_the_door_opens_nothing_else),
		on_stage(test_who_gets_through),
		on_stage(test_a_tunnel_says_where_its_browser_finds_the_door),
		on_stage(test_hosts_are_called_as_the_browser_does),
		on_stage(test_behind_a_proxy_programs_have_no_pages),
		cmocka_unit_test_setup_teardown(test_a_shared_origin_is_asked_for, set_up_shared,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
