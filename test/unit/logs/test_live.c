/* Logs that the AM sends: what there is now, and what comes, over broken connections. */
#include "../base/patience.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "logs/lines.h"
#include "logs/live.h"

#define REPLIES_MAX 4
#define STREAM	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct log_search everything = {0};

/* Gives one answer to each connection, then ends it. */
struct server {
	int fd;
	char address[32];
	struct http_target door;
	const char *replies[REPLIES_MAX];
	char asked[REPLIES_MAX][256]; /* the target of each question */
	size_t count;
	pthread_t thread;
};

static void *serve(void *data)
{
	struct server *server = data;

	for (size_t i = 0; i < server->count; i++) {
		char question[2048] = "";
		size_t length = 0;
		int fd cleanup_close = accept(server->fd, NULL, NULL);
		while (!strstr(question, "\r\n\r\n")) {
			ssize_t got = read(fd, question + length, sizeof(question) - 1 - length);
			if (got <= 0)
				break;
			length += (size_t)got;
		}
		sscanf(question, "GET %255s", server->asked[i]);
		(void)!write(fd, server->replies[i], strlen(server->replies[i]));
		shutdown(fd, SHUT_WR);
		while (read(fd, question, sizeof(question)) > 0)
			;
	}
	return NULL;
}

static void server_start(struct server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(server->fd, 8), 0);
	assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &size), 0);
	snprintf(server->address, sizeof(server->address), "127.0.0.1:%d", ntohs(address.sin_port));
	server->door.address = server->address;
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_end(struct server *server)
{
	pthread_join(server->thread, NULL);
	close(server->fd);
}

/* Lines there are now, joined by "|", with their times where they are known. */
static void read_lines(struct log_lines *lines, bool to_the_end, struct str *text)
{
	struct log_line line;

	while (log_lines_next(lines, to_the_end, &line)) {
		if (text->length > 0)
			str_append_char(text, '|');
		if (line.time_ms > 0)
			str_append_format(text, "%" PRId64 " ", line.time_ms);
		str_append_bytes(text, line.text, line.length);
	}
}

static char *whole(const char *body)
{
	return mem_printf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
}

static void what_there_is_now_is_asked_for_in_pieces(void **state)
{
	struct str text cleanup_str = {0};
	char *first cleanup_free = whole("10 a 0 4\na\nb\n20 a 4 3\nc\nd");
	char *second cleanup_free = whole("30 b 0 3\ne\nf0 0 0 0\n");
	struct server server = {.replies = {first, second}, .count = 2};

	server_start(&server);
	struct log_source *source =
		log_live_present(&server.door, "worker:1", 3, "stdout", &everything);
	struct log_lines *lines = log_lines_create(source);
	read_lines(lines, true, &text);
	server_end(&server);
	assert_string_equal(text.text, "10 a|10 b|20 c|20 d|30 e|30 f");
	assert_null(source->problem);
	assert_string_equal(server.asked[0], "/v1/tasks/worker:1/logs/stdout?frames=1&from=oldest&"
					     "attempt=3&limit=262144");
	assert_string_equal(server.asked[1],
			    "/v1/tasks/worker:1/logs/stdout?frames=1&from=at:a:7&attempt=3&"
			    "limit=262144");
	log_lines_destroy(lines);
}

static void the_last_lines_are_asked_for(void **state)
{
	struct str text cleanup_str = {0};
	char *reply cleanup_free = whole("0 a 0 4\na\nb\n0 0 0 0\n");
	struct server server = {.replies = {reply}, .count = 1};

	server_start(&server);
	struct log_source *source =
		log_live_present(&server.door, "worker:1", 1, "stderr", &everything);
	struct log_lines *lines = log_lines_create(source);
	assert_int_equal(log_source_seek(source, "tail:2"), 0);
	read_lines(lines, true, &text);
	server_end(&server);
	assert_string_equal(text.text, "a|b");
	assert_non_null(strstr(server.asked[0], "/logs/stderr?frames=1&from=tail:2&"));
	log_lines_destroy(lines);
}

