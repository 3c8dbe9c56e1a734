/* A kept log is sent whole, or says that it is not; a search of it says where the next one goes on.
 */
#include "../base/patience.h"
#include "../base/test.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "logs/send.h"
#include "net/http_client.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Two lines; of a broken one no more can be read. */
struct fake_log {
	struct log_source base;
	bool is_broken, was_read;
};

static bool next(struct log_source *base, size_t most, struct log_span *span)
{
	struct fake_log *fake = (struct fake_log *)base;

	if (!fake->was_read) {
		*span = (struct log_span){.bytes = "a\nb\n", .length = most < 4 ? most : 4};
		return fake->was_read = true;
	}
	if (fake->is_broken && !base->problem)
		base->problem = mem_strdup("the disk is full of holes");
	return false;
}

static void go(struct log_source *base, const struct log_position *position)
{
}

static void tell(const struct log_source *base, char *position)
{
	snprintf(position, LOG_POSITION_SIZE, "at:7:4");
}

static void destroy(struct log_source *base)
{
	free(base);
}

static void on_log(void *data, struct http_request *request)
{
	static const struct log_source_ops ops = {
		.next = next, .go = go, .tell = tell, .destroy = destroy};
	struct log_question question cleanup_log_question = {0};
	struct fake_log *fake = mem_alloc(sizeof(*fake));

	assert_int_equal(log_question_read(request, &question), 0);
	*fake = (struct fake_log){.base.ops = &ops, .is_broken = str_equal(question.log, "stderr")};
	log_send(request, &question, &fake->base);
}

static void serve(struct event_base *base)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	event_base_dispatch(base);
	_exit(0);
}

static void expect(const char *address, const char *query, const char *expected)
{
	struct err err cleanup_err = {0};
	struct str answer cleanup_str = {0};
	char *path cleanup_free = mem_printf("/v1/tasks/worker:1/logs/%s", query);
	int status = 0;

	http_call(&(struct http_target){address, TOKEN, geteuid()}, "GET", path, NULL, PATIENCE_MS,
		  &status, &answer, &err);
	assert_string_equal(err_message(&err), "no error");
	assert_int_equal(status, 200);
	assert_string_equal(str_text(&answer), expected);
}

static void a_log_that_cannot_be_read_on_is_cut(void **state)
{
	static const struct http_route routes[] = {
		{.method = "GET", .pattern = "/v1/tasks/{task}/logs/{log}", .handle = on_log}};
	const struct http_server_config config = {
		.address = "127.0.0.1:0", .token = TOKEN, .routes = routes, .route_count = 1};
	struct event_base *base = event_base_new();
	struct http_server *server = http_server_create(base, &config, NULL);
	const char *address = http_server_address(server);
	pid_t pid = fork();

	if (pid == 0)
		serve(base);
	expect(address, "stdout?frames=1", "0 0 0 4\na\nb\n0 0 0 0\n");
	expect(address, "stdout?frames=1&match=b", "0 0 2 2\nb\n0 7 4 0\n");
	expect(address, "stderr?frames=1", "0 0 0 4\na\nb\n0 1 0 0\n");
	expect(address, "stderr?frames=1&match=b", "0 0 2 2\nb\n0 1 0 0\n");
	expect(address, "stderr?frames=1&limit=2", "0 0 0 2\na\n");
	expect(address, "stderr", "a\nb\n");
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	http_server_destroy(server);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_cannot_be_read_on_is_cut),
	};

	return cmocka_run_group_tests_name("log send", tests, NULL, NULL);
}
