/* What is promised: docs/rest.md, of the dashboard's files, and of who may look without the token.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../net/peer.h"
#include "api_bed.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/record.h"
#include "web/assets.h"

static int set_up(void **state)
{
	*state = api_bed_create("worker=2 ps=1:untracked", NULL);
	return 0;
}

static int tear_down(void **state)
{
	api_bed_destroy(*state);
	return 0;
}

static void open_peer(struct peer *peer, struct api_bed *bed, const char *request)
{
	peer_open(peer, bed->base, api_address(bed->api));
	peer_send(peer, request);
}

/* Sends a request that has the connection closed behind its answer. The caller frees. */
static char *answer_to(struct api_bed *bed, const char *request)
{
	struct peer peer;

	open_peer(&peer, bed, request);
	peer_expect_end(&peer, bed->base);
	char *answer = mem_strdup(str_text(&peer.received));
	peer_close(&peer);
	return answer;
}

static void expect(const char *answer, const char *text)
{
	if (!strstr(answer, text))
		fail_msg("no \"%s\" in: %s", text, answer);
}

/* Of every request here. */
#define CLOSE "Host: localhost:4000\r\nConnection: close\r\n"

/* promise: S13 */
static void test_page_is_for_everybody(void **state)
{
	const struct web_asset *page = web_asset_find("index.html");
	char *length cleanup_free = mem_printf("Content-Length: %zu\r\n", page->length);
	char *answer cleanup_free = answer_to(*state, "GET / HTTP/1.1\r\n" CLOSE "\r\n");

	expect(answer, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n");
	expect(answer, "\r\nContent-Security-Policy: default-src 'none'; script-src 'self';");
	expect(answer, "; frame-ancestors 'none'\r\n");
	expect(answer, "\r\nX-Content-Type-Options: nosniff\r\n");
	expect(answer, "\r\nReferrer-Policy: no-referrer\r\n");
	expect(answer, "\r\nCache-Control: no-cache\r\n");
	expect(answer, length);
	expect(answer, (const char *)page->bytes);
	assert_null(strstr(answer, "no-store"));
}

static void test_head_has_no_body(void **state)
{
	const struct web_asset *page = web_asset_find("index.html");
	char *length cleanup_free = mem_printf("Content-Length: %zu\r\n", page->length);
	char *answer cleanup_free = answer_to(*state, "HEAD / HTTP/1.1\r\n" CLOSE "\r\n");

	expect(answer, "HTTP/1.1 200 OK\r\n");
	expect(answer, length);
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	char *refusal cleanup_free = answer_to(*state, "HEAD /v1/job HTTP/1.1\r\n" CLOSE "\r\n");
	expect(refusal, "HTTP/1.1 401 ");
	assert_string_equal(strstr(refusal, "\r\n\r\n"), "\r\n\r\n");
}

static const struct web_asset *find_chart(void)
{
	const struct web_asset *chart = web_asset_find("vendor/uPlot.js");

	if (!chart)
		fail_msg("uPlot.js is not in this build");
	return chart;
}

static void test_page_can_tell_of_each_key(void **state)
{
	const struct web_asset *keys = web_asset_find("keys.json");

	assert_non_null(keys);
	assert_string_equal(keys->content_type, "application/json");
	json_t *all cleanup_json = json_loadb((const char *)keys->bytes, keys->length, 0, NULL);
	assert_true(json_array_size(all) > 100);
	assert_non_null(json_object_get(json_array_get(all, 0), "doc"));
}

static void test_what_the_browser_has_is_not_sent_again(void **state)
{
	const struct web_asset *chart = find_chart();
	char *request cleanup_free = mem_printf(
		"GET /assets/vendor/uPlot.js HTTP/1.1\r\nIf-None-Match: %s\r\n" CLOSE "\r\n",
		chart->etag);
	char *answer cleanup_free = answer_to(*state, request);

	expect(answer, "HTTP/1.1 304 Not Modified\r\n");
	expect(answer, chart->etag);
	assert_null(strstr(answer, "Content-Length"));
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	char *other cleanup_free = answer_to(
		*state, "GET /assets/vendor/uPlot.css HTTP/1.1\r\nIf-None-Match: \"0123\"\r\n" CLOSE
			"\r\n");
	expect(other, "HTTP/1.1 200 OK\r\nContent-Type: text/css");
}

static void test_compressed_when_that_is_understood(void **state)
{
	const struct web_asset *chart = find_chart();
	char *length cleanup_free = mem_printf("Content-Length: %zu\r\n", chart->gzip_length);
	char *answer cleanup_free = answer_to(
		*state,
		"HEAD /assets/vendor/uPlot.js HTTP/1.1\r\nAccept-Encoding: br, gzip\r\n" CLOSE
		"\r\n");

	assert_true(chart->gzip_length < chart->length);
	expect(answer, "Content-Encoding: gzip\r\n");
	expect(answer, "Vary: Accept-Encoding\r\n");
	expect(answer, length);
}

/* The address is one that the page itself names. */
static char *find_named(const char *page)
{
	const char *named = strstr(page, "src=\"assets/");

	assert_non_null(named);
	named += strlen("src=\"");
	return mem_strndup(named, strcspn(named, "\""));
}

static void test_files_that_the_page_names_are_kept_without_asking(void **state)
{
	char *page cleanup_free = answer_to(*state, "GET / HTTP/1.1\r\n" CLOSE "\r\n");
	char *path cleanup_free = find_named(page);
	char *request cleanup_free = mem_printf("GET /%s HTTP/1.1\r\n" CLOSE "\r\n", path);
	char *answer cleanup_free = answer_to(*state, request);

	expect(answer, "HTTP/1.1 200 OK\r\nContent-Type: text/javascript");
	expect(answer, "\r\nCache-Control: max-age=31536000, immutable\r\n");
	assert_null(strstr(page, "\"assets/app.js\""));
}

static void test_a_page_of_another_version_gets_files_that_are_not_kept(void **state)
{
	char *answer cleanup_free = answer_to(
		*state, "GET /assets/0123456789abcdef/vendor/uPlot.css HTTP/1.1\r\n" CLOSE "\r\n");

	expect(answer, "HTTP/1.1 200 OK\r\nContent-Type: text/css");
	expect(answer, "\r\nCache-Control: no-cache\r\n");
	char *none cleanup_free = answer_to(
		*state, "GET /assets/0123456789abcdef/none.css HTTP/1.1\r\n" CLOSE "\r\n");
	expect(none, "HTTP/1.1 404 ");
}

/* ---- a way in ----------------------------------------------------------------------------- */

/* Asks for a link, and follows it. The session's cookie, as a header's line; the caller frees. */
static char *log_in(struct api_bed *bed, const char *to)
{
	struct reply reply;

	ask(bed, &reply, "POST", "/v1/links", NULL);
	assert_int_equal(reply.status, 200);
	char *request cleanup_free =
		mem_printf("GET /%s%s HTTP/1.1\r\n" CLOSE "\r\n", reply_member(&reply, "path"), to);
	reply_finish(&reply);
	char *answer cleanup_free = answer_to(bed, request);
	expect(answer, "HTTP/1.1 303 See Other\r\n");
	const char *cookie = strstr(answer, "Set-Cookie: tony-tony-test=");
	assert_non_null(cookie);
	cookie += strlen("Set-Cookie: ");
	char *location = strstr(answer, "Location: ");
	assert_non_null(location);
	expect(location, *to ? "Location: ./ui/tensorboard/\r\n" : "Location: ./\r\n");
	char *again cleanup_free = answer_to(bed, request);
	expect(again, "HTTP/1.1 403 Forbidden\r\n");
	expect(again, "tony open");
	return mem_printf("Cookie: %.*s\r\n", (int)strcspn(cookie, ";"), cookie);
}

static void expect_answer(struct api_bed *bed, const char *first, const char *headers,
			  const char *status)
{
	char *request cleanup_free = mem_printf("%s HTTP/1.1\r\n%s" CLOSE "\r\n", first, headers);
	char *answer cleanup_free = answer_to(bed, request);

	if (!strstr(answer, status))
		fail_msg("%s with \"%s\": %s", first, headers, answer);
}

/* promise: S7 S8 */
static void test_a_link_lets_look(void **state)
{
	static const char *const read[] = {
		"GET /v1/job",
		"GET /v1/tasks",
		"GET /v1/tasks/worker:0",
		"GET /v1/tasks/worker:0/attempts",
		"GET /v1/tasks/worker:0/logs",
		"GET /v1/events",
		"GET /v1/metrics",
		"GET /v1/config",
		"GET /v1/cluster",
		"GET /v1/environment?type=worker",
	};
	static const char *const refused[] = {
		"POST /v1/job/kill",
		"POST /v1/tasks/worker:0/restart",
		"POST /v1/links",
		"GET /v1/kv/key",
		"PUT /v1/kv/key",
		"DELETE /v1/kv/key",
		"POST /v1/tasks/worker:0/beat",
	};
	char *cookie cleanup_free = log_in(*state, "");

	for (size_t i = 0; i < array_length(read); i++) {
		expect_answer(*state, read[i], cookie, "HTTP/1.1 200 OK");
		expect_answer(*state, read[i], "", "HTTP/1.1 401 Unauthorized");
		expect_answer(*state, read[i], "Cookie: tony-tony-test=0123\r\n",
			      "HTTP/1.1 401 Unauthorized");
	}
	for (size_t i = 0; i < array_length(refused); i++)
		expect_answer(*state, refused[i], cookie, "HTTP/1.1 401 Unauthorized");
}

static void test_a_link_may_lead_further(void **state)
{
	char *cookie cleanup_free = log_in(*state, "&to=ui/tensorboard/");
	char *answer cleanup_free = NULL;

	assert_non_null(cookie);
	/* But never elsewhere. */
	static const char *const elsewhere[] = {"//evil.example/", "../x", "/x", "%0d%0aX:y"};
	for (size_t i = 0; i < array_length(elsewhere); i++) {
		struct reply reply;
		ask(*state, &reply, "POST", "/v1/links", NULL);
		char *request cleanup_free = mem_printf("GET /%s&to=%s HTTP/1.1\r\n" CLOSE "\r\n",
							reply_member(&reply, "path"), elsewhere[i]);
		reply_finish(&reply);
		mem_replace(&answer, answer_to(*state, request));
		expect(answer, "Location: ./\r\n");
	}
}

/* ---- a link that controls ----------------------------------------------------------------- */

/* Of a link with control: the session's cookie and what its page shows, each a header's line. */
struct control {
	char *cookie, *header;
};

static void control_finish(struct control *control)
{
	free(control->cookie);
	free(control->header);
}
#define cleanup_control __attribute__((cleanup(control_finish)))

static struct control take_control(struct api_bed *bed)
{
	struct reply reply;

	ask(bed, &reply, "POST", "/v1/links?control=1", NULL);
	assert_int_equal(reply.status, 200);
	char *request cleanup_free =
		mem_printf("GET /%s&to=ui/tensorboard/ HTTP/1.1\r\n" CLOSE "\r\n",
			   reply_member(&reply, "path"));
	reply_finish(&reply);
	char *answer cleanup_free = answer_to(bed, request);
	const char *cookie = strstr(answer, "Set-Cookie: ") + strlen("Set-Cookie: ");
	const char *secret = strstr(answer, "Location: ./#/?control=");
	assert_non_null(secret);
	secret += strlen("Location: ./#/?control=");
	assert_int_equal(strcspn(secret, "\r"), 64);
	/* The cookie does not hold it. */
	char *shown cleanup_free = mem_strndup(secret, 64);
	assert_null(strstr(cookie, shown) < strstr(cookie, "\r") ? strstr(cookie, shown) : NULL);
	return (struct control){
		.cookie = mem_printf("Cookie: %.*s\r\n", (int)strcspn(cookie, ";"), cookie),
		.header = mem_printf("X-Tony-Control: %s\r\n", shown)};
}

#define OWN "Origin: http://localhost:4000\r\nContent-Length: 0\r\n"

/* With the session's cookie. */
static void expect_refused(struct api_bed *bed, const char *first, const char *cookie,
			   const char *shown, const char *origin)
{
	char *headers cleanup_free = mem_printf("%s%s%s", cookie, shown, origin);

	expect_answer(bed, first, headers, "HTTP/1.1 401 Unauthorized");
}

/* promise: S100 */
static void test_a_link_with_control_changes_the_job(void **state)
{
	struct api_bed *bed = *state;
	struct control control cleanup_control = take_control(bed);
	char *headers cleanup_free = mem_printf("%s%s" OWN, control.cookie, control.header);

	expect_answer(bed, "GET /v1/server", control.cookie,
		      "\"actions\":[\"kill\",\"restart\",\"scale\"]");
	expect_answer(bed, "POST /v1/tasks/worker:0/restart", headers, "HTTP/1.1 409 ");
	expect_answer(bed, "POST /v1/job/scale", headers, "HTTP/1.1 400 ");
	expect_answer(bed, "POST /v1/job/kill", headers, "HTTP/1.1 200 OK");
	assert_int_equal(bed_status(bed->bed).outcome, JOB_KILLED);
	/* And nothing else that changes it. */
	static const char *const others[] = {"POST /v1/links", "PUT /v1/job/tokens",
					     "PUT /v1/kv/key", "POST /v1/tasks/worker:0/exec"};
	for (size_t i = 0; i < array_length(others); i++)
		expect_answer(bed, others[i], headers, "HTTP/1.1 401 Unauthorized");
}

/* promise: S100 S101 */
static void test_control_needs_more_than_the_cookie(void **state)
{
	static const char *const calls[] = {"POST /v1/job/kill", "POST /v1/job/scale",
					    "POST /v1/tasks/worker:0/restart"};
	static const char *const origins[] = {
		"Content-Length: 0\r\n",
		"Origin: null\r\nContent-Length: 0\r\n",
		"Origin: http://localhost:4001\r\nContent-Length: 0\r\n",
		"Origin: http://evil.example\r\nContent-Length: 0\r\n",
		("Sec-Fetch-Site: cross-site\r\n" OWN),
	};
	struct api_bed *bed = *state;
	struct control control cleanup_control = take_control(bed);
	struct control other cleanup_control = take_control(bed);
	char *looks cleanup_free = log_in(bed, "");

	expect_answer(bed, "GET /v1/server", looks, "\"actions\":[]");
	for (size_t i = 0; i < array_length(calls); i++) {
		expect_refused(bed, calls[i], control.cookie, "", OWN);
		expect_refused(bed, calls[i], control.cookie, "X-Tony-Control: 0123\r\n", OWN);
		expect_refused(bed, calls[i], control.cookie, other.header, OWN);
		expect_refused(bed, calls[i], looks, control.header, OWN);
		expect_refused(bed, calls[i], "", control.header, OWN);
		for (size_t j = 0; j < array_length(origins); j++)
			expect_refused(bed, calls[i], control.cookie, control.header, origins[j]);
	}
	assert_int_equal(bed_status(bed->bed).state, JOB_FORMING);
}

static void share_origin(struct bed *bed)
{
	bed->job->config = json_pack("{s:{s:s,s:s}}", "tony.application.ui-origin", "value",
				     "shared-origin", "origin", "tony.xml");
}

static int set_up_shared(void **state)
{
	*state = api_bed_create("worker=2", share_origin);
	return 0;
}

/* promise: S101 */
static void test_no_control_where_programs_share_the_origin(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	ask(bed, &reply, "POST", "/v1/links?control=1", NULL);
	assert_int_equal(reply.status, 409);
	reply_finish(&reply);
	char *cookie cleanup_free = log_in(bed, "");
	assert_non_null(cookie);
}

/* promise: S10 S11 S39 */
static void test_other_sites_do_not_use_the_cookie(void **state)
{
	char *cookie cleanup_free = log_in(*state, "");
	static const struct {
		const char *headers, *status;
	} rows[] = {
		{"Sec-Fetch-Site: same-origin\r\n", "200 OK"},
		{"Sec-Fetch-Site: none\r\n", "200 OK"},
		{"Sec-Fetch-Site: cross-site\r\n", "401 "},
		/* Another server of the same machine. */
		{"Sec-Fetch-Site: same-site\r\n", "401 "},
		{"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"
		 "Sec-Fetch-Dest: image\r\n",
		 "401 "},
		{"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"
		 "Sec-Fetch-Dest: iframe\r\n",
		 "401 "},
		{"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"
		 "Sec-Fetch-Dest: document\r\n",
		 "200 OK"},
		/* Browsers leave Sec-Fetch-Site out where a server speaks plain HTTP. */
		{"Origin: http://localhost:4000\r\n", "200 OK"},
		{"Origin: http://localhost:4001\r\n", "401 "},
		{"Origin: null\r\n", "401 "},
		{"Origin: http://evil.example\r\nAccept: text/event-stream\r\n", "401 "},
		/* It would outlive the page. */
		{"Sec-Fetch-Site: same-origin\r\nService-Worker: script\r\n", "401 "},
		{"Upgrade: websocket\r\nOrigin: http://evil.example\r\n", "401 "},
		{"Upgrade: websocket\r\n", "401 "},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *headers cleanup_free = mem_printf("%s%s", cookie, rows[i].headers);
		expect_answer(*state, "GET /v1/job", headers, rows[i].status);
	}
}

/* promise: S49 */
static void test_strangers_are_told_the_kind_of_server_only(void **state)
{
	char *cookie cleanup_free = log_in(*state, "");
	char *elsewhere cleanup_free = mem_printf("%sSec-Fetch-Site: cross-site\r\n", cookie);
	static const char only[] = "\r\n\r\n{\"kind\":\"am\"}";

	expect_answer(*state, "GET /v1/server", "", only);
	expect_answer(*state, "GET /v1/server", "Authorization: Bearer x\r\n", only);
	expect_answer(*state, "GET /v1/server", elsewhere, only);
	expect_answer(*state, "GET /v1/server", cookie, "\"job\":\"tony-test\"");
}

static void trust(struct api_bed *bed, const char *host, bool prove)
{
	struct str_list hosts cleanup_str_list = {0};

	str_list_add(&hosts, host);
	api_trust_proxies(bed->api, &hosts, prove);
	api_bed_run_idle(bed);
}

static void test_a_schedulers_proxy_is_known_by_its_address(void **state)
{
	struct api_bed *bed = *state;

	trust(bed, "127.0.0.2", false);
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=dr.who\r\n", "401 ");
	trust(bed, "127.0.0.1", false);
	expect_answer(bed, "GET /v1/job", "", "200 OK");
	expect_answer(bed, "GET /v1/server", "", "\"viewer\":\"anonymous\"");
	expect_answer(bed, "GET /v1/server", "Cookie: proxy-user=dr.who\r\n",
		      "\"viewer\":\"dr.who\"");
	expect_answer(bed, "POST /v1/job/kill", "", "401 ");
	expect_answer(bed, "GET /v1/kv/key", "", "401 ");
}

static void name_friends(struct bed *bed)
{
	bed->job->config = json_pack("{s:{s:s,s:s}}", "tony.application.acl.view", "value",
				     "bob,carol ops", "origin", "tony.xml");
}

static void name_administrators(struct bed *bed)
{
	name_friends(bed);
	json_object_set_new(bed->job->config, "tony.admin.acl",
			    json_pack("{s:s}", "value", "root ops"));
}

/* promise: S75 */
static void test_a_proxy_proves_who_looks(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", name_administrators);

	trust(bed, "127.0.0.1", true);
	expect_answer(bed, "GET /v1/job", "", "401 ");
	expect_answer(bed, "GET /v1/server", "", "\r\n\r\n{\"kind\":\"am\"}");
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=alice\r\n", "200 OK");
	expect_answer(bed, "GET /v1/job", "Cookie: a=b; proxy-user=carol\r\n", "200 OK");
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=dave\r\n", "401 ");
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=ops\r\n", "401 ");
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=root\r\n", "200 OK");
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=\r\n", "401 ");
	expect_answer(bed, "POST /v1/job/kill", "Cookie: proxy-user=alice\r\n", "401 ");
	api_bed_destroy(bed);
}

/* Groups are told by this node's `id`: dave is one of ops, eve is not, and frank is told nothing
 * about. */
static void know_groups(struct api_bed *bed)
{
	static const char script[] = "#!/bin/sh\n"
				     "case $1,$2,$3 in\n"
				     "-Gnz,--,dave) printf 'other ops\\0ops\\0' ;;\n"
				     "-Gnz,--,eve) printf 'other ops\\0' ;;\n"
				     "*) exit 1 ;;\n"
				     "esac\n";
	const char *path = api_bed_path(bed, "id");

	assert_int_equal(fs_write_file(path, script, strlen(script), 0755, NULL), 0);
	setenv("PATH", bed->directory, true);
}

/* promise: S75 */
static void test_a_group_of_the_list_looks(void **state)
{
	char *path cleanup_free = mem_strdup(getenv("PATH"));
	struct api_bed *bed = api_bed_create("worker=1", name_friends);

	know_groups(bed);
	trust(bed, "127.0.0.1", true);
	expect_answer(bed, "GET /v1/server", "Cookie: proxy-user=dave\r\n", "\"viewer\":\"dave\"");
	for (int again = 0; again < 2; again++) {
		expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=dave\r\n", "200 OK");
		expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=eve\r\n", "401 ");
		expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=frank\r\n", "401 ");
		expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=0\r\n", "401 ");
		expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=-G\r\n", "401 ");
		expect_answer(bed, "POST /v1/job/kill", "Cookie: proxy-user=dave\r\n", "401 ");
	}
	api_bed_destroy(bed);
	setenv("PATH", path, true);
}

static void name_friends_as_before(struct bed *bed)
{
	bed->job->config = json_pack("{s:{s:s}}", "tony.yarn.view-acl", "value", "bob,carol ops");
}

static void test_a_description_may_have_the_older_name_of_the_acl(void **state)
{
	struct api_bed *bed = api_bed_create("worker=1", name_friends_as_before);

	trust(bed, "127.0.0.1", true);
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=carol\r\n", "200 OK");
	expect_answer(bed, "GET /v1/job", "Cookie: proxy-user=dave\r\n", "401 ");
	api_bed_destroy(bed);
}

/* ---- more of a job ------------------------------------------------------------------------ */

static void give_environment(struct bed *bed)
{
	struct str_list *environment = &bed->job->types[0].environment;

	name_friends(bed);
	str_list_add(environment, "DATA=/data=1");
	str_list_add(environment, "WANDB_API_KEY=abc");
	str_list_add(environment, "db_password=abc");
}

static void expect_json(struct api_bed *bed, const char *path, const char *expected)
{
	struct reply reply;

	ask(bed, &reply, "GET", path, NULL);
	assert_int_equal(reply.status, 200);
	assert_string_equal(str_text(&reply.text), expected);
	reply_finish(&reply);
}

static void test_what_the_job_was_told(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2 ps=1:untracked", give_environment);

	expect_json(bed, "/v1/config",
		    "{\"tony.application.acl.view\":{\"value\":\"bob,carol "
		    "ops\",\"origin\":\"tony.xml\"}}");
	expect_json(bed, "/v1/environment?type=worker",
		    "{\"DATA\":\"/data=1\",\"WANDB_API_KEY\":\"***\",\"db_password\":\"***\"}");
	expect_json(bed, "/v1/environment?type=ps", "{}");
	expect_answer(bed, "GET /v1/diff", "Authorization: Bearer " BED_TOKEN "\r\n",
		      "HTTP/1.1 404 Not Found");
	expect_answer(bed, "GET /v1/environment", "Authorization: Bearer " BED_TOKEN "\r\n",
		      "400 ");
	expect_answer(bed, "GET /v1/environment?type=x", "Authorization: Bearer " BED_TOKEN "\r\n",
		      "404 ");
	bring_in(bed, "worker:0", 4001);
	expect_json(bed, "/v1/cluster",
		    "{\"epoch\":1,\"types\":{\"worker\":[\"127.0.0.1:4001\",null],\"ps\":[null]}}");
	expect_json(bed, "/v1/tasks/ps:0/attempts", "[]");
	expect_answer(bed, "GET /v1/tasks/ps:7/attempts", "Authorization: Bearer " BED_TOKEN "\r\n",
		      "404 ");
	api_bed_destroy(bed);
}

static void test_logs_that_can_be_read(void **state)
{
	struct api_bed *bed = *state;

	expect_json(bed, "/v1/tasks/worker:0/logs", "[]");
	api_bed_log(bed, "stderr", "hello\n");
	expect_json(bed, "/v1/tasks/worker:0/logs",
		    "[{\"log\":\"stderr\",\"bytes\":6,\"attempt\":1}]");
	expect_answer(bed, "GET /v1/tasks/worker:7/logs", "Authorization: Bearer " BED_TOKEN "\r\n",
		      "404 ");
}

static void test_event_streams_say_that_they_are_there(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;

	ask_stream(bed, &reply, "/v1/events?since=1000", "text/event-stream");
	reply_wait_text(&reply, "event: pulse\ndata:\n\n");
	reply_finish(&reply);
}

static void test_files_that_are_not_there(void **state)
{
	static const char *const paths[] = {"/assets/package.json", "/assets/../index.html",
					    "/assets/%2e%2e/token", "/assets/a"};

	for (size_t i = 0; i < array_length(paths); i++) {
		char *request cleanup_free =
			mem_printf("GET %s HTTP/1.1\r\n" CLOSE "\r\n", paths[i]);
		char *answer cleanup_free = answer_to(*state, request);
		expect(answer, "HTTP/1.1 404 Not Found\r\n");
	}
}

#define on_bed(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* ---- the last line ------------------------------------------------------------------------ */

static void on_lingered(void *data)
{
	*(bool *)data = true;
}

static void conclude(struct api_bed *bed, int64_t linger_ms, bool *lingered)
{
	json_t *line = record_final(JOB_SUCCEEDED, "the job succeeded", NULL);

	assert_int_equal(journal_append(bed->journal, line, 2000, false, NULL), 0);
	api_journal_appended(bed->api, journal_sequence(bed->journal));
	api_conclude(bed->api);
	api_linger(bed->api, linger_ms, on_lingered, lingered);
	api_bed_run_idle(bed);
}

#define LONG_MS (3600 * 1000)

/* As a browser does; the connection is closed behind the answer. */
static void open_get(struct peer *peer, struct api_bed *bed, const char *path, const char *headers)
{
	char *request cleanup_free =
		mem_printf("GET %s HTTP/1.1\r\n%s" CLOSE "\r\n", path, headers);

	open_peer(peer, bed, request);
}

static void expect_last_line(struct api_bed *bed, const char *cookie)
{
	struct peer peer;

	open_get(&peer, bed, "/v1/events?wait=25000", cookie);
	peer_expect_end(&peer, bed->base);
	expect(str_text(&peer.received), "the job succeeded");
	peer_close(&peer);
}

/* It lingers until the browser asks. */
static void conclude_for_viewer(struct api_bed *bed, const char *cookie)
{
	bool lingered = false;

	conclude(bed, LONG_MS, &lingered);
	assert_false(lingered);
	expect_last_line(bed, cookie);
	run_until(bed->base, &lingered);
}

static void test_a_job_nobody_looks_at_ends_at_once(void **state)
{
	struct api_bed *bed = *state;
	struct reply reply;
	bool lingered = false;

	/* Programs with the token know what to do. */
	ask(bed, &reply, "GET", "/v1/server", NULL);
	reply_finish(&reply);
	ask(bed, &reply, "GET", "/v1/events", NULL);
	reply_finish(&reply);
	conclude(bed, LONG_MS, &lingered);
	run_until(bed->base, &lingered);
}

static void test_open_streams_are_not_waited_for(void **state)
{
	char *cookie cleanup_free = log_in(*state, "");
	char *headers cleanup_free = mem_printf("%sAccept: text/event-stream\r\n", cookie);
	struct api_bed *bed = *state;
	struct peer peer;
	bool lingered = false;

	expect_answer(bed, "GET /v1/server", cookie, "HTTP/1.1 200 OK");
	open_get(&peer, bed, "/v1/events", headers);
	peer_expect(&peer, bed->base, "id: 1\n");
	conclude(bed, LONG_MS, &lingered);
	run_until(bed->base, &lingered);
	peer_expect_end(&peer, bed->base);
	expect(str_text(&peer.received), "the job succeeded");
	peer_close(&peer);
}

static void test_a_page_that_was_just_opened_hears_of_the_end(void **state)
{
	char *cookie cleanup_free = log_in(*state, "");

	expect_answer(*state, "GET /v1/server", cookie, "HTTP/1.1 200 OK");
	conclude_for_viewer(*state, cookie);
}

static void test_who_polls_hears_of_the_end(void **state)
{
	char *cookie cleanup_free = log_in(*state, "");

	expect_answer(*state, "GET /v1/events?wait=25000", cookie, "HTTP/1.1 200 OK");
	conclude_for_viewer(*state, cookie);
}

static void test_who_lost_its_stream_hears_of_the_end(void **state)
{
	char *cookie cleanup_free = log_in(*state, "");
	char *headers cleanup_free = mem_printf("%sAccept: text/event-stream\r\n", cookie);
	struct api_bed *bed = *state;
	struct peer peer;

	open_get(&peer, bed, "/v1/events", headers);
	peer_expect(&peer, bed->base, "id: 1\n");
	peer_close(&peer);
	api_bed_run_idle(bed);
	conclude_for_viewer(bed, cookie);
}

static void test_who_does_not_come_back_is_not_waited_for_long(void **state)
{
	char *cookie cleanup_free = log_in(*state, "");
	struct api_bed *bed = *state;
	bool lingered = false;

	expect_answer(bed, "GET /v1/server", cookie, "HTTP/1.1 200 OK");
	conclude(bed, 1, &lingered);
	run_until(bed->base, &lingered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_bed(test_page_is_for_everybody),
		on_bed(test_head_has_no_body),
		on_bed(test_what_the_browser_has_is_not_sent_again),
		on_bed(test_compressed_when_that_is_understood),
		on_bed(test_files_that_the_page_names_are_kept_without_asking),
		on_bed(test_a_page_of_another_version_gets_files_that_are_not_kept),
		on_bed(test_page_can_tell_of_each_key),
		on_bed(test_files_that_are_not_there),
		on_bed(test_a_link_lets_look),
		on_bed(test_a_link_may_lead_further),
		on_bed(test_a_link_with_control_changes_the_job),
		on_bed(test_control_needs_more_than_the_cookie),
		cmocka_unit_test_setup_teardown(test_no_control_where_programs_share_the_origin,
						set_up_shared, tear_down),
		on_bed(test_other_sites_do_not_use_the_cookie),
		on_bed(test_strangers_are_told_the_kind_of_server_only),
		on_bed(test_a_schedulers_proxy_is_known_by_its_address),
		cmocka_unit_test(test_a_proxy_proves_who_looks),
		cmocka_unit_test(test_a_group_of_the_list_looks),
		cmocka_unit_test(test_a_description_may_have_the_older_name_of_the_acl),
		cmocka_unit_test(test_what_the_job_was_told),
		on_bed(test_logs_that_can_be_read),
		on_bed(test_event_streams_say_that_they_are_there),
		on_bed(test_a_job_nobody_looks_at_ends_at_once),
		on_bed(test_open_streams_are_not_waited_for),
		on_bed(test_a_page_that_was_just_opened_hears_of_the_end),
		on_bed(test_who_polls_hears_of_the_end),
		on_bed(test_who_lost_its_stream_hears_of_the_end),
		on_bed(test_who_does_not_come_back_is_not_waited_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
