/* A container's log in parts: out of aggregated files of a real cluster (Hadoop 3.4.2), and from a
 * NodeManager. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"
#include "web_words.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "logs/yarn.h"
#include "scheduler/yarn_logs.h"

#define APPLICATION "application_1795269657940_0001"
#define CONTAINER   "container_1795269657940_0001_01_000004"

/* All of one part, or of its index. */
static char *read_part(struct log_parts *log, size_t part, bool times)
{
	struct err err cleanup_err = {0};
	struct str text = {0};
	char bytes[50];
	ssize_t got;

	while ((got = log->ops->read(log, part, times, (int64_t)text.length, bytes, sizeof(bytes),
				     &err)) > 0)
		str_append_bytes(&text, bytes, (size_t)got);
	assert_success((int)got, &err);
	return str_steal(&text);
}

static char *read_at(struct log_parts *log, size_t part, int64_t offset, size_t length)
{
	char bytes[100];
	ssize_t got = log->ops->read(log, part, false, offset, bytes, length, NULL);

	assert_int_equal(got, length);
	return mem_strndup(bytes, length);
}

/* ---- aggregated --------------------------------------------------------------------------- */

static void put(void **state, const char *data, const char *name)
{
	struct err err cleanup_err = {0};
	char *from cleanup_free = fs_join(TEST_DATA, data);
	const char *to = scratch_path(state, name);
	char *directory cleanup_free = fs_dirname(to);

	assert_success(fs_make_directories(directory, 0700, &err), &err);
	assert_success(fs_clone_tree(from, to, 0, &err), &err);
}

