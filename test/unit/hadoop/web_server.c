#include "web_server.h"

#include "../base/patience.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/address.h"

static int bind_anywhere(char **address)
{
	struct net_address any;

	assert_int_equal(net_address_parse("127.0.0.1:0", &any, NULL), 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any.storage, any.length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&any.storage, &any.length), 0);
	*address = net_address_text(&any);
	return fd;
}

static void send_text(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);
		if (sent <= 0)
			return;
		text += sent;
		length -= (size_t)sent;
	}
}

/* False: the peer hung up. */
static bool receive_until(int fd, struct str *request, size_t length)
{
	char bytes[65536];

	while (request->length < length || (length == 0 && !strstr(request->text, "\r\n\r\n"))) {
		ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
		if (got <= 0)
			return false;
		str_append_bytes(request, bytes, (size_t)got);
	}
	return true;
}

static bool receive_request(int fd, struct web_server *server, struct str *request)
{
	static const char field[] = "Content-Length: ";

	str_append(request, "");
	if (!receive_until(fd, request, 0))
		return false;
	size_t head = (size_t)(strstr(request->text, "\r\n\r\n") + 4 - request->text);
	const char *length = strcasestr(request->text, field);
	size_t body = length ? strtoul(length + strlen(field), NULL, 10) : 0;
	if (strcasestr(request->text, "Expect: 100-continue"))
		send_text(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	if (!receive_until(fd, request, head + body))
		return false;
	str_append_bytes(&server->heads, request->text, head);
	str_append_bytes(&server->bodies, request->text + head, body);
	return true;
}

static void answer(int fd, const struct web_server *server, const char *text, const char *echoes)
{
	const char *echo = echoes ? strstr(server->heads.text, echoes) : NULL;
	struct str whole cleanup_str = {0};

	str_append(&whole, "HTTP/1.1 ");
	for (; *text; text++)
		if (*text == '@')
			str_append(&whole, server->outside);
		else if (*text == '#')
			str_append_format(&whole, "%zu", server->heads.length);
		else if (*text == '$' && echo)
			str_append_bytes(&whole, echo, strcspn(echo, "\r"));
		else
			str_append_char(&whole, *text);
	send_text(fd, whole.text, whole.length);
}

static void drip(int fd)
{
	wait_until(send(fd, " ", 1, MSG_NOSIGNAL) < 0);
}

/* Whether there is more to come by this connection. */
static bool serve(int fd, struct web_server *server)
{
	struct str request cleanup_str = {0};

	if (!receive_request(fd, server, &request))
		return false;
	if (server->served > 0 && server->steps[server->served - 1].repeats)
		server->served--;
	if (server->served == server->count ||
	    !strstr(request.text, server->steps[server->served].expect)) {
		mem_replace(&server->surprise, str_steal(&request));
		answer(fd, server, "418 I'm a teapot\r\nContent-Length: 0\r\n\r\n", NULL);
		return false;
	}
	const struct web_step *step = &server->steps[server->served++];
	if (step->answer)
		answer(fd, server, step->answer, step->echoes);
	if (step->drips)
		drip(fd);
	return step->keeps;
}

static void *run(void *data)
{
	struct web_server *server = data;
	int fd;

	while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
		while (serve(fd, server))
			continue;
		close(fd);
	}
	return NULL;
}

void web_server_start(struct web_server *server, const struct web_step *steps, size_t count)
{
	memset(server, 0, sizeof(*server));
	server->steps = steps;
	server->count = count;
	server->listener = bind_anywhere(&server->address);
	assert_int_equal(listen(server->listener, 16), 0);
	server->url = mem_printf("http://%s", server->address);
	server->outside = server->address;
	assert_int_equal(pthread_create(&server->thread, NULL, run, server), 0);
}

static bool may_come_to_nothing(const struct web_step *step)
{
	return step->drips || step->repeats;
}

void web_server_stop(struct web_server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	assert_int_equal(pthread_join(server->thread, NULL), 0);
	close(server->listener);
	if (server->surprise)
		fail_msg("step %zu: not expected: %s", server->served, server->surprise);
	if (server->served < server->count && !may_come_to_nothing(&server->steps[server->served]))
		fail_msg("never asked for: %s", server->steps[server->served].expect);
}

void web_server_finish(struct web_server *server)
{
	free(server->address);
	free(server->url);
	free(server->surprise);
	str_finish(&server->heads);
	str_finish(&server->bodies);
}

int web_silent(char **address)
{
	int fd = bind_anywhere(address);

	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

/* It stays bound, so that nobody else gets it. */
char *web_nobody(void)
{
	char *address;

	bind_anywhere(&address);
	return address;
}
