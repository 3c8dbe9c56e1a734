/* What is promised by http_client.h: every call is told its end exactly once, and at once when the
 * connection drops. */
#include "../base/patience.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "peer.h"
#include "server.h"
#include "tls_door.h"

/* All tests run twice: as they are, and over TLS, through a door in front of the same server. */
static bool is_secure;
static struct tls_door *door;
static struct tls_context *tls;

static void open_door(const char *address)
{
	struct err err cleanup_err = {0};

	door = tls_door_open(address, NULL);
	tls = tls_context_create_client(tls_door_authority(door), "", &err);
	assert_string_equal(err_message(&err), "no error");
}

static int close_door(void **state)
{
	tls_context_destroy(tls);
	tls_door_close(door);
	tls = NULL;
	door = NULL;
	return 0;
}

static struct http_client *connect_to(struct event_base *base, const char *address,
				      const char *token)
{
	close_door(NULL);
	if (is_secure)
		open_door(address);
	struct http_client *client =
		http_client_create(base, door ? tls_door_address(door) : address, token, NULL);
	http_client_use_tls(client, tls);
	return client;
}

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
	size_t stop_after, pause_after;
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
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	start(client, "/echo?text=one", &first, 0);
	start(client, "/none", &second, PATIENCE_MS);
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
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	start(client, "/hold", &held, 0);
	start(client, "/echo", &next, 0);
	run_until(fixture.base, &fixture.has_held);
	http_server_destroy(fixture.server);
	fixture.server = NULL;
	run_until(fixture.base, &next.is_done);
	assert_int_equal(held.calls, 1);
	assert_int_equal(held.status, -1);
	assert_int_equal(held.kind, ERR_UNREACHABLE);
	/* The one behind it was tried anew, and nobody listens any more; the door does, and hangs
	 * up. */
	assert_int_equal(next.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(next.text.text, door ? "closed" : strerror(ECONNREFUSED)));
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
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	start(client, "/hold", &held, 40);
	start(client, "/echo", &waiting, 20);
	start(client, "/echo?text=yes", &next, 0);
	run_until(fixture.base, &next.is_done);
	assert_int_equal(held.kind, ERR_UNREACHABLE);
	assert_non_null(strstr(held.text.text, "no answer within"));
	assert_int_equal(waiting.kind, ERR_UNREACHABLE);
	assert_string_equal(next.text.text, "yes");
	/* Of one whose time was over before it was sent the server never heard. */
	if (fixture.has_held)
		run_until(fixture.base, &fixture.has_closed);
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
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	struct http_call *on_wire = start(client, "/hold", &held, PATIENCE_MS);
	struct http_call *in_queue = start(client, "/echo", &waiting, PATIENCE_MS);
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
	first.client = connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
	first.destroys = true;
	start(first.client, "/echo?text=one", &first, 0);
	start(first.client, "/echo?text=two", &never, PATIENCE_MS);
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
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
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
	struct http_client *client =
		connect_to(fixture.base, http_server_address(fixture.server), TEST_TOKEN);
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
		int listener cleanup_close = peer_listen(&address);
		struct http_client *client = connect_to(base, address, NULL);
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
	int listener cleanup_close = peer_listen(&address);
	struct http_client *client = connect_to(base, address, NULL);

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

static bool on_bytes_until_enough(void *data, const char *bytes, size_t length)
{
	struct outcome *outcome = data;

	str_append_bytes(&outcome->pieces, bytes, length);
	if (outcome->pieces.length < outcome->pause_after || outcome->pause_after == 0)
		return true;
	outcome->pause_after = 0;
	http_client_pause(outcome->client);
	return true;
}

/* What comes while nobody takes it is kept, its end, too: a good one or, as of a server that dies,
 * none. */
