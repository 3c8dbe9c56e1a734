/* What is promised by http_client.h: every call is told its end exactly once, and at once when the
 * connection drops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/address.h"
#include "net/http_client.h"
#include "peer.h"
#include "server.h"

/* What a call came to. */
struct outcome {
	struct http_client *client; /* destroyed by `done` when `destroys` */
	bool destroys;
	int calls;
	bool is_done;
	int status; /* -1: no answer */
	enum err_kind kind;
	struct str text; /* the body, or the error */
	struct str location;
	struct str pieces;
	size_t stop_after;
};

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct outcome *outcome = data;

	outcome->calls++;
	outcome->is_done = true;
	outcome->status = response ? response->status : -1;
	outcome->kind = err->kind;
	if (response && response->location)
		str_append(&outcome->location, response->location);
	if (response)
		str_append_bytes(&outcome->text, response->body, response->length);
	else
		str_append(&outcome->text, err_message(err));
	if (outcome->destroys)
		http_client_destroy(outcome->client);
}

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct outcome *outcome = data;

	str_append_bytes(&outcome->pieces, bytes, length);
	return outcome->stop_after == 0 || outcome->pieces.length < outcome->stop_after;
}

static void outcome_finish(struct outcome *outcome)
{
	str_finish(&outcome->text);
	str_finish(&outcome->location);
	str_finish(&outcome->pieces);
	*outcome = (struct outcome){0};
}

static struct http_call *start(struct http_client *client, const char *path,
			       struct outcome *outcome, int64_t timeout_ms)
{
	return http_client_start(client, &(struct http_question){
						 .method = "GET",
						 .path = path,
						 .timeout_ms = timeout_ms,
						 .done = on_done,
						 .data = outcome,
					 });
}

static void test_calls_in_a_row_share_a_connection(void **state)
{
	struct fixture fixture;
	struct outcome first = {0}, second = {0}, third = {0};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	start(client, "/echo?text=one", &first, 0);
	start(client, "/none", &second, 1000);
	http_client_start(client, &(struct http_question){.method = "POST",
							  .path = "/echo",
							  .body = "three\0!",
							  .body_length = 7,
							  .done = on_done,
							  .data = &third});
	run_until(fixture.base, &third.is_done);
	assert_int_equal(first.status, 200);
	assert_string_equal(first.text.text, "one");
	assert_int_equal(second.status, 404);
	assert_int_equal(third.text.length, 7);
	assert_int_equal(http_server_connection_count(fixture.server), 1);
	http_client_destroy(client);
	outcome_finish(&first);
	outcome_finish(&second);
	outcome_finish(&third);
	fixture_close(&fixture);
}

static void test_dropped_connection_is_told_at_once(void **state)
{
	struct fixture fixture;
	struct outcome held = {0}, next = {0};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	start(client, "/hold", &held, 0);
	start(client, "/echo", &next, 0);
	run_until(fixture.base, &fixture.has_held);
	http_server_destroy(fixture.server);
	fixture.server = NULL;
	run_until(fixture.base, &next.is_done);
	assert_int_equal(held.calls, 1);
	assert_int_equal(held.status, -1);
	assert_int_equal(held.kind, ERR_UNREACHABLE);
	/* The one behind it was tried anew, and nobody listens any more. */
	assert_int_equal(next.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(next.text.text, strerror(ECONNREFUSED)));
	http_client_destroy(client);
	outcome_finish(&held);
	outcome_finish(&next);
	fixture_close(&fixture);
}

static void test_deadline(void **state)
{
	struct fixture fixture;
	struct outcome held = {0}, waiting = {0}, next = {0};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	start(client, "/hold", &held, 40);
	start(client, "/echo", &waiting, 20);
	start(client, "/echo?text=yes", &next, 0);
	run_until(fixture.base, &next.is_done);
	assert_int_equal(held.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(held.text.text, "no answer within"));
	assert_int_equal(waiting.kind, ERR_UNREACHABLE);
	assert_string_equal(next.text.text, "yes");
	assert_int_equal(fixture.closed_count, 1);
	http_client_destroy(client);
	outcome_finish(&held);
	outcome_finish(&waiting);
	outcome_finish(&next);
	fixture_close(&fixture);
}

static void test_cancel(void **state)
{
	struct fixture fixture;
	struct outcome held = {0}, waiting = {0}, next = {0};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	struct http_call *on_wire = start(client, "/hold", &held, 1000);
	struct http_call *in_queue = start(client, "/echo", &waiting, 1000);
	start(client, "/echo?text=yes", &next, 0);
	run_until(fixture.base, &fixture.has_held);
	http_client_cancel(in_queue);
	http_client_cancel(on_wire);
	run_until(fixture.base, &next.is_done);
	/* The server may hear of the cancelled one later than of the next one. */
	run_until(fixture.base, &fixture.has_closed);
	assert_int_equal(held.calls, 0);
	assert_int_equal(waiting.calls, 0);
	assert_string_equal(next.text.text, "yes");
	http_client_destroy(client);
	outcome_finish(&next);
	fixture_close(&fixture);
}

