/* Logs of a NodeManager's web service: its answers as Hadoop 3.4.2 gives them, and others. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "hadoop/node_log.h"

#define CONTAINER "container_1795269657940_0005_01_000003"
#define HEAD                                                                                       \
	"Container: " CONTAINER " on 127.0.0.2:28941\n"                                            \
	"LogAggregationType: LOCAL\n"                                                              \
	"====================================================================\n"                   \
	"LogType:stdout\n"                                                                         \
	"LogLastModifiedTime:Sat Nov 21 14:12:19 +0000 2026\n"
#define FOOT                                                                                       \
	"End of LogType:stdout.This log file belongs to a running container (" CONTAINER           \
	") and so may not be complete.\n"                                                          \
	"***********************************************************************\n\n\n"

static const char answer[] = HEAD "LogLength:14\nLogContents:\nline 1\nline 2\n" FOOT;

/* ---- a file ------------------------------------------------------------------------------- */

/* What an answer in pieces of `step` bytes holds of the file; NULL: it is refused. */
static char *unframe(const char *text, size_t length, size_t step)
{
	struct node_log_frame frame = {0};
	struct str content = {0};
	bool good = true;

	for (size_t at = 0; at < length && good; at += step) {
		const char *bytes;
		size_t count;
		size_t size = length - at < step ? length - at : step;
		good = node_log_frame_take(&frame, text + at, size, &bytes, &count, NULL) == 0;
		if (good)
			str_append_bytes(&content, bytes, count);
	}
	node_log_frame_finish(&frame);
	if (good)
		return str_steal(&content);
	str_finish(&content);
	return NULL;
}

static void the_file_stands_between_head_and_foot(void **state)
{
	for (size_t step = 1; step < sizeof(answer); step++)
		assert_text_freed(unframe(answer, strlen(answer), step), "line 1\nline 2\n");
}

static void a_file_may_look_like_a_foot_or_a_head(void **state)
{
	static const char text[] = HEAD "LogLength:40\nLogContents:\nEnd of "
					"LogType:stdout\nLogLength:1\nLogContents\n" FOOT;

	for (size_t step = 1; step < sizeof(text); step += 7)
		assert_text_freed(unframe(text, strlen(text), step),
				  "End of LogType:stdout\nLogLength:1\nLogCon");
}

static void older_heads_are_understood(void **state)
{
	static const char text[] = "\nLogType:stdout\nLogLength:3\nLog Contents:\nabcEnd";

	assert_text_freed(unframe(text, strlen(text), 10), "abc");
}

static void other_answers_are_refused(void **state)
{
	static const char no_length[] = HEAD "LogContents:\nabc";
	static const char bad_length[] = HEAD "LogLength:-3\nLogContents:\nabc";
	char *endless cleanup_free = mem_alloc(NODE_LOG_HEAD_CAP + 1);

	memset(endless, 'x', NODE_LOG_HEAD_CAP);
	assert_null(unframe(no_length, strlen(no_length), 50));
	assert_null(unframe(bad_length, strlen(bad_length), 50));
	assert_null(unframe(endless, NODE_LOG_HEAD_CAP, 1000));
}

/* ---- the list ----------------------------------------------------------------------------- */

static char *names_in(const char *body)
{
	struct str_list names cleanup_str_list = {0};

	if (node_log_parse_list(body, strlen(body), &names, NULL) < 0)
		return mem_strdup("refused");
	return str_list_join(&names, " ");
}

static void names_of_a_list(void **state)
{
	assert_text_freed(
		names_in("{\"containerLogsInfo\":{\"containerLogInfo\":[{\"fileName\":\"stderr\","
			 "\"fileSize\":\"5\",\"lastModifiedTime\":\"Sat Nov 21 14:12:19 +0000 "
			 "2026\"},{\"fileName\":\"stdout\",\"fileSize\":\"85\"}],"
			 "\"logAggregationType\":\"LOCAL\",\"containerId\":\"" CONTAINER
			 "\",\"nodeId\":\"127.0.0.2:28941\"}}"),
		"stderr stdout");
	assert_text_freed(
		names_in("{\"containerLogsInfo\":[{\"containerLogInfo\":{\"fileName\":\"stdout\"}},"
			 "{\"containerLogInfo\":[{\"fileName\":\"a/b\"},{\"fileName\":\"stdout\"},"
			 "{\"fileName\":7},3]}]}"),
		"stdout");
	assert_text_freed(names_in("{\"containerLogsInfo\":{}}"), "");
	assert_text_freed(names_in("{}"), "refused");
	assert_text_freed(names_in("<html>"), "refused");
}