static void check_pause(bool is_broken)
{
	enum { LENGTH = 2000000 };
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
	struct event_base *base = event_base_new();
	struct outcome outcome = {.pause_after = 1000};
	char *address cleanup_free = NULL;
	char *text cleanup_free = mem_alloc(LENGTH);
	size_t sent = 0;
	int listener cleanup_close = peer_listen(&address);

	outcome.client = connect_to(base, address, NULL);
	http_client_start(outcome.client, &(struct http_question){.method = "GET",
								  .path = "/",
								  .on_bytes = on_bytes_until_enough,
								  .done = on_done,
								  .data = &outcome});
	event_base_loop(base, EVLOOP_NONBLOCK);
	int fd = accept(listener, NULL, NULL);
	memset(text, 'x', LENGTH);
	send(fd, head, strlen(head), MSG_NOSIGNAL);
	while (outcome.pause_after > 0) {
		ssize_t some = send(fd, text, 100, MSG_NOSIGNAL);
		sent += some > 0 ? (size_t)some : 0;
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	size_t paused = outcome.pieces.length;
	send(fd, text, 100, MSG_NOSIGNAL);
	sent += 100;
	run_idle(base);
	assert_int_equal(outcome.pieces.length, paused);
	while (sent < LENGTH) {
		ssize_t some = send(fd, text, LENGTH - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (some < 0) /* nobody has room for more */
			http_client_resume(outcome.client);
		sent += some > 0 ? (size_t)some : 0;
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	if (is_broken)
		close(fd); /* with a request in it that was not read */
	else
		shutdown(fd, SHUT_WR);
	run_idle(base);
	http_client_resume(outcome.client);
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.status, is_broken ? -1 : 200);
	if (!is_broken)
		assert_int_equal(outcome.pieces.length, LENGTH);
	http_client_destroy(outcome.client);
	if (!is_broken)
		close(fd);
	event_base_free(base);
	outcome_finish(&outcome);
}

static void test_pause(void **state)
{
	check_pause(false);
	if (!is_secure) /* the door ends in peace */
		check_pause(true);
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
	int listener cleanup_close = peer_listen(&address);
	int file cleanup_close = make_file(LENGTH);
	struct http_client *client = connect_to(base, address, NULL);

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
	int listener = peer_listen(&address);
	int file cleanup_close = make_file(1000);
	struct http_client *client = connect_to(base, address, NULL);

	put_file(client, file, 1001, &outcome);
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.status, -1);
	assert_int_equal(outcome.kind, ERR_IO);
	assert_non_null(strstr(str_text(&outcome.text), "became shorter"));
	close(listener);
	http_client_destroy(client);
	event_base_free(base);
	outcome_finish(&outcome);
}

/* A server that refuses a large body hangs up on what is still being sent. */
static void test_answer_of_a_server_that_hangs_up(void **state)
{
	static const char answer[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
	struct event_base *base = event_base_new();
	struct outcome outcome = {0};
	char *address cleanup_free = NULL;
	int listener cleanup_close = peer_listen(&address);
	int file cleanup_close = make_file(32 << 20);
	struct http_client *client = connect_to(base, address, NULL);

	put_file(client, file, 32 << 20, &outcome);
	event_base_loop(base, EVLOOP_NONBLOCK);
	int fd = accept(listener, NULL, NULL);
	char first;
	while (recv(fd, &first, 1, MSG_DONTWAIT) != 1)
		event_base_loop(base, EVLOOP_ONCE);
	send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	close(fd);
	run_until(base, &outcome.is_done);
	assert_int_equal(outcome.status, 403);
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
	int listener cleanup_close = peer_listen(&address);
	int file cleanup_close = make_file(32 << 20);
	struct http_client *client = connect_to(base, address, NULL);

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

	assert_int_equal(http_call(&(struct http_target){address, TEST_TOKEN, geteuid()}, "POST",
				   "/echo", "body", PATIENCE_MS, &status, &response, NULL),
			 0);
	assert_int_equal(status, 200);
	assert_string_equal(response.text, "body");
	if (is_secure)
		open_door(address);
	const struct http_site outside = {door ? tls_door_address(door) : address, tls, NULL};
	assert_int_equal(
		http_stream(&outside, "/open?text=piece", PATIENCE_MS, on_bytes, &outcome, NULL),
		0);
	assert_string_equal(outcome.pieces.text, "piece");
	assert_int_equal(http_stream(&outside, "/stream", 0, on_bytes, &outcome, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	err_finish(&err);
	assert_int_equal(http_call(&(struct http_target){address, TEST_TOKEN, geteuid()}, "GET",
				   "/hold", NULL, 20, &status, NULL, &err),
			 -1);
	assert_int_equal(err.kind, ERR_UNREACHABLE);
	err_finish(&err);
	close(life);
	waitpid(child, &status, 0);
	assert_int_equal(http_call(&(struct http_target){address, TEST_TOKEN, geteuid()}, "GET",
				   "/echo", NULL, PATIENCE_MS, &status, NULL, &err),
			 -1);
	assert_int_equal(err.kind, ERR_UNREACHABLE);
	err_finish(&err);
	assert_int_equal(http_call(&(struct http_target){"nowhere", NULL, geteuid()}, "GET", "/",
				   NULL, 0, &status, NULL, &err),
			 -1);
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

static int run_group(bool secure)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_calls_in_a_row_share_a_connection, close_door),
		cmocka_unit_test_teardown(test_dropped_connection_is_told_at_once, close_door),
		cmocka_unit_test_teardown(test_deadline, close_door),
		cmocka_unit_test_teardown(test_cancel, close_door),
		cmocka_unit_test_teardown(test_done_may_destroy_the_client, close_door),
		cmocka_unit_test_teardown(test_stream_comes_as_it_is_written, close_door),
		cmocka_unit_test_teardown(test_stream_may_be_left, close_door),
		cmocka_unit_test_teardown(test_pause, close_door),
		cmocka_unit_test_teardown(test_strange_answers, close_door),
		cmocka_unit_test_teardown(test_redirect_and_type_of_body, close_door),
		cmocka_unit_test_teardown(test_body_of_a_file, close_door),
		cmocka_unit_test_teardown(test_body_of_a_file_that_is_shorter, close_door),
		cmocka_unit_test_teardown(test_answer_before_the_file_is_sent, close_door),
		cmocka_unit_test_teardown(test_synchronous_calls, close_door),
	};

	is_secure = secure;
	return cmocka_run_group_tests_name(secure ? "over TLS" : "plain", tests, NULL, NULL);
}

int main(void)
{
	/* The door would lose the answer. */
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_response_check),
					   cmocka_unit_test(test_answer_of_a_server_that_hangs_up)};

	return cmocka_run_group_tests(tests, NULL, NULL) + run_group(false) + run_group(true);
}