static void parts_of_an_aggregated_log(void **state)
{
	struct err err cleanup_err = {0};
	struct log_store *store = log_store_local();

	put(state, "aggregated.none", "root/bucket-logs-tfile/0001/" APPLICATION "/127.0.0.2_1");
	struct aggregated *logs =
		aggregated_open(store, scratch_path(state, "."), "root", APPLICATION, &err);
	assert_non_null(logs);
	const struct aggregated_container *container =
		aggregated_find(logs, CONTAINER, "127.0.0.2", &err);
	assert_non_null(container);
	struct log_source *source = log_of_aggregated(container, "stdout", &err);
	struct log_parts *log = (struct log_parts *)source;
	assert_non_null(log);
	assert_int_equal(log->count, 2);
	assert_int_equal(log->items[0].length, 8);
	assert_false(log->items[0].has_times);
	assert_true(log->items[1].has_times);
	assert_text_freed(read_part(log, 0, false), "rotated\n");
	char *text cleanup_free = read_part(log, 1, false);
	assert_int_equal(strlen(text), log->items[1].length);
	assert_true(str_starts_with(text, "hello from " CONTAINER "\nline 1\n"));
	assert_text_freed(read_part(log, 1, true), "1795241651123 0\n");
	assert_text_freed(read_at(log, 1, 11, 9), "container");
	assert_text_freed(read_at(log, 1, 0, 5), "hello");
	assert_text_freed(read_at(log, 1, 5, 5), " from");
	log_source_destroy(source);
	assert_null(log_of_aggregated(container, "stdout-1", &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	aggregated_close(logs);
	log_store_destroy(store);
}

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"

/* Else who lists several logs of a task would get those that came between two questions. */
static void what_is_aggregated_is_looked_at_once(void **state)
{
	static const struct web_step steps[] = {
		{"GET /webhdfs/v1/logs/alice?op=LISTSTATUS",
		 EXCEPTION("404", "FileNotFoundException")},
	};
	struct err err cleanup_err = {0};
	struct web_server server;

	web_server_start(&server, steps, array_length(steps));
	char *site cleanup_free =
		mem_printf("<configuration>" PROPERTY("fs.defaultFS", "hdfs://nn:8020")
				   PROPERTY("dfs.namenode.http-address",
					    "%s") PROPERTY("yarn.log-aggregation-enable", "true")
					   PROPERTY("yarn.resourcemanager.hostname", "nobody")
						   PROPERTY("yarn.nodemanager.remote-app-log-dir",
							    "/logs") "</configuration>",
			   server.address);
	scratch_write(state, "yarn-site.xml", site, 0600);
	setenv("HADOOP_CONF_DIR", scratch_path(state, "."), 1);
	const struct job job = {0};
	assert_null(yarn_logs_shown(&job, APPLICATION, "alice", &err));
	setenv("HADOOP_CONF_DIR", "", 1);
	web_server_stop(&server);
	web_server_finish(&server);
	if (err.kind != ERR_NOT_FOUND)
		fail_msg("%s", err_message(&err));
}

/* ---- a NodeManager ------------------------------------------------------------------------ */

/* Answers by path until it is told to stop. */
struct node {
	int fd;
	char address[32];
	pthread_t thread;
};

static const struct {
	const char *path, *body;
} pages[] = {
	{"/ws/v1/node/containers/" CONTAINER "/logs",
	 "{\"containerLogsInfo\":{\"containerLogInfo\":[{\"fileName\":\"stdout\"},{\"fileName\":"
	 "\"stdout.1\"},{\"fileName\":\"stdout.2\"},{\"fileName\":\"stdout.1.times\"},"
	 "{\"fileName\":\"executor.log\"}]}}"},
	{"/ws/v1/node/containerlogs/" CONTAINER "/stdout",
	 "\nLogType:stdout\nLogLength:3\nLogContents:\nnewEnd of LogType"},
	{"/ws/v1/node/containerlogs/" CONTAINER "/stdout.1",
	 "\nLogType:stdout.1\nLogLength:4\nLogContents:\nolder"},
	{"/ws/v1/node/containerlogs/" CONTAINER "/stdout.1.times",
	 "\nLogType:stdout.1.times\nLogLength:5\nLogContents:\n10 0\nEnd"},
};

static void answer(int fd, const char *question)
{
	const char *target = strchr(question, ' ') + 1;
	size_t length = strcspn(target, "? ");

	for (size_t i = 0; i < array_length(pages); i++) {
		if (strlen(pages[i].path) != length || strncmp(pages[i].path, target, length) != 0)
			continue;
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
			strlen(pages[i].body), pages[i].body);
		return;
	}
	dprintf(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
}

static void *serve(void *data)
{
	struct node *node = data;

	for (;;) {
		char question[1024] = "";
		size_t length = 0;
		int fd cleanup_close = accept(node->fd, NULL, NULL);
		if (fd < 0)
			return NULL;
		while (!strstr(question, "\r\n\r\n")) {
			ssize_t got = read(fd, question + length, sizeof(question) - 1 - length);
			if (got <= 0)
				break;
			length += (size_t)got;
		}
		if (strstr(question, "\r\n\r\n"))
			answer(fd, question);
	}
}

static void node_start(struct node *node)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	node->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(node->fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(node->fd, 8), 0);
	assert_int_equal(getsockname(node->fd, (struct sockaddr *)&address, &size), 0);
	snprintf(node->address, sizeof(node->address), "127.0.0.1:%d", ntohs(address.sin_port));
	assert_int_equal(pthread_create(&node->thread, NULL, serve, node), 0);
}

static void node_stop(struct node *node)
{
	shutdown(node->fd, SHUT_RDWR);
	pthread_join(node->thread, NULL);
	close(node->fd);
}

/* "stdout.2" is rotated away between the list and the question: 404. "executor.log" can only have
 * been aggregated, and is to be looked for there. */
static void parts_of_a_node_managers_log(void **state)
{
	struct err err cleanup_err = {0};
	FILE *spool cleanup_file = tmpfile();
	struct node node;

	node_start(&node);
	const struct node_log_question question = {
		.site.address = node.address, .container = CONTAINER, .user = "alice"};
	struct log_source *source = log_of_node(&question, "stdout", fileno(spool), &err);
	struct log_parts *log = (struct log_parts *)source;
	if (!log)
		fail_msg("%s", err_message(&err));
	assert_null(log_of_node(&question, "stderr", fileno(spool), &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	err_finish(&err);
	assert_null(log_of_node(&question, "executor.log", fileno(spool), &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	node_stop(&node);
	assert_int_equal(log->count, 3);
	assert_text_freed(read_part(log, 0, false), "");
	assert_text_freed(read_part(log, 1, false), "olde");
	assert_text_freed(read_part(log, 1, true), "10 0\n");
	assert_text_freed(read_part(log, 2, false), "new");
	assert_false(log->items[2].has_times);
	assert_int_equal(log->items[1].length, 4);
	log_source_destroy(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(parts_of_an_aggregated_log),
		scratch_test(what_is_aggregated_is_looked_at_once),
		cmocka_unit_test(parts_of_a_node_managers_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
