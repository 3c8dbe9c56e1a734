/* What web/ui_proxy.h and web/ui_head.h promise: a browser on one side, a program on the other,
 * both played by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "ui_stage.h"
#include "web/ui_head.h"

static void keep_path(struct bed *bed)
{
	bed->job->config = json_pack("{s:{s:s,s:s}}", "tony.application.ui-path", "value", "keep",
				     "origin", "tony.xml");
}

static int set_up_unserved(void **state)
{
	*state = stage_create(NULL);
	return 0;
}

static int set_up(void **state)
{
	set_up_unserved(state);
	serve(*state);
	return 0;
}

static int set_up_keeping(void **state)
{
	*state = stage_create(keep_path);
	serve(*state);
	return 0;
}

static int tear_down(void **state)
{
	stage_destroy(*state);
	return 0;
}

/* ---- the door ----------------------------------------------------------------------------- */

/* promise: S24 */
static void test_question_and_answer_pass(void **state)
{
	struct stage *stage = *state;

	call(stage, "GET /ui/tensorboard/data/runs?a=%20b HTTP/1.1\r\n" TOKEN
		    "Cookie: tony-tony-test=1; theme=dark; proxy-user=x\r\n"
		    "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nAccept: text/html\r\n\r\n");
	expect_program(stage, "\r\n\r\n");
	const char *question = str_text(&stage->program.received);
	assert_ptr_equal(strstr(question, "GET /data/runs?a=%20b HTTP/1.1\r\n" HOST), question);
	assert_non_null(strstr(question, "\r\nCookie: theme=dark; proxy-user=x\r\n"));
	assert_non_null(strstr(question, "\r\nX-Forwarded-Prefix: /ui/tensorboard\r\n"));
	assert_non_null(strstr(question, "\r\nX-Forwarded-For: 127.0.0.1\r\n"));
	assert_non_null(strstr(question, "\r\nConnection: close\r\n\r\n"));
	assert_null(strstr(question, BED_TOKEN));
	assert_null(strstr(question, "tony-tony-test"));
	assert_null(strstr(question, "X-Hop"));
	/* A program that keeps its connection open all the same. */
	peer_send(&stage->program, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
				   "Content-Length: 5\r\nKeep-Alive: timeout=5\r\n"
				   "Service-Worker-Allowed: /\r\n"
				   "Set-Cookie: a=b; Path=/x; Domain=evil; HttpOnly\r\n"
				   "Set-Cookie: tony-tony-test=stolen\r\n\r\nhello and more");
	expect_end(stage);
	const char *answer = str_text(&stage->browser.received);
	assert_ptr_equal(strstr(answer, "HTTP/1.1 200 \r\nContent-Length: 5\r\n"), answer);
	assert_non_null(
		strstr(answer, "\r\nSet-Cookie: a=b; HttpOnly; Path=/ui/tensorboard/x\r\n"));
	assert_non_null(strstr(answer, "\r\nConnection: close\r\n\r\nhello"));
	assert_null(strstr(answer, "and more"));
	assert_null(strstr(answer, "stolen"));
	assert_null(strstr(answer, "Service-Worker"));
	assert_null(strstr(answer, "Keep-Alive"));
}

