/* Names and connections. The name server is one of ours on loopback. */
#include "../base/patience.h"

#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/dial.h"
#include "net/resolve.h"
#include "peer.h"

struct bed {
	struct event_base *base;
	char directory[32];
	char *hosts, *servers;
	int server_fd;
	struct evdns_server_port *server;
	int questions;
	/* What came of it. */
	bool is_done;
	struct str_list addresses;
	char *error;
	int fd;
};

/* "four.test" has two addresses of IPv4, "six.test" one of IPv6, "silent.test" gets no answer. */
static void on_question(struct evdns_server_request *request, void *data)
{
	struct bed *bed = data;
	const struct evdns_server_question *question = request->questions[0];
	const unsigned char four[] = {127, 0, 0, 4, 127, 0, 0, 5};
	const unsigned char six[16] = {[15] = 1};

	bed->questions++;
	if (strcmp(question->name, "silent.test") == 0) {
		evdns_server_request_drop(request);
		bed->is_done = true;
		return;
	}
	if (strcmp(question->name, "four.test") == 0 && question->type == EVDNS_TYPE_A)
		evdns_server_request_add_a_reply(request, question->name, 2, four, 60);
	if (strcmp(question->name, "six.test") == 0 && question->type == EVDNS_TYPE_AAAA)
		evdns_server_request_add_aaaa_reply(request, question->name, 1, six, 60);
	evdns_server_request_respond(request, strcmp(question->name, "none.test") == 0 ? 3 : 0);
}

static char *write_file(struct bed *bed, const char *name, const char *text)
{
	char *path = fs_join(bed->directory, name);

	assert_int_equal(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
	return path;
}

static int open_bed(void **state)
{
	struct bed *bed = mem_alloc(sizeof(*bed));
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bed->base = event_base_new();
	strcpy(bed->directory, "/tmp/tony-test-XXXXXX");
	assert_non_null(mkdtemp(bed->directory));
	bed->server_fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(bed->server_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(bed->server_fd, (struct sockaddr *)&address, &length), 0);
	bed->server =
		evdns_add_server_port_with_base(bed->base, bed->server_fd, 0, on_question, bed);
	char *servers cleanup_free =
		mem_printf("nameserver 127.0.0.1:%d\n", ntohs(address.sin_port));
	bed->servers = write_file(bed, "resolv.conf", servers);
	bed->hosts = write_file(bed, "hosts",
				"# 127.0.0.9 commented\n"
				"::1\tboth six # not.this\r\n"
				"127.0.0.2\tfirst  Alias.test\n"
				"127.0.0.3 both\n"
				"not-an-address broken\n"
				"127.0.0.6 both");
	bed->fd = -1;
	*state = bed;
	return 0;
}

static int close_bed(void **state)
{
	struct bed *bed = *state;

	run_idle(bed->base);
	evdns_close_server_port(bed->server);
	close(bed->server_fd);
	event_base_free(bed->base);
	fs_remove_tree(bed->directory, NULL);
	free(bed->hosts);
	free(bed->servers);
	free(bed->error);
	str_list_finish(&bed->addresses);
	if (bed->fd >= 0)
		close(bed->fd);
	free(bed);
	return 0;
}

static void on_resolved(void *data, const struct net_address *addresses, size_t count,
			const struct err *err)
{
	struct bed *bed = data;

	for (size_t i = 0; i < count; i++)
		str_list_take(&bed->addresses, net_address_text(&addresses[i]));
	if (count == 0)
		bed->error = mem_strdup(err_message(err));
	bed->is_done = true;
}

static struct resolve *start(struct bed *bed, const char *host)
{
	const struct resolve_files files = {bed->hosts, bed->servers};

	return resolve_start(bed->base, &files, host, 80, on_resolved, bed);
}

static void expect(struct bed *bed, const char *host, const char *addresses)
{
	start(bed, host);
	run_until(bed->base, &bed->is_done);
	bed->is_done = false;
	char *found cleanup_free = str_list_join(&bed->addresses, " ");
	assert_string_equal(found, addresses);
	str_list_finish(&bed->addresses);
}

static void test_hosts(void **state)
{
	struct bed *bed = *state;

	expect(bed, "127.0.0.7", "127.0.0.7:80");
	expect(bed, "::1", "[::1]:80");
	expect(bed, "localhost", "127.0.0.1:80");
	expect(bed, "first", "127.0.0.2:80");
	expect(bed, "alias.TEST", "127.0.0.2:80");
	expect(bed, "both", "127.0.0.3:80 127.0.0.6:80");
	expect(bed, "six", "[::1]:80");
	assert_int_equal(bed->questions, 0);
}

static void test_name_server(void **state)
{
	struct bed *bed = *state;

	expect(bed, "four.test", "127.0.0.4:80 127.0.0.5:80");
	expect(bed, "six.test", "[::1]:80");
}

static void test_no_such_name(void **state)
{
	struct bed *bed = *state;

	expect(bed, "none.test", "");
	assert_non_null(strstr(bed->error, "\"none.test\""));
	assert_non_null(strstr(bed->error, "there is no such name"));
	assert_non_null(strstr(bed->error, bed->servers));
}

static void test_cancel(void **state)
{
	struct bed *bed = *state;

	resolve_cancel(start(bed, "four.test")); /* before it began */
	struct resolve *resolve = start(bed, "silent.test");
	run_until(bed->base, &bed->is_done);
	bed->is_done = false;
	resolve_cancel(resolve); /* while the server is silent */
	run_idle(bed->base);
	assert_false(bed->is_done);
}

static void on_dialed(void *data, int fd, const struct err *err)
{
	struct bed *bed = data;

	bed->fd = fd;
	if (fd < 0)
		bed->error = mem_strdup(err_message(err));
	bed->is_done = true;
}

static int listen_on_loopback(char **address)
{
	struct net_address where;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(net_address_parse("127.0.0.1:0", &where, NULL), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&where.storage, where.length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&where.storage, &where.length), 0);
	*address = net_address_text(&where);
	return fd;
}

