/* Questions to application masters side by side. */
#include "../base/patience.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "scheduler/am_calls.h"
#include "scheduler/scheduler.h"

enum { LONG_MS = 3600 * 1000 };

/* An AM that takes connections, and answers nobody. */
static int listen_silently(struct job_door *door)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 512), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*door = (struct job_door){.address = mem_printf("127.0.0.1:%d", ntohs(address.sin_port))};
	return fd;
}

/* True: a connection came, which stays open. */
static bool takes_connection(struct am_calls *calls, int fd)
{
	am_calls_run(calls, 1);
	return accept4(fd, NULL, NULL, SOCK_CLOEXEC) >= 0;
}

static void take_connections(struct am_calls *calls, int fd, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wait_until(takes_connection(calls, fd));
}

static void a_silent_one_holds_up_no_other(void **state)
{
	struct am_calls *calls = am_calls_create();
	struct job_door door;
	int fd = listen_silently(&door);
	struct am_call *all[3];

	for (size_t i = 0; i < array_length(all); i++)
		all[i] = am_call_start(calls, &door, "GET", "/", NULL, LONG_MS);
	take_connections(calls, fd, array_length(all));
	for (size_t i = 0; i < array_length(all); i++) {
		assert_false(am_call_has_ended(all[i]));
		am_call_drop(all[i]);
	}
	am_calls_destroy(calls);
	close(fd);
	job_door_finish(&door);
}

static void each_has_a_limit_of_its_own(void **state)
{
	struct am_calls *calls = am_calls_create();
	struct err err cleanup_err = {0};
	struct str answer cleanup_str = {0};
	struct job_door door;
	int fd = listen_silently(&door), status;
	struct am_call *hasty = am_call_start(calls, &door, "GET", "/", NULL, 1);
	struct am_call *patient = am_call_start(calls, &door, "GET", "/", NULL, LONG_MS);

	while (!am_call_has_ended(hasty))
		am_calls_wait(calls, LONG_MS);
	assert_int_equal(am_call_take(hasty, &status, &answer, &err), -1);
	assert_int_equal(err.kind, ERR_UNREACHABLE);
	assert_false(am_call_has_ended(patient));
	am_call_drop(patient);
	am_calls_finish(calls, LONG_MS);
	am_calls_destroy(calls);
	close(fd);
	job_door_finish(&door);
}

static void those_beyond_the_limit_of_connections_wait_for_their_turn(void **state)
{
	struct am_call *all[AM_CALLS_AT_A_TIME + 2];
	struct am_calls *calls = am_calls_create();
	struct job_door door;
	int fd = listen_silently(&door);

	for (size_t i = 0; i < array_length(all); i++)
		all[i] = am_call_start(calls, &door, "GET", "/", NULL, LONG_MS);
	take_connections(calls, fd, AM_CALLS_AT_A_TIME);
	am_calls_run(calls, 1);
	assert_int_equal(accept4(fd, NULL, NULL, SOCK_CLOEXEC), -1);
	am_call_drop(all[AM_CALLS_AT_A_TIME]); /* the first that waits */
	am_call_drop(all[0]);
	take_connections(calls, fd, 1);
	for (size_t i = 1; i < array_length(all); i++)
		if (i != AM_CALLS_AT_A_TIME)
			am_call_drop(all[i]);
	am_calls_destroy(calls);
	close(fd);
	job_door_finish(&door);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_one_holds_up_no_other),
		cmocka_unit_test(each_has_a_limit_of_its_own),
		cmocka_unit_test(those_beyond_the_limit_of_connections_wait_for_their_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