static void test_done_may_destroy_the_client(void **state)
{
	struct fixture fixture;
	struct outcome first = {0}, never = {0};

	fixture_open(&fixture, NULL);
	first.client = http_client_create(fixture.base, http_server_address(fixture.server),
					  TEST_TOKEN, NULL);
	first.destroys = true;
	start(first.client, "/echo?text=one", &first, 0);
	start(first.client, "/echo?text=two", &never, 50);
	run_until(fixture.base, &first.is_done);
	run_idle(fixture.base);
	assert_int_equal(first.status, 200);
	assert_int_equal(never.calls, 0);
	outcome_finish(&first);
	fixture_close(&fixture);
}

static void test_stream_comes_as_it_is_written(void **state)
{
	struct fixture fixture;
	struct outcome outcome = {0};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	fixture.line = "first;";
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/stream",
							  .on_bytes = on_bytes,
							  .done = on_done,
							  .data = &outcome});
	while (outcome.pieces.length < 6)
		event_base_loop(fixture.base, EVLOOP_ONCE);
	assert_false(outcome.is_done);
	fixture.line = "last";
	fixture.end_stream = true;
	http_stream_wake(fixture.stream);
	run_until(fixture.base, &outcome.is_done);
	assert_string_equal(outcome.pieces.text, "first;last");
	assert_int_equal(outcome.status, 200);
	assert_int_equal(outcome.text.length, 0);
	outcome_finish(&outcome);
	http_client_destroy(client);
	fixture_close(&fixture);
}

static void test_stream_may_be_left(void **state)
{
	struct fixture fixture;
	struct outcome outcome = {.stop_after = 200000};

	fixture_open(&fixture, NULL);
	struct http_client *client = http_client_create(
		fixture.base, http_server_address(fixture.server), TEST_TOKEN, NULL);
	fixture.fill_bytes = 10000;
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/stream",
							  .on_bytes = on_bytes,
							  .done = on_done,
							  .data = &outcome});
	run_until(fixture.base, &outcome.is_done);
	assert_int_equal(outcome.kind, ERR_NONE);
	assert_int_equal(outcome.status, 200);
	run_until(fixture.base, &fixture.has_closed);
	assert_int_equal(outcome.calls, 1);
	outcome_finish(&outcome);
	http_client_destroy(client);
	fixture_close(&fixture);
}

/* A listener whose answers are scripted. */
static int listen_anywhere(char **address)
{
	struct net_address any;
	int fd;

	assert_int_equal(net_address_parse("127.0.0.1:0", &any, NULL), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any.storage, any.length), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&any.storage, &any.length), 0);
	*address = net_address_text(&any);
	return fd;
}