static void test_bodies_pass_as_they_are_framed(void **state)
{
	struct stage *stage = *state;

	call(stage, "PATCH /ui/worker:0/x HTTP/1.1\r\n" TOKEN
		    "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
	expect_browser(stage, "HTTP/1.1 100 Continue\r\n\r\n");
	peer_forget(&stage->browser);
	peer_send(&stage->browser, "3\r\nabc\r\n");
	expect_program(stage, "\r\n\r\n3\r\nabc\r\n");
	assert_null(strstr(str_text(&stage->program.received), "Expect"));
	/* What follows the body is no part of it. */
	peer_send(&stage->browser, "0\r\n\r\nGET /secret HTTP/1.1\r\n\r\n");
	expect_program(stage, "abc\r\n0\r\n\r\n");
	peer_send(&stage->program, "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
				   "2\r\nhi\r\n");
	expect_browser(stage, "\r\n\r\n2\r\nhi\r\n");
	peer_send(&stage->program, "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
	expect_end(stage);
	assert_non_null(strstr(str_text(&stage->browser.received), "hi\r\n0\r\n\r\n"));
	assert_null(strstr(str_text(&stage->browser.received), "200 OK"));
	assert_null(strstr(str_text(&stage->program.received), "secret"));
}

static void test_an_answer_may_end_with_its_connection(void **state)
{
	struct stage *stage = *state;

	call(stage, "GET /ui/worker/ HTTP/1.1\r\n" TOKEN "\r\n");
	expect_program(stage, "GET / HTTP/1.1\r\n");
	peer_send(&stage->program, "HTTP/1.0 200 OK\r\n\r\nall");
	expect_browser(stage, "\r\n\r\nall");
	peer_send(&stage->program, " of it");
	expect_browser(stage, "all of it");
	assert_false(stage->browser.ended);
	peer_close(&stage->program);
	stage->is_called = false;
	expect_end(stage);
}

static void test_protocols_change(void **state)
{
	struct stage *stage = *state;

	call(stage, "GET /ui/notebook/ws HTTP/1.1\r\n" TOKEN
		    "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
		    "Sec-WebSocket-Key: abc\r\n\r\n");
	expect_program(stage, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	assert_non_null(
		strstr(str_text(&stage->program.received), "\r\nSec-WebSocket-Key: abc\r\n"));
	peer_send(&stage->program, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
				   "Connection: Upgrade\r\nSec-WebSocket-Accept: def\r\n\r\nfirst");
	expect_browser(stage, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst");
	peer_send(&stage->browser, "\x81ping");
	expect_program(stage, "\x81ping");
	peer_send(&stage->program, "\x81pong");
	expect_browser(stage, "\x81pong");
	/* Either of the two ends it. */
	peer_close(&stage->browser);
	peer_expect_end(&stage->program, stage->bed->base);
}

static void test_a_browser_that_goes_takes_its_question_along(void **state)
{
	struct stage *stage = *state;

	call(stage, "GET /ui/worker/slow HTTP/1.1\r\n" TOKEN "\r\n");
	expect_program(stage, "\r\n\r\n");
	peer_close(&stage->browser);
	peer_expect_end(&stage->program, stage->bed->base);
}

static void test_a_slow_browser_costs_little(void **state)
{
	enum { PIECE = 65536, PIECES = 1024 };
	struct stage *stage = *state;
	char *piece cleanup_free = mem_alloc(PIECE);

	call(stage, "GET /ui/worker/big HTTP/1.1\r\n" TOKEN "\r\n");
	event_del(&stage->browser.event); /* it does not read */
	expect_program(stage, "\r\n\r\n");
	char *head cleanup_free =
		mem_printf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", PIECE * PIECES);
	peer_send(&stage->program, head);
	size_t sent = 0;
	for (int i = 0; i < 2000; i++) {
		ssize_t some = send(stage->program.fd, piece, PIECE, MSG_DONTWAIT | MSG_NOSIGNAL);
		sent += some > 0 ? (size_t)some : 0;
		event_base_loop(stage->bed->base, EVLOOP_NONBLOCK);
	}
	/* The kernel's buffers are all that could fill. */
	assert_true(sent < (size_t)PIECE * PIECES);
	event_add(&stage->browser.event, NULL);
	while (sent < (size_t)PIECE * PIECES) {
		size_t left = (size_t)PIECE * PIECES - sent;
		ssize_t some = send(stage->program.fd, piece, left < PIECE ? left : PIECE,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		sent += some > 0 ? (size_t)some : 0;
		event_base_loop(stage->bed->base, EVLOOP_NONBLOCK);
	}
	expect_end(stage);
	const char *body =
		memmem(stage->browser.received.text, stage->browser.received.length, "\r\n\r\n", 4);
	assert_int_equal(stage->browser.received.length -
				 (size_t)(body + 4 - stage->browser.received.text),
			 (size_t)PIECE * PIECES);
}

static void expect_answer(struct stage *stage, const char *request, const char *status,
			  const char *rest)
{
	call(stage, request);
	expect_end(stage);
	if (!strstr(str_text(&stage->browser.received), status) ||
	    !strstr(str_text(&stage->browser.received), rest))
		fail_msg("%s: %s", request, str_text(&stage->browser.received));
	peer_close(&stage->browser);
}

static void test_programs_that_do_not_answer(void **state)
{
	struct stage *stage = *state;

	call(stage, "GET /ui/worker/ HTTP/1.1\r\n" TOKEN "\r\n");
	expect_program(stage, "\r\n\r\n");
	peer_close(&stage->program);
	stage->is_called = false;
	expect_end(stage);
	expect_browser(stage, "HTTP/1.1 502 Bad Gateway");
	peer_close(&stage->browser);
	call(stage, "GET /ui/worker/ HTTP/1.1\r\n" TOKEN "\r\n");
	expect_program(stage, "\r\n\r\n");
	peer_send(&stage->program, "SSH-2.0-OpenSSH\r\n\r\n");
	expect_end(stage);
	expect_browser(stage, "HTTP/1.1 502 Bad Gateway");
	peer_close(&stage->browser);
	evconnlistener_free(stage->listener);
	expect_answer(stage, "GET /ui/worker/ HTTP/1.1\r\n" TOKEN "\r\n", "502 Bad Gateway",
		      "Connection refused");
	listen_as_program(stage);
}

static void test_what_is_not_served(void **state)
{
	struct stage *stage = *state;

	expect_answer(stage, "GET /ui/worker/ HTTP/1.1\r\nConnection: close\r\n" TOKEN "\r\n",
		      "503 Service Unavailable", "\"code\":\"not-ready\"");
	expect_answer(
		stage,
		"GET /ui/tensorboard/ HTTP/1.1\r\nConnection: close\r\nAccept: text/html\r\n" TOKEN
		"\r\n",
		"503 Service Unavailable", "http-equiv=\"refresh\"");
	expect_answer(stage, "GET /ui/ps/ HTTP/1.1\r\nConnection: close\r\n" TOKEN "\r\n",
		      "404 Not Found", "not-found");
	expect_answer(stage, "GET /ui/worker HTTP/1.1\r\nConnection: close\r\n" TOKEN "\r\n",
		      "303 See Other", "Location: ./worker/\r\n");
	expect_answer(stage, "GET /ui/worker?x=/y HTTP/1.1\r\nConnection: close\r\n" TOKEN "\r\n",
		      "303 See Other", "Location: ./worker/?x=/y\r\n");
}

static void test_links_tell_what_is_served(void **state)
{
	struct stage *stage = *state;
	struct reply reply;

	ask(stage->bed, &reply, "GET", "/v1/job", NULL);
	char *links cleanup_free = json_dumps(json_object_get(reply.json, "links"), JSON_COMPACT);
	assert_string_equal(links, "[]");
	reply_finish(&reply);
	serve(stage);
	ask(stage->bed, &reply, "GET", "/v1/job", NULL);
	mem_replace(&links, json_dumps(json_object_get(reply.json, "links"), JSON_COMPACT));
	assert_string_equal(links, "[{\"name\":\"tensorboard\",\"task\":\"worker:0\",\"path\":"
				   "\"ui/tensorboard/\"}]");
	reply_finish(&reply);
}

static void test_programs_that_know_where_they_are(void **state)
{
	struct stage *stage = *state;

	call(stage, "GET /ui/notebook/tree?x HTTP/1.1\r\n" TOKEN "\r\n");
	expect_program(stage, "GET /ui/notebook/tree?x HTTP/1.1\r\n");
}

/* ---- heads -------------------------------------------------------------------------------- */

static void expect_location(const char *target, const char *location, const char *expected)
{
	const struct ui_place place = {.prefix = "/ui/tb", .address = "10.0.0.7:6006"};
	char *text cleanup_free =
		mem_printf("HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n", location);
	char *line cleanup_free = mem_printf("\r\nLocation: %s\r\n", expected);
	struct str head cleanup_str = {0};
	struct http_head answer;

	assert_int_equal(http_head_parse_response(&answer, text, strlen(text), NULL), 0);
	ui_head_of_answer(&head, &answer, target, "am:4000", &place);
	if (!strstr(head.text, line))
		fail_msg("%s to %s: %s", target, location, head.text);
	http_head_finish(&answer);
}

static void test_redirects_stay_behind_the_door(void **state)
{
	expect_location("/ui/tb/", "/login?next=/", "./login?next=/");
	expect_location("/ui/tb/a/b?c=/d/e", "/x", "./../x");
	expect_location("/ui/tb/a/b/", "/", "./../../");
	expect_location("/ui/tb/a", "/ui/tb/b", "./b");
	expect_location("/ui/tb/a", "/ui/tbx", "./ui/tbx");
	expect_location("/ui/tb/a", "http://am:4000/b", "./b");
	expect_location("/ui/tb/a", "https://AM:4000/b", "./b");
	expect_location("/ui/tb/a", "//10.0.0.7:6006/b#c", "./b#c");
	expect_location("/ui/tb/a", "http://10.0.0.7:6006", "./");
	expect_location("/ui/tb/a", "http://am:4000?q", "./?q");
	/* Elsewhere is elsewhere. */
	expect_location("/ui/tb/a", "https://example.org/b", "https://example.org/b");
	expect_location("/ui/tb/a", "http://am:40001/b", "http://am:40001/b");
	expect_location("/ui/tb/a", "b/c", "b/c");
}

/* The program's Set-Cookie becomes this at `place`. */
static void expect_cookie(const struct ui_place *place, const char *path, const char *expected)
{
	char *text cleanup_free =
		mem_printf("HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=%s\r\n\r\n", path);
	char *line cleanup_free = mem_printf("\r\nSet-Cookie: a=b; Path=%s\r\n", expected);
	char *target cleanup_free = mem_printf("%s/", place->prefix);
	struct str head cleanup_str = {0};
	struct http_head answer;

	assert_int_equal(http_head_parse_response(&answer, text, strlen(text), NULL), 0);
	ui_head_of_answer(&head, &answer, target, "am:4000", place);
	if (!strstr(head.text, line))
		fail_msg("%s below %s: %s", path, place->prefix, head.text);
	http_head_finish(&answer);
}

static void test_cookies_come_back_to_their_program(void **state)
{
	const struct ui_place alone = {.prefix = "/ui/tb", .address = "10.0.0.7:6006"};
	/* The portal's: behind it is what an AM, or a job's reader, has below its own /ui. */
	const struct ui_place portal = {
		.prefix = "/ui/job-1", .base = "/ui", .address = "127.0.0.1:7000"};

	expect_cookie(&alone, "/", "/ui/tb/");
	expect_cookie(&alone, "/x", "/ui/tb/x");
	expect_cookie(&alone, "x", "/ui/tb/");
	expect_cookie(&alone, "/ui/tb/x", "/ui/tb/x");
	expect_cookie(&alone, "/ui/tb", "/ui/tb");
	expect_cookie(&portal, "/ui/tensorboard/", "/ui/job-1/tensorboard/");
	expect_cookie(&portal, "/ui/job-1/tensorboard/x", "/ui/job-1/tensorboard/x");
	expect_cookie(&portal, "/", "/ui/job-1/");
}

#define on_stage(test)	     cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define while_unserved(test) cmocka_unit_test_setup_teardown(test, set_up_unserved, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_stage(test_question_and_answer_pass),
		on_stage(test_bodies_pass_as_they_are_framed),
		on_stage(test_an_answer_may_end_with_its_connection),
		on_stage(test_protocols_change),
		on_stage(test_a_browser_that_goes_takes_its_question_along),
		on_stage(test_a_slow_browser_costs_little),
		on_stage(test_programs_that_do_not_answer),
		while_unserved(test_what_is_not_served),
		while_unserved(test_links_tell_what_is_served),
		cmocka_unit_test_setup_teardown(test_programs_that_know_where_they_are,
						set_up_keeping, tear_down),
		cmocka_unit_test(test_redirects_stay_behind_the_door),
		cmocka_unit_test(test_cookies_come_back_to_their_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