/* ---- asking ------------------------------------------------------------------------------- */

/* Answers one question. */
struct server {
	int fd;
	char address[32];
	const char *reply;
	char question[1024];
	pthread_t thread;
};

static void *serve(void *data)
{
	struct server *server = data;
	size_t length = 0;
	int fd cleanup_close = accept(server->fd, NULL, NULL);

	while (!strstr(server->question, "\r\n\r\n")) {
		ssize_t got =
			read(fd, server->question + length, sizeof(server->question) - 1 - length);
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	(void)!write(fd, server->reply, strlen(server->reply));
	return NULL;
}

static void server_start(struct server *server, const char *reply)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);

	*server = (struct server){.reply = reply};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(server->fd, 1), 0);
	assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &size), 0);
	snprintf(server->address, sizeof(server->address), "127.0.0.1:%d", ntohs(address.sin_port));
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

/* It was asked exactly this. */
static void server_end(struct server *server, const char *asked)
{
	pthread_join(server->thread, NULL);
	close(server->fd);
	assert_true(str_starts_with(server->question, asked));
}

static void a_file_is_fetched(void **state)
{
	struct err err cleanup_err = {0};
	struct server server;
	char *reply cleanup_free = mem_printf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
					      strlen(answer), answer);
	const char *path = scratch_path(state, "log");
	int fd cleanup_close = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	server_start(&server, reply);
	const struct node_log_question question = {
		.site.address = server.address, .container = CONTAINER, .user = "al ice"};
	assert_success(node_log_fetch(&question, "std out", fd, &err), &err);
	server_end(&server, "GET /ws/v1/node/containerlogs/" CONTAINER
			    "/std%20out?user.name=al%20ice HTTP/1.1\r\n");
	assert_text_freed(scratch_read(state, "log"), "line 1\nline 2\n");
}

static void names_are_fetched(void **state)
{
	struct err err cleanup_err = {0};
	struct server server;
	struct str_list names cleanup_str_list = {0};

	server_start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 68\r\n\r\n"
			      "{\"containerLogsInfo\":{\"containerLogInfo\":[{\"fileName\":"
			      "\"stdout\"}]}}  ");
	const struct node_log_question question = {.site.address = server.address,
						   .container = CONTAINER};
	assert_success(node_log_list(&question, &names, &err), &err);
	server_end(&server, "GET /ws/v1/node/containers/" CONTAINER "/logs HTTP/1.1\r\n");
	assert_int_equal(names.count, 1);
	assert_string_equal(names.items[0], "stdout");
}

/* YARN's web servers have a setting of their own. */
static void who_asks_is_not_known(void **state)
{
	struct err err cleanup_err = {0};
	struct server server;
	struct str_list names cleanup_str_list = {0};

	server_start(&server, "HTTP/1.1 401 X\r\nContent-Length: 0\r\n"
			      "WWW-Authenticate: Negotiate\r\n\r\n");
	const struct node_log_question question = {.site.address = server.address,
						   .container = CONTAINER};
	assert_int_equal(node_log_list(&question, &names, &err), -1);
	server_end(&server, "GET /ws/v1/node/containers/" CONTAINER "/logs HTTP/1.1\r\n");
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(
		strstr(err_message(&err), "HTTP status 401; hadoop.http.authentication.type"));
}

static void what_is_gone_is_not_found(void **state)
{
	struct err err cleanup_err = {0};
	struct server server;
	int fd cleanup_close = open("/dev/null", O_WRONLY | O_CLOEXEC);

	server_start(&server, "HTTP/1.1 404 Not Found\r\nContent-Length: 59\r\n\r\n"
			      "java.lang.Exception: Cannot find this log on the local disk");
	const struct node_log_question question = {.site.address = server.address,
						   .container = CONTAINER};
	assert_int_equal(node_log_fetch(&question, "stdout", fd, &err), -1);
	server_end(&server, "GET /ws/v1/node/containerlogs/" CONTAINER "/stdout HTTP/1.1\r\n");
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_message_has(&err, "NodeManager 127.0.0.1:");
	assert_message_has(&err, "stdout of " CONTAINER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_stands_between_head_and_foot),
		cmocka_unit_test(a_file_may_look_like_a_foot_or_a_head),
		cmocka_unit_test(older_heads_are_understood),
		cmocka_unit_test(other_answers_are_refused),
		cmocka_unit_test(names_of_a_list),
		scratch_test(a_file_is_fetched),
		cmocka_unit_test(names_are_fetched),
		cmocka_unit_test(who_asks_is_not_known),
		cmocka_unit_test(what_is_gone_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