static void a_log_that_is_not_there_is_empty(void **state)
{
	struct str text cleanup_str = {0};
	struct server server = {
		.replies = {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
			    "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
			    "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"},
		.count = 3};

	server_start(&server);
	struct log_source *source =
		log_live_present(&server.door, "worker:1", 1, "stderr", &everything);
	struct log_lines *lines = log_lines_create(source);
	struct log_source *gone =
		log_live_present(&server.door, "worker:1", 1, "stderr", &everything);
	struct log_lines *gone_lines = log_lines_create(gone);
	struct log_source *denied =
		log_live_present(&server.door, "worker:1", 1, "stderr", &everything);
	struct log_lines *denied_lines = log_lines_create(denied);
	read_lines(lines, true, &text);
	read_lines(gone_lines, true, &text);
	read_lines(denied_lines, true, &text);
	server_end(&server);
	assert_int_equal(text.length, 0);
	assert_null(source->problem);
	assert_null(gone->problem);
	assert_non_null(denied->problem);
	log_lines_destroy(lines);
	log_lines_destroy(gone_lines);
	log_lines_destroy(denied_lines);
}

static void expect_cut(const char *first, const char *second, const char *told)
{
	struct str text cleanup_str = {0};
	struct server server = {.replies = {first, second}, .count = second ? 2 : 1};

	server_start(&server);
	struct log_source *source =
		log_live_present(&server.door, "worker:1", 1, "stdout", &everything);
	struct log_lines *lines = log_lines_create(source);
	read_lines(lines, true, &text);
	server_end(&server);
	assert_string_equal(str_text(&text), told);
	assert_string_equal(source->problem,
			    "stdout of worker:1 is incomplete: its container ended while the log "
			    "was read; repeat the command");
	assert_true(source->is_away);
	log_lines_destroy(lines);
}

static void an_answer_that_is_cut_is_none(void **state)
{
	char *lines cleanup_free = whole("10 a 0 4\na\nb\n");
	char *cut_lines cleanup_free = whole("10 a 0 4\na\nb\n0 1 0 0\n");
	char *cut cleanup_free = whole("0 1 0 0\n");

	expect_cut(cut, NULL, "");
	expect_cut(cut_lines, NULL, "10 a|10 b");
	expect_cut(lines, cut, "10 a|10 b");
	expect_cut(lines, "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", "10 a|10 b");
}

static const char *follow(struct log_live *live, const struct server *server,
			  struct log_lines *lines, struct str *text)
{
	log_live_ask(live, &server->door);
	log_live_wait(live, PATIENCE_MS);
	read_lines(lines, false, text);
	return str_text(text);
}

/* The first answer breaks off within a piece; the second begins where the last whole one ended, and
 * goes on into another file. */
static void a_broken_answer_goes_on_where_it_was(void **state)
{
	struct str text cleanup_str = {0};
	struct server server = {.replies = {STREAM
					    "d\r\n10 a 0 4\na\nb\n\r\n10\r\n20 a 4 8\nc\nd\ne\nf",
					    STREAM "11\r\n20 a 4 8\nc\nd\ne\nf\n\r\n"
						   "a\r\n30 b 0 1\ng\r\n0\r\n\r\n"},
				.count = 2};

	server_start(&server);
	struct log_live *live = log_live_create();
	struct log_source *source = log_live_follow(live, "worker:0", "stdout", &everything);
	struct log_lines *lines = log_lines_create(source);
	wait_until(str_equal(follow(live, &server, lines, &text), "10 a|10 b|20 c|20 d|20 e|20 f"));
	while (log_live_wait(live, PATIENCE_MS))
		read_lines(lines, false, &text);
	read_lines(lines, true, &text);
	assert_string_equal(text.text, "10 a|10 b|20 c|20 d|20 e|20 f|30 g");
	assert_null(source->problem);
	log_lines_destroy(lines);
	log_live_destroy(live);
	server_end(&server);
	assert_string_equal(server.asked[0],
			    "/v1/tasks/worker:0/logs/stdout?frames=1&from=oldest&follow=1");
	assert_string_equal(server.asked[1],
			    "/v1/tasks/worker:0/logs/stdout?frames=1&from=at:a:4&follow=1");
}

