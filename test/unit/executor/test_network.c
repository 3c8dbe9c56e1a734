/* What is promised: src/executor/network.h, with the kernel's own sockets. */
#include "../base/patience.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "executor/network.h"

enum { SENT = 1 << 20, ANSWERED = 300000 };

/* Sends and receives over a connection to `port` when told to by a byte of `orders`: 's' for more,
 * 'c' to begin with another connection. */
static void talk(int port, int orders)
{
	static char bytes[SENT];
	const struct sockaddr_in address = {.sin_family = AF_INET,
					    .sin_port = htons((uint16_t)port),
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = -1;
	char order;

	while (read(orders, &order, 1) == 1) {
		if (order == 'c') {
			if (fd >= 0)
				close(fd);
			fd = socket(AF_INET, SOCK_STREAM, 0);
			if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
				_exit(1);
		}
		if (send(fd, bytes, SENT, 0) != SENT ||
		    recv(fd, bytes, ANSWERED, MSG_WAITALL) != ANSWERED)
			_exit(1);
	}
	_exit(0);
}

struct talk {
	int listener, peer, orders;
	struct proc_id child;
	struct network *network;
};

static int begin(void **state)
{
	struct talk *talk_ = mem_alloc(sizeof(*talk_));
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int ends[2];

	talk_->peer = -1;
	talk_->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(talk_->listener, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(talk_->listener, 4), 0);
	assert_int_equal(getsockname(talk_->listener, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(pipe(ends), 0);
	talk_->child.pid = fork();
	if (talk_->child.pid == 0) {
		close(ends[1]);
		close(talk_->listener);
		talk(ntohs(address.sin_port), ends[0]);
	}
	close(ends[0]);
	talk_->orders = ends[1];
	talk_->network = network_create();
	*state = talk_;
	return 0;
}

static int end(void **state)
{
	struct talk *talk_ = *state;
	int status;

	close(talk_->orders);
	assert_int_equal(waitpid(talk_->child.pid, &status, 0), talk_->child.pid);
	assert_int_equal(status, 0);
	network_destroy(talk_->network);
	close(talk_->listener);
	if (talk_->peer >= 0)
		close(talk_->peer);
	free(talk_);
	return 0;
}

/* One exchange, seen from its other side. */
static void exchange(struct talk *talk_, const char *order)
{
	static char bytes[SENT];

	assert_int_equal(write(talk_->orders, order, 1), 1);
	if (*order == 'c') {
		if (talk_->peer >= 0)
			close(talk_->peer);
		talk_->peer = accept(talk_->listener, NULL, NULL);
	}
	assert_int_equal(recv(talk_->peer, bytes, SENT, MSG_WAITALL), SENT);
	assert_int_equal(send(talk_->peer, bytes, ANSWERED, 0), ANSWERED);
}

/* The kernel counts what was acknowledged, which comes a little later. */
static void wait_for(const struct talk *talk_, uint64_t receive, uint64_t send)
{
	struct proc_id items[] = {talk_->child};
	const struct proc_list processes = {.items = items, .count = 1};
	uint64_t received = 0, sent = 0;

	wait_until(!network_look(talk_->network, &processes, &received, &sent) ||
		   (received >= receive && sent >= send));
	/* The kernel counts a connection's beginning and end as a byte each. */
	assert_in_range(received, receive, receive + 4);
	assert_in_range(sent, send, send + 4);
}

static void test_bytes_are_counted_once(void **state)
{
	struct talk *talk_ = *state;

	exchange(talk_, "c");
	wait_for(talk_, ANSWERED, SENT);
	wait_for(talk_, ANSWERED, SENT);
	exchange(talk_, "s");
	wait_for(talk_, 2 * ANSWERED, 2 * SENT);
}

/* What a connection that is closed has had is not forgotten. */
static void test_connections_come_and_go(void **state)
{
	struct talk *talk_ = *state;

	exchange(talk_, "c");
	wait_for(talk_, ANSWERED, SENT);
	exchange(talk_, "c");
	wait_for(talk_, 2 * ANSWERED, 2 * SENT);
}

static void test_program_that_is_another_begins_anew(void **state)
{
	struct talk *talk_ = *state;

	exchange(talk_, "c");
	wait_for(talk_, ANSWERED, SENT);
	network_begin(talk_->network);
	wait_for(talk_, ANSWERED, SENT);
}

/* This process has sockets, too: they are not the child's. */
static void test_only_of_the_processes(void **state)
{
	struct talk *talk_ = *state;
	struct proc_list nobody = {0};
	uint64_t received, sent;

	exchange(talk_, "c");
	assert_true(network_look(talk_->network, &nobody, &received, &sent));
	assert_int_equal(received, 0);
	assert_int_equal(sent, 0);
}

/* It began while somebody looked: the look saw its connection, and not yet the process. */
static void test_process_that_is_listed_late(void **state)
{
	struct talk *talk_ = *state;
	struct proc_id first = {.pid = 1};
	const struct proc_list others = {.items = &first, .count = 1};
	uint64_t received, sent;

	exchange(talk_, "c");
	assert_true(network_look(talk_->network, &others, &received, &sent));
	wait_for(talk_, ANSWERED, SENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes_are_counted_once, begin, end),
		cmocka_unit_test_setup_teardown(test_connections_come_and_go, begin, end),
		cmocka_unit_test_setup_teardown(test_program_that_is_another_begins_anew, begin,
						end),
		cmocka_unit_test_setup_teardown(test_only_of_the_processes, begin, end),
		cmocka_unit_test_setup_teardown(test_process_that_is_listed_late, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