static void test_dial(void **state)
{
	struct bed *bed = *state;
	char *address cleanup_free = NULL;
	int fd = listen_on_loopback(&address);

	assert_non_null(dial_start(bed->base, address, PATIENCE_MS, on_dialed, bed, NULL));
	run_until(bed->base, &bed->is_done);
	assert_int_equal(bed->fd, -1);
	assert_string_equal(bed->error, "Connection refused");

	bed->is_done = false;
	assert_int_equal(listen(fd, 1), 0);
	assert_non_null(dial_start(bed->base, address, PATIENCE_MS, on_dialed, bed, NULL));
	run_until(bed->base, &bed->is_done);
	assert_true(bed->fd >= 0);
	close(fd);
}

static void test_not_an_address(void **state)
{
	static const char *const texts[] = {
		"",	    "host",   "host:",	    ":80",    "host:99999", "two words:80",
		"[::1:80",  "::1:80", "[host]:80",  "-x:80",  ".x:80",	    "a/b:80",
		"host:80 ", "[]:80",  "host:80:90", "h\n:80", "host:-1",    "user@host:80",
	};
	struct bed *bed = *state;

	for (size_t i = 0; i < array_length(texts); i++) {
		struct err err cleanup_err = {0};

		assert_null(dial_start(bed->base, texts[i], 1, on_dialed, bed, &err));
		assert_int_equal(err.kind, ERR_INPUT);
		assert_non_null(strstr(err_message(&err), "HOST:PORT"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hosts, open_bed, close_bed),
		cmocka_unit_test_setup_teardown(test_name_server, open_bed, close_bed),
		cmocka_unit_test_setup_teardown(test_no_such_name, open_bed, close_bed),
		cmocka_unit_test_setup_teardown(test_cancel, open_bed, close_bed),
		cmocka_unit_test_setup_teardown(test_dial, open_bed, close_bed),
		cmocka_unit_test_setup_teardown(test_not_an_address, open_bed, close_bed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