/* Its executor left before the AM was asked. The next container's log goes on in the same answer.
 */
static void a_container_of_which_nothing_came_is_told_once(void **state)
{
	struct str text cleanup_str = {0};
	struct server server = {
		.replies = {STREAM "22\r\n0 2 3 0\n0 2 4 0\n0 0 0 0\n10 a 0 1\nb\r\n0\r\n\r\n"},
		.count = 1};
	struct log_missed missed;

	server_start(&server);
	struct log_live *live = log_live_create();
	struct log_source *source = log_live_follow(live, "worker:0", "stdout", &everything);
	struct log_lines *lines = log_lines_create(source);
	assert_false(log_live_take_missed(live, &missed));
	log_live_ask(live, &server.door);
	while (log_live_wait(live, PATIENCE_MS))
		read_lines(lines, false, &text);
	assert_true(log_live_take_missed(live, &missed));
	assert_string_equal(missed.task, "worker:0");
	assert_string_equal(missed.log, "stdout");
	assert_int_equal(missed.attempt, 3);
	assert_false(log_live_take_missed(live, &missed));
	read_lines(lines, false, &text);
	assert_true(log_live_take_missed(live, &missed));
	assert_int_equal(missed.attempt, 4);
	read_lines(lines, true, &text);
	assert_string_equal(text.text, "10 b");
	assert_null(source->problem);
	log_lines_destroy(lines);
	log_live_destroy(live);
	server_end(&server);
}

/* Of the one log something came before the AM was gone, of the other nothing. */
static void at_the_end_a_log_that_nobody_sent_is_told(void **state)
{
	struct str text cleanup_str = {0};
	struct server server = {.replies = {STREAM "b\r\n10 a 0 2\na\n\r\n"}, .count = 1};
	struct log_missed missed;

	server_start(&server);
	struct log_live *live = log_live_create();
	struct log_source *begun = log_live_follow(live, "worker:0", "stdout", &everything);
	struct log_lines *lines = log_lines_create(begun);
	wait_until(str_equal(follow(live, &server, lines, &text), "10 a"));
	server_end(&server);
	struct log_source *never = log_live_follow(live, "worker:1", "stdout", &everything);
	struct log_lines *never_lines = log_lines_create(never);
	log_live_ask(live, &server.door);
	log_live_conclude(live);
	while (log_live_wait(live, PATIENCE_MS))
		continue;
	assert_true(log_live_take_missed(live, &missed));
	assert_string_equal(missed.task, "worker:1");
	assert_int_equal(missed.attempt, 0);
	assert_false(log_live_take_missed(live, &missed));
	log_lines_destroy(lines);
	log_lines_destroy(never_lines);
	log_live_destroy(live);
}

static void nonsense_ends_the_log(void **state)
{
	struct str text cleanup_str = {0};
	struct server server = {.replies = {STREAM "d\r\n10 a 0 4\na\nb\n\r\n8\r\n17 17 x\n\r\n"},
				.count = 1};

	server_start(&server);
	struct log_live *live = log_live_create();
	struct log_source *source = log_live_follow(live, "worker:0", "stdout", &everything);
	struct log_lines *lines = log_lines_create(source);
	log_live_ask(live, &server.door);
	while (log_live_wait(live, PATIENCE_MS))
		read_lines(lines, false, &text);
	assert_string_equal(text.text, "10 a|10 b");
	assert_string_equal(source->problem, "the application master sent no pieces of a log");
	log_lines_destroy(lines);
	log_live_destroy(live);
	server_end(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_there_is_now_is_asked_for_in_pieces),
		cmocka_unit_test(the_last_lines_are_asked_for),
		cmocka_unit_test(a_log_that_is_not_there_is_empty),
		cmocka_unit_test(an_answer_that_is_cut_is_none),
		cmocka_unit_test(a_broken_answer_goes_on_where_it_was),
		cmocka_unit_test(a_container_of_which_nothing_came_is_told_once),
		cmocka_unit_test(at_the_end_a_log_that_nobody_sent_is_told),
		cmocka_unit_test(nonsense_ends_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