static void test_strange_answers(void **state)
{
	static const struct {
		const char *answer;
		int status; /* -1: an error */
		const char *text;
	} rows[] = {
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200,
		 "ok"},
		{"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "until the end"},
		{"HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
		{"", -1, "closed"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", -1, "closed"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", -1, "closed"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n", -1, "chunked"},
		{"SSH-2.0-OpenSSH\r\n\r\n", -1, "not HTTP"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct event_base *base = event_base_new();
		struct outcome outcome = {0};
		char *address cleanup_free = NULL;
		int listener cleanup_close = listen_anywhere(&address);
		struct http_client *client = http_client_create(base, address, NULL, NULL);
		start(client, "/", &outcome, 0);
		event_base_loop(base, EVLOOP_NONBLOCK);
		int fd = accept(listener, NULL, NULL);
		assert_true(fd >= 0);
		send(fd, rows[i].answer, strlen(rows[i].answer), MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		run_until(base, &outcome.is_done);
		if (outcome.status != rows[i].status ||
		    !strstr(str_text(&outcome.text), rows[i].text))
			fail_msg("%s: %d %s", rows[i].answer, outcome.status,
				 str_text(&outcome.text));
		assert_int_equal(outcome.calls, 1);
		close(fd);
		http_client_destroy(client);
		event_base_free(base);
		outcome_finish(&outcome);
	}
}

/* Both at once, because the one who is redirected sends a body to a stranger. */
static void test_redirect_and_type_of_body(void **state)
{
	static const char answer[] = "HTTP/1.1 307 Temporary Redirect\r\nlocation: "
				     "http://other:1/x?y=z\r\nContent-Length: 0\r\n\r\n";
	struct event_base *base = event_base_new();
	struct outcome outcome = {0};
	char *address cleanup_free = NULL;
	char got[1024] = {0};
	int listener cleanup_close = listen_anywhere(&address);
	struct http_client *client = http_client_create(base, address, NULL, NULL);

	http_client_start(client,
			  &(struct http_question){.method = "PUT",
						  .path = "/",
						  .body = "b",
						  .body_length = 1,
						  .content_type = "application/octet-stream",
						  .done = on_done,
						  .data = &outcome});
	event_base_loop(base, EVLOOP_NONBLOCK);
	int fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	while (!strstr(got, "\r\n\r\nb")) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		recv(fd, got + strlen(got), sizeof(got) - 1 - strlen(got), MSG_DONTWAIT);
	}
	assert_non_null(strstr(got, "\r\nContent-Type: application/octet-stream\r\n"));
	send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.status, 307);
	assert_string_equal(str_text(&outcome.location), "http://other:1/x?y=z");
	close(fd);
	http_client_destroy(client);
	event_base_free(base);
	outcome_finish(&outcome);
}

/* A file that nobody else sees, of so many bytes. */
static int make_file(size_t length)
{
	char block[1000];
	int fd = memfd_create("body", MFD_CLOEXEC);

	for (size_t done = 0; done < length; done += sizeof(block)) {
		memset(block, (char)('a' + done / sizeof(block) % 26), sizeof(block));
		size_t some = length - done < sizeof(block) ? length - done : sizeof(block);
		assert_int_equal(write(fd, block, some), some);
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void put_file(struct http_client *client, int fd, size_t length, struct outcome *outcome)
{
	http_client_start(client, &(struct http_question){.method = "PUT",
							  .path = "/file",
							  .body_fd = fd,
							  .body_length = length,
							  .done = on_done,
							  .data = outcome});
}

static void test_body_of_a_file(void **state)
{
	enum { LENGTH = 3000777 };
	static const char answer[] = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
	struct event_base *base = event_base_new();
	struct outcome outcome = {0};
	char *address cleanup_free = NULL;
	char *got cleanup_free = mem_alloc(LENGTH + 1000);
	size_t length = 0;
	const char *body = NULL;
	int listener cleanup_close = listen_anywhere(&address);
	int file cleanup_close = make_file(LENGTH);
	struct http_client *client = http_client_create(base, address, NULL, NULL);

	put_file(client, file, LENGTH, &outcome);
	event_base_loop(base, EVLOOP_NONBLOCK);
	int fd = accept(listener, NULL, NULL);
	while (!body || got + length < body + LENGTH) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		ssize_t some = recv(fd, got + length, LENGTH + 999 - length, MSG_DONTWAIT);
		length += some > 0 ? (size_t)some : 0;
		char *end = body ? NULL : strstr(got, "\r\n\r\n");
		body = end ? end + 4 : body;
	}
	assert_non_null(strstr(got, "\r\nContent-Length: 3000777\r\n"));
	for (size_t i = 0; i < LENGTH; i++)
		assert_int_equal(body[i], 'a' + i / 1000 % 26);
	send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.status, 201);
	close(fd);
	http_client_destroy(client);
	event_base_free(base);
	outcome_finish(&outcome);
}

static void test_body_of_a_file_that_is_shorter(void **state)
{
	struct event_base *base = event_base_new();
	struct outcome outcome = {0};
	char *address cleanup_free = NULL;
	int listener = listen_anywhere(&address);
	int file cleanup_close = make_file(1000);
	struct http_client *client = http_client_create(base, address, NULL, NULL);

	put_file(client, file, 1001, &outcome);
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.status, -1);
	assert_int_equal(outcome.kind, ERR_INPUT);
	assert_non_null(strstr(str_text(&outcome.text), "became shorter"));
	close(listener);
	http_client_destroy(client);
	event_base_free(base);
	outcome_finish(&outcome);
}

/* Whoever refuses a large body need not read it. */
static void test_answer_before_the_file_is_sent(void **state)
{
	static const char answer[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
	struct event_base *base = event_base_new();
	struct outcome outcome = {0};
	char *address cleanup_free = NULL;
	int listener cleanup_close = listen_anywhere(&address);
	int file cleanup_close = make_file(32 << 20);
	struct http_client *client = http_client_create(base, address, NULL, NULL);

	put_file(client, file, 32 << 20, &outcome);
	event_base_loop(base, EVLOOP_NONBLOCK);
	int fd = accept(listener, NULL, NULL);
	send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.status, 403);
	/* What was not sent is not taken for the next request: there is a new connection. */
	outcome.is_done = false;
	put_file(client, file, 1, &outcome);
	event_base_loop(base, EVLOOP_NONBLOCK);
	int second = accept(listener, NULL, NULL);
	assert_true(second >= 0);
	close(second);
	close(fd);
	http_client_destroy(client);
	event_base_free(base);
	outcome_finish(&outcome);
}

static void on_life_end(evutil_socket_t fd, short what, void *data)
{
	_exit(0);
}

/* Serves until the other end of `life` is closed. */
static pid_t serve_in_child(char **address, int *life)
{
	int fds[2], line[2];
	char text[64] = {0};

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(line), 0);
	pid_t child = fork();
	if (child == 0) {
		struct fixture fixture;
		struct event *end;
		close(fds[1]);
		fixture_open(&fixture, NULL);
		fixture.line = "streamed";
		fixture.end_stream = true;
		const char *here = http_server_address(fixture.server);
		if (write(line[1], here, strlen(here)) < 0)
			_exit(1);
		end = event_new(fixture.base, fds[0], EV_READ, on_life_end, NULL);
		event_add(end, NULL);
		event_base_dispatch(fixture.base);
		_exit(0);
	}
	close(fds[0]);
	assert_true(read(line[0], text, sizeof(text) - 1) > 0);
	close(line[0]);
	close(line[1]);
	*address = mem_strdup(text);
	*life = fds[1];
	return child;
}

