/* What web/ui_proxy.h and web/ui_head.h promise: a browser on one side, a program on the other,
 * both played by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../net/peer.h"
#include "api_bed.h"
#include "base/mem.h"
#include "net/address.h"
#include "web/ui_head.h"

#define TOKEN "Authorization: Bearer " BED_TOKEN "\r\n"

/* A job whose worker:0 serves an interface. */
struct stage {
	struct api_bed *bed;
	struct evconnlistener *listener;
	int port;
	struct peer browser, program;
	bool is_called; /* the program: `program` is its connection */
	struct reply beat;
};

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
		      int length, void *data)
{
	struct stage *stage = data;

	if (stage->is_called)
		peer_close(&stage->program);
	peer_take(&stage->program, stage->bed->base, fd);
	stage->is_called = true;
}

static void listen_as_program(struct stage *stage)
{
	struct net_address address;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address.storage;

	assert_int_equal(net_address_parse("127.0.0.1:0", &address, NULL), 0);
	stage->listener = evconnlistener_new_bind(
		stage->bed->base, on_accept, stage, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
		16, (struct sockaddr *)&address.storage, (int)address.length);
	assert_non_null(stage->listener);
	assert_int_equal(getsockname(evconnlistener_get_fd(stage->listener),
				     (struct sockaddr *)&address.storage, &address.length),
			 0);
	stage->port = ntohs(v4->sin_port);
}

/* The task's executor says that something listens there. */
static void serve(struct stage *stage)
{
	char *beat cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,"
					     "\"state\":\"running\",\"ui_port\":%d}",
					     stage->port);

	ask_later(stage->bed, &stage->beat, "POST", "/v1/tasks/worker:0/beat", beat);
}

static void keep_path(struct bed *bed)
{
	bed->job->config = json_pack("{s:{s:s,s:s}}", "tony.application.ui-path", "value", "keep",
				     "origin", "tony.xml");
}

static struct stage *create(void (*tune)(struct bed *bed))
{
	struct stage *stage = mem_alloc(sizeof(*stage));

	stage->bed = api_bed_create("worker=1 ps=1:untracked", tune);
	bring_in(stage->bed, "worker:0", 4001);
	bring_in(stage->bed, "ps:0", 4002);
	listen_as_program(stage);
	return stage;
}

static int set_up(void **state)
{
	struct stage *stage = create(NULL);

	serve(stage);
	*state = stage;
	return 0;
}

static int set_up_keeping(void **state)
{
	struct stage *stage = create(keep_path);

	serve(stage);
	*state = stage;
	return 0;
}

static int set_up_unserved(void **state)
{
	*state = create(NULL);
	return 0;
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	if (stage->browser.received.capacity > 0 || stage->browser.fd > 0)
		peer_close(&stage->browser);
	if (stage->is_called)
		peer_close(&stage->program);
	reply_finish(&stage->beat);
	evconnlistener_free(stage->listener);
	api_bed_destroy(stage->bed);
	free(stage);
	return 0;
}

/* The browser says this. */
static void call(struct stage *stage, const char *request)
{
	peer_open(&stage->browser, stage->bed->base, api_address(stage->bed->api));
	peer_send(&stage->browser, request);
}

static void expect_program(struct stage *stage, const char *text)
{
	run_until(stage->bed->base, &stage->is_called);
	peer_expect(&stage->program, stage->bed->base, text);
}

static void expect_browser(struct stage *stage, const char *text)
{
	peer_expect(&stage->browser, stage->bed->base, text);
}

static void expect_end(struct stage *stage)
{
	peer_expect_end(&stage->browser, stage->bed->base);
}

/* ---- the door ----------------------------------------------------------------------------- */

/* promise: S24 */
static void test_question_and_answer_pass(void **state)
{
	struct stage *stage = *state;

	call(stage, "GET /ui/tensorboard/data/runs?a=%20b HTTP/1.1\r\nHost: node-7:4000\r\n" TOKEN
		    "Cookie: tony-tony-test=1; theme=dark; proxy-user=x\r\n"
		    "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nAccept: text/html\r\n\r\n");
	expect_program(stage, "\r\n\r\n");
	const char *question = str_text(&stage->program.received);
	assert_ptr_equal(
		strstr(question, "GET /data/runs?a=%20b HTTP/1.1\r\nHost: node-7:4000\r\n"),
		question);
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

/* promise: S10 S11 */
static void test_who_gets_through(void **state)
{
	struct stage *stage = *state;
	struct reply reply;

	ask(stage->bed, &reply, "POST", "/v1/links", NULL);
	char *login cleanup_free = mem_printf("GET /%s HTTP/1.1\r\nConnection: close\r\n\r\n",
					      reply_member(&reply, "path"));
	reply_finish(&reply);
	call(stage, login);
	expect_end(stage);
	const char *start = strstr(str_text(&stage->browser.received), "Set-Cookie: ");
	assert_non_null(start);
	start += strlen("Set-");
	char *cookie cleanup_free = mem_strndup(start, strcspn(start, ";"));
	peer_close(&stage->browser);
	static const struct {
		const char *request;
		bool passes;
	} rows[] = {
		{"GET /ui/worker/ HTTP/1.1\r\n", true},
		{"GET /ui/worker/ HTTP/1.1\r\nSec-Fetch-Site: same-site\r\n", false},
		/* A notebook is worked with, by its own page only. */
		{"POST /ui/worker/ HTTP/1.1\r\nOrigin: http://am:1\r\nContent-Length: 0\r\n", true},
		{"POST /ui/worker/ HTTP/1.1\r\nOrigin: http://evil\r\nContent-Length: 0\r\n",
		 false},
		{"POST /ui/worker/ HTTP/1.1\r\nContent-Length: 0\r\n", false},
		{"GET /ui/worker/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		 "Origin: http://am:1\r\n",
		 true},
		{"GET /ui/worker/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
		 false},
	};
	for (size_t i = 0; i < array_length(rows); i++) {
		char *request cleanup_free =
			mem_printf("%sHost: am:1\r\n%s\r\n\r\n", rows[i].request, cookie);
		call(stage, request);
		if (rows[i].passes) {
			expect_program(stage, "\r\n\r\n");
			peer_close(&stage->program);
			stage->is_called = false;
		} else {
			expect_browser(stage, "401 Unauthorized");
			assert_false(stage->is_called);
		}
		peer_close(&stage->browser);
	}
	call(stage, "GET /ui/worker/ HTTP/1.1\r\n\r\n");
	expect_browser(stage, "401 Unauthorized");
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
		on_stage(test_who_gets_through),
		while_unserved(test_what_is_not_served),
		while_unserved(test_links_tell_what_is_served),
		cmocka_unit_test_setup_teardown(test_programs_that_know_where_they_are,
						set_up_keeping, tear_down),
		cmocka_unit_test(test_redirects_stay_behind_the_door),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