static void test_synchronous_calls(void **state)
{
	char *address cleanup_free = NULL;
	struct str response cleanup_str = {0};
	struct err err cleanup_err = {0};
	struct outcome outcome = {0};
	int life, status = 0;
	pid_t child = serve_in_child(&address, &life);

	assert_int_equal(http_call(address, TEST_TOKEN, "POST", "/echo", "body", 10000, &status,
				   &response, NULL),
			 0);
	assert_int_equal(status, 200);
	assert_string_equal(response.text, "body");
	assert_int_equal(
		http_stream(address, TEST_TOKEN, "/stream", NULL, on_bytes, &outcome, NULL), 0);
	assert_string_equal(outcome.pieces.text, "streamed");
	assert_int_equal(http_stream(address, "wrong", "/stream", NULL, on_bytes, &outcome, &err),
			 -1);
	assert_int_equal(err.kind, ERR_DENIED);
	err_finish(&err);
	assert_int_equal(
		http_call(address, TEST_TOKEN, "GET", "/hold", NULL, 20, &status, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_UNREACHABLE);
	err_finish(&err);
	close(life);
	waitpid(child, &status, 0);
	assert_int_equal(
		http_call(address, TEST_TOKEN, "GET", "/echo", NULL, 10000, &status, NULL, &err),
		-1);
	assert_int_equal(err.kind, ERR_UNREACHABLE);
	err_finish(&err);
	assert_int_equal(http_call("nowhere", NULL, "GET", "/", NULL, 0, &status, NULL, &err), -1);
	outcome_finish(&outcome);
}

static void test_response_check(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum err_kind kind;
		const char *text;
	} rows[] = {
		{400, "{\"error\":{\"code\":\"bad-request\",\"message\":\"epoch: is missing\"}}",
		 ERR_INPUT, "epoch: is missing"},
		{401, "{}", ERR_DENIED, "401"},
		{404, "not json", ERR_NOT_FOUND, "404"},
		{409, "{\"error\":{\"code\":\"stale\",\"message\":\"old\"}}", ERR_STALE, "old"},
		{409, "{\"error\":{\"code\":\"conflict\",\"message\":\"no\"}}", ERR_FAILED, "no"},
		{503, "[]", ERR_UNREACHABLE, "503"},
		{500, "{\"error\":{\"message\":\"a\\u001bb\"}}", ERR_FAILED, "a?b"},
	};

	assert_int_equal(http_response_check(200, "x", 1, NULL), 0);
	for (size_t i = 0; i < array_length(rows); i++) {
		struct err err cleanup_err = {0};
		assert_int_equal(http_response_check(rows[i].status, rows[i].body,
						     strlen(rows[i].body), &err),
				 -1);
		assert_int_equal(err.kind, rows[i].kind);
		assert_non_null(strstr(err_message(&err), rows[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_in_a_row_share_a_connection),
		cmocka_unit_test(test_dropped_connection_is_told_at_once),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_done_may_destroy_the_client),
		cmocka_unit_test(test_stream_comes_as_it_is_written),
		cmocka_unit_test(test_stream_may_be_left),
		cmocka_unit_test(test_strange_answers),
		cmocka_unit_test(test_redirect_and_type_of_body),
		cmocka_unit_test(test_body_of_a_file),
		cmocka_unit_test(test_body_of_a_file_that_is_shorter),
		cmocka_unit_test(test_answer_before_the_file_is_sent),
		cmocka_unit_test(test_synchronous_calls),
		cmocka_unit_test(test_response_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
